"""Rewrites: rules with an equation and a name, applied to a function's graph, every step recorded.

A rule is one short function that looks at a node and returns what may stand in its output's place, or None::

    @rule("mul", tier="basic", safety="exact", says="x · 1 = x")
    def times_one(node):
        x, y = node.inputs
        return x if is_scalar(y, 1) else y if is_scalar(x, 1) else None

Rules live in the modules ``rules_…``; ``tl.rules()`` lists them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.compile.graph_state import Exchange, GraphState
from tutorlib.core import observe
from tutorlib.core.backend import to_host
from tutorlib.core.debugprint import debugprint
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import TutorlibError, shape_text
from tutorlib.core.graph import Constant, Meta, Node, Symbol, building
from tutorlib.core.source import SourceLine

TIERS = ("basic", "stable", "fold", "algebra")
SAFETIES = ("exact", "reassociates", "nan_unsafe", "shape_unsafe")


@dataclass(frozen=True)
class Rule:
    """A rewrite rule.

    ``name``; ``ops``: names of the ops it looks at; ``tier``: when it runs; ``safety``: "exact" (same value, or one
    nearer the truth), "reassociates" (same up to rounding), "nan_unsafe" (differs where NaN or inf occur),
    "shape_unsafe" (assumes shapes that are not proved); ``says``: its equation; ``apply(node)``: the replacement of the
    node's output or None.
    """

    name: str
    ops: tuple[str, ...]
    tier: str
    safety: str
    says: str
    apply: Callable[[Node], Any]

    def __repr__(self) -> str:
        return f"<rule {self.name}: {self.says} ({self.tier}, {self.safety})>"


_RULES: dict[str, Rule] = {}
_off: set[str] = set()
# Rules that can change a result are there to be looked at and switched on, not to surprise.
ON_BY_DEFAULT = ("exact", "reassociates")


def rule(
    *ops: str, says: str, tier: str = "basic", safety: str = "exact"
) -> Callable[[Callable[[Node], Any]], Callable[[Node], Any]]:
    """Make a function a rewrite rule for nodes of the given ops.

    Raises TutorlibError for an unknown tier or safety, or a name that is taken by another module's rule.

    >>> import tutorlib as tl
    >>> @tl.rule("sin", says="sin(x) = cos(x), which is wrong", safety="nan_unsafe")
    ... def wrong_sine(node):
    ...     return tl.cos(node.inputs[0])
    >>> tl.rules()["wrong_sine"].says
    'sin(x) = cos(x), which is wrong'
    >>> tl.remove_rule("wrong_sine")
    """
    if tier not in TIERS or safety not in SAFETIES:
        raise TutorlibError(
            f"a rule's tier is one of {TIERS}, its safety one of {SAFETIES}", fix="correct the decorator"
        )

    def register(function: Callable[[Node], Any]) -> Callable[[Node], Any]:
        name = function.__name__
        before = _RULES.get(name)
        if before is not None and before.apply.__module__ != function.__module__:
            raise TutorlibError(f"a rule called {name!r} exists already", fix="give the function another name")
        _RULES[name] = Rule(name, ops, tier, safety, says, function)
        return function

    return register


def rules() -> dict[str, Rule]:
    """All rules by name, in the order they were defined."""
    return dict(_RULES)


def remove_rule(name: str) -> None:
    """Forget a rule."""
    del _RULES[name]


@contextmanager
def rules_off(*names: str) -> Iterator[None]:
    """Compile without the named rules inside a ``with`` block."""
    unknown = [name for name in names if name not in _RULES]
    if unknown:
        raise TutorlibError(f"no rule is called {unknown[0]!r}", fix=f"the rules are {', '.join(_RULES)}")
    added = set(names) - _off
    _off.update(added)
    try:
        yield
    finally:
        _off.difference_update(added)


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
    """

    def __init__(self, graph: GraphState) -> None:
        self._graph = graph
        self._exchanges: list[Exchange] = []
        self._at = 0
        self.steps: list[RewriteStep] = []

    def add(self, step: RewriteStep, exchange: Exchange) -> None:
        self.steps.append(step)
        self._exchanges.append(exchange)
        self._at = len(self.steps)

    def goto(self, n: int) -> list[Symbol]:
        """The outputs as they stood after ``n`` steps (0: as written). They stay so until the next ``goto``."""
        if not 0 <= n <= len(self.steps):
            raise TutorlibError(
                f"there is no step {n}: the log has {len(self.steps)}", fix=f"use 0 to {len(self.steps)}"
            )
        while self._at > n:
            self._at -= 1
            self._graph.undo(self._exchanges[self._at])
        while self._at < n:
            self._graph.apply(self._exchanges[self._at])
            self._at += 1
        return list(self._graph.outputs)

    def to_json(self) -> list[dict[str, Any]]:
        """The log as plain data, for saving: one entry a step, the graphs as debugprint text."""
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
        self.goto(len(self.steps))
        return entries

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[RewriteStep]:
        return iter(self.steps)

    def __getitem__(self, i: int) -> RewriteStep:
        return self.steps[i]

    def __repr__(self) -> str:
        lines = [f"{step.n:>3}  {step.rule:<24} {step.says}" for step in self.steps]
        return "\n".join(lines) if lines else "<no rewrite applied>"


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
    graph = GraphState(outputs)
    log = RewriteLog(graph)
    active = [r for r in _RULES.values() if r.safety in set(allow) and r.name not in _off]
    for _ in range(rounds):
        before = len(log)
        _merge(graph, log)
        for tier in TIERS:
            by_op: dict[str, list[Rule]] = {}
            for r in active:
                if r.tier == tier:
                    for op in r.ops:
                        by_op.setdefault(op, []).append(r)
            _run_rules(graph, log, by_op, check)
        if len(log) == before:
            break
    return list(graph.outputs), log


def _run_rules(
    graph: GraphState, log: RewriteLog, by_op: dict[str, list[Rule]], check: Callable[[Symbol, Symbol], float] | None
) -> None:
    todo = deque(graph.nodes())
    waiting = {id(node) for node in todo}
    budget = 200 + 20 * len(todo)
    while todo:
        node = todo.popleft()
        waiting.discard(id(node))
        if len(node.outputs) != 1 or not graph.alive(node):
            continue
        for r in [*by_op.get(node.op.name, ()), *by_op.get("*", ())]:
            after = _applied(r, node)
            if after is None or after is node.outputs[0]:
                continue
            budget -= 1
            if budget < 0:
                raise WrongRewriteError(
                    f"the rules do not come to rest; the last was {r.name}", fix="look at its equation"
                )
            old = node.outputs[0]
            users = graph.users(old)
            difference = check(old, after) if check is not None else None
            _record(graph, log, r.name, r.says, old, after, difference)
            fresh = [after.node] if after.node is not None else []
            fresh += [v.node for n in fresh for v in n.inputs if v.node is not None]
            for again in [*fresh, *users]:
                if id(again) not in waiting:
                    waiting.add(id(again))
                    todo.append(again)
            break


def _applied(r: Rule, node: Node) -> Symbol | None:
    with building.using(Meta("rewrite", node.origin or node, node.scope)):
        found = r.apply(node)
    if found is None:
        return None
    after = as_symbol(found)
    old = node.outputs[0]
    if after.dtype != old.dtype or after.ndim != old.ndim:
        raise WrongRewriteError(
            f"rule {r.name} would make {after.dtype} {shape_text(after.shape)} of {old.dtype} {shape_text(old.shape)}",
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


def _frozen(value: Any) -> Any:
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, tuple | list):
        return tuple(map(_frozen, value))
    return (type(value).__name__, value)


def _constant_key(constant: Constant) -> Any:
    value = constant.value
    if constant.aval.weak:
        return ("weak", type(value).__name__, repr(value))
    if getattr(value, "nbytes", 1 << 20) > 4096:
        return id(constant)
    host = np.ascontiguousarray(to_host(value))
    return ("array", str(host.dtype), host.shape, host.tobytes())


def _merge(graph: GraphState, log: RewriteLog) -> None:
    """Equal nodes become one: same op, same attributes, same inputs."""
    seen: dict[Any, Node] = {}
    same: dict[int, Any] = {}

    def key_of(var: Symbol) -> Any:
        return same.get(id(var)) or (_constant_key(var) if isinstance(var, Constant) else id(var))

    for node in graph.nodes():
        attrs = tuple(sorted((name, _frozen(value)) for name, value in node.attrs.items()))
        try:
            key = (node.op.name, id(node.op), attrs, tuple(map(key_of, node.inputs)))
            first = seen.setdefault(key, node)
        except TypeError:
            continue
        if first is node:
            continue
        for old, kept in zip(node.outputs, first.outputs, strict=True):
            if graph.uses.get(id(old)):
                _record(graph, log, "merge", f"two equal {node.op.name} are one", old, kept, None)
            same[id(old)] = key_of(kept)
