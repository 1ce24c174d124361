"""Fused operators in the place of what is written out, and pooling before what can as well be done after it, on fewer
elements."""

from __future__ import annotations

from typing import Any

from tutorlib.compile.matching import is_scalar, made_by
from tutorlib.compile.rule_table import Near, rule
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.ops.define import TABLE, normalized_axes

# ---- layers and losses ----


@rule("add", tier="algebra", absorbs=("matmul",), says="x W + b = linear(x, W, b)", of=("matmul",))
def product_and_bias(node: Node) -> Any:
    for product, b in (node.inputs, node.inputs[::-1]):
        inner = made_by(product, "matmul")
        if inner is None or b.ndim != 1 or product.dtype != b.dtype:
            continue
        x, W = inner.inputs
        if W.ndim == 2 and x.ndim > 1 and W.shape[1] is not None and W.shape[1] == b.shape[0]:
            return OPS.linear(x, W, b)
        if W.ndim == 2 and x.ndim > 1 and (W.shape[1] is None or b.shape[0] is None):
            return Near("it is not known that b has one number for each column of W: give their shapes")
    return None


@rule("pick_label", tier="algebra", says="log_softmax(x)[label] = −cross_entropy(x, label)", of=("log_softmax",))
def picked_log_softmax(node: Node) -> Any:
    scores, axis = made_by(node.inputs[0], "log_softmax"), node.attrs["axis"]
    if scores is None or scores.attrs["axis"] != axis:
        return None
    return OPS.neg(TABLE["cross_entropy"](scores.inputs[0], node.inputs[1], axis=axis))


@rule("exp", tier="algebra", says="e^log_softmax(x) = softmax(x)", of=("log_softmax",))
def exp_of_log_softmax(node: Node) -> Any:
    inner = made_by(node.inputs[0], "log_softmax")
    return OPS.softmax(inner.inputs[0], inner.attrs["axis"]) if inner is not None else None


def _put_along(var: Any) -> tuple[Node, int] | None:
    """The node that put values at labels, and along which axis, when ``var`` is its result."""
    put = made_by(var, "put_label")
    return (put, put.attrs["axis"]) if put is not None else None


@rule("sum", tier="algebra", says="Σ over classes of (g at the label, 0 elsewhere) = g", of=("put_label",))
def sum_of_put(node: Node) -> Any:
    found = _put_along(node.inputs[0])
    if found is None or normalized_axes(node.attrs["axis"], node.inputs[0].ndim, "sum") != (found[1],):
        return None
    g = found[0].inputs[0]
    return OPS.expand_dims(g, found[1]) if node.attrs["keepdims"] else g


@rule(
    "sub",
    tier="algebra",
    safety="reassociates",
    says="g at the label − softmax(x) · g = −g · (softmax(x) − one-hot)",
    of=("put_label", "mul safe_mul"),
)
def gradient_of_picked_log_softmax(node: Node) -> Any:
    found, product = _put_along(node.inputs[0]), made_by(node.inputs[1], "mul", "safe_mul")
    if found is None or product is None:
        return None
    put, axis = found
    g, labels = put.inputs[:2]
    for s, spread in (product.inputs, product.inputs[::-1]):
        softmax, stretched = made_by(s, "softmax"), made_by(spread, "expand_dims")
        if softmax is None or stretched is None or stretched.inputs[0] is not g:
            continue
        if softmax.attrs["axis"] == axis and stretched.attrs["axis"] in (axis, (axis,)) and labels.ndim == s.ndim - 1:
            return TABLE["cross_entropy_back"](OPS.neg(g), softmax.inputs[0], labels, axis=axis)
    return None


# ---- pooling ----


def _pooled(x: Any, of: Node) -> Any:
    """The largest elements of the windows of ``x``, windows as in node ``of``."""
    return TABLE["max_pool"](x, **of.attrs)


def _space_of(node: Node) -> int:
    return len(node.attrs["kernel"])


def _one_value_an_image(var: Symbol, space: int) -> bool:
    """Whether ``var`` surely does not change along the last ``space`` axes."""
    return all(d == 1 for d in var.shape[-space:])


def _map_and_offset(var: Any, space: int) -> tuple[Symbol, Symbol] | None:
    """x and b, when ``var`` is x + b with b the same all over an image."""
    node = made_by(var, "add")
    if node is None:
        return None
    for x, b in (node.inputs, node.inputs[::-1]):
        if _one_value_an_image(b, space) and x.ndim == var.ndim and x.dtype == var.dtype and b.dtype.kind == "f":
            return x, b
    return None


@rule("max_pool", tier="algebra", says="max_pool(relu(x)) = relu(max_pool(x)), on fewer elements", of=("relu",))
def pool_before_relu(node: Node) -> Any:
    inner = made_by(node.inputs[0], "relu")
    return OPS.relu(_pooled(inner.inputs[0], node)) if inner is not None else None


@rule(
    "where",
    tier="algebra",
    says="the gradient of max_pool(relu(x)) is that of relu(max_pool(x))",
    of=("gt", "max_pool_spread"),
)
def pool_before_relu_backward(node: Node) -> Any:
    condition, spread = made_by(node.inputs[0], "gt"), made_by(node.inputs[1], "max_pool_spread")
    if condition is None or spread is None or not (is_scalar(node.inputs[2], 0) and is_scalar(condition.inputs[1], 0)):
        return None
    g, pooled, _ = spread.inputs
    inner = made_by(pooled, "relu")
    if inner is None or inner.inputs[0] is not condition.inputs[0]:
        return None
    x = inner.inputs[0]
    largest = _pooled(x, spread)
    return spread.op(OPS.where(OPS.gt(largest, 0), g, 0.0), x, largest, **spread.attrs)


@rule(
    "max_pool",
    tier="algebra",
    safety="reassociates",
    says="max_pool(x + b) = max_pool(x) + b, b one for an image",
    of=("add",),
)
def pool_before_offset(node: Node) -> Any:
    found = _map_and_offset(node.inputs[0], _space_of(node))
    return OPS.add(_pooled(found[0], node), found[1]) if found is not None else None


@rule(
    "max_pool_spread",
    tier="algebra",
    safety="reassociates",
    says="x + b is largest where x is, b one for an image",
    of=("add",),
)
def spread_without_offset(node: Node) -> Any:
    g, moved, _ = node.inputs
    found = _map_and_offset(moved, _space_of(node))
    if found is None or found[0].shape != moved.shape:
        return None
    return node.op(g, found[0], _pooled(found[0], node), **node.attrs)


@rule(
    "unbroadcast",
    tier="algebra",
    safety="reassociates",
    says="Σ over an image of spread(g) = Σ g",
    of=("max_pool_spread",),
)
def sum_of_spread(node: Node) -> Any:
    total, like = node.inputs
    spread = made_by(total, "max_pool_spread")
    if spread is None or not _one_value_an_image(like, _space_of(spread)):
        return None
    return OPS.unbroadcast(spread.inputs[0], like)
