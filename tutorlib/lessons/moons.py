"""The two moons and the small network of the lessons, for oracles that train it on points of their own."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.lessons.descent import Rule


def two_moons(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The lesson's points and labels, from other random numbers."""
    angle, label = rng.uniform(0, np.pi, n), np.arange(n) % 2
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.where(label[:, None] == 0, upper, np.array([1.0, 0.5]) - upper)
    return points + rng.normal(0, 0.15, (n, 2)), label[:, None].astype(float)


def draw_start(rng: np.random.Generator, width: int = 8) -> dict[str, np.ndarray]:
    """Starting weights as the lesson draws them."""
    sizes = (2, width, width, 1)
    start = {}
    for layer, (rows, columns) in enumerate(pairwise(sizes), start=1):
        spread = 1.0 if layer == 1 else 1 / np.sqrt(width)
        start[f"W{layer}"] = rng.normal(0, spread, (rows, columns))
        start[f"b{layer}"] = np.zeros(columns)
    return start


def score(x: Any, weights: Mapping[str, Any]) -> Any:
    """The lesson's network: one score for each row of x."""
    h = tl.tanh(x @ weights["W1"] + weights["b1"])
    h = tl.tanh(h @ weights["W2"] + weights["b2"])
    return h @ weights["W3"] + weights["b3"]


def loss_of(x: Any, y: Any, weights: Mapping[str, Any]) -> Any:
    """The lesson's loss: the mean cross-entropy of the scores."""
    z = score(x, weights)
    return (tl.softplus(z) - y * z).mean()


def trained_static(
    start: Mapping[str, np.ndarray], points: np.ndarray, labels: np.ndarray, rule: Rule
) -> list[np.ndarray]:
    """The weights after twenty steps of a rule in static mode."""
    weights = {name: tl.shared(value, name=name) for name, value in start.items()}
    x, y = tl.matrix("x"), tl.matrix("y")
    loss = loss_of(x, y, weights)
    updates: list[tuple[Any, Any]] = []
    for w, gradient in zip(weights.values(), tl.grad(loss, list(weights.values())), strict=True):
        velocity = tl.shared(np.zeros(w.get_value().shape))
        faster, move = rule(velocity, gradient)
        updates += [(velocity, faster), (w, w + move)]
    step = tl.function([x, y], loss, updates=updates)
    for _ in range(20):
        step(points, labels)
    return [w.get_value() for w in weights.values()]
