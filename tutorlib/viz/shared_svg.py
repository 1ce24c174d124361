"""The static picture of SharedView: a line for each variable over its updates, and five moments."""

from __future__ import annotations

import math
from typing import Any

from tutorlib.messages import message
from tutorlib.viz import contour_svg
from tutorlib.viz.face import shape_text, shorten, text_width
from tutorlib.viz.marks import heatmap, line, num, shape, text
from tutorlib.viz.svg import card
from tutorlib.viz.theme import CARD, KINDS, TEXT, role

__all__ = ["moments", "shared_svg"]

NAME_W, LINE_W, CELL_W, ROW_H, HEAD_H = 150.0, 190.0, 116.0, 84.0, 40.0
PAD = 16.0


def moments(frames: int) -> list[int]:
    """Indices of the first frame, those at a quarter, a half and three quarters, and the last.

    >>> moments(9), moments(3), moments(1)
    ([0, 2, 4, 6, 8], [0, 1, 2], [0])
    """
    return sorted({round(i * (frames - 1) / 4) for i in range(5)})


def shared_svg(spec: dict[str, Any], theme: str = "light") -> str:
    """Draw a SharedView spec: one row a variable."""
    picks = moments(len(spec["frames"]))
    width = PAD + NAME_W + LINE_W + 24 + CELL_W * len(picks) + PAD
    rows_high = HEAD_H + ROW_H * len(spec["variables"]) + PAD
    height = rows_high + (contour_svg.HEIGHT if spec["contour"] else 0)
    ink, faint = TEXT[theme], CARD[theme][1]
    parts = []
    for column, at in enumerate(picks):
        frame = spec["frames"][at]
        x = _cell_x(column) + CELL_W / 2
        first = frame["update"] == 0
        head = message("widgets.shared_start") if first else f"{message('widgets.shared_header')} {frame['update']}"
        below = ", ".join(frame["marks"]) or ("" if first else frame["by"])
        parts.append(text(x, 22, head, 11, ink, "middle", bold=True))
        parts.append(text(x, 35, shorten(below, 18), 9.5, ink, "middle", more=' fill-opacity="0.75"'))
    for row, variable in enumerate(spec["variables"]):
        y = HEAD_H + row * ROW_H
        parts.append(line(f"M{num(PAD)} {num(y)}H{num(width - PAD)}", faint, 1))
        parts.append(_name(variable, y, theme))
        parts.append(_line(spec, variable, y, theme, picks))
        for column, at in enumerate(picks):
            entry = spec["values"][spec["frames"][at]["values"][variable["id"]]]
            parts.append(_moment(entry, _cell_x(column), y, theme))
    if spec["contour"]:
        drawn = contour_svg.contour_svg(spec["contour"], theme)
        parts.append(f'<g transform="translate({num(PAD)} {num(rows_high)})">{drawn}</g>')
    return card(width, height, spec["summary"], "".join(parts), theme)


def _cell_x(column: int) -> float:
    return PAD + NAME_W + LINE_W + 24 + CELL_W * column


def _name(variable: dict[str, Any], y: float, theme: str) -> str:
    look = role("shared")
    out = shape(look, look.paint(theme), (PAD + 4, y + 20, NAME_W - 24, 42))
    middle = PAD + 4 + (NAME_W - 24) / 2 + 2.5
    room = shorten(variable["name"], 14)
    badge = text_width(look.letter, 10.5) + 6
    start = middle - (badge + text_width(room, 12.5)) / 2
    out += text(start, y + 39, look.letter, 10.5, look.paint(theme).stroke, bold=True)
    out += text(start + badge, y + 39, room, 12.5, TEXT[theme], bold=True)
    kind = f"{variable['dtype']} {shape_text(variable['shape'])}"
    return out + text(middle, y + 54, shorten(kind, 22), 10, TEXT[theme], "middle", more=' fill-opacity="0.75"')


def levels(spec: dict[str, Any], variable: dict[str, Any]) -> list[float | None]:
    """The line of a variable: its value where it is one number, else its norm; None where that is not finite."""
    found: list[float | None] = []
    for frame in spec["frames"]:
        stats = spec["values"][frame["values"][variable["id"]]]["stats"]
        raw = stats["mean"] if stats["size"] == 1 else frame["norm"][variable["id"]]
        value = float("nan") if raw is None else float(raw)
        found.append(value if math.isfinite(value) else None)
    return found


def _line(spec: dict[str, Any], variable: dict[str, Any], y: float, theme: str, picks: list[int]) -> str:
    """A line over the updates, with a dot at each moment drawn to the right and a cross where a value is not finite."""
    series = levels(spec, variable)
    other = _other_line(spec, variable["id"])
    known = [value for value in [*series, *(level for _, level in other)] if value is not None]
    left, top, wide, high = PAD + NAME_W + 8, y + 16, LINE_W - 62, ROW_H - 36
    low, top_value = (min(known), max(known)) if known else (0.0, 0.0)
    last = max(spec["frames"][-1]["update"], *(update for update, _ in other), 1)
    paint = KINDS["shared"].paint(theme)

    def place(update: int, value: float) -> tuple[float, float]:
        share = 0.5 if top_value == low else (value - low) / (top_value - low)
        return left + wide * update / last, top + high * (1 - share)

    def spot(i: int, value: float) -> tuple[float, float]:
        return place(spec["frames"][i]["update"], value)

    d, pen = "", "M"
    out = line(f"M{num(left)} {num(top + high + 6)}h{num(wide)}", CARD[theme][1], 1)
    for i, value in enumerate(series):
        if value is None:
            x = left + wide * spec["frames"][i]["update"] / last
            cross = f"M{num(x - 3)} {num(top + high - 3)}l6 6M{num(x + 3)} {num(top + high - 3)}l-6 6"
            out += line(cross, KINDS["error"].paint(theme).stroke, 2)
            pen = "M"
            continue
        x, level = spot(i, value)
        # A rewind starts a line of its own.
        pen = "M" if i and spec["frames"][i]["branch"] != spec["frames"][i - 1]["branch"] else pen
        d += f"{pen}{num(x)} {num(level)}"
        pen = "L"
    out += line(d, paint.stroke, 1.8) if d else ""
    dashed = ["M" if i == 0 or other[i - 1][1] is None else "L" for i in range(len(other))]
    spots = [(p, place(update, level)) for p, (update, level) in zip(dashed, other, strict=True) if level is not None]
    if spots:
        d = "".join(f"{p}{num(x)} {num(y)}" for p, (x, y) in spots)
        out += line(d, paint.stroke, 1.5, ' stroke-dasharray="5 3"')
    for at in picks:
        if series[at] is not None:
            x, level = spot(at, series[at] or 0.0)
            out += f'<circle cx="{num(x)}" cy="{num(level)}" r="2.8" fill="{paint.stroke}"/>'
    single = all(n == 1 for n in variable["shape"])
    said = message("widgets.shared_value") if single else message("widgets.shared_norm")
    out += text(left, y + ROW_H - 6, said, 9.5, TEXT[theme], more=' fill-opacity="0.75"')
    if known:
        out += text(left + wide + 6, top + 4, f"{top_value:.4g}", 9.5, TEXT[theme])
        if top_value != low:
            out += text(left + wide + 6, top + high + 3, f"{low:.4g}", 9.5, TEXT[theme])
    return out


def _other_line(spec: dict[str, Any], key: str) -> list[tuple[int, float | None]]:
    """Update and level of the second run, if there is one with this variable."""
    other = spec["other"]
    if other is None or key not in other["lines"]:
        return []
    found = [float(level) for level in other["lines"][key]["level"]]
    return [(u, v if math.isfinite(v) else None) for u, v in zip(other["updates"], found, strict=True)]


def _moment(entry: dict[str, Any], x: float, y: float, theme: str) -> str:
    """The numbers where they fit, else a small picture with its range."""
    middle, ink = x + CELL_W / 2, TEXT[theme]
    stats = entry["stats"]
    if entry["thumb"] is None or (stats["size"] <= 6 and text_width(entry["text"], 10.5) < CELL_W - 8):
        size = 15 if len(entry["text"]) <= 7 else 10.5
        return text(middle, y + 46, shorten(entry["text"], 20), size, ink, "middle", bold=len(entry["text"]) <= 7)
    out = heatmap(entry["thumb"], middle - 44, y + 14, 88, 40, KINDS["error"].paint(theme).stroke)
    bad = [f"{stats[key]} {word}" for key, word in (("nan", "NaN"), ("inf", "inf")) if stats[key]]
    words = ", ".join(bad) if bad else f"{float(stats['min']):.3g} … {float(stats['max']):.3g}"
    return out + text(middle, y + 70, words, 10, KINDS["error"].paint(theme).stroke if bad else ink, "middle")
