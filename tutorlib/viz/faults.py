"""Where NaN and infinity come from: the first op that made one, the operands that made it, and the way it went."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.messages import message
from tutorlib.viz.formulas import Rule, backward_of, forward_of
from tutorlib.viz.gradients import Flow, Part
from tutorlib.viz.model import Drawing
from tutorlib.viz.names import put_in, speaks_of_shape
from tutorlib.viz.values import number, to_host

__all__ = ["add_faults"]


def add_faults(drawing: Drawing, flow: Flow | None) -> None:
    """Give each node that is not finite a `fault`.

    `origin` is the node where it began and `back` the producer it came through (none at the origin itself); an origin
    also has `text`, what happened in words, and `inputs`, the ids of the operands that made it.
    """
    bad = {name for name, array in drawing.arrays.items() if not _finite(array)}
    for name in _in_order(drawing, bad):
        producers = [edge["s"] for edge in drawing.edges_into(name) if edge["kind"] != "update"]
        from_bad = next((source for source in producers if "fault" in drawing.node(source)), None)
        shown = drawing.node(name)
        if from_bad is not None:
            shown["fault"] = {"origin": drawing.node(from_bad)["fault"]["origin"], "back": from_bad}
            continue
        text = _leaf_text(drawing, name) if not producers else _op_text(drawing, flow, name)
        shown["fault"] = {"origin": name, "back": None, "text": text, "inputs": list(dict.fromkeys(producers))}


def _in_order(drawing: Drawing, bad: set[str]) -> list[str]:
    """The bad nodes, each after the bad ones it is made from."""
    waiting = {
        name: sum(edge["s"] in bad for edge in drawing.edges_into(name) if edge["kind"] != "update") for name in bad
    }
    consumers: dict[str, list[str]] = {name: [] for name in bad}
    for edge in drawing.edges:
        if edge["s"] in bad and edge["t"] in bad and edge["kind"] != "update":
            consumers[edge["s"]].append(edge["t"])
    ready = sorted((name for name, count in waiting.items() if not count), key=lambda name: int(name[1:]))
    for name in ready:
        for target in consumers[name]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return ready


def _leaf_text(drawing: Drawing, name: str) -> str:
    return message("widgets.fault_given", name=drawing.node(name)["label"], **_count(drawing.arrays[name]))


def _op_text(drawing: Drawing, flow: Flow | None, name: str) -> str:
    shown, thing = drawing.node(name), drawing.objects.get(name)
    fields = _count(drawing.arrays[name])
    fields["where"] = f" ({shown['src']['where']})" if shown["src"] else ""
    if shown["op"] and thing is not None:
        rule, inputs = forward_of(shown["op"]), list(thing.inputs)
        arrays = [_array_of(drawing, var) for var in inputs]
        said = _at_element(rule, arrays, drawing.arrays[name], {}, "elementwise" in thing.op.flags)
        return message("widgets.fault_made", op=shown["label"], said=said or _ranges(drawing, inputs, arrays), **fields)
    part = _guilty(flow.parts.get(name, [])) if flow is not None else None
    if part is None:
        return message("widgets.fault_made", op=shown["label"], said="", **fields)
    consumer = part.consumer
    rule = backward_of(consumer.op.name, part.port)
    arrays = [_array_of(drawing, v) for v in consumer.inputs]
    made = drawing.arrays[name] if part.array is None else part.array
    above = {} if part.above is None else {f"∂L/∂{rule.output}": to_host(part.above)} if rule else {}
    said = _at_element(rule, arrays, made, above | ({rule.output: _array_of(drawing, consumer)} if rule else {}), True)
    return message("widgets.fault_made_back", op=consumer.op.name, name=shown["label"], said=said, **fields)


def _guilty(parts: list[Part]) -> Part | None:
    return next(
        (part for part in parts if part.array is not None and not _finite(part.array)), parts[0] if parts else None
    )


def _at_element(rule: Rule | None, inputs: list[Any], made: Any, others: dict[str, Any], elementwise: bool) -> str:
    """The formula with the numbers that stand at the first bad element, as in ": -inf = log 0"; "" where none is."""
    if rule is None or speaks_of_shape(rule.text) or len(rule.inputs) < len(inputs):
        return ""
    left = rule.text.partition("=")[0].strip()
    spot = tuple(int(i) for i in np.argwhere(~np.isfinite(made))[0])
    numbers = {}
    for letter, array in {**dict(zip(rule.inputs, inputs, strict=False)), **others, left: made}.items():
        if array is None or not letter:
            return ""
        if np.size(array) == 1:
            numbers[letter] = number(np.reshape(array, -1)[0])
        elif elementwise and _fits(array, made):
            numbers[letter] = number(np.broadcast_to(array, np.shape(made))[spot])
        else:
            return ""
    at = message("widgets.fault_at", index=", ".join(map(str, spot))) if spot else ""
    return f": {put_in(rule.text, numbers)}{at}"


def _fits(array: Any, made: Any) -> bool:
    try:
        return np.broadcast_shapes(np.shape(array), np.shape(made)) == np.shape(made)
    except ValueError:
        return False


def _ranges(drawing: Drawing, inputs: list[Any], arrays: list[Any]) -> str:
    """From where to where each operand goes."""
    said = []
    for var, array in zip(inputs, arrays, strict=True):
        name = drawing.id_of(var)
        if array is None or name is None or not np.size(array) or np.asarray(array).dtype.kind not in "fiu":
            continue
        label = drawing.node(name)["name"] or drawing.node(name)["label"]
        said.append(message("widgets.fault_range", name=label, low=number(np.min(array)), high=number(np.max(array))))
    return f": {', '.join(dict.fromkeys(said))}" if said else ""


def _array_of(drawing: Drawing, var: Any) -> Any:
    name = drawing.id_of(var)
    return drawing.arrays.get(name) if name is not None else np.asarray(var)


def _count(array: Any) -> dict[str, Any]:
    flat = np.ravel(array)
    tests = {"NaN": np.isnan(flat), "inf": flat == np.inf, "−inf": flat == -np.inf}
    what = message("widgets.fault_and").join(word for word, found in tests.items() if found.any())
    return {"what": what, "count": int((~np.isfinite(flat)).sum()), "size": int(flat.size)}


def _finite(array: Any) -> bool:
    array = np.asarray(array)
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
