"""The boxes around open scopes, one around the forward and one around the backward part of each."""

from __future__ import annotations

from typing import Any

from tutorlib.viz.face import text_width
from tutorlib.viz.scopes import ancestors

__all__ = ["frames"]

PAD, TITLE = 10.0, 18.0
LEAVES = ("input", "shared", "constant")
# What nothing contains: the readers of a node that serves no part.
EVERY = {""}
SIZE = 12.0


def frames(graph: dict[str, Any], places: dict[str, list[float]]) -> list[dict[str, Any]]:
    """The `frames` of the contract, outermost first: the box of each part of a scope and that of its title.

    A box is only given where no other node stands in it; else the title stands alone above the part. What only serves
    the part, as the target of a loss, is taken in where it would stand in it.
    """
    parents = {scope["id"]: scope["parent"] for scope in graph["scopes"]}
    entries = {scope["id"]: scope for scope in graph["scopes"]}
    inside: dict[tuple[str, bool], set[str]] = {}
    for node in graph["nodes"]:
        if node["id"] in places:
            for scope in ancestors(node["scope"], parents):
                inside.setdefault((scope, bool(node.get("back"))), set()).add(node["id"])
    serves = _served(graph, places)
    depth = {scope: len(ancestors(scope, parents)) for scope, _ in inside}
    corners: dict[tuple[str, bool], list[float]] = {}
    found = []
    for part in sorted(inside, key=lambda part: -depth[part[0]]):
        scope, back = part
        boxes = [places[name] for name in inside[part]]
        others = {name: box for name, box in places.items() if name not in inside[part]}
        x, y, right, bottom = _around(boxes, corners.get(part))
        here = [name for name, box in others.items() if _meet(box, x, y, right, bottom)]
        guests = [name for name in here if serves.get(name, EVERY) <= inside[part]]
        if guests:
            boxes += [others.pop(name) for name in guests]
            x, y, right, bottom = _around(boxes, corners.get(part))
        title = f"▾ {'∂ ' if back else ''}{entries[scope]['title']}"
        title += f" × {entries[scope]['times']}" if entries[scope]["times"] > 1 else ""
        free = not any(_meet(box, x, y, right, bottom) for box in others.values())
        width = right - x if free else min(right - x, text_width(title, SIZE) + 24)
        outer = (parents[scope], back)
        if outer in inside and free:
            a, b, c, d = corners.get(outer, [x, y, right, bottom])
            corners[outer] = [min(a, x), min(b, y), max(c, right), max(d, bottom)]
        found.append(
            {
                "key": entries[scope]["key"],
                "title": title,
                "back": back,
                "main": not back or (scope, False) not in inside,
                "box": [round(v, 1) for v in (x, y, right - x, bottom - y)] if free else None,
                "bar": [round(v, 1) for v in (x, y, width, TITLE)],
            }
        )
    return found[::-1]


def _around(boxes: list[list[float]], inner: list[float] | None) -> tuple[float, float, float, float]:
    """The edges of a frame around nodes and around the frames inside it: left, top, right, bottom."""
    x0, y0, x1, y1 = inner or [float("inf"), float("inf"), float("-inf"), float("-inf")]
    return (
        min(x0, *(b[0] for b in boxes)) - PAD,
        min(y0, *(b[1] for b in boxes)) - PAD - TITLE,
        max(x1, *(b[0] + b[2] for b in boxes)) + PAD,
        max(y1, *(b[1] + b[3] for b in boxes)) + PAD,
    )


def _meet(box: list[float], x: float, y: float, right: float, bottom: float) -> bool:
    return box[0] < right and box[0] + box[2] > x and box[1] < bottom and box[1] + box[3] > y


def _served(graph: dict[str, Any], places: dict[str, list[float]]) -> dict[str, set[str]]:
    """The forward nodes that read each leaf outside all scopes."""
    back = {node["id"] for node in graph["nodes"] if node.get("back")}
    leaves = [node["id"] for node in graph["nodes"] if node["kind"] in LEAVES and not node["scope"]]
    found: dict[str, set[str]] = {name: set() for name in leaves if name in places}
    for edge in graph["edges"]:
        if edge["s"] in found and edge["kind"] == "forward" and edge["t"] not in back:
            found[edge["s"]].add(edge["t"])
    return {name: readers for name, readers in found.items() if readers}
