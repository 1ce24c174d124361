"""Normalisation: values less their mean, divided by their standard deviation, over the axes that each layer has its
name from."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import hashable_axis, normalized_axes, public, register
from tutorlib.ops.elementwise import reciprocal, sqrt, square
from tutorlib.ops.shape import expand_dims, ndim, reshape_like, squeeze


def _floats(x: Any) -> Any:
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _standardize_forward(xp: Any, x: Any, axis: Any, eps: float) -> Any:
    x = _floats(x)
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    centred /= xp.sqrt(xp.mean(xp.square(centred), axis=axis, keepdims=True) + eps)
    return centred


def _standardize_x(g: Any, out: Any, x: Any, axis: Any, eps: float) -> Any:
    """What is left of g when its mean and its part along the result are taken away, divided by the deviation."""
    centred = x - OPS.mean(x, axis, True)
    per_deviation = reciprocal(sqrt(OPS.mean(square(centred), axis, True) + eps))
    return per_deviation * (g - OPS.mean(g, axis, True) - out * OPS.mean(g * out, axis, True))


_standardize: Op = register(
    Op(
        "standardize",
        _standardize_forward,
        lambda x, axis, eps: AVal(x.shape, x.dtype if x.dtype.kind == "f" else np.dtype("float64")),
        (_standardize_x,),
        doc="(x − mean) / √(variance + eps).",
    )
)


@public
def standardize(x: Any, axis: Any = -1, eps: float = 1e-5) -> Any:
    """(x - mean) / sqrt(variance + eps) over ``axis`` (None, int or tuple); the variance divides by n.

    Equal values give 0, with gradient 0.

    >>> import tutorlib as tl
    >>> tl.standardize(tl.tensor([1.0, 3.0]), eps=0.0)
    tensor([-1.,  1.])
    """
    return _standardize(x, axis=normalized_axes(hashable_axis(axis), ndim(x), "standardize"), eps=float(eps))


def _scaled(y: Any, scale: Any, shift: Any) -> Any:
    y = y if scale is None else y * scale
    return y if shift is None else y + shift


@public
def layer_norm(x: Any, scale: Any = None, shift: Any = None, axis: Any = -1, eps: float = 1e-5) -> Any:
    """Each example standardized over its own features, then times ``scale`` plus ``shift``.

    Args:
        x: (…, features).
        scale, shift: (features,) or None; with several axes, of the shape of these axes.
        axis: the last axis, or a tuple of the last axes.

    >>> import tutorlib as tl
    >>> tl.layer_norm(tl.tensor([[1.0, 3.0], [10.0, 30.0]]), eps=0.0)
    tensor([[-1.,  1.],
            [-1.,  1.]])
    """
    return _scaled(standardize(x, axis, eps), scale, shift)


@public
def rms_norm(x: Any, scale: Any = None, axis: Any = -1, eps: float = 1e-6) -> Any:
    """x divided by the root of the mean of its squares over ``axis``, then times ``scale``: no mean is taken away.

    >>> import tutorlib as tl
    >>> tl.rms_norm(tl.tensor([2.0, -2.0]), eps=0.0)
    tensor([ 1., -1.])
    """
    y = x * reciprocal(sqrt(OPS.mean(square(x), axis, True) + eps))
    return y if scale is None else y * scale


def _along(value: Any, axis: int, n: int) -> Any:
    """A value a channel, with axes behind so that it broadcasts against n axes with channels at ``axis``."""
    return None if value is None else expand_dims(value, tuple(range(1, n - axis))) if n - axis > 1 else value


@public
def batch_norm(
    x: Any,
    scale: Any = None,
    shift: Any = None,
    mean: Any = None,
    var: Any = None,
    axis: int = 1,
    eps: float = 1e-5,
) -> tuple[Any, Any, Any]:
    """Each channel standardized over the batch (and space), then times ``scale`` plus ``shift``.

    Args:
        x: (batch, channels) or (batch, channels, *space).
        scale, shift: (channels,) or None.
        mean, var: (channels,): use these instead of the batch's own, as one does after training.
        axis: the channel axis.

    Returns (result, mean, var), the two statistics (channels,) being those used. Running averages of them are the
    caller's state: for example updates of shared variables. The variance divides by n.

    >>> import tutorlib as tl
    >>> y, mean, var = tl.batch_norm(tl.tensor([[1.0], [3.0]]), eps=0.0)
    >>> y.tolist(), mean.tolist(), var.tolist()
    ([[-1.0], [1.0]], [2.0], [1.0])
    """
    n = ndim(x)
    (axis,) = normalized_axes(axis, n, "batch_norm")
    others = tuple(a for a in range(n) if a != axis)
    if (mean is None) != (var is None):
        raise ShapeError("mean and var belong together", op="batch_norm", fix="give both, or neither")
    if mean is None:
        y = standardize(x, others, eps)
        centre = OPS.mean(x, others, True)
        mean, var = squeeze(centre, others), OPS.mean(square(x - centre), others)
    else:
        y = (x - _along(mean, axis, n)) * _along(reciprocal(sqrt(var + eps)), axis, n)
    return _scaled(y, _along(scale, axis, n), _along(shift, axis, n)), mean, var


def _group_infer(x: AVal, groups: int) -> AVal:
    channels: Dim = x.shape[1]
    if channels is not None and channels % groups:
        raise ShapeError(
            f"{channels} channels do not make {groups} groups",
            op="group_norm",
            shapes=[x.shape],
            wrong_dims=[1],
            fix="use a number of groups that divides the channels",
        )
    return AVal((x.shape[0], groups, None if channels is None else channels // groups, *x.shape[2:]), x.dtype)


_group_channels: Op = register(
    Op(
        "group_channels",
        lambda xp, x, groups: xp.reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])),
        _group_infer,
        (lambda g, out, x, groups: reshape_like(g, x),),
        flags={"linear", "view"},
        doc="(batch, channels, …) as (batch, groups, channels of one, …).",
    )
)


@public
def group_norm(x: Any, groups: int, scale: Any = None, shift: Any = None, eps: float = 1e-5) -> Any:
    """Each group of channels of each example standardized by itself, then times ``scale`` plus ``shift``.

    Args:
        x: (batch, channels, *space).
        groups: a number that divides the channels. 1: all together; as many as channels: each alone (instance norm).
        scale, shift: (channels,) or None.

    >>> import tutorlib as tl
    >>> tl.group_norm(tl.tensor([[1.0, 3.0, 10.0, 30.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    grouped = _group_channels(x, groups=int(groups))
    y = reshape_like(standardize(grouped, tuple(range(2, ndim(x) + 1)), eps), x)
    return _scaled(y, _along(scale, 1, ndim(x)), _along(shift, 1, ndim(x)))


attach_to("normalize")
