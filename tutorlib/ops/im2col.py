"""The windows of an image batch as the columns of one matrix, and back: the inside of the convolutions.

Arrays here have their channels first, (channels, batch, *space). Where windows lie one step apart, NumPy need not cut
rows of an image short: each place of the kernel is then one contiguous run over the whole padded batch, shifted. The
few columns that stand for windows across an edge are computed and never looked at.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from tutorlib.ops.windows import Pairs, inside, padded, pieces

Sizes = tuple[int, ...]


class WindowMatrix:
    """The geometry of one convolution, and the four ways between images, features and their matrices.

    A matrix of windows is (channels · kernel, ``length``), one of features (channels, ``length``).
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
        places, columns = prod(self.whole), prod(count)
        self.plain = prod(kernel) == 1 and all(s == 1 for s in stride)
        # Runs across edges pay while they compute at most half as much again.
        self.runs = xp is np and not self.plain and all(s == 1 for s in stride) and 0 < 2 * places <= 3 * columns
        self.runs = self.runs and batch > 0
        if self.runs:
            steps = [prod(self.whole[axis + 1 :]) for axis in range(len(kernel))]
            self.shifts = [
                sum(at * gap * step for at, gap, step in zip(place, dilation, steps, strict=True))
                for place in product(*map(range, kernel))
            ]
            self.length = batch * places - self.shifts[-1]
        else:
            self.length = batch * columns

    def windows(self, x: Any) -> Any:
        """The matrix of the windows of images."""
        x = padded(self.xp, x, self.pairs)
        if self.plain:
            return x.reshape(x.shape[0], self.length)
        channels, size = x.shape[0], prod(self.kernel)
        if self.runs:
            flat = x.reshape(channels, -1)
            result = np.empty((channels, size, self.length), x.dtype)
            for i, shift in enumerate(self.shifts):
                result[:, i] = flat[:, shift : shift + self.length]
        else:
            result = self.xp.empty((channels, size, self.batch, *self.count), x.dtype)
            for i, piece in enumerate(pieces(x, self.kernel, self.count, self.stride, self.dilation)):
                result[:, i] = piece
        return result.reshape(channels * size, self.length)

    def images(self, matrix: Any) -> Any:
        """What undoes ``windows``: each column's elements added at the places of its window."""
        size = prod(self.kernel)
        channels = matrix.shape[0] // size
        shape = (channels, self.batch, *self.whole)
        if self.plain:
            return inside(matrix.reshape(shape), self.pairs, self.sizes)
        result = self.xp.zeros(shape, matrix.dtype)
        if self.runs:
            parts, flat = matrix.reshape(channels, size, self.length), result.reshape(channels, -1)
            for i, shift in enumerate(self.shifts):
                flat[:, shift : shift + self.length] += parts[:, i]
        else:
            parts = matrix.reshape(channels, size, self.batch, *self.count)
            for i, piece in enumerate(pieces(result, self.kernel, self.count, self.stride, self.dilation)):
                piece += parts[:, i]
        return inside(result, self.pairs, self.sizes)

    def laid(self, features: Any) -> Any:
        """Features as a matrix, with zeros for windows that do not exist."""
        channels = features.shape[0]
        if not self.runs:
            return features.reshape(channels, self.length)
        result = np.zeros((channels, self.batch, *self.whole), features.dtype)
        self._existing(result)[...] = features
        return result.reshape(channels, -1)[:, : self.length]

    def features(self, weights: Any, matrix: Any) -> Any:
        """``weights`` (groups, out of one, rows) times a matrix of windows (groups, rows, length), as features."""
        channels = weights.shape[0] * weights.shape[1]
        if not self.runs:
            return self.xp.matmul(weights, matrix).reshape(channels, self.batch, *self.count)
        result = np.empty(
            (*weights.shape[:2], self.batch * prod(self.whole)), np.result_type(weights.dtype, matrix.dtype)
        )
        np.matmul(weights, matrix, out=result[..., : self.length])
        return self._existing(result.reshape(channels, self.batch, *self.whole))

    def _existing(self, array: Any) -> Any:
        return array[(..., *map(slice, self.count))]
