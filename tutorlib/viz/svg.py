"""The static picture of a graph: an SVG on its own card, the same bytes for the same spec. Standard library only."""

from __future__ import annotations

from typing import Any

from tutorlib.messages import message
from tutorlib.viz.face import NORMAL, SMALL, THUMB_H, THUMB_W, face, shorten, text_width
from tutorlib.viz.folding import shown
from tutorlib.viz.marks import arrow, edge_path, escape, heatmap, line, num, rect, shape, text
from tutorlib.viz.theme import CARD, EDGES, FONT, KINDS, TEXT, role

__all__ = ["card", "graph_body", "graph_svg", "legend"]

LEGEND_H = 30.0
FULL_DETAIL, SOME_DETAIL = 120, 240
LEGEND_KINDS = ("input", "shared", "constant", "op", "scope", "output", "gradient", "update", "error")


def card(width: float, height: float, title: str, body: str, theme: str = "light") -> str:
    """A whole SVG document: the card, its border, its accessible title, then `body`."""
    fill, border = CARD[theme]
    look = f'rx="8" fill="{fill}" stroke="{border}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{num(width)}" height="{num(height)}" '
        f'viewBox="0 0 {num(width)} {num(height)}" font-family="{escape(FONT)}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f"{rect(0.5, 0.5, width - 1, height - 1, look)}{body}</svg>\n"
    )


def graph_svg(spec: dict[str, Any], theme: str = "light") -> str:
    """Draw a GraphView spec as it stands at the end of its trace; `theme` is "light" or "dark"."""
    graph = shown(spec["graph"], spec["collapsed"])
    wide, high = spec["layout"]["size"]
    signs, legend_width, legend_height = legend(graph, spec["values"], theme, max(wide, 320.0))
    width, height = max(wide, legend_width), high + legend_height
    body = f'<g transform="translate({num((width - wide) / 2)} 0)">{graph_body(spec, theme)}</g>'
    body += f'<g transform="translate(0 {num(high)})">{signs}</g>'
    return card(width, height, spec["summary"], body, theme)


def graph_body(
    spec: dict[str, Any], theme: str = "light", faded: frozenset[str] = frozenset(), current: str = ""
) -> str:
    """The graph alone, without card and legend: scopes, edges, nodes; `faded` nodes step back, `current` has a ring."""
    graph, places, values = shown(spec["graph"], spec["collapsed"]), spec["layout"], spec["values"]
    ink = TEXT[theme]
    detail = 2 if len(graph["nodes"]) <= FULL_DETAIL else 1 if len(graph["nodes"]) <= SOME_DETAIL else 0
    parts = _frames(spec["frames"], theme) if detail else []
    labels = []
    for edge in graph["edges"]:
        points = places["edges"].get(edge["id"])
        if not points:
            continue
        look = EDGES.get(edge["kind"], EDGES["forward"])
        hue = "error" if "wrong" in edge else look.colour
        colour = KINDS[hue].paint(theme).stroke if hue else ink
        drawn = edge_path(points, look, colour, 0.6 if edge["kind"] == "saved" else 1.0) + arrow(points, look, colour)
        parts.append(_fade(drawn) if faded & {edge["s"], edge["t"]} else drawn)
        if (edge.get("broadcast") or "wrong" in edge) and edge["id"] in places["labels"]:
            labels.append(_edge_label(edge, places["labels"][edge["id"]], theme))
    for node in graph["nodes"]:
        if node["id"] in places["nodes"]:
            drawn = _node(node, places["nodes"][node["id"]], values, theme, detail)
            parts.append(_fade(drawn) if node["id"] in faded else drawn)
    if current in places["nodes"]:
        x, y, w, h = places["nodes"][current]
        border = f'rx="10" fill="none" stroke="{ink}" stroke-width="3"'
        parts.append(rect(x - 6, y - 6, w + 12, h + 12, border))
    return "".join(parts + labels)


def _fade(drawn: str) -> str:
    return f'<g opacity="0.35">{drawn}</g>'


def _node(node: dict[str, Any], box: list[float], values: dict[str, Any], theme: str, detail: int) -> str:
    """One node. `detail` 2: all of its face; 1: no picture; 0: its name only, else a large graph weighs megabytes."""
    x, y, w, _ = box
    value = values.get(node.get("value") or "")
    look, ink = role("error" if _is_bad(node, values) else node["kind"]), TEXT[theme]
    paint = look.paint(theme)
    shown = face(node, value)
    middle = x + w / 2 + (2.5 if look.shape == "drum" else 0)
    said = f"<title>{escape(node.get('spoken') or node['label'])}</title>" if detail else ""
    out = [f"<g>{said}", shape(look, paint, box)]
    base = y + 18
    if shown.badge:
        wide = text_width(shown.badge, SMALL) + 6
        start = middle - (wide + text_width(shown.title, NORMAL)) / 2
        out.append(text(start, base, shown.badge, SMALL, paint.stroke, bold=True))
        out.append(text(start + wide, base, shown.title, NORMAL, ink, bold=True))
    else:
        out.append(text(middle, base, shown.title, NORMAL, ink, "middle", bold=True))
    if shown.kind and detail:
        base += 15
        out.append(text(middle, base, shown.kind, SMALL, ink, "middle", more=' fill-opacity="0.75"'))
    if shown.thumb and detail == 2:
        widest = max(text_width(words, SMALL) for words in shown.value)
        start = middle - (THUMB_W + 8 + widest) / 2
        out.append(heatmap(shown.thumb, start, base + 6, THUMB_W, THUMB_H, KINDS["error"].paint(theme).stroke))
        for i, words in enumerate(shown.value):
            out.append(text(start + THUMB_W + 8, base + 15 + 13 * i, words, SMALL, ink))
    elif shown.value and detail:
        out.append(text(middle, base + 16, shown.value[0], SMALL + 0.5, ink, "middle"))
    if look.border == "alert":
        out.append(f'<circle cx="{num(x + w)}" cy="{num(y)}" r="8" fill="{paint.stroke}"/>')
        out.append(text(x + w, y + 4, "!", 12, CARD[theme][0], "middle", bold=True))
    out.append("</g>")
    return "".join(out)


def _is_bad(node: dict[str, Any], values: dict[str, Any]) -> bool:
    value = values.get(node.get("value") or "")
    return value is not None and bool(value["stats"]["nan"] or value["stats"]["inf"])


def _frames(frames: list[dict[str, Any]], theme: str) -> list[str]:
    """The boxes around open scopes, with their titles."""
    parts = []
    for frame in frames:
        if frame["box"]:
            look = f'rx="10" fill="{KINDS["input"].paint(theme).fill}" fill-opacity="0.5" stroke="{CARD[theme][1]}"'
            x, y, w, h = frame["box"]
            parts.append(rect(x, y, w, h, look))
        x, y, _, _ = frame["bar"]
        title = shorten(frame["title"].removeprefix("▾ "), 60)
        parts.append(text(x + 8, y + 13, title, 10.5, TEXT[theme], bold=True, more=' fill-opacity="0.75"'))
    return parts


def _edge_label(edge: dict[str, Any], place: list[Any], theme: str) -> str:
    """The shape at its `place`: of a value that is stretched, underlined; of one that does not fit, with that axis in
    the colour of errors."""
    words, fill, size = edge["label"], CARD[theme][0], 13 if "wrong" in edge else 10
    wide = text_width(words, size)
    x, y = place[0] - {"start": 0, "middle": wide / 2, "end": wide}[place[2]], place[1]
    if "wrong" not in edge:
        out = rect(x - 2, y - 9, wide + 4, 12, f'rx="2" fill="{fill}" fill-opacity="0.85"')
        out += text(x, y, words, 10, TEXT[theme], more=' fill-opacity="0.8"')
        return out + line(f"M{num(x)} {num(y + 2)}h{num(wide)}", KINDS["shared"].paint(theme).stroke, 1.5)
    out = rect(x - 3, y - 12, wide + 8, 18, f'rx="3" fill="{fill}"')
    alarm = KINDS["error"].paint(theme).stroke
    dims = [
        f'<tspan fill="{alarm}" font-weight="800" text-decoration="underline">{escape(dim)}</tspan>'
        if axis in edge["wrong"]
        else escape(dim)
        for axis, dim in enumerate(words.strip("(),").split(", "))
    ]
    shown = f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(dims)})"
    return out + f'<text x="{num(x)}" y="{num(y)}" font-size="13" fill="{TEXT[theme]}">{shown}</text>'


def legend(graph: dict[str, Any], values: dict[str, Any], theme: str, width: float) -> tuple[str, float, float]:
    """The signs in use, with their names, in rows no wider than `width`: SVG, its width and its height."""
    ink = TEXT[theme]
    kinds = {"error" if _is_bad(node, values) else node["kind"] for node in graph["nodes"]}
    flows = {edge["kind"] for edge in graph["edges"]}
    entries = []
    for kind in LEGEND_KINDS:
        if kind in kinds:
            look = role(kind)
            sample = shape(look, look.paint(theme), (0, -8, 26, 16))
            entries.append((sample, message(f"widgets.kind_{kind}")))
    for kind, flow in EDGES.items():
        if kind in flows:
            points = [[0, 0], [28, 0]]
            colour = KINDS[flow.colour].paint(theme).stroke if flow.colour else ink
            entries.append(
                (edge_path(points, flow, colour) + arrow(points, flow, colour), message(f"widgets.edge_{kind}"))
            )
    out, x, y, widest = [], 14.0, 17.0, 0.0
    for sample, words in entries:
        wide = 34 + text_width(words, 10.5) + 14
        if x > 14 and x + wide > width:
            x, y = 14.0, y + 22
        out.append(f'<g transform="translate({num(x)} {num(y)})">{sample}{text(34, 4, words, 10.5, ink)}</g>')
        x += wide
        widest = max(widest, x)
    rule = line(f"M10 0H{num(max(widest, width) - 10)}", CARD[theme][1], 1)
    return rule + "".join(out), widest, y + LEGEND_H - 14
