"""Pooling: the largest or the mean element of each window. Elements that tie for the largest share the gradient.

Windows are worked through axis by axis and place by place, on views: nothing is copied out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import public, register
from tutorlib.ops.elementwise import safe_mul
from tutorlib.ops.im2col import laid, passing, usual
from tutorlib.ops.windows import (
    Padding,
    Pairs,
    count_windows,
    inside,
    padded,
    pads,
    pieces,
    reach,
    space_of,
    window_attrs,
)


def _geometry(sizes: Any, kernel: Any, stride: Any, padding: Padding, dilation: Any, op: str) -> tuple[Any, Pairs]:
    count = count_windows(sizes, kernel, stride, padding, dilation, op)
    return count, pads(sizes, kernel, stride, padding, dilation)


def _over_windows(combine: Any, x: Any, out: Any, kernel: Any, count: Any, stride: Any, dilation: Any) -> Any:
    """``combine`` (a ufunc) over the elements of every window of padded ``x``: along one axis after the other; into
    ``out``, if it is not None."""
    along = list(zip(kernel, count, stride, dilation, strict=True))
    x = start = x[(slice(None), slice(None), *(slice(step * (n - 1) + reach(k, gap)) for k, n, step, gap in along))]
    last = max((axis for axis, k in enumerate(kernel) if k > 1), default=-1)
    for axis, (k, n, step, gap) in enumerate(along):
        lead = (slice(None),) * (axis + 2)
        views = [x[(*lead, slice(at * gap, at * gap + step * n, step))] for at in range(k)]
        if k == 1:
            x = views[0]
            continue
        into = None
        if axis == last and out is not None and all(s == 1 for s in stride[axis + 1 :]):
            into = out
        elif axis != last and x is start and type(x) is np.ndarray:
            into = passing(np, laid(views[0]).shape, x.dtype)
            into = usual(into) if x.strides[0] < x.strides[1] else into.reshape(views[0].shape)
        x = combine(views[0], views[1], out=into)
        for view in views[2:]:
            combine(x, view, out=x)
    if out is None:
        return x.copy() if x is start or last < 0 else x
    if x is not out:
        out[...] = x
    return out


# ---- the largest ----


def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def largest_of_windows(
    xp: Any, x: Any, out: Any = None, *, kernel: Any, stride: Any, padding: Padding, dilation: Any
) -> Any:
    """What the op max_pool gives, into ``out`` if there is one."""
    count, pairs = _geometry(x.shape[2:], kernel, stride, padding, dilation, "max_pool")
    return _over_windows(xp.maximum, padded(xp, x, pairs, _lowest(x.dtype)), out, kernel, count, stride, dilation)


def _winners(
    xp: Any, x: Any, out: Any, kernel: Any, stride: Any, padding: Padding, dilation: Any
) -> tuple[list[Any], Any, Pairs]:
    """For each place of the kernel whether windows have their largest element there; and how many of them each window
    has, None where surely one."""
    pairs = pads(x.shape[2:], kernel, stride, padding, dilation)
    # NaN equals nothing: padding wins no window, not even one whose elements are all −inf.
    around = padded(xp, x, pairs, np.nan)
    masks = [piece == out for piece in pieces(around, kernel, out.shape[2:], stride, dilation)]
    number = masks[0].astype(np.uint8 if len(masks) < 256 else np.int32)
    for mask in masks[1:]:
        number += mask
    # On the host a look is cheap, and ties are rare.
    tied = xp is not np or (number.size > 0 and number.max() > 1)
    return masks, xp.maximum(number, 1) if tied else None, pairs


def _shared(values: Any, number: Any) -> Any:
    return values if number is None else values / number.astype(values.dtype)


def _product_of(xp: Any, values: Any) -> Any:
    """How to multiply a mask by ``values`` so that what is masked out is 0, even where values are not finite."""
    return np.multiply if xp is np and np.isfinite(values).all() else safe_mul.on(xp)


def _in_the_order_of(xp: Any, like: Any, values: Any) -> Any:
    """values, in the memory order of ``like``: NumPy is slow at combining two orders place by place."""
    if xp is not np or values.strides == like.strides:
        return values
    result = np.empty_like(like, dtype=values.dtype)
    result[...] = values
    return result


def spread_over_windows(xp: Any, g: Any, x: Any, out: Any, result: Any = None, **attrs: Any) -> Any:
    """What the op max_pool_spread gives, into ``result`` if there is one."""
    masks, number, pairs = _winners(xp, x, out, **attrs)
    share = _in_the_order_of(xp, out, _shared(g, number))
    sizes = tuple(n + before + after for n, (before, after) in zip(x.shape[2:], pairs, strict=True))
    multiply = _product_of(xp, share)
    windows = list(zip(attrs["stride"], attrs["kernel"], attrs["dilation"], out.shape[2:], sizes, strict=True))
    apart = multiply is np.multiply and all(s >= reach(k, d) for s, k, d, _, _ in windows)
    everywhere = apart and all(s == k and s * n == size for s, k, _, n, size in windows)
    whole = result if sizes == x.shape[2:] else None
    if whole is None:
        whole = xp.empty_like(x, dtype=g.dtype, shape=(*x.shape[:2], *sizes))
    if not everywhere:
        whole.fill(0)
    places = pieces(whole, attrs["kernel"], out.shape[2:], attrs["stride"], attrs["dilation"])
    for place, mask in zip(places, masks, strict=True):
        if apart:
            np.multiply(mask, share, out=place)
        else:
            place += multiply(mask, share)
    found = inside(whole, pairs, x.shape[2:])
    if result is None or whole is result:
        return found
    result[...] = found
    return result


def _collect_forward(xp: Any, gg: Any, x: Any, out: Any, **attrs: Any) -> Any:
    masks, number, pairs = _winners(xp, x, out, **attrs)
    places = pieces(padded(xp, gg, pairs), attrs["kernel"], out.shape[2:], attrs["stride"], attrs["dilation"])
    multiply = _product_of(xp, gg)
    total = xp.zeros_like(out, dtype=gg.dtype)
    for place, mask in zip(places, masks, strict=True):
        total += multiply(mask, place)
    return _shared(total, number)


def _pooled(name: str, forward: Any, spread: Any, doc: str) -> Op:
    def infer(x: AVal, **attrs: Any) -> AVal:
        dtype = x.dtype if name == "max_pool" or x.dtype.kind == "f" else np.dtype("float64")
        return AVal((*x.shape[:2], *count_windows(x.shape[2:], **attrs, op=name)), dtype)

    return register(Op(name, forward, infer, (spread,), doc=doc))


_max_pool: Op = _pooled(
    "max_pool",
    largest_of_windows,
    lambda g, out, x, **attrs: _max_pool_spread(g, x, out, **attrs),
    "The largest element of each window.",
)
# Where the largest element is does not change under a small step: these two have no gradient for x and out.
_max_pool_spread: Op = register(
    Op(
        "max_pool_spread",
        spread_over_windows,
        lambda g, x, out, **attrs: AVal(x.shape, g.dtype),
        (lambda gg, result, g, x, out, **attrs: _max_pool_collect(gg, x, out, **attrs), None, None),
        doc="Each window's cotangent, in equal parts at its largest elements.",
    )
)
_max_pool_collect: Op = register(
    Op(
        "max_pool_collect",
        _collect_forward,
        lambda gg, x, out, **attrs: AVal(out.shape, gg.dtype),
        (lambda g, result, gg, x, out, **attrs: _max_pool_spread(g, x, out, **attrs), None, None),
        doc="The mean of what stands at the largest elements of each window.",
    )
)

# ---- the mean ----


def _numbers(xp: Any, sizes: Any, count: Any, pairs: Pairs, count_include_pad: bool, dtype: Any, **attrs: Any) -> Any:
    """How many elements each window averages: a number, or an array over windows without batch and channels."""
    if count_include_pad or not any(map(any, pairs)):
        return prod(attrs["kernel"])
    total: Any = 1
    axes = zip(sizes, attrs["kernel"], count, attrs["stride"], pairs, attrs["dilation"], strict=True)
    for size, k, n, step, (before, _), gap in axes:
        at = xp.arange(n)[:, None] * step + xp.arange(k) * gap - before
        here = xp.maximum(((at >= 0) & (at < size)).sum(axis=1), 1).astype(dtype)
        total = here if type(total) is int else total[..., None] * here
    return total


def _avg_pool_forward(xp: Any, x: Any, count_include_pad: bool, **attrs: Any) -> Any:
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    count, pairs = _geometry(x.shape[2:], **attrs, op="avg_pool")
    total = _over_windows(
        xp.add, padded(xp, x, pairs), None, attrs["kernel"], count, attrs["stride"], attrs["dilation"]
    )
    return total / _numbers(xp, x.shape[2:], count, pairs, count_include_pad, x.dtype, **attrs)


def _avg_spread_forward(xp: Any, g: Any, like: Any, count_include_pad: bool, **attrs: Any) -> Any:
    count, pairs = _geometry(like.shape[2:], **attrs, op="avg_pool")
    share = g / _numbers(xp, like.shape[2:], count, pairs, count_include_pad, g.dtype, **attrs)
    sizes = tuple(n + before + after for n, (before, after) in zip(like.shape[2:], pairs, strict=True))
    result = xp.zeros_like(like, dtype=g.dtype, shape=(*like.shape[:2], *sizes))
    for place in pieces(result, attrs["kernel"], count, attrs["stride"], attrs["dilation"]):
        place += share
    return inside(result, pairs, like.shape[2:])


def _avg_pool_infer(x: AVal, count_include_pad: bool, **attrs: Any) -> AVal:
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype("float64")
    return AVal((*x.shape[:2], *count_windows(x.shape[2:], **attrs, op="avg_pool")), dtype)


_avg_pool: Op = register(
    Op(
        "avg_pool",
        _avg_pool_forward,
        _avg_pool_infer,
        (lambda g, out, x, **attrs: _avg_pool_spread(g, x, **attrs),),
        flags={"linear"},
        doc="The mean of each window.",
    )
)
_avg_pool_spread: Op = register(
    Op(
        "avg_pool_spread",
        _avg_spread_forward,
        lambda g, like, **attrs: AVal(like.shape, g.dtype),
        (lambda gg, out, g, like, **attrs: _avg_pool(gg, **attrs), None),
        flags={"linear"},
        doc="Each window's cotangent, in equal parts at all its elements.",
    )
)

# ---- public ----


def _pool_attrs(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, space: int, op: str) -> dict[str, Any]:
    if space_of(x, op) != space:
        raise ShapeError(
            f"x needs the axes (batch, channels, *space) with {space} spatial axes",
            op=op,
            shapes=[x.shape if hasattr(x, "shape") else np.shape(x)],
            fix=f"use {op[:-2]}{space_of(x, op)}d",
        )
    attrs = window_attrs(kernel, kernel if stride is None else stride, padding, dilation, space, op)
    pairs = attrs["padding"]
    if not isinstance(pairs, str) and any(max(p) >= k for p, k in zip(pairs, attrs["kernel"], strict=True)):
        raise ShapeError(
            f"padding {padding} would make windows of {attrs['kernel']} that hold nothing but padding",
            op=op,
            fix="use less padding than the kernel is long",
        )
    return attrs


def _pools(space: int) -> Iterator[Any]:
    def max_pool(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
        attrs = _pool_attrs(x, kernel_size, stride, padding, dilation, space, f"max_pool{space}d")
        return _max_pool(x, **attrs)

    def avg_pool(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, count_include_pad: bool = True) -> Any:
        attrs = _pool_attrs(x, kernel_size, stride, padding, 1, space, f"avg_pool{space}d")
        return _avg_pool(x, count_include_pad=bool(count_include_pad), **attrs)

    for call in (max_pool, avg_pool):
        call.__name__ = call.__qualname__ = f"{call.__name__}{space}d"
        yield call


max_pool1d, avg_pool1d = map(public, _pools(1))
max_pool2d, avg_pool2d = map(public, _pools(2))
max_pool3d, avg_pool3d = map(public, _pools(3))
max_pool2d.__doc__ = """The largest element of each window; equal largest ones share the gradient.

    Args:
        x: (batch, channels, height, width).
        kernel_size: the window's size: an int, or one an axis.
        stride: the step between windows; the window's size by default.
        padding: as for ``conv2d``; padding is never the largest, and less than the window.
        dilation: the step between the elements of a window.

    Returns (batch, channels, windows down, windows across), dtype kept. Raises ShapeError.

    >>> import tutorlib as tl
    >>> tl.max_pool2d(tl.tensor([[[[1.0, 2.0, 5.0, 5.0], [4.0, 3.0, 5.0, 0.0]]]]), 2)
    tensor([[[[4., 5.]]]])
    """
avg_pool2d.__doc__ = """The mean of each window.

    Args:
        x: (batch, channels, height, width). Integers are averaged in float64.
        kernel_size, stride, padding: as for ``max_pool2d``.
        count_include_pad: whether the zeros of the padding count as elements of a window.

    Returns (batch, channels, windows down, windows across). Raises ShapeError.

    >>> import tutorlib as tl
    >>> tl.avg_pool2d(tl.tensor([[[[1.0, 2.0, 5.0, 5.0], [4.0, 3.0, 5.0, 1.0]]]]), 2)
    tensor([[[[2.5, 4. ]]]])
    """
max_pool1d.__doc__ = "The largest element of each window of x (batch, channels, length). See ``max_pool2d``."
avg_pool1d.__doc__ = "The mean of each window of x (batch, channels, length). See ``avg_pool2d``."
max_pool3d.__doc__ = "The largest element of each window of x (batch, channels, *three axes). See ``max_pool2d``."
avg_pool3d.__doc__ = "The mean of each window of x (batch, channels, *three axes). See ``avg_pool2d``."


attach_to("pool")
