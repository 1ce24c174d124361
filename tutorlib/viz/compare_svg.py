"""The static picture of CompareView: both graphs with their marks, and below them the clock, the rewrites or the
differences. The same bytes for the same spec. Standard library only."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.face import shorten, text_width
from tutorlib.viz.marks import line, num, rect, text
from tutorlib.viz.svg import card, graph_body
from tutorlib.viz.theme import CARD, KINDS, TEXT

__all__ = ["compare_svg"]

PAD, GAP, HEAD, LINE_H = 16.0, 28.0, 34.0, 19.0
NARROW, WIDE = 300.0, 640.0
MOST_LINES = 14
SIGNS = {"~": "~", "-": "−", "+": "+"}


def compare_svg(spec: dict[str, Any], step: int, theme: str = "light") -> str:
    """Draw a CompareView spec as it stands at a step."""
    now = spec["steps"][step]
    marks = _marks(spec["matches"][now["match"]])
    panes = [_pane(spec, now[side], marks[side], theme) for side in ("left", "right")]
    tall = max(high for _, _, high in panes)
    widths = [wide for _, wide, _ in panes]
    width = 2 * PAD + sum(widths) + GAP
    parts = []
    x = PAD
    for side, (body, wide, _) in zip(("left", "right"), panes, strict=True):
        parts.append(text(x, 24, spec["titles"][side], 14, TEXT[theme], bold=True))
        parts.append(f'<g transform="translate({num(x)} {num(HEAD)})">{body}</g>')
        x += wide + GAP
    parts.append(_legend({sign for found in marks.values() for sign in found.values()}, width - PAD, theme))
    middle = PAD + widths[0] + GAP / 2
    parts.append(line(f"M{num(middle)} 10V{num(HEAD + tall)}", CARD[theme][1], 1))
    y = HEAD + tall + 8
    below, high = _below(spec, step, width, theme)
    parts.append(line(f"M{num(PAD)} {num(y)}H{num(width - PAD)}", CARD[theme][1], 1))
    parts.append(f'<g transform="translate(0 {num(y)})">{below}</g>')
    return card(width, y + high + 10, spec["summary"], "".join(parts), theme)


def _marks(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Id → sign, for the nodes of each side that are not the same on the other."""
    left = dict.fromkeys(found["left"], "-")
    right = dict.fromkeys(found["right"], "+")
    for a, b, sign in found["pairs"]:
        if sign == "~":
            left[a] = right[b] = "~"
    return {"left": left, "right": right}


def _pane(spec: dict[str, Any], state: dict[str, Any], marks: dict[str, str], theme: str) -> tuple[str, float, float]:
    """The graph of one pane: its body, scaled to the pane, and the pane's size."""
    graph = _at(spec["graphs"][state["graph"]], spec["born"][state["graph"]], state)
    wide, high = graph["layout"]["size"]
    scale = min(1.0, WIDE / wide)
    pane = max(NARROW, wide * scale)
    body = graph_body(graph, theme) + "".join(
        _mark(graph["layout"]["nodes"][name], sign, theme)
        for name, sign in marks.items()
        if name in graph["layout"]["nodes"]
    )
    shift = (pane - wide * scale) / 2
    return f'<g transform="translate({num(shift)} 0) scale({scale:.4g})">{body}</g>', pane, high * scale


def _at(graph: dict[str, Any], born: dict[str, int] | None, state: dict[str, Any]) -> dict[str, Any]:
    """A spec with only the nodes and the values that are there at a moment."""
    there = {n["id"] for n in graph["graph"]["nodes"] if born is None or born[n["id"]] <= state["born"]}
    later = {event["node"] for event in graph["trace"][state["step"] :]}
    nodes = [
        {**n, "value": None if n["id"] in later else n["value"]} for n in graph["graph"]["nodes"] if n["id"] in there
    ]
    edges = [e for e in graph["graph"]["edges"] if e["s"] in there and e["t"] in there]
    gone = {n["id"] for n in graph["graph"]["nodes"]} - there
    places = {name: box for name, box in graph["layout"]["nodes"].items() if name not in gone}
    return {
        **graph,
        "frames": [] if gone else graph["frames"],
        "graph": {**graph["graph"], "nodes": nodes, "edges": edges},
        "layout": {**graph["layout"], "nodes": places},
    }


def _mark(box: list[float], sign: str, theme: str) -> str:
    """A second border around a node, and its sign: "~" changed, "−" only left (dashed, faint), "+" only right."""
    x, y, w, h = box
    colour = _colour(sign, theme)
    dash = ' stroke-dasharray="5 3"' if sign == "-" else ""
    page = CARD[theme][0]
    out = rect(x - 4, y - 4, w + 8, h + 8, f'rx="9" fill="none" stroke="{colour}" stroke-width="1.8"{dash}')
    if sign == "-":
        out = rect(x - 1, y - 1, w + 2, h + 2, f'rx="6" fill="{page}" fill-opacity="0.4"') + out
    out += f'<circle cx="{num(x - 3)}" cy="{num(y - 3)}" r="8.5" fill="{colour}"/>'
    return out + text(x - 3, y + 1.5, SIGNS[sign], 13, page, "middle", bold=True)


def _legend(used: set[str], right: float, theme: str) -> str:
    """The signs in use, with their names, up to the right edge of the heading."""
    out = ""
    for sign, kind in (("+", "right"), ("-", "left"), ("~", "changed")):
        if sign in used:
            words = message(f"widgets.ui_compare_{kind}")
            right -= text_width(words, 11)
            out += text(right, 22, words, 11, TEXT[theme])
            out += f'<circle cx="{num(right - 13)}" cy="18" r="8" fill="{_colour(sign, theme)}"/>'
            out += text(right - 13, 22.2, SIGNS[sign], 12, CARD[theme][0], "middle", bold=True)
            right -= 36
    return out


def _colour(sign: str, theme: str) -> str:
    kind = {"~": "shared", "-": "constant", "+": "op"}[sign]
    return KINDS[kind].paint(theme).stroke


def _below(spec: dict[str, Any], step: int, width: float, theme: str) -> tuple[str, float]:
    if spec["compare"] == "modes":
        return _clock(spec, step, width, theme)
    if spec["compare"] == "log":
        lines = [f"{i}  {s['title']}: {s['says']}" for i, s in enumerate(spec["steps"]) if i]
        heading = message("widgets.ui_compare_log")
    else:
        lines = list(spec["differences"]) or [spec["steps"][0]["title"]]
        heading = message("widgets.ui_compare_differences")
    left = len(lines) - MOST_LINES
    lines = lines[:MOST_LINES] + ([message("widgets.outline_more_lines", n=left)] if left > 0 else [])
    room = int((width - 2 * PAD) / 6.6)
    parts = [text(PAD, 22, heading, 12, TEXT[theme], bold=True)]
    for at, words in enumerate(lines):
        parts.append(text(PAD, 22 + LINE_H * (at + 1), shorten(words, room), 12, TEXT[theme]))
    return "".join(parts), 22 + LINE_H * len(lines) + 8


def _clock(spec: dict[str, Any], step: int, width: float, theme: str) -> tuple[str, float]:
    """Two lanes over the moments: what the static graph goes through, what the dynamic trace does."""
    ink, steps = TEXT[theme], spec["steps"]
    names = max(text_width(spec["titles"][side], 12) for side in ("left", "right")) + 20
    start, wide = PAD + names, width - 2 * PAD - names
    unit = wide / len(steps)
    parts = []
    for row, side in enumerate(("left", "right")):
        y = 14.0 + row * 30
        parts.append(text(PAD, y + 15, spec["titles"][side], 12, ink, bold=True))
        for (phase, _), run in groupby(enumerate(step[side] for step in steps), _phase):
            found = [at for at, _ in run]
            x, length = start + found[0] * unit, len(found) * unit
            if not phase:
                continue
            role = KINDS[_PHASE_ROLES[phase]].paint(theme)
            dash = ' stroke-dasharray="3 3"' if phase == "done" else ""
            parts.append(rect(x + 1, y, length - 2, 22, f'rx="5" fill="{role.fill}" stroke="{role.stroke}"{dash}'))
            words = message(f"widgets.ui_clock_{phase}")
            if text_width(words, 11) < length - 8:
                parts.append(text(x + length / 2, y + 15, words, 11, ink, "middle"))
    at = start + (step + 0.5) * unit
    parts.append(line(f"M{num(at)} 8V72", ink, 2))
    now = steps[step]
    said = ": ".join(part for part in (now["where"], now["title"]) if part)
    parts.append(text(PAD, 92, shorten(said, int(width / 6.8)), 12, ink, bold=True))
    y = 92.0
    for side in ("left", "right"):
        if now[side]["words"]:
            y += LINE_H
            words = f"{spec['titles'][side]}: {now[side]['words']}"
            parts.append(text(PAD, y, shorten(words, int(width / 6.3)), 12, ink))
    return "".join(parts), y + 8


def _phase(moment: tuple[int, dict[str, Any]]) -> tuple[str, int]:
    """A stretch of the clock is one phase of one call."""
    return moment[1]["phase"], moment[1]["graph"]


_PHASE_ROLES = {
    "build": "input", "compile": "shared", "call": "op", "run": "op", "done": "constant", "error": "error",
}  # fmt: skip
