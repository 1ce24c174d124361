"""The boxes around open scopes, one around the forward and one around the backward part of each."""

from __future__ import annotations

from typing import Any

from tutorlib.viz.face import text_width
from tutorlib.viz.scopes import ancestors

__all__ = ["frames"]

PAD, TITLE = 10.0, 18.0
SIZE = 12.0


def frames(graph: dict[str, Any], places: dict[str, list[float]]) -> list[dict[str, Any]]:
    """The `frames` of the contract, outermost first: the box of each part of a scope and that of its title.

    A box is only given where no other node stands in it; else the title stands alone above the part.
    """
    parents = {scope["id"]: scope["parent"] for scope in graph["scopes"]}
    entries = {scope["id"]: scope for scope in graph["scopes"]}
    inside: dict[tuple[str, bool], set[str]] = {}
    for node in graph["nodes"]:
        if node["id"] in places:
            for scope in ancestors(node["scope"], parents):
                inside.setdefault((scope, bool(node.get("back"))), set()).add(node["id"])
    depth = {scope: len(ancestors(scope, parents)) for scope, _ in inside}
    corners: dict[tuple[str, bool], list[float]] = {}
    found = []
    for part in sorted(inside, key=lambda part: -depth[part[0]]):
        scope, back = part
        boxes = [places[name] for name in inside[part]]
        x0, y0, x1, y1 = corners.get(part, [float("inf"), float("inf"), float("-inf"), float("-inf")])
        x, y = min(x0, *(b[0] for b in boxes)) - PAD, min(y0, *(b[1] for b in boxes)) - PAD - TITLE
        right = max(x1, *(b[0] + b[2] for b in boxes)) + PAD
        bottom = max(y1, *(b[1] + b[3] for b in boxes)) + PAD
        title = f"▾ {'∂ ' if back else ''}{entries[scope]['title']}"
        title += f" × {entries[scope]['times']}" if entries[scope]["times"] > 1 else ""
        others = (box for name, box in places.items() if name not in inside[part])
        free = not any(b[0] < right and b[0] + b[2] > x and b[1] < bottom and b[1] + b[3] > y for b in others)
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
