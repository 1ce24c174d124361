"""Small questions that rewrite rules ask of a graph."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from tutorlib.core.backend import to_host
from tutorlib.core.graph import Constant, Node, Symbol


class Looking(threading.local):
    """The graph that rules look at now, for those that must know who else uses a value; None outside rewriting.
    ``numbers``: what is known of its constants, by id."""

    graph: Any = None
    numbers: dict[int, Any] | None = None


looking = Looking()


def users(var: Symbol) -> list[Node | None]:
    """What uses ``var`` in the graph that is being rewritten: nodes, once for each operand it is, and None for each
    result."""
    return list(looking.graph.uses(var)) if looking.graph is not None else []


def used_once(var: Symbol) -> bool:
    """Whether replacing the one use of ``var`` makes what computed it superfluous."""
    return var.node is not None and len(users(var)) == 1


def size_of(var: Symbol) -> int | None:
    """The number of elements, where it is known."""
    return math.prod(var.shape) if var.aval.known else None  # type: ignore[arg-type]


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
    known = looking.numbers
    if known is None:
        return _number_in(var.value)
    if id(var) not in known:
        known[id(var)] = (_number_in(var.value), var)  # the constant is held, so that its id stays its own
    return known[id(var)][0]


def _number_in(value: Any) -> float | int | bool | None:
    """The number that an array holds in every element, if it is one."""
    host = to_host(value)
    # The ends tell most arrays apart from a repeated number.
    if host.size != 1 and (not host.size or host.flat[0] != host.flat[-1] or (host != host.flat[0]).any()):
        return None
    return host.flat[0].item()


def is_scalar(var: Any, value: float) -> bool:
    """Whether ``var`` is a constant equal to ``value`` in every element."""
    found = scalar_value(var)
    return found is not None and found == value and not (found == 0 and np.signbit(found) != np.signbit(value))


def nonpositive(var: Any) -> bool:
    """Whether ``var`` surely holds nothing above 0: −x², −|x| and their multiples."""
    node = made_by(var, "neg", "mul")
    if node is None:
        return False
    if node.op.name == "neg":
        return made_by(node.inputs[0], "square", "abs", "relu") is not None
    for number, rest in (node.inputs, node.inputs[::-1]):
        value = scalar_value(number)
        if isinstance(value, int | float) and value < 0:
            return made_by(rest, "square", "abs", "relu") is not None
    return False


def keeps(var: Symbol, node: Node) -> bool:
    """Whether ``var`` surely has the dtype and shape of the node's output, so that it can stand in its place."""
    out = node.outputs[0]
    if var.dtype != out.dtype or var.ndim != out.ndim or var.aval.weak:
        return False
    if var.aval.known and out.aval.known:
        return var.shape == out.shape
    others = [v for v in node.inputs if v is not var and v.ndim]
    return "elementwise" in node.op.flags and not others
