"""Indexing as NumPy does it: basic, by integer arrays, by boolean masks; its gradient, scattering back; and take.

A slice may go between symbols: its bounds are operands then, and the result's length is known when it runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim, broadcast_shapes
from tutorlib.core.backend import device_of, is_array, put, to_host
from tutorlib.core.errors import DTypeError, OutOfBoundsError, ShapeError
from tutorlib.core.graph import Op, Symbol, Var
from tutorlib.core.operators import OPS
from tutorlib.core.quick import indexing, method
from tutorlib.ops.define import normalized_axes, public, register
from tutorlib.ops.reduce import count
from tutorlib.ops.shape import flatten, ndim, shape_of


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
    hole, and so do the symbols that a slice goes between.

    Raises OutOfBoundsError for more indices than axes or two ellipses, DTypeError for what cannot be an index,
    ShapeError for a slice between arrays.
    """
    items = index if isinstance(index, tuple) else (index,)
    template: list[Any] = []
    arrays: list[Any] = []
    for item in items:
        if item is None or item is Ellipsis:
            template.append(item)
        elif isinstance(item, slice):
            template.append(slice(*(_bound(part, arrays) for part in (item.start, item.stop, item.step))))
        elif isinstance(item, int | np.integer) and not isinstance(item, bool):
            template.append(int(item))
        else:
            template.append(Hole(len(arrays)))
            arrays.append(_index_array(x, item))
    if sum(item is Ellipsis for item in template) > 1:
        raise OutOfBoundsError("an index may have one ... only", op="getitem", fix="write : for the other axes")
    used = _axes_used(template, arrays)
    if used > ndim(x):
        raise OutOfBoundsError(
            f"{used} indices for {ndim(x)} axes", op="getitem", shapes=[shape_of(x)], fix="use one index an axis"
        )
    return tuple(template), arrays


def _is_plain(index: Any, ndim: int) -> bool:
    """Whether an index has plain numbers and slices between such only, and no more of them than there are axes."""
    if type(index) is int:
        return ndim > 0
    items = index if type(index) is tuple else (index,)
    for item in items:
        if type(item) is slice:
            start, stop, step = item.start, item.stop, item.step
            if (
                (start is not None and type(start) is not int)
                or (stop is not None and type(stop) is not int)
                or (step is not None and type(step) is not int)
            ):
                return False
        elif type(item) is not int:
            return False
    return len(items) <= ndim


def _bound(part: Any, arrays: list[Any]) -> int | Hole | None:
    """Start, stop or step of a slice as a plain number, or as the place of an operand."""
    if part is None:
        return None
    if isinstance(part, Symbol):
        if part.dtype.kind not in "iu":
            raise DTypeError(
                f"a slice goes between whole numbers, not {part.dtype}", op="getitem", fix='cast it: n.astype("int64")'
            )
        if part.ndim:
            raise ShapeError(
                "a slice goes between single numbers", op="getitem", shapes=[part.shape], fix="pick one: n[0]"
            )
        arrays.append(part)
        return Hole(len(arrays) - 1)
    try:
        return part.__index__()
    except (AttributeError, TypeError):
        raise DTypeError(
            f"a slice goes between whole numbers, not {part!r:.60}", op="getitem", fix="write x[1:5], or int(n)"
        ) from None


def _index_array(x: Any, item: Any) -> Any:
    if isinstance(item, list) and any(isinstance(part, Var) for part in item):
        item = OPS.stack(item)
    if isinstance(item, Var) or is_array(item):
        array = item
    else:
        array = np.asarray(item, dtype=None if np.size(item) else np.int64)
        array = put(array, device_of(getattr(x, "_data", x)))
    if array.dtype.kind not in "biu":
        raise DTypeError(
            f"an index must be whole numbers or a mask, not {array.dtype}",
            op="getitem",
            fix='cast it: index.astype("int64")',
        )
    return array


def _axes_used(template: Any, arrays: Any) -> int:
    return sum(
        arrays[item.n].ndim if isinstance(item, Hole) and arrays[item.n].dtype.kind == "b" else 1
        for item in template
        if item is not None and item is not Ellipsis
    )


def fill_index(template: Index, arrays: Any) -> Any:
    """The index that ``split_index`` took apart."""
    return tuple(
        arrays[item.n] if isinstance(item, Hole) else _filled(item, arrays) if isinstance(item, slice) else item
        for item in template
    )


def _filled(piece: slice, arrays: Any) -> slice:
    if not has_holes(piece):
        return piece
    parts = (piece.start, piece.stop, piece.step)
    # Variables stay variables, as operands of a gradient's index; arrays become the numbers a slice needs.
    found = [arrays[part.n] if isinstance(part, Hole) else part for part in parts]
    return slice(*(int(to_host(part)) if is_array(part) else part for part in found))


def has_holes(piece: slice) -> bool:
    """Whether a slice of a template goes between operands."""
    return any(isinstance(part, Hole) for part in (piece.start, piece.stop, piece.step))


def repeats_possible(template: Index, arrays: Any) -> bool:
    """Whether an index may name an element twice: only with an integer array that has axes."""
    return any(array.dtype.kind != "b" and array.ndim for array in arrays)


def _slice_length(dim: Dim, piece: slice) -> Dim:
    if has_holes(piece):
        return None
    if dim is not None:
        return len(range(*piece.indices(dim)))
    return None if piece != slice(None) else dim


def _check_number(x: AVal, item: int, axis: int) -> None:
    dim = x.shape[axis]
    if dim is not None and not -dim <= item < dim:
        raise OutOfBoundsError(
            f"index {item} is out of bounds for axis {axis} of length {dim}",
            op="getitem",
            shapes=[x.shape],
            wrong_dims=[axis],
            fix=f"use an index from {-dim} to {dim - 1}" if dim else "the axis is empty",
        )


def _check_mask(x: AVal, mask: AVal, axis: int) -> None:
    for i, (want, got) in enumerate(zip(x.shape[axis:], mask.shape, strict=False)):
        # NumPy lets a mask without elements pass where it picks from nothing.
        if None not in (want, got) and want != got and got != 0:
            raise OutOfBoundsError(
                "a mask must have the lengths of the axes it stands for",
                op="getitem",
                shapes=[x.shape, mask.shape],
                wrong_dims=[axis + i, i],
                fix="compute the mask from the array it picks from: x[x > 0]",
            )


def indexed(x: AVal, *arrays: AVal, index: Index) -> AVal:
    """What ``x[index]`` is: the shape rule of every op with an index."""
    items = list(index)
    rest: list[Any] = [slice(None)] * (x.ndim - _axes_used(items, arrays))
    if any(item is Ellipsis for item in items):
        at = next(k for k, item in enumerate(items) if item is Ellipsis)
        # An ellipsis stands between index arrays even where it stands for no axis.
        items[at : at + 1] = rest or [Ellipsis]
    else:
        items += rest
    shape: list[Dim] = []
    advanced: list[tuple[Dim, ...]] = []
    # NumPy puts the axes of index arrays where the first stands when they are next to each other, else in front.
    # Beside an array, a plain number counts as one.
    has_arrays = any(isinstance(i, Hole) for i in items)
    places: list[int] = []
    insert_at = axis = 0
    for place, item in enumerate(items):
        if item is None:
            shape.append(1)
        elif isinstance(item, slice):
            shape.append(_slice_length(x.shape[axis], item))
            axis += 1
        elif item is not Ellipsis:
            if not places:
                insert_at = len(shape)
            places.append(place)
            if isinstance(item, Hole) and arrays[item.n].dtype.kind == "b":
                _check_mask(x, arrays[item.n], axis)
                advanced.append((None,))
                axis += arrays[item.n].ndim
                continue
            if isinstance(item, Hole):
                advanced.append(arrays[item.n].shape)
            else:
                _check_number(x, item, axis)
            axis += 1
    if has_arrays:
        together = places[-1] - places[0] + 1 == len(places)
        start = insert_at if together else 0
        shape[start:start] = broadcast_shapes(advanced, "getitem")
    return AVal(tuple(shape), x.dtype)


def _scatter_forward(xp: Any, g: Any, like: Any, *arrays: Any, index: Index) -> Any:
    result = xp.zeros(like.shape, g.dtype)
    if repeats_possible(index, arrays):
        xp.add.at(result, fill_index(index, arrays), g)
    else:
        result[fill_index(index, arrays)] = g
    return result


_getitem: Op = register(
    Op(
        "getitem",
        lambda xp, x, *arrays, index: x[fill_index(index, arrays) if arrays else index],
        indexed,
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
        doc="g added at index into zeros of the shape of like: an element named twice gets both.",
    )
)


@public
def getitem(x: Any, index: Any) -> Any:
    """``x[index]`` as NumPy means it: numbers, slices, None, ..., integer arrays, boolean masks, any mix of them.

    Index arrays may be tensors or symbols. With a mask, or a slice between symbols, the result's length is known only
    when it runs.

    Raises OutOfBoundsError for an index that is not there, DTypeError for one that is no whole number or mask.

    >>> import tutorlib as tl
    >>> tl.tensor([[1, 2], [3, 4]])[:, 1]
    tensor([2, 4])
    """
    template, arrays = split_index(x, index)
    return _getitem(x, *arrays, index=template)


method(indexing(_getitem, _is_plain, getitem), "__getitem__")


@public
def take(x: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """The elements of x at ``indices`` along ``axis``; with ``axis=None`` of x seen as a vector.

    Args:
        indices: integers of any shape; that shape takes the place of the axis.
        axis: the axis to take from.
        mode: what an index outside does: "raise" (OutOfBoundsError; negative ones count from the end), "wrap" (counts
            on from the other end) or "clip" (means the nearest element there is).

    >>> import tutorlib as tl
    >>> tl.take(tl.tensor([10, 20, 30]), [2, 0])
    tensor([30, 10])
    >>> tl.take(tl.tensor([10, 20, 30]), [-7, 7], mode="clip")
    tensor([10, 30])
    """
    if axis is None:
        x, axis = flatten(x), 0
    (place,) = normalized_axes(axis, ndim(x), "take")
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError('mode must be "raise", "wrap" or "clip"')
    if not isinstance(indices, int | np.integer):
        indices = _index_array(x, indices)
    if mode != "raise":
        length = count(x, place)
        indices = OPS.mod(indices, length) if mode == "wrap" else OPS.clip(indices, 0, length - 1)
    return getitem(x, (slice(None),) * place + (indices,))


@public
def embedding(table: Any, indices: Any) -> Any:
    """The rows of ``table`` numbered by ``indices``: one vector for each number.

    Args:
        table: (number of rows, length of a row, …).
        indices: integers of any shape.

    >>> import tutorlib as tl
    >>> tl.embedding(tl.tensor([[0.0, 1.0], [2.0, 3.0]]), [1, 1, 0]).shape
    (3, 2)
    """
    return take(table, indices, 0)
