"""How convolutions and poolings become bound calls: into buffers laid as ``ops.im2col`` has them, and windows into
scratch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tutorlib.compile.bound import DOT, Bound, Scratch
from tutorlib.core.graph import Node
from tutorlib.ops.conv import by_group, window_matrix
from tutorlib.ops.im2col import WindowMatrix, laid
from tutorlib.ops.pool import largest_of_windows, spread_over_windows
from tutorlib.ops.windows import pads, pieces

_TEXT = "{out}[...] = {op}"


def _matrix(images: Any, kernel: Any, features: Any, attrs: dict[str, Any]) -> WindowMatrix | None:
    geometry = {k: attrs[k] for k in ("stride", "padding", "dilation")}
    matrix = window_matrix(np, images.shape[0], images.shape[2:], kernel, features.shape[2:], **geometry)
    return None if matrix.plain or not matrix.length else matrix


def _alike(*arrays: Any) -> bool:
    """Whether all are arrays of one floating-point dtype."""
    first = arrays[0]
    return all(isinstance(a, np.ndarray) and a.dtype == first.dtype for a in arrays) and first.dtype.kind == "f"


def lower_conv(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    x, w = operands
    matrix = _matrix(x, w.shape[2:], out, node.attrs)
    if matrix is None or not _alike(x, w, out) or not (w.flags.c_contiguous and laid(out).flags.c_contiguous):
        return None
    groups = node.attrs["groups"]
    columns = scratch((x.shape[1] * prod(matrix.kernel), matrix.length), x.dtype)
    weights, windows, features = (by_group(a, groups) for a in (w, columns, matrix.matrix_of(out)))

    def call() -> None:
        matrix.windows(x, columns)
        np.matmul(weights, windows, features)

    return [Bound(call, _TEXT)]


def lower_conv_transpose(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    g, w = operands[:2]
    matrix = _matrix(out, w.shape[2:], g, node.attrs)
    place = laid(out)
    if matrix is None or not _alike(g, w, out) or not (w.flags.c_contiguous and place.flags.c_contiguous):
        return None
    if any(map(any, matrix.pairs)):
        return None
    groups = node.attrs["groups"]
    wide = matrix.wide_matrix_of(g)
    columns = scratch((out.shape[1] * prod(matrix.kernel), wide.shape[1]), g.dtype)
    weights, windows = by_group(w, groups).swapaxes(1, 2), by_group(columns, groups)

    def call() -> None:
        np.matmul(weights, by_group(matrix.wide_matrix_of(g, wide), groups), windows)
        matrix.images(columns, place)

    return [Bound(call, _TEXT)]


def lower_conv_weight(
    node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch, filled: np.ndarray | None = None
) -> list[Bound] | None:
    """``filled``: the windows of the images, where they have been cut out before."""
    x, g, like = operands
    matrix = _matrix(x, like.shape[2:], g, node.attrs)
    if matrix is None or not _alike(x, g, out) or not out.flags.c_contiguous:
        return None
    groups = node.attrs["groups"]
    columns = filled if filled is not None else scratch((x.shape[1] * prod(matrix.kernel), matrix.length), x.dtype)
    windows, weights = by_group(columns, groups), by_group(out, groups)

    def call() -> None:
        if filled is None:
            matrix.windows(x, columns)
        features = by_group(matrix.matrix_of(g), groups)
        weights[...] = np.matmul(windows, features.swapaxes(1, 2)).swapaxes(1, 2)

    return [Bound(call, _TEXT)]


def lower_max_pool(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    return [Bound(lambda: largest_of_windows(np, x, out, **node.attrs), _TEXT)] if _alike(x, out) else None


def lower_max_pool_spread(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    g, x, largest = operands
    if not _alike(g, x, largest, out):
        return None
    kernel, stride, dilation = (node.attrs[k] for k in ("kernel", "stride", "dilation"))
    count, sizes = largest.shape[2:], x.shape[2:]

    def any_windows() -> None:
        spread_over_windows(np, g, x, largest, out, **node.attrs)

    tiled = stride == kernel and all(d == 1 for d in dilation) and prod(kernel) < 256 and largest.size > 0
    if not tiled or any(map(any, pads(sizes, kernel, stride, node.attrs["padding"], dilation))):
        return [Bound(any_windows, _TEXT)]
    order = (*range(1, out.ndim), 0) if laid(largest).flags.c_contiguous else tuple(range(out.ndim))
    share, total, *masks = (
        np.empty([largest.shape[a] for a in order], t).transpose(np.argsort(order))
        for t in (g.dtype, np.uint8, *[np.bool_] * prod(kernel))
    )
    whole = all(s * n == size for s, n, size in zip(stride, count, sizes, strict=True))
    ins, outs = ([*pieces(a, kernel, count, stride, dilation)] for a in (x, out))
    numbers = [mask.view(np.uint8) for mask in masks]
    flat = np.ravel(share, "K")
    most: Any = np.maximum.reduce

    def call() -> None:
        share[...] = g
        for piece, mask in zip(ins, masks, strict=True):
            np.equal(piece, largest, mask)
        np.add(numbers[0], numbers[-1], total)
        for number in numbers[1:-1]:
            np.add(total, number, total)
        # Shares among equals, and what is not finite (0 times it is NaN), are rare.
        if most(total, None) > 1 or not np.isfinite(DOT(flat, flat)):
            return any_windows()
        if not whole:
            out.fill(0)
        for mask, piece in zip(masks, outs, strict=True):
            np.multiply(mask, share, piece)
        return None

    return [Bound(call, _TEXT)]
