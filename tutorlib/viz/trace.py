"""The events that a learner steps through, forward, backward and update, with formula and numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tutorlib.messages import message
from tutorlib.viz.accumulation import parts_of
from tutorlib.viz.derivatives import SHORT, name_in, short_text
from tutorlib.viz.face import shape_text
from tutorlib.viz.formulas import backward_of, forward_of
from tutorlib.viz.gradients import Flow, Part
from tutorlib.viz.model import Drawing
from tutorlib.viz.names import in_words, letters_of, put_in, speaks_of_shape
from tutorlib.viz.values import describe_value, numbers_text

__all__ = ["STEPS", "Values", "events"]

BUDGET = 2_000_000
STEPS = 5_000
HEATMAP = 64
NESTED = 4
TERMS = 6
PARTS = 64
PHASES = ("forward", "backward", "update")


class Values:
    """Entries of the contract's `values`, within 2 MB: beyond that, later ones keep statistics only.

    Beyond 4 MB only values that are not finite are kept, so that these are found in a graph of any size.
    """

    def __init__(self, budget: int = BUDGET) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self.budget = self.left = budget
        self.thinned_from: int | None = None

    def add(self, array: Any, step: int = 0) -> str | None:
        """Store one array and return its key; None for a value that there is no room for."""
        entry = describe_value(array, side=HEATMAP) if self.left > 0 else describe_value(array, side=0, table=0)
        if self.left <= 0 and self.thinned_from is None:
            self.thinned_from = step
        if self.left < -self.budget and not (entry["stats"]["nan"] or entry["stats"]["inf"]):
            return None
        self.left -= len(json.dumps(entry))
        key = f"v{len(self.entries)}"
        self.entries[key] = entry
        return key


def events(drawing: Drawing, flow: Flow | None, values: Values, *, complete: bool) -> list[dict[str, Any]]:
    """The trace of a drawing whose arrays are known; fills in `value` and `grad` of its nodes as it goes.

    `complete`: whether every op has a value; without it there are no steps, only the values of leaves.
    """
    found: list[dict[str, Any]] = []
    for name, array in drawing.arrays.items():
        if drawing.node(name)["kind"] in ("input", "shared", "constant") and name not in drawing.dropped:
            drawing.node(name)["value"] = values.add(array)
    writer = _Writer(drawing, values, found)
    for node in drawing.order:
        name = drawing.ids[id(node)]
        if name in drawing.arrays and name not in drawing.dropped:
            writer.forward(name, node, list_it=complete)
    if flow is not None:
        for name in flow.steps:
            writer.gradient(name, flow, list_it=complete and flow.computed)
    for shown in drawing.seen():
        if shown["kind"] == "update" and shown["id"] in drawing.arrays:
            writer.update(shown, list_it=complete)
    _in_phases(found)
    for shown in drawing.nodes:
        if shown["kind"] == "error" and complete:
            writer.failure(shown)
    for shown in drawing.seen():
        if shown["grad"] is not None and shown["grad"].startswith("n"):
            shown["grad"] = drawing.node(shown["grad"])["value"]
    if len(found) > STEPS:
        del found[STEPS:]
        drawing.notes.append(message("widgets.note_steps_cut", n=STEPS))
    if values.thinned_from is not None:
        drawing.notes.append(message("widgets.note_trace_cut", limit=BUDGET // 1_000_000, step=values.thinned_from))
    return found


def _in_phases(found: list[dict[str, Any]]) -> None:
    """Forward, then backward, then update, as a step of training goes; unless a gradient goes through an update."""
    rank = {event["node"]: PHASES.index(event["phase"]) for event in found}
    if all(rank.get(source, 0) <= rank[event["node"]] for event in found for source in event["inputs"]):
        found.sort(key=lambda event: PHASES.index(event["phase"]))
        for at, event in enumerate(found):
            event["t"] = at


class _Writer:
    """Writes events; knows how to say a variable's name and its number."""

    def __init__(self, drawing: Drawing, values: Values, found: list[dict[str, Any]]) -> None:
        self.drawing, self.values, self.found = drawing, values, found
        self.after: set[str] = set()

    def forward(self, name: str, node: Any, list_it: bool) -> None:
        shown = self.drawing.node(name)
        shown["value"] = self.values.add(self.drawing.arrays[name], len(self.found))
        if not list_it:
            return
        said, numbers = "", ""
        rule = forward_of(node.op.name)
        if rule is not None and len(rule.inputs) >= len(node.inputs):
            inputs, output = list(node.inputs), node.outputs[0]
            said = put_in(rule.text, rule.letters(inputs, output, self._name))
            numbers = self._numbers(rule.text, rule.letters(inputs, output, self._number))
            numbers = numbers or _shapes_in(rule.text, rule.letters(inputs, output, self._shape))
        sources = [edge["s"] for edge in self.drawing.edges_into(name)]
        phase = (
            "backward" if shown["kind"] == "gradient" else "update" if self._follows_gradient(sources) else "forward"
        )
        if phase == "update":
            self.after.add(name)
        parts = [part for part in parts_of(self.drawing, name) if part in self.drawing.arrays]
        if len(parts) < 2:
            self._event(phase, name, sources, said, numbers, rule=in_words(rule.text) if rule else "")
            return
        total, arrays = self.drawing.arrays[name], [self.drawing.arrays[part] for part in parts]
        names = [self.drawing.node(part)["name"] or self.drawing.node(part)["label"] for part in parts]
        said = f"{shown['name']} = {_sum_of(names)}"
        self._event(phase, name, sources, said, _sum_text(total, arrays), rule="", **self._keep(arrays))

    def gradient(self, name: str, flow: Flow, list_it: bool) -> None:
        if name not in self.drawing.arrays:
            return
        shown = self.drawing.node(name)
        total = self.drawing.arrays[name]
        shown["value"] = self.values.add(total, len(self.found))
        if not list_it:
            return
        parts = flow.parts.get(name, [])
        terms, arrays = [], []
        for part in parts:
            terms.append(self._term(part, flow.cost_of(name)))
            arrays.append(part.array)
        if name in flow.earlier:
            terms.append(message("widgets.earlier_gradient"))
            arrays.append(flow.earlier[name])
        formula = f"{shown['label']} = {_sum_of(terms)}"
        if not parts:
            formula = f"{shown['label']} = 1" if _is_one(total) else shown["label"]
        known = [a for a in arrays if a is not None]
        more: dict[str, Any] = {}
        numbers = ""
        if len(arrays) > 1 and len(known) == len(arrays):
            more = dict(self._keep(known))
            numbers = _sum_text(total, known)
        elif len(parts) == 1:
            numbers = self._gradient_numbers(parts[0], flow, total)
        sources = [edge["s"] for edge in self.drawing.edges_into(name)]
        rules = [backward_of(part.consumer.op.name, part.port) for part in parts]
        said = dict.fromkeys(in_words(rule.text) for rule in rules if rule is not None)
        seed = "" if parts else message("widgets.rule_seed")
        self._event("backward", name, sources, formula, numbers, rule=";  ".join(said) or seed, **more)

    def _keep(self, arrays: list[Any]) -> dict[str, list[str]]:
        """The parts of a sum, where there is room for all of them."""
        if len(arrays) > PARTS:
            return {}
        keys = [key for key in (self.values.add(array, len(self.found)) for array in arrays) if key is not None]
        return {"parts": keys} if len(keys) == len(arrays) else {}

    def update(self, shown: dict[str, Any], list_it: bool) -> None:
        name = shown["id"]
        sources = [edge["s"] for edge in self.drawing.edges_into(name)]
        shown["value"] = self.drawing.node(sources[0])["value"] if sources else None
        shown["value"] = shown["value"] or self.values.add(self.drawing.arrays[name], len(self.found))
        if not list_it:
            return
        target = self.drawing.node(shown["update_of"])
        new, old = numbers_text(self.drawing.arrays[name]), self._number_of(target["id"])
        numbers = f"{old} → {new}" if old and len(new) <= SHORT else ""
        right = self._expression(sources[0], NESTED) if sources else target["label"]
        self._event("update", name, sources, f"{target['label']} ← {right}", numbers, rule="")

    def failure(self, shown: dict[str, Any]) -> None:
        """The op that failed, as the last step: what it says in place of a formula."""
        sources = [edge["s"] for edge in self.drawing.edges_into(shown["id"])]
        said = message("widgets.summary_failed", op=shown["op"], says=shown["note"].rstrip("."))
        self._event("forward", shown["id"], sources, said, "", rule="")

    def _follows_gradient(self, sources: list[str]) -> bool:
        """Ops that a learner wrote on top of gradients are the arithmetic of an update."""
        return any(source in self.after or self.drawing.node(source)["kind"] == "gradient" for source in sources)

    def _expression(self, name: str, depth: int) -> str:
        """What an op computes, with the ops inside it that have no name written out, as in `w − 0.1 · ∂L/∂w`."""
        shown = self.drawing.node(name)
        thing = self.drawing.objects.get(name)
        rule = forward_of(shown["op"]) if shown["op"] and not shown["name"] and shown["kind"] != "gradient" else None
        if rule is None or depth == 0 or thing is None:
            return shown["name"] or shown["label"]

        def said(var: Any) -> str:
            inner = self.drawing.id_of(var)
            words = self._expression(inner, depth - 1) if inner is not None else short_text(var) or "…"
            return f"({words})" if (" + " in words or " − " in words) and inner is not None else words

        letters = {letter: said(var) for letter, var in zip(rule.inputs, thing.inputs, strict=False) if letter}
        return put_in(rule.text.partition("=")[2].strip(), letters)

    def _term(self, part: Part, cost: str) -> str:
        rule = backward_of(part.consumer.op.name, part.port)
        if rule is None:
            return message("widgets.part_from", op=self._name(part.consumer))
        letters = rule.letters(list(part.consumer.inputs), part.consumer, self._name)
        letters[f"∂L/∂{rule.output}"] = f"∂{cost}/∂{letters[rule.output]}"
        said = put_in(rule.text.partition("=")[2].strip(), letters)
        var = part.consumer.inputs[part.port]
        return (
            said
            if speaks_of_shape(rule.text) or np.shape(var) == part.consumer.outputs[0].shape or not _elementwise(part)
            else f"Σ {said}"
        )

    def _gradient_numbers(self, part: Part, flow: Flow, total: Any) -> str:
        rule = backward_of(part.consumer.op.name, part.port)
        above = part.above
        if rule is None or above is None:
            return ""
        if np.shape(above) != np.shape(total):
            if _elementwise(part):
                return f"{shape_text(np.shape(total))} = Σ {shape_text(np.shape(above))}"
            letters = rule.letters(list(part.consumer.inputs), part.consumer, self._shape)
            letters[f"∂L/∂{rule.output}"] = shape_text(np.shape(above))
            letters[rule.text.partition("=")[0].strip()] = shape_text(np.shape(total))
            return _shapes_in(rule.text, letters)
        letters = rule.letters(list(part.consumer.inputs), part.consumer, self._number)
        letters[f"∂L/∂{rule.output}"] = short_text(
            getattr(above, "data", above) if hasattr(above, "requires_grad") else above
        )
        letters[rule.text.partition("=")[0].strip()] = short_text(total)
        return self._numbers(rule.text, letters)

    def _numbers(self, text: str, letters: dict[str, str]) -> str:
        """The formula with numbers put in; nothing where one of them is too long to read in a line."""
        said = put_in(text, letters)
        if speaks_of_shape(text):
            return ""
        used = [letters[token] for token in (*letters_of(text), text.partition("=")[0].strip()) if token in letters]
        return said if all(used) and len(said) <= 4 * SHORT else ""

    def _name(self, thing: Any) -> str:
        return name_in(self.drawing, thing)

    def _number(self, thing: Any) -> str:
        name = self.drawing.id_of(thing)
        return self._number_of(name) if name is not None else short_text(thing)

    def _shape(self, thing: Any) -> str:
        name = self.drawing.id_of(thing)
        shape = np.shape(self.drawing.arrays[name]) if name in self.drawing.arrays else getattr(thing, "shape", None)
        return "" if shape is None else shape_text(shape)

    def _number_of(self, name: str) -> str:
        return short_text(self.drawing.arrays[name]) if name in self.drawing.arrays else ""

    def _event(self, phase: str, node: str, inputs: list[str], formula: str, numbers: str, **more: Any) -> None:
        self.found.append(
            {
                "t": len(self.found),
                "phase": phase,
                "node": node,
                "inputs": inputs,
                "value": self.drawing.node(node)["value"],
                "formula": formula,
                "numbers": numbers,
                **more,
            }
        )


def _sum_of(terms: list[str]) -> str:
    """A sum that can be read in a line: of many terms the first ones and the last."""
    if len(terms) > TERMS:
        terms = [*terms[: TERMS - 2], message("widgets.more_terms", n=len(terms) - TERMS + 1), terms[-1]]
    return " + ".join(terms)


def _shapes_in(text: str, letters: dict[str, str]) -> str:
    """The formula with shapes put in, where arrays of several shapes meet: what becomes of them is what it is about."""
    right, result = [letters.get(token, "") for token in letters_of(text)], letters.get(text.partition("=")[0].strip())
    if not all(right) or not result or "()" in right or speaks_of_shape(text):
        return ""
    return put_in(text, letters) if len({result, *right}) > 1 else ""


def _sum_text(total: Any, parts: list[Any]) -> str:
    texts = [numbers_text(part) for part in parts]
    return f"{numbers_text(total)} = {_sum_of(texts)}" if all(len(text) <= SHORT for text in texts) else ""


def _elementwise(part: Part) -> bool:
    return "elementwise" in part.consumer.op.flags


def _is_one(value: Any) -> bool:
    return bool(np.all(np.asarray(value) == 1))
