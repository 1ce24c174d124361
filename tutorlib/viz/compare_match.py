"""Which node of one graph is which node of another: by provenance first, then by structure, then by position.

Reads contract nodes and edges (standard library only); what is said about a difference is in `compare_words.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Change", "Match", "Side", "match"]

LEAVES = frozenset({"input", "shared", "constant"})
COMMUTATIVE = frozenset({"add", "mul", "maximum", "minimum", "eq", "ne", "logaddexp"})
Node = dict[str, Any]


class Side:
    """One of the two graphs.

    Args:
        graph: the `graph` of a spec.
        keys: id → where a node comes from; nodes of both sides with the same key are the same one.
        facts: id → what else must agree: attributes of an op, the value of a constant, as text by name.
    """

    def __init__(
        self,
        graph: Mapping[str, Any],
        keys: Mapping[str, Hashable] | None = None,
        facts: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.nodes: dict[str, Node] = {node["id"]: node for node in graph["nodes"]}
        self.keys = dict(keys or {})
        self.facts = {name: dict((facts or {}).get(name, {})) for name in self.nodes}
        self.sources: dict[str, list[str]] = {name: [] for name in self.nodes}
        self.users: dict[str, list[tuple[str, int]]] = {name: [] for name in self.nodes}
        for edge in sorted(graph["edges"], key=lambda e: e.get("port") or 0):
            # An update belongs to its shared variable, which would else come after itself.
            if edge["kind"] == "update" and self.nodes[edge["t"]]["kind"] != "update":
                continue
            self.users[edge["s"]].append((edge["t"], len(self.sources[edge["t"]])))
            self.sources[edge["t"]].append(edge["s"])

    def ordered(self) -> list[str]:
        """Ids, each after those it is computed from."""
        waiting = {name: len(sources) for name, sources in self.sources.items()}
        ready = [name for name, count in waiting.items() if not count]
        for name in ready:
            for user, _ in self.users[name]:
                waiting[user] -= 1
                if not waiting[user]:
                    ready.append(user)
        return ready


@dataclass(frozen=True)
class Change:
    """One thing that differs in a matched node: `kind` is "op", "fact", "order", "lost", "new", "shape" or "dtype".

    `left` and `right` say what there is on each side: an op, "axis=1", a shape, or the id of a source.
    """

    kind: str
    left: str
    right: str


@dataclass
class Match:
    """What belongs together: `pairs` left id → right id, `changes` by left id, and the nodes of one side only."""

    left: Side
    right: Side
    pairs: dict[str, str]
    changes: dict[str, list[Change]]
    only_left: list[str] = field(default_factory=list)
    only_right: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.changes or self.only_left or self.only_right)

    def as_json(self) -> dict[str, Any]:
        """The `matches` entry of the contract: pairs with "=" or "~", the rest "-" (left only) and "+" (right only)."""
        return {
            "pairs": [[a, b, "~" if a in self.changes else "="] for a, b in self.pairs.items()],
            "left": self.only_left,
            "right": self.only_right,
        }


def match(left: Side, right: Side) -> Match:
    """Pair the nodes of two graphs; every node is in at most one pair."""
    pairs = _Pairs(left, right)
    pairs.by_provenance()
    pairs.by_name()
    pairs.by_structure()
    pairs.by_place(same_op=True)
    pairs.by_likeness()
    pairs.by_place(same_op=False)
    changes = {a: found for a, b in pairs.of.items() if (found := list(_changes(pairs, a, b)))}
    order = [name for name in left.nodes if name in pairs.of]
    return Match(
        left,
        right,
        {name: pairs.of[name] for name in order},
        changes,
        [name for name in left.nodes if name not in pairs.of],
        [name for name in right.nodes if name not in pairs.back],
    )


class _Pairs:
    """The pairs found so far, `of` from left to right and `back`."""

    def __init__(self, left: Side, right: Side) -> None:
        self.left, self.right = left, right
        self.of: dict[str, str] = {}
        self.back: dict[str, str] = {}

    def add(self, a: str, b: str) -> None:
        if a not in self.of and b not in self.back:
            self.of[a], self.back[b] = b, a

    def free(self, a: str, b: str) -> bool:
        return a not in self.of and b not in self.back

    def by_provenance(self) -> None:
        there = {key: name for name, key in self.right.keys.items()}
        for name, key in self.left.keys.items():
            if key in there:
                self.add(name, there[key])

    def by_name(self) -> None:
        """Leaves that a learner has given the same name, and nodes with the name of a gradient or update."""
        named: dict[Any, str] = {}
        for name, node in self.right.nodes.items():
            if _name(node) and name not in self.back:
                named.setdefault((_name(node), _rank(node)), name)
        for name, node in self.left.nodes.items():
            found = named.get((_name(node), _rank(node))) if _name(node) else None
            if found is not None and _rank(node) != "op":
                self.add(name, found)

    def by_structure(self) -> None:
        """Ops with the same attributes on matched inputs, from the leaves up."""
        there: dict[Any, list[str]] = defaultdict(list)
        for name in self.right.ordered():
            if name not in self.back and self.right.sources[name]:
                there[self._shape_of(self.right, name, {})].append(name)
        # A right node is known by its inputs' own ids; a left one by the ids that its inputs are matched with.
        for name in self.left.ordered():
            if name in self.of or not self.left.sources[name]:
                continue
            self._constants_of(name, there)
            key = self._shape_of(self.left, name, self.of)
            found = next((b for b in there.get(key, ()) if b not in self.back), None)
            if found is not None:
                self.add(name, found)

    def _constants_of(self, name: str, there: Mapping[Any, list[str]]) -> None:
        """Constants have no name: those of equal value belong together where the ops that read them do."""
        mine = [s for s in self.left.sources[name] if s not in self.of and self.left.nodes[s]["kind"] == "constant"]
        if not mine:
            return
        for candidate in (b for found in there.values() for b in found if b not in self.back):
            if self.right.nodes[candidate]["op"] != self.left.nodes[name]["op"]:
                continue
            trial = dict(self.of)
            for a in mine:
                for b in self.right.sources[candidate]:
                    if b not in self.back and b not in trial.values() and self._same_leaf(a, b):
                        trial[a] = b
                        break
            if self._shape_of(self.left, name, trial) == self._shape_of(self.right, candidate, {}):
                for a in mine:
                    if a in trial:
                        self.add(a, trial[a])
                return

    def _shape_of(self, side: Side, name: str, mapped: Mapping[str, str]) -> Any:
        node = side.nodes[name]
        sources = [mapped.get(s, "" if side is self.left else s) for s in side.sources[name]]
        if node["op"] in COMMUTATIVE:
            sources.sort()
        return (node["op"], node["scope"], tuple(sorted(side.facts[name].items())), tuple(sources))

    def _same_leaf(self, a: str, b: str) -> bool:
        one, other = self.left.nodes[a], self.right.nodes[b]
        return one["kind"] == other["kind"] and self.left.facts[a] == self.right.facts[b]

    def by_place(self, same_op: bool) -> None:
        """From the results down: what stands at the same input of a matched pair, if it is of the same op or kind."""
        mine, theirs = _results(self.left), _results(self.right)
        if len(mine) == len(theirs):
            for a, b in zip(mine, theirs, strict=True):
                if self.free(a, b) and (self.left.nodes[a]["op"] == self.right.nodes[b]["op"] or not same_op):
                    self.add(a, b)
        todo = list(self.of.items())
        while todo:
            a, b = todo.pop()
            for x, y in self._loose_inputs(a, b):
                one, other = self.left.nodes[x], self.right.nodes[y]
                same = one["op"] == other["op"] if one["op"] else self._same_leaf(x, y)
                if self.free(x, y) and (same or (not same_op and _rank(one) == _rank(other))):
                    self.add(x, y)
                    todo.append((x, y))

    def _loose_inputs(self, a: str, b: str) -> list[tuple[str, str]]:
        """Inputs of a pair that are not matched yet, in the order of their ports."""
        mine = [s for s in self.left.sources[a] if s not in self.of]
        theirs = [s for s in self.right.sources[b] if s not in self.back]
        if self.left.nodes[a]["op"] in COMMUTATIVE:
            by_op = {self.right.nodes[s]["op"]: s for s in theirs}
            mine = sorted(mine, key=lambda s: self.left.nodes[s]["op"] not in by_op)
            known = [by_op.get(self.left.nodes[s]["op"]) for s in mine]
            first = [(s, t) for s, t in zip(mine, known, strict=True) if t is not None]
            rest = [t for t in theirs if t not in {t for _, t in first}]
            return first + list(zip((s for s in mine if s not in {s for s, _ in first}), rest, strict=False))
        return list(zip(mine, theirs, strict=False))

    def by_likeness(self) -> None:
        """Ops left over: the same op with most neighbours in common."""
        by_op: dict[Any, list[str]] = defaultdict(list)
        for name, node in self.right.nodes.items():
            if node["op"] and name not in self.back:
                by_op[node["op"]].append(name)
        scored = []
        for name, node in self.left.nodes.items():
            if not node["op"] or name in self.of:
                continue
            around = {self.of.get(s) for s in self.left.sources[name]} | {
                self.of.get(u) for u, _ in self.left.users[name]
            }
            for other in by_op.get(node["op"], ()):
                there = {*self.right.sources[other], *(u for u, _ in self.right.users[other])}
                common = len((around - {None}) & there)
                if common:
                    scored.append((-common, name, other))
        for _, a, b in sorted(scored):
            self.add(a, b)


def _rank(node: Node) -> str:
    """Kinds that may be matched with each other: an output is an op that was asked for."""
    kind = node["kind"]
    return "op" if kind in ("op", "output", "error") else kind


def _name(node: Node) -> str:
    return node["name"] or (node["label"] if node["kind"] == "update" else "")


def _results(side: Side) -> list[str]:
    marked = [name for name, node in side.nodes.items() if node["kind"] == "output"]
    return marked or [name for name, users in side.users.items() if not users and side.nodes[name]["op"]]


def _changes(pairs: _Pairs, a: str, b: str) -> Iterator[Change]:
    """How two matched nodes differ."""
    left, right = pairs.left, pairs.right
    one, other = left.nodes[a], right.nodes[b]
    if one["op"] != other["op"]:
        yield Change("op", one["op"] or one["label"], other["op"] or other["label"])
    else:
        for key in sorted({*left.facts[a], *right.facts[b]}):
            mine, theirs = left.facts[a].get(key), right.facts[b].get(key)
            if mine != theirs:
                yield Change("fact", f"{key}={mine}", f"{key}={theirs}")
    mine_there = [pairs.of.get(s, f"left {s}") for s in left.sources[a]]
    theirs_there = right.sources[b]
    lost, new = Counter(theirs_there) - Counter(mine_there), Counter(mine_there) - Counter(theirs_there)
    for name in lost:
        yield Change("lost", pairs.back.get(name, ""), name)
    for source, there in zip(left.sources[a], mine_there, strict=True):
        if there in new:
            yield Change("new", source, pairs.of.get(source, ""))
    if not lost and not new and mine_there != theirs_there and one["op"] not in COMMUTATIVE:
        yield Change("order", " ".join(left.sources[a]), " ".join(theirs_there))
    if not _agree(one["shape"], other["shape"]):
        yield Change("shape", repr(one["shape"]), repr(other["shape"]))
    if one["dtype"] and other["dtype"] and one["dtype"] != other["dtype"]:
        yield Change("dtype", one["dtype"], other["dtype"])


def _agree(one: list[int | None] | None, other: list[int | None] | None) -> bool:
    """Whether two shapes can be the same: a length that is not known may be any."""
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(a == b or a is None or b is None for a, b in zip(one, other, strict=True))
