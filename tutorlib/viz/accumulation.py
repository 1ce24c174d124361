"""The parts of a symbolic gradient: what each use of a variable sends back, before they are added up."""

from __future__ import annotations

from tutorlib.viz.model import Drawing

__all__ = ["parts_of"]


def parts_of(drawing: Drawing, gradient: str) -> list[str]:
    """Ids of the nodes whose sum is the gradient node `gradient`; empty where it is no sum over uses.

    The walk adds what arrives to what it has so far: a variable used n times ends in n - 1 additions, each with the
    sum so far on its left. An addition inside the rule of an op lies below those and is not taken apart.
    """
    of = drawing.targets.get(gradient)
    if of is None:
        return []
    var = drawing.objects[of]
    uses = sum(other is var for node in drawing.order if node.role == "forward" for other in node.inputs)
    parts: list[str] = []
    at = gradient
    while len(parts) < uses - 1 and drawing.node(at)["op"] == "add":
        thing = drawing.objects[at]
        left, right = (drawing.id_of(v) for v in thing.inputs)
        if left is None or right is None:
            return []
        parts.append(right)
        at = left
    return [at, *reversed(parts)] if parts else []
