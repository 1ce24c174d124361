"""Comparisons, logic and tests of kind, element by element. Their results are booleans: none has a gradient."""

from __future__ import annotations

from tutorlib.core.aval import AVal
from tutorlib.core.errors import DTypeError
from tutorlib.core.graph import Op
from tutorlib.ops.define import elementwise


def _row(name: str, c: str, doc: str, ufunc: str | None = None) -> Op:
    return elementwise(name, ufunc=ufunc or name, c=c, flags={"nondiff"}, doc=doc)


eq: Op = _row("eq", "({0} == {1})", "x == y, elementwise.", "equal")
ne: Op = _row("ne", "({0} != {1})", "x != y, elementwise.", "not_equal")
lt: Op = _row("lt", "({0} < {1})", "x < y, elementwise.", "less")
le: Op = _row("le", "({0} <= {1})", "x <= y, elementwise.", "less_equal")
gt: Op = _row("gt", "({0} > {1})", "x > y, elementwise.", "greater")
ge: Op = _row("ge", "({0} >= {1})", "x >= y, elementwise.", "greater_equal")

logical_and: Op = _row("logical_and", "({0} && {1})", "Whether x and y are both true (not zero).")
logical_or: Op = _row("logical_or", "({0} || {1})", "Whether x or y, or both, are true (not zero).")
logical_xor: Op = _row("logical_xor", "(!{0} != !{1})", "Whether just one of x and y is true (not zero).")
logical_not: Op = _row("logical_not", "(!{0})", "Whether x is false (zero).")

isnan: Op = _row("isnan", "({0} != {0})", "Whether x is NaN.")
isinf: Op = _row("isinf", "(isinf((double){0}) != 0)", "Whether x is infinite, of either sign.")
isfinite: Op = _row("isfinite", "(isfinite((double){0}) != 0)", "Whether x is neither NaN nor infinite.")


def _bitwise(name: str, doc: str) -> Op:
    op = elementwise(name, ufunc=name, flags={"nondiff"}, doc=doc)
    infer = op.infer

    def checked(*avals: AVal) -> AVal:
        if any(a.dtype.kind == "f" for a in avals):
            raise DTypeError(
                "&, |, ^ and ~ work on booleans and whole numbers, not on floating-point values",
                op=name,
                fix="compare first: (x > 0) & (y > 0), or use tl.logical_and, tl.logical_or, tl.logical_not",
            )
        assert infer is not None
        return infer(*avals)

    op.infer = checked
    return op


bitwise_and: Op = _bitwise("bitwise_and", "x & y: of booleans whether both are true, of whole numbers bit by bit.")
bitwise_or: Op = _bitwise("bitwise_or", "x | y: of booleans whether one is true, of whole numbers bit by bit.")
bitwise_xor: Op = _bitwise("bitwise_xor", "x ^ y: of booleans whether just one is true, of whole numbers bit by bit.")
invert: Op = _bitwise("invert", "~x: of booleans whether it is false, of whole numbers bit by bit.")
