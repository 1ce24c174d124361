"""A GraphView spec in the DOT language, for those who have Graphviz; the package `graphviz` loads on first use."""

from __future__ import annotations

from typing import Any

from tutorlib.viz.face import face
from tutorlib.viz.folding import shown
from tutorlib.viz.theme import EDGES, FONT, KINDS, TEXT, role

__all__ = ["to_dot"]

SHAPES = {"rect": "box", "drum": "cylinder", "pill": "box", "hexagon": "hexagon"}


def to_dot(spec: dict[str, Any]) -> Any:
    """A `graphviz.Digraph`: only forward edges rank it, gradients stand beside their forward ops.

    Ranking by the backward edges too would make `dot` take minutes on a graph of 300 nodes.
    """
    import graphviz

    graph = shown(spec["graph"], spec["collapsed"])
    picture = graphviz.Digraph(comment=graphviz.escape(spec["summary"]))
    picture.attr("node", fontname=FONT.split(",")[0], fontsize="11", fontcolor=TEXT["light"])
    picture.attr("edge", fontsize="9")
    for node in graph["nodes"]:
        words = face(node, spec["values"].get(node.get("value") or ""))
        look = role(node["kind"])
        paint = look.paint("light")
        style = ["filled", *{"dashed": ["dashed"], "dotted": ["dotted"]}.get(look.border, [])]
        style += ["rounded"] if look.shape == "pill" else []
        lines = [f"{words.badge} {words.title}".strip(), words.kind, *words.value]
        picture.node(
            node["id"], label=graphviz.escape("\n".join(line for line in lines if line)), shape=SHAPES[look.shape],
            style=",".join(style), color=paint.stroke, fillcolor=paint.fill,
            peripheries="2" if look.border in ("double", "alert", "stacked") else "1",
        )  # fmt: skip
        beside = node.get("grad_of") or node.get("update_of")
        if beside:
            with picture.subgraph() as same:
                same.attr(rank="same")
                same.node(beside)
                same.node(node["id"])
    for edge in graph["edges"]:
        flow = EDGES[edge["kind"]]
        picture.edge(
            edge["s"], edge["t"], constraint="true" if edge["kind"] == "forward" else "false",
            style={"gradient": "dashed", "saved": "dotted", "update": "bold"}.get(edge["kind"], "solid"),
            color=KINDS[flow.colour].light.stroke if flow.colour else TEXT["light"],
            arrowhead="vee" if flow.arrow == "open" else "normal",
        )  # fmt: skip
    return picture
