"""Terms and factors that occur several times, collected: what the gradient of a power or a polynomial is full of."""

from __future__ import annotations

import math
from typing import Any

from tutorlib.compile.matching import made_by, used_once, users
from tutorlib.compile.rule_table import rule
from tutorlib.compile.rules_factors import number_and_rest, scaled_by
from tutorlib.core.graph import Constant, Node, Symbol
from tutorlib.core.operators import OPS


def _products(op: str, other: str) -> Any:
    """The kind of product in which two are joined: protected if one of them is."""
    return OPS.safe_mul if "safe_mul" in (op, other) else OPS.mul


@rule(
    "mul",
    "safe_mul",
    tier="algebra",
    safety="reassociates",
    says="(g · x) · x = g · x², where x² is there",
    of=("mul safe_mul",),
)
def factor_twice(node: Node) -> Any:
    product, x = node.inputs
    inner = made_by(product, "mul", "safe_mul")
    if inner is None or x.ndim != node.outputs[0].ndim or inner.inputs[1] is not x:
        return None
    squares = [n for n in users(x) if n is not None and n.op.name == "square"]
    if not squares or squares[0].outputs[0].dtype != node.outputs[0].dtype:
        return None
    return _products(node.op.name, inner.op.name)(inner.inputs[0], squares[0].outputs[0])


def _term(var: Any) -> tuple[float, Any]:
    """(c, p) of c · p; c is 1 where ``var`` is no such product."""
    return scaled_by(var) or (1.0, var)


@rule(
    "add",
    tier="algebra",
    safety="reassociates",
    says="a · p + b · p = (a + b) · p, and so in longer sums",
    of=("add mul",),
)
def equal_terms(node: Node) -> Any:
    x, y = node.inputs
    out = node.outputs[0]
    if out.dtype.kind != "f" or out.dtype.itemsize < 4:
        return None
    (a, q), (b, p) = _term(x), _term(y)
    if p is q and x is not y:
        return OPS.mul(p, a + b) if a + b and _alike(x, y, out) else None
    for total, single in ((x, y), (y, x)):
        inner = made_by(total, "add")
        if inner is None or not used_once(total) or not _alike(x, y, out):
            continue
        b, p = _term(single)
        for first, second in (inner.inputs, inner.inputs[::-1]):
            a, q = _term(second)
            if p is q and a + b and _alike(p, out):
                return OPS.add(first, OPS.mul(p, a + b))
    return None


def _alike(*variables: Symbol) -> bool:
    """Whether variables surely have one shape and dtype."""
    first = variables[0]
    return first.aval.known and all(v.shape == first.shape and v.dtype == first.dtype for v in variables)


# Of longer products the end stays together.
_MOST = 16


class _Product:
    """A variable as number · factor · factor · …, through products that nothing else uses.

    ``guard`` is the factor that makes a protected product zero where it is zero; None in a plain one.
    """

    def __init__(self, var: Symbol) -> None:
        self.number = 1.0
        self.factors: list[Symbol] = []
        guard: int | None = None
        todo = [var]
        while todo:
            var = todo.pop()
            node = made_by(var, "mul", "safe_mul") if used_once(var) and len(self.factors) + len(todo) < _MOST else None
            if node is None or not _alike(var, *(v for v in node.inputs if not isinstance(v, Constant))):
                self.factors.append(var)
            elif node.op.name == "mul" and (scaled := number_and_rest(node)) is not None:
                self.number *= scaled[0]
                todo.append(scaled[1])
            elif any(isinstance(v, Constant) for v in node.inputs):
                self.factors.append(var)
            else:
                if node.op.name == "safe_mul" and guard is None:
                    guard = len(self.factors)  # its first factor is the next to be found
                todo += node.inputs[::-1]
        self.guard = self.factors[guard] if guard is not None else None

    def without(self, common: list[Symbol]) -> list[Symbol]:
        left = list(self.factors)
        for v in common:
            left.pop(next(i for i, w in enumerate(left) if w is v))
        return left

    @property
    def steps(self) -> int:
        return len(self.factors) - 1 + (self.number != 1)


def _times(number: float, factors: list[Symbol], protected: bool) -> Any:
    """The product, in which what comes later does not count where what comes before is zero, if it is ``protected``."""
    result: Any = factors[0] if factors else number
    for factor in factors[1:]:
        result = OPS.safe_mul(result, factor) if protected else OPS.mul(result, factor)
    return OPS.mul(result, number) if factors and number != 1 else result


@rule(
    "add",
    tier="algebra",
    safety="reassociates",
    says="g · a + c · (g · b) = g · (a + c · b): what two products have in common multiplies once",
    of=("mul safe_mul",),
)
def common_factors(node: Node) -> Any:
    out = node.outputs[0]
    # A constant shares no factor: products with one are not taken apart.
    if out.dtype.kind != "f" or out.dtype.itemsize < 4 or any([type(v) is Constant for v in node.inputs]):
        return None
    if not _alike(*node.inputs, out):
        return None
    products = [made_by(v, "mul", "safe_mul") is not None and used_once(v) for v in node.inputs]
    first = _Product(node.inputs[0])
    # Most sums are of a product and something that is none of its factors.
    if not any(products) or (not products[1] and not any(v is node.inputs[1] for v in first.factors)):
        return None
    second = _Product(node.inputs[1])
    common: list[Symbol] = []
    for v in first.factors:
        if sum(v is w for w in common) < sum(v is w for w in second.factors):
            common.append(v)
    lefts = [p.without(common) for p in (first, second)]
    if not common or not any(lefts) or not all(map(math.isfinite, (first.number, second.number))):
        return None
    guards = {id(p.guard): p.guard for p in (first, second) if p.guard is not None}
    if len(guards) > 1 or not all(any(g is v for v in common) for g in guards.values()):
        return None
    left = sum(
        max(len(rest) - 1, 0) + (p.number != 1 and bool(rest)) for rest, p in zip(lefts, (first, second), strict=True)
    )
    gain = first.steps + second.steps - left - len(common)
    if gain < 1 and not (gain == 0 and _goes_on(out)):
        return None
    numbers, outer = (first.number, second.number), 1.0
    if all(lefts) and 1 not in numbers:
        # One of the numbers multiplies all: it may vanish further up.
        numbers, outer = (first.number / second.number, 1.0), second.number
    parts = zip(numbers, lefts, (first, second), strict=True)
    total = OPS.add(*(_times(number, rest, p.guard is not None) for number, rest, p in parts))
    kind = OPS.safe_mul if guards else OPS.mul
    (result, *others) = sorted(common, key=lambda v: not any(v is g for g in guards.values()))
    for factor in (*others, total):
        result = kind(result, factor)
    return OPS.mul(result, outer) if outer != 1 else result


def _goes_on(var: Symbol) -> bool:
    """Whether the one use of ``var`` is a sum, or a product with a number: it may become part of a larger one."""
    (user, *others) = users(var) or [None]
    if others or user is None:
        return False
    return user.op.name in ("add", "sub") or (user.op.name == "mul" and number_and_rest(user) is not None)


@rule(
    "mul",
    "safe_mul",
    tier="algebra",
    safety="reassociates",
    says="(a · x) · (b · y) = (a·b) · (x · y)",
    of=("mul",),
)
def numbers_of_factors(node: Node) -> Any:
    x, y = (scaled_by(v) for v in node.inputs)
    if x is None or y is None or not _alike(x[1], y[1], node.outputs[0]):
        return None
    number = x[0] * y[0]
    if number == 1:
        return node.op(x[1], y[1])
    once = all(used_once(v) for v in node.inputs) and number and math.isfinite(number)
    return OPS.mul(node.op(x[1], y[1]), number) if once else None
