"""What random draws make of their arguments: shape, ``like``, parameters and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import broadcast_shapes, check_dtype
from tutorlib.core.config import config
from tutorlib.core.errors import DTypeError, ShapeError
from tutorlib.core.graph import aval_of

Shape = tuple[int, ...]


def dims_of(shape: Any) -> Shape:
    """``shape`` (an int or several) as a tuple of ints."""
    dims = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if any(not isinstance(d, int | np.integer) or d < 0 for d in dims):
        raise ShapeError(
            f"a shape is made of whole numbers from 0 up, not {shape!r}",
            op="random",
            fix="for a length that is not known yet, pass like=x: numbers in the shape of x",
        )
    return tuple(int(d) for d in dims)


def place_of(shape: Any, like: Any, parameters: tuple[Any, ...]) -> tuple[Shape | None, tuple[Any, ...]]:
    """What to draw, as (shape, no operand) or (None, the operand whose shape it is)."""
    if like is not None:
        return None, (like,)
    needed = broadcast_shapes([aval_of(p).shape for p in parameters], "random")
    if shape is None:
        if None not in needed:
            return needed, ()  # type: ignore[return-value]
        total = parameters[0]
        for parameter in parameters[1:]:
            total = total + parameter
        return None, (total,)
    dims = dims_of(shape)
    if broadcast_shapes([dims, needed], "random") != dims and None not in needed:
        raise ShapeError(
            "the parameters do not fit the shape to draw: equal numbers would be used more than once",
            op="random",
            shapes=[dims, needed],
            fix="leave shape out, or give the whole shape",
        )
    return dims, ()


def as_values(*parameters: Any) -> tuple[Any, ...]:
    """The parameters, lists of numbers as arrays."""
    return tuple(np.asarray(p) if isinstance(p, list | tuple) else p for p in parameters)


def float_dtype(dtype: Any, *values: Any) -> str:
    """``dtype``, or else that of the floating-point arrays among ``values``, or else ``floatX``."""
    if dtype is not None:
        found = check_dtype(dtype)
        if found.kind != "f":
            raise DTypeError(f"these are floating-point numbers, not {found}", op="random", fix="use randint, or cast")
        return found.name
    known = [a.dtype for a in map(aval_of, values) if not a.weak and a.dtype.kind == "f"]
    return np.result_type(*known).name if known else config.floatX
