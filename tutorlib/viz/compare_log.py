"""A rewrite log as steps to look at: the graph before and after each rewrite, and as written beside what runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tutorlib.compile.loaded_log import SavedLeaf
from tutorlib.compile.rewrite_log import RewriteLog
from tutorlib.compile.rule_table import rules
from tutorlib.core.graph import Symbol, label
from tutorlib.core.toposort import toposort
from tutorlib.messages import message
from tutorlib.viz.compare_clock import facts_of
from tutorlib.viz.compare_match import Match, Side, match
from tutorlib.viz.face import shorten
from tutorlib.viz.graph_spec import spec_of
from tutorlib.viz.model import Drawing, draw_graph
from tutorlib.viz.spec import letter_of

__all__ = ["LogSteps", "log_steps"]

# Larger graphs are drawn around the place of each rewrite only.
WHOLE = 60
NEAR = 24
USERS = 2
MOST = 200


class LogSteps:
    """What a log becomes: `graphs` (specs), `matches` (with their Match) and `steps`, entries of the contract."""

    def __init__(self) -> None:
        self.graphs: list[dict[str, Any]] = []
        self.matches: list[Match] = []
        self.groups: list[list[Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self._number: dict[int, int] = {}
        self._kept: list[Any] = []

    def draw(self, roots: Sequence[Any], limit: int) -> tuple[int, Drawing]:
        """Draw the graph above `roots` as it stands now; returns its number. Values are left out: none flow here."""
        drawing = draw_graph(roots, limit=limit)
        drawing.notes.clear()
        for name, thing in drawing.objects.items():
            shown = drawing.node(name)
            if isinstance(thing, SavedLeaf):
                shown |= {"kind": thing.kind, "letter": letter_of(thing.kind, None)}
                shown["label"] = shown["label"] if shown["name"] else message(f"widgets.kind_{thing.kind}")
            if shown["src"] is not None:
                shown["src"] = {**shown["src"], "context": [shown["src"]["text"]], "at": 0}
        small = {n: a for n, a in drawing.arrays.items() if drawing.node(n)["kind"] == "constant" and a.size <= 6}
        drawing.arrays.clear()
        drawing.arrays.update(small)
        self.graphs.append(spec_of(drawing))
        return len(self.graphs) - 1, drawing

    def side(self, number: int, drawing: Drawing) -> Side:
        """The graph as one side of a match: nodes are the same where the log holds the same object."""
        self._kept.append(drawing)
        keys = {}
        for name, thing in drawing.objects.items():
            keys[name] = self._number.setdefault(id(thing), len(self._number))
        return Side(self.graphs[number]["graph"], keys, facts_of(drawing))

    def add(self, left: tuple[int, Drawing], right: tuple[int, Drawing], changed: Any, **words: str) -> None:
        """One step with its two graphs; `changed` is (before, after), or None."""
        sides = self.side(*left), self.side(*right)
        if changed is not None:
            self._same_value(sides, (left[1], right[1]), changed)
        found = match(*sides)
        self.matches.append(found)
        self.groups.append(_replaced(found))
        at = len(self.steps)
        panes = {
            side: {"graph": number, "born": None, "step": 0, "phase": "", "words": "", "now": now, "valued": True}
            for side, number, now in (
                ("left", left[0], found.only_left + [a for a in found.changes if changed is not None]),
                ("right", right[0], found.only_right + [found.pairs[a] for a in found.changes if changed is not None]),
            )
        }
        spoken = message("widgets.compare_spoken_step", n=at, title=words["title"], says=words["says"])
        self.steps.append({**panes, **words, "spoken": spoken.strip()})

    @staticmethod
    def _same_value(sides: tuple[Side, Side], drawings: tuple[Drawing, Drawing], changed: tuple[Any, Any]) -> None:
        """What was replaced and what stands there now are one value: their nodes belong together if both are ops."""
        a, b = drawings[0].id_of(changed[0]), drawings[1].id_of(changed[1])
        if a is None or b is None or drawings[0].id_of(changed[1]) is not None:
            return
        if sides[0].nodes[a]["op"] and sides[1].nodes[b]["op"]:
            sides[0].keys[a] = sides[1].keys[b] = ("replaced",)


def _replaced(found: Match) -> list[Any]:
    """The nodes on each side that a rewrite put in the place of each other, where there are several on one side."""
    left = found.only_left + list(found.changes)
    right = found.only_right + [found.pairs[a] for a in found.changes]
    ops = [[n for n in names if side.nodes[n]["op"]] for names, side in ((left, found.left), (right, found.right))]
    return ops if all(ops) and sum(map(len, ops)) > 2 else []


@contextmanager
def _back_afterwards(log: RewriteLog) -> Iterator[None]:
    """Leave the log at the step where it stood."""
    at = log.at
    try:
        yield
    finally:
        log.goto(at)


def log_steps(log: RewriteLog, chosen: range | None = None) -> LogSteps:
    """Every rewrite of the log (or those numbered in `chosen`) as a step; step 0 is the whole of it.

    After them come, in the same way, the rewrites inside each loop and branch.
    """
    found = LogSteps()
    logs = [("", log)]
    for inside, one in logs:
        logs += [(f"{inside}{node.op.name}: ", inner) for node, inner in one.inside]
    total = 0
    for inside, one in logs:
        numbers = [n for n in (chosen or range(1, len(one) + 1)) if 1 <= n <= len(one)]
        total += len(numbers)
        with _back_afterwards(one):
            _add_steps(found, one, inside, numbers[: max(0, MOST - len(found.steps))])
    if total > MOST:
        found.notes.append(message("widgets.compare_steps_cut", shown=MOST, total=total))
    return found


def _add_steps(found: LogSteps, log: RewriteLog, inside: str, numbers: Sequence[int]) -> None:
    """The steps of one log, `inside` says of which loop or branch."""
    tiers = {name: r.tier for name, r in rules().items()}
    start = found.draw(log.goto(0), 500)
    end = found.draw(log.goto(len(log)), 500)
    whole = message("widgets.compare_whole_says", n=len(log))
    found.add(start, end, None, title=inside + message("widgets.compare_whole"), says=whole, where="", why="")
    large = len(start[1].nodes) > WHOLE
    last = (0, start)
    for n in numbers:
        step = log[n - 1]
        if large:
            roots = _around(log.goto(n - 1), step.before)
            before = found.draw(roots, NEAR)
            log.goto(n)
            after = found.draw([step.after if v is step.before else v for v in roots], NEAR)
        else:
            before = last[1] if last[0] == n - 1 else found.draw(log.goto(n - 1), 500)
            after = end if n == len(log) else found.draw(log.goto(n), 500)
            last = (n, after)
        source = step.source
        where = message("widgets.compare_line", where=source.where, text=shorten(source.text, 80)) if source else ""
        found.add(
            before, after, (step.before, step.after), title=inside + step.rule, says=step.says, where=where,
            why=_why(step, tiers.get(step.rule)),
        )  # fmt: skip
    if large and message("widgets.compare_around") not in found.notes:
        found.notes.append(message("widgets.compare_around"))


def _why(step: Any, tier: str | None) -> str:
    told = message(f"widgets.compare_why_{tier or ('merge' if step.rule == 'merge' else 'own')}")
    if step.check is not None:
        told += " " + message("widgets.compare_checked", difference=f"{step.check:.2g}")
    return told


def _around(outputs: Sequence[Symbol], before: Symbol) -> list[Symbol]:
    """What uses `before`, and what uses that: the roots of a picture of its surroundings."""
    order = toposort(outputs)
    wave = {id(before)}
    tops: list[Symbol] = [before]
    for _ in range(USERS):
        users = [node for node in order if any(id(v) in wave for v in node.inputs)]
        if not users:
            break
        tops = [node.outputs[0] for node in users[:3]]
        wave = {id(v) for node in users for v in node.outputs}
    return tops


def near_misses(log: RewriteLog) -> list[dict[str, str]]:
    """The `near` entries of the contract: rules that nearly held, where, and why not."""
    return [
        {"rule": miss.rule, "at": shorten(label(miss.at), 40), "where": _place(miss.at), "why": str(miss.why)}
        for miss in log.near
    ]


def _place(var: Symbol) -> str:
    source = var.node.source if var.node is not None else None
    return source.where if source is not None else ""
