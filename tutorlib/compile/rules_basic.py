"""Canonical form: what can be left out or said in one way. All exact."""

from __future__ import annotations

import math
from typing import Any

from tutorlib.compile.matching import is_scalar, keeps, made_by, scalar_value
from tutorlib.compile.rule_table import Near, rule
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.core.walk import shape_source

_STRETCHES = Near("the constant stretches the other operand to a larger shape, or widens its dtype")


@rule("mul", says="x · 1 = x", of=("number same",))
def times_one(node: Node) -> Any:
    for x, one in (node.inputs, node.inputs[::-1]):
        if is_scalar(one, 1):
            return x if keeps(x, node) else _STRETCHES
    return None


@rule("safe_mul", says="g · x needs no mask where g is a number but 0, or x a finite number", of=("number same",))
def mask_not_needed(node: Node) -> Any:
    g, x = node.inputs
    number, factor = scalar_value(g), scalar_value(x)
    needless = (number is not None and number != 0) or (factor is not None and math.isfinite(factor))
    return OPS.mul(g, x) if needless else None


@rule("safe_div", says="g / x needs no mask where g is a number but 0, or x one", of=("number same",))
def mask_not_needed_in_quotient(node: Node) -> Any:
    g, x = node.inputs
    number, divisor = scalar_value(g), scalar_value(x)
    needless = (number is not None and number != 0) or (divisor is not None and divisor != 0)
    return OPS.div(g, x) if needless else None


@rule("add", says="x + 0 = x", of=("number same",))
def plus_zero(node: Node) -> Any:
    for x, zero in (node.inputs, node.inputs[::-1]):
        if is_scalar(zero, 0):
            return x if keeps(x, node) else _STRETCHES
    return None


@rule("sub", says="x − 0 = x", of=("number same",))
def minus_zero(node: Node) -> Any:
    x, y = node.inputs
    return x if is_scalar(y, 0) and keeps(x, node) else None


@rule("div", says="x / 1 = x", of=("number same",))
def over_one(node: Node) -> Any:
    x, y = node.inputs
    return x if is_scalar(y, 1) and keeps(x, node) else None


@rule("mul", says="x · (−1) = −x", of=("number same",))
def times_minus_one(node: Node) -> Any:
    x, y = node.inputs
    if is_scalar(y, -1) and keeps(x, node):
        return OPS.neg(x)
    return OPS.neg(y) if is_scalar(x, -1) and keeps(y, node) else None


def _wraps(y: Symbol, node: Node) -> bool:
    """Whether −y, of whole numbers, may be another number in its dtype than in the node's."""
    return y.dtype.kind != "f" and y.dtype != node.outputs[0].dtype


@rule("neg", says="−(−x) = x", of=("neg",))
def double_negation(node: Node) -> Any:
    inner = made_by(node.inputs[0], "neg")
    return inner.inputs[0] if inner is not None else None


@rule("add", says="x + (−y) = x − y", of=("neg",))
def plus_negative(node: Node) -> Any:
    x, y = node.inputs
    if (right := made_by(y, "neg")) is not None and not _wraps(y, node):
        return OPS.sub(x, right.inputs[0])
    if (left := made_by(x, "neg")) is not None and not _wraps(x, node):
        return OPS.sub(y, left.inputs[0])
    return None


@rule("sub", says="x − (−y) = x + y", of=("neg",))
def minus_negative(node: Node) -> Any:
    x, y = node.inputs
    inner = made_by(y, "neg")
    return OPS.add(x, inner.inputs[0]) if inner is not None and not _wraps(y, node) else None


@rule("neg", says="−(x − y) = y − x", of=("sub",))
def negative_difference(node: Node) -> Any:
    inner = made_by(node.inputs[0], "sub")
    return OPS.sub(inner.inputs[1], inner.inputs[0]) if inner is not None else None


@rule("pow", says="x² = square(x), x¹ = x, x⁻¹ = 1/x", of=("number",))
def small_power(node: Node) -> Any:
    x, p = node.inputs
    if x.dtype.kind != "f" or x.dtype != node.outputs[0].dtype or p.ndim:
        return None
    power = scalar_value(p)
    if power == 1:
        return x
    return OPS.square(x) if power == 2 else OPS.reciprocal(x) if power == -1 else None


@rule("mul", says="x · x = x²")
def times_itself(node: Node) -> Any:
    x, y = node.inputs
    return OPS.square(x) if x is y and x.dtype.kind != "b" else None


@rule("cast", says="x, cast to the dtype it has, is x")
def cast_to_itself(node: Node) -> Any:
    x = node.inputs[0]
    return x if x.dtype == node.outputs[0].dtype and not x.aval.weak else None


@rule("reshape", says="a reshape of a reshape is one reshape", of=("reshape reshape_like expand_dims squeeze",))
def reshape_twice(node: Node) -> Any:
    inner = made_by(node.inputs[0], "reshape", "reshape_like", "expand_dims", "squeeze")
    return OPS.reshape(inner.inputs[0], node.attrs["shape"]) if inner is not None else None


@rule(
    "reshape",
    "reshape_like",
    "broadcast_to",
    "broadcast_like",
    "unbroadcast",
    says="x, brought to the shape it has, is x",
)
def shape_it_has(node: Node) -> Any:
    x, out = node.inputs[0], node.outputs[0]
    known = x.aval.known and out.aval.known and x.shape == out.shape
    return x if known and x.dtype == out.dtype and not x.aval.weak else None


@rule("transpose", says="a transpose of a transpose is one transpose", of=("transpose",))
def transpose_twice(node: Node) -> Any:
    inner = made_by(node.inputs[0], "transpose")
    if inner is None:
        return None
    return OPS.transpose(inner.inputs[0], tuple(inner.attrs["axes"][a] for a in node.attrs["axes"]))


@rule("transpose", says="axes in the order they have")
def transpose_of_nothing(node: Node) -> Any:
    return node.inputs[0] if node.attrs["axes"] == tuple(range(node.inputs[0].ndim)) else None


@rule("squeeze", says="axes put in and taken out again", of=("expand_dims",))
def squeeze_of_expand(node: Node) -> Any:
    inner = made_by(node.inputs[0], "expand_dims")
    return inner.inputs[0] if inner is not None and inner.attrs["axis"] == node.attrs["axis"] else None


@rule("expand_dims", says="axes taken out and put in again", of=("squeeze",))
def expand_of_squeeze(node: Node) -> Any:
    inner = made_by(node.inputs[0], "squeeze")
    return inner.inputs[0] if inner is not None and inner.attrs["axis"] == node.attrs["axis"] else None


@rule("logical_not", says="not not x = x", of=("logical_not",))
def double_not(node: Node) -> Any:
    inner = made_by(node.inputs[0], "logical_not")
    return inner.inputs[0] if inner is not None and inner.inputs[0].dtype.kind == "b" else None


@rule("where", says="where(c, x, x) = x")
def same_branches(node: Node) -> Any:
    _, x, y = node.inputs
    return x if x is y and x.aval.known and x.shape == node.outputs[0].shape else None


@rule("unbroadcast", says="a sum over no axis is nothing to do: the shapes are equal by construction")
def proved_unbroadcast(node: Node) -> Any:
    g, like = node.inputs
    return g if shape_source(g) is shape_source(like) else None


@rule(
    "broadcast_like",
    "reshape_like",
    "unbroadcast",
    "zeros_like",
    "ones_like",
    "count",
    says="only the shape of like matters",
)
def like_without_computing(node: Node) -> Any:
    """Take the shape from as far up the graph as it can be proved, so that what computed ``like`` may be dropped."""
    *rest, like = node.inputs
    source = shape_source(like)
    if source is like or source.dtype != like.dtype:
        return None
    return node.op(*rest, source, **node.attrs)
