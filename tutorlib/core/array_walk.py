"""The gradient walk of ``Tensor.backward`` where nobody watches: first order, on NumPy arrays, without detours.

It goes as ``walk`` does, and the answer is the same. Three things make it quick. Ops that matter have rules on bare
arrays (``Op.on_arrays``). Such a rule multiplies without guarding zeros against infinities; if a NaN comes of it, the
walk gives up (``NotANumber``) and the general one, which guards, does it over. And a sum of many contributions is added
up in place, in an array of the walk's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tutorlib.core.backend import HOST_TYPES
from tutorlib.core.operators import OPS
from tutorlib.core.tensor import Tensor
from tutorlib.core.walk import fit_array, see_arrays

# In ``Op.on_arrays``: the cotangent goes on as it is.
PASS = "pass"

_add = np.add
_ndarray = np.ndarray
# Without the detour that lets other libraries take part.
_vdot: Any = getattr(np.vdot, "_implementation", np.vdot)


class NotANumber(Exception):
    """A cotangent has a NaN, which a guarded product might not have."""


def check(g: Any) -> None:
    """Raise NotANumber if an element of ``g``, a host array, is NaN: a sum of squares hides none."""
    if isinstance(g, _ndarray | np.generic):
        size = _vdot(g, g)
        if size != size:
            raise NotANumber


def walk_arrays(
    order: Iterable[Tensor], cotangents: dict[Tensor, Any], leaves: Iterable[Tensor], remember: bool
) -> None:
    """Carry ``cotangents`` (by variable) through the nodes in ``order`` down to ``leaves``.

    ``remember``: leave each cotangent on its node, for drawing. Raises NotANumber, with ``cotangents`` half changed.
    """
    take = cotangents.pop
    owned: set[Tensor] = set()
    for node in order:
        g = take(node, None)
        if g is None:
            continue
        if remember:
            node.cotangent = g
        rules = node.op.on_arrays  # type: ignore[union-attr]
        kind = type(g)
        if rules is None or node.arrays is None or (kind is not _ndarray and kind not in HOST_TYPES):
            if remember or not node.op.pulls_blindly:  # type: ignore[union-attr]
                check(g)
            for var, grad in _general(node, g):
                if var in cotangents:
                    _add_up(cotangents, var, grad, owned)
                else:
                    cotangents[var] = grad
        elif len(rules) == 1:
            # The one operand of a node that requires a gradient requires it too; its rule keeps to its shape and dtype.
            (var,) = node.inputs
            (rule,) = rules
            grad = g if rule is PASS else rule(g, node)
            if var in cotangents:
                _add_up(cotangents, var, grad, owned)
            else:
                cotangents[var] = grad
        elif not rules:
            var = node.inputs[0]
            if var not in owned:
                sofar, value = cotangents.get(var), node.arrays[0]
                cotangents[var] = np.zeros(value.shape, value.dtype) if sofar is None else np.array(sofar)
                owned.add(var)
            node.op.pour(g, node, cotangents[var])  # type: ignore[misc, union-attr]
        else:
            for i, var in enumerate(node.inputs):
                if (type(var) is Tensor or isinstance(var, Tensor)) and var.requires_grad:
                    rule = rules[i]
                    grad = g if rule is PASS else rule(g, node)
                    if grad is None:
                        continue
                    value = node.arrays[i]
                    if grad.shape != value.shape or grad.dtype is not value.dtype:
                        grad = fit_array(grad, value, node)
                    if var in cotangents:
                        _add_up(cotangents, var, grad, owned)
                    else:
                        cotangents[var] = grad
    for leaf in leaves:
        if leaf in cotangents:
            check(cotangents[leaf])


def _add_up(cotangents: dict[Tensor, Any], var: Tensor, grad: Any, owned: set[Tensor]) -> None:
    """Add a further contribution: from the second on, in place."""
    sofar = cotangents[var]
    if var in owned:
        _add(sofar, grad, sofar)
        return
    host = type(sofar) in HOST_TYPES and type(grad) in HOST_TYPES
    cotangents[var] = total = _add(sofar, grad) if host else OPS.add(sofar, grad)
    if type(total) is _ndarray:
        owned.add(var)


def _general(node: Tensor, g: Any) -> list[tuple[Tensor, Any]]:
    """What a node sends to its inputs by its general rules, as pairs (input, cotangent)."""
    out, values = see_arrays(node)
    inputs, op = node.inputs, node.op
    assert op is not None
    needs = [isinstance(v, Tensor) and v.requires_grad for v in inputs]
    rules = op.vjp
    if type(rules) is tuple:
        grads = [
            rule(g, out, *values, **node.attrs) if need and rule is not None else None
            for need, rule in zip(needs, rules, strict=True)
        ]
    else:
        grads = rules(g, needs, out, *values, **node.attrs)
    return [
        (var, fit_array(grad, value, node))
        for var, need, value, grad in zip(inputs, needs, values, grads, strict=True)
        if need and grad is not None
    ]
