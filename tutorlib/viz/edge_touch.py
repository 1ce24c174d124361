"""The last touch on routed edges: upright ends for their arrows, and a free place for each shape written beside them.

Standard library only; `folding.view_of` calls it once everything has its place.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tutorlib.viz.face import text_width

__all__ = ["LABEL_SIZE", "label_places", "upright_ends"]

LABEL_SIZE = 10.5
WRONG_SIZE = 14.0
STUB = 10.0
SHARES = (0.5, 0.38, 0.62, 0.26, 0.74, 0.15, 0.85)
CELL = 120.0
DOTS = 9.0
# In a larger graph nobody reads shapes before zooming in, and time counts.
FEW = 1000
Point = Sequence[float]
Rect = tuple[float, float, float, float]


def upright_ends(points: list[list[float]], source: Point, target: Point, along: int = 1) -> list[list[float]]:
    """`points` with a short straight stretch where a flat one meets the row's side of a box.

    Without it an edge that comes from far aside would creep along the border, and its arrow with it. `source` and
    `target` are boxes [x, y, w, h]; `along` is 1 where ranks go down, 0 where they go to the right.

    >>> upright_ends([[0, 0], [90, 30]], [0, -20, 10, 20], [80, 30, 20, 20])
    [[0, 0], [90, 20.0], [90, 30]]
    """
    end = _stub(points[-2], points[-1], target, along)
    start = _stub(points[1], points[0], source, along) if len(points) > 2 else []
    return [points[0], *start, *points[1:-1], *end, points[-1]]


def _stub(before: Point, tip: Point, box: Point, along: int) -> list[list[float]]:
    deep, aside = tip[along] - before[along], tip[1 - along] - before[1 - along]
    on_side = min(abs(tip[along] - box[along]), abs(tip[along] - box[along] - box[along + 2])) < 1
    if not on_side or abs(deep) < 4 or abs(deep) >= abs(aside) / 2:
        return []
    corner = list(tip)
    corner[along] = round(tip[along] - math.copysign(min(STUB, abs(deep) * 0.4), deep), 1)
    return [corner]


def label_places(
    edges: Iterable[dict[str, Any]], routes: Mapping[str, Sequence[Point]], taken: Iterable[Point]
) -> dict[str, list[Any]]:
    """Where the shape of each edge is written: [x, y, anchor], with the anchor of SVG; none where there is no room.

    `routes` are the points of the edges by id, `taken` boxes [x, y, w, h] that a label must keep clear of. A scalar's
    "()" says nothing; saved values and updates have the shape of the variable that they start from. A shape that is
    wrong is always written.
    """
    boxes, lines = _Blocked(), _Blocked()
    for x, y, w, h in taken:
        boxes.add((x, y, x + w, y + h))
    if len(routes) <= FEW:
        for name, points in routes.items():
            for rect in _lines(points):
                # Beside its own S a label stands close; at a corner it would stand on its own edge.
                lines.add(rect, "" if rect[:2] != rect[2:] else name)
    found: dict[str, list[Any]] = {}
    wanted = [e for e in edges if e["id"] in routes and (_said(e) or "wrong" in e)]
    for edge in sorted(wanted, key=lambda e: "wrong" not in e):
        name, wrong = edge["id"], "wrong" in edge
        size = WRONG_SIZE if wrong else LABEL_SIZE
        covered = crossed = None
        for spot in _spots(routes[name], text_width(edge["label"], size), size):
            if boxes.meets(spot[1]):
                covered = covered or spot
            elif lines.meets(spot[1], name):
                crossed = crossed or spot
            else:
                crossed = spot
                break
        best = crossed or (covered if wrong else None)
        if best is not None:
            boxes.add(best[1])
            found[name] = best[0]
    return found


def _said(edge: dict[str, Any]) -> bool:
    return edge["label"] not in ("", "()") and edge["kind"] in ("forward", "gradient")


def _spots(points: Sequence[Point], wide: float, size: float) -> Iterator[tuple[list[Any], Rect]]:
    """Places for a label along an edge, the best first: each with the room that it takes."""
    lengths = [math.dist(a, b) for a, b in pairwise(points)]
    total = sum(lengths)
    if total < size + 12:
        return
    for share in SHARES:
        left, i = total * share, 0
        while i < len(lengths) - 1 and left > lengths[i]:
            left -= lengths[i]
            i += 1
        x, y, level = _on(points[i], points[i + 1], left / lengths[i] if lengths[i] else 0.0)
        if level:
            if lengths[i] > wide + 8:
                yield _spot(x - wide / 2, y - 5, wide, size, "middle")
        else:
            yield _spot(x + 5, y + size / 3, wide, size, "start")
            yield _spot(x - 5 - wide, y + size / 3, wide, size, "end")


def _on(start: Point, end: Point, share: float) -> tuple[float, float, bool]:
    """A point of a stretch as it is drawn, straight or as an S; and whether it is level there."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    slow, fast = 1.5 * share * (1 - share) + share**3, share * share * (3 - 2 * share)
    if abs(dx) < 0.6 or abs(dy) < 0.6:
        slow = fast = share
    if abs(dy) >= abs(dx) / 2:
        return start[0] + dx * fast, start[1] + dy * slow, False
    return start[0] + dx * slow, start[1] + dy * fast, abs(dy) < 0.6


def _spot(x: float, base: float, wide: float, size: float, anchor: str) -> tuple[list[Any], Rect]:
    at = {"start": x, "middle": x + wide / 2, "end": x + wide}[anchor]
    return [round(at, 1), round(base, 1), anchor], (x - 1, base - size * 0.8, x + wide + 1, base + size * 0.25)


def _lines(points: Sequence[Point]) -> Iterator[Rect]:
    """What an edge covers as it is drawn: straight stretches whole, an S as dots so near that no label fits between."""
    for (ax, ay), (bx, by) in pairwise(points):
        if abs(ax - bx) < 0.6 or abs(ay - by) < 0.6:
            yield min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)
            continue
        many = int(math.dist((ax, ay), (bx, by)) / DOTS) + 1
        for i in range(many):
            x, y, _ = _on((ax, ay), (bx, by), (i + 0.5) / many)
            yield x, y, x, y


class _Blocked:
    """Rectangles in a grid of cells, so that asking about one looks at few others; each may belong to an edge."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], list[tuple[Rect, str]]] = defaultdict(list)

    def _around(self, rect: Rect) -> Iterator[tuple[int, int]]:
        left, top, right, bottom = (int(v // CELL) for v in rect)
        return ((i, j) for i in range(left, right + 1) for j in range(top, bottom + 1))

    def add(self, rect: Rect, owner: str = "") -> None:
        for cell in self._around(rect):
            self.cells[cell].append((rect, owner))

    def meets(self, rect: Rect, but: str = "-") -> bool:
        """Whether `rect` overlaps one that does not belong to `but`."""
        a, b, c, d = rect
        return any(
            x0 < c and a < x1 and y0 < d and b < y1 and owner != but
            for cell in self._around(rect)
            for (x0, y0, x1, y1), owner in self.cells.get(cell, ())
        )
