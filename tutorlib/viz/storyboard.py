"""A graph's story in one picture: the same drawing at a few steps, each with its formula. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.face import shorten, text_width
from tutorlib.viz.folding import places, shown
from tutorlib.viz.marks import num, rect, text
from tutorlib.viz.svg import card, graph_body, legend
from tutorlib.viz.theme import CARD, KINDS, TEXT

__all__ = ["key_steps", "storyboard_svg", "storyboard_text"]

PAGE = 960.0
HEAD = 52.0
GAP = 14.0
PHASES = {"forward": "op", "backward": "gradient", "update": "shared"}


def key_steps(trace: Sequence[dict[str, Any]]) -> list[int]:
    """The steps that tell the story: before the first, the end of each phase, and one in between if few.

    >>> key_steps([{"phase": "forward"}] * 2 + [{"phase": "backward"}] * 4)
    [0, 2, 4, 6]
    >>> key_steps([{"phase": "forward"}] * 2 + [{"phase": "backward"}] * 4 + [{"phase": "update"}])
    [0, 2, 6, 7]
    """
    phases = [event["phase"] for event in trace]
    ends = {phase: at + 1 for at, phase in enumerate(phases)}
    steps = [0, *sorted(ends.values())]
    if len(steps) == 3 and "backward" in ends:
        steps.append((steps[1] + steps[2]) // 2)
    elif len(steps) == 2:
        steps.append(steps[1] // 2)
    return sorted(set(steps))


def storyboard_svg(spec: dict[str, Any], steps: Sequence[int], theme: str = "light") -> str:
    """One SVG with a frame for each of `steps`, two side by side where the graph is narrow."""
    wide, high = spec["layout"]["size"]
    columns = 2 if len(steps) > 1 and wide <= PAGE * 0.75 else 1
    room = (PAGE - GAP * (columns + 1)) / columns
    scale = min(1.0, (room - 2 * GAP) / wide)
    tall = HEAD + high * scale + GAP
    body = ""
    for at, step in enumerate(steps):
        x = GAP + (at % columns) * (room + GAP)
        y = GAP + (at // columns) * (tall + GAP)
        body += _frame(spec, step, (x, y, room, tall), scale, theme)
    rows = -(-len(steps) // columns)
    top = GAP + rows * (tall + GAP)
    signs, _, height = legend(shown(spec["graph"], spec["collapsed"]), spec["values"], theme, PAGE - 2 * GAP)
    body += f'<g transform="translate({num(GAP)} {num(top)})">{signs}</g>'
    return card(PAGE, top + height, spec["summary"], body, theme)


def storyboard_text(spec: dict[str, Any], steps: Sequence[int]) -> str:
    """The frames in words, one line each."""
    return "\n".join(_sentence(spec, step) for step in steps)


def _sentence(spec: dict[str, Any], step: int) -> str:
    if step == 0:
        return message("widgets.frame_start")
    return spec["trace"][step - 1]["spoken"]


def _frame(spec: dict[str, Any], step: int, box: tuple[float, float, float, float], scale: float, theme: str) -> str:
    x, y, w, h = box
    event = spec["trace"][step - 1] if step else None
    colour = KINDS[PHASES[event["phase"]]].paint(theme).stroke if event else TEXT[theme]
    title = message(f"widgets.phase_{event['phase']}") if event else message("widgets.frame_start")
    count = message("widgets.ui_step_count", step=step, all=len(spec["trace"]))
    said = ", ".join(part for part in (event["formula"], event["numbers"]) if part) if event else ""
    out = rect(x, y, w, h, f'rx="8" fill="none" stroke="{CARD[theme][1]}"')
    out += text(x + GAP, y + 21, title, 13, colour, bold=True)
    out += text(x + w - GAP, y + 21, count, 12, TEXT[theme], "end", more=' fill-opacity="0.75"')
    out += text(x + GAP, y + 41, _fitting(said, w - 2 * GAP), 13, TEXT[theme])
    left = x + (w - spec["layout"]["size"][0] * scale) / 2
    seen = places(spec["graph"], spec["collapsed"])
    current = seen[event["node"]] if event else ""
    drawn = graph_body(_at_step(spec, step), theme, faded=_future(spec, step, seen), current=current)
    return out + f'<g transform="translate({num(left)} {num(y + HEAD)}) scale({scale:.4g})">{drawn}</g>'


def _fitting(words: str, room: float) -> str:
    limit = len(words)
    while limit > 8 and text_width(shorten(words, limit), 13) > room:
        limit -= 4
    return shorten(words, limit)


def _future(spec: dict[str, Any], step: int, seen: dict[str, str]) -> frozenset[str]:
    done = {seen[event["node"]] for event in spec["trace"][:step]}
    return frozenset(seen[event["node"]] for event in spec["trace"][step:]) - done


def _at_step(spec: dict[str, Any], step: int) -> dict[str, Any]:
    """The spec with the values that nodes hold at `step`: none before its step, the new one after an update."""
    last: dict[str, str | None] = {event["node"]: None for event in spec["trace"]}
    last.update({event["node"]: event["value"] for event in spec["trace"][:step]})
    new = {node["update_of"]: last.get(node["id"]) for node in spec["graph"]["nodes"] if node.get("update_of")}
    nodes = []
    for node in spec["graph"]["nodes"]:
        value = last.get(node["id"], node["value"])
        nodes.append({**node, "value": new.get(node["id"]) or value, "spoken": node["label"]})
    return {**spec, "graph": {**spec["graph"], "nodes": nodes}}
