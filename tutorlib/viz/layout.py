"""Where everything goes: the mirrored, layered layout of a graph. Standard library only, iterative, deterministic.

Forward ops run down the left block. Each gradient stands in the right block, in the band of its forward op, so the
backward pass reads upwards beside the forward one. A shared variable stands left of its first consumer with its update
beside it, a constant right of the op it feeds. Edges run through the gaps between rows and never through a node.

The work is split: `ranks.py` says in which row a box stands, `ordering.py` in which order and at which x, `routing.py`
draws the edges and gives the heights. This file holds the data that they share and puts them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

__all__ = ["Box", "Layout", "Link", "layout"]

LEFT, RIGHT = 0, 1


@dataclass(frozen=True)
class Box:
    """A node to place: its size in px and what it belongs to (`grad_of`, `update_of` hold ids, or "").

    `scopes` are the open scopes around it, innermost first: the box and the title of each need room.
    """

    id: str
    w: float
    h: float
    kind: str = "op"
    grad_of: str = ""
    update_of: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Link:
    """An edge to draw from box `s` to box `t`."""

    id: str
    s: str
    t: str
    kind: str = "forward"


@dataclass
class Layout:
    """The result: `nodes` id → [x, y, w, h], `edges` id → points, `size` [W, H], `bands` (top, bottom) of ranks."""

    nodes: dict[str, list[float]]
    edges: dict[str, list[list[float]]]
    size: list[float]
    bands: list[tuple[float, float]] = field(default_factory=list)
    band_of: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The `layout` part of the data contract."""
        return {"nodes": self.nodes, "edges": self.edges, "size": self.size}


def layout(boxes: Sequence[Box], links: Iterable[Link], direction: str = "TB") -> Layout:
    """Place `boxes` and route `links`; `direction` is "TB" (top to bottom) or "LR" (left to right).

    Links to unknown boxes and from a box to itself are left out.

    >>> two = layout([Box("x", 60, 40, "input"), Box("y", 60, 40)], [Link("e", "x", "y")])
    >>> two.nodes["x"][1] < two.nodes["y"][1], two.nodes["x"][0] == two.nodes["y"][0]
    (True, True)
    """
    from tutorlib.viz.ordering import arrange
    from tutorlib.viz.ranks import rank
    from tutorlib.viz.routing import route

    if direction not in ("TB", "LR"):
        raise ValueError(f'direction must be "TB" or "LR", not {direction!r}')
    if direction == "LR":
        boxes = [replace(box, w=box.h, h=box.w) for box in boxes]
    known = {box.id for box in boxes}
    drawn = [link for link in links if link.s != link.t and link.s in known and link.t in known]
    rows = rank(boxes, drawn)
    placed = arrange(boxes, drawn, rows)
    result = route(boxes, drawn, rows, placed)
    return _transposed(result) if direction == "LR" else result


def _transposed(found: Layout) -> Layout:
    return Layout(
        {name: [y, x, h, w] for name, (x, y, w, h) in found.nodes.items()},
        {name: [[y, x] for x, y in points] for name, points in found.edges.items()},
        [found.size[1], found.size[0]],
        found.bands,
        found.band_of,
    )
