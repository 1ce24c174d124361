"""What exercises on optimisers compare with: rules of descent in plain NumPy, and a loss whose gradient is known.

Networks are in `moons.py`; what an exercise makes of a difference is in `exercises/`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.lessons.exercise import Miss, close

CALLS = 4

# One step of a rule: old velocity and gradient in, new velocity and the weight's move out.
Rule = Callable[[Any, Any], tuple[Any, Any]]


def rules_of_momentum(rate: float, keep: float) -> dict[str, Rule]:
    """The right rule, and those that are written instead of it, by hint."""

    def moved_by_velocity(faster: Callable[[Any, Any], Any]) -> Rule:
        return lambda v, g: (faster(v, g), faster(v, g))

    return {
        "right": moved_by_velocity(lambda v, g: keep * v - rate * g),
        "forgets": moved_by_velocity(lambda v, g: -rate * g),
        "old_velocity": lambda v, g: (keep * v - rate * g, v),
        "does_not_fade": moved_by_velocity(lambda v, g: v - rate * g),
        "climbs": moved_by_velocity(lambda v, g: keep * v + rate * g),
        "damped": moved_by_velocity(lambda v, g: keep * v - (1 - keep) * rate * g),
        "looks_ahead": lambda v, g: (keep * v - rate * g, keep * (keep * v - rate * g) - rate * g),
    }


class Bowl:
    """A loss of two shared variables, ½ Σ stiff · (w − lowest)², whose gradient is stiff · (w − lowest)."""

    def __init__(self, rng: np.random.Generator):
        self.start = [rng.uniform(-3, 3, size=3).round(2), rng.uniform(-3, 3, size=(2, 2)).round(2)]
        self.stiff = [rng.uniform(0.5, 2, size=value.shape).round(2) for value in self.start]
        self.lowest = [rng.uniform(4, 9, size=value.shape).round(2) for value in self.start]
        self.weights = [tl.shared(value, name=name) for value, name in zip(self.start, ("u", "w"), strict=True)]
        parts = zip(self.weights, self.stiff, self.lowest, strict=True)
        first, second = [(stiff * (w - lowest) ** 2).sum() / 2 for w, stiff, lowest in parts]
        self.loss = first + second

    def values(self) -> list[np.ndarray]:
        """What each weight holds now."""
        return [w.get_value() for w in self.weights]

    def compiled(self, updates: Any) -> Any:
        """A function that makes the learner's updates, if making them has changed nothing yet."""
        if updates is None:
            raise Miss("returned_none")
        if not all_close(self.values(), self.start):
            raise Miss("changed_at_once")
        return tl.function([], self.loss, updates=updates, on_unused_input="ignore")

    def path(self, step: Callable[[int, np.ndarray, Any, np.ndarray], tuple[Any, np.ndarray]]) -> list[np.ndarray]:
        """Where `step(n, w, v, gradient)`, which returns the next v and w, takes each weight in `CALLS` steps."""
        paths = []
        for start, stiff, lowest in zip(self.start, self.stiff, self.lowest, strict=True):
            w, v, places = start, np.zeros_like(start), []
            for n in range(CALLS):
                v, w = step(n, w, v, stiff * (w - lowest))
                places.append(w)
            paths.append(np.array(places))
        return paths


def all_close(observed: Sequence[Any], expected: Sequence[Any]) -> bool:
    return all(close(one, other) for one, other in zip(observed, expected, strict=True))
