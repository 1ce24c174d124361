"""The BLAS library that comes with NumPy, called directly for what NumPy itself never asks of it: adding in place.

``y += a x`` goes through memory once where NumPy goes through it twice, and ``c += a A B`` saves the pass that adds a
finished product. The library is looked for beside NumPy and tried on small matrices; where there is none, or it gives
anything else than NumPy, ``library()`` is None and everything is done by NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tutorlib.compile.bound import Call

_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 111, 112
_LETTERS = {"float32": "s", "float64": "d"}


class Blas:
    """A loaded library.

    Args:
        found: by "saxpy", "sgemm", "daxpy", "dgemm": the function.
        integer: the ctypes type of its lengths.
    """

    def __init__(self, found: dict[str, Callable[..., Any]], integer: Any) -> None:
        self._found, self._integer = found, integer

    def axpy(self, a: float, x: np.ndarray, y: np.ndarray) -> Call | None:
        """A call that does y += a · x; None where the arrays do not lie as BLAS wants them."""
        if not (_lies_in_rows(x) and _lies_in_rows(y) and x.dtype == y.dtype and x.shape == y.shape):
            return None
        function, number, one = self._of("axpy", y), self._number(a, y), self._integer(1)
        return _holding((x, y), partial(function, self._integer(y.size), number, _start(x), one, _start(y), one))

    def gemm(self, a: float, left: np.ndarray, right: np.ndarray, to: np.ndarray) -> Call | None:
        """A call that does to += a · left @ right, for matrices that are contiguous or transposes of contiguous ones;
        else None."""
        if not _lies_in_rows(to) or to.ndim != 2 or not all(map(_is_plain, (left, right))):
            return None
        if not all(m.dtype == to.dtype and m.ndim == 2 and m.size for m in (left, right)):
            return None
        (rows, inner), columns, whole = left.shape, right.shape[1], self._integer
        ways = [_way(m) for m in (left, right)]
        if None in ways or to.shape != (rows, columns) or right.shape[0] != inner:
            return None
        (how_left, step_left), (how_right, step_right) = ways  # type: ignore[misc]
        call = partial(
            self._of("gemm", to),
            _ROW_MAJOR,
            how_left,
            how_right,
            *map(whole, (rows, columns, inner)),
            self._number(a, to),
            _start(left),
            whole(step_left),
            _start(right),
            whole(step_right),
            self._number(1.0, to),
            _start(to),
            whole(columns),
        )
        return _holding((left, right, to), call)

    def _of(self, what: str, like: np.ndarray) -> Callable[..., Any]:
        return self._found[_LETTERS[like.dtype.name] + what]

    def _number(self, value: float, like: np.ndarray) -> Any:
        import ctypes

        return (ctypes.c_float if like.dtype.itemsize == 4 else ctypes.c_double)(value)


def _lies_in_rows(array: Any) -> bool:
    return _is_plain(array) and array.flags.c_contiguous


def _is_plain(array: Any) -> bool:
    """Whether BLAS knows the elements."""
    return (
        isinstance(array, np.ndarray) and array.dtype.name in _LETTERS and array.dtype.isnative and array.flags.aligned
    )


def _way(matrix: np.ndarray) -> tuple[int, int] | None:
    """How a matrix lies in memory, and how many elements its rows (as they lie) are apart."""
    if matrix.flags.c_contiguous:
        return _AS_IT_IS, matrix.shape[1]
    return (_TRANSPOSED, matrix.shape[0]) if matrix.flags.f_contiguous else None


def _start(array: np.ndarray) -> Any:
    import ctypes

    return ctypes.c_void_p(array.ctypes.data)


def _holding(arrays: tuple[np.ndarray, ...], call: partial[Any]) -> Call:
    """A call that keeps the arrays alive whose addresses it holds."""
    call.arrays = arrays  # type: ignore[attr-defined]
    return call


@lru_cache(maxsize=1)
def library() -> Blas | None:
    """The library that came with NumPy, if there is one that does what it should."""
    import ctypes

    beside = os.path.dirname(np.__file__)
    for folder in (os.path.join(beside, os.pardir, "numpy.libs"), f"{beside}/.dylibs", f"{beside}/.libs"):
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if "openblas" not in name:
                continue
            try:
                loaded = ctypes.CDLL(os.path.join(folder, name))
            except OSError:
                continue
            # In a library whose names end in 64_ lengths have 64 bits.
            for prefix in ("scipy_cblas_", "cblas_"):
                for suffix, integer in (("64_", ctypes.c_int64), ("", ctypes.c_int32)):
                    names = {letter + what: prefix + letter + what + suffix for letter in "sd" for what in _WHAT}
                    if all(hasattr(loaded, name) for name in names.values()):
                        blas = Blas({key: getattr(loaded, name) for key, name in names.items()}, integer)
                        return blas if _does_as_numpy(blas) else None
    return None


_WHAT = ("axpy", "gemm")


def _does_as_numpy(blas: Blas) -> bool:
    """Whether small sums and products come out right, in both dtypes and in every way that matrices lie."""
    for dtype in _LETTERS:
        x, y = np.arange(1, 7, dtype=dtype), np.ones(6, dtype)
        call = blas.axpy(-2.0, x, y)
        if call is None or (call(), not np.array_equal(y, 1 - 2 * x))[1]:
            return False
        left, right = np.arange(6, dtype=dtype).reshape(2, 3), np.arange(12, dtype=dtype).reshape(3, 4)
        for a in (left, np.asfortranarray(left)):
            for b in (right, np.asfortranarray(right)):
                to = np.ones((2, 4), dtype)
                product = blas.gemm(-1.0, a, b, to)
                if product is None or (product(), not np.array_equal(to, 1 - left @ right))[1]:
                    return False
    return True
