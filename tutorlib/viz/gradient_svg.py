"""The static picture of GradientView: the flow per layer at the last step, and layer × step. Standard library only."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.face import shorten, text_width
from tutorlib.viz.marks import line, num, rect, text
from tutorlib.viz.svg import card
from tutorlib.viz.theme import CARD, KINDS, TEXT, magnitude_colour

__all__ = ["decades", "gradient_svg"]

NAME_W, FLOW_W, HEAT_W, GAP, ROW_H, HEAD_H, FOOT_H, PAD = 140.0, 320.0, 300.0, 34.0, 34.0, 46.0, 46.0, 16.0
MOST_STEPS = 60
COLOURS = 24


def decades(spec: dict[str, Any], at: int | None = None) -> tuple[int, int]:
    """The whole decades that hold every |g| of the spec (of one step); never fewer than four."""
    cells = [cell for row in spec["cells"].values() for cell in (row if at is None else [row[at]])]
    sizes = [float(q) for cell in cells if cell["norm"] is not None for q in cell["q"] if float(q) > 0]
    low = math.floor(math.log10(min(sizes))) if sizes else -4
    high = math.ceil(math.log10(max(sizes))) if sizes else 0
    return min(low, high - 4), high


def gradient_svg(spec: dict[str, Any], theme: str = "light") -> str:
    """Draw a GradientView spec; `theme` is "light" or "dark"."""
    layers = spec["layers"]
    ink = TEXT[theme]
    if not spec["steps"] or not layers:
        return card(420, 60, spec["summary"], text(PAD, 36, spec["summary"], 12, ink), theme)
    width = PAD + NAME_W + FLOW_W + GAP + HEAT_W + PAD
    height = HEAD_H + ROW_H * len(layers) + FOOT_H
    update = spec["steps"][-1]["update"]
    flow_x, heat_x = PAD + NAME_W, PAD + NAME_W + FLOW_W + GAP
    parts = [
        text(flow_x, 20, message("widgets.gradient_flow_title", update=update), 11, ink, bold=True),
        text(heat_x, 20, message("widgets.gradient_heat_title"), 11, ink, bold=True),
        _flow(spec, flow_x, theme),
        _heat(spec, heat_x, theme),
    ]
    for row, layer in enumerate(layers):
        y = HEAD_H + row * ROW_H + ROW_H / 2
        name = shorten(layer["name"], 20)
        parts.append(text(flow_x - 10, y + 4, name, 12, ink, "end", bold=True))
    return card(width, height, spec["summary"], "".join(parts), theme)


def _flow(spec: dict[str, Any], left: float, theme: str) -> str:
    """A box of |g| quantiles for each layer, on decades, with the bands where gradients vanish or explode."""
    low, high = decades(spec, -1)
    bands = spec["bands"]
    ink, faint = TEXT[theme], CARD[theme][1]
    top, bottom = HEAD_H, HEAD_H + ROW_H * len(spec["layers"])

    def x(size: float) -> float:
        share = (math.log10(size) - low) / (high - low) if size > 0 else 0.0
        return left + FLOW_W * max(0.0, min(1.0, share))

    out = ""
    for edge, start, end, word in (
        (bands["tiny"], left, x(bands["tiny"]), "gradient_band_tiny"),
        (bands["huge"], x(bands["huge"]), left + FLOW_W, "gradient_band_huge"),
    ):
        if not 10.0**low < edge < 10.0**high:
            continue
        look = f'fill="{KINDS["error"].paint(theme).fill}" fill-opacity="0.6"'
        out += rect(start, top, end - start, bottom - top, look)
        anchor = "start" if start == left else "end"
        out += text(start + 4 if start == left else end - 4, top - 5, message(f"widgets.{word}"), 9.5, ink, anchor)
    every = max(1, math.ceil((high - low) / 8))
    for power in range(low, high + 1, every):
        at = left + FLOW_W * (power - low) / (high - low)
        out += line(f"M{num(at)} {num(top)}V{num(bottom)}", faint, 1)
        out += text(at, bottom + 14, f"1e{power}", 9.5, ink, "middle")
    out += text(left + FLOW_W / 2, bottom + 30, "|g|", 10.5, ink, "middle")
    for row, layer in enumerate(spec["layers"]):
        out += _box(spec["cells"][layer["id"]][-1], x, left, HEAD_H + row * ROW_H, theme)
    return out


def _box(cell: dict[str, Any], x: Any, left: float, y: float, theme: str) -> str:
    paint, ink, alert = KINDS["gradient"].paint(theme), TEXT[theme], KINDS["error"].paint(theme).stroke
    middle = y + ROW_H / 2
    if cell["norm"] is None:
        look = f'fill="none" stroke="{KINDS["constant"].paint(theme).stroke}" stroke-dasharray="3 3"'
        empty = rect(left + 2, y + 8, FLOW_W - 4, ROW_H - 16, look)
        return empty + text(left + 10, middle + 4, _fitting(cell["why"], FLOW_W - 22), 10, ink)
    out = ""
    if cell["q"]:
        least, lower, median, upper, most = (x(float(q)) for q in cell["q"])
        out += line(f"M{num(least)} {num(middle)}H{num(most)}", paint.stroke, 1.2)
        look = f'fill="{paint.fill}" stroke="{paint.stroke}" stroke-width="1.3"'
        out += rect(lower, y + 8, max(1.5, upper - lower), ROW_H - 16, look)
        out += line(f"M{num(median)} {num(y + 6)}V{num(y + ROW_H - 6)}", paint.stroke, 2.4)
    bad = [f"{cell['nan']} NaN"] if cell["nan"] else []
    infinite = cell["pos_inf"] + cell["neg_inf"]
    bad += [f"{infinite} inf"] if infinite else []
    if bad or not cell["q"]:
        words = ", ".join(bad) or message("widgets.gradient_all_zero")
        out += text(left + FLOW_W - 6, middle + 4, f"! {words}", 10.5, alert, "end", bold=True)
    return out


def _fitting(words: str, room: float) -> str:
    while text_width(words, 10) > room and len(words) > 8:
        words = shorten(words, len(words) - 4)
    return words


def _heat(spec: dict[str, Any], left: float, theme: str) -> str:
    """log10 of the norm of each gradient, a column a step; crossed where not finite, empty where there is none."""
    total = len(spec["steps"])
    shown = min(total, MOST_STEPS)
    picks = [round(i * (total - 1) / max(1, shown - 1)) for i in range(shown)]
    norms = [float(c["norm"]) for row in spec["cells"].values() for c in row if c["norm"] is not None]
    sizes = [math.log10(n) for n in norms if 0 < n < math.inf]
    low, high = (min(sizes), max(sizes)) if sizes else (0.0, 0.0)
    wide = HEAT_W / len(picks)
    cells: dict[str, list[str]] = defaultdict(list)
    crosses, frames, alert = "", "", KINDS["error"].paint(theme)
    for row, layer in enumerate(spec["layers"]):
        y = HEAD_H + row * ROW_H + 3
        for column, at in enumerate(picks):
            norm = spec["cells"][layer["id"]][at]["norm"]
            if norm is None:
                continue
            x = left + column * wide
            spot = f"M{num(x)} {num(y)}h{num(wide)}v{num(ROW_H - 6)}h{num(-wide)}z"
            value = float(norm)
            if not math.isfinite(value):
                cells[alert.fill].append(spot)
                crosses += f"M{num(x)} {num(y + ROW_H - 6)}L{num(x + wide)} {num(y)}"
            else:
                share = 0.0 if value <= 0 else (math.log10(value) - low) / ((high - low) or 1.0)
                cells[magnitude_colour(round(share * COLOURS) / COLOURS)].append(spot)
        frames += rect(left, y, HEAT_W, ROW_H - 6, f'fill="none" stroke="{CARD[theme][1]}"')
    out = "".join(f'<path d="{"".join(cells[c])}" fill="{c}"/>' for c in sorted(cells))
    out = f'<g shape-rendering="crispEdges">{out}</g>{frames}'
    out += line(crosses, alert.stroke, 1.2) if crosses else ""
    ink, bottom = TEXT[theme], HEAD_H + ROW_H * len(spec["layers"])
    out += text(left, bottom + 14, str(spec["steps"][picks[0]]["update"]), 9.5, ink)
    out += text(left + HEAT_W, bottom + 14, str(spec["steps"][picks[-1]]["update"]), 9.5, ink, "end")
    ramp = "".join(
        rect(left + 78 + i * 4, bottom + 22, 4.2, 8, f'fill="{magnitude_colour(i / COLOURS)}"')
        for i in range(COLOURS + 1)
    )
    out += f'<g shape-rendering="crispEdges">{ramp}</g>'
    out += text(left + 72, bottom + 30, f"‖g‖ {10**low:.2g}", 9.5, ink, "end")
    return out + text(left + 84 + COLOURS * 4 + 2, bottom + 30, f"{10**high:.2g}", 9.5, ink)
