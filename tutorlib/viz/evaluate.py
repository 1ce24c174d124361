"""The value of every node of a static graph for given inputs. A node that fails keeps its error instead of a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tutorlib.core.backend import quiet
from tutorlib.core.dispatch import run_node
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Constant, Input, Shared, Var
from tutorlib.core.tensor import Tensor
from tutorlib.messages import message
from tutorlib.viz.misfit import mark_axes
from tutorlib.viz.model import Drawing
from tutorlib.viz.values import to_host

__all__ = ["fill_values", "given_by_name"]


def given_by_name(drawing: Drawing, inputs: Mapping[Any, Any]) -> dict[int, Any]:
    """`inputs`, keyed by variable or by name, as id(variable) → array of the variable's dtype.

    Raises ValueError for a name that no input of the graph has.
    """
    named = {str(v.name): v for v in drawing.objects.values() if isinstance(v, Var) and getattr(v, "name", None)}
    found = {}
    for key, value in inputs.items():
        var = named.get(key) if isinstance(key, str) else key
        if not isinstance(var, Var):
            raise ValueError(message("widgets.error_no_input", name=key, names=", ".join(sorted(named)) or "–"))
        found[id(var)] = np.asarray(to_host(value), dtype=var.dtype)
    return found


def fill_values(drawing: Drawing, inputs: Mapping[Any, Any]) -> bool:
    """Compute what `inputs` allow into `drawing.arrays`; true when every op of the graph got a value.

    Shared variables count with the values they hold now. An op that fails is marked as an error, with the
    reason as a note.
    """
    given = given_by_name(drawing, inputs)
    values: dict[int, Any] = dict(given)
    missing = []
    for name, var in drawing.objects.items():
        if isinstance(var, Var) and id(var) in given:
            drawing.arrays[name] = given[id(var)]
        elif isinstance(var, Shared):
            values[id(var)] = var.storage.value
        elif isinstance(var, Constant):
            values[id(var)] = var.value
        elif isinstance(var, Input):
            missing.append(str(var.name or message("widgets.unnamed")))
    complete = True
    with quiet():
        for node in drawing.running or drawing.order:
            if isinstance(node, Tensor):
                continue
            if drawing.running:
                values.update((id(v), v.value) for v in node.inputs if isinstance(v, Constant))
            if not all(id(v) in values for v in node.inputs):
                complete = False
                continue
            try:
                result = run_node(node, [values[id(v)] for v in node.inputs])
            except TutorlibError as error:
                complete = False
                _mark_error(drawing, node, error)
                continue
            results = [result] if node.op.nout == 1 else list(result)
            values.update((id(v), r) for v, r in zip(node.outputs, results, strict=True))
            if not drawing.running or node.role != "backward":
                drawing.arrays[drawing.ids[id(node)]] = to_host(results[0])
    for key in drawing.inner:
        if key in values:
            drawing.inner[key] = to_host(values[key])
    if inputs and missing:
        drawing.notes.append(message("widgets.note_needs_inputs", names=", ".join(missing)))
    return complete


def _mark_error(drawing: Drawing, node: Any, error: TutorlibError) -> None:
    shown = drawing.node(drawing.ids[id(node)])
    shown["kind"], shown["letter"] = "error", "!"
    mark_axes(drawing, shown["id"], error)
    shown["note"] = str(error).splitlines()[0][:300]
    said = shown["note"] if shown["note"].startswith(shown["op"] or "") else f"{shown['label']}: {shown['note']}"
    drawing.notes.append(said)
