"""What of a very long loop is drawn: its first turns, its last ones, and those where NaN or inf began.

A node stands for the turns between, so that neither the layout nor what is sent to the page grows with the length of a
loop. Rows of equal named scopes, such as the layers of a very deep network, are cut in the same way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.gradients import Flow
from tutorlib.viz.model import Drawing
from tutorlib.viz.repeats import Loop
from tutorlib.viz.scopes import ancestors, equal_neighbours, mark_back, name_of_row, parents_of

__all__ = ["leave_out_turns"]

ENDS = 12
FAULTS = 6
SEEDS = ("input", "shared", "constant")


def leave_out_turns(drawing: Drawing, flow: Flow | None, loops: Iterable[Loop]) -> dict[str, int]:
    """Drop what lies in the middle of long loops: fills `drawing.dropped`, shortens the loops, and adds the nodes that
    stand for what is gone, with a note. Returns the scopes around shortened rows of scopes, with the length of each.
    Expects the `fault` of every node that has one.
    """
    mark_back(drawing.nodes, drawing.edges)
    cut = _Cut(drawing)
    for loop in loops:
        kept = cut.middle(loop.turns)
        if kept is not None:
            loop.turns, loop.numbers = _shortened(loop, kept, cut.gaps)
    rows = _rows_of_scopes(drawing)
    for scope, turns in rows.items():
        cut.middle(turns, scope)
    if cut.gap_of:
        cut.spread()
        cut.bridge()
        if flow is not None:
            flow.steps = [name for name in flow.steps if name not in drawing.dropped]
        _follow_faults(drawing)
        drawing.hidden += len(drawing.dropped)
        drawing.notes.append(message("widgets.note_turns", n=ENDS))
    return {scope: len(turns) for scope, turns in rows.items()}


def _shortened(loop: Loop, kept: Sequence[int], gaps: dict[int, str]) -> tuple[list[list[str]], list[int]]:
    """The turns that are kept, with the gap between two of them as a turn of its own."""
    turns, numbers = [], []
    for at, before in zip(kept, (-1, *kept), strict=False):
        if at > before + 1:
            turns.append([gaps[id(loop.turns[before + 1])]])
            numbers.append(loop.numbers[before + 1])
        turns.append(loop.turns[at])
        numbers.append(loop.numbers[at])
    return turns, numbers


def _rows_of_scopes(drawing: Drawing) -> dict[str, list[list[str]]]:
    """Long rows of equal neighbours among the scopes that the learner named: the forward nodes of each scope."""
    parents = parents_of(drawing.nodes)
    rows = [run for run in equal_neighbours(drawing.nodes, drawing.edges, parents) if len(run) > 2 * ENDS + 1]
    in_row = {scope for run in rows for scope in run}
    held: dict[str, list[str]] = defaultdict(list)
    for name in (drawing.ids[id(node)] for node in drawing.order):
        for scope in ancestors(drawing.node(name)["scope"], parents):
            if scope in in_row and not drawing.node(name).get("back"):
                held[scope].append(name)
    return {name_of_row(run): [held[scope] for scope in run] for run in rows}


class _Cut:
    """Collects what is dropped and which gap it falls into; `gaps` are the nodes that stand for it."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.gap_of: dict[str, str] = {}
        self.gaps: dict[int, str] = {}
        self.beside: dict[str, str] = {}
        bad = (node for node in drawing.nodes if node.get("fault", {}).get("origin") == node["id"])
        self.began = {node["grad_of"] or node["id"] for node in bad}

    def middle(self, turns: list[list[str]], scope: str = "") -> list[int] | None:
        """Drop the middle of these turns; returns the places of those that are kept, or None where all are."""
        if len(turns) <= 2 * ENDS + 1:
            return None
        bad = [at for at, turn in enumerate(turns) if not self.began.isdisjoint(turn)][:FAULTS]
        near = {place for at in bad for place in (at - 1, at, at + 1) if 0 <= place < len(turns)}
        kept = sorted({*range(ENDS), *range(len(turns) - ENDS, len(turns)), *near})
        for before, after in pairwise(kept):
            if after > before + 1:
                self._gap(turns[before + 1 : after], scope)
        return kept

    def _gap(self, turns: list[list[str]], scope: str) -> None:
        words = message("widgets.turns_between", n=len(turns))
        found = self.drawing.add("op", words, scope=scope, name=words)
        self.drawing.node(found)["letter"] = "⋯"
        self.gaps[id(turns[0])] = found
        for turn in turns:
            self.gap_of.update(dict.fromkeys(turn, found))

    def spread(self) -> None:
        """Drop, too, what only serves what is dropped: leaves, gradients, the arithmetic of updates."""
        nodes = [node for node in self.drawing.nodes if node["id"] not in self.gap_of]
        readers: dict[str, list[str]] = defaultdict(list)
        for edge in self.drawing.edges:
            readers[edge["s"]].append(edge["t"])
        for node in nodes:
            if node["kind"] in SEEDS:
                own = [r for r in readers[node["id"]] if not self._is_back(r)]
                self._follow(node["id"], own or readers[node["id"]])
        for node in nodes:
            of = node.get("grad_of") or node.get("update_of")
            if of in self.gap_of:
                self.gap_of[node["id"]] = self.gap_of[of]
        for node in nodes:
            if node["kind"] == "op" and node.get("back"):
                made_of = [edge["s"] for edge in self.drawing.edges_into(node["id"])]
                self._follow(node["id"], [s for s in made_of if self._is_back(s) and not self._is_leaf(s)])
        for node in nodes:
            if node["kind"] == "constant" and node.get("back"):
                self._follow(node["id"], readers[node["id"]])

    def _is_back(self, name: str) -> bool:
        node = self.drawing.node(name)
        return bool(node.get("back")) or node["kind"] in ("gradient", "update")

    def _is_leaf(self, name: str) -> bool:
        return self.drawing.node(name)["kind"] in SEEDS

    def _follow(self, name: str, others: Sequence[str]) -> None:
        """Drop `name` if all of `others` are."""
        if others and all(other in self.gap_of for other in others):
            self.gap_of[name] = self.gap_of[others[0]]

    def bridge(self) -> None:
        """Let edges end at the gaps; the backward part of a gap is a node of its own beside it."""
        drawing = self.drawing
        drawing.dropped.update(self.gap_of)
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        place = {}
        for name, gap in self.gap_of.items():
            node = drawing.node(name)
            place[name] = self._backward(gap) if self._is_back(name) else gap
            counts[place[name]]["op" if node["kind"] == "output" else node["kind"]] += 1
        for gap, count in counts.items():
            drawing.node(gap)["holds"] = dict(count)
        seen: set[tuple[str, str, str]] = set()
        edges = []
        for edge in drawing.edges:
            s, t = place.get(edge["s"], edge["s"]), place.get(edge["t"], edge["t"])
            if (s, t) == (edge["s"], edge["t"]):
                edges.append(edge)
            elif s != t and edge["kind"] != "update" and (s, t, edge["kind"]) not in seen:
                seen.add((s, t, edge["kind"]))
                edges.append({**edge, "s": s, "t": t, "broadcast": []})
        drawing.replace_edges(edges)

    def _backward(self, gap: str) -> str:
        if gap not in self.beside:
            of = self.drawing.node(gap)
            words = f"∂ {of['label']}"
            found = self.beside[gap] = self.drawing.add("gradient", words, grad_of=gap, scope=of["scope"], name=words)
            self.drawing.node(found)["back"] = True
        return self.beside[gap]


def _follow_faults(drawing: Drawing) -> None:
    """Let the way that NaN took lead past what was dropped."""
    for node in drawing.nodes:
        fault: dict[str, Any] | None = node.get("fault")
        while fault and fault["back"] in drawing.dropped:
            fault["back"] = drawing.node(fault["back"])["fault"]["back"]
