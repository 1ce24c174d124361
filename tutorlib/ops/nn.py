"""Ops of networks: softmax and its logarithm."""

from __future__ import annotations

from typing import Any

from tutorlib.core.aval import AVal
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.ops.define import normalized_axes, public, register, result_dtype
from tutorlib.ops.elementwise import exp
from tutorlib.ops.shape import ndim


def _shifted(xp: Any, x: Any, axis: int) -> Any:
    # An empty axis has no maximum, and nothing to shift.
    return x - xp.max(x, axis=axis, keepdims=True) if x.shape[axis] else x


def _softmax_forward(xp: Any, x: Any, axis: int) -> Any:
    e = xp.exp(_shifted(xp, x, axis))
    return e / xp.sum(e, axis=axis, keepdims=True)


def _log_softmax_forward(xp: Any, x: Any, axis: int) -> Any:
    shifted = _shifted(xp, x, axis)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


_softmax: Op = register(
    Op(
        "softmax",
        _softmax_forward,
        lambda x, axis: AVal(x.shape, result_dtype(_softmax, [x], axis=0)),
        (lambda g, out, x, axis: out * (g - OPS.sum(g * out, axis, True)),),
        flags={"quiet"},
    )
)
_log_softmax: Op = register(
    Op(
        "log_softmax",
        _log_softmax_forward,
        lambda x, axis: AVal(x.shape, result_dtype(_log_softmax, [x], axis=0)),
        (lambda g, out, x, axis: g - exp(out) * OPS.sum(g, axis, True),),
        flags={"quiet"},
    )
)


@public
def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) divided by its sum along ``axis``, without overflow.

    >>> import tutorlib as tl
    >>> tl.softmax(tl.tensor([0.0, 0.0]))
    tensor([0.5, 0.5])
    """
    return _softmax(x, axis=normalized_axes(axis, ndim(x), "softmax")[0])


@public
def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of softmax along ``axis``, exact where softmax itself would round to 0.

    >>> import tutorlib as tl
    >>> tl.log_softmax(tl.tensor([0.0, -1000.0]))
    tensor([    0., -1000.])
    """
    return _log_softmax(x, axis=normalized_axes(axis, ndim(x), "log_softmax")[0])
