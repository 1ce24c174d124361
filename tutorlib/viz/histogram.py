"""How the numbers of an array are spread: 24 bins, with zeros, NaN and both infinities counted in bars of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["BINS", "counts_in", "histogram"]

BINS = 24


def histogram(array: np.ndarray, bins: int = BINS) -> dict[str, Any] | None:
    """The `hist` entry of the data contract for a real or boolean array; None for an array without elements.

    `counts` are the finite numbers other than 0 in `bins` equal bins from `lo` to `hi` (null where there is none).

    >>> found = histogram(np.array([0.0, 1.0, 2.0, float("nan"), float("-inf")]), bins=2)
    >>> found["lo"], found["hi"], found["counts"]
    (1.0, 2.0, [1, 1])
    >>> found["zero"], found["nan"], found["neg_inf"], found["pos_inf"]
    (1, 1, 1, 0)
    """
    if not array.size:
        return None
    flat = np.ravel(array).astype(np.float64, copy=False)
    rest = flat[np.isfinite(flat) & (flat != 0)]
    low, high = (float(rest.min()), float(rest.max())) if rest.size else (0.0, 0.0)
    return {
        "lo": low if rest.size else None,
        "hi": high if rest.size else None,
        "counts": _counts(rest, low, high, bins),
        "zero": int((flat == 0).sum()),
        "nan": int(np.isnan(flat).sum()),
        "neg_inf": int((flat == -np.inf).sum()),
        "pos_inf": int((flat == np.inf).sum()),
    }


def counts_in(array: np.ndarray, low: float, high: float, bins: int = BINS) -> list[int]:
    """The finite numbers other than 0 of an array in the bins of another's histogram, those outside in the outermost.

    >>> counts_in(np.array([0.0, 1.0, 2.0, 9.0]), 1.0, 2.0, bins=2)
    [1, 2]
    """
    flat = np.ravel(array).astype(np.float64, copy=False)
    return _counts(np.clip(flat[np.isfinite(flat) & (flat != 0)], low, high), low, high, bins)


def _counts(rest: np.ndarray, low: float, high: float, bins: int) -> list[int]:
    """How many numbers lie in each bin; equal numbers stand in the middle one.

    Half the numbers before anything is subtracted: the distance of two large ones may be more than a float can hold.
    """
    if not rest.size:
        return [0] * bins
    width = high / 2 - low / 2
    if width == 0:
        place = np.full(rest.shape, bins // 2)
    else:
        place = np.clip(((rest / 2 - low / 2) / width * bins).astype(int), 0, bins - 1)
    return [int(n) for n in np.bincount(place, minlength=bins)]
