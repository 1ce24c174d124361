"""The gradient walk of ``Tensor.backward`` where nobody watches: first order, on NumPy arrays, without detours.

It goes as ``walk`` does, and the answer is the same. What makes it quick: each node knows since it was recorded where
its cotangent goes (``route``) and holds it itself. Ops that matter have rules on bare arrays (``Op.on_arrays``). Such
a rule multiplies without guarding zeros against infinities; if a NaN comes of it, the walk gives up (``NotANumber``)
and the general one, which guards, does it over. Contributions are added up in place, in an array of the walk's own.

A rule gets the cotangent and the node, and returns a new array, a view, or the cotangent. Where ``node.mark.spare`` is
not None it is the cotangent too, and nobody else needs it: the rule may write over it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from tutorlib.core.backend import HOST_TYPES
from tutorlib.core.operators import OPS
from tutorlib.core.recorded import (
    ALL_FITTED,
    BOTH_FITTED,
    GENERAL,
    LEFT,
    LEFT_FITTED,
    POURED,
    SEVERAL,
    TWICE,
)
from tutorlib.core.tensor import Tensor
from tutorlib.core.walk import fit_array, see_arrays

# As a rule: the cotangent goes on as it is.
PASS = "pass"

_add = np.add
_ndarray = np.ndarray
_seq = attrgetter("seq")
# Without the detour that lets other libraries take part.
_vdot: Any = getattr(np.vdot, "_implementation", np.vdot)


class Walk:
    """A walk over recorded nodes: ``used_up`` says that it was the last they could be used for; ``spare`` is a
    cotangent that may be written over, if the one at hand may."""

    __slots__ = ("spare", "used_up")

    def __init__(self) -> None:
        self.used_up = False
        self.spare: Any = None


class NotANumber(Exception):
    """A cotangent has a NaN, which a guarded product might not have."""


def check(g: Any) -> None:
    """Raise NotANumber if an element of ``g``, a host array, is NaN: a sum of squares hides none."""
    if type(g) is _ndarray or isinstance(g, np.generic):
        if g.ndim > 2:
            g = g.ravel("K")  # in the order of memory, which need not copy images with their batch last
        size = _vdot(g, g)
        if size != size:
            raise NotANumber


class Found(NamedTuple):
    """The recorded ``nodes`` below some roots that require a gradient, each before those it uses; such ``leaves``, as
    keys; the nodes ``beside_leaf``, which may hold the array of one; the ``walk`` that all nodes are marked with."""

    nodes: list[Tensor]
    leaves: dict[Tensor, Any]
    beside_leaf: list[Tensor]
    walk: Walk


def recorded_nodes(roots: Iterable[Tensor]) -> Found:
    """Find what is below ``roots``."""
    nodes: list[Tensor] = []
    leaves: dict[Tensor, Any] = {}
    keep = nodes.append
    walk = Walk()
    beside_leaf: list[Tensor] = []

    def meet(var: Tensor) -> None:
        """See a variable that a gradient may be wanted for."""
        if not var.requires_grad:
            return
        if var.op is None:
            leaves[var] = None
        elif var.mark is not walk:
            if var.mark is not None and var.mark.used_up:
                var.left_array = var.right_array = None
                var.route = GENERAL
            var.mark = walk
            keep(var)

    for root in roots:
        meet(root)
    # The list grows while it is read: each node appends those of its inputs that nobody has met.
    for node in nodes:
        route = node.route
        if route <= BOTH_FITTED:
            var = node.left if route & LEFT else node.right
            # What ``meet`` does, in the commonest case.
            if var.op is not None and var.mark is None and var.requires_grad:
                var.mark = walk
                keep(var)
            else:
                meet(var)
                beside_leaf.append(node)
            if route == BOTH_FITTED:
                var = node.right
                if var.op is not None and var.mark is None and var.requires_grad:
                    var.mark = walk
                    keep(var)
                else:
                    meet(var)
                    beside_leaf.append(node)
        else:
            for var in node.inputs:
                if isinstance(var, Tensor):
                    meet(var)
            beside_leaf.append(node)
    nodes.sort(key=_seq, reverse=True)
    return Found(nodes, leaves, beside_leaf, walk)


_getrefcount = getattr(sys, "getrefcount", lambda _: 0)


def _references_to_spare(walk: Walk) -> int:
    return _getrefcount(walk.spare)


def _references_where_nobody_else_has_it() -> int:
    walk = Walk()
    walk.spare = np.empty(1)
    return _references_to_spare(walk)


# What ``_references_to_spare`` says where the walk alone has the array: it differs between Pythons.
_ALONE = _references_where_nobody_else_has_it() or -1


def walk_arrays(order: Iterable[Tensor], leaves: dict[Tensor, Any], remember: bool, large: bool) -> None:
    """Carry the cotangent of the first node through the nodes in ``order`` down to ``leaves``, filling in the values.

    Args:
        order: each node before those it uses; the first has its cotangent, or it is among the leaves.
        remember: leave each cotangent on its node, for drawing.
        large: the arrays are so large that writing over one beats making another.

    Raises NotANumber, with cotangents left on nodes.
    """
    # Those whose sum is an array that nobody else holds; leaves that a wrong NaN could have reached unseen.
    owned: set[Tensor] = set()
    unsure: set[Tensor] = set()
    over = large and not remember

    def plus(var: Tensor, sofar: Any, grad: Any, fresh: bool) -> Any:
        """The sum of two contributions to ``var``; ``fresh``: the second is new, or a view."""
        if fresh and type(grad) is _ndarray and grad.base is None:
            return _add(sofar, grad, grad)
        if var in owned:
            return _add(sofar, grad, sofar)
        host = type(sofar) in HOST_TYPES and type(grad) in HOST_TYPES
        total = _add(sofar, grad) if host else OPS.add(sofar, grad)
        if type(total) is _ndarray:
            owned.add(var)
        return total

    def arrive(var: Tensor, grad: Any, fresh: bool, node: Tensor, g: Any) -> None:
        """Hand ``var`` a contribution, from ``node`` with cotangent ``g``."""
        if not var.requires_grad:
            return
        if var.op is not None:
            sofar = var.cotangent
            var.cotangent = grad if sofar is None else plus(var, sofar, grad, fresh)
            return
        sofar = leaves[var]
        leaves[var] = grad if sofar is None else plus(var, sofar, grad, fresh)
        if sofar is None and node.op.guards_nothing and g is not None and grad.size > g.size:  # type: ignore[union-attr]
            check(g)
        else:
            unsure.add(var)

    for node in order:
        g = node.cotangent
        if g is None:
            continue
        if not remember:
            node.cotangent = None
        op: Any = node.op
        route = node.route
        if route < BOTH_FITTED:
            if route & LEFT:
                var, rule = node.left, op.to_left if route != TWICE else op.to_both
            else:
                var, rule = node.right, op.to_right
        elif route == BOTH_FITTED:
            var, rule = node.left, op.to_left
            grad = g if rule is PASS else rule(g, node)
            if grad is not None:
                value = node.left_array
                size = grad.nbytes
                if size != value.nbytes or grad.ndim != value.ndim or not size:
                    grad = fit_array(grad, value, node)
                arrive(var, grad, grad is not g, node, g)
            var, rule = node.right, op.to_right
        elif route == ALL_FITTED:
            for var, value, rule in zip(node.left, node.left_array, op.on_arrays, strict=True):
                if (type(var) is Tensor or isinstance(var, Tensor)) and var.requires_grad:
                    grad = g if rule is PASS else rule(g, node)
                    if grad is None:
                        continue
                    if grad.shape != value.shape or grad.dtype is not value.dtype:
                        grad = fit_array(grad, value, node)
                    arrive(var, grad, grad is not g, node, g)
            continue
        elif route == POURED:
            _pour(g, node, leaves, owned, unsure)
            continue
        else:
            if remember or not op.pulls_blindly:
                check(g)
            for var, grad in _general(node, g):
                arrive(var, grad, False, node, g)
            continue
        if rule is PASS:
            grad = g
        else:
            if over:
                walk = node.mark
                walk.spare = g
                g = grad = value = sofar = None
                alone = _references_to_spare(walk) == _ALONE
                g = walk.spare
                if not alone or type(g) is not _ndarray or g.base is not None:
                    walk.spare = None
                grad = rule(g, node)
                if grad is walk.spare:
                    g = None  # what was written over it is as good as new
                walk.spare = None
            else:
                grad = rule(g, node)
            if grad is None:
                continue
        if route > TWICE:
            # As many bytes on as many axes: what was stretched has more, and so has a wider dtype.
            value = node.left_array if route == LEFT_FITTED else node.right_array
            size = grad.nbytes
            if size != value.nbytes or grad.ndim != value.ndim or not size:
                grad = fit_array(grad, value, node)
        if var.op is None or not var.requires_grad:
            arrive(var, grad, grad is not g, node, g)
        else:
            sofar = var.cotangent
            var.cotangent = grad if sofar is None else plus(var, sofar, grad, grad is not g)
    for leaf in unsure:
        check(leaves[leaf])


def _pour(g: Any, node: Tensor, leaves: dict[Tensor, Any], owned: set[Tensor], unsure: set[Tensor]) -> None:
    """Add what an op that pours sends to its first input, in an array of the walk's own."""
    var = node.left[0] if node.right is SEVERAL else node.left
    sofar = leaves[var] if var.op is None else var.cotangent
    untouched = sofar is None
    if var not in owned:
        value = node.left_array[0] if node.right is SEVERAL else node.left_array
        sofar = np.zeros(value.shape, value.dtype) if sofar is None else np.array(sofar)
        owned.add(var)
        if var.op is None:
            leaves[var] = sofar
            unsure.add(var)
        else:
            var.cotangent = sofar
    node.op.pour(g, node, sofar, untouched)  # type: ignore[misc, union-attr]


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
