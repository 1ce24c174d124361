"""The data contract of CompareView: two panes, the graphs that they show, how these match, and the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tutorlib.compile.function import Function
from tutorlib.compile.rewrite_log import RewriteLog
from tutorlib.core.graph import Symbol, Var
from tutorlib.core.tensor import Tensor
from tutorlib.messages import message
from tutorlib.viz.compare_clock import facts_of, moments, pane_of
from tutorlib.viz.compare_log import log_steps, near_misses
from tutorlib.viz.compare_match import Match, Side, match
from tutorlib.viz.compare_runs import Run, opened, run_of
from tutorlib.viz.compare_words import Titles, differences, outline_diff
from tutorlib.viz.graph_spec import graph_drawing, spec_of
from tutorlib.viz.model import draw_graph

__all__ = ["Comparison", "of_graphs", "of_log", "of_runs"]


class Comparison:
    """The `spec` of a view, its `differences` in words and the Match of each pair of graphs."""

    def __init__(self, spec: dict[str, Any], sentences: list[str], matches: list[Match]) -> None:
        self.spec, self.differences, self.matches = spec, sentences, matches


def of_runs(statics: Sequence[Run], dynamics: Sequence[Run], inputs: Sequence[Mapping[Any, Any]]) -> Comparison:
    """A static graph beside the tapes of the same program, with the clock; `inputs` are the values of each call."""
    left = [pane_of(statics[0], given) for given in inputs]
    right = [pane_of(run) for run in dynamics]
    titles = Titles(message("widgets.compare_static"), message("widgets.compare_dynamic"))
    count = len(left)
    found = [match(a.side, b.side) for a in left for b in right]
    steps = moments(left, right)
    for step in steps:
        step["match"] = step["left"]["graph"] * count + step["right"]["graph"] - count
    spec = _spec("modes", titles, [p.spec for p in (*left, *right)], [p.born for p in (*left, *right)], found, steps)
    return _finished(spec, found[0], titles, [*left[0].drawing.notes, *right[0].drawing.notes])


def of_log(log: RewriteLog, chosen: range | None = None) -> Comparison:
    """Before beside after for every rewrite of a log; step 0 is the graph as written beside the graph that runs."""
    found = log_steps(log, chosen)
    titles = Titles(message("widgets.compare_before"), message("widgets.compare_after"))
    steps = [{**step, "match": at} for at, step in enumerate(found.steps)]
    spec = _spec("log", titles, found.graphs, [None] * len(found.graphs), found.matches, steps)
    for entry, group in zip(spec["matches"], found.groups, strict=True):
        entry["replaced"] = group
    spec["near"] = near_misses(log)
    return _finished(spec, found.matches[0], titles, found.notes)


def of_graphs(left: Any, right: Any, titles: tuple[str, str] | None, inputs: Mapping[Any, Any] | None) -> Comparison:
    """Two graphs side by side: static beside dynamic with the clock, else an answer beside its reference."""
    ours, theirs = _roots(left), _roots(right)
    if isinstance(ours[0], Symbol) and isinstance(theirs[0], Tensor):
        static, dynamic = run_of(ours), run_of(theirs)
        found = of_runs([static], [dynamic], [_values(static, dynamic, inputs)])
        if titles:
            found.spec["titles"] = dict(zip(("left", "right"), titles, strict=True))
        return found
    (spec_a, a, notes_a), (spec_b, b, notes_b) = _drawn(left, ours), _drawn(right, theirs)
    learner = titles is None
    called = titles or (message("widgets.compare_answer"), message("widgets.compare_reference"))
    named = Titles(*called, learner=learner)
    result = match(a, b)
    words = message("widgets.compare_equal") if result.equal else ""
    state: dict[str, Any] = {"graph": 0, "born": None, "step": 0, "phase": "", "words": "", "now": [], "valued": True}
    step = {
        "left": state, "right": {**state, "graph": 1}, "title": words, "says": "", "where": "", "why": "",
        "spoken": words, "match": 0,
    }  # fmt: skip
    spec = _spec("graphs", named, [spec_a, spec_b], [None, None], [result], [step])
    return _finished(spec, result, named, [*notes_a, *notes_b])


def _drawn(what: Any, roots: Sequence[Any]) -> tuple[dict[str, Any], Side, Sequence[str]]:
    """A graph that is compared for its structure: spec, side, notes. Places of two programs say nothing."""
    whole, choices = opened(roots, {}) if isinstance(roots[0], Symbol) else (list(roots), [])
    if choices:
        drawing = draw_graph(whole)
    else:
        drawing, _ = graph_drawing(what, wrt=[] if isinstance(roots[0], Tensor) else None, fold=False)
    spec = spec_of(drawing)
    return spec, Side(spec["graph"], {}, facts_of(drawing)), drawing.notes


def _roots(what: Any) -> list[Any]:
    if isinstance(what, Function):
        return [*what.outputs, *(new for _, new in what.updates)]
    items = (
        list(what.values()) if isinstance(what, Mapping) else list(what) if isinstance(what, list | tuple) else [what]
    )
    for item in items:
        if not isinstance(item, Var):
            raise TypeError(message("widgets.error_no_graph", what=type(item).__name__))
    if not items:
        raise TypeError(message("widgets.error_no_graph", what="[]"))
    return items


def _values(static: Run, dynamic: Run, inputs: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
    """Values for the symbols: those given, else those of the tensors of the same name."""
    if inputs is not None:
        return inputs
    known = {str(v.name): v for v in dynamic.inputs if v.name}
    return {v: known[str(v.name)].data for v in static.inputs if v.name and str(v.name) in known}


def _spec(
    kind: str,
    titles: Titles,
    graphs: list[dict[str, Any]],
    born: Sequence[dict[str, int] | None],
    matches: Sequence[Match],
    steps: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        "version": 1,
        "compare": kind,
        "titles": {"left": titles.left, "right": titles.right},
        "graphs": graphs,
        "born": list(born),
        "matches": [{**found.as_json(), "replaced": []} for found in matches],
        "steps": steps,
        "near": [],
    }


def _finished(spec: dict[str, Any], found: Match, titles: Titles, notes: Sequence[str]) -> Comparison:
    """Add what is said about it: differences, the diff of the outlines, the summary, the notes."""
    sentences = differences(found, titles)
    first = spec["steps"][0]
    left, right = (spec["graphs"][first[side]["graph"]] for side in ("left", "right"))
    same = sum(a not in found.changes for a in found.pairs)
    summary = message(
        "widgets.compare_summary", left=titles.left, right=titles.right, same=same, changed=len(found.changes),
        less=len(found.only_left), more=len(found.only_right),
    )  # fmt: skip
    spec |= {
        "differences": sentences,
        "text": outline_diff(found, left, right, titles),
        "summary": summary,
        "notes": list(dict.fromkeys(notes)),
    }
    return Comparison(spec, sentences, [found])
