"""Ops about the order of elements: sort, argsort, topk, searchsorted, unique. Their gradients go to the elements
picked."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.ops.along import take_along_axis
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import normalized_axes, public, register
from tutorlib.ops.index import getitem
from tutorlib.ops.shape import flatten, ndim, shape_of

_INDEX = np.dtype("int64")


def _argsort_forward(xp: Any, x: Any, axis: int, descending: bool) -> Any:
    if not descending:
        return xp.argsort(x, axis=axis, kind="stable")
    # Reversed twice, so that equal elements keep their order.
    backwards = xp.flip(xp.argsort(xp.flip(x, axis), axis=axis, kind="stable"), axis)
    return x.shape[axis] - 1 - backwards


_argsort: Op = register(
    Op("argsort", _argsort_forward, lambda x, axis, descending: AVal(x.shape, _INDEX), flags={"nondiff"})
)


def _sortable(x: Any, axis: int | None, op: str) -> tuple[Any, int]:
    x = x if hasattr(x, "ndim") else np.asarray(x)
    if axis is None:
        return flatten(x), 0
    if ndim(x) == 0:
        raise ShapeError("a scalar has no order", op=op, fix="give x an axis: x[None]")
    return x, normalized_axes(axis, ndim(x), op)[0]


@public
def argsort(x: Any, axis: int | None = -1, *, descending: bool = False) -> Any:
    """The indices that sort x along ``axis`` (None: x as a vector). Equal elements keep their order; NaN counts as
    larger than any number.

    >>> import tutorlib as tl
    >>> tl.argsort(tl.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    x, place = _sortable(x, axis, "argsort")
    return _argsort(x, axis=place, descending=bool(descending))


@public
def sort(x: Any, axis: int | None = -1, *, descending: bool = False) -> Any:
    """x sorted along ``axis`` (None: x as a vector). The gradient goes back to where each element came from.

    >>> import tutorlib as tl
    >>> tl.sort(tl.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    x, place = _sortable(x, axis, "sort")
    return take_along_axis(x, _argsort(x, axis=place, descending=bool(descending)), place)


def _topk_infer(x: AVal, k: int, axis: int, largest: bool) -> AVal:
    length = x.shape[axis]
    if length is not None and k > length:
        raise ShapeError(
            f"cannot take {k} elements from an axis of length {length}",
            op="topk",
            shapes=[x.shape],
            wrong_dims=[axis],
            fix=f"take at most {length}",
        )
    return AVal((*x.shape[:axis], k, *x.shape[axis + 1 :]), _INDEX)


def _topk_forward(xp: Any, x: Any, k: int, axis: int, largest: bool) -> Any:
    _topk_infer(AVal(x.shape, x.dtype), k, axis, largest)
    return _argsort_forward(xp, x, axis, largest)[(slice(None),) * axis + (slice(k),)]


_topk: Op = register(
    Op(
        "topk_indices",
        _topk_forward,
        _topk_infer,
        flags={"nondiff"},
        doc="Where the k largest (or smallest) elements along axis are, the largest first.",
    )
)


@public
def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """The k largest elements along ``axis``, the largest first, and their indices: (values, indices).

    Args:
        k: how many, at most the length of the axis.
        largest: False for the smallest, the smallest first.

    Of equal elements the first comes first. Raises ShapeError if there are fewer than k.

    >>> import tutorlib as tl
    >>> tl.topk(tl.tensor([3.0, 1.0, 2.0]), 2)
    (tensor([3., 2.]), tensor([0, 2]))
    """
    if k < 0:
        raise ShapeError(f"cannot take {k} elements", op="topk", fix="ask for 0 or more")
    x, place = _sortable(x, axis, "topk")
    indices = _topk(x, k=int(k), axis=place, largest=bool(largest))
    return take_along_axis(x, indices, place), indices


_searchsorted: Op = register(
    Op(
        "searchsorted",
        lambda xp, a, v, side: xp.searchsorted(a, v, side),
        lambda a, v, side: AVal(v.shape, _INDEX),
        flags={"nondiff"},
    )
)


@public
def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    """Where to insert each element of v into the sorted vector a so that it stays sorted, as indices.

    Args:
        side: "left": before equal elements; "right": behind them.

    >>> import tutorlib as tl
    >>> tl.searchsorted(tl.tensor([1.0, 2.0, 4.0]), [0.0, 2.0, 9.0])
    tensor([0, 1, 3])
    """
    if side not in ("left", "right"):
        raise ValueError('side must be "left" or "right"')
    if ndim(a) != 1:
        raise ShapeError(
            "a must be a sorted vector", op="searchsorted", shapes=[shape_of(a)], fix="flatten and sort it"
        )
    return _searchsorted(a, v, side=side)


_unique: Op = register(
    Op(
        "unique_indices",
        lambda xp, x: xp.unique(x, return_index=True)[1],
        lambda x: AVal((None,), _INDEX),
        flags={"nondiff"},
        doc="Where in the vector x each of its different values stands first, smallest value first.",
    )
)


@public
def unique(x: Any) -> Any:
    """The different values of x in order. Their number is known only when it runs; the gradient of each goes to the
    first element that has it.

    >>> import tutorlib as tl
    >>> tl.unique(tl.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    x = flatten(x)
    return getitem(x, _unique(x))


attach_to("sort")
