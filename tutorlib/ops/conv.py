"""Convolution as networks mean it (cross-correlation: the kernel is not flipped), in any number of spatial axes.

Three ops, each bilinear, each the gradient of the others: ``conv`` (images × weights → features), ``conv_transpose``
(features × weights → images), ``conv_weight`` (images × features → weights). So gradients of every order exist.

Images and features are (batch, channels, *space), weights (out channels, in channels / groups, *kernel). Inside,
channels come first and the batch last, so that one matrix product serves the whole batch (``im2col``); results are
views of that layout in the usual order of axes, and the next op finds its data contiguous.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import public, register, result_dtype
from tutorlib.ops.im2col import WindowMatrix, passing
from tutorlib.ops.linalg import _matmul
from tutorlib.ops.shape import expand_dims, ndim
from tutorlib.ops.windows import (
    Padding,
    count_windows,
    padding_of,
    pads,
    per_axis,
    reach,
    space_of,
)


def by_group(matrix: Any, groups: int) -> Any:
    """A matrix as (groups, rows of one, columns); the weights' as (groups, out channels of one, channels · kernel)."""
    return matrix.reshape(groups, matrix.shape[0] // groups, prod(matrix.shape[1:]))


def window_matrix(
    xp: Any, batch: int, sizes: Any, kernel: Any, count: Any, stride: Any, padding: Padding, dilation: Any
) -> WindowMatrix:
    pairs = pads(sizes, kernel, stride, padding, dilation)
    return WindowMatrix(xp, batch, sizes, kernel, count, stride, pairs, dilation)


def _conv_forward(xp: Any, x: Any, w: Any, groups: int, **attrs: Any) -> Any:
    count = count_windows(x.shape[2:], w.shape[2:], **attrs, op="conv")
    matrix = window_matrix(xp, x.shape[0], x.shape[2:], w.shape[2:], count, **attrs)
    return matrix.features(xp.matmul(by_group(w, groups), by_group(matrix.windows(x), groups)))


def _conv_transpose_forward(xp: Any, g: Any, w: Any, *like: Any, groups: int, output_padding: Any, **attrs: Any) -> Any:
    kernel, count = w.shape[2:], g.shape[2:]
    sizes: Any = like[0].shape[2:] if like else _transposed_sizes(count, kernel, **attrs, extra=output_padding)
    matrix = window_matrix(xp, g.shape[0], sizes, kernel, count, **attrs)
    weights, features = by_group(w, groups).swapaxes(1, 2), by_group(matrix.wide_matrix_of(g), groups)
    shape, dtype = (groups, weights.shape[1], features.shape[2]), np.result_type(w.dtype, g.dtype)
    # Of a kernel of one place the windows are the images, and stay.
    windows = xp.empty(shape, dtype) if matrix.plain else passing(xp, shape, dtype)
    xp.matmul(weights, features, out=windows)
    return matrix.images(windows.reshape(w.shape[1] * groups * prod(kernel), features.shape[2]))


def _conv_weight_forward(xp: Any, x: Any, g: Any, like: Any, groups: int, **attrs: Any) -> Any:
    matrix = window_matrix(xp, x.shape[0], x.shape[2:], like.shape[2:], g.shape[2:], **attrs)
    windows, features = by_group(matrix.windows(x), groups), by_group(matrix.matrix_of(g), groups)
    # BLAS does the product this way round faster than the other.
    return xp.matmul(windows, features.swapaxes(1, 2)).swapaxes(1, 2).reshape(like.shape)


# ---- shapes ----


def _product_dtype(x: AVal, y: AVal) -> np.dtype[Any]:
    return result_dtype(_matmul, [AVal((1, 1), x.dtype), AVal((1, 1), y.dtype)])


def _check_channels(x: AVal, w: AVal, inputs: Dim, channels: Dim, groups: int, op: str) -> None:
    wrong = inputs is not None and channels is not None and inputs != channels
    outputs = w.shape[0]
    if wrong or (outputs is not None and outputs % groups):
        says = (
            f"the input has {channels} channels, the weights are for {inputs}"
            if wrong
            else f"{outputs} output channels do not make {groups} groups"
        )
        raise ShapeError(
            says,
            op=op,
            shapes=[x.shape, w.shape],
            wrong_dims=[1, (1 if op == "conv" else 0) if wrong else 0],
            fix="the input is (batch, channels, *space); the weights are (out channels, in channels / groups, *kernel)",
        )


def _conv_infer(x: AVal, w: AVal, stride: Any, padding: Padding, dilation: Any, groups: int) -> AVal:
    inputs = None if w.shape[1] is None else w.shape[1] * groups
    _check_channels(x, w, inputs, x.shape[1], groups, "conv")
    count = count_windows(x.shape[2:], w.shape[2:], stride, padding, dilation, "conv")
    return AVal((x.shape[0], w.shape[0], *count), _product_dtype(x, w))


def _transposed_sizes(
    count: tuple[Dim, ...],
    kernel: tuple[Dim, ...],
    stride: tuple[int, ...],
    padding: Padding,
    dilation: tuple[int, ...],
    extra: tuple[int, ...],
) -> tuple[Dim, ...]:
    sizes: list[Dim] = []
    for axis, (n, k, step, gap, more) in enumerate(zip(count, kernel, stride, dilation, extra, strict=True)):
        if n is None or (k is None and padding != "same"):
            sizes.append(None)
        elif isinstance(padding, str):
            sizes.append(n * step)
        else:
            assert k is not None
            size = (n - 1) * step + reach(k, gap) - sum(padding[axis]) + more
            if size < 1:
                raise ShapeError(
                    f"nothing is left along spatial axis {axis}: the padding {padding[axis]} takes all of it",
                    op="conv_transpose",
                    shapes=[count],
                    wrong_dims=[axis],
                    fix="use less padding",
                )
            sizes.append(size)
    return tuple(sizes)


def _conv_transpose_infer(
    g: AVal,
    w: AVal,
    *like: AVal,
    stride: Any,
    padding: Padding,
    dilation: Any,
    groups: int,
    output_padding: Any,
) -> AVal:
    if like:
        return AVal(like[0].shape, _product_dtype(g, w))
    _check_channels(g, w, w.shape[0], g.shape[1], groups, "conv_transpose")
    sizes = _transposed_sizes(g.shape[2:], w.shape[2:], stride, padding, dilation, output_padding)
    return AVal((g.shape[0], None if w.shape[1] is None else w.shape[1] * groups, *sizes), _product_dtype(g, w))


# ---- the three ops ----


def _conv_transpose_vjp(
    gg: Any, needs: list[bool], out: Any, g: Any, w: Any, *like: Any, output_padding: Any, **attrs: Any
) -> list[Any]:
    return [
        _conv(gg, w, **attrs) if needs[0] else None,
        _conv_weight(gg, g, w, **attrs) if needs[1] else None,
        *[None] * len(like),
    ]


def _to_images(g: Any, w: Any, like: Any, **attrs: Any) -> Any:
    return _conv_transpose(g, w, like, output_padding=None, **attrs)


_conv: Op = register(
    Op(
        "conv",
        _conv_forward,
        _conv_infer,
        (
            lambda g, out, x, w, **attrs: _to_images(g, w, x, **attrs),
            lambda g, out, x, w, **attrs: _conv_weight(x, g, w, **attrs),
        ),
        doc="Weighted sums of the windows of x: the cross-correlation of x with w.",
    )
)
_conv_transpose: Op = register(
    Op(
        "conv_transpose",
        _conv_transpose_forward,
        _conv_transpose_infer,
        _conv_transpose_vjp,
        doc="Each feature spread over its window with the weights w: the transpose of conv as a linear map.",
    )
)
_conv_weight: Op = register(
    Op(
        "conv_weight",
        _conv_weight_forward,
        lambda x, g, like, **attrs: AVal(like.shape, _product_dtype(x, g)),
        (
            lambda gg, out, x, g, like, **attrs: _to_images(g, gg, x, **attrs),
            lambda gg, out, x, g, like, **attrs: _conv(x, gg, **attrs),
            None,
        ),
        doc="What images and features have in common at each place of the kernel: the gradient of the weights.",
    )
)

# ---- public ----


def _attrs(
    x: Any, w: Any, space: int, stride: Any, padding: Any, dilation: Any, groups: int, op: str
) -> dict[str, Any]:
    for value, what in ((x, "the input (batch, channels, *space)"), (w, "the weights (out, in / groups, *kernel)")):
        if ndim(value) != space + 2:
            space_of(value, op)
            raise ShapeError(
                f"{what} needs {space + 2} axes here, not {ndim(value)}",
                op=op,
                shapes=[
                    x.shape if hasattr(x, "shape") else np.shape(x),
                    w.shape if hasattr(w, "shape") else np.shape(w),
                ],
                fix=f"use {op[:-2]}{ndim(value) - 2}d, or reshape it",
            )
    return {
        "stride": per_axis(stride, space, "stride", op),
        "padding": padding_of(padding, space, op),
        "dilation": per_axis(dilation, space, "dilation", op),
        "groups": per_axis(groups, 1, "groups", op)[0],
    }


def _with_bias(y: Any, bias: Any, space: int) -> Any:
    return y if bias is None else y + expand_dims(bias, tuple(range(1, space + 1)))


def _public_conv(space: int, doc: str) -> Any:
    name = f"conv{space}d"

    def call(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        attrs = _attrs(x, weight, space, stride, padding, dilation, groups, name)
        return _with_bias(_conv(x, weight, **attrs), bias, space)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return public(call)


conv2d = _public_conv(
    2,
    """The 2-D convolution of networks: at each place the weighted sum of a window, for each output channel.

    Args:
        x: (batch, channels, height, width).
        weight: (out channels, channels / groups, kernel height, kernel width). Not flipped (cross-correlation).
        bias: (out channels,), or None.
        stride: the step between windows: an int, or one an axis.
        padding: zeros around the image: "valid" (none), "same" (as many windows as pixels, divided by the stride and
            rounded up), an int, one int an axis, or a pair (before, after) an axis.
        dilation: the step between the elements of a window.
        groups: the channels are split into so many groups, each convolved alone; as many as channels: depthwise.

    Returns (batch, out channels, windows down, windows across). Raises ShapeError.

    >>> import tutorlib as tl
    >>> image = tl.tensor([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]])
    >>> tl.conv2d(image, tl.tensor([[[[1.0, 0.0], [0.0, -1.0]]]]))
    tensor([[[[-4., -4.]]]])
    """,
)
conv1d = _public_conv(
    1,
    """The 1-D convolution of networks, over x (batch, channels, length) with weight (out, channels / groups, kernel).

    See ``conv2d`` for the arguments.

    >>> import tutorlib as tl
    >>> tl.conv1d(tl.tensor([[[1.0, 2.0, 4.0]]]), tl.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 2.]]])
    """,
)
conv3d = _public_conv(
    3, "The 3-D convolution of networks, over x (batch, channels, depth, height, width). See ``conv2d``."
)


def _public_conv_transpose(space: int, doc: str) -> Any:
    name = f"conv_transpose{space}d"

    def call(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        attrs = _attrs(x, weight, space, stride, padding, dilation, groups, name)
        extra = per_axis(output_padding, space, "output_padding", name, least=0)
        if any(more >= step for more, step in zip(extra, attrs["stride"], strict=True)) and any(extra):
            raise ShapeError(
                f"output_padding={output_padding} must be smaller than the stride {attrs['stride']}",
                op=name,
                fix="it only chooses among the sizes that give the same number of windows",
            )
        return _with_bias(_conv_transpose(x, weight, output_padding=extra, **attrs), bias, space)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return public(call)


conv_transpose2d = _public_conv_transpose(
    2,
    """The transposed convolution: every element of x spread over a window, weighted; overlaps add up.

    It turns the shape that ``conv2d`` gives back into the shape it was given, and is its gradient.

    Args:
        x: (batch, channels, height, width).
        weight: (channels, out channels / groups, kernel height, kernel width), as PyTorch has them.
        bias: (out channels,), or None.
        stride, padding, dilation, groups: those of the convolution it transposes ("same": size times stride).
        output_padding: rows and columns more at the end, fewer than ``stride``.

    Returns (batch, out channels, (height - 1) · stride + reach of the kernel - padding + output_padding, …).

    >>> import tutorlib as tl
    >>> tl.conv_transpose2d(tl.tensor([[[[1.0, 2.0]]]]), tl.tensor([[[[1.0, 10.0]]]]), stride=2)
    tensor([[[[ 1., 10.,  2., 20.]]]])
    """,
)
conv_transpose1d = _public_conv_transpose(
    1, "The transposed convolution of x (batch, channels, length). See ``conv_transpose2d``."
)
conv_transpose3d = _public_conv_transpose(
    3, "The transposed convolution of x (batch, channels, depth, height, width). See ``conv_transpose2d``."
)


attach_to("conv")
