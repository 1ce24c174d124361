"""What a recording keeps of a value and its gradient: a small array as it is, a large one reduced to pictures' entries.

How much, the recording's `keep` says: "stats" (numbers about the value), "thumb" (small pictures too), "full" (every
value whole, so that a model can be put back).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tutorlib.tools.gradient_stats import GradientStats, gradient_stats
from tutorlib.viz.histogram import counts_in
from tutorlib.viz.values import describe_value

__all__ = ["FULL", "KEEP", "Kept", "reducer"]

KEEP = ("stats", "thumb", "full")
FULL = 4096
FEW = 6


class Kept:
    """One value. Most frames of a long run are thinned out before anybody looks, so what can be made later is.

    `array` is the whole value or None; `entry` and `change` are entries of the data contract, of the value and of its
    change by the update; `outline` counts the numbers before the update in the bins of `entry["hist"]`; `gradient` is
    what is known of the gradient that the update used. `change`, `outline` and `gradient` may be None.
    """

    def __init__(
        self,
        value: np.ndarray,
        change: np.ndarray | None,
        gradient: np.ndarray | None,
        keep: str,
        side: Callable[[], int],
    ) -> None:
        self._keep, self._side = keep, side
        whole = value.size <= (FEW if keep == "stats" else FULL)
        self.array = value if whole or keep == "full" else None
        self._delta, self._slope = change, gradient
        self._entry: dict[str, Any] | None = None
        self._change: dict[str, Any] | None = None
        self._outline: list[int] | None = None
        self._gradient: GradientStats | None = None
        if not whole:
            self._entry = self._describe(value)
            self._make_change(value)
            self._make_gradient()

    @classmethod
    def known(cls, parts: dict[str, Any]) -> Kept:
        """One read from a file; `parts` are its attributes."""
        kept = cls.__new__(cls)
        kept._keep, kept._side = "thumb", lambda: 32
        kept._delta = kept._slope = None
        kept.array = parts["array"]
        kept._entry, kept._change, kept._outline = parts["entry"], parts["change"], parts["outline"]
        kept._gradient = parts["gradient"]
        return kept

    def _describe(self, array: np.ndarray) -> dict[str, Any]:
        side = 0 if self._keep == "stats" else self._side()
        return describe_value(array, side=side, table=8 if array.size <= 64 else 0)

    def _make_change(self, value: np.ndarray) -> None:
        if self._delta is None:
            return
        self._change = self._describe(self._delta)
        hist = self.entry["hist"]
        if hist is not None and hist["lo"] is not None:
            with np.errstate(all="ignore"):
                before = value - self._delta
            self._outline = counts_in(before, hist["lo"], hist["hi"])
        self._delta = None

    def _make_gradient(self) -> None:
        if self._slope is not None:
            self._gradient = gradient_stats(self._slope)
            self._slope = None

    @property
    def entry(self) -> dict[str, Any]:
        if self._entry is None:
            assert self.array is not None
            self._entry = self._describe(self.array)
        return self._entry

    @property
    def change(self) -> dict[str, Any] | None:
        if self._delta is not None and self.array is not None:
            self._make_change(self.array)
        return self._change

    @property
    def outline(self) -> list[int] | None:
        return self._outline if self.change is not None else None

    @property
    def gradient(self) -> GradientStats | None:
        self._make_gradient()
        return self._gradient


def reducer(keep: str, count: Callable[[], int]) -> Any:
    """How a recording reduces values; `count()` is how many variables it has: the more, the smaller the pictures."""

    def side() -> int:
        return 32 if count() == 1 else 16 if count() <= 4 else 8

    return lambda value, change, gradient: Kept(value, change, gradient, keep, side)
