"""Rewriting: the rules applied to a function's graph until none holds any more, every step recorded."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tutorlib.compile.graph_state import GraphState
from tutorlib.compile.matching import looking
from tutorlib.compile.merge import Merge
from tutorlib.compile.rewrite_log import RewriteLog, RewriteStep
from tutorlib.compile.rule_index import Asking, RuleIndex, index_of_rules
from tutorlib.compile.rule_table import ON_BY_DEFAULT, REWRITING, Near, Rule
from tutorlib.core import observe
from tutorlib.core.backend import is_array
from tutorlib.core.building import Meta, building
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import TutorlibError, shape_text
from tutorlib.core.graph import Node, Symbol, Var

# What so many nodes use is no clue to any of them.
MANY = 20
Check = Callable[[Symbol, Symbol], float | None]


class WrongRewriteError(TutorlibError, AssertionError):
    """A rule gave something of another shape, dtype or (in check mode) value than what it replaced."""


def rewrite(
    outputs: Iterable[Symbol],
    check: Check | None = None,
    allow: Iterable[str] = ON_BY_DEFAULT,
    rounds: int = 8,
) -> tuple[list[Symbol], RewriteLog]:
    """``outputs`` rewritten, and the log of it. The graph passed in is left as it is.

    Args:
        outputs: the roots.
        check: called with (before, after) of every step; returns how far their values are apart, None where that
            could not be computed.
        allow: safeties of the rules that may run.
        rounds: how often at most the sequence merge → rules is gone through.

    Raises WrongRewriteError when a rule changes a shape or dtype, or when rules of one's own undo each other for ever.
    """
    log = rewritten_graph(outputs, check, allow, rounds)
    return log.goto(len(log)), log


def rewritten_graph(
    outputs: Iterable[Symbol],
    check: Check | None = None,
    allow: Iterable[str] = ON_BY_DEFAULT,
    rounds: int = 8,
    nodes: Iterable[Node] | None = None,
) -> RewriteLog:
    """As ``rewrite``: the log, with the graph in it. ``nodes``: those of the outputs in topological order, if known."""
    graph = GraphState(outputs, nodes)
    log = RewriteLog(graph)
    work = _Work(graph, log, check, index_of_rules(tuple(allow)))
    merge = Merge(graph, work.merged)
    # Every node is looked at once; after that only what has changed since it was looked at last.
    first = graph.nodes()
    unseen = work.by_tier(first)
    merge.run(first)
    for number in range(rounds):
        if work.stopped or (number and not merge_again(merge, work)):
            break
        for tier in REWRITING:
            work.run(unseen[tier] + work.changed_since(tier), tier)
            unseen[tier] = []
    return log


def merge_again(merge: Merge, work: _Work) -> bool:
    """Merge what has changed since the last time, and what changes by it; whether anything has changed."""
    changed = anything = work.changed_since("merge")
    while changed:
        merge.run(changed)
        changed = work.changed_since("merge")
    return bool(anything)


class _Work:
    """Applies rules to nodes until nothing changes, and remembers what did change for the tiers that come after."""

    def __init__(self, graph: GraphState, log: RewriteLog, check: Check | None, index: RuleIndex) -> None:
        self._graph, self._log, self._check, self._index = graph, log, check, index
        self._asking = Asking(index)
        self._numbers: dict[int, Any] = {}
        self._changed: list[Node] = []
        self._seen_by = dict.fromkeys((*REWRITING, "merge"), 0)
        self.stopped = False

    def by_tier(self, nodes: Iterable[Node]) -> dict[str, list[Node]]:
        """The nodes that each tier has rules for."""
        result: dict[str, list[Node]] = {tier: [] for tier in REWRITING}
        rules_of = self._asking.rules_of
        for node in nodes:
            for tier in rules_of(node):
                result[tier].append(node)
        return result

    def merged(self, node: Node, old: Symbol, kept: Symbol) -> None:
        """Put the same result of an equal node in the place of one."""
        users = self._graph.users(old)
        if users or self._graph.uses(old):
            _record(self._graph, self._log, "merge", f"two equal {node.op.name} are one", old, kept, None)
            for user in users:
                self._touch(user)
            self._used_less(node)

    def _touch(self, node: Node) -> None:
        """A node's surroundings have changed: rules may hold for it, its users and theirs that did not before."""
        self._asking.changed(node)
        level, met, users = [node], {node}, self._graph.users
        for _ in range(3):
            self._changed += level
            beyond = []
            for n in level:
                for v in n.outputs:
                    for user in users(v):
                        if user not in met:
                            met.add(user)
                            beyond.append(user)
            level = beyond

    def _used_less(self, gone: Node) -> None:
        """What a node that went away had used is used by fewer now, which some rules wait for."""
        for var in gone.inputs:
            if var.node is not None:
                self._changed += self._graph.users(var)

    def changed_since(self, who: str) -> list[Node]:
        """What has changed since a tier (or the merging) asked for it last."""
        start, self._seen_by[who] = self._seen_by[who], len(self._changed)
        return list({id(node): node for node in self._changed[start:]}.values())

    def _stop(self, last: Rule) -> None:
        """Rules that undo each other are an error in a learner's own, and while checking. Those of the library must not
        cost a learner the program: every step was right, so the graph runs as it stands."""
        says = f"the rules do not come to rest; the last was {last.name}"
        if self._check is not None or not self._index.of_the_library:
            raise WrongRewriteError(says, fix="look at its equation")
        warnings.warn(f"{says}. The graph runs as it stands; this is an error of tutorlib", UserWarning, stacklevel=2)
        self.stopped = True

    def run(self, nodes: Sequence[Node], tier: str) -> None:
        """Apply the rules of a tier to ``nodes`` and to all that changes by it."""
        rules_of, alive = self._asking.rules_of, self._graph.alive
        todo = deque(nodes)
        waiting = {id(node) for node in todo}
        budget = 200 + 20 * len(todo)
        before, looking.graph, looking.numbers = building.meta, self._graph, self._numbers
        # What a rule builds stands for the node it was asked about. Most rules build nothing.
        building.meta = meta = Meta("rewrite")
        try:
            while todo:
                node = todo.popleft()
                waiting.discard(id(node))
                rules = rules_of(node).get(tier)
                if rules is None or len(node.outputs) != 1 or not alive(node):
                    continue
                meta.origin, meta.scope = node.origin or node, node.scope
                for r in rules:
                    after = self._applied(r, node)
                    if after is None or after is node.outputs[0]:
                        continue
                    budget -= 1
                    if budget < 0:
                        self._stop(r)
                        return
                    start = len(self._changed)
                    self._replace(r, node, after)
                    building.meta = meta = Meta("rewrite")
                    for again in self._changed[start:]:
                        if id(again) not in waiting:
                            waiting.add(id(again))
                            todo.append(again)
                    break
        finally:
            building.meta, looking.graph, looking.numbers = before, None, None

    def _replace(self, r: Rule, node: Node, after: Symbol) -> None:
        old = node.outputs[0]
        users = self._graph.users(old)
        difference = self._check(old, after) if self._check is not None else None
        _record(self._graph, self._log, r.name, r.says, old, after, difference)
        made = [after.node] if after.node is not None else []
        made += [v.node for n in made for v in n.inputs if v.node is not None]
        for n in made:  # and what the rule has built below, which grows the list
            if n.meta is building.meta:
                made += [
                    v.node for v in n.inputs if v.node is not None and v.node.meta is n.meta and v.node not in made
                ]
        self._changed += made
        # Others that use the same operands may now find what they wait for.
        for var in {id(v): v for n in made for v in n.inputs if v.node is not None}.values():
            beside = self._graph.users(var)
            if len(beside) <= MANY:
                self._changed += beside
                self._changed += [user for n in beside for v in n.outputs for user in self._graph.users(v)]
        for user in users:
            self._touch(user)
        self._used_less(node)

    def _applied(self, r: Rule, node: Node) -> Symbol | None:
        found = r.apply(node)
        if found is None:
            return None
        if isinstance(found, Near):
            self._log.near_miss(r, node, str(found))
            return None
        absorbed = (v for v in node.inputs if v.node is not None and v.node.op.name in r.absorbs)
        if any(len(self._graph.uses(v)) > 1 for v in absorbed):
            self._log.near_miss(r, node, "its operand is needed elsewhere too and would be computed twice")
            return None
        if not isinstance(found, Var | int | float) and not is_array(found):
            raise WrongRewriteError(
                f"rule {r.name} returned {found!r:.60}, which is no value of a graph",
                fix="return an expression that may stand in the place of the node's result, or None",
            )
        after = as_symbol(found)
        old = node.outputs[0]
        if after.dtype != old.dtype or after.ndim != old.ndim:
            raise WrongRewriteError(
                f"rule {r.name} would make {after.dtype} {shape_text(after.shape)} "
                f"of {old.dtype} {shape_text(old.shape)}",
                fix="return None where the rule does not hold, or cast and reshape what it returns",
            )
        # A shape that is known may not be lost: what was proved by it would no longer be.
        if any(a is not None and b != a for a, b in zip(old.shape, after.shape, strict=True)):
            return None
        return after


def _record(
    graph: GraphState, log: RewriteLog, name: str, says: str, old: Symbol, after: Symbol, difference: float | None
) -> None:
    if old.name and after.node is not None and not after.name:
        after.name = old.name
    place = old.node.made_at if old.node is not None else None
    step = RewriteStep(len(log) + 1, name, says, old, after, place, difference)
    log.add(step, graph.exchange(old, after))
    if observe.observers:
        observe.tell("on_rewrite", step)
