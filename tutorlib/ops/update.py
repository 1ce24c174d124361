"""Arrays with some elements replaced, as new arrays: ``x.at[index].set(v)``, in the spelling that JAX made common."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, broadcast_shapes
from tutorlib.core.backend import device_of, is_array, put
from tutorlib.core.errors import DTypeError, ShapeError
from tutorlib.core.graph import Op, Var, aval_of
from tutorlib.core.operators import OPS
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import public, register
from tutorlib.ops.index import Index, fill_index, getitem, indexed, repeats_possible, split_index


def _update_infer(x: AVal, v: AVal, *arrays: AVal, index: Index) -> AVal:
    place = indexed(x, *arrays, index=index).shape
    result = broadcast_shapes([place, v.shape], "at")
    if len(result) != len(place) or any(
        got not in (want, None) and want is not None for got, want in zip(result, place, strict=True)
    ):
        raise ShapeError(
            "the new values do not fit the place x[index]",
            op="at",
            shapes=[place, v.shape],
            fix="give one value for each element there, or a shape that broadcasts to it",
        )
    return AVal(x.shape, x.dtype)


def _last_writers(xp: Any, shape: tuple[int, ...], where: Any) -> tuple[Any, Any]:
    """For each element that ``where`` names, in order: its own number, and the number of the last to name it."""
    size = int(np.prod(shape, dtype=np.int64))
    named = xp.reshape(xp.arange(size), shape)[where]
    own = xp.arange(named.size)
    last = xp.zeros(size, own.dtype)
    # A plain assignment through repeated indices leaves it open which one stays; a maximum does not.
    xp.maximum.at(last, xp.ravel(named), own)
    return xp.reshape(own, named.shape), last[named]


def _set_forward(xp: Any, x: Any, v: Any, *arrays: Any, index: Index) -> Any:
    result = xp.array(x)
    where = fill_index(index, arrays)
    if repeats_possible(index, arrays):
        own, last = _last_writers(xp, x.shape, where)
        if own.size:
            v = xp.ravel(xp.broadcast_to(xp.asarray(v), own.shape))[last]
    result[where] = v
    return result


def _set_vjp(g: Any, needs: list[bool], out: Any, x: Any, v: Any, *arrays: Any, index: Index) -> list[Any]:
    gx = _index_set(g, 0, *arrays, index=index) if needs[0] else None
    gv = _last_named(g, *arrays, index=index) if needs[1] else None
    return [gx, gv, *[None] * len(arrays)]


def _last_named_forward(xp: Any, g: Any, *arrays: Any, index: Index) -> Any:
    where = fill_index(index, arrays)
    if not repeats_possible(index, arrays):
        return g[where]
    own, last = _last_writers(xp, g.shape, where)
    return xp.where(own == last, g[where], xp.zeros((), g.dtype))


def _add_forward(xp: Any, x: Any, v: Any, *arrays: Any, index: Index) -> Any:
    result = xp.array(x)
    where = fill_index(index, arrays)
    v = xp.asarray(v, dtype=x.dtype)
    if repeats_possible(index, arrays):
        xp.add.at(result, where, v)
    else:
        result[where] += v
    return result


_index_set: Op = register(
    Op("index_set", _set_forward, _update_infer, _set_vjp, flags={"stretches"}, doc="x with x[index] replaced by v.")
)
_last_named: Op = register(
    Op(
        "last_named",
        _last_named_forward,
        indexed,
        lambda gg, needs, out, g, *arrays, index: [
            _index_set(OPS.zeros_like(g), gg, *arrays, index=index) if needs[0] else None,
            *[None] * len(arrays),
        ],
        flags={"linear"},
        doc="g[index], and 0 where the same element is named again later: what a value that was written over gets.",
    )
)
_index_add: Op = register(
    Op(
        "index_add",
        _add_forward,
        _update_infer,
        lambda g, needs, out, x, v, *arrays, index: [
            g if needs[0] else None,
            getitem(g, fill_index(index, arrays)) if needs[1] else None,
            *[None] * len(arrays),
        ],
        flags={"linear", "stretches"},
        doc="x with v added at index; an element named twice gets both.",
    )
)


class Place:
    """The elements ``x.at[index]``: each method gives a new array and leaves x as it is."""

    __slots__ = ("_index", "_x")

    def __init__(self, x: Any, index: Any) -> None:
        self._x = x
        self._index = index

    def set(self, values: Any) -> Any:
        """x with ``values`` (broadcast) at the place. Where an index is repeated the last value stays, and it alone
        gets the gradient.

        >>> import tutorlib as tl
        >>> x = tl.tensor([1.0, 2.0, 3.0])
        >>> x.at[0].set(9.0), x
        (tensor([9., 2., 3.]), tensor([1., 2., 3.]))
        """
        return self._apply(_index_set, values)

    def add(self, values: Any) -> Any:
        """x with ``values`` (broadcast) added at the place. Where an index is repeated every value is added.

        >>> import tutorlib as tl
        >>> tl.tensor([1.0, 2.0]).at[[1, 1]].add([10.0, 20.0])
        tensor([ 1., 32.])
        """
        return self._apply(_index_add, values)

    def mul(self, values: Any) -> Any:
        """x with the elements at the place multiplied by ``values`` (broadcast), as NumPy's ``x[index] *= values``:
        where an index is repeated, the last factor alone counts.

        >>> import tutorlib as tl
        >>> tl.tensor([1.0, 2.0, 3.0]).at[1:].mul(10.0)
        tensor([ 1., 20., 30.])
        """
        return self._apply(_index_set, OPS.mul(self.get(), self._ready(values)))

    def get(self) -> Any:
        """The elements themselves: ``x[index]``."""
        return getitem(self._x, self._index)

    def _ready(self, values: Any) -> Any:
        if isinstance(values, Var) or is_array(values) or type(values) in (bool, int, float):
            return values
        return put(np.asarray(values), device_of(getattr(self._x, "_data", self._x)))

    def _apply(self, op: Op, values: Any) -> Any:
        x, values = self._x, self._ready(values)
        have, new = aval_of(x), aval_of(values)
        if not np.can_cast(new.dtype, have.dtype, "same_kind"):
            raise DTypeError(
                f"{new.dtype} values would be changed to fit {have.dtype}",
                op="at",
                fix=f'cast x first: x.astype("{new.dtype}").at[...]',
            )
        template, arrays = split_index(x, self._index)
        return op(x, values, *arrays, index=template)


class At:
    """What ``x.at`` is: index it to name a place."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x if isinstance(x, Var) or is_array(x) else np.asarray(x)

    def __getitem__(self, index: Any) -> Place:
        return Place(self._x, index)


@public
def at(x: Any) -> At:
    """The way to x with some elements replaced: ``tl.at(x)[index].set(v)``, or ``x.at[index].set(v)``.

    >>> import tutorlib as tl
    >>> tl.at([1, 2, 3])[1:].set(0)
    array([1, 0, 0])
    """
    return At(x)


attach_to("update")
