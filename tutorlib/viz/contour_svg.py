"""The loss over two numbers as a static picture: level lines and the way through them. Standard library only."""

from __future__ import annotations

from typing import Any

from tutorlib.messages import message
from tutorlib.viz.marks import line, num, rect, text
from tutorlib.viz.theme import CARD, KINDS, TEXT

__all__ = ["HEIGHT", "contour_svg"]

SIDE_W, SIDE_H, LEFT, TOP = 420.0, 260.0, 66.0, 30.0
HEIGHT = TOP + SIDE_H + 46
DASHES = ("", ' stroke-dasharray="6 4"')


def contour_svg(contour: dict[str, Any], theme: str) -> str:
    """Level lines with axes and ways, `HEIGHT` high; place it with a transform."""
    ink, faint = TEXT[theme], CARD[theme][1]
    left, right = LEFT, LEFT + SIDE_W
    words = message("widgets.contour_title", a=contour["names"][0], b=contour["names"][1])
    out = text(left, 18, words, 11, ink, bold=True)
    out += rect(left, TOP, SIDE_W, SIDE_H, f'fill="{KINDS["input"].paint(theme).fill}" stroke="{faint}"')
    blue = KINDS["op"].paint(theme).stroke
    out += "".join(
        line(_scaled(level["d"]), blue, 1, f' stroke-opacity="{0.9 - 0.06 * i:.2f}"')
        for i, level in enumerate(contour["levels"])
    )
    for k, way in enumerate(contour["ways"]):
        out += _way(contour, way, theme, DASHES[k])
    low, high = contour["x"], contour["y"]
    out += text(left, TOP + SIDE_H + 14, f"{low[0]:.3g}", 9.5, ink)
    out += text(right, TOP + SIDE_H + 14, f"{low[1]:.3g}", 9.5, ink, "end")
    out += text((left + right) / 2, TOP + SIDE_H + 14, contour["names"][0], 10.5, ink, "middle", bold=True)
    out += text(left - 6, TOP + SIDE_H, f"{high[0]:.3g}", 9.5, ink, "end")
    out += text(left - 6, TOP + 9, f"{high[1]:.3g}", 9.5, ink, "end")
    out += text(left - 6, TOP + SIDE_H / 2, contour["names"][1], 10.5, ink, "end", bold=True)
    span = message("widgets.contour_span", low=f"{float(contour['low']):.3g}", high=f"{float(contour['high']):.3g}")
    return out + text(left, TOP + SIDE_H + 32, span, 9.5, ink, more=' fill-opacity="0.75"')


def _scaled(d: str) -> str:
    """Path data of the square of 1000, in the box."""
    out = []
    for piece in d.split("M")[1:]:
        points = [spot.split(" ") for spot in piece.split("L")]
        out.append(
            "M"
            + "L".join(f"{num(LEFT + int(x) * SIDE_W / 1000)} {num(TOP + int(y) * SIDE_H / 1000)}" for x, y in points)
        )
    return "".join(out)


def _way(contour: dict[str, Any], way: list[list[Any]], theme: str, dash: str) -> str:
    paint = KINDS["shared"].paint(theme)
    (x0, x1), (y0, y1) = contour["x"], contour["y"]
    d, branch, spots = "", None, []
    for x, y, at in way:
        if x is None:
            branch = None
            continue
        px, py = LEFT + (x - x0) / (x1 - x0) * SIDE_W, TOP + (y1 - y) / (y1 - y0) * SIDE_H
        d += f"{'L' if at == branch else 'M'}{num(px)} {num(py)}"
        branch = at
        spots.append((px, py))
    out = line(d, paint.stroke, 2.2, dash) if d else ""
    out += "".join(f'<circle cx="{num(x)}" cy="{num(y)}" r="2.4" fill="{paint.stroke}"/>' for x, y in spots[:60])
    if spots:
        (x, y), (u, v) = spots[0], spots[-1]
        look = f'fill="{CARD[theme][0]}" stroke="{paint.stroke}" stroke-width="2"'
        out += f'<circle cx="{num(x)}" cy="{num(y)}" r="4.5" {look}/>'
        out += f'<circle cx="{num(u)}" cy="{num(v)}" r="5.5" fill="{paint.stroke}" stroke="{CARD[theme][0]}"/>'
    return out
