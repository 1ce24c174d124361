"""Comparisons, logic and tests of kind, element by element. Their results are booleans: none has a gradient."""

from __future__ import annotations

from tutorlib.core.graph import Op
from tutorlib.ops.define import elementwise


def _row(name: str, c: str, doc: str, ufunc: str | None = None) -> Op:
    return elementwise(name, ufunc=ufunc or name, c=c, flags={"nondiff", "quiet"}, doc=doc)


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
