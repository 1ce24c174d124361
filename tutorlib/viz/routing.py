"""Heights and edges: rows get their y, edges run through the gaps between rows, in lanes where they run level.

Edges between neighbouring rows go straight; long ones pass through their dummies; edges between the blocks, within a
row and of updates turn in the gaps and, where they change rows, in a free corridor.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tutorlib.viz.layout import LEFT, RIGHT, Box, Layout, Link
from tutorlib.viz.ordering import Placed
from tutorlib.viz.ranks import Rows

__all__ = ["route"]

MARGIN = 16.0
GAP_BAND = 34.0
GAP_ROW = 26.0
LANE = 8.0
MAX_LANES = 24
CORRIDOR = 36.0
TITLE, PAD = 26.0, 10.0


@dataclass
class _Run:
    """A level stretch in a gap (or an upright one in a corridor): it wants a lane of its own."""

    low: float
    high: float
    lane: int = 0


@dataclass
class _Plan:
    """How one edge turns: out of the source through gap `start`, along corridor `hall`, in through gap `end`."""

    link: Link
    start: tuple[int, int] | None
    end: tuple[int, int] | None
    hall: int | None
    runs: dict[str, _Run] = field(default_factory=dict)


def route(boxes: Sequence[Box], links: Sequence[Link], rows: Rows, placed: Placed) -> Layout:
    """Give every box its y and every link its points."""
    return _Router(boxes, links, rows, placed).draw()


class _Router:
    def __init__(self, boxes: Sequence[Box], links: Sequence[Link], rows: Rows, placed: Placed):
        self.boxes, self.links, self.rows, self.placed = boxes, links, rows, placed
        self.box_of = {box.id: box for box in boxes}
        self.row_h: list[list[float]] = [[0.0] * len(rows.row_band.get(b, [])) for b in (LEFT, RIGHT)]
        members: dict[tuple[int, int], list[str]] = defaultdict(list)
        for box in boxes:
            block, row = rows.block[box.id], rows.row[box.id]
            members[block, row].append(box.id)
            self.row_h[block][row] = max(self.row_h[block][row], box.h)
        self.slot: dict[str, tuple[bool, bool]] = {}
        for (block, row), names in members.items():
            spots = [(placed.x[n], n) for n in names]
            spots += [(x, "") for passed in self._dummies(block, row) for x in [passed]]
            spots.sort()
            for i, (_, name) in enumerate(spots):
                if name:
                    self.slot[name] = (i == 0, i == len(spots) - 1)
        self.neighbours = self._row_neighbours(members)
        self.room = self._room_for_scopes()

    def _room_for_scopes(self) -> list[float]:
        """What must be left free above each band, and below the last, for scopes that begin and end there."""
        first: dict[tuple[int, str], int] = {}
        last: dict[tuple[int, str], int] = {}
        for box in self.boxes:
            band = self.rows.band[box.id]
            for part in ((self.rows.block[box.id], scope) for scope in box.scopes):
                first[part] = min(first.get(part, band), band)
                last[part] = max(last.get(part, band), band)
        room = [[0.0] * (self.rows.bands + 1) for _ in (LEFT, RIGHT)]
        for box in self.boxes:
            block, band = self.rows.block[box.id], self.rows.band[box.id]
            starts = sum(first[block, scope] == band for scope in box.scopes)
            ends = sum(last[block, scope] == band for scope in box.scopes)
            room[0][band] = max(room[0][band], starts * TITLE)
            room[1][band + 1] = max(room[1][band + 1], ends * PAD)
        return [above + below for above, below in zip(*room, strict=True)]

    def _dummies(self, block: int, row: int) -> list[float]:
        if not hasattr(self, "_dummy_x"):
            self._dummy_x: dict[tuple[int, int], list[float]] = defaultdict(list)
            for link in self.links:
                for at, x in self.placed.through.get(link.id, ()):
                    self._dummy_x[self.rows.block[link.s], at].append(x)
        return self._dummy_x[block, row]

    def _row_neighbours(self, members) -> set[tuple[str, str]]:
        pairs = set()
        for (block, row), names in members.items():
            spots = sorted([(self.placed.x[n], n) for n in names] + [(x, "") for x in self._dummies(block, row)])
            for (_, a), (_, b) in pairwise(spots):
                if a and b:
                    pairs.add((a, b))
        return pairs

    def draw(self) -> Layout:
        plans = {}
        for link in self.links:
            plan = self._plan(link)
            if plan is not None:
                plans[link.id] = plan
        self._x_offsets(plans)
        lanes = self._assign_gap_lanes(plans)
        self._heights(lanes)
        nodes = {}
        for box in self.boxes:
            x, y = self._centre(box.id)
            nodes[box.id] = [_r(x - box.w / 2), _r(y - box.h / 2), _r(box.w), _r(box.h)]
        self._ports(plans)
        edges = {}
        for link in self.links:
            points = self._turning(plans[link.id]) if link.id in plans else self._direct(link)
            edges[link.id] = [[_r(x), _r(y)] for x, y in _clean(points)]
        return Layout(nodes, edges, [_r(self.width), _r(self.height)], self.bands, dict(self.rows.band))

    def _plan(self, link: Link) -> _Plan | None:
        """None where the edge can go direct: between rows of one block, or level to the box next to it."""
        rows = self.rows
        a, b = rows.block[link.s], rows.block[link.t]
        i, j = rows.row[link.s], rows.row[link.t]
        if link.kind != "update" and a == b and i != j and link.id not in self.placed.outside:
            return None
        if a == b and i == j and ((link.s, link.t) in self.neighbours or (link.t, link.s) in self.neighbours):
            return None
        if a == b:
            if i == j:
                gap = (a, i + 1) if link.kind == "update" else (a, i)
                return _Plan(link, gap, gap, None)
            hall = 0 if a == LEFT else 2
            return _Plan(link, (a, i + 1) if j > i else (a, i), (b, j) if j > i else (b, j + 1), hall)
        start: tuple[int, int] | None
        end: tuple[int, int] | None
        if a == LEFT:
            above = link.kind == "forward" and self._above(link.t, link.s)
            start = None if self.slot[link.s][1] else (a, i + (not above))
            end = None if self.slot[link.t][0] else (b, j + 1)
            return _Plan(link, start, end, 1)
        start = None if self.slot[link.s][0] else (a, i)
        end = (b, j) if rows.band[link.s] < rows.band[link.t] else (b, j + 1)
        if self.slot[link.t][1]:
            end = None
        elif link.kind == "update":
            end = (b, j + (not self._above(link.s, link.t)))
        return _Plan(link, start, end, 1)

    def _above(self, name: str, other: str) -> bool:
        """Whether a box of the right block stands above the middle of a box of the left one."""
        band = self.rows.band[name]
        if band != self.rows.band[other]:
            return band < self.rows.band[other]
        bands = self.rows.row_band[RIGHT]
        return 2 * self.rows.row[name] < bisect_left(bands, band) + bisect_right(bands, band) - 1

    def _x_offsets(self, plans: dict[str, _Plan]) -> None:
        """Corridors get lanes by the bands that their edges span; then the blocks know where they start."""
        runs: dict[int, list[_Run]] = defaultdict(list)
        for plan in plans.values():
            if plan.hall is None:
                continue
            spots = [self.rows.band[plan.link.s], self.rows.band[plan.link.t]]
            low = min(spots) - 0.4 * (plan.link.kind != "update")
            run = _Run(low, max(spots) + 0.4)
            plan.runs["hall"] = run
            runs[plan.hall].append(run)
        lanes = {hall: _colour(group) for hall, group in runs.items()}
        wide = {hall: lanes.get(hall, 0) * LANE for hall in (0, 1, 2)}
        self.x0 = [0.0, 0.0]
        at = MARGIN + wide[0]
        self.hall_x = {0: MARGIN}
        self.x0[LEFT] = at
        at += self.placed.width[LEFT]
        if self.placed.width[LEFT] and self.placed.width[RIGHT]:
            self.hall_x[1] = at + CORRIDOR / 2
            at += CORRIDOR + wide[1]
        else:
            self.hall_x[1] = at
        self.x0[RIGHT] = at
        at += self.placed.width[RIGHT]
        self.hall_x[2] = at + LANE
        self.width = at + (wide[2] + LANE if wide[2] else 0.0) + MARGIN

    def _hall(self, plan: _Plan) -> float:
        return self.hall_x[plan.hall or 0] + plan.runs["hall"].lane * LANE

    def _x(self, name: str) -> float:
        return self.x0[self.rows.block[name]] + self.placed.x[name]

    def _assign_gap_lanes(self, plans: dict[str, _Plan]) -> dict[tuple[int, int], int]:
        runs: dict[tuple[int, int], list[_Run]] = defaultdict(list)
        for plan in plans.values():
            xs, xt = self._x(plan.link.s), self._x(plan.link.t)
            if plan.hall is None:
                run = _Run(min(xs, xt), max(xs, xt))
                plan.runs["start"] = run
                runs[plan.start or (0, 0)].append(run)
                continue
            hall = self._hall(plan)
            for name, gap, x in (("start", plan.start, xs), ("end", plan.end, xt)):
                if gap is not None:
                    run = _Run(min(x, hall), max(x, hall))
                    plan.runs[name] = run
                    runs[gap].append(run)
        return {gap: _colour(group) for gap, group in runs.items()}

    def _heights(self, lanes: dict[tuple[int, int], int]) -> None:
        """Stack the bands; each is as high as its forward row or its gradient rows, whichever needs more."""
        right_rows: dict[int, list[int]] = defaultdict(list)
        for row, band in enumerate(self.rows.row_band.get(RIGHT, [])):
            right_rows[band].append(row)
        has_left = len(self.row_h[LEFT])
        self.row_y: list[list[float]] = [[0.0] * len(self.row_h[LEFT]), [0.0] * len(self.row_h[RIGHT])]
        self.gap_y: dict[tuple[int, int], float] = {}
        self.bands: list[tuple[float, float]] = []
        y = MARGIN
        for band in range(self.rows.bands):
            mine = right_rows[band]
            first = mine[0] if mine else None
            crowd = max(lanes.get((LEFT, band), 0), lanes.get((RIGHT, first), 0) if first is not None else 0)
            lead = crowd * LANE + (GAP_BAND if band else 6.0 * bool(crowd)) + self.room[band]
            self.gap_y[LEFT, band] = y + lead / 2 - (lanes.get((LEFT, band), 1) - 1) * LANE / 2
            if first is not None:
                self.gap_y[RIGHT, first] = y + lead / 2 - (lanes.get((RIGHT, first), 1) - 1) * LANE / 2
            y += lead
            inner = []
            height = 0.0
            for row in mine:
                if row != first:
                    gap = GAP_ROW + lanes.get((RIGHT, row), 0) * LANE
                    inner.append((row, height + gap / 2 - (lanes.get((RIGHT, row), 1) - 1) * LANE / 2))
                    height += gap
                self.row_y[RIGHT][row] = height + self.row_h[RIGHT][row] / 2
                height += self.row_h[RIGHT][row]
            own = self.row_h[LEFT][band] if band < has_left else 0.0
            full = max(own, height)
            for row in mine:
                self.row_y[RIGHT][row] += y + (full - height) / 2
            for row, at in inner:
                self.gap_y[RIGHT, row] = y + (full - height) / 2 + at
            if band < has_left:
                self.row_y[LEFT][band] = y + full / 2
            self.bands.append((_r(y), _r(y + full)))
            y += full
        last = max(lanes.get((LEFT, self.rows.bands), 0), lanes.get((RIGHT, len(self.row_h[RIGHT])), 0))
        self.gap_y[LEFT, self.rows.bands] = y + 12
        self.gap_y[RIGHT, len(self.row_h[RIGHT])] = y + 12
        self.height = y + (last * LANE + 12 if last else 0.0) + self.room[-1] + MARGIN

    def _centre(self, name: str) -> tuple[float, float]:
        return self._x(name), self.row_y[self.rows.block[name]][self.rows.row[name]]

    def _ports(self, plans: dict[str, _Plan]) -> None:
        """Spread the edges along each side of a box, in the order of where they go."""
        touching: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        for link in self.links:
            plan = plans.get(link.id)
            if plan is None:
                self._touch_direct(link, touching)
                continue
            ends = ((link.s, plan.start, plan.runs.get("start")), (link.t, plan.end, plan.runs.get("end")))
            for (name, gap, _), (other, far, run) in (ends, ends[::-1]):
                x, y = self._centre(name)
                near = self._x(other) if plan.hall is None else self._hall(plan)
                if gap is None:
                    level = self._centre(other)[1] if far is None or run is None else self.gap_y[far] + run.lane * LANE
                    touching[name, "right" if near > x else "left"].append((level, link.id))
                else:
                    touching[name, "bottom" if self.gap_y[gap] > y else "top"].append((near, link.id))
        self.port: dict[tuple[str, str], float] = {}
        for (name, side), spots in touching.items():
            spots.sort()
            upright = side in ("left", "right")
            size = self.box_of[name].h if upright else self.box_of[name].w
            middle = self._centre(name)[1] if upright else self._x(name)
            room = min(16.0, size * 0.5 / max(len(spots), 1))
            for i, (_, edge) in enumerate(spots):
                self.port[name, edge] = middle + (i - (len(spots) - 1) / 2) * room

    def _touch_direct(self, link: Link, touching: dict[tuple[str, str], list[tuple[float, str]]]) -> None:
        a, b = self._centre(link.s), self._centre(link.t)
        if self.rows.row[link.s] == self.rows.row[link.t]:
            return
        passed = self.placed.through.get(link.id)
        near_s, near_t = b[0], a[0]
        if passed:
            block = self.rows.block[link.s]
            ends = [passed[0][1] + self.x0[block], passed[-1][1] + self.x0[block]]
            near_s, near_t = ends if a[1] < b[1] else ends[::-1]
        touching[link.s, "bottom" if b[1] > a[1] else "top"].append((near_s, link.id))
        touching[link.t, "bottom" if a[1] > b[1] else "top"].append((near_t, link.id))

    def _direct(self, link: Link) -> list[tuple[float, float]]:
        (xs, ys), (xt, yt) = self._centre(link.s), self._centre(link.t)
        s, t = self.box_of[link.s], self.box_of[link.t]
        block = self.rows.block[link.s]
        if self.rows.row[link.s] == self.rows.row[link.t] and block == self.rows.block[link.t]:
            way = 1 if xt > xs else -1
            return [(xs + way * s.w / 2, ys), (xt - way * t.w / 2, yt)]
        down = 1 if yt > ys else -1
        passed = self.placed.through.get(link.id, [])
        if down < 0:
            passed = passed[::-1]
        px, qx = self.port[link.s, link.id], self.port[link.t, link.id]
        points = [(px, ys + down * s.h / 2), (px, self._row_edge(link.s, down))]
        for row, x in passed:
            y, half = self.row_y[block][row], self.row_h[block][row] / 2
            points += [(x + self.x0[block], y - down * half), (x + self.x0[block], y + down * half)]
        return [*points, (qx, self._row_edge(link.t, -down)), (qx, yt - down * t.h / 2)]

    def _row_edge(self, name: str, down: int) -> float:
        block, row = self.rows.block[name], self.rows.row[name]
        return self.row_y[block][row] + down * self.row_h[block][row] / 2

    def _turning(self, plan: _Plan) -> list[tuple[float, float]]:
        link = plan.link
        points = self._way_out(link.s, link.id, plan.start, plan.runs.get("start"), plan)
        if plan.hall is None:
            y = points[-1][1]
            x = self.port[link.t, link.id]
            side = 1 if y > self._centre(link.t)[1] else -1
            return [*points, (x, y), (x, self._centre(link.t)[1] + side * self.box_of[link.t].h / 2)]
        back = self._way_out(link.t, link.id, plan.end, plan.runs.get("end"), plan)
        hall = self._hall(plan)
        return [*points, (hall, points[-1][1]), (hall, back[-1][1]), *reversed(back)]

    def _way_out(self, name: str, edge: str, gap, run: _Run | None, plan: _Plan) -> list[tuple[float, float]]:
        """From the border of a box to the lane it turns in."""
        x, y = self._centre(name)
        box = self.box_of[name]
        if gap is None or run is None:
            way = 1 if self._hall(plan) > x else -1
            return [(x + way * box.w / 2, self.port[name, edge])]
        lane = self.gap_y[gap] + run.lane * LANE
        px = self.port[name, edge]
        side = 1 if lane > y else -1
        return [(px, y + side * box.h / 2), (px, lane)]


def _colour(runs: list[_Run]) -> int:
    """Give overlapping runs different lanes, fewest first; returns how many lanes are in use."""
    ends: list[float] = []
    for run in sorted(runs, key=lambda r: (r.low, -r.high)):
        for lane, end in enumerate(ends):
            if end < run.low:
                run.lane, ends[lane] = lane, run.high
                break
        else:
            run.lane = len(ends) % MAX_LANES
            if len(ends) < MAX_LANES:
                ends.append(run.high)
    return len(ends)


def _clean(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Without repeated points and without points in the middle of a straight stretch."""
    out: list[tuple[float, float]] = []
    for point in points:
        if out and abs(point[0] - out[-1][0]) < 0.05 and abs(point[1] - out[-1][1]) < 0.05:
            continue
        if len(out) >= 2:
            (ax, ay), (bx, by) = out[-2], out[-1]
            if abs((bx - ax) * (point[1] - by) - (by - ay) * (point[0] - bx)) < 1e-6:
                out[-1] = point
                continue
        out.append(point)
    if len(out) == 1:
        out.append(out[0])
    return out


def _r(value: float) -> float:
    return round(value, 1)
