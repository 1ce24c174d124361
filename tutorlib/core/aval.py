"""What is known of a value before it exists: shape (dims may be unknown), dtype, and whether it is a weak scalar."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tutorlib.core.errors import DTypeError, ShapeError, shape_text

Dim = int | None


class AVal(NamedTuple):
    """An abstract value: ``shape`` (None = a dim not known yet), ``dtype``, ``weak`` (a Python scalar: never widens).

    >>> AVal((None, 3), np.dtype("float32"))
    AVal(? x 3, float32)
    """

    shape: tuple[Dim, ...]
    dtype: np.dtype[Any]
    weak: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def known(self) -> bool:
        """Whether every dim is known."""
        return None not in self.shape

    def __repr__(self) -> str:
        dims = " x ".join("?" if d is None else str(d) for d in self.shape) or "scalar"
        return f"AVal({dims}, {self.dtype}{', weak' if self.weak else ''})"


@lru_cache(maxsize=4096)
def array_aval(shape: tuple[int, ...], dtype: np.dtype[Any]) -> AVal:
    """The AVal of arrays of this shape and dtype: one for all of them, since graphs hold many alike."""
    return AVal(shape, dtype)


# A Python scalar and the dtype NumPy would give it.
_SCALAR_AVALS: dict[Any, AVal] = {
    bool: AVal((), np.dtype("bool"), weak=True),
    int: AVal((), np.dtype("int64"), weak=True),
    float: AVal((), np.dtype("float64"), weak=True),
}
_SAMPLES: dict[str, Any] = {"b": True, "i": 1, "f": 1.0}


def python_scalar_aval(value: Any) -> AVal | None:
    """The weak AVal of a Python bool, int or float (exactly those types); None for anything else."""
    return _SCALAR_AVALS.get(type(value))


def sample(aval: AVal) -> Any:
    """A stand-in of this dtype with every dim 1 (a Python scalar when weak): for finding an op's result dtype."""
    if aval.weak:
        return _SAMPLES[aval.dtype.kind]
    return np.ones((1,) * aval.ndim, aval.dtype)


def broadcast_shapes(shapes: Iterable[tuple[Dim, ...]], op: str = "broadcast") -> tuple[Dim, ...]:
    """NumPy's broadcasting with unknown dims: unknown against 1 or unknown stays unknown, against n > 1 it is n.

    Raises ShapeError with the two shapes aligned and the offending dims marked.

    >>> broadcast_shapes([(2, 1), (None, 3)])
    (2, 3)
    """
    shapes = list(shapes)
    ndim = max((len(s) for s in shapes), default=0)
    result: list[Dim] = []
    for axis in range(-ndim, 0):
        dim: Dim = 1
        owner: tuple[Dim, ...] = ()
        for shape in shapes:
            if len(shape) < -axis:
                continue
            here = shape[axis]
            if here == 1 or here == dim:
                continue
            if dim == 1 or (dim is None and here is not None):
                dim, owner = here, shape
            elif here is not None:
                raise broadcast_error(op, owner, shape, axis)
        result.append(dim)
    return tuple(result)


def broadcast_error(op: str, left: tuple[Dim, ...], right: tuple[Dim, ...], axis: int) -> ShapeError:
    """The error for two shapes that do not broadcast at ``axis`` (counted from the right, negative)."""
    a, b = left[axis], right[axis]
    fix = f"make the two dims equal, or one of them 1 ({a} and {b} are neither)"
    for shape, other in ((left, right), (right, left)):
        if len(shape) == 1 and len(other) == 2 and shape[0] == other[0]:
            fix = f"if the {shape_text(shape)} operand holds one value a row, give it a new axis: v[:, None]"
    return ShapeError(
        f"shapes {shape_text(left)} and {shape_text(right)} do not broadcast: {a} against {b}",
        op=op,
        shapes=[left, right],
        wrong_dims=[axis, axis],
        fix=fix,
    )


def in_range(array: np.ndarray, dtype: np.dtype[Any], what: str) -> np.ndarray:
    """Whole numbers as another integer dtype; DTypeError for one that it cannot hold. Other data: plain ``astype``."""
    if array.size and array.dtype.kind in "iu" and dtype.kind in "iu" and not np.can_cast(array.dtype, dtype):
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        low, high = int(array.min()), int(array.max())
        if low < least or high > most:
            raise DTypeError(
                f"{what} is {dtype}, which holds {least} to {most}: {low if low < least else high} does not fit",
                fix='use a wider dtype, for example "int64"',
            )
    return array.astype(dtype)


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """``dtype`` as a NumPy dtype we can compute with (bool, integers, floats)."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"{dtype!r} is not a dtype", fix='use a name such as "float32", "float64", "int64"') from None
    if found.kind not in "biuf":
        raise DTypeError(
            f"dtype {found} is not supported: tensors hold booleans, integers or floating-point numbers",
            fix="convert the data to numbers first, for example numpy.asarray(data, dtype=float)",
        )
    return found
