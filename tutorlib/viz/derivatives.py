"""What an op of a drawing computes and what its local derivative is, in the learner's own names: as text and MathML."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.graph import Symbol
from tutorlib.viz.formulas import rules_of
from tutorlib.viz.mathml import math_of, name_tree
from tutorlib.viz.model import Drawing
from tutorlib.viz.names import gradient_name, in_words, put_in
from tutorlib.viz.values import numbers_text

__all__ = ["SHORT", "formula_entry", "math_table", "name_in", "short_text"]

SHORT = 18


def formula_entry(drawing: Drawing, name: str) -> dict[str, Any] | None:
    """The `formula` of an op node: texts with names put in, and `names`, the tree of each letter of the formula.

    None for an op that the table does not have.
    """
    shown, thing = drawing.node(name), drawing.objects.get(name)
    forward, backward = rules_of(shown["op"])
    rule = forward or next((r for r in backward if r.text), None)
    if rule is None:
        return None
    inputs = list(getattr(thing, "inputs", ()))
    if thing is None or len(rule.inputs) < len(inputs):
        said = {rule.output: shown["name"] or shown["label"]}
    else:
        said = rule.letters(inputs, thing.outputs[0], lambda var: name_in(drawing, var))
    gradients = {f"∂L/∂{letter}": gradient_name(drawing.cost, text) for letter, text in said.items()}
    return {
        "forward": put_in(forward.text, said) if forward else "",
        # The rule of an op that computes a gradient would be that of a second derivative.
        "backward": [put_in(r.text, said | gradients) for r in backward if r.text and shown["kind"] != "gradient"],
        "names": {letter: name_tree(text) for letter, text in (said | {"L": drawing.cost}).items()},
    }


def math_table(drawing: Drawing) -> dict[str, Any]:
    """The formulas of all ops drawn, by op: trees whose letters each node fills in with its own `names`."""
    table = {}
    for op in sorted({node["op"] for node in drawing.nodes if node["op"]}):
        forward, backward = rules_of(op)
        if forward or backward:
            table[op] = {
                "forward": math_of(in_words(forward.text)) if forward else None,
                "backward": [math_of(in_words(rule.text)) for rule in backward if rule.text],
            }
    return table


def name_in(drawing: Drawing, thing: Any) -> str:
    """What a drawing calls a variable, or the number of a constant that is not drawn, or "…"."""
    name = drawing.id_of(thing)
    if name is None:
        return short_text(thing) or "…"
    shown = drawing.node(name)
    return shown["name"] or shown["label"]


def short_text(value: Any) -> str:
    """The numbers of a small array where they fit into a formula, else ""; a symbol has none."""
    if isinstance(value, Symbol):
        return ""
    text = numbers_text(np.asarray(value)) if np.size(value) <= 6 else ""
    return text if len(text) <= SHORT else ""
