"""Rewriting: the rules applied to a function's graph until none holds any more, every step recorded."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.compile.graph_state import Exchange, GraphState
from tutorlib.compile.log_data import write_log
from tutorlib.compile.rule_table import ON_BY_DEFAULT, REWRITING, Near, Rule, active_rules
from tutorlib.core import observe
from tutorlib.core.backend import to_host
from tutorlib.core.building import Meta, building
from tutorlib.core.debugprint import debugprint
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import TutorlibError, shape_text
from tutorlib.core.graph import Constant, Node, Symbol, label
from tutorlib.core.source import SourceLine


@dataclass(frozen=True)
class RewriteStep:
    """One rewrite.

    ``n``: its number, from 1; ``rule``: the rule's name; ``says``: its equation; ``before`` and ``after``: symbols;
    ``source``: the learner's line of what was replaced; ``check``: the largest difference found, None if not checked.
    """

    n: int
    rule: str
    says: str
    before: Symbol
    after: Symbol
    source: SourceLine | None
    check: float | None = None

    def __repr__(self) -> str:
        where = f" at {self.source.where}" if self.source is not None else ""
        return f"<step {self.n}, {self.rule}: {self.says}{where}>"


class RewriteLog:
    """All steps from the graph as written to the graph that runs; any state in between can be looked at.

    >>> import tutorlib as tl
    >>> x = tl.vector("x")
    >>> f = tl.function([x], tl.log(1 + tl.exp(x)) * 1)
    >>> [step.rule for step in f.log]
    ['times_one', 'log_of_one_plus_exp']
    >>> [v.node.op.name for v in f.log.goto(0)], [v.node.op.name for v in f.log.goto(2)]
    (['mul'], ['softplus'])

    Attributes: ``steps``; ``near``, rules that nearly held; ``inside``, of each loop and branch whose own graph was
    rewritten: its node, and the log of that graph.
    """

    def __init__(self, graph: GraphState) -> None:
        self._graph = graph
        self._exchanges: list[list[Exchange]] = []
        self._at = 0
        self._runs = 0
        self.steps: list[RewriteStep] = []
        self.near: list[NearMiss] = []
        self.inside: list[tuple[Node, RewriteLog]] = []

    def enter_inside(self, node: Node, log: RewriteLog) -> None:
        """Keep the log of a graph inside ``node``, if anything was done there."""
        if log.steps or log.inside:
            self.inside.append((node, log))

    @property
    def at(self) -> int:
        """After how many steps the graph stands now."""
        return self._at

    def add(self, step: RewriteStep, exchange: Exchange) -> None:
        """Enter a step that was just done."""
        self.add_pass(step, [exchange])
        self._runs = self._at

    def add_pass(self, step: RewriteStep, exchanges: list[Exchange]) -> None:
        """Enter a step that shows what runs together. The graph that runs is the one before it."""
        self.steps.append(step)
        self._exchanges.append(exchanges)
        self._at = len(self.steps)

    def rest(self) -> None:
        """Back to the graph that runs, wherever ``goto`` went."""
        if self._at != self._runs:
            self.goto(self._runs)

    def near_miss(self, r: Rule, node: Node, why: str) -> None:
        miss = NearMiss(r.name, node.outputs[0], why)
        if not any(m.rule == miss.rule and m.at is miss.at for m in self.near):
            self.near.append(miss)

    def goto(self, n: int) -> list[Symbol]:
        """The outputs as they stood after ``n`` steps (0: as written). They stay so until the next ``goto``."""
        self._within(n)
        while self._at > n:
            self._at -= 1
            for exchange in reversed(self._exchanges[self._at]):
                self._graph.undo(exchange)
        while self._at < n:
            for exchange in self._exchanges[self._at]:
                self._graph.apply(exchange)
            self._at += 1
        return list(self._graph.outputs)

    def _within(self, n: int) -> None:
        if not 0 <= n <= len(self.steps):
            raise TutorlibError(
                f"there is no step {n}: the log has {len(self.steps)}", fix=f"use 0 to {len(self.steps)}"
            )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the log with all its graphs to a file (JSON; ``.json`` is added): ``tl.load_log(path)`` reads it.

        Raises FileExistsError for a file that exists, unless ``overwrite``.
        """
        return write_log(self, path, overwrite)

    def to_json(self) -> list[dict[str, Any]]:
        """The steps as plain data, the graphs as debugprint text. ``save`` keeps the graphs themselves."""
        entries = []
        for step in self.steps:
            self.goto(step.n - 1)
            before = debugprint(step.before)
            self.goto(step.n)
            entries.append(
                {
                    "n": step.n,
                    "rule": step.rule,
                    "says": step.says,
                    "before": before,
                    "after": debugprint(step.after),
                    "where": step.source.where if step.source is not None else None,
                    "check": step.check,
                }
            )
        self.rest()
        return entries

    @property
    def rewrites(self) -> int:
        """How many steps rewrite the graph; those after them join what is left into passes."""
        return self._runs

    @property
    def graph(self) -> GraphState:
        """The graph that the steps change."""
        return self._graph

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[RewriteStep]:
        return iter(self.steps)

    def __getitem__(self, i: int) -> RewriteStep:
        return self.steps[i]

    def __repr__(self) -> str:
        lines = [f"{step.n:>3}  {step.rule:<24} {step.says}" for step in self.steps]
        for node, log in self.inside:
            where = f" at {node.source.where}" if node.source is not None else ""
            lines.append(f"inside {node.op.name}{where}:")
            lines += [f"  {line}" for line in repr(log).splitlines()]
        return "\n".join(lines) if lines else "<no rewrite applied>"


@dataclass(frozen=True)
class NearMiss:
    """A rule that nearly held: its name, the variable it looked at, and why it was left alone."""

    rule: str
    at: Symbol
    why: str

    def __repr__(self) -> str:
        return f"<{self.rule} left {label(self.at)} alone: {self.why}>"


class WrongRewriteError(TutorlibError, AssertionError):
    """A rule gave something of another shape, dtype or (in check mode) value than what it replaced."""


def rewrite(
    outputs: Iterable[Symbol],
    check: Callable[[Symbol, Symbol], float] | None = None,
    allow: Iterable[str] = ON_BY_DEFAULT,
    rounds: int = 8,
) -> tuple[list[Symbol], RewriteLog]:
    """``outputs`` rewritten, and the log of it. The graph passed in is left as it is.

    Args:
        outputs: the roots.
        check: called with (before, after) of every step; returns how far their values are apart.
        allow: safeties of the rules that may run.
        rounds: how often at most the sequence merge → rules is gone through.

    Raises WrongRewriteError when a rule changes a shape or dtype, or when it runs for ever.
    """
    log = rewritten_graph(outputs, check, allow, rounds)
    return log.goto(len(log)), log


def rewritten_graph(
    outputs: Iterable[Symbol],
    check: Callable[[Symbol, Symbol], float] | None = None,
    allow: Iterable[str] = ON_BY_DEFAULT,
    rounds: int = 8,
) -> RewriteLog:
    """As ``rewrite``: the log, with the graph in it."""
    graph = GraphState(outputs)
    log = RewriteLog(graph)
    by_tier = _by_tier(active_rules(tuple(allow)))
    work = _Work(graph, log, check)
    # The first round looks at every node; later ones only at what has changed since the tier last ran.
    everything = graph.nodes()
    unseen = dict.fromkeys(REWRITING, everything)
    for _ in range(rounds):
        before = len(log)
        _merge(graph, log, work.touch)
        for tier in REWRITING:
            work.run(unseen[tier] + work.changed_since(tier), by_tier[tier])
            unseen[tier] = []
        if len(log) == before:
            break
    return log


def _by_tier(active: Iterable[Rule]) -> dict[str, dict[str, list[Rule]]]:
    """The rules by tier and by op; a rule for any op ("*") stands last with every op that has rules, and alone."""
    result: dict[str, dict[str, list[Rule]]] = {tier: {} for tier in REWRITING}
    general: dict[str, list[Rule]] = {tier: [] for tier in REWRITING}
    for r in active:
        for op in r.ops if r.tier in general else ():
            (general[r.tier] if op == "*" else result[r.tier].setdefault(op, [])).append(r)
    for tier, by_op in result.items():
        for found in by_op.values():
            found += general[tier]
        if general[tier]:
            by_op["*"] = general[tier]
    return result


class _Work:
    """Applies rules to nodes until nothing changes, and remembers what did change for the tiers that come after."""

    def __init__(self, graph: GraphState, log: RewriteLog, check: Callable[[Symbol, Symbol], float] | None) -> None:
        self._graph, self._log, self._check = graph, log, check
        self._changed: list[Node] = []
        self._seen_by_tier = dict.fromkeys(REWRITING, 0)

    def touch(self, node: Node) -> None:
        """A node's surroundings have changed: rules may hold for it, its users and theirs that did not before."""
        level = [node]
        for _ in range(3):
            self._changed += level
            level = [user for n in level for v in n.outputs for user in self._graph.users(v)]

    def changed_since(self, tier: str) -> list[Node]:
        """What has changed since this was asked for the tier last."""
        start, self._seen_by_tier[tier] = self._seen_by_tier[tier], len(self._changed)
        return list({id(node): node for node in self._changed[start:]}.values())

    def run(self, nodes: list[Node], by_op: dict[str, list[Rule]]) -> None:
        if not by_op:
            return
        general = by_op.get("*", [])
        todo = deque(node for node in nodes if node.op.name in by_op or general)
        waiting = {id(node) for node in todo}
        budget = 200 + 20 * len(todo)
        before = building.meta
        try:
            while todo:
                node = todo.popleft()
                waiting.discard(id(node))
                if len(node.outputs) != 1 or not self._graph.alive(node):
                    continue
                building.meta = Meta("rewrite", node.origin or node, node.scope)
                for r in by_op.get(node.op.name, general):
                    after = self._applied(r, node)
                    if after is None or after is node.outputs[0]:
                        continue
                    budget -= 1
                    if budget < 0:
                        raise WrongRewriteError(
                            f"the rules do not come to rest; the last was {r.name}", fix="look at its equation"
                        )
                    start = len(self._changed)
                    self._replace(r, node, after)
                    for again in self._changed[start:]:
                        if id(again) not in waiting and (again.op.name in by_op or general):
                            waiting.add(id(again))
                            todo.append(again)
                    break
        finally:
            building.meta = before

    def _replace(self, r: Rule, node: Node, after: Symbol) -> None:
        old = node.outputs[0]
        users = self._graph.users(old)
        difference = self._check(old, after) if self._check is not None else None
        _record(self._graph, self._log, r.name, r.says, old, after, difference)
        made = [after.node] if after.node is not None else []
        made += [v.node for n in made for v in n.inputs if v.node is not None]
        self._changed += made
        for user in users:
            self.touch(user)

    def _applied(self, r: Rule, node: Node) -> Symbol | None:
        found = r.apply(node)
        if found is None:
            return None
        if isinstance(found, Near):
            self._log.near_miss(r, node, str(found))
            return None
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
    source = old.node.source if old.node is not None else None
    step = RewriteStep(len(log) + 1, name, says, old, after, source, difference)
    log.add(step, graph.exchange(old, after))
    if observe.observers:
        observe.tell("on_rewrite", step)


def frozen(value: Any) -> Any:
    """An attribute in a form that can be compared and hashed: slices are neither on every Python."""
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, tuple | list):
        return tuple(map(frozen, value))
    return (type(value).__name__, value)


def constant_key(constant: Constant) -> Any:
    """What two constants have in common exactly if they are the same: kind and bytes; large arrays are told by
    identity."""
    value = constant.value
    if constant.aval.weak:
        return ("weak", type(value).__name__, repr(value))
    if getattr(value, "nbytes", 1 << 20) > 4096:
        return id(constant)
    host = np.ascontiguousarray(to_host(value))
    return ("array", str(host.dtype), host.shape, host.tobytes())


def _merge(graph: GraphState, log: RewriteLog, touch: Callable[[Node], None]) -> None:
    """Equal nodes become one: same op, same attributes, same inputs."""
    seen: dict[Any, Node] = {}
    same: dict[int, Any] = {}

    def key_of(var: Symbol) -> Any:
        return same.get(id(var)) or (constant_key(var) if isinstance(var, Constant) else id(var))

    for node in graph.nodes():
        attrs = tuple(sorted((name, frozen(value)) for name, value in node.attrs.items()))
        try:
            key = (node.op.name, id(node.op), attrs, tuple(map(key_of, node.inputs)))
            first = seen.setdefault(key, node)
        except TypeError:
            continue
        if first is node:
            continue
        for old, kept in zip(node.outputs, first.outputs, strict=True):
            if graph.uses.get(id(old)):
                for user in graph.users(old):
                    touch(user)
                _record(graph, log, "merge", f"two equal {node.op.name} are one", old, kept, None)
            same[id(old)] = key_of(kept)
