"""The graph in words: an outline like debugprint, a summary of one line, sentences for a screen reader.

Reads the data contract only (standard library); every word comes from the message table.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.face import shape_text, shorten
from tutorlib.viz.scopes import kinds_in

__all__ = ["describe", "outline", "speak_event", "speak_node", "summary"]

LINES = 200
Graph = dict[str, Any]
Values = dict[str, dict[str, Any]]


def outline(graph: Graph, values: Values, *, lines: int = LINES, hidden: int = 0) -> str:
    """The graph as an indented tree from its results to its inputs; a part used twice is written out once.

    At most `lines` lines; a last line says how many nodes are not shown; `hidden` is how many the graph does not hold.
    """
    node_of = {node["id"]: node for node in graph["nodes"]}
    producers: dict[str, list[str]] = defaultdict(list)
    used = set()
    for edge in sorted((e for e in graph["edges"] if e["kind"] != "update"), key=lambda e: e.get("port") or 0):
        if edge["s"] in node_of and edge["t"] in node_of:
            producers[edge["t"]].append(edge["s"])
            used.add(edge["s"])
    for edge in graph["edges"]:
        if edge["kind"] == "update" and edge["t"] in node_of and node_of[edge["t"]]["kind"] == "update":
            producers[edge["t"]].append(edge["s"])
            used.add(edge["s"])
    roots = [n["id"] for n in graph["nodes"] if n["id"] not in used]
    roots += [n["id"] for n in graph["nodes"] if n["kind"] == "output" and n["id"] in used]
    roots.sort(key=lambda name: _root_order(node_of[name]))
    written: list[str] = []
    seen: set[str] = set()
    stack = [(name, 0) for name in reversed(roots)]
    while stack and len(written) < lines:
        name, depth = stack.pop()
        node = node_of[name]
        again = name in seen and bool(producers[name])
        written.append("  " * min(depth, 40) + _line(node, values, again))
        if name in seen:
            continue
        seen.add(name)
        stack.extend((source, depth + 1) for source in reversed(producers[name]))
    left = len(node_of) - len(seen) + hidden
    if left:
        written.append(message("widgets.outline_more", n=left))
    return "\n".join(written)


def summary(graph: Graph, trace: list[dict[str, Any]] | None = None) -> str:
    """One line that says what the picture shows: used as the alternative text."""
    counts: dict[str, int] = defaultdict(int)
    for node in graph["nodes"]:
        for kind, count in kinds_in(node).items():
            counts[kind] += count
    results = [node["name"] or node["label"] for node in graph["nodes"] if node["kind"] == "output"]
    ops = counts["op"] + counts["output"]
    parts = [message("widgets.summary_ops", n=ops)]
    for kind in ("input", "shared", "constant", "gradient", "update", "error"):
        if counts[kind]:
            parts.append(message(f"widgets.summary_{kind}", n=counts[kind]))
    for kind in ("update", "error"):
        results = results or [node["name"] or node["label"] for node in graph["nodes"] if node["kind"] == kind]
    text = message(
        "widgets.summary", result=", ".join(results[:3]) or message("widgets.summary_no_result"), parts=", ".join(parts)
    )
    return text + (" " + message("widgets.summary_steps", n=len(trace)) if trace else "")


def speak_node(node: dict[str, Any], values: Values) -> str:
    """The sentence for one node: label, kind, shape, value, gradient, source line."""
    parts = [node["label"], message(f"widgets.kind_{node['kind']}")]
    if node.get("shape") is not None:
        parts.append(message("widgets.spoken_shape", shape=shape_text(node["shape"])))
    if node.get("value") in values:
        parts.append(message("widgets.spoken_value", value=values[node["value"]]["text"]))
    elif node.get("note"):
        parts.append(node["note"])
    if node.get("grad") in values:
        parts.append(message("widgets.spoken_gradient", value=values[node["grad"]]["text"]))
    if node.get("src"):
        parts.append(message("widgets.spoken_source", where=node["src"]["where"]))
    return ", ".join(parts)


def speak_event(event: dict[str, Any], total: int, node: dict[str, Any]) -> str:
    """The sentence for one step of the trace."""
    text = message(
        "widgets.spoken_step",
        step=event["t"] + 1,
        total=total,
        phase=message(f"widgets.phase_{event['phase']}"),
        what=node["label"],
    )
    said = [part for part in (event.get("formula"), event.get("numbers")) if part]
    return f"{text}: {', '.join(said)}" if said else text


def describe(spec: dict[str, Any]) -> str:
    """Everything a `GraphView` shows, as text: summary, outline, then the steps with formula and numbers."""
    parts = [spec["summary"], "", spec["text"]]
    faults = [node["fault"]["text"] for node in spec["graph"]["nodes"] if "text" in node.get("fault", {})]
    if faults:
        parts += ["", message("widgets.describe_faults"), *faults[:LINES]]
    whys = [" ".join(node["why"]["text"]) for node in spec["graph"]["nodes"] if spec["trace"] and _speaks(node)]
    if whys:
        parts += ["", message("widgets.describe_whys"), *whys[:LINES]]
    made = [f"{node['label']}: {', '.join(node['inside'])}" for node in spec["graph"]["nodes"] if node.get("inside")]
    if made:
        parts += ["", message("widgets.describe_inside"), *made[:LINES]]
    if spec["trace"]:
        parts += ["", message("widgets.describe_steps")]
        parts += [event["spoken"] for event in spec["trace"]]
    return "\n".join(parts)


def _speaks(node: dict[str, Any]) -> bool:
    """Whether a node's gradient calls for words: of a variable that takes one, and not just waiting for backward()."""
    if "why" not in node or node["op"]:
        return False
    return node["why"]["verdict"] not in ("none", "wait") or (
        node["why"]["verdict"] == "none" and node["requires_grad"]
    )


def _root_order(node: dict[str, Any]) -> int:
    order = ("output", "error", "op", "scope", "update", "gradient")
    return order.index(node["kind"]) if node["kind"] in order else len(order)


def _line(node: dict[str, Any], values: Values, again: bool) -> str:
    said = node["letter"] == node.get("op") or node["label"].startswith(node["letter"])
    letter = "" if said else f"{node['letter']} "
    text = f"{letter}{node['label']} [{node['id']}]"
    if again:
        return f"{text} {message('widgets.outline_again')}"
    if node.get("shape") is not None:
        text += f" {node.get('dtype') or ''} {shape_text(node['shape'])}"
    if node.get("type"):
        text += f" {node['type']}"
    if node.get("value") in values:
        text += f" = {values[node['value']]['text']}"
    elif node.get("note"):
        text += f" = {shorten(node['note'], 60)}"
    if node.get("grad") in values:
        text += f" {message('widgets.outline_gradient', value=values[node['grad']]['text'])}"
    if node.get("src"):
        text += f"  ({shorten(node['src']['where'], 40)})"
    return text
