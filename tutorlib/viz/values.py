"""Arrays reduced to what a picture needs: statistics, a thumbnail, a small table, one line of text with fixed digits.

Numbers leave here JSON-ready: finite floats, or the strings "NaN", "Infinity", "-Infinity". Nothing here knows graphs.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from tutorlib.viz.histogram import histogram

__all__ = ["describe_value", "number", "numbers_text", "plain_float", "to_host"]

THUMB = 32
TABLE = 8
SHORT = 6


def to_host(value: Any) -> np.ndarray:
    """`value` as a NumPy array on the host; device arrays and engine values are copied over.

    >>> to_host(2.5)
    array(2.5)
    """
    if hasattr(value, "numpy"):
        value = value.numpy()
    elif hasattr(value, "get") and hasattr(value, "dtype"):
        value = value.get()
    return np.asarray(value)


def plain_float(value: float) -> float | str:
    """`value` as JSON can hold it.

    >>> plain_float(1.5), plain_float(float("nan")), plain_float(float("-inf"))
    (1.5, 'NaN', '-Infinity')
    """
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def number(value: Any) -> str:
    """One number in four significant digits, the same text everywhere.

    >>> number(6.0), number(-0.123456), number(True), number(float("inf"))
    ('6', '-0.1235', 'True', 'inf')
    """
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, complex | np.complexfloating):
        return f"{complex(value):.4g}"
    text = f"{float(value):.4g}"
    return "0" if text == "-0" else text


def numbers_text(array: np.ndarray) -> str:
    """One line for an array: the number itself, the numbers of a short vector or small matrix, else its statistics.

    >>> numbers_text(np.array([2.0, 6.0])), numbers_text(np.array([[1, 2], [3, 4]]))
    ('[2, 6]', '[[1, 2], [3, 4]]')
    >>> numbers_text(np.arange(10.0))
    'μ 4.5 σ 2.872 min 0 max 9'
    """
    if array.ndim == 0:
        return number(array[()])
    if array.size <= SHORT and array.ndim <= 2:
        return _brackets(array)
    if array.dtype.kind not in "fiub" or not array.size:
        return f"{array.size} × {array.dtype}"
    stats = _statistics(array)
    if stats["min"] is None:
        return "NaN" if stats["nan"] else "inf"
    return f"μ {number(stats['mean'])} σ {number(stats['std'])} min {number(stats['min'])} max {number(stats['max'])}"


def describe_value(value: Any, *, side: int = THUMB, table: int = TABLE) -> dict[str, Any]:
    """The `values` entry of the data contract for one array.

    The thumbnail has at most `side` × `side` samples, the table `table` × `table` numbers; 0 leaves them out, and
    without a thumbnail there is no histogram. `numbers` are those of a scalar or short vector in full precision.

    >>> entry = describe_value(np.array([3.0, float("nan")]))
    >>> entry["stats"]["nan"], entry["stats"]["mean"], entry["text"]
    (1, 3.0, '[3, nan]')
    """
    array = to_host(value)
    numeric = array.dtype.kind in "fiubc"
    real = np.abs(array) if array.dtype.kind == "c" else array
    return {
        "shape": [int(n) for n in array.shape],
        "dtype": str(array.dtype),
        "text": numbers_text(array),
        "stats": _statistics(real) if numeric else _statistics(np.zeros(0)) | {"size": int(array.size)},
        "thumb": _thumbnail(real, side) if side and numeric and array.ndim and array.size > 1 else None,
        "table": _table(array, table) if table and array.ndim and array.size else None,
        "hist": histogram(real) if side and numeric and array.size > SHORT else None,
        "numbers": [plain_float(v) for v in array.ravel()]
        if array.size <= SHORT and array.dtype.kind in "fiub"
        else None,
    }


def _brackets(array: np.ndarray) -> str:
    if array.ndim == 1:
        return "[" + ", ".join(number(v) for v in array) + "]"
    return "[" + ", ".join(_brackets(row) for row in array) + "]"


def _statistics(array: np.ndarray) -> dict[str, Any]:
    if array.size == 1:
        return _statistics_of_one(float(array.item()))
    flat = array.reshape(-1).astype(np.float64, copy=False)
    nan = np.isnan(flat)
    finite: Any = flat[np.isfinite(flat)]
    if finite.size:
        with np.errstate(all="ignore"):
            low, high, mean = finite.min(), finite.max(), finite.mean()
            std, norm = finite.std(), np.linalg.norm(finite)
        measured = {"min": low, "max": high, "mean": mean, "std": std, "norm": norm}
        stats: dict[str, Any] = {key: plain_float(v) for key, v in measured.items()}
    else:
        stats = dict.fromkeys(("min", "max", "mean", "std", "norm"))
    return stats | {
        "nan": int(nan.sum()),
        "inf": int(np.isinf(flat).sum()),
        "zero": int((flat == 0).sum()),
        "size": int(flat.size),
    }


def _statistics_of_one(value: float) -> dict[str, Any]:
    finite = math.isfinite(value)
    measured = {"min": value, "max": value, "mean": value, "std": 0.0, "norm": abs(value)}
    return {
        **(measured if finite else dict.fromkeys(measured)),
        "nan": int(math.isnan(value)),
        "inf": int(math.isinf(value)),
        "zero": int(value == 0),
        "size": 1,
    }


def _as_rows(array: np.ndarray) -> np.ndarray:
    """Any array as a matrix: a vector becomes one row, leading axes are stacked."""
    if array.ndim <= 1:
        return array.reshape(1, -1)
    return array.reshape(-1, array.shape[-1])


def _pool(rows: np.ndarray, limit: int) -> np.ndarray:
    """Mean over equal runs of rows and columns, so that at most `limit` of each are left."""
    for axis in (0, 1):
        size = rows.shape[axis]
        if size > limit:
            starts = np.linspace(0, size, limit, endpoint=False).astype(int)
            counts = np.diff(np.append(starts, size))
            rows = np.add.reduceat(rows, starts, axis=axis) / (counts[:, None] if axis == 0 else counts[None, :])
    return rows


def _thumbnail(array: np.ndarray, side: int) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        rows = _pool(_as_rows(array).astype(np.float64), side)
        good = np.isfinite(rows)
        limit = float(np.abs(rows[good]).max()) if good.any() else 0.0
        scaled = np.full(rows.shape, 127.0) if limit == 0 else (rows / limit + 1) * 127
        pixels = np.where(good, np.clip(np.nan_to_num(scaled), 0, 254).round(), 255).astype(np.uint8)
    return {
        "rows": int(rows.shape[0]),
        "cols": int(rows.shape[1]),
        "lo": -limit,
        "hi": limit,
        "data": base64.b64encode(pixels.tobytes()).decode("ascii"),
    }


def _table(array: np.ndarray, most: int) -> list[list[str]]:
    return [[number(v) for v in row[:most]] for row in _as_rows(array)[:most]]
