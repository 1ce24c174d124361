"""Indexing along one axis by an array of the same rank: take_along_axis, gather, put_along_axis; and one_hot."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, check_dtype
from tutorlib.core.backend import device_of, is_array, put
from tutorlib.core.config import config
from tutorlib.core.errors import DTypeError, OutOfBoundsError, ShapeError
from tutorlib.core.graph import Op, Var
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import normalized_axes, public, register
from tutorlib.ops.index import getitem
from tutorlib.ops.shape import flatten, ndim, reshape_like, shape_of
from tutorlib.ops.update import At

_axis_positions: Op = register(
    Op(
        "axis_positions",
        lambda xp, x, axis: xp.reshape(xp.arange(x.shape[axis]), (-1,) + (1,) * (x.ndim - 1 - axis)),
        lambda x, axis: AVal((x.shape[axis],) + (1,) * (x.ndim - 1 - axis), np.dtype("int64")),
        flags={"nondiff"},
        doc="0, 1, 2 … along axis of x, shaped to broadcast against x.",
    )
)


def _like_data(indices: Any, x: Any) -> Any:
    if isinstance(indices, Var) or is_array(indices):
        return indices
    array = np.asarray(indices, dtype=None if np.size(indices) else np.int64)
    return put(array, device_of(getattr(x, "_data", x)))


def _index_along(x: Any, indices: Any, axis: int, op: str) -> tuple[Any, ...]:
    """The index that picks ``indices`` along ``axis``, and everywhere else the place itself."""
    if ndim(indices) != ndim(x):
        raise ShapeError(
            "indices must have as many axes as x",
            op=op,
            shapes=[shape_of(x), shape_of(indices)],
            fix="give them new axes: indices[..., None]",
        )
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"indices must be integers, not {indices.dtype}", op=op, fix='indices.astype("int64")')
    (place,) = normalized_axes(axis, ndim(x), op)
    return tuple(indices if a == place else _axis_positions(x, axis=a) for a in range(ndim(x)))


@public
def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    """The elements that ``indices`` name along ``axis``: along axis 1, ``result[i, j] = x[i, indices[i, j]]``.

    Args:
        indices: integers, with as many axes as x; the other axes broadcast against those of x.
        axis: the axis to pick along; None: x and indices are seen as vectors.

    >>> import tutorlib as tl
    >>> x = tl.tensor([[10, 20], [30, 40]])
    >>> tl.take_along_axis(x, [[1], [0]], axis=1)
    tensor([[20],
            [30]])
    """
    x = x if hasattr(x, "ndim") else np.asarray(x)
    indices = _like_data(indices, x)
    if axis is None:
        x, indices, axis = flatten(x), flatten(indices), 0
    return getitem(x, _index_along(x, indices, axis, "take_along_axis"))


@public
def gather(x: Any, axis: int, index: Any) -> Any:
    """``take_along_axis`` with its arguments in PyTorch's order.

    >>> import tutorlib as tl
    >>> tl.gather(tl.tensor([[10, 20], [30, 40]]), 1, [[1], [0]])
    tensor([[20],
            [30]])
    """
    return take_along_axis(x, index, axis)


@public
def put_along_axis(x: Any, indices: Any, values: Any, axis: int | None, mode: str = "set") -> Any:
    """x with ``values`` at the places that ``take_along_axis(x, indices, axis)`` takes from: a new array.

    Args:
        values: broadcast to the shape of indices.
        mode: "set" (the last of several values for one place stays) or "add" (all are added to what is there).

    >>> import tutorlib as tl
    >>> tl.put_along_axis(tl.tensor([[1, 2], [3, 4]]), [[1], [0]], 0, axis=1)
    tensor([[1, 0],
            [0, 4]])
    """
    if mode not in ("set", "add"):
        raise ValueError('mode must be "set" or "add"')
    x = x if hasattr(x, "ndim") else np.asarray(x)
    indices = _like_data(indices, x)
    if axis is None:
        return reshape_like(put_along_axis(flatten(x), flatten(indices), values, 0, mode), x)
    place = At(x)[_index_along(x, indices, axis, "put_along_axis")]
    return place.set(values) if mode == "set" else place.add(values)


def _one_hot_forward(xp: Any, indices: Any, depth: int, dtype: str) -> Any:
    indices = xp.asarray(indices)
    if xp is np and indices.size and (indices.min() < 0 or indices.max() >= depth):
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise OutOfBoundsError(
            f"class {wrong} does not exist: there are {depth}, numbered from 0", op="one_hot", fix="raise depth"
        )
    return (indices[..., None] == xp.arange(depth)).astype(dtype)


_one_hot: Op = register(
    Op(
        "one_hot",
        _one_hot_forward,
        lambda indices, depth, dtype: AVal((*indices.shape, depth), np.dtype(dtype)),
        flags={"nondiff"},
    )
)


@public
def one_hot(indices: Any, depth: int, dtype: Any = None) -> Any:
    """Vectors of zeros with a 1 at the place that each index names, as a new last axis of length ``depth``.

    Args:
        indices: integers from 0 to depth - 1, of any shape.
        dtype: of the result; ``tl.config.floatX`` by default.

    Raises DTypeError for indices that are not integers, OutOfBoundsError (on the host) for one out of range.

    >>> import tutorlib as tl
    >>> tl.one_hot([2, 0], 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    indices = indices if hasattr(indices, "dtype") else np.asarray(indices, None if np.size(indices) else np.int64)
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"classes are integers, not {indices.dtype}", op="one_hot", fix='indices.astype("int64")')
    return _one_hot(indices, depth=int(depth), dtype=check_dtype(dtype or config.floatX).name)


attach_to("along")
