"""Loops in large graphs: ops that one line made again and again get scopes, a turn each, though nobody named them.

What no loop explains is cut into stretches of the graph's order. So a graph of any size folds to what can be seen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.model import Drawing
from tutorlib.viz.names import place_of

__all__ = ["Loop", "find_loops", "nest_loops"]

FEW = 150
TURNS = 3
BRANCHES = 32


@dataclass
class Loop:
    """Turns of one loop, lists of node ids, with the number of each from 1; `total` is how many there are in all."""

    scope: str
    title: str
    turns: list[list[str]]
    numbers: list[int]
    total: int
    alone: bool
    """Whether each turn is one op: then it needs no scope of its own."""


@dataclass
class _Run:
    """A stretch of nodes in which the same places of the program come again: `turns` are lists of node ids."""

    turns: list[list[str]] = field(default_factory=lambda: [[]])
    body: set[Any] = field(default_factory=set)
    in_turn: set[Any] = field(default_factory=set)


def find_loops(drawing: Drawing) -> list[Loop]:
    """The loops in each scope that holds many nodes, and stretches of what no loop explains.

    Nodes of one scope are taken in an order in which a turn's ops stand together: each op as late as it can.
    """
    many: dict[str, list[str]] = defaultdict(list)
    for name in _order(drawing):
        many[drawing.node(name)["scope"]].append(name)
    found: list[Loop] = []
    for scope, names in many.items():
        if len(names) > FEW:
            loose: list[list[str]] = [[]]
            for run in _runs(drawing, names):
                if len(run.turns) >= TURNS:
                    found.append(_loop(scope, _title(drawing, run), run.turns))
                    loose.append([])
                else:
                    loose[-1] += [name for turn in run.turns for name in turn]
            if sum(map(len, loose)) > FEW:
                stretches = [[[name] for name in stretch] for stretch in loose if len(stretch) > BRANCHES]
                found += [_loop(scope, message("widgets.scope_stretch"), turns) for turns in stretches]
    return found


def _loop(scope: str, title: str, turns: list[list[str]]) -> Loop:
    return Loop(scope, title, turns, list(range(1, len(turns) + 1)), len(turns), max(map(len, turns)) == 1)


def nest_loops(drawing: Drawing, loops: Iterable[Loop]) -> dict[str, int]:
    """Put the nodes of loops into scopes of their own; returns the turns in each."""
    made: dict[str, int] = {}
    for loop in loops:
        _nest(drawing, loop, made)
    return made


def _order(drawing: Drawing) -> list[str]:
    """Ids of the forward ops, each after those it uses, and the deepest of these first."""
    sources: dict[str, list[str]] = {}
    depth: dict[str, int] = {}
    used: set[str] = set()
    for name in (drawing.ids[id(node)] for node in drawing.order):
        if drawing.node(name)["kind"] in ("op", "output", "error"):
            sources[name] = [edge["s"] for edge in drawing.edges_into(name) if edge["s"] in depth]
            depth[name] = 1 + max((depth[s] for s in sources[name]), default=0)
            used.update(sources[name])
    order: list[str] = []
    done: set[str] = set()
    for end in (name for name in sources if name not in used):
        stack = [(end, False)]
        while stack:
            name, ready = stack.pop()
            if ready:
                order.append(name)
            elif name not in done:
                done.add(name)
                stack.append((name, True))
                stack += [(s, False) for s in sorted(sources[name], key=depth.__getitem__) if s not in done]
    return order


def _runs(drawing: Drawing, names: list[str]) -> list[_Run]:
    """The order cut where a loop begins or ends; nodes of no loop make stretches of one turn."""
    places = {name: place_of(drawing.objects[name]) or drawing.node(name)["op"] for name in names}
    times = Counter(places.values())
    found = [_Run()]
    for name in names:
        place, run = places[name], found[-1]
        repeated = times[place] >= TURNS
        if repeated != bool(run.body) or (len(run.turns) > 1 and place not in run.body):
            run = _Run()
            found.append(run)
        if repeated:
            if place in run.in_turn:
                run.turns.append([])
                run.in_turn = set()
            run.in_turn.add(place)
            run.body.add(place)
        run.turns[-1].append(name)
    return [run for run in found if run.turns[0]]


def _title(drawing: Drawing, run: _Run) -> str:
    src = drawing.node(run.turns[0][0])["src"]
    return (src["where"] if src else message("widgets.scope_stretch")).replace("/", "∕")


def _nest(drawing: Drawing, loop: Loop, made: dict[str, int]) -> None:
    """Scopes inside scopes, none with more than `BRANCHES` parts."""
    start = f"{loop.scope}/{loop.title}" if loop.scope else loop.title
    path, again = start, 2
    while path in made:
        path, again = f"{start} ({again})", again + 1
    made[path] = loop.total
    spans = [span for span in (BRANCHES**3, BRANCHES**2, BRANCHES) if span < len(loop.turns)]
    for at, (number, turn) in enumerate(zip(loop.numbers, loop.turns, strict=True)):
        inner = path
        for span in spans:
            first = at // span * span
            last = min(first + span, len(loop.turns))
            inner = f"{inner}/{loop.numbers[first]}–{loop.numbers[last - 1]}"
            made[inner] = last - first
        if not loop.alone and len(turn) > 1:
            inner = f"{inner}/{number}"
            made[inner] = 1
        for name in turn:
            drawing.node(name)["scope"] = inner
