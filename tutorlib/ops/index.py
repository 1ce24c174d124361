"""Indexing as NumPy does it: basic, by integer arrays, by boolean masks; and its gradient, scattering back."""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np

from tutorlib.core.aval import AVal, Dim, broadcast_shapes
from tutorlib.core.backend import is_array
from tutorlib.core.errors import DTypeError, OutOfBoundsError, shape_text
from tutorlib.core.graph import Op, Var
from tutorlib.ops.define import normalized_axes, public, register
from tutorlib.ops.shape import ndim


class Hole:
    """In an index kept as an attribute: the place of array operand number ``n``. Equal holes are interchangeable."""

    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hole) and other.n == self.n

    def __hash__(self) -> int:
        return hash(("Hole", self.n))

    def __repr__(self) -> str:
        return f"·{self.n}"


Index = tuple[Any, ...]


def split_index(x: Any, index: Any) -> tuple[Index, list[Any]]:
    """An index as (template, array operands): numbers, slices, None and ... stay in the template, arrays leave a
    hole."""
    items = index if isinstance(index, tuple) else (index,)
    template: list[Any] = []
    arrays: list[Any] = []
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, slice):
            if isinstance(item, slice) and any(isinstance(p, Var) for p in (item.start, item.stop, item.step)):
                item = slice(*(operator.index(cast(Any, p)) if isinstance(p, Var) else p for p in (item.start, item.stop, item.step)))
            template.append(item)
        elif isinstance(item, int | np.integer) and not isinstance(item, bool):
            template.append(int(item))
        else:
            array = item if isinstance(item, Var) or is_array(item) else np.asarray(item)
            if array.dtype.kind not in "biu":
                if array.size == 0 and not isinstance(array, Var):
                    array = array.astype(np.int64)
                else:
                    raise DTypeError(
                        f"an index must be whole numbers or a mask, not {array.dtype}",
                        op="getitem",
                        fix='cast it: index.astype("int64")',
                    )
            template.append(Hole(len(arrays)))
            arrays.append(array)
    used = sum(
        arrays[t.n].ndim if isinstance(t, Hole) and arrays[t.n].dtype.kind == "b" else 1
        for t in template
        if t is not None and t is not Ellipsis
    )
    if used > ndim(x):
        raise OutOfBoundsError(
            f"{used} indices for {ndim(x)} axes", op="getitem", shapes=[x.shape], fix="use one index an axis"
        )
    return tuple(template), arrays


def _fill(template: Index, arrays: Any) -> Any:
    return tuple(arrays[item.n] if isinstance(item, Hole) else item for item in template)


def _slice_length(dim: Dim, piece: slice) -> Dim:
    if dim is not None:
        return len(range(*piece.indices(dim)))
    return None if piece != slice(None) else dim


def _getitem_infer(x: AVal, *arrays: AVal, index: Index) -> AVal:
    items = list(index)
    taken = sum(
        arrays[i.n].ndim if isinstance(i, Hole) and arrays[i.n].dtype.kind == "b" else 1
        for i in items
        if i is not None and i is not Ellipsis
    )
    rest = [slice(None)] * (x.ndim - taken)
    if Ellipsis in [i if i is Ellipsis else None for i in items]:
        at = next(k for k, i in enumerate(items) if i is Ellipsis)
        items[at : at + 1] = rest
    else:
        items += rest
    shape: list[Dim] = []
    advanced: list[tuple[Dim, ...]] = []
    # NumPy puts the axes of index arrays where the first stands when they are next to each other, else in front.
    # Beside an array, a plain number counts as one.
    has_arrays = any(isinstance(i, Hole) for i in items)
    where_advanced: list[int] = []
    insert_at = 0
    axis = 0
    for place, item in enumerate(items):
        if item is None:
            shape.append(1)
        elif isinstance(item, slice):
            shape.append(_slice_length(x.shape[axis], item))
            axis += 1
        else:
            if has_arrays:
                if not where_advanced:
                    insert_at = len(shape)
                where_advanced.append(place)
            if isinstance(item, Hole) and arrays[item.n].dtype.kind == "b":
                advanced.append((None,))
                axis += arrays[item.n].ndim
                continue
            if isinstance(item, Hole):
                advanced.append(arrays[item.n].shape)
            else:
                dim = x.shape[axis]
                if dim is not None and not -dim <= item < dim:
                    raise OutOfBoundsError(
                        f"index {item} is out of bounds for axis {axis} of length {dim}",
                        op="getitem",
                        shapes=[x.shape],
                        wrong_dims=[axis],
                        fix=f"use an index from {-dim} to {dim - 1}" if dim else "the axis is empty",
                    )
                if has_arrays:
                    advanced.append(())
            axis += 1
    if has_arrays:
        together = where_advanced == list(range(where_advanced[0], where_advanced[0] + len(where_advanced)))
        start = insert_at if together else 0
        shape[start:start] = broadcast_shapes(advanced, "getitem")
    return AVal(tuple(shape), x.dtype)


def _scatter_forward(xp: Any, g: Any, like: Any, *arrays: Any, index: Index) -> Any:
    result = xp.zeros(like.shape, g.dtype)
    if arrays:
        xp.add.at(result, _fill(index, arrays), g)  # an element taken twice gets both cotangents
    else:
        result[_fill(index, arrays)] = g
    return result


_getitem: Op = register(
    Op(
        "getitem",
        lambda xp, x, *arrays, index: x[_fill(index, arrays)],
        _getitem_infer,
        lambda g, needs, out, x, *arrays, index: [
            _scatter(g, x, *arrays, index=index) if needs[0] else None,
            *[None] * len(arrays),
        ],
        flags={"linear", "view"},
    )
)
_scatter: Op = register(
    Op(
        "scatter",
        _scatter_forward,
        lambda g, like, *arrays, index: AVal(like.shape, g.dtype),
        lambda gg, needs, out, g, like, *arrays, index: [
            _getitem(gg, *arrays, index=index) if needs[0] else None,
            None,
            *[None] * len(arrays),
        ],
        flags={"linear"},
    )
)


@public
def getitem(x: Any, index: Any) -> Any:
    """``x[index]`` as NumPy means it: numbers, slices, None, ..., integer arrays, boolean masks, any mix of them.

    Index arrays may be tensors or symbols. With a mask the result's length is known only when it runs.

    >>> import tutorlib as tl
    >>> tl.tensor([[1, 2], [3, 4]])[:, 1]
    tensor([2, 4])
    """
    template, arrays = split_index(x, index)
    return _getitem(x, *arrays, index=template)


@public
def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """The elements of x at ``indices`` along ``axis``; with ``axis=None`` of x seen as a vector.

    >>> import tutorlib as tl
    >>> tl.take(tl.tensor([10, 20, 30]), [2, 0])
    tensor([30, 10])
    """
    from tutorlib.ops.shape import flatten

    if not isinstance(indices, int | np.integer | Var) and not is_array(indices):
        indices = np.asarray(indices, dtype=np.int64 if np.size(indices) == 0 else None)
    if axis is None:
        return getitem(flatten(x), indices)
    (place,) = normalized_axes(axis, ndim(x), "take")
    return getitem(x, (slice(None),) * place + (indices,))


__all__ = ["Hole", "getitem", "shape_text", "take"]
