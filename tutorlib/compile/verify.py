"""Check mode: a rewrite's two sides computed on random inputs, sizes 0 and 1 included, and compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.compile.executor import Plan
from tutorlib.compile.rewrite import WrongRewriteError
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Input, Symbol
from tutorlib.core.toposort import leaves_of

# Lengths tried for every dim that is not known; one that does not fit the graph's known dims is passed over.
LENGTHS = (3, 1, 0, 2)
# The largest difference that rounding excuses, relative to 1 + the size of the values.
TOLERANCE = {"float64": 1e-8, "float32": 1e-3, "float16": 5e-2}


def random_value(var: Symbol, length: int, rng: np.random.Generator) -> np.ndarray:
    """A random value for an input, with ``length`` for each unknown dim."""
    shape = tuple(length if d is None else d for d in var.shape)
    if var.dtype.kind == "f":
        return rng.normal(size=shape).astype(var.dtype)
    if var.dtype.kind == "b":
        return rng.random(shape) < 0.5
    return rng.integers(0, max(1, length), shape).astype(var.dtype)


def difference(before: Symbol, after: Symbol, seed: int = 0) -> float | None:
    """How far two expressions of the same inputs are apart at most, relative to 1 + their size; None if none runs."""
    worst: float | None = None
    leaves = [v for v in leaves_of([before, after]) if isinstance(v, Input)]
    for length in LENGTHS:
        rng = np.random.default_rng(seed)
        arrays = [random_value(v, length, rng) for v in leaves]
        try:
            old = Plan(leaves, [before]).run(arrays)[0]
        except TutorlibError:
            continue
        new = Plan(leaves, [after]).run(arrays)[0]
        if np.shape(old) != np.shape(new):
            return float("inf")
        worst = max(worst or 0.0, _apart(np.asarray(old), np.asarray(new)))
    return worst


def _apart(old: Any, new: Any) -> float:
    if old.dtype.kind != "f":
        return 0.0 if np.array_equal(old, new) else float("inf")
    # Where the original is not finite the rewrite may be better than it (that is what stable rules are for).
    finite = np.isfinite(old)
    if np.isnan(new[finite]).any():
        return float("inf")
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(old[finite] - new[finite]) / (1 + np.abs(old[finite])), initial=0.0))


def check_step(before: Symbol, after: Symbol) -> float:
    """The difference of a rewrite's two sides. Raises WrongRewriteError when it is more than rounding."""
    found = difference(before, after)
    allowed = TOLERANCE.get(before.dtype.name, 0.0)
    if found is not None and found > allowed:
        source = before.node.source if before.node is not None else None
        raise WrongRewriteError(
            f"a rewrite changed the value by {found:.2g}",
            fix="switch the rule off with tl.rules_off(name) and look at its equation",
            source=source,
        )
    return found if found is not None else 0.0
