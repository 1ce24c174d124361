"""The data contract of GraphView, put together from its parts: graph, scopes, layout, trace, values, words.

The shape of the result is `spec.schema.json`, beside this file. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.folding import Collapse, choose, view_of
from tutorlib.viz.outline import speak_event, speak_node, summary
from tutorlib.viz.scopes import kinds_in, mark_back, scope_entries, settle

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
    collapse: Collapse = None,
    repeats: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """A complete spec from nodes and edges of the contract: adds scopes, layout, tree levels, sentences and text.

    `hidden` is how many nodes of the graph are not among `nodes`; `notes` are sentences for the learner; `math` holds
    the formulas of the ops as MathML trees; `repeats` says which scopes stand for the turns of a loop, and for how
    many. For `collapse` see `folding.choose`.
    """
    values, repeats = dict(values or {}), dict(repeats or {})
    nodes, edges, trace = [dict(n) for n in nodes], [dict(e) for e in edges], [dict(e) for e in trace]
    node_of = {node["id"]: node for node in nodes}
    mark_back(nodes, edges)
    settle(nodes, edges, tuple(repeats))
    for node in nodes:
        node["spoken"] = speak_node(node, values)
    for event in trace:
        event["spoken"] = speak_event(event, len(trace), node_of[event["node"]])
    graph = {"nodes": nodes, "edges": edges, "scopes": scope_entries(nodes, edges, repeats)}
    collapsed = choose(graph, collapse, repeats)
    notes = [*notes]
    if collapsed and collapse is None:
        notes.append(message("widgets.note_folded", n=sum(sum(kinds_in(node).values()) for node in nodes)))
    spec = {
        "version": VERSION,
        "graph": graph,
        "trace": trace,
        "values": values,
        "summary": " ".join([summary(graph, trace), *notes]),
        "notes": notes,
        "hidden": hidden,
        "math": dict(math or {}),
    }
    return spec | view_of(spec, collapsed, direction)
