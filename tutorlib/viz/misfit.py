"""Errors as drawings: the graph up to the op that failed, with the shapes it met and the axes that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Var
from tutorlib.messages import message
from tutorlib.viz.face import shape_text
from tutorlib.viz.model import LIMIT, Drawing, draw_graph, leaf
from tutorlib.viz.names import source_of

__all__ = ["draw_error", "mark_axes"]


def draw_error(error: TutorlibError, limit: int = LIMIT) -> Drawing:
    """The graph above the operands of the op that raised `error`, and that op as an error node.

    Raises TypeError for an error that knows no operands.
    """
    if not error.inputs:
        raise TypeError(message("widgets.error_no_operands", says=error.says))
    drawing = draw_graph([v for v in error.inputs if isinstance(v, Var)], results=[], limit=limit)
    op = error.op or "?"
    failed = drawing.add("error", op, op=op, src=source_of(SimpleNamespace(source=error.source)), note=error.says[:300])
    drawing.node(failed)["letter"] = "!"
    for port, var in enumerate(error.inputs):
        inner = getattr(var, "node", None)
        source = leaf(drawing, var) if inner is None else drawing.ids.get(id(inner))
        if source is not None:
            drawing.connect(source, failed, "forward", port)
    mark_axes(drawing, failed, error)
    drawing.notes.append(message("widgets.summary_failed", op=op, says=error.says.rstrip(".") + "."))
    if error.fix:
        drawing.notes.append(f"{error.fix[:1].upper()}{error.fix[1:].rstrip('.')}.")
    return drawing


def mark_axes(drawing: Drawing, failed: str, error: TutorlibError) -> None:
    """Write the shapes that `error` tells of on the edges into the op that failed, with the axes that do not fit."""
    edges = list(drawing.edges_into(failed))
    for at, shape in enumerate(error.shapes):
        edge = next((e for e in edges if _may_be(drawing.node(e["s"])["shape"], shape)), None)
        if edge is None:
            continue
        edges.remove(edge)
        axis = error.wrong_dims[at] if at < len(error.wrong_dims) else None
        edge["label"], edge["broadcast"] = shape_text(shape), []
        edge["wrong"] = [axis % len(shape)] if axis is not None and shape else []


def _may_be(known: Sequence[int | None] | None, met: Sequence[int | None]) -> bool:
    """Whether a shape with lengths still unknown may be the one that was met."""
    return known is None or (
        len(known) == len(met) and all(None in (n, m) or n == m for n, m in zip(known, met, strict=True))
    )
