"""Fused operators in the place of what is written out, and pooling before what can as well be done after it, on fewer
elements."""

from __future__ import annotations

from typing import Any

from tutorlib.compile.matching import is_scalar, made_by
from tutorlib.compile.rule_table import rule
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.ops.define import TABLE

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


@rule("max_pool", tier="algebra", says="max_pool(relu(x)) = relu(max_pool(x)), on fewer elements")
def pool_before_relu(node: Node) -> Any:
    inner = made_by(node.inputs[0], "relu")
    return OPS.relu(_pooled(inner.inputs[0], node)) if inner is not None else None


@rule("where", tier="algebra", says="the gradient of max_pool(relu(x)) is that of relu(max_pool(x))")
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


@rule("max_pool", tier="algebra", safety="reassociates", says="max_pool(x + b) = max_pool(x) + b, b one for an image")
def pool_before_offset(node: Node) -> Any:
    found = _map_and_offset(node.inputs[0], _space_of(node))
    return OPS.add(_pooled(found[0], node), found[1]) if found is not None else None


@rule(
    "max_pool_spread",
    tier="algebra",
    safety="reassociates",
    says="x + b is largest where x is, b one for an image",
)
def spread_without_offset(node: Node) -> Any:
    g, moved, _ = node.inputs
    found = _map_and_offset(moved, _space_of(node))
    if found is None or found[0].shape != moved.shape:
        return None
    return node.op(g, found[0], _pooled(found[0], node), **node.attrs)


@rule("unbroadcast", tier="algebra", safety="reassociates", says="Σ over an image of spread(g) = Σ g")
def sum_of_spread(node: Node) -> Any:
    total, like = node.inputs
    spread = made_by(total, "max_pool_spread")
    if spread is None or not _one_value_an_image(like, _space_of(spread)):
        return None
    return OPS.unbroadcast(spread.inputs[0], like)
