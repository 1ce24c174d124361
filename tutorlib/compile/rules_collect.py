"""Terms and factors that occur several times, collected: what the gradient of a power or a polynomial is full of."""

from __future__ import annotations

from typing import Any

from tutorlib.compile.matching import made_by, used_once, users
from tutorlib.compile.rule_table import rule
from tutorlib.compile.rules_factors import scaled_by
from tutorlib.core.graph import Node, Symbol
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


@rule(
    "add",
    tier="algebra",
    safety="reassociates",
    says="g · s + (b · g) · y = g · (s + b · y)",
    of=("mul safe_mul",),
)
def common_factor(node: Node) -> Any:
    out = node.outputs[0]
    if out.dtype.kind != "f":
        return None
    for first, second in (node.inputs, node.inputs[::-1]):
        product = made_by(second, "mul", "safe_mul")
        scaled = scaled_by(product.inputs[0]) if product is not None else None
        if product is None or scaled is None or not (used_once(first) and used_once(second)):
            continue
        if not _alike(first, second, out):
            return None
        (b, g), y = scaled, product.inputs[1]
        other = made_by(first, "mul", "safe_mul")
        plain = scaled_by(first)
        if plain is not None and plain[1] is g:
            kind = "mul"
            s: Any = plain[0]
        elif other is not None and other.inputs[0] is g and _alike(other.inputs[1], out):
            kind, s = other.op.name, other.inputs[1]
        else:
            continue
        if _alike(y, g, out):
            return _products(product.op.name, kind)(g, OPS.add(OPS.mul(y, b), s))
    return None
