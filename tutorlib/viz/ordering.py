"""The order of cells in their rows, and their x: barycentre sweeps against crossings, least squares for straight edges.

Works on cells (an anchor with its companions) and on the dummies that carry long edges through the rows between.
"""

from __future__ import annotations

import random
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tutorlib.viz.layout import LEFT, RIGHT, Box, Link
from tutorlib.viz.ranks import Rows

__all__ = ["Placed", "arrange", "count_crossings"]

GAP_X = 28.0
GAP_COMPANION = 26.0
DUMMY_GAP = 14.0
SWEEPS = 6
RESTARTS, CELLS = 24, 1500
STRAIGHTENINGS = 7
FALLBACK = 0.05
LOOSE = 0.02
WIDEST = 400
DUMMIES_PER_EDGE = 40


@dataclass
class Placed:
    """x of every box's centre (per block, from 0), the dummies of each edge as (row, x), and the block widths."""

    x: dict[str, float] = field(default_factory=dict)
    through: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    width: list[float] = field(default_factory=lambda: [0.0, 0.0])
    outside: set[str] = field(default_factory=set)


def count_crossings(upper: Sequence[int], lower: Sequence[int]) -> int:
    """How many pairs of edges cross between two rows: edge k runs from position `upper[k]` to position `lower[k]`.

    >>> count_crossings([0, 1], [1, 0]), count_crossings([0, 1], [0, 1]), count_crossings([0, 0], [1, 0])
    (1, 0, 0)
    """
    ends = [low for _, low in sorted(zip(upper, lower, strict=True))]
    if ends == sorted(ends):
        return 0
    seen: list[int] = []
    crossings = 0
    for low in ends:
        crossings += len(seen) - bisect_right(seen, low)
        insort(seen, low)
    return crossings


def arrange(boxes: Sequence[Box], links: Sequence[Link], rows: Rows) -> Placed:
    """Order and place both blocks; the right block starts in the order of the forward ops it belongs to."""
    placed = Placed()
    box_of = {box.id: box for box in boxes}
    for block in (LEFT, RIGHT):
        work = _Block(block, box_of, boxes, links, rows, placed)
        work.order_rows()
        work.assign_x()
        work.export()
    return placed


class _Block:
    """The cells of one block; a dummy is the key (edge id, row)."""

    def __init__(self, block, box_of, boxes, links, rows: Rows, placed: Placed):
        self.block, self.rows, self.placed, self.box_of = block, rows, placed, box_of
        self.cells: list[list] = [[] for _ in rows.row_band.get(block, [])]
        self.extent: dict = {}
        self.offset: dict[str, float] = {}
        self.above: dict = defaultdict(list)
        self.below: dict = defaultdict(list)
        anchors = [b for b in boxes if rows.block[b.id] == block and b.id not in rows.host]
        if block == RIGHT:
            key = {b.id: (placed.x.get(b.grad_of, 0.0), i) for i, b in enumerate(anchors)}
            anchors.sort(key=lambda b: key[b.id])
        for box in anchors:
            self._make_cell(box)
        for link in links:
            if link.kind != "update" and rows.block[link.s] == rows.block[link.t] == block:
                self._connect(link)

    def _make_cell(self, box: Box) -> None:
        left, right = box.w / 2, box.w / 2
        for name in self.rows.left.get(box.id, ()):
            companion = self.box_of[name]
            self.offset[name] = -(left + GAP_COMPANION + companion.w / 2)
            left += GAP_COMPANION + companion.w
        for name in self.rows.right.get(box.id, ()):
            companion = self.box_of[name]
            self.offset[name] = right + GAP_COMPANION + companion.w / 2
            right += GAP_COMPANION + companion.w
        self.extent[box.id] = (left + GAP_X / 2, right + GAP_X / 2)
        self.offset[box.id] = 0.0
        self.cells[self.rows.row[box.id]].append(box.id)

    def _connect(self, link: Link) -> None:
        """Join two cells, through one dummy for every row between; a very long edge runs outside instead."""
        upper, lower = link.s, link.t
        if self.rows.row[upper] > self.rows.row[lower]:
            upper, lower = lower, upper
        first, last = self.rows.row[upper], self.rows.row[lower]
        if first == last:
            return
        if last - first > DUMMIES_PER_EDGE:
            self.placed.outside.add(link.id)
            return
        chain: list[Any] = [upper, *((link.id, row) for row in range(first + 1, last)), lower]
        for key in chain[1:-1]:
            self.extent[key] = (DUMMY_GAP / 2, DUMMY_GAP / 2)
            self.offset[key] = 0.0
            self.cells[key[1]].append(key)
        for a, b in pairwise(chain):
            weight = 1.0 if a == upper and b == lower else 2.0 if a == upper or b == lower else 8.0
            self.below[self._cell(a)].append((self._cell(b), self.offset[a], self.offset[b], weight))
            self.above[self._cell(b)].append((self._cell(a), self.offset[b], self.offset[a], weight))

    def _cell(self, key):
        return self.rows.host.get(key, key) if isinstance(key, str) else key

    def order_rows(self) -> None:
        """Find an order with few crossings: from the order given, then from shuffled ones as far as time allows."""
        given, chance = [list(row) for row in self.cells], random.Random(0)
        fewest = self._sweep()
        best = self.cells
        for _ in range(min(RESTARTS, CELLS // max(1, sum(map(len, given))))):
            if not fewest:
                break
            self.cells = [chance.sample(row, len(row)) for row in given]
            found = self._sweep()
            if found < fewest:
                best, fewest = self.cells, found
        self.cells = best

    def _sweep(self) -> int:
        """Barycentre sweeps down and up; keeps the order with the fewest crossings seen and returns their number."""
        gaps = self._crossings()
        best, fewest, since = [list(row) for row in self.cells], sum(gaps), 0
        for sweep in range(SWEEPS):
            if not fewest or since > 1:
                break
            down = sweep % 2 == 0
            near = self.above if down else self.below
            places = {key: i for row in self.cells for i, key in enumerate(row)}
            for row in self.cells if down else reversed(self.cells):
                if len(row) > 1:
                    self._sort_row(row, near, places, 1 if sweep % 4 < 2 else -1)
            self._swap_neighbours(places, self._crossings())
            gaps = self._crossings()
            since += 1
            if sum(gaps) < fewest:
                best, fewest, since = [list(row) for row in self.cells], sum(gaps), 0
        self.cells = best
        return fewest

    def _sort_row(self, row: list, near, places: dict, tie: int) -> None:
        wish = {}
        for i, key in enumerate(row):
            links = near[key]
            spot = sum([places[other] + 0.001 * off for other, _, off, _ in links]) / len(links) if links else float(i)
            wish[key] = (spot, tie * i)
        row.sort(key=wish.__getitem__)
        for i, key in enumerate(row):
            places[key] = i

    def _swap_neighbours(self, places: dict, gaps: list[int]) -> None:
        """Exchange two neighbours wherever that takes crossings away; only rows that touch a crossing are looked at."""
        for at, row in enumerate(self.cells):
            if not (1 < len(row) <= WIDEST) or not ((at and gaps[at - 1]) or (at < len(gaps) and gaps[at])):
                continue
            for i in range(len(row) - 1):
                a, b = row[i], row[i + 1]
                gain = 0
                for near in (self.above, self.below):
                    ours = [places[other] + 0.0001 * off for other, _, off, _ in near[a]]
                    theirs = [places[other] + 0.0001 * off for other, _, off, _ in near[b]]
                    for p in ours:
                        for q in theirs:
                            gain += (p > q) - (p < q)
                if gain > 0:
                    row[i], row[i + 1] = b, a
                    places[a], places[b] = i + 1, i

    def _crossings(self) -> list[int]:
        """Crossings in the gap below each row but the last."""
        found = []
        for upper, lower in pairwise(self.cells):
            if (len(upper) < 2 or len(lower) < 2) and not self._may_cross(upper, lower):
                found.append(0)
                continue
            place = {key: 3 * i + 1 for i, key in enumerate(lower)}
            starts, ends = [], []
            for i, key in enumerate(upper):
                for other, own, off, _ in self.below[key]:
                    starts.append(3 * i + 1 + (own > 0) - (own < 0))
                    ends.append(place[other] + (off > 0) - (off < 0))
            found.append(count_crossings(starts, ends) if len(starts) > 1 else 0)
        return found

    def _may_cross(self, upper: list, lower: list) -> bool:
        """Edges of one cell meet in a point and cannot cross, unless its companions have edges of their own."""
        return any(self._has_companions(row[0]) for row in (upper, lower) if len(row) == 1)

    def _has_companions(self, key) -> bool:
        return isinstance(key, str) and bool(self.rows.left.get(key) or self.rows.right.get(key))

    def assign_x(self) -> None:
        """Pull every cell to its neighbours, row by row, keeping the order and the distances; several sweeps."""
        self._loosen_ends()
        self.x = {}
        for row in self.cells:
            at = 0.0
            for key in row:
                left, right = self.extent[key]
                self.x[key] = at + left
                at += left + right
        for sweep in range(STRAIGHTENINGS):
            down = sweep % 2 == 1
            for row in self.cells if down else reversed(self.cells):
                self._settle(row, *((self.above, self.below) if down else (self.below, self.above)))

        for row in reversed(self.cells):
            # What nothing leads to has not moved since its readers did.
            if row and not any(self.above[key] for key in row):
                self._settle(row, self.below, self.above)

    def _loosen_ends(self) -> None:
        """A cell where edges only end must not push the line of edges that goes on aside: a long chain would drift."""
        ends = {key for row in self.cells for key in row if not (self.above[key] and self.below[key])}
        for links in (self.above, self.below):
            for key, found in list(links.items()):
                if key in ends or any(other not in ends for other, *_ in found):
                    links[key] = [
                        (other, own, off, weight * LOOSE if key in ends or other in ends else weight)
                        for other, own, off, weight in found
                    ]

    def _settle(self, row, near, otherwise) -> None:
        """Move one row to its neighbours in `near`; a cell without any there follows `otherwise`, weakly."""
        if len(row) == 1:
            links = near[row[0]] or otherwise[row[0]]
            if links:
                total = sum([weight for _, _, _, weight in links])
                self.x[row[0]] = (
                    sum([(self.x[other] + off - own) * weight for other, own, off, weight in links]) / total
                )
            return
        wishes, weights, steps, step = [], [], [], 0.0
        for i, key in enumerate(row):
            links = near[key]
            share = 1.0 if links else FALLBACK
            pulls = [(self.x[other] + off - own, weight * share) for other, own, off, weight in links or otherwise[key]]
            weight = sum([w for _, w in pulls])
            wishes.append(sum(p * w for p, w in pulls) / weight if pulls else self.x[key])
            weights.append(weight or FALLBACK)
            if i:
                step += self.extent[row[i - 1]][1] + self.extent[key][0]
            steps.append(step)
        for key, spot, step in zip(row, _monotone(wishes, weights, steps), steps, strict=True):
            self.x[key] = spot + step

    def export(self) -> None:
        low = min((self.x[key] - self.extent[key][0] for row in self.cells for key in row), default=0.0)
        high = max((self.x[key] + self.extent[key][1] for row in self.cells for key in row), default=0.0)
        self.placed.width[self.block] = high - low
        for row in self.cells:
            for key in row:
                if isinstance(key, str):
                    members = [key, *self.rows.left.get(key, ()), *self.rows.right.get(key, ())]
                    for name in members:
                        self.placed.x[name] = self.x[key] + self.offset[name] - low
                else:
                    self.placed.through.setdefault(key[0], []).append((key[1], self.x[key] - low))
        for passed in self.placed.through.values():
            passed.sort()


def _monotone(wishes: list[float], weights: list[float], steps: list[float]) -> list[float]:
    """The nearest non-decreasing sequence to `wishes - steps` (weighted least squares, pool adjacent violators)."""
    pools: list[list[float]] = []
    for wish, weight, step in zip(wishes, weights, steps, strict=True):
        pools.append([(wish - step) * weight, weight, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            total, weight_sum, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += weight_sum
            pools[-1][2] += count
    return [total / weight for total, weight, count in pools for _ in range(int(count))]
