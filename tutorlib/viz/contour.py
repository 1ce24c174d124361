"""The loss over two numbers, as level lines, with the way that a run took through it. Computes; draws nothing."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.arguments import In
from tutorlib.compile.fgraph import clone
from tutorlib.compile.function import Function
from tutorlib.core.graph import Input, Shared
from tutorlib.core.toposort import leaves_of
from tutorlib.messages import message
from tutorlib.tools.history import History
from tutorlib.tools.update_parts import UpdateParts
from tutorlib.viz.face import shorten
from tutorlib.viz.run import Run
from tutorlib.viz.values import plain_float

__all__ = ["Surface", "contour_spec", "level_lines", "surface_of"]

SIZE = 41
LEVELS = 11
MARGIN = 0.3
SCALE = 1000
Axis = tuple[int, int]


class Surface:
    """A loss over two of a run's numbers: `loss(a, b)`, and where they are: (place of the variable, element)."""

    def __init__(self, loss: Callable[[float, float], float], axes: tuple[Axis, Axis]) -> None:
        self.loss, self.axes = loss, axes


def surface_of(run: Run, what: Any, over: Sequence[str] | None) -> Surface | None:
    """The surface that a contour shows.

    Args:
        what: None for the loss of the function that the run recorded, if it was one; a compiled function with its
            inputs, `(step, X, y)`; or a callable of the two numbers (of the vector, if one variable holds both).
        over: the names of the variables; by default all of the run's.

    Returns None where nothing was asked for and nothing fits. Raises ValueError where what was asked for has not two
    numbers, or a function no scalar result.
    """
    names = run.names
    places = list(range(len(names))) if over is None else [names.index(n) for n in over if n in names]
    if over is not None and len(places) != len(over):
        raise ValueError(message("widgets.contour_names", names=", ".join(names)))
    sizes = [run.recording.frames[-1].values[i].kept.entry["stats"]["size"] for i in places]
    if sum(sizes) != 2:
        if what is None and over is None:
            return None
        raise ValueError(message("widgets.contour_two", n=sum(sizes)))
    axes = [(place, k) for place, size in zip(places, sizes, strict=True) for k in range(size)]
    pair = (axes[0], axes[1])
    if what is None:
        recording = run.recording
        latest = recording.latest if isinstance(recording, History) else None
        if latest is None:
            return None
        what = latest
    if isinstance(what, tuple | list | Function):
        function, inputs = (what, []) if isinstance(what, Function) else (what[0], list(what[1:]))
        loss = _compiled(run, function, inputs, places)
        return None if loss is None else Surface(loss, pair)
    if not callable(what):
        raise ValueError(message("widgets.contour_what", what=f"{what!r:.60}"))
    together = len(places) == 1
    return Surface(lambda a, b: float(np.asarray(what(np.array([a, b])) if together else what(a, b))), pair)


def _compiled(
    run: Run, function: Function, inputs: list[Any], places: list[int]
) -> Callable[[float, float], float] | None:
    """The loss of a function without its updates, with inputs in place of the shared variables."""
    which = UpdateParts(function).loss
    scalars = [i for i, v in enumerate(function.outputs) if v.ndim == 0 and v.dtype.kind == "f"]
    which = which if which is not None else next(iter(scalars), None)
    if which is None:
        raise ValueError(message("widgets.contour_no_loss"))
    storages = [run.recording.tracks[i].storage for i in places]
    cells = {id(s): s for s in storages}
    shared = [s for s in _shared_of(function) if id(s.storage) in cells]
    if len(shared) != len(places):
        return None
    shared.sort(key=lambda s: next(i for i, cell in enumerate(storages) if cell is s.storage))
    proxies = [Input(s.aval, name=s.name) for s in shared]
    roots = clone([function.outputs[which]], dict(zip(shared, proxies, strict=True)))
    ins = [In(v) for v in [*function.inputs, *proxies]]
    loss = Function(ins, roots, [], lambda found: found[0], "ignore", None, None)
    shapes = [(s.storage.value.shape, s.dtype) for s in shared]

    def evaluate(a: float, b: float) -> float:
        numbers = iter((a, b))
        values = [np.array([next(numbers) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
                  for shape, dtype in shapes]  # fmt: skip
        return float(loss(*inputs, *values))

    return evaluate


def _shared_of(function: Function) -> list[Shared]:
    leaves = leaves_of([*function.outputs, *(new for _, new in function.updates)])
    found = {id(v): v for v in [*leaves, *(s for s, _ in function.updates)]}
    return [v for v in found.values() if isinstance(v, Shared)]


def contour_spec(
    run: Run, surface: Surface, other: Run | None = None, drawn: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The contract's `contour`: the range, a picture of the loss, level lines, and the ways through it.

    `drawn` is the one shown before: as long as the ways stay inside, only they change.
    """
    names = run.names
    ways = [way_of(run, surface.axes)]
    if other is not None and all(names[place] in other.names for place, _ in surface.axes):
        ways.append(way_of(other, [(other.names.index(names[place]), k) for place, k in surface.axes]))
    points = np.array([p[:2] for way in ways for p in way if p[0] is not None], dtype=float).reshape(-1, 2)
    if drawn is not None and all(
        low <= points[:, axis].min(initial=low) and points[:, axis].max(initial=high) <= high
        for axis, (low, high) in enumerate((drawn["x"], drawn["y"]))
    ):
        return {**drawn, "ways": ways}
    (x_low, x_high), (y_low, y_high) = (_range(points[:, axis]) for axis in (0, 1))
    xs, ys = np.linspace(x_low, x_high, SIZE), np.linspace(y_low, y_high, SIZE)
    with np.errstate(all="ignore"):
        grid = np.array([[surface.loss(float(x), float(y)) for x in xs] for y in ys])
    good = np.isfinite(grid)
    low, high = (float(grid[good].min()), float(grid[good].max())) if good.any() else (0.0, 0.0)
    share = np.sqrt(np.clip((np.where(good, grid, high) - low) / ((high - low) or 1.0), 0, 1))
    pixels = np.where(good, (share * 254).round(), 255).astype(np.uint8)[::-1]
    levels = [low + (high - low) * float(k / LEVELS) ** 2 for k in range(1, LEVELS)] if high > low else []
    singles = [run.recording.frames[-1].values[place].kept.entry["stats"]["size"] == 1 for place, _ in surface.axes]
    return {
        "names": [
            shorten(names[place], 24) + ("" if single else f"[{k}]")
            for (place, k), single in zip(surface.axes, singles, strict=True)
        ],
        "x": [x_low, x_high],
        "y": [y_low, y_high],
        "low": plain_float(low),
        "high": plain_float(high),
        "picture": {"rows": SIZE, "cols": SIZE, "data": base64.b64encode(pixels.tobytes()).decode("ascii")},
        "levels": [{"value": v, "d": level_lines(grid, v)} for v in levels],
        "ways": ways,
    }


def way_of(run: Run, axes: Sequence[Axis]) -> list[list[Any]]:
    """[x, y, branch] for each frame; [None, None, branch] where a number is not finite or was not kept."""
    found: list[list[Any]] = []
    for frame in run.recording.frames:
        numbers = []
        for place, element in axes:
            known = frame.values[place].kept.entry["numbers"]
            value = float(known[element]) if known and element < len(known) else float("nan")
            numbers.append(value)
        found.append([*(numbers if np.isfinite(numbers).all() else (None, None)), frame.branch])
    return found


def _range(numbers: np.ndarray) -> tuple[float, float]:
    """The range of a way with room around it."""
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (-1.0, 1.0)
    wide = high - low
    room = MARGIN * wide if wide > 1e-12 * max(1.0, abs(low), abs(high)) else max(1.0, abs(low)) / 2
    return low - room, high + room


def level_lines(grid: np.ndarray, value: float) -> str:
    """Where a grid (rows from low y to high y) has this value, as SVG path data on a square of 1000 × 1000, y down.

    Marching squares: each cell is crossed by straight pieces between points found by interpolation along its edges.

    >>> level_lines(np.array([[0.0, 1.0], [0.0, 1.0]]), 0.5)
    'M500 1000L500 0'
    """
    rows, cols = grid.shape
    pieces = []
    for i in range(rows - 1):
        for j in range(cols - 1):
            corners = [grid[i, j], grid[i, j + 1], grid[i + 1, j + 1], grid[i + 1, j]]
            above = [c > value for c in corners]
            if all(above) or not any(above) or not np.isfinite(corners).all():
                continue
            spots = [(j, i), (j + 1, i), (j + 1, i + 1), (j, i + 1)]
            crossings = []
            for k in range(4):
                a, b = corners[k], corners[(k + 1) % 4]
                if above[k] != above[(k + 1) % 4]:
                    t = float((value - a) / (b - a))
                    (x0, y0), (x1, y1) = spots[k], spots[(k + 1) % 4]
                    crossings.append((x0 + t * (x1 - x0), y0 + t * (y1 - y0)))
            if len(crossings) == 4 and (sum(corners) / 4 > value) != above[0]:
                # A saddle whose middle is not on the first corner's side: that corner is cut off, and the one opposite.
                crossings = [crossings[3], *crossings[:3]]
            pieces += [(crossings[k], crossings[k + 1]) for k in range(0, len(crossings), 2)]
    return _joined(pieces, cols - 1, rows - 1)


def _joined(pieces: list[Any], wide: int, high: int) -> str:
    """Pieces that meet as one line: less to send and to draw."""

    def point(p: tuple[float, float]) -> tuple[int, int]:
        return round(SCALE * p[0] / wide), round(SCALE * (1 - p[1] / high))

    ends: dict[tuple[int, int], list[int]] = {}
    lines = [(point(a), point(b)) for a, b in pieces]
    lines = [line for line in lines if line[0] != line[1]]
    for n, line in enumerate(lines):
        for end in line:
            ends.setdefault(end, []).append(n)
    used = [False] * len(lines)
    out = []

    def walk(at: tuple[int, int]) -> list[tuple[int, int]]:
        way: list[tuple[int, int]] = []
        while True:
            n = next((n for n in ends[at] if not used[n]), None)
            if n is None:
                return way
            used[n] = True
            a, b = lines[n]
            at = b if a == at else a
            way.append(at)

    for n, (a, b) in enumerate(lines):
        if used[n]:
            continue
        used[n] = True
        chain = [*walk(a)[::-1], a, b, *walk(b)]
        out.append("M" + "L".join(f"{x} {y}" for x, y in chain))
    return "".join(out)
