"""The data contract of GraphView, put together from its parts: graph, layout, trace, values, words.

The shape of the result is `spec.schema.json`, beside this file. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tutorlib.viz.face import SMALL, face, text_width
from tutorlib.viz.layout import Box, Link, layout
from tutorlib.viz.outline import outline, speak_event, speak_node, summary

__all__ = ["VERSION", "assemble", "letter_of"]

VERSION = 1
LETTERS = {
    "input": "in",
    "shared": "S",
    "constant": "c",
    "gradient": "∂",
    "update": "Δ",
    "output": "out",
    "error": "NaN",
}


def letter_of(kind: str, op: str | None) -> str:
    """The letter of a node: fixed for each kind, the op's name for an op.

    >>> letter_of("shared", None), letter_of("op", "mul")
    ('S', 'mul')
    """
    return LETTERS.get(kind) or op or "op"


def assemble(
    nodes: Sequence[dict[str, Any]],
    edges: Sequence[dict[str, Any]],
    trace: Sequence[dict[str, Any]] = (),
    values: dict[str, dict[str, Any]] | None = None,
    *,
    notes: Sequence[str] = (),
    hidden: int = 0,
    direction: str = "TB",
    math: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A complete spec from nodes and edges of the contract: adds layout, scopes, tree levels, sentences and text.

    The label of an edge too short to show it is emptied: the node it comes from says the same.

    `hidden` is how many nodes of the graph are not among `nodes`; `notes` are sentences for the learner; `math` holds
    the formulas of the ops as MathML trees.
    """
    values = dict(values or {})
    nodes, edges, trace = [dict(n) for n in nodes], [dict(e) for e in edges], [dict(e) for e in trace]
    node_of = {node["id"]: node for node in nodes}
    for node in nodes:
        node["spoken"] = speak_node(node, values)
    for event in trace:
        event["spoken"] = speak_event(event, len(trace), node_of[event["node"]])
    graph = {"nodes": nodes, "edges": edges, "scopes": _scopes(nodes), "levels": _levels(nodes, edges)}
    # Beside its op, where a shared variable or a constant stands, there would be no room for the shape that is wrong.
    misfits = {edge["s"] for edge in edges if "wrong" in edge}
    boxes = []
    for node in nodes:
        shown = face(node, values.get(node.get("value") or ""))
        boxes.append(
            Box(
                node["id"],
                shown.w,
                shown.h,
                "input" if node["id"] in misfits else node["kind"],
                node.get("grad_of") or "",
                node.get("update_of") or "",
            )
        )
    placed = layout(boxes, [Link(e["id"], e["s"], e["t"], e["kind"]) for e in edges], direction)
    for edge in edges:
        if "wrong" not in edge and text_width(edge["label"], SMALL) + 12 > _length(placed.edges[edge["id"]]):
            edge["label"] = ""
    return {
        "version": VERSION,
        "graph": graph,
        "layout": placed.as_json(),
        "trace": trace,
        "values": values,
        "text": outline(graph, values, hidden=hidden),
        "summary": " ".join([summary(graph, trace), *notes]),
        "notes": list(notes),
        "math": dict(math or {}),
    }


def _length(points: list[list[float]]) -> float:
    return sum(math.dist(a, b) for a, b in pairwise(points))


def _scopes(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every scope in use with its parents, outermost first; "a/b" lies in "a"."""
    found: dict[str, dict[str, Any]] = {}
    for node in nodes:
        parts = [part for part in (node.get("scope") or "").split("/") if part]
        for depth in range(1, len(parts) + 1):
            name = "/".join(parts[:depth])
            found.setdefault(name, {"id": name, "title": parts[depth - 1], "parent": "/".join(parts[: depth - 1])})
    return list(found.values())


def _levels(nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> dict[str, int]:
    """Depth of each node below the results, from 1: what a screen reader calls the level of a tree item."""
    waiting = {node["id"]: 0 for node in nodes}
    producers: dict[str, list[str]] = {node["id"]: [] for node in nodes}
    for edge in edges:
        if edge["kind"] != "update" and edge["s"] in waiting and edge["t"] in waiting:
            waiting[edge["s"]] += 1
            producers[edge["t"]].append(edge["s"])
    levels = dict.fromkeys(waiting, 1)
    ready = [name for name, count in waiting.items() if not count]
    while ready:
        name = ready.pop()
        for source in producers[name]:
            levels[source] = max(levels[source], levels[name] + 1)
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    return levels
