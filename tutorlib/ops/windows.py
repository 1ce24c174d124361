"""Sliding windows over the spatial axes of an image batch (batch, channels, *space): their arithmetic, and the two
ops that copy windows out and add them back, ``unfold`` and ``fold``, each the gradient of the other.

What is computed inside a window lives elsewhere: in ``conv`` (whose own copies are in ``im2col``) and ``pool``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import public, register
from tutorlib.ops.shape import ndim

Pairs = tuple[tuple[int, int], ...]
Padding = str | Pairs

# ---- what a caller may write, made regular ----


def per_axis(value: Any, space: int, what: str, op: str, least: int = 1) -> tuple[int, ...]:
    """``value`` (an int, or one int a spatial axis) as a tuple of ``space`` ints, none below ``least``."""
    values = (value,) * space if isinstance(value, int | np.integer) else tuple(value)
    if len(values) != space or any(not isinstance(v, int | np.integer) or v < least for v in values):
        raise ShapeError(
            f"{what}={value!r} does not fit {space} spatial {'axis' if space == 1 else 'axes'}",
            op=op,
            fix=f"give one whole number from {least} up, or one for each of the {space} axes",
        )
    return tuple(int(v) for v in values)


def padding_of(padding: Any, space: int, op: str) -> Padding:
    """``padding`` ("valid", "same", an int, an int an axis, or a pair (before, after) an axis) as "same" or pairs."""
    if padding == "same":
        return "same"
    if padding == "valid":
        return ((0, 0),) * space
    if not isinstance(padding, str):
        values = (padding,) * space if isinstance(padding, int | np.integer) else tuple(padding)
        pairs = [(v, v) if isinstance(v, int | np.integer) else tuple(v) for v in values]
        if len(pairs) == space and all(
            len(p) == 2 and all(isinstance(e, int | np.integer) and e >= 0 for e in p) for p in pairs
        ):
            return tuple((int(before), int(after)) for before, after in pairs)
    raise ShapeError(
        f"padding={padding!r} does not fit {space} spatial {'axis' if space == 1 else 'axes'}",
        op=op,
        fix='give "valid", "same", a whole number, one number an axis, or a pair (before, after) an axis',
    )


def space_of(x: Any, op: str) -> int:
    """How many spatial axes ``x`` has behind (batch, channels). Raises ShapeError without any."""
    space = ndim(x) - 2
    if space < 1:
        raise ShapeError(
            f"an image batch has the axes (batch, channels, *space), this has {ndim(x)}",
            op=op,
            shapes=[np.shape(x) if not hasattr(x, "shape") else x.shape],
            fix="add the missing axes: x[None] for one image, x[:, None] for one channel",
        )
    return space


# ---- sizes ----


def reach(kernel: int, dilation: int) -> int:
    """The length that a dilated kernel covers."""
    return dilation * (kernel - 1) + 1


def count_windows(
    sizes: tuple[Dim, ...],
    kernel: tuple[Dim, ...],
    stride: tuple[int, ...],
    padding: Padding,
    dilation: tuple[int, ...],
    op: str,
) -> tuple[Dim, ...]:
    """How many windows fit along each spatial axis; None where a size is not known. Raises ShapeError where none
    does."""
    counts: list[Dim] = []
    for axis, (size, k, step, gap) in enumerate(zip(sizes, kernel, stride, dilation, strict=True)):
        if size is None or (k is None and padding != "same"):
            counts.append(None)
        elif isinstance(padding, str):
            counts.append(-(-size // step))
        else:
            assert k is not None
            padded = size + sum(padding[axis])
            if padded < reach(k, gap):
                raise ShapeError(
                    f"a window of length {reach(k, gap)} does not fit into {padded} along spatial axis {axis}",
                    op=op,
                    shapes=[sizes, kernel],
                    wrong_dims=[axis, axis],
                    fix="use a smaller kernel or dilation, or padding",
                )
            counts.append((padded - reach(k, gap)) // step + 1)
    return tuple(counts)


def pads(
    sizes: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: Padding,
    dilation: tuple[int, ...],
) -> Pairs:
    """The padding before and after each spatial axis; "same" makes ceil(size / stride) windows, an odd one behind."""
    if not isinstance(padding, str):
        return padding
    result = []
    for size, k, step, gap in zip(sizes, kernel, stride, dilation, strict=True):
        total = max((-(-size // step) - 1) * step + reach(k, gap) - size, 0)
        result.append((total // 2, total - total // 2))
    return tuple(result)


# ---- arrays ----


def padded(xp: Any, x: Any, pairs: Pairs, fill: Any = 0) -> Any:
    """x with ``fill`` around its spatial axes; x itself where there is nothing to add."""
    if not any(map(any, pairs)):
        return x
    sizes = tuple(n + before + after for n, (before, after) in zip(x.shape[2:], pairs, strict=True))
    result = xp.full_like(x, fill, shape=x.shape[:2] + sizes)  # "like": the same order in memory
    inside(result, pairs, x.shape[2:])[...] = x
    return result


def inside(x: Any, pairs: Pairs, sizes: tuple[int, ...]) -> Any:
    """The view of a padded array without its padding."""
    return x[(..., *(slice(before, before + n) for (before, _), n in zip(pairs, sizes, strict=True)))]


def pieces(
    x: Any,
    kernel: tuple[int, ...],
    count: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    lead: int = 2,
) -> Iterator[Any]:
    """For each place in the kernel, in order: the view of padded ``x``, whose space begins behind ``lead`` axes, with
    what all windows have there."""
    for place in product(*map(range, kernel)):
        yield x[
            (
                *(slice(None),) * lead,
                *(
                    slice(at * gap, at * gap + step * n, step)
                    for at, gap, step, n in zip(place, dilation, stride, count, strict=True)
                ),
            )
        ]


# ---- unfold and fold ----


def _unfold_forward(xp: Any, x: Any, kernel: Any, stride: Any, padding: Padding, dilation: Any) -> Any:
    sizes = x.shape[2:]
    count = count_windows(sizes, kernel, stride, padding, dilation, "unfold")
    pairs = pads(sizes, kernel, stride, padding, dilation)
    x = padded(xp, x, pairs)
    result = xp.empty((*x.shape[:2], prod(kernel), *count), x.dtype)
    for i, piece in enumerate(pieces(x, kernel, count, stride, dilation)):  # type: ignore[arg-type]
        result[:, :, i] = piece
    return result.reshape(x.shape[0], x.shape[1] * prod(kernel), prod(count))  # type: ignore[arg-type]


def _product(dims: tuple[Dim, ...]) -> Dim:
    return None if None in dims else prod(dims)  # type: ignore[arg-type]


def _unfold_infer(x: AVal, kernel: Any, stride: Any, padding: Padding, dilation: Any) -> AVal:
    count = count_windows(x.shape[2:], kernel, stride, padding, dilation, "unfold")
    channels = x.shape[1]
    return AVal((x.shape[0], None if channels is None else channels * prod(kernel), _product(count)), x.dtype)


_unfold: Op = register(
    Op(
        "unfold",
        _unfold_forward,
        _unfold_infer,
        (lambda g, out, x, **attrs: _fold(g, x, size=None, **attrs),),
        flags={"linear"},
        doc="All windows of x, one a column.",
    )
)


def _fold_forward(
    xp: Any, cols: Any, *like: Any, size: Any, kernel: Any, stride: Any, padding: Padding, dilation: Any
) -> Any:
    sizes = like[0].shape[2:] if like else size
    count = count_windows(sizes, kernel, stride, padding, dilation, "fold")
    pairs = pads(sizes, kernel, stride, padding, dilation)
    channels = cols.shape[1] // prod(kernel)
    parts = cols.reshape(cols.shape[0], channels, prod(kernel), *count)
    whole = tuple(n + before + after for n, (before, after) in zip(sizes, pairs, strict=True))
    result = xp.zeros((cols.shape[0], channels, *whole), cols.dtype)
    for i, piece in enumerate(pieces(result, kernel, count, stride, dilation)):  # type: ignore[arg-type]
        piece += parts[:, :, i]
    return inside(result, pairs, sizes)


def _fold_infer(cols: AVal, *like: AVal, size: Any, kernel: Any, stride: Any, padding: Padding, dilation: Any) -> AVal:
    if like:
        return AVal(like[0].shape, cols.dtype)
    batch, rows, places = cols.shape
    number = _product(count_windows(size, kernel, stride, padding, dilation, "fold"))
    wrong = 1 if rows is not None and rows % prod(kernel) else 2 if places not in (None, number) else None
    if wrong is not None:
        raise ShapeError(
            f"an image of size {tuple(size)} has {number} windows of {prod(kernel)} elements a channel",
            op="fold",
            shapes=[cols.shape],
            wrong_dims=[wrong],
            fix="give fold the size that unfold was given, and the same kernel, stride, padding and dilation",
        )
    return AVal((batch, None if rows is None else rows // prod(kernel), *size), cols.dtype)


def _fold_vjp(g: Any, needs: list[bool], out: Any, cols: Any, *like: Any, size: Any, **attrs: Any) -> list[Any]:
    return [_unfold(g, **attrs) if needs[0] else None, *[None] * len(like)]


_fold: Op = register(
    Op("fold", _fold_forward, _fold_infer, _fold_vjp, flags={"linear"}, doc="Windows added back into an image.")
)


@public
def unfold(x: Any, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> Any:
    """Every window of an image batch as a column (also known as im2col): a convolution is then a matrix product.

    Args:
        x: (batch, channels, *space), one to three spatial axes.
        kernel_size: the window's size: an int, or one an axis. The other arguments: see ``conv2d``.

    Returns (batch, channels · elements of a window, windows), channels slowest. Raises ShapeError.

    >>> import tutorlib as tl
    >>> tl.unfold(tl.tensor([[[1, 2, 3, 4]]]), 2)
    tensor([[[1, 2, 3],
             [2, 3, 4]]])
    """
    space = space_of(x, "unfold")
    return _unfold(x, **window_attrs(kernel_size, stride, padding, dilation, space, "unfold"))


@public
def fold(columns: Any, size: Any, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> Any:
    """The image batch that has ``columns`` (as ``unfold`` makes them) added at the places of its windows (col2im).

    Args:
        columns: (batch, channels · elements of a window, windows).
        size: the spatial size of the result: one int an axis (a single int: one axis).

    Returns (batch, channels, *size): overlapping windows add up, so this undoes ``unfold`` only where none overlap.

    >>> import tutorlib as tl
    >>> tl.fold(tl.tensor([[[1, 2, 3], [2, 3, 4]]]), 4, 2)
    tensor([[[1, 4, 6, 4]]])
    """
    sizes = (size,) if isinstance(size, int | np.integer) else tuple(size)
    sizes = per_axis(sizes, len(sizes), "size", "fold", least=0)
    if ndim(columns) != 3:
        raise ShapeError(
            f"columns have the axes (batch, channels · window, windows), these have {ndim(columns)}",
            op="fold",
            fix="pass what unfold returns",
        )
    return _fold(columns, size=sizes, **window_attrs(kernel_size, stride, padding, dilation, len(sizes), "fold"))


def window_attrs(kernel: Any, stride: Any, padding: Any, dilation: Any, space: int, op: str) -> dict[str, Any]:
    return {
        "kernel": per_axis(kernel, space, "kernel_size", op),
        "stride": per_axis(stride, space, "stride", op),
        "padding": padding_of(padding, space, op),
        "dilation": per_axis(dilation, space, "dilation", op),
    }


attach_to("windows")
