"""Which view shows what: a graph, the steps of a log, or no view at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tutorlib.compile.function import Function
from tutorlib.compile.rewrite import RewriteLog
from tutorlib.compile.trace import TracedFunction
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Var
from tutorlib.messages import message
from tutorlib.viz.display import Picture, Shown
from tutorlib.viz.rewritten import rewritten as what_runs

__all__ = ["has_graph", "view_of"]


def has_graph(what: Any) -> bool:
    """Whether something can be drawn as a graph: a variable that an op made, several, a function."""
    if isinstance(what, list | tuple | Mapping):
        items = list(what.values()) if isinstance(what, Mapping) else list(what)
        return bool(items) and all(isinstance(v, Var) for v in items) and any(v.node is not None for v in items)
    if isinstance(what, Var):
        return what.node is not None
    return isinstance(what, Function) or (isinstance(what, TracedFunction) and bool(what.traces))


def view_of(what: Any, rewritten: bool, options: dict[str, Any]) -> Any:
    """The view that shows `what`, not shown yet; None for a value that has no picture.

    Raises TypeError for `rewritten` of something that is not a compiled function, and for a list of other things.
    """
    from tutorlib.viz.compare_view import CompareView
    from tutorlib.viz.graph_view import GraphView

    if isinstance(what, TracedFunction) and what.traces:
        what = what.traces[-1].function
    if rewritten:
        if not isinstance(what, Function):
            raise TypeError(message("widgets.error_not_rewritten", what=type(what).__name__))
        with what_runs(what) as graph:
            return GraphView(graph, **options)
    if isinstance(what, Shown | Picture):
        return what
    if isinstance(what, RewriteLog):
        return CompareView(what, **options)
    if isinstance(what, Var | Function | TutorlibError) or (
        isinstance(what, list | tuple | Mapping) and has_graph(what)
    ):
        return GraphView(what, **options)
    return None
