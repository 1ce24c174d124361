"""Gradients of fused ops by composition: the op's computation written in public ops, and the walk let loose on that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tutorlib.core.autodiff import grad
from tutorlib.core.dispatch import enable_grad
from tutorlib.core.graph import Var
from tutorlib.core.operators import OPS
from tutorlib.core.tensor import Tensor


def pulled_back(function: Callable[..., Any], values: Sequence[Any], needs: Sequence[bool], g: Any) -> list[Any]:
    """The cotangents of ``values``, in the mode of a gradient rule, when that of ``function(*values)`` is ``g``.

    Args:
        function: made of public ops, so that gradients of every order exist.
        values: arrays, tensors or symbols, as a rule is handed them; None as cotangent where ``needs`` is False.
    """
    computing = not any(isinstance(v, Var) for v in (*values, g))
    # Each value is cut off from the others: one may have been computed from another.
    if computing:
        inputs = [_leaf(v, need) for v, need in zip(values, needs, strict=True)]
    else:
        inputs = [OPS.identity(v) if isinstance(v, Var) else v for v in values]
    wrt = [v for v, need in zip(inputs, needs, strict=True) if need]
    with enable_grad():
        result = function(*inputs)
        found = iter(grad(result, wrt, cotangent=g, disconnected="zero", create_graph=not computing))
    grads = [next(found) if need else None for need in needs]
    return [getattr(v, "_data", v) for v in grads] if computing else grads


def _leaf(value: Any, need: bool) -> Tensor:
    leaf = Tensor(value)
    leaf.requires_grad = need
    return leaf
