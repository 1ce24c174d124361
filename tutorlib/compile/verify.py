"""Check mode: a rewrite's two sides computed on random inputs, sizes 0 and 1 included, and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.executor import Plan
from tutorlib.compile.rewrite import WrongRewriteError
from tutorlib.core.errors import shape_text
from tutorlib.core.graph import Input, Symbol
from tutorlib.core.toposort import leaves_of

# Lengths tried for every dim that is not known, beside those that are known of other inputs.
LENGTHS = (3, 1, 0, 2)
# So many mixed ones are tried where no single length fits the whole graph.
TRIES = 60
# The largest difference that rounding excuses, relative to 1 + the size of the values.
TOLERANCE = {"float64": 1e-8, "float32": 1e-3, "float16": 5e-2}

Shapes = Mapping[int, tuple[int, ...]]  # of inputs, by id


def random_values(leaves: Sequence[Symbol], shapes: Shapes, rng: np.random.Generator) -> list[np.ndarray]:
    """Random values for inputs. Whole numbers are small enough to be positions along any axis."""
    shortest = min((d for shape in shapes.values() for d in shape if d), default=3)
    values = []
    for v in leaves:
        shape = shapes[id(v)]
        if v.dtype.kind == "f":
            value: Any = rng.normal(size=shape)
        elif v.dtype.kind == "b":
            value = rng.random(shape) < 0.5
        else:
            value = rng.integers(0, shortest, shape)
        values.append(np.asarray(value).astype(v.dtype))
    return values


def fitting_shapes(roots: Sequence[Symbol], seed: int = 0) -> list[Shapes]:
    """Shapes for the inputs of a graph with which all of it runs: one length for all unknown dims, else mixed ones."""
    leaves = [v for v in leaves_of(roots) if isinstance(v, Input)]
    known = {d for v in leaves_of(roots) for d in v.shape if d is not None}
    lengths = [*LENGTHS, *sorted(d for d in known.difference(LENGTHS) if d < 64)[:3]]
    plan, rng = Plan(leaves, roots), np.random.default_rng(seed)

    def fits(shapes: Shapes) -> bool:
        try:
            plan.run(random_values(leaves, shapes, rng))
        except Exception:  # NumPy's own included: an empty kernel, say, is no number to divide by
            return False
        return True

    if all(v.aval.known for v in leaves):
        lengths = lengths[:1]
    uniform = [{id(v): tuple(n if d is None else d for d in v.shape) for v in leaves} for n in lengths]
    found: list[Shapes] = [shapes for shapes in uniform if fits(shapes)]
    for _ in range(0 if found else TRIES):
        mixed = {id(v): tuple(int(rng.choice(lengths)) if d is None else d for d in v.shape) for v in leaves}
        if fits(mixed):
            found.append(mixed)
            if len(found) == len(LENGTHS):
                break
    return found


class Check:
    """Compares the two sides of rewrites in the graph of ``roots``, for shapes with which that graph runs."""

    def __init__(self, roots: Sequence[Symbol]) -> None:
        self._roots = list(roots)
        self._shapes: list[Shapes] | None = None

    def __call__(self, before: Symbol, after: Symbol) -> float | None:
        """How far the sides are apart at most, relative to 1 + their size; None if nothing could be computed.

        Raises WrongRewriteError when it is more than rounding, or when only the new side fails.
        """
        if self._shapes is None:
            self._shapes = fitting_shapes(self._roots)
        worst: float | None = None
        leaves = [v for v in leaves_of([before, after]) if isinstance(v, Input)]
        sides = Plan(leaves, [before]), Plan(leaves, [after])
        for shapes in self._shapes:
            if any(id(v) not in shapes for v in leaves):
                continue
            arrays = random_values(leaves, shapes, np.random.default_rng(0))
            try:
                old = sides[0].run(arrays)[0]
            except Exception:
                continue
            try:
                new = sides[1].run(arrays)[0]
            except Exception as error:
                why = getattr(error, "says", error)
                says = f"a rewrite cannot be computed for inputs of shape {_words(arrays)}: {why}"
                raise _wrong(before, says) from None
            found = apart(np.asarray(old), np.asarray(new))
            if found > TOLERANCE.get(before.dtype.name, 0.0):
                raise _wrong(before, f"a rewrite changed the value by {found:.2g} for inputs of shape {_words(arrays)}")
            worst = max(worst or 0.0, found)
        return worst


def apart(old: np.ndarray, new: np.ndarray) -> float:
    """How far two values are apart at most, relative to 1 + their size; infinity for another shape or dtype."""
    if old.shape != new.shape or old.dtype != new.dtype:
        return float("inf")
    if old.dtype.kind != "f":
        return 0.0 if np.array_equal(old, new) else float("inf")
    # Where the original is not finite the rewrite may be better than it (that is what stable rules are for).
    finite = np.isfinite(old)
    if np.isnan(new[finite]).any():
        return float("inf")
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(old[finite] - new[finite]) / (1 + np.abs(old[finite])), initial=0.0))


def _wrong(before: Symbol, says: str) -> WrongRewriteError:
    source = before.node.source if before.node is not None else None
    return WrongRewriteError(
        says, fix="switch the rule off with tl.rules_off(name) and look at its equation", source=source
    )


def _words(arrays: Sequence[Any]) -> str:
    return ", ".join(shape_text(a.shape) for a in arrays) or "none"
