"""In which block and row each box stands. Knows the meaning of node kinds; knows no coordinates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tutorlib.viz.layout import LEFT, RIGHT, Box, Link

__all__ = ["Rows", "rank"]

LEAVES = ("input", "constant", "shared")
# A variable read by more ops than this stands above them all instead of beside the first.
CLOSE = 2


@dataclass
class Rows:
    """Block, band and row of every box, and who stands in whose cell.

    A cell is one place in a row: an anchor box, at most one companion to its left and one to its right, and the update
    of a shared variable outermost. `host` maps a companion to its anchor.
    """

    block: dict[str, int] = field(default_factory=dict)
    band: dict[str, int] = field(default_factory=dict)
    row: dict[str, int] = field(default_factory=dict)
    row_band: dict[int, list[int]] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    right: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    host: dict[str, str] = field(default_factory=dict)
    bands: int = 0


def rank(boxes: Sequence[Box], links: Sequence[Link]) -> Rows:
    """Decide block, band, row and cell of every box."""
    rows = Rows()
    box_of = {box.id: box for box in boxes}
    flow = [link for link in links if link.kind != "update"]
    consumers: dict[str, list[str]] = defaultdict(list)
    producers: dict[str, list[str]] = defaultdict(list)
    for link in flow:
        consumers[link.s].append(link.t)
        producers[link.t].append(link.s)
    order = _topological([box.id for box in boxes], consumers, producers)
    _choose_blocks(rows, box_of, order, consumers, producers)
    fed: dict[str, list[str]] = defaultdict(list)
    for link in flow:
        if link.kind != "saved":
            fed[link.s].append(link.t)
    _choose_companions(rows, box_of, order, fed)
    _rank_forward(rows, box_of, order, consumers, producers)
    _rank_gradients(rows, box_of, order, consumers, producers)
    _attach_updates(rows, boxes)
    return rows


def _topological(ids: list[str], consumers: dict[str, list[str]], producers: dict[str, list[str]]) -> list[str]:
    """Kahn's order, ties by the order given; boxes on a cycle come last, in the order given."""
    waiting = {name: len(producers[name]) for name in ids}
    ready = [name for name in reversed(ids) if not waiting[name]]
    order = []
    while ready:
        name = ready.pop()
        order.append(name)
        for follower in reversed(consumers[name]):
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    done = set(order)
    return order + [name for name in ids if name not in done]


def _choose_blocks(rows, box_of, order, consumers, producers):
    """Right: gradients, whatever is computed from them, and leaves that only the right block reads."""
    for name in order:
        box = box_of[name]
        derived = any(rows.block.get(p) == RIGHT for p in producers[name])
        rows.block[name] = RIGHT if box.grad_of or box.kind == "gradient" or derived else LEFT
    for name in order:
        readers = consumers[name]
        if box_of[name].kind in LEAVES and readers and all(rows.block[c] == RIGHT for c in readers):
            rows.block[name] = RIGHT


def _choose_companions(rows, box_of, order, consumers):
    """Shared variables and constants stand beside the op they feed, one on each side at most."""
    position = {name: i for i, name in enumerate(order)}
    for name in order:
        kind = box_of[name].kind
        readers = [c for c in consumers[name] if rows.block[c] == rows.block[name]]
        if kind not in ("shared", "constant") or not readers or (kind == "constant" and len(set(consumers[name])) > 1):
            continue
        if len(set(readers)) > CLOSE:
            continue
        anchor = min(readers, key=position.__getitem__)
        if box_of[anchor].kind in LEAVES or anchor in rows.host:
            continue
        sides = [rows.left, rows.right] if kind == "shared" or rows.block[name] == RIGHT else [rows.right, rows.left]
        if kind == "shared":
            sides = sides[:1]
        for side in sides:
            if not side[anchor]:
                side[anchor].append(name)
                rows.host[name] = anchor
                break


def _rank_forward(rows, box_of, order, consumers, producers):
    """Longest path from the sources; free leaves are pulled down to just above their first reader."""
    level: dict[str, int] = {}
    left = [name for name in order if rows.block[name] == LEFT and box_of[name].kind != "update"]
    for name in left:
        above = [level[p] for p in producers[name] if p in level and p not in rows.host]
        companions = [
            level[q]
            for p in producers[name]
            if p in rows.host and rows.host[p] != name
            for q in [rows.host[p]]
            if q in level
        ]
        level[name] = max([a + 1 for a in above] + companions, default=0)
    for name in reversed(left):
        readers = [level[c] for c in consumers[name] if c in level]
        if not producers[name] and readers and name not in rows.host:
            level[name] = max(level[name], min(readers) - 1)
    lowest = min((level[n] for n in left if n not in rows.host), default=0)
    for name in left:
        anchor = rows.host.get(name, name)
        rows.row[name] = rows.band[name] = level.get(anchor, level[name]) - lowest
    rows.bands = max((rows.band[n] for n in left), default=-1) + 1
    rows.row_band[LEFT] = list(range(rows.bands))


def _rank_gradients(rows, box_of, order, consumers, producers):
    """The band of the forward op; inside a band, one row per step, read upwards."""
    right = [name for name in order if rows.block[name] == RIGHT and box_of[name].kind != "update"]
    for name in right:
        wanted = box_of[name].grad_of
        if wanted in rows.band:
            rows.band[name] = rows.band[wanted]
        elif name not in rows.host:
            above = [rows.band[p] for p in producers[name] if p in rows.band and rows.block[p] == RIGHT]
            if above:
                rows.band[name] = min(above)
    for name in reversed(right):
        if name not in rows.band:
            below = [rows.band[c] for c in [rows.host.get(name), *consumers[name]] if c in rows.band]
            rows.band[name] = below[0] if below else max(rows.bands - 1, 0)
    rows.bands = max([rows.bands, *(rows.band[n] + 1 for n in right)])
    depth: dict[str, int] = {}
    for name in right:
        same = [
            depth[p] + 1
            for p in producers[name]
            if p in depth and rows.band[p] == rows.band[name] and p not in rows.host
        ]
        depth[name] = max(same, default=0)
    steps = [1] * rows.bands
    for name in right:
        steps[rows.band[name]] = max(steps[rows.band[name]], depth[rows.host.get(name, name)] + 1)
    first = [0]
    for count in steps:
        first.append(first[-1] + count)
    for name in right:
        band = rows.band[name]
        rows.row[name] = first[band] + steps[band] - 1 - depth[rows.host.get(name, name)]
    rows.row_band[RIGHT] = [band for band, count in enumerate(steps) for _ in range(count)]
    rows.row_band[LEFT] = list(range(rows.bands))


def _attach_updates(rows, boxes):
    """An update hexagon stands outside its shared variable, in the same cell."""
    for box in boxes:
        if box.kind != "update":
            continue
        shared = box.update_of
        anchor = rows.host.get(shared, shared)
        if anchor not in rows.row:
            rows.block[box.id], rows.band[box.id], rows.row[box.id] = LEFT, 0, 0
            rows.bands = max(rows.bands, 1)
            rows.row_band.setdefault(LEFT, [0])
            continue
        rows.block[box.id], rows.band[box.id], rows.row[box.id] = (
            rows.block[anchor],
            rows.band[anchor],
            rows.row[anchor],
        )
        rows.left[anchor].append(box.id)
        rows.host[box.id] = anchor
