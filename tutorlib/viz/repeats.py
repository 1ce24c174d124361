"""Loops in large graphs: ops that one line made again and again get scopes, a turn each, though nobody named them.

What no loop explains is cut into stretches of the graph's order. So a graph of any size folds to what can be seen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.model import Drawing
from tutorlib.viz.names import place_of

__all__ = ["scope_repeats"]

FEW = 150
TURNS = 3
BRANCHES = 32


@dataclass
class _Loop:
    """A stretch of nodes in which the same places of the program come again: `turns` are lists of node ids."""

    turns: list[list[str]] = field(default_factory=lambda: [[]])
    body: set[Any] = field(default_factory=set)
    in_turn: set[Any] = field(default_factory=set)


def scope_repeats(drawing: Drawing) -> dict[str, int]:
    """Put the ops of loops into scopes of their own, in each scope that holds many; returns the turns in each.

    Nodes of one scope are taken in an order in which a turn's ops stand together: each op as late as it can.
    """
    many: dict[str, list[str]] = defaultdict(list)
    for name in _order(drawing):
        many[drawing.node(name)["scope"]].append(name)
    made: dict[str, int] = {}
    for scope, names in many.items():
        if len(names) > FEW:
            loose: list[list[str]] = [[]]
            for loop in _loops(drawing, names):
                if len(loop.turns) >= TURNS:
                    _nest(drawing, loop.turns, scope, _title(drawing, loop), made)
                    loose.append([])
                else:
                    loose[-1] += [name for turn in loop.turns for name in turn]
            if sum(map(len, loose)) > FEW:
                for stretch in loose:
                    if len(stretch) > BRANCHES:
                        _nest(drawing, [[name] for name in stretch], scope, message("widgets.scope_stretch"), made)
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


def _loops(drawing: Drawing, names: list[str]) -> list[_Loop]:
    """The order cut where a loop begins or ends; nodes of no loop make stretches of one turn."""
    places = {name: place_of(drawing.objects[name]) or drawing.node(name)["op"] for name in names}
    times = Counter(places.values())
    found = [_Loop()]
    for name in names:
        place, loop = places[name], found[-1]
        repeated = times[place] >= TURNS
        if repeated != bool(loop.body) or (len(loop.turns) > 1 and place not in loop.body):
            loop = _Loop()
            found.append(loop)
        if repeated:
            if place in loop.in_turn:
                loop.turns.append([])
                loop.in_turn = set()
            loop.in_turn.add(place)
            loop.body.add(place)
        loop.turns[-1].append(name)
    return [loop for loop in found if loop.turns[0]]


def _title(drawing: Drawing, loop: _Loop) -> str:
    src = drawing.node(loop.turns[0][0])["src"]
    return (src["where"] if src else message("widgets.scope_stretch")).replace("/", "∕")


def _nest(drawing: Drawing, turns: list[list[str]], scope: str, title: str, made: dict[str, int]) -> None:
    """Scopes inside scopes, none with more than `BRANCHES` parts."""
    start = f"{scope}/{title}" if scope else title
    path, again = start, 2
    while path in made:
        path, again = f"{start} ({again})", again + 1
    alone = max(map(len, turns)) == 1
    made[path] = len(turns)
    spans = [span for span in (BRANCHES**3, BRANCHES**2, BRANCHES) if span < len(turns)]
    for at, turn in enumerate(turns):
        inner = path
        for span in spans:
            first = at // span * span
            last = min(first + span, len(turns))
            inner = f"{inner}/{first + 1}–{last}"
            made[inner] = last - first
        if not alone:
            inner = f"{inner}/{at + 1}"
            made[inner] = 1
        for name in turn:
            drawing.node(name)["scope"] = inner
