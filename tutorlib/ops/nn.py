"""Ops of networks that fit nowhere else: softmax and its logarithm, dropout."""

from __future__ import annotations

from typing import Any

from tutorlib.core.aval import AVal
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Op, Var
from tutorlib.core.operators import OPS
from tutorlib.ops.define import normalized_axes, public, register, result_dtype
from tutorlib.ops.elementwise import exp, where
from tutorlib.ops.logic import lt
from tutorlib.ops.shape import ndim


def shifted(xp: Any, x: Any, axis: int) -> Any:
    """x less its maximum along ``axis``, so that exp does not overflow. An empty axis has nothing to shift."""
    return x - xp.max(x, axis=axis, keepdims=True) if x.shape[axis] else x


def _softmax_forward(xp: Any, x: Any, axis: int) -> Any:
    e = xp.exp(shifted(xp, x, axis))
    return e / xp.sum(e, axis=axis, keepdims=True)


def _log_softmax_forward(xp: Any, x: Any, axis: int) -> Any:
    low = shifted(xp, x, axis)
    return low - xp.log(xp.sum(xp.exp(low), axis=axis, keepdims=True))


_softmax: Op = register(
    Op(
        "softmax",
        _softmax_forward,
        lambda x, axis: AVal(x.shape, result_dtype(_softmax, [x], axis=0)),
        (lambda g, out, x, axis: out * (g - OPS.sum(g * out, axis, True)),),
    )
)
_log_softmax: Op = register(
    Op(
        "log_softmax",
        _log_softmax_forward,
        lambda x, axis: AVal(x.shape, result_dtype(_log_softmax, [x], axis=0)),
        (lambda g, out, x, axis: g - exp(out) * OPS.sum(g, axis, True),),
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


@public
def dropout(x: Any, rate: float, key: Any = 0, train: Any = True, *, counter: Any = 0) -> Any:
    """x with each element set to 0 with probability ``rate``, the others divided by 1 - rate: the mean stays.

    Args:
        x: any shape.
        rate: the share to drop, a number from 0 to 1.
        key: a seed, a key, or a ``tl.random.Stream``, which drops others at each call.
        train: False leaves x as it is; may be a symbol, so that one graph serves training and use.
        counter: with a seed or a key: another one drops others.

    Raises TutorlibError for a rate outside 0 … 1.

    >>> import tutorlib as tl
    >>> sorted(set(tl.dropout(tl.ones_like(tl.tensor([0.0] * 99)), 0.5).tolist()))
    [0.0, 2.0]
    """
    if not 0 <= rate <= 1:
        raise TutorlibError(f"rate={rate} is not from 0 to 1", op="dropout", fix="it is the share to drop, often 0.5")
    if train is False:
        return x
    from tutorlib.ops import random

    if isinstance(key, random.Stream):
        key, counter = key.key, key.take(x)
    kept = lt(random.uniform(key, like=x, dtype="float32", counter=counter), 1 - rate)
    dropped = where(kept, x * (1 / (1 - rate) if rate < 1 else 0.0), 0.0)
    return where(train, dropped, x) if isinstance(train, Var) else dropped
