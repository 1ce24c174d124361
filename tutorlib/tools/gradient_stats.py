"""A gradient reduced to what its plots need: norm, quantiles of its size, a fine histogram, and what is not ordinary.

Zeros, NaN and infinities are counted apart: they are in no quantile and in no bin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tutorlib.tools.frames import norm_of

__all__ = ["BINS", "GradientStats", "coarse_bins", "gradient_stats"]

# Bins of a quarter of a decade from 1e-12 to 1e12; what is smaller or larger is in the outermost.
PER_DECADE, LOWEST, HIGHEST = 4, -12, 12
BINS = 24
SAMPLE = 20_000


@dataclass(frozen=True)
class GradientStats:
    """`norm` of the whole gradient (NaN or inf where an element is); `quantiles` of |g| over finite non-zero elements
    (least, quarter, half, three quarters, largest; empty where there is none); `negative` and `positive`: bin → count.
    """

    norm: float
    size: int
    zero: int
    nan: int
    plus_inf: int
    minus_inf: int
    quantiles: tuple[float, ...] = ()
    negative: dict[int, int] = field(default_factory=dict)
    positive: dict[int, int] = field(default_factory=dict)


def gradient_stats(gradient: np.ndarray) -> GradientStats:
    """Reduce one gradient. Quartiles of more than 20,000 elements are those of an even sample of that size.

    >>> stats = gradient_stats(np.array([0.0, -0.5, 2.0, np.nan]))
    >>> stats.zero, stats.nan, stats.quantiles[0], stats.quantiles[-1]
    (1, 1, 0.5, 2.0)
    """
    flat = np.asarray(gradient).reshape(-1).astype(np.float64, copy=False)
    finite = np.isfinite(flat)
    good = flat if finite.all() else flat[finite]
    rest = flat[~finite]
    size = np.abs(good)
    ordinary = size > 0
    signs, size = (good[ordinary], size[ordinary]) if not ordinary.all() else (good, size)
    quantiles: tuple[float, ...] = ()
    counts: list[dict[int, int]] = [{}, {}]
    if size.size:
        sample = size[:: -(-size.size // SAMPLE)]
        middle = np.quantile(sample, [0.25, 0.5, 0.75])
        quantiles = (float(size.min()), *(float(q) for q in middle), float(size.max()))
        bins = np.floor(np.log10(size) * PER_DECADE + 1e-9).astype(np.int64)
        bins = np.clip(bins, LOWEST * PER_DECADE, HIGHEST * PER_DECADE - 1)
        for side, chosen in zip(counts, (bins[signs < 0], bins[signs > 0]), strict=True):
            found, how_many = np.unique(chosen, return_counts=True)
            side.update(zip(found.tolist(), how_many.tolist(), strict=True))
    return GradientStats(
        norm_of(flat), int(flat.size), int(good.size - size.size), int(np.isnan(rest).sum()),
        int((rest == np.inf).sum()), int((rest == -np.inf).sum()), quantiles, *counts,
    )  # fmt: skip


def coarse_bins(stats: list[GradientStats]) -> tuple[list[float], list[list[int]]]:
    """The 24 symmetric-log bins that fit a list of gradients, and the counts of each gradient in them.

    Returns the 13 sizes at which bins begin or end, smallest first, the same for both signs, and for each gradient 24
    counts: the negative bins from the largest size to the smallest, then the positive ones from the smallest up.

    >>> edges, (counts,) = coarse_bins([gradient_stats(np.array([-1.5, 1.5, 1.5]))])
    >>> len(edges), len(counts), sum(counts[:12]), sum(counts[12:])
    (13, 24, 1, 2)
    """
    used = [b for s in stats for side in (s.negative, s.positive) for b in side]
    low, high = (min(used), max(used) + 1) if used else (-4, 0)
    half = BINS // 2
    width = max(1, math.ceil((high - low) / half))
    # Where there is room the largest sizes keep their place at the outer end.
    low = high - width * half
    edges = [10.0 ** ((low + width * i) / PER_DECADE) for i in range(half + 1)]
    found = []
    for s in stats:
        counts = [0] * BINS
        for b, n in s.positive.items():
            counts[half + (b - low) // width] += n
        for b, n in s.negative.items():
            counts[half - 1 - (b - low) // width] += n
        found.append(counts)
    return edges, found


def as_json(stats: GradientStats) -> dict[str, Any]:
    """Plain data for a file; floats that JSON lacks become text."""
    return {
        "norm": repr(stats.norm),
        "counts": [stats.size, stats.zero, stats.nan, stats.plus_inf, stats.minus_inf],
        "quantiles": list(stats.quantiles),
        "negative": {str(k): v for k, v in stats.negative.items()},
        "positive": {str(k): v for k, v in stats.positive.items()},
    }


def from_json(data: dict[str, Any]) -> GradientStats:
    """What `as_json` wrote."""
    size, zero, nan, plus, minus = map(int, data["counts"])
    negative, positive = ({int(k): int(v) for k, v in data[side].items()} for side in ("negative", "positive"))
    quantiles = tuple(map(float, data["quantiles"]))
    return GradientStats(float(data["norm"]), size, zero, nan, plus, minus, quantiles, negative, positive)
