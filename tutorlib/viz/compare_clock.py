"""The clock of a static graph beside a dynamic one: when each of them exists, and what happens at each moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from tutorlib.compile.rewrite import rewrite
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Constant, Symbol
from tutorlib.messages import message
from tutorlib.viz.compare_match import Side
from tutorlib.viz.compare_runs import Run
from tutorlib.viz.evaluate import fill_values
from tutorlib.viz.face import shorten
from tutorlib.viz.graph_spec import spec_of
from tutorlib.viz.model import Drawing, draw_graph
from tutorlib.viz.values import numbers_text

__all__ = ["Pane", "facts_of", "moments", "pane_of"]

NAMED = 4


@dataclass
class Pane:
    """A graph as one of the two panes shows it: its spec, what it is matched by, when its nodes come into being.

    `born` is id → number of the line (from 1; 0: there from the start); `done` is line → how far the trace is then.
    """

    spec: dict[str, Any]
    side: Side
    born: dict[str, int]
    drawing: Drawing
    run: Run
    done: dict[int, int] = field(default_factory=dict)

    def made_by(self, line: int) -> list[str]:
        """Ids of the ops that a line (from 1) made."""
        return [n["id"] for n in self.drawing.nodes if n["op"] and self.born[n["id"]] == line]


def pane_of(run: Run, inputs: Mapping[Any, Any] | None = None) -> Pane:
    """Draw a run. A static one gets values where `inputs` has some, but none in branches that are not taken."""
    drawing = draw_graph(run.roots, results=run.results)
    place = {id(node): run.line_of(node) for node in drawing.order}
    turn = {node: at for at, node in enumerate(run.keys)}
    drawing.order.sort(key=lambda node: (place[id(node)], turn.get(id(node), 0)))
    static = bool(run.roots) and isinstance(run.roots[0], Symbol)
    if static and inputs:
        fill_values(drawing, inputs)
        _forget_branches(drawing, run)
    elif static:
        for name, thing in drawing.objects.items():
            if not isinstance(thing, Constant):
                drawing.arrays.pop(name, None)
    spec = spec_of(drawing, complete=not static or bool(inputs))
    born = {drawing.ids[id(node)]: place[id(node)] + 1 for node in drawing.order}
    arguments = {id(v) for v in run.inputs}
    for node in drawing.nodes:
        if node["id"] in born:
            continue
        thing = drawing.objects.get(node["id"])
        users = [born[e["t"]] for e in drawing.edges if e["s"] == node["id"] and e["t"] in born]
        from_the_start = id(thing) in arguments or node["kind"] == "shared"
        born[node["id"]] = 0 if from_the_start else min(users, default=0)
    pane = Pane(spec, Side(spec["graph"], _keys(drawing, run), facts_of(drawing)), born, drawing, run)
    for at, event in enumerate(spec["trace"]):
        pane.done[born[event["node"]]] = at + 1
    return pane


def _keys(drawing: Drawing, run: Run) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for name, thing in drawing.objects.items():
        if id(thing) in run.keys:
            keys[name] = run.keys[id(thing)]
    for at, var in enumerate(run.inputs):
        argument = drawing.ids.get(id(var))
        if argument is not None and not var.name:
            keys[argument] = ("argument", at)
    return keys


def facts_of(drawing: Drawing) -> dict[str, dict[str, str]]:
    """Attributes of ops and values of constants as text, by node id: what must agree between matched nodes."""
    facts: dict[str, dict[str, str]] = {}
    for node in drawing.nodes:
        thing = drawing.objects.get(node["id"])
        if node["op"]:
            attrs = getattr(thing, "attrs", {})
            facts[node["id"]] = {k: repr(v) for k, v in sorted(attrs.items()) if not hasattr(v, "outputs")}
        elif node["kind"] == "constant" and node["id"] in drawing.arrays:
            facts[node["id"]] = {message("widgets.shared_value"): numbers_text(drawing.arrays[node["id"]])}
    return facts


def _forget_branches(drawing: Drawing, run: Run) -> None:
    """Take the values out of branches that a call does not run."""
    for choice in run.choices:
        condition = drawing.id_of(choice.node.inputs[0])
        if condition not in drawing.arrays:
            continue
        for node in choice.otherwise if drawing.arrays[condition] else choice.then:
            name = drawing.ids.get(id(node))
            if name is not None:
                drawing.arrays.pop(name, None)
                shown = drawing.node(name)
                shown["note"] = message("widgets.compare_not_run")


# ---- moments ----


@dataclass
class Moment:
    """One moment of the clock, in both panes: as `steps` of the contract has it."""

    left: dict[str, Any]
    right: dict[str, Any]
    title: str
    src: dict[str, Any] | None

    def as_json(self) -> dict[str, Any]:
        """The `steps` entry of the contract."""
        where = self.src["where"] if self.src else ""
        words = "; ".join(part for part in (self.left["words"], self.right["words"]) if part)
        return {
            "left": self.left,
            "right": self.right,
            "title": self.title,
            "where": where,
            "says": "",
            "why": "",
            "spoken": ": ".join(part for part in (where, self.title, words) if part),
        }


def _state(graph: int, line: int, step: int, phase: str, words: str, now: Sequence[str] = ()) -> dict[str, Any]:
    valued = phase in ("call", "run", "done") or graph > 0
    return {
        "graph": graph, "born": line, "step": step, "phase": phase, "words": words, "now": list(now), "valued": valued,
    }  # fmt: skip


def moments(statics: Sequence[Pane], dynamics: Sequence[Pane]) -> list[dict[str, Any]]:
    """All moments: building and recording line by line, compiling, the call; then every further call of both.

    `statics` is one graph, once for each set of values; `dynamics` is a tape for each. Graphs are numbered
    statics first.
    """
    first, tape = statics[0], dynamics[0]
    count = len(statics)
    start = Moment(
        _state(0, 0, 0, "", message("widgets.compare_static_start")),
        _state(count, 0, 0, "", message("widgets.compare_dynamic_start")),
        message("widgets.compare_start"),
        None,
    )
    found = [start, *_both_lines(first, tape, count)]
    last = found[-1]
    if first.run.error:
        return [moment.as_json() for moment in found]
    if first.run.results:
        waiting = {**last.right, "phase": "done", "words": message("widgets.compare_has_values"), "now": []}
        everything = len(first.run.lines)
        compiled = _state(0, everything, 0, "compile", _compiled(first))
        found.append(Moment(compiled, waiting, message("widgets.compare_compile"), None))
        waiting = {**waiting, "words": ""}
        found += [_call(first, 0, line, waiting) for line in range(1, everything + 1) if line in first.done]
    for number in range(1, count):
        found += _again(statics[number], dynamics[number], number, count)
    return [moment.as_json() for moment in found]


def _both_lines(static: Pane, dynamic: Pane, graph: int) -> list[Moment]:
    """Line by line: the left builds without values, the right computes and records."""
    everything = len(static.run.lines)
    found: list[Moment] = []
    left, right = _state(0, 0, 0, "", ""), _state(graph, 0, 0, "", "")
    for ours, theirs in _aligned(static, dynamic):
        if ours is not None:
            left = _state(0, ours + 1, 0, "build", _builds(static, ours + 1), static.made_by(ours + 1))
        else:
            left = {**left, "words": "" if static.run.error else message("widgets.compare_not_met"), "now": []}
        right = _runs(dynamic, graph, theirs + 1) if theirs is not None else _idle(right)
        src = (static.run.lines[ours] if ours is not None else dynamic.run.lines[theirs or 0]).src
        found.append(Moment(left, right, _title(src), src))
        if static.run.error and ours is not None and ours + 1 == everything:
            left = {**left, "phase": "error", "words": static.run.error, "now": []}
            found.append(Moment(left, {**right, "words": "", "now": []}, message("widgets.compare_stops"), None))
    return found


def _idle(state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "words": message("widgets.compare_not_run"), "now": []}


def _aligned(static: Pane, dynamic: Pane) -> list[tuple[int | None, int | None]]:
    """Pairs of line numbers: lines that both run, in step; lines of one side alone where they occur."""
    mine, theirs = ([line.key for line in pane.run.lines] for pane in (static, dynamic))
    pairs: list[tuple[int | None, int | None]] = []
    for tag, a, b, c, d in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += zip(range(a, b), range(c, d), strict=True)
        else:
            pairs += [(i, None) for i in range(a, b)] + [(None, j) for j in range(c, d)]
    return pairs


def _again(static: Pane, dynamic: Pane, number: int, count: int) -> list[Moment]:
    """One more call: the compiled graph computes without any Python, the tape is recorded anew."""
    everything = len(static.run.lines)
    left = _state(number, everything, 0, "call", message("widgets.compare_static_again"))
    right = _state(count + number, 0, 0, "run", message("widgets.compare_dynamic_again"))
    found = [Moment(left, right, message("widgets.compare_again", n=number + 1), None)]
    for ours, theirs in _aligned(static, dynamic):
        computes = ours is not None and ours + 1 in static.done
        right = _runs(dynamic, count + number, theirs + 1) if theirs is not None else _idle(right)
        left = _call(static, number, (ours or 0) + 1, right).left if computes else _idle(left)
        src = (static.run.lines[ours] if ours is not None else dynamic.run.lines[theirs or 0]).src
        found.append(Moment(left, right, _title(src), src))
    return found


def _call(static: Pane, graph: int, line: int, right: dict[str, Any]) -> Moment:
    ran = [event["node"] for event in static.spec["trace"] if static.born[event["node"]] == line]
    words = message("widgets.compare_computes", what=_values(static, ran))
    state = _state(graph, len(static.run.lines), static.done[line], "call", words, ran)
    src = static.run.lines[line - 1].src
    return Moment(state, right, _title(src), src)


def _runs(dynamic: Pane, graph: int, line: int) -> dict[str, Any]:
    made = dynamic.made_by(line)
    words = message("widgets.compare_records", what=_values(dynamic, made))
    return _state(graph, line, dynamic.done.get(line, 0), "run", words, made)


def _builds(static: Pane, line: int) -> str:
    made = [shorten(static.drawing.node(name)["label"]) for name in static.made_by(line)]
    return message("widgets.compare_builds", what=_listed(made))


def _values(pane: Pane, names: Sequence[str]) -> str:
    texts = []
    for name in names:
        node = pane.drawing.node(name)
        said = node["name"] or node["op"]
        array = pane.drawing.arrays.get(name)
        texts.append(f"{shorten(said)} = {numbers_text(array)}" if array is not None else shorten(said))
    return _listed(texts)


def _listed(texts: Sequence[str]) -> str:
    shown = list(texts[-NAMED:])
    return ", ".join((["…"] if len(texts) > NAMED else []) + shown) or "–"


def _title(src: dict[str, Any] | None) -> str:
    if src is None:
        return message("widgets.compare_no_line")
    return shorten(src["text"], 80)


def _compiled(static: Pane) -> str:
    """What compiling does to the graph, in words."""
    roots = [v for v in static.run.kept[-1] if isinstance(v, Symbol)]
    try:
        _, log = rewrite(roots)
    except TutorlibError as error:
        return str(error).splitlines()[0]
    if not len(log):
        return message("widgets.compare_compiles_as_is")
    return message("widgets.compare_compiles", n=len(log), what=_listed([step.says for step in log]))
