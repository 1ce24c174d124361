"""Named scopes as a tree: which nodes lie in which, what each holds, which repeat one another.

Reads and completes contract nodes and edges (standard library only); `folding.py` says which scopes are folded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.face import shape_text, shorten

__all__ = [
    "Parents", "ancestors", "common_scope", "equal_neighbours", "kinds_in", "mark_back", "name_of_row", "parents_of",
    "scope_entries", "settle",
]  # fmt: skip

OPS = ("op", "output", "error")
REPEATS = 3
SHAPES = 2
Parents = Mapping[str, str]
Items = Sequence[dict[str, Any]]


def ancestors(scope: str, parents: Parents) -> list[str]:
    """The scope and all around it, innermost first.

    >>> ancestors("a/b", {"a/b": "a", "a": ""})
    ['a/b', 'a']
    """
    found = []
    while scope and scope not in found:
        found.append(scope)
        scope = parents.get(scope, "")
    return found


def common_scope(paths: Sequence[str]) -> str:
    """The innermost scope that holds all of these paths.

    >>> common_scope(["a/b/c", "a/b", "a/b/d"]), common_scope(["a", "b"])
    ('a/b', '')
    """
    parts: list[str] = []
    for column in zip(*(path.split("/") for path in paths), strict=False):
        if len(set(column)) > 1:
            break
        parts.append(column[0])
    return "/".join(parts)


def settle(nodes: Items, edges: Items, inputs_in: Sequence[str] = ()) -> None:
    """Give scopes to what only serves one: leaves that only it reads, its gradients, the arithmetic of its updates.

    Expects what `mark_back` marks. An input counts as such a leaf only in a scope under one of `inputs_in`.
    """
    node_of = {node["id"]: node for node in nodes}
    readers: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        if edge["kind"] in ("forward", "update"):
            readers[edge["s"]].append(edge["t"])
    for node in nodes:
        if node["kind"] in ("shared", "constant", "input") and not node["scope"]:
            own = [node_of[r] for r in readers[node["id"]] if node_of[r]["kind"] != "update"]
            own = [reader for reader in own if not reader.get("back")]
            scope = common_scope([reader["scope"] for reader in own]) if own else ""
            if node["kind"] != "input" or any(f"{scope}/".startswith(f"{path}/") for path in inputs_in):
                node["scope"] = scope
    for node in nodes:
        of = node.get("grad_of") or node.get("update_of")
        if of:
            node["scope"] = node_of[of]["scope"]
    serving: set[str] = set()
    for kind in ("op", "constant"):
        for node in reversed(nodes):
            following = [node_of[r] for r in readers[node["id"]]]
            if not node["scope"] and node["kind"] == kind and following:
                serves = {n["scope"] for n in following}
                if len(serves) == 1 and all(n["kind"] == "update" or n["id"] in serving for n in following):
                    node["scope"] = serves.pop()
                    serving.add(node["id"])


def mark_back(nodes: Items, edges: Items) -> None:
    """Set `back` on nodes that are computed from gradients: they stand with the gradients of their scope."""
    readers: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        if edge["kind"] != "update":
            readers[edge["s"]].append(edge["t"])
    node_of = {node["id"]: node for node in nodes}
    stack = [node["id"] for node in nodes if node["kind"] == "gradient"]
    while stack:
        name = stack.pop()
        if not node_of[name].get("back"):
            node_of[name]["back"] = True
            stack += readers[name]
    for node in nodes:
        after = readers[node["id"]]
        if node["kind"] == "constant" and after and all(node_of[r].get("back") for r in after):
            node["back"] = True


def name_of_row(run: Sequence[str]) -> str:
    """The id of the scope that is put around equal neighbours.

    >>> name_of_row(["net/layer1", "net/layer2", "net/layer3"])
    'net/layer1 … layer3'
    """
    return f"{run[0]} … {run[-1].rpartition('/')[2]}"


def kinds_in(node: dict[str, Any]) -> Mapping[str, int]:
    """How many nodes of each kind a node is or, in the place of dropped ones, stands for."""
    return node.get("holds") or {node["kind"]: 1}


def parents_of(nodes: Items) -> dict[str, str]:
    """Each scope in which a node lies, with the one around it, or ""; outer ones first."""
    parents: dict[str, str] = {}
    for path in dict.fromkeys(node["scope"] for node in nodes):
        parts = [part for part in path.split("/") if part]
        for depth in range(1, len(parts) + 1):
            parents.setdefault("/".join(parts[:depth]), "/".join(parts[: depth - 1]))
    return parents


def scope_entries(nodes: Items, edges: Items, repeats: Mapping[str, int]) -> list[dict[str, Any]]:
    """The `scopes` of the contract, outermost first; "a/b" lies in "a". Equal neighbours get a scope around them.

    `repeats` says of scopes that were made for a loop how many turns each holds.
    """
    parents = parents_of(nodes)
    times = {scope: repeats.get(scope, 1) for scope in parents}
    titles = {scope: scope.rpartition("/")[2] for scope in parents}
    for run in equal_neighbours(nodes, edges, {s: p for s, p in parents.items() if s not in repeats}):
        around = name_of_row(run)
        titles[around] = f"{titles[run[0]]} … {titles[run[-1]]}"
        parents[around], times[around] = parents[run[0]], repeats.get(around, len(run))
        parents.update(dict.fromkeys(run, around))
    ordered = sorted(parents, key=lambda scope: len(ancestors(scope, parents)))
    held = _contents(nodes, edges, parents)
    return [
        _entry(scope, f"s{i}", titles[scope], parents[scope], times[scope], held[scope])
        for i, scope in enumerate(ordered)
    ]


class _Content:
    """What is counted in one scope."""

    def __init__(self) -> None:
        self.ops = self.params = self.gradients = 0
        self.ins: dict[str, None] = {}
        self.outs: dict[str, None] = {}


def _contents(nodes: Items, edges: Items, parents: Parents) -> dict[str, _Content]:
    held: dict[str, _Content] = defaultdict(_Content)
    node_of = {node["id"]: node for node in nodes}
    chains: dict[str, list[str]] = {"": []}

    def around(node: dict[str, Any]) -> list[str]:
        scope = node["scope"]
        if scope not in chains:
            chains[scope] = ancestors(scope, parents)
        return chains[scope]

    for node in nodes:
        for scope in around(node):
            content = held[scope]
            count = kinds_in(node)
            content.params += count.get("shared", 0)
            content.gradients += count.get("gradient", 0)
            content.ops += 0 if node.get("back") else sum(count.get(kind, 0) for kind in OPS)
            if node["kind"] == "output":
                content.outs[shape_text(node["shape"])] = None
    for edge in edges:
        s, t = node_of[edge["s"]], node_of[edge["t"]]
        if edge["kind"] == "forward" and not t.get("back") and s["scope"] != t["scope"]:
            inner, outer = set(around(t)), set(around(s))
            for scope in inner - outer:
                held[scope].ins[shape_text(s["shape"])] = None
            for scope in outer - inner:
                held[scope].outs[shape_text(s["shape"])] = None
    return held


def _entry(scope: str, key: str, title: str, parent: str, times: int, held: _Content) -> dict[str, Any]:
    counts = [_counted("scope_ops", held.ops)]
    if held.params:
        counts.append(_counted("scope_params", held.params))
    words = " · ".join([shorten(title), *counts])
    repeated = f" × {times}" if times > 1 else ""
    flow = f"{_shapes(held.ins)} → {_shapes(held.outs)}" if held.ins or held.outs else ""
    gradients = _counted("scope_gradients", held.gradients)
    return {
        "id": scope,
        "key": key,
        "title": title,
        "parent": parent,
        "times": times,
        "label": words + repeated,
        "back_label": f"∂ {shorten(title)} · {gradients}{repeated}",
        "type": flow,
        "spoken": ", ".join(part for part in (message("widgets.spoken_scope"), words + repeated, flow) if part),
    }


def _counted(what: str, n: int) -> str:
    return message(f"widgets.{what}_one" if n == 1 else f"widgets.{what}", n=n)


def _shapes(found: Mapping[str, None]) -> str:
    texts = list(found)
    return ", ".join(texts[:SHAPES]) + (" …" if len(texts) > SHAPES else "") or "–"


def equal_neighbours(nodes: Items, edges: Items, parents: Parents) -> list[list[str]]:
    """Runs of at least `REPEATS` sibling scopes, one after the other, with the same ops wired in the same way."""
    signs = _signatures(nodes, edges, parents)
    siblings: dict[str, list[str]] = defaultdict(list)
    for scope, parent in parents.items():
        siblings[parent].append(scope)
    runs = []
    for group in siblings.values():
        for _, same in groupby(group, key=lambda scope: signs[scope]):
            run = list(same)
            if len(run) >= REPEATS:
                runs.append(run)
    return runs


def _signatures(nodes: Items, edges: Items, parents: Parents) -> dict[str, tuple]:
    """What makes two scopes equal: kinds, ops, shapes and inner wiring of their forward nodes, in order."""
    members: dict[str, list[dict[str, Any]]] = {scope: [] for scope in parents}
    for node in nodes:
        if node["kind"] not in ("gradient", "update") and not node.get("back"):
            for scope in ancestors(node["scope"], parents):
                members.setdefault(scope, []).append(node)
    producers: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for edge in edges:
        if edge["kind"] == "forward":
            producers[edge["t"]].append((edge["port"], edge["s"]))
    signs = {}
    for scope, inside in members.items():
        place = {node["id"]: i for i, node in enumerate(inside)}
        signs[scope] = tuple(
            (
                "op" if node["kind"] in OPS else node["kind"], node["op"], str(node["shape"]), node["dtype"],
                tuple((port, place.get(s, -1)) for port, s in sorted(producers[node["id"]])),
            )
            for node in inside
        )  # fmt: skip
    return signs
