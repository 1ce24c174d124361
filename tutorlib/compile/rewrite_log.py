"""What rewriting did: every step with both its sides, to be looked at, gone through, saved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tutorlib.compile.graph_state import Exchange, GraphState
from tutorlib.compile.rule_table import Rule
from tutorlib.core.debugprint import debugprint
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Node, Symbol, label
from tutorlib.core.source import Mark, SourceLine, resolve

if TYPE_CHECKING:
    from pathlib import Path


class RewriteStep:
    """One rewrite.

    ``n``: its number, from 1; ``rule``: the rule's name; ``says``: its equation; ``before`` and ``after``: symbols;
    ``source``: the learner's line of what was replaced; ``check``: the largest difference found, None if not checked.
    """

    __slots__ = ("_place", "after", "before", "check", "n", "rule", "says")

    def __init__(
        self,
        n: int,
        rule: str,
        says: str,
        before: Symbol,
        after: Symbol,
        place: Mark | SourceLine | None,
        check: float | None = None,
    ) -> None:
        """``place``: where in the program; looked up when somebody asks for ``source``."""
        self.n, self.rule, self.says, self.before, self.after = n, rule, says, before, after
        self._place, self.check = place, check

    @property
    def source(self) -> SourceLine | None:
        return resolve(self._place)

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
        from tutorlib.compile.log_data import write_log

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


class NearMiss(NamedTuple):
    """A rule that nearly held: its name, the variable it looked at, and why it was left alone."""

    rule: str
    at: Symbol
    why: str

    def __repr__(self) -> str:
        return f"<{self.rule} left {label(self.at)} alone: {self.why}>"
