"""Means, spreads and sizes over axes: mean, var, std, median, norm, logsumexp.

Where all values are equal the spread is exactly 0 and its gradient 0; so is the norm's at 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.ops.convert import cast
from tutorlib.ops.define import hashable_axis, normalized_axes, public, register
from tutorlib.ops.elementwise import abs as absolute
from tutorlib.ops.elementwise import div, exp, pow, safe_mul, where
from tutorlib.ops.gradient_control import stop_gradient
from tutorlib.ops.index import getitem
from tutorlib.ops.logic import eq, ne
from tutorlib.ops.reduce import (
    count,
    counting_dtype,
    reduced_shape,
    reduction,
    refuse_empty,
    restore_axes,
    share_among_ties,
)
from tutorlib.ops.shape import broadcast_like, ndim
from tutorlib.ops.special import as_floats
from tutorlib.ops.sums import add_up, sum_of_all


def _length(x: Any, axis: Any, op: str) -> int:
    return int(math.prod(x.shape[a] for a in normalized_axes(axis, x.ndim, op)))


def _wide(x: Any) -> Any:
    """The dtype to add up x in: half precision would overflow or lose its digits."""
    return "float32" if x.dtype == np.float16 else None if x.dtype.kind == "f" else "float64"


def _narrowed(result: Any, x: Any) -> Any:
    return result.astype("float16") if x.dtype == np.float16 else result


# ---- mean ----


def _mean_forward(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    if xp is np and type(x) is np.ndarray and x.dtype.kind == "f" and x.dtype.itemsize >= 4:
        if axis is None and not keepdims:
            return sum_of_all(x) / x.size
        total = add_up(x, axis, None, None, keepdims)  # what np.sum calls in the end
        return total / x.dtype.type(x.size if axis is None else _length(x, axis, "mean"))
    x = xp.asarray(x)
    return _narrowed(xp.sum(x, axis=axis, dtype=_wide(x), keepdims=keepdims) / _length(x, axis, "mean"), x)


def _mean_x(g: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    g = div(g, count(x, axis, counting_dtype(g.dtype)))
    return broadcast_like(restore_axes(g, x, axis, keepdims), x)


_mean: Op = reduction(
    "mean",
    _mean_forward,
    (_mean_x,),
    flags={"linear"},
    doc="""The mean over ``axis`` (None: all axes; int; tuple). Of nothing it is NaN.

    >>> import tutorlib as tl
    >>> tl.mean(tl.tensor([1.0, 2.0, 6.0])).item()
    3.0
    """,
)

# ---- variance and standard deviation ----


def _first(x: Any, axis: Any, op: str) -> Any:
    """An index of the first element along each of the axes, which are kept."""
    return tuple(slice(None, 1) if a in normalized_axes(axis, x.ndim, op) else slice(None) for a in range(x.ndim))


def _deviations(xp: Any, x: Any, axis: Any) -> Any:
    # Taking off one of the elements first makes equal values exactly 0, and costs nearby large ones no digits.
    x = xp.asarray(x)
    x = x.astype(_wide(x) or x.dtype)
    x = x - x[_first(x, axis, "var")]
    return x - xp.sum(x, axis=axis, keepdims=True) / _length(x, axis, "var")


def _var_forward(xp: Any, x: Any, axis: Any, ddof: float, keepdims: bool) -> Any:
    x = xp.asarray(x)
    total = xp.sum(xp.square(_deviations(xp, x, axis)), axis=axis, keepdims=keepdims)
    return _narrowed(total / max(_length(x, axis, "var") - ddof, 0), x)


def _std_forward(xp: Any, x: Any, axis: Any, ddof: float, keepdims: bool) -> Any:
    return xp.sqrt(_var_forward(xp, x, axis, ddof, keepdims))


def _centered(x: Any, axis: Any) -> Any:
    """x minus its mean, exactly 0 for equal values."""
    x = x - (stop_gradient(getitem(x, _first(x, axis, "var"))) if ndim(x) else stop_gradient(x))
    return x - _mean(x, axis=axis, keepdims=True)


def _spread_of(g: Any, x: Any, axis: Any, ddof: float) -> Any:
    freedom = count(x, axis, counting_dtype(g.dtype)) - ddof
    return safe_mul(g, div(_centered(x, axis), freedom))


def _var_x(g: Any, out: Any, x: Any, axis: Any, ddof: float, keepdims: bool) -> Any:
    return _spread_of(2 * restore_axes(g, x, axis, keepdims), x, axis, ddof)


def _std_x(g: Any, out: Any, x: Any, axis: Any, ddof: float, keepdims: bool) -> Any:
    equal = eq(out, 0)
    per_out = where(equal, 0.0, div(g, where(equal, 1.0, out)))
    return _spread_of(restore_axes(per_out, x, axis, keepdims), x, axis, ddof)


def _spread(name: str, forward: Any, rule: Any) -> Op:
    def infer(x: AVal, axis: Any, ddof: float, keepdims: bool) -> AVal:
        dtype = x.dtype if x.dtype.kind == "f" else np.dtype("float64")
        return AVal(reduced_shape(x, axis, keepdims, name), dtype)

    return register(Op(name, forward, infer, (rule,)))


_var = _spread("var", _var_forward, _var_x)
_std = _spread("std", _std_forward, _std_x)


@public
def var(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    """The variance over ``axis`` (None: all axes; int; tuple): the mean squared deviation from the mean.

    Args:
        ddof: what is taken off the number of elements before dividing; 1 for the unbiased estimate of a sample (the
            default of PyTorch, where NumPy's is 0).

    >>> import tutorlib as tl
    >>> tl.var(tl.tensor([1.0, 2.0, 6.0]), ddof=1).item()
    7.0
    """
    return _var(x, axis=hashable_axis(axis), ddof=ddof, keepdims=bool(keepdims))


@public
def std(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    """The standard deviation over ``axis``, the square root of ``var``; of equal values 0 with gradient 0.

    >>> import tutorlib as tl
    >>> tl.std(tl.tensor([1.0, 5.0])).item()
    2.0
    """
    return _std(x, axis=hashable_axis(axis), ddof=ddof, keepdims=bool(keepdims))


# ---- median ----


def _middle_forward(xp: Any, x: Any, axis: Any, upper: bool, keepdims: bool) -> Any:
    axes = normalized_axes(axis, x.ndim, "median")
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    n = _length(x, axis, "median")
    rows = xp.sort(xp.transpose(x, rest + axes).reshape((*(x.shape[a] for a in rest), n)), axis=-1)
    found = rows[..., n // 2 if upper else (n - 1) // 2]
    if x.dtype.kind == "f":  # NaN sorts last
        found = xp.where(xp.isnan(rows[..., -1]), rows[..., -1], found)
    return found.reshape(tuple(1 if a in axes else d for a, d in enumerate(x.shape))) if keepdims else found


def _middle_infer(x: AVal, axis: Any, upper: bool, keepdims: bool) -> AVal:
    refuse_empty(x, axis, "median")
    return AVal(reduced_shape(x, axis, keepdims, "median"), x.dtype)


_middle: Op = register(
    Op(
        "middle",
        _middle_forward,
        _middle_infer,
        (lambda g, out, x, axis, upper, keepdims: share_among_ties(g, out, x, axis, keepdims),),
        doc="The lower or upper of the two middle elements in order of size.",
    )
)


@public
def median(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The median over ``axis`` (None: all axes; int; tuple): half the elements are below, half above; with an even
    number the mean of the two in the middle. The gradient goes to the middle elements.

    Raises ShapeError where there is no element.

    >>> import tutorlib as tl
    >>> tl.median(tl.tensor([3.0, 1.0, 9.0, 2.0])).item()
    2.5
    """
    low, high = (_middle(x, axis=hashable_axis(axis), upper=upper, keepdims=bool(keepdims)) for upper in (False, True))
    return low * 0.5 + high * 0.5


# ---- norm ----


def _norm_x(g: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    out = restore_axes(out, x, axis, keepdims)
    at_zero = eq(out, 0)
    direction = where(at_zero, 0.0, div(x, where(at_zero, 1.0, out)))
    return safe_mul(restore_axes(g, x, axis, keepdims), direction)


def _norm_forward(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    x = xp.asarray(x)
    return _narrowed(xp.sqrt(xp.sum(xp.square(x.astype(_wide(x) or x.dtype)), axis=axis, keepdims=keepdims)), x)


_norm: Op = register(
    Op(
        "norm",
        _norm_forward,
        lambda x, axis, keepdims: AVal(
            reduced_shape(x, axis, keepdims, "norm"), x.dtype if x.dtype.kind == "f" else np.dtype("float64")
        ),
        (_norm_x,),
    )
)


@public
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The length of x as a vector, over ``axis`` (None: all axes; int; tuple).

    Args:
        ord: None or 2: the root of the sum of squares; 1: the sum of sizes; any number p: (Σ|x|ᵖ)^(1/p); ±inf: the
            largest, the smallest size; 0: how many elements are not zero.

    Raises ShapeError for a matrix with ``ord`` and without ``axis``: there ``numpy.linalg.norm`` means another thing.

    >>> import tutorlib as tl
    >>> tl.norm(tl.tensor([3.0, 4.0])).item()
    5.0
    """
    axis = hashable_axis(axis)
    if axis is not None:
        normalized_axes(axis, ndim(x), "norm")
    if not isinstance(ord, int | float | None) and ord != "fro":
        raise ShapeError(f"{ord!r} is no order of a norm", op="norm", fix="give a number, or leave it out for length")
    if ord not in (None, "fro") and axis is None and ndim(x) > 1:
        raise ShapeError(
            "ord without axis: the norm of a matrix as an operator is not meant here, the norm of its elements is",
            op="norm",
            fix="name the axes whose elements make a vector: tl.norm(x, ord, axis=-1), or flatten it: x.flatten()",
        )
    if ord in (None, "fro", 2):
        return _norm(x, axis=axis, keepdims=bool(keepdims))
    size = absolute(x)
    if ord == 0:
        dtype = size.dtype if size.dtype.kind == "f" else "float64"
        return cast(OPS.sum(ne(size, 0), axis, keepdims), dtype)
    if ord in (math.inf, -math.inf):
        return (OPS.max if ord > 0 else OPS.min)(size, axis, keepdims)
    if ord == 1:
        return OPS.sum(size, axis, keepdims)
    total = OPS.sum(pow(size, float(ord)), axis, keepdims)
    at_zero = eq(total, 0)
    return where(at_zero, 0.0, pow(where(at_zero, 1.0, total), 1 / ord))


# ---- logsumexp ----


def _logsumexp_forward(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    x = as_floats(xp, xp.asarray(x))
    if not _length(x, axis, "logsumexp"):
        return xp.log(xp.sum(x, axis=axis, keepdims=keepdims))
    top = xp.max(x, axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0)
    total = xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else xp.squeeze(total, axis=normalized_axes(axis, x.ndim, "logsumexp"))


def _logsumexp_x(g: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    out = restore_axes(where(eq(out, -math.inf), 0.0, out), x, axis, keepdims)
    return safe_mul(restore_axes(g, x, axis, keepdims), exp(x - out))


_logsumexp: Op = reduction(
    "logsumexp",
    _logsumexp_forward,
    (_logsumexp_x,),
    doc="""log(Σ exp(x)) over ``axis`` (None: all axes; int; tuple), without overflow; of nothing -inf.

    Where every x is -inf the result is -inf, with gradient 0.

    >>> import tutorlib as tl
    >>> tl.logsumexp(tl.tensor([1000.0, 1000.0])).item()
    1000.6931471805599
    """,
)
