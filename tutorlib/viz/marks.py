"""SVG fragments: escaped text, node shapes with their borders, arrows, thumbnails. Presentation attributes only.

No style, no class, no id, no script, no foreign content: the fragments survive every sanitiser and stay deterministic.
"""

from __future__ import annotations

import base64
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tutorlib.viz.theme import Edge, Paint, Role, signed_colour

__all__ = ["arrow", "edge_path", "escape", "heatmap", "line", "num", "rect", "shape", "text"]

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
CELLS_X, CELLS_Y = 16, 8
LEVELS = 15
TURN = 9.0


def escape(raw: str) -> str:
    """`raw` as XML text or attribute value; characters that XML cannot hold become the replacement character.

    >>> escape('<b a="1">&')
    '&lt;b a=&quot;1&quot;&gt;&amp;'
    """
    kept = _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", raw)
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        kept = kept.replace(sign, entity)
    return kept


def num(value: float) -> str:
    """A coordinate with at most one decimal.

    >>> num(3.0), num(2.25), num(-0.01)
    ('3', '2.2', '0')
    """
    rounded = round(float(value), 1)
    return str(int(rounded)) if rounded == int(rounded) else str(rounded)


def text(
    x: float, y: float, words: str, size: float, fill: str, anchor: str = "start", bold: bool = False, more: str = ""
) -> str:
    """One line of text with its baseline at `y`."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{num(x)}" y="{num(y)}" font-size="{num(size)}" fill="{fill}" '
        f'text-anchor="{anchor}"{weight}{more}>{escape(words)}</text>'
    )


def rect(x: float, y: float, w: float, h: float, look: str) -> str:
    """A rectangle; `look` holds its other attributes."""
    return f'<rect x="{num(x)}" y="{num(y)}" width="{num(w)}" height="{num(h)}" {look}/>'


def line(d: str, stroke: str, width: float, more: str = "") -> str:
    """A path that is only stroked."""
    return f'<path d="{d}" fill="none" stroke="{stroke}" stroke-width="{width:.3g}"{more}/>'


def shape(role: Role, paint: Paint, box: Sequence[float]) -> str:
    """The outline of a node: the form, the fill and the border that say its role."""
    x, y, w, h = box
    look = f'fill="{paint.fill}" stroke="{paint.stroke}"'
    width = "3" if role.border == "alert" else "1.5"
    dash = {"dotted": ' stroke-dasharray="1.5 3"', "dashed": ' stroke-dasharray="6 4"'}.get(role.border, "")
    out = ""
    if role.border == "stacked":
        w, h = w - 4, h - 4
        out = _outline(role.shape, x + 4, y + 4, w, h, f'{look} stroke-width="1"')
    out += _outline(role.shape, x, y, w, h, f'{look} stroke-width="{width}"{dash}')
    thin = f'fill="none" stroke="{paint.stroke}" stroke-width="1"'
    if role.border == "double":
        out += _outline(role.shape, x + 3.5, y + 3.5, w - 7, h - 7, thin)
    if role.shape == "drum":
        bow = f"C{num(x + w * 0.25)} {num(y + 6)} {num(x + w * 0.75)} {num(y + 6)} {num(x + w)} {num(y)}"
        out += line(f"M{num(x + 5)} {num(y + 1)}V{num(y + h - 1)}", paint.stroke, 1.5)
        out += line(f"M{num(x + 5)} {num(y)}{bow}", paint.stroke, 1)
    if role.border == "alert":
        out += _hatch(x + 3, y + 3, w - 6, h - 6, paint.stroke)
        out += _outline(role.shape, x + 4.5, y + 4.5, w - 9, h - 9, thin)
    return out


def edge_path(points: Sequence[Sequence[float]], look: Edge, colour: str, opacity: float = 1.0) -> str:
    """An edge with its corners rounded, its end left free for the arrow."""
    points = [tuple(p) for p in points]
    points[-1] = _short_of(points[-2], points[-1], 6.0 if look.arrow == "closed" else 1.0)
    d = f"M{num(points[0][0])} {num(points[0][1])}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        turn = min(TURN, _distance(before, corner) / 2, _distance(corner, after) / 2)
        a, b = _short_of(before, corner, turn), _short_of(after, corner, turn)
        d += f"L{num(a[0])} {num(a[1])}Q{num(corner[0])} {num(corner[1])} {num(b[0])} {num(b[1])}"
    d += f"L{num(points[-1][0])} {num(points[-1][1])}"
    dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
    faint = f' stroke-opacity="{num(opacity)}"' if opacity < 1 else ""
    return line(d, colour, look.width, dash + faint)


def arrow(points: Sequence[Sequence[float]], look: Edge, colour: str) -> str:
    """The arrow head at the end of an edge: filled for values, open for gradients."""
    (ax, ay), (bx, by) = points[-2], points[-1]
    size = 6.0 + look.width
    far = math.hypot(bx - ax, by - ay) or 1.0
    ux, uy = (bx - ax) / far, (by - ay) / far
    wings = [(bx - ux * size + s * uy * size * 0.5, by - uy * size - s * ux * size * 0.5) for s in (1, -1)]
    (px, py), (qx, qy) = wings
    d = f"M{num(px)} {num(py)}L{num(bx)} {num(by)}L{num(qx)} {num(qy)}"
    if look.arrow == "open":
        return line(d, colour, 1.5)
    return f'<path d="{d}Z" fill="{colour}"/>'


def heatmap(thumb: dict[str, Any], x: float, y: float, w: float, h: float, alert: str) -> str:
    """A thumbnail as one path for each colour; cells that are not finite are crossed out in the alert colour."""
    rows, cols = thumb["rows"], thumb["cols"]
    data = base64.b64decode(thumb["data"])
    down, across = min(rows, CELLS_Y), min(cols, CELLS_X)
    cells: dict[str, list[str]] = defaultdict(list)
    crosses = []
    for i in range(down):
        for j in range(across):
            pixels = [
                data[r * cols + c]
                for r in range(i * rows // down, max(i * rows // down + 1, (i + 1) * rows // down))
                for c in range(j * cols // across, max(j * cols // across + 1, (j + 1) * cols // across))
            ]
            spot = f"M{j} {i}h1v1h-1z"
            if 255 in pixels:
                cells[alert].append(spot)
                crosses.append(f"M{j} {i + 1}l1 -1")
            else:
                share = (sum(pixels) / len(pixels) - 127) / 127
                cells[signed_colour(round(share * LEVELS) / LEVELS, 1.0)].append(spot)
    out = "".join(f'<path d="{"".join(cells[colour])}" fill="{colour}"/>' for colour in sorted(cells))
    if crosses:
        out += line("".join(crosses), "#FFFFFF", 0.15)
    scale = f"translate({num(x)} {num(y)}) scale({w / across:.6g} {h / down:.6g})"
    grid = f'<g transform="{scale}" shape-rendering="crispEdges">{out}</g>'
    return grid + rect(x, y, w, h, 'fill="none" stroke="#737373" stroke-width="0.5"')


def _outline(form: str, x: float, y: float, w: float, h: float, look: str) -> str:
    if form == "hexagon":
        cut = min(11.0, w / 4)
        corners = [
            (x + cut, y),
            (x + w - cut, y),
            (x + w, y + h / 2),
            (x + w - cut, y + h),
            (x + cut, y + h),
            (x, y + h / 2),
        ]
        return f'<polygon points="{" ".join(f"{num(a)},{num(b)}" for a, b in corners)}" {look}/>'
    radius = min(h / 2, 18.0) if form == "pill" else 3.0
    return rect(x, y, w, h, f'rx="{num(radius)}" {look}')


def _hatch(x: float, y: float, w: float, h: float, stroke: str) -> str:
    """45° lines cut to the box by hand, since a pattern would need an id."""
    d = ""
    for start in range(8, int(w + h), 8):
        x1, y1 = x + min(start, w), y + max(0.0, start - w)
        x2, y2 = x + max(0.0, start - h), y + min(start, h)
        d += f"M{num(x1)} {num(y1)}L{num(x2)} {num(y2)}"
    return line(d, stroke, 1, ' stroke-opacity="0.3"')


def _distance(a: Sequence[float], b: Sequence[float]) -> float:
    return math.hypot(b[0] - a[0], b[1] - a[1])


def _short_of(start: Sequence[float], end: Sequence[float], by: float) -> tuple[float, float]:
    far = _distance(start, end)
    share = max(0.0, far - by) / far if far else 0.0
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
