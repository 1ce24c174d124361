"""The one gradient walk.

Reverse mode: from the cost back through the nodes, each node's rule turns the cotangent of its output into cotangents
of its inputs, and what reaches a variable by several ways is added up. Whether gradients are arrays, tensors or symbols
depends only on what the rules are handed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tutorlib.core import observe
from tutorlib.core.graph import Meta, building
from tutorlib.core.operators import OPS

See = Callable[[Any], tuple[Any, Sequence[Any]]]


def walk(
    order: Iterable[Any],
    cotangents: dict[int, Any],
    on_path: Callable[[Any], bool],
    see: See,
    fit: Callable[[Any, Any, Any, Any], Any],
    keep: frozenset[int] = frozenset(),
    remember: bool = False,
    builds: bool = True,
) -> None:
    """Carry ``cotangents`` (by ``id`` of variable) from the outputs of the nodes in ``order`` to their inputs.

    Args:
        order: nodes, each before those it uses.
        on_path: whether an input variable leads to something a gradient is wanted for.
        see: what a node's rule is handed, as (output or outputs, inputs).
        fit: ``fit(cotangent, value, node, var)`` undoes broadcasting and dtype promotion.
        keep: ids of intermediate variables whose cotangent is a result, not to be dropped on the way.
        remember: leave each cotangent on its (dynamic) node, for drawing.
        builds: whether the rules make nodes, which are then marked as backward ones.
    """
    before = building.meta
    for node in order:
        outputs = node.outputs
        arrived = [cotangents.get(id(v)) if id(v) in keep else cotangents.pop(id(v), None) for v in outputs]
        if all(g is None for g in arrived):
            continue
        g = arrived[0] if len(outputs) == 1 else tuple(arrived)
        if remember:
            node.cotangent = g
        out, values = see(node)
        if builds:
            building.meta = Meta("backward", node, node.meta.scope)
        try:
            rules = node.op.vjp
            inputs = node.inputs
            if type(rules) is tuple:
                attrs = node.attrs
                grads = [
                    rule(g, out, *values, **attrs) if rule is not None and on_path(var) else None
                    for rule, var in zip(rules, inputs, strict=True)
                ]
            else:
                grads = rules(g, [on_path(v) for v in inputs], out, *values, **node.attrs)
            for var, value, grad in zip(inputs, values, grads, strict=True):
                if grad is None or not on_path(var):
                    continue
                grad = fit(grad, value, node, var)
                key = id(var)
                sofar = cotangents.get(key)
                cotangents[key] = grad if sofar is None else OPS.add(sofar, grad)
        finally:
            building.meta = before
        if observe.observers:
            observe.tell("on_vjp", node, g, grads)
