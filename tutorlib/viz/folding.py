"""Folded scopes: which are folded at first, the graph that is then seen, and its layout. Standard library only.

A folded scope is one pill; its gradients, and what is computed from them, are a second pill beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.edge_touch import label_places, upright_ends
from tutorlib.viz.face import face
from tutorlib.viz.frames import frames
from tutorlib.viz.layout import Box, Link, layout
from tutorlib.viz.outline import outline
from tutorlib.viz.scopes import ancestors

__all__ = ["AUTO", "MOST", "Collapse", "choose", "likely_views", "places", "shown", "view_of"]

AUTO = 300
MOST = 1000
AHEAD = 1500
SAME_ROW = 6.0
Collapse = None | str | int | Iterable[str] | Callable[[str], bool]
Graph = dict[str, Any]


class _Tree:
    """The scopes of a graph with how many items of each would be seen."""

    def __init__(self, graph: Graph) -> None:
        self.entries = {entry["id"]: entry for entry in graph["scopes"]}
        self.parents = {name: entry["parent"] for name, entry in self.entries.items()}
        self.depth = {name: len(ancestors(name, self.parents)) for name in self.entries}
        self.children: dict[str, list[str]] = defaultdict(list)
        for name, parent in self.parents.items():
            self.children[parent].append(name)
        self.own: dict[str, int] = defaultdict(int)
        self.sides: dict[str, set[bool]] = defaultdict(set)
        for node in graph["nodes"]:
            self.own[node["scope"]] += 1
            self.sides[node["scope"]].add(bool(node.get("back")))
        for name in sorted(self.entries, key=lambda n: -self.depth[n]):
            self.sides[self.parents[name]] |= self.sides[name]

    def count(self, collapsed: set[str]) -> int:
        """How many items are seen with these scopes folded."""
        total, stack = self.own[""], list(self.children[""])
        while stack:
            name = stack.pop()
            if name in collapsed:
                total += len(self.sides[name])
            else:
                total += self.own[name]
                stack += self.children[name]
        return total

    def deepest_first(self, collapsed: set[str], limit: int) -> set[str]:
        """`collapsed` and as many whole levels of scopes, the deepest first, as keep what is seen within `limit`."""
        found = set(collapsed)
        for depth in range(max(self.depth.values(), default=0), 0, -1):
            if self.count(found) <= limit:
                break
            found |= {name for name in self.entries if self.depth[name] == depth}
            # A row of equal pills says no more than one with their number.
            found |= {n for n in self.entries if self.entries[n]["times"] > 1 and set(self.children[n]) <= found}
        return found


def choose(graph: Graph, collapse: Collapse = None, repeats: Mapping[str, int] | None = None) -> list[str]:
    """The ids of the scopes that are folded at first, in the order of the graph.

    Args:
        collapse: None (as many as are needed to see at most 300 nodes, and every loop found in a large graph), "all",
            a depth (scopes that deep or deeper, 1 is the outermost), names, or a function from name to bool.
        repeats: scopes that were made for loops.

    At most 1,000 nodes are ever seen: beyond that more is folded. Raises ValueError for a name that no scope has.
    """
    tree = _Tree(graph)
    if collapse is None:
        found = tree.deepest_first(set(repeats or ()), AUTO)
    else:
        found = tree.deepest_first(_asked(tree, collapse), MOST)
    return [name for name in tree.entries if name in found]


def _asked(tree: _Tree, collapse: Any) -> set[str]:
    names = list(tree.entries)
    if callable(collapse):
        return {name for name in names if collapse(name)}
    if isinstance(collapse, int) and not isinstance(collapse, bool):
        return {name for name in names if tree.depth[name] >= collapse}
    if collapse == "all":
        return set(names)
    wanted = [collapse] if isinstance(collapse, str) else list(collapse)
    found = {n for n in names for w in wanted if w in (n, tree.entries[n]["title"])}
    unknown = [w for w in wanted if not any(w in (n, tree.entries[n]["title"]) for n in found)]
    if unknown:
        raise ValueError(message("widgets.error_no_scope", name=unknown[0], names=", ".join(names[:20]) or "–"))
    return found


def places(graph: Graph, collapsed: Iterable[str]) -> dict[str, str]:
    """Where each node is seen: its own id, or that of the pill that it is in."""
    folded, entries = set(collapsed), {entry["id"]: entry for entry in graph["scopes"]}
    parents = {name: entry["parent"] for name, entry in entries.items()}
    pills = {"": ""}
    for scope in {node["scope"] for node in graph["nodes"]}:
        around = [name for name in ancestors(scope, parents) if name in folded]
        pills[scope] = entries[around[-1]]["key"] if around else ""
    found = {}
    for node in graph["nodes"]:
        pill = pills[node["scope"]]
        found[node["id"]] = pill + "g" * bool(node.get("back")) if pill else node["id"]
    return found


def shown(graph: Graph, collapsed: Iterable[str]) -> Graph:
    """The graph as it is seen: nodes outside the folded scopes, pills in their places, edges between those."""
    place = places(graph, collapsed)
    pills = {entry["key"] + side: _pill(entry, bool(side)) for entry in graph["scopes"] for side in ("", "g")}
    seen: dict[str, dict[str, Any]] = {}
    for node in graph["nodes"]:
        name = place[node["id"]]
        if name not in seen:
            seen[name] = node if name == node["id"] else pills[name]
    nodes = [dict(node) for node in seen.values()]
    for node in nodes:
        for link in ("grad_of", "update_of", "target"):
            target = node.get(link)
            if target:
                target = place.get(target, target)
                node[link] = target if target in seen else None
    edges: dict[tuple[str, str, str], dict[str, Any]] = {}
    for edge in graph["edges"]:
        s, t = place[edge["s"]], place[edge["t"]]
        if s == t:
            continue
        if (s, t) == (edge["s"], edge["t"]):
            edges[edge["id"], "", ""] = edge
            continue
        known = edges.setdefault((s, t, edge["kind"]), {**edge, "s": s, "t": t, "broadcast": []})
        if known["label"] != edge["label"]:
            known["label"] = ""
    return {"nodes": nodes, "edges": list(edges.values()), "scopes": graph["scopes"]}


def _pill(entry: dict[str, Any], back: bool) -> dict[str, Any]:
    """What stands for a folded scope: a node of kind "scope", or for its backward part of kind "gradient"."""
    return {
        "id": entry["key"] + "g" * back,
        "kind": "gradient" if back else "scope",
        "op": None,
        "name": None,
        "letter": "▸",
        "label": entry["back_label" if back else "label"],
        "scope": entry["parent"],
        "type": "" if back else entry["type"],
        "spoken": entry["back_label"] if back else entry["spoken"],
        "grad_of": entry["key"] if back else None,
        "fold": entry["id"],
        "back": back,
    }


def view_of(spec: dict[str, Any], collapsed: Sequence[str], direction: str = "TB") -> dict[str, Any]:
    """What changes when other scopes are folded: `collapsed`, `layout`, `frames`, `rows`, `levels` and `text`."""
    graph, values = spec["graph"], spec["values"]
    seen = shown(graph, collapsed)
    parents = {entry["id"]: entry["parent"] for entry in graph["scopes"]}
    # Beside its op, where a shared variable or a constant stands, there would be no room for the shape that is wrong.
    misfits = {edge["s"] for edge in seen["edges"] if "wrong" in edge}
    boxes = []
    for node in seen["nodes"]:
        size = face(node, values.get(node.get("value") or ""))
        of = (node.get("grad_of") or "", node.get("update_of") or "")
        around = tuple(ancestors(node["scope"], parents))
        kind = "input" if node["id"] in misfits else node["kind"]
        boxes.append(Box(node["id"], size.w, size.h, kind, *of, around))
    placed = layout(boxes, [Link(e["id"], e["s"], e["t"], e["kind"]) for e in seen["edges"]], direction)
    along = 1 if direction == "TB" else 0
    for edge in seen["edges"]:
        if edge["id"] in placed.edges:
            ends = placed.nodes[edge["s"]], placed.nodes[edge["t"]]
            placed.edges[edge["id"]] = upright_ends(placed.edges[edge["id"]], *ends, along)
    around_scopes = frames(seen, placed.nodes)
    bars = {frame["key"]: frame["bar"] for frame in around_scopes if frame["main"]}
    taken = [*placed.nodes.values(), *(frame["bar"] for frame in around_scopes)]
    return {
        "collapsed": list(collapsed),
        "layout": placed.as_json() | {"labels": label_places(seen["edges"], placed.edges, taken)},
        "frames": around_scopes,
        "rows": _rows(placed.nodes | bars),
        "levels": _levels(seen["nodes"], seen["edges"]),
        "text": outline(seen, values, hidden=spec["hidden"]),
    }


def likely_views(spec: dict[str, Any], direction: str = "TB") -> list[dict[str, Any]]:
    """Views a person may want next, so that the page has them without a kernel: all open, all folded, one changed.

    Together they place at most so many nodes that making them stays quick.
    """
    tree = _Tree(spec["graph"])
    now = set(spec["collapsed"])
    order = list(tree.entries)
    wanted = [set(), set(order)]
    for name in order:
        if not any(outer in now for outer in ancestors(name, tree.parents)[1:]):
            wanted.append(now ^ {name})
    views: list[dict[str, Any]] = []
    done, room = [now], AHEAD
    for collapsed in wanted:
        count = tree.count(collapsed)
        if collapsed in done or count > min(room, MOST):
            continue
        done.append(collapsed)
        room -= count
        views.append(view_of(spec, [name for name in order if name in collapsed], direction))
    return views


def _rows(places: dict[str, list[float]]) -> list[list[str]]:
    """What stands at one height, from left to right; from top to bottom."""
    middles = sorted((y + h / 2, x + w / 2, name) for name, (x, y, w, h) in places.items())
    rows: list[list[tuple[float, float, str]]] = []
    for spot in middles:
        if rows and spot[0] - rows[-1][0][0] <= SAME_ROW:
            rows[-1].append(spot)
        else:
            rows.append([spot])
    return [[name for _, name in sorted(spot[1:] for spot in row)] for row in rows]


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
