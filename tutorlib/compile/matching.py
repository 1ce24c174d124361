"""Small questions that rewrite rules ask of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.backend import to_host
from tutorlib.core.graph import Constant, Node, Symbol


def made_by(var: Any, *ops: str) -> Node | None:
    """The node that computed ``var``, if its op is one of ``ops``."""
    node = var.node if isinstance(var, Symbol) else None
    return node if node is not None and node.op.name in ops else None


def scalar_value(var: Any) -> float | int | bool | None:
    """The number that a constant holds in every element, or None: for matching ``x · 1`` and the like."""
    if not isinstance(var, Constant):
        return None
    if var.aval.weak:
        return var.value
    host = to_host(var.value)
    if host.size == 0 or (host.size > 1 and (host != host.flat[0]).any()):
        return None
    return host.flat[0].item()


def is_scalar(var: Any, value: float) -> bool:
    """Whether ``var`` is a constant equal to ``value`` in every element."""
    found = scalar_value(var)
    return found is not None and found == value and not (found == 0 and np.signbit(found) != np.signbit(value))


def keeps(var: Symbol, node: Node) -> bool:
    """Whether ``var`` surely has the dtype and shape of the node's output, so that it can stand in its place."""
    out = node.outputs[0]
    if var.dtype != out.dtype or var.ndim != out.ndim or var.aval.weak:
        return False
    if var.aval.known and out.aval.known:
        return var.shape == out.shape
    others = [v for v in node.inputs if v is not var and v.ndim]
    return "elementwise" in node.op.flags and not others
