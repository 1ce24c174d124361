"""What differs between two matched graphs, in sentences; the unified diff of their outlines. Standard library only."""

from __future__ import annotations

import difflib
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.compare_match import LEAVES, Change, Match, Side
from tutorlib.viz.face import shape_text, shorten
from tutorlib.viz.outline import outline

__all__ = ["Titles", "differences", "outline_diff", "said"]


class Titles:
    """What the two graphs are called; `learner` says that the left one is an answer and the right one its reference."""

    def __init__(self, left: str, right: str, learner: bool = False) -> None:
        self.left, self.right, self.learner = left, right, learner


def said(node: dict[str, Any]) -> str:
    """A node in a sentence: its op with the name that a learner gave it, or what is written on it."""
    name = shorten(str(node["name"] or ""), 40)
    op = node["op"] or ""
    return f"{op} ({name})" if op and name else op or name or node["label"]


def differences(found: Match, titles: Titles) -> list[str]:
    """One sentence for each difference; none for equal graphs."""
    words = _Words(found, titles)
    for name in found.only_right:
        words.missing(name)
    for name in found.only_left:
        words.extra(name)
    for name, changes in found.changes.items():
        # Another op is told of alone: its operands are another matter, too.
        other_op = [change for change in changes if change.kind == "op"]
        for change in other_op or changes:
            words.changed(name, change)
    return list(dict.fromkeys(words.sentences))


class _Words:
    def __init__(self, found: Match, titles: Titles) -> None:
        self.match, self.titles = found, titles
        self.left, self.right = found.left, found.right
        self.sentences: list[str] = []
        self._missing = set(found.only_right)
        self._extra = set(found.only_left)

    def say(self, id: str, **fields: Any) -> None:
        kind = "learner" if self.titles.learner else "graphs"
        titles = {"left": self.titles.left, "right": self.titles.right}
        self.sentences.append(message(f"widgets.compare_{kind}_{id}", **titles, **fields))

    def missing(self, name: str) -> None:
        """A node of the right graph only. A leaf is told of by the ops that read it."""
        node = self.right.nodes[name]
        if node["kind"] in LEAVES and self.right.users[name]:
            return
        sources = self._sources(self.right, name)
        self.say("missing" if sources else "missing_leaf", what=said(node), **({"sources": sources} if sources else {}))

    def extra(self, name: str) -> None:
        node = self.left.nodes[name]
        if node["kind"] in LEAVES and self.left.users[name]:
            return
        self.say("extra", what=said(node), where=_where(node))

    def changed(self, name: str, change: Change) -> None:
        node = self.left.nodes[name]
        what, where = said(node), _where(node)
        if change.kind == "op":
            self.say("op", one=change.left, other=change.right, where=where)
        elif change.kind == "fact":
            self.say("fact", what=what, one=change.left, other=change.right, where=where)
        elif change.kind == "lost" and not self._bypassed(self._extra, self.left, name, change.left):
            if change.right not in self._missing or self.right.nodes[change.right]["kind"] in LEAVES:
                self.say("lost", source=said(self.right.nodes[change.right]), what=what, where=where)
        elif change.kind == "new" and not self._bypassed(
            self._missing, self.right, self.match.pairs[name], change.right
        ):
            if change.left not in self._extra or self.left.nodes[change.left]["kind"] in LEAVES:
                self.say("new", source=said(self.left.nodes[change.left]), what=what, where=where)
        elif change.kind == "order":
            mine = ", ".join(said(self.left.nodes[s]) for s in change.left.split())
            theirs = ", ".join(said(self.right.nodes[s]) for s in change.right.split())
            self.say("order", what=what, one=mine, other=theirs, where=where)
        elif change.kind in ("shape", "dtype") and not self._follows(name, change.kind):
            other = self.right.nodes[self.match.pairs[name]]
            one, two = node[change.kind], other[change.kind]
            if change.kind == "shape":
                one, two = shape_text(one), shape_text(two)
            self.say(change.kind, what=what, one=one, other=two, where=where)

    def _bypassed(self, unmatched: set[str], side: Side, name: str, source: str) -> bool:
        """Whether the edge runs through nodes that only `side` has: then those have been told of."""
        stack, seen = [s for s in side.sources[name] if s in unmatched], set()
        while stack:
            between = stack.pop()
            if source in side.sources[between]:
                return True
            seen.add(between)
            stack += [s for s in side.sources[between] if s in unmatched and s not in seen]
        return False

    def _follows(self, name: str, kind: str) -> bool:
        """Whether a shape or dtype differs because that of an input does."""
        return any(any(c.kind == kind for c in self.match.changes.get(s, ())) for s in self.left.sources[name])

    def _sources(self, side: Side, name: str) -> str:
        return ", ".join(said(side.nodes[s]) for s in side.sources[name])


def _where(node: dict[str, Any]) -> str:
    src = node.get("src")
    return message("widgets.compare_where", where=src["where"], text=shorten(src["text"], 60)) if src else ""


def outline_diff(found: Match, left: dict[str, Any], right: dict[str, Any], titles: Titles) -> str:
    """The unified diff of the outlines of two specs, in which matched nodes carry the same number."""
    ours: dict[str, str] = {}
    theirs: dict[str, str] = {}
    for number, (a, b) in enumerate(found.pairs.items(), 1):
        ours[a] = theirs[b] = str(number)
    ours |= {name: f"-{i}" for i, name in enumerate(found.only_left, 1)}
    theirs |= {name: f"+{i}" for i, name in enumerate(found.only_right, 1)}
    before = outline(_renamed(left["graph"], ours), {}).splitlines()
    after = outline(_renamed(right["graph"], theirs), {}).splitlines()
    lines = difflib.unified_diff(before, after, titles.left, titles.right, lineterm="", n=max(len(before), len(after)))
    # The line numbers of a diff over everything say nothing.
    return "\n".join(line for line in lines if not line.startswith("@@")) or message("widgets.compare_equal")


def _renamed(graph: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    nodes = [{**node, "id": names[node["id"]], "src": None} for node in graph["nodes"]]
    kept = [e for e in graph["edges"] if e["s"] in names and e["t"] in names]
    return {"nodes": nodes, "edges": [{**e, "s": names[e["s"]], "t": names[e["t"]]} for e in kept]}
