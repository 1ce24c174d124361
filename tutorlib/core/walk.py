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
    add = OPS.add
    try:
        for node in order:
            op = node.op
            outputs = node.outputs
            if op.nout == 1:
                key = id(outputs[0])
                g = cotangents.get(key) if key in keep else cotangents.pop(key, None)
                if g is None:
                    continue
            else:
                g = tuple(cotangents.get(id(v)) if id(v) in keep else cotangents.pop(id(v), None) for v in outputs)
                if all(part is None for part in g):
                    continue
            if remember:
                node.cotangent = g
            out, values = see(node)
            inputs = node.inputs
            needs = [on_path(var) for var in inputs]
            if builds:
                building.meta = Meta("backward", node, node.meta.scope)
            rules = op.vjp
            if type(rules) is tuple:
                attrs = node.attrs
                grads = [
                    rule(g, out, *values, **attrs) if need and rule is not None else None
                    for need, rule in zip(needs, rules, strict=True)
                ]
            else:
                grads = rules(g, needs, out, *values, **node.attrs)
            for var, need, value, grad in zip(inputs, needs, values, grads, strict=True):
                if grad is None or not need:
                    continue
                grad = fit(grad, value, node, var)
                key = id(var)
                sofar = cotangents.get(key)
                cotangents[key] = grad if sofar is None else add(sofar, grad)
            if observe.observers:
                observe.tell("on_vjp", node, g, grads)
    finally:
        building.meta = before
