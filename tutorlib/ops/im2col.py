"""The windows of an image batch as the columns of one matrix, and back: the inside of the convolutions.

Arrays here are laid (channels, *space, batch): whatever goes over space, pooling too, then works on runs of at least a
batch, and one matrix product serves all images.
"""

from __future__ import annotations

from itertools import product
from math import prod
from operator import mul
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tutorlib.core.building import Local
from tutorlib.ops.windows import Pairs, pieces

Sizes = tuple[int, ...]
# A matrix of windows of up to so many bytes is made in memory that is kept for the next one: getting as much from the
# system, page by page, would take as long as filling it.
_KEPT_BYTES = 1 << 26


class _Kept(Local):
    memory = np.empty(0, np.uint8)


_kept = _Kept()


def passing(xp: Any, shape: Sizes, dtype: Any) -> Any:
    """An array, not filled, for use until the next one is asked for."""
    size = prod(shape) * np.dtype(dtype).itemsize
    if xp is not np or size > _KEPT_BYTES:
        return xp.empty(shape, dtype)
    if _kept.memory.size < size:
        _kept.memory = np.empty(size, np.uint8)
    return _kept.memory[:size].view(dtype).reshape(shape)


def laid(x: Any) -> Any:
    """(batch, channels, *space) seen as (channels, *space, batch)."""
    return x.transpose(*range(1, x.ndim), 0)


def usual(x: Any) -> Any:
    """(channels, *space, batch) seen as (batch, channels, *space)."""
    return x.transpose(x.ndim - 1, *range(x.ndim - 1))


class WindowMatrix:
    """The geometry of one convolution, and the four ways between images, features and their matrices.

    Images and features come and go as (batch, channels, *space). A matrix of windows is (channels · kernel,
    ``length``), one of features (channels, ``length``). ``windows`` and ``images`` take the array to fill, where there
    is one to be used again.
    """

    def __init__(
        self,
        xp: Any,
        batch: int,
        sizes: Sizes,
        kernel: Sizes,
        count: Sizes,
        stride: Sizes,
        pairs: Pairs,
        dilation: Sizes,
    ) -> None:
        self.xp, self.batch, self.sizes, self.kernel, self.count = xp, batch, sizes, kernel, count
        self.stride, self.pairs, self.dilation = stride, pairs, dilation
        self.whole = tuple(n + before + after for n, (before, after) in zip(sizes, pairs, strict=True))
        self.plain = prod(kernel) == 1 and all(s == 1 for s in stride)
        self.length = batch * prod(count)
        # Where windows lie one step apart, those added back are made as wide as the image, with zeros: then each place
        # of the kernel is one run over all rows, which NumPy adds in half the time. It pays while they stay few.
        self.wide = (*count[:1], *self.whole[1:])
        self.runs = xp is np and not self.plain and all(s == 1 for s in stride) and self.length > 0
        self.runs = self.runs and 2 * prod(self.wide) <= 3 * prod(count)
        if not self.runs:
            self.wide = count

    def windows(self, x: Any, out: Any = None) -> Any:
        """The matrix of the windows of images; one that lasts until the next is made, where there is no ``out``."""
        x = self._padded(laid(x))
        channels = x.shape[0]
        if self.plain:
            return x.reshape(channels, self.length)
        shape = (channels, *self.kernel, *self.count, self.batch)
        if out is None:
            out = passing(self.xp, (channels * prod(self.kernel), self.length), x.dtype)
        if self.xp is np:
            first, *along, last = x.strides
            within = (gap * step for gap, step in zip(self.dilation, along, strict=True))
            between = (move * step for move, step in zip(self.stride, along, strict=True))
            out.reshape(shape)[...] = as_strided(x, shape, (first, *within, *between, last), writeable=False)
            return out
        parts = out.reshape(channels, prod(self.kernel), *self.count, self.batch)
        for i, piece in enumerate(self._pieces(x)):
            parts[:, i] = piece
        return out

    def images(self, matrix: Any, out: Any = None) -> Any:
        """What undoes ``windows``: each column's elements added at the places of its window. The columns are those of
        ``wide_matrix_of``."""
        size = prod(self.kernel)
        channels = matrix.shape[0] // size
        shape = (channels, *self.whole, self.batch)
        if self.plain:
            return usual(self._inside(matrix.reshape(shape)))
        if out is None:
            out = self.xp.zeros(shape, matrix.dtype)
        else:
            out.fill(0)
        if self.runs:
            self._add_runs(matrix.reshape(channels, size, -1), out.reshape(channels, -1))
            return usual(self._inside(out))
        parts = matrix.reshape(channels, size, *self.count, self.batch)
        for i, piece in enumerate(self._pieces(out)):
            piece += parts[:, i]
        return usual(self._inside(out))

    def _add_runs(self, parts: Any, flat: Any) -> None:
        steps = [self.batch * prod(self.whole[axis + 1 :]) for axis in range(len(self.kernel))]
        moves = [gap * step for gap, step in zip(self.dilation, steps, strict=True)]
        shifts = [sum(map(mul, place, moves)) for place in product(*map(range, self.kernel))]
        length = flat.shape[1] - shifts[-1]  # all but the zeros behind the last window
        for i, shift in enumerate(shifts):
            run = flat[:, shift : shift + length]
            np.add(run, parts[:, i, :length], run)

    def matrix_of(self, features: Any) -> Any:
        """Features as a matrix: a view where they are laid as here, else a copy."""
        return laid(features).reshape(features.shape[1], self.length)

    def wide_matrix_of(self, features: Any, out: Any = None) -> Any:
        """Features as the matrix whose product with weights ``images`` takes; ``out`` was made here before."""
        if not self.runs:
            return self.matrix_of(features)
        channels = features.shape[1]
        if out is None:
            out = np.zeros((channels, prod(self.wide) * self.batch), features.dtype)
        inside = (slice(None), *map(slice, self.count))
        out.reshape(channels, *self.wide, self.batch)[inside] = laid(features)
        return out

    def features(self, matrix: Any) -> Any:
        """A matrix of features, by group or not, seen as features."""
        return usual(matrix.reshape(prod(matrix.shape[:-1]), *self.count, self.batch))

    def _pieces(self, x: Any) -> Any:
        return pieces(x, self.kernel, self.count, self.stride, self.dilation, lead=1)

    def _inside(self, x: Any) -> Any:
        within = (slice(before, before + n) for (before, _), n in zip(self.pairs, self.sizes, strict=True))
        return x[(slice(None), *within)]

    def _padded(self, x: Any) -> Any:
        """Laid images with zeros around them, in one piece of memory."""
        if not any(map(any, self.pairs)):
            return self.xp.ascontiguousarray(x)
        result = self.xp.zeros((x.shape[0], *self.whole, self.batch), x.dtype)
        self._inside(result)[...] = x
        return result
