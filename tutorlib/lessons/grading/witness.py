"""Watches an oracle at work: which values it compared, so that another process can compare them again.

This module is loaded where the learner's code runs. Nothing here decides about a grade.
"""

from __future__ import annotations

import copy
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.lessons import checker, exercise
from tutorlib.lessons.exercise import Exercise, Miss

MOST_NUMBERS = 4096
ORACLES = "tutorlib.lessons."
true_close = exercise.close


class Comparison:
    """One call of `close` by an oracle: where it stands, what was compared, whether it held."""

    def __init__(self, site: str, observed: Any, expected: Any, held: bool):
        self.site, self.observed, self.expected, self.held = site, observed, expected, held

    def as_data(self) -> list[Any]:
        return [self.site, self.observed, self.expected, self.held]


class Witness:
    """Stands in for `close` and writes down each comparison.

    With `always` every comparison is answered with True, which leads a known wrong answer through the whole oracle.
    """

    def __init__(self, always: bool = False):
        self.always = always
        self.seen: list[Comparison] = []
        self._times: Counter[str] = Counter()

    def close(self, observed: Any, expected: Any) -> bool:
        held = true_close(observed, expected)
        place = place_of(sys._getframe(1))
        self._times[place] += 1
        self.seen.append(Comparison(f"{place}#{self._times[place]}", numbers(observed), numbers(expected), held))
        return held or self.always

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Put this witness where the oracles look for `close`."""
        modules = [
            module for name, module in sys.modules.items() if name.startswith(ORACLES) and module is not exercise
        ]
        holders = [module for module in modules if vars(module).get("close") is true_close]
        for module in holders:
            module.close = self.close  # type: ignore[attr-defined]
        try:
            yield
        finally:
            for module in holders:
                module.close = true_close  # type: ignore[attr-defined]


def place_of(frame: Any) -> str:
    """Where a frame is at this moment: file, line and column, `"l04:35:8"`."""
    position = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    return f"{Path(frame.f_code.co_filename).stem}:{position[0]}:{position[2]}"


def numbers(value: Any) -> Any:
    """A compared value as nested lists of floats; None for what is no array of numbers, or a very large one."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None
    return array.tolist() if array.size <= MOST_NUMBERS else None


def judge(
    exercise_: Exercise, answer: Any, seed: int, seconds: float, always: bool = False
) -> tuple[Miss | None, list]:
    """The oracle's verdict on an answer with the values of `seed`, and the comparisons that it made."""
    witness = Witness(always)
    rng = checker.generator(exercise_.key, seed)
    with witness.watching():
        miss = checker.judged(exercise_, answer, rng, seconds)
    return miss, [comparison.as_data() for comparison in witness.seen]


def statement(key: str, answer: Any, sites: Sequence[str]) -> str:
    """What a graded notebook's check cell prints: the values compared at these places, to six digits.

    `TUTORLIB_SEED` gives the seed, as for `check`.
    """
    from tutorlib.lessons.exercises import find_exercise

    found = find_exercise(key)
    if found is None or answer is ...:
        return f"{key} no answer"
    if found.options:
        return f"{key} {answer}"
    miss, seen = judge(found, copy.copy(answer), checker.seed_from_environment(), checker.SECONDS)
    if miss is not None:
        return f"{key} not yet"
    return statement_of(key, {site: observed for site, observed, _, _ in seen}, sites)


def statement_of(key: str, observed: dict[str, Any], sites: Sequence[str]) -> str:
    """The text of `statement` for values that were observed at the places."""
    return "\n".join([key, *(f"{site} {rounded(observed.get(site))}" for site in sites)])


def rounded(value: Any) -> str:
    """A value to six digits, moved a little first: most values are short decimals, and a tie could fall either way.

    >>> rounded([0.1 + 0.2, 2.0]) == rounded([0.3, 2.0])
    True
    """
    if isinstance(value, list):
        return f"[{', '.join(map(rounded, value))}]"
    return "none" if value is None else f"{value * (1 + 1.2345e-8):.6g}"
