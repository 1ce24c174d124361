"""The leaves a static graph starts from: symbols to fill in, shared variables to keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.compile.bound import aligned
from tutorlib.core.aval import AVal, Dim, check_dtype
from tutorlib.core.backend import Device
from tutorlib.core.config import config
from tutorlib.core.create import as_array
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Input, Shared
from tutorlib.core.storage import Storage


def symbol(name: str | None = None, shape: Sequence[Dim] = (), dtype: Any = None) -> Input:
    """An input of a static graph.

    Args:
        name: for messages, drawings and calls by keyword.
        shape: one entry an axis, None where the length is not known yet.
        dtype: ``tl.config.floatX`` by default.

    >>> import tutorlib as tl
    >>> tl.symbol("rows", shape=(None, 3), dtype="float32")
    <input rows: float32 (?, 3)>
    """
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(d is None or (isinstance(d, int | np.integer) and d >= 0) for d in dims):
        raise ShapeError(
            f"a shape is made of lengths and None, not {dims!r}", fix="write None for a length that is not known yet"
        )
    return Input(
        AVal(tuple(None if d is None else int(d) for d in dims), check_dtype(dtype or config.floatX)), name=name
    )


def _of_rank(ndim: int, word: str) -> Any:
    def make(name: str | None = None, dtype: Any = None) -> Input:
        return symbol(name, (None,) * ndim, dtype)

    make.__name__ = make.__qualname__ = word
    make.__doc__ = (
        f"An input with {ndim} axes of unknown length. See ``tl.symbol``."
        if ndim
        else "A scalar input. See ``tl.symbol``."
    )
    return make


scalar, vector, matrix, tensor3, tensor4 = (
    _of_rank(n, word) for n, word in enumerate(["scalar", "vector", "matrix", "tensor3", "tensor4"])
)


def shared(
    value: Any,
    name: str | None = None,
    borrow: bool = False,
    *,
    dtype: Any = None,
    device: str | Device | None = None,
    shape: Sequence[Dim] | None = None,
) -> Shared:
    """A variable that keeps its value between calls of all the functions that use it.

    Args:
        value: the first value: number, nested lists or array. Copied, unless ``borrow`` and it is an array already.
        name: for messages and drawings.
        borrow: keep the caller's own array: then changing that array changes the variable.
        dtype: by default the value's; ``tl.config.floatX`` for Python floats.
        device: where it lives.
        shape: with None for dims that ``set_value`` and updates may change; by default the value's shape, fixed.

    >>> import tutorlib as tl
    >>> count = tl.shared(0, name="count")
    >>> increment = tl.function([], count, updates=[(count, count + 1)])
    >>> increment()          # outputs see the value from before the update
    array(0)
    >>> count.get_value()
    array(1)
    """
    array = as_array(value, dtype, device, copy=not borrow)
    if shape is not None and (
        len(shape) != array.ndim or any(w not in (None, g) for w, g in zip(shape, array.shape, strict=True))
    ):
        raise ShapeError(
            "the value does not have the shape asked for", shapes=[shape, array.shape], fix="None stands for any length"
        )
    if not borrow:
        array = aligned(array)
    return Shared(Storage(array, name, borrowed=borrow), tuple(shape) if shape is not None else None, name)
