"""Why a gradient is zero, missing, NaN, tiny or huge: `tl.explain` for the nodes of a drawing, and the way to see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tutorlib.core.graph import Input, Symbol
from tutorlib.core.tensor import Tensor
from tutorlib.messages import message
from tutorlib.tools.explain import HUGE, TINY, Explanation, explain, explain_symbols
from tutorlib.viz.gradients import Flow
from tutorlib.viz.model import Drawing

__all__ = ["add_reasons"]

MOST = 24
NODES = 20_000
NUMBERS = 50_000_000


def add_reasons(drawing: Drawing, flow: Flow | None, *, complete: bool) -> None:
    """Give nodes with a conspicuous gradient a `why`: verdict, sentences, and the ids of causes and of the way to them.

    An explanation walks the whole graph, so a large graph gets fewer, those nearest to its inputs first.
    """
    if flow is not None and isinstance(drawing.roots[0], Tensor):
        _recorded(drawing, flow)
    elif complete and drawing.roots and isinstance(drawing.roots[0], Symbol):
        _symbolic(drawing)


def _recorded(drawing: Drawing, flow: Flow) -> None:
    root = drawing.roots[0]
    tensors = [(node, drawing.objects.get(node["id"])) for node in drawing.nodes if node["kind"] in _VALUES]
    found = [(node, var) for node, var in tensors if isinstance(var, Tensor)]
    if not flow.computed:
        for node, var in found:
            if var.requires_grad and root.requires_grad:
                text = message("widgets.why_not_run", name=flow.cost if flow.cost != "L" else "loss")
                node["why"] = {"verdict": "wait", "text": [text], "causes": [], "path": []}
        return
    wanted = [(node, var) for node, var in found if _conspicuous(drawing, node["grad"])]
    for node, var in sorted(wanted, key=lambda pair: pair[1].op is not None)[: _budget(drawing)]:
        _tell(drawing, node["id"], explain(var, root))


def _symbolic(drawing: Drawing) -> None:
    cost = drawing.roots[0]
    if cost.ndim:
        return
    asked = {of: name for name, of in drawing.targets.items()} | dict.fromkeys(drawing.unreached)
    wanted = [of for of, name in asked.items() if _conspicuous(drawing, name)][: _budget(drawing)]
    if not wanted:
        return
    inputs = {
        var: drawing.arrays[name]
        for name, var in drawing.objects.items()
        if isinstance(var, Input) and name in drawing.arrays
    }
    found = explain_symbols([drawing.objects[of] for of in wanted], cost, inputs)
    for of, explanation in zip(wanted, found, strict=True):
        _tell(drawing, of, explanation)


_VALUES = ("input", "shared", "op", "output", "error")


def _budget(drawing: Drawing) -> int:
    numbers = sum(np.size(array) for array in drawing.arrays.values())
    return max(1, min(MOST, NODES // max(1, len(drawing.order)), NUMBERS // max(1, numbers)))


def _conspicuous(drawing: Drawing, gradient: str | None) -> bool:
    """Whether somebody may ask about this gradient; None means that there is none."""
    array = drawing.arrays.get(gradient) if gradient is not None else None
    if array is None:
        return True
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(np.ravel(array).astype(np.float64)))
    return not TINY <= norm <= HUGE and bool(np.size(array))


def _tell(drawing: Drawing, name: str, found: Explanation) -> None:
    if found.verdict == "ordinary":
        return
    causes = [id_ for id_ in dict.fromkeys(drawing.id_of(node.outputs[0]) for node in found.causes) if id_ is not None]
    steps = [id_ for step in found.path if (id_ := drawing.id_of(step.node.outputs[0])) is not None]
    drawing.node(name)["why"] = {
        "verdict": found.verdict,
        "text": list(found.sentences),
        "causes": causes,
        "path": _with_gradients(drawing, [name, *reversed(steps)] if steps else _ways(drawing, name, causes)),
    }


def _ways(drawing: Drawing, name: str, causes: Sequence[str]) -> list[str]:
    """The shortest ways down from a variable to the causes; a cause elsewhere is joined at the result."""
    root = drawing.id_of(drawing.roots[0])
    found: dict[str, None] = {}
    for cause in causes:
        direct = _way(drawing, name, cause)
        ways = [direct] if direct else [_way(drawing, cause, root), _way(drawing, name, root)]
        for way in ways:
            found.update(dict.fromkeys(way))
    return list(found)


def _way(drawing: Drawing, start: str, end: str | None) -> list[str]:
    came: dict[str, str] = {start: ""}
    wave = [start]
    consumers: dict[str, list[str]] = {}
    for edge in drawing.edges:
        if edge["kind"] == "forward" and drawing.node(edge["t"])["kind"] != "gradient":
            consumers.setdefault(edge["s"], []).append(edge["t"])
    for at in wave:
        for target in consumers.get(at, ()):
            if target not in came:
                came[target] = at
                wave.append(target)
    if end not in came:
        return []
    way, at = [], end
    while at:
        way.append(at)
        at = came[at]
    return way[::-1]


def _with_gradients(drawing: Drawing, way: list[str]) -> list[str]:
    """The way with the gradient nodes that stand beside it."""
    on_it = set(way)
    return way + [node["id"] for node in drawing.nodes if node["kind"] == "gradient" and node["grad_of"] in on_it]
