"""From what a learner wants to see (a variable, several, a compiled function) to the complete spec of a GraphView."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.function import Function
from tutorlib.core.autodiff import grad
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Symbol, Var
from tutorlib.core.parameter import Parameter
from tutorlib.messages import message
from tutorlib.viz.backward import draw_folded, rename, set_gradients
from tutorlib.viz.derivatives import formula_entry, math_table
from tutorlib.viz.evaluate import fill_values
from tutorlib.viz.face import shorten
from tutorlib.viz.faults import add_faults
from tutorlib.viz.folding import AUTO, Collapse
from tutorlib.viz.formulas import passes_on
from tutorlib.viz.gradients import Flow, add_gradients
from tutorlib.viz.long_loops import leave_out_turns
from tutorlib.viz.misfit import draw_error
from tutorlib.viz.model import LIMIT, Drawing, draw_graph, leaf
from tutorlib.viz.names import cost_name, gradient_name
from tutorlib.viz.reasons import add_reasons
from tutorlib.viz.repeats import find_loops, nest_loops
from tutorlib.viz.rewritten import Rewritten
from tutorlib.viz.spec import assemble
from tutorlib.viz.trace import Values, events
from tutorlib.viz.values import SHORT

__all__ = ["graph_drawing", "graph_spec", "spec_of"]

# Beyond so many nodes each is sent without its formula and without the lines around its own.
LARGE = 3000


def graph_spec(
    what: Any,
    *,
    wrt: Any = None,
    inputs: Mapping[Any, Any] | None = None,
    direction: str = "TB",
    collapse: Collapse = None,
    limit: int = LIMIT,
    keep: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The spec for `what`: a tensor, a symbol, a list of them, a compiled function, or an error that an op raised.

    Args:
        wrt: variables whose gradients are shown too; for tensors all by default, and none for an empty list.
        inputs: values for input symbols, by variable or by name, to see numbers in a static graph.
        direction: "TB" or "LR".
        collapse: which scopes are folded at first, see `folding.choose`.
        limit: at most so many ops are drawn, those nearest to the results.
        keep: a dict that is filled with the arrays shown, by node id: copies of short ones, zeros for the others, which
            take no memory.

    Raises TypeError for anything that has no graph, ValueError for an input that the graph does not have.
    """
    drawing, flow = graph_drawing(what, wrt=wrt, limit=limit)
    complete = fill_values(drawing, inputs or {})
    if flow is not None and drawing.symbols:
        set_gradients(drawing, flow)
    if not complete and not inputs and not isinstance(what, TutorlibError):
        drawing.notes.append(message("widgets.note_no_values"))
    spec = spec_of(drawing, flow, complete=complete, direction=direction, collapse=collapse)
    if keep is not None:
        keep.update({name: _kept(array) for name, array in drawing.arrays.items()})
    return spec


def _kept(array: np.ndarray) -> np.ndarray:
    return array.copy() if array.size <= SHORT else np.broadcast_to(np.zeros((), array.dtype), array.shape)


def graph_drawing(what: Any, *, wrt: Any = None, limit: int = LIMIT, fold: bool = True) -> tuple[Drawing, Flow | None]:
    """What `graph_spec` draws, before values and places are known; also the backward pass where that is drawn as one.

    With `fold` false every op of a static gradient is a node.
    """
    wanted = None if wrt is None else _variables(wrt)
    if isinstance(what, TutorlibError):
        return draw_error(what, limit), None
    if isinstance(what, Function | Rewritten):
        return _draw_function(what, limit, fold and isinstance(what, Function))
    roots = _variables(what)
    if isinstance(roots[0], Symbol):
        return _draw_symbols(roots, wanted or [], limit)
    drawing = draw_graph(roots, limit=limit)
    if any(root.op is not None and root.arrays is None and not root.inputs for root in roots):
        drawing.notes.append(message("widgets.note_used_up"))
    elif wanted != []:
        return drawing, add_gradients(drawing, roots[0], wanted)
    return drawing, None


def spec_of(
    drawing: Drawing,
    flow: Flow | None = None,
    *,
    complete: bool = False,
    direction: str = "TB",
    collapse: Collapse = None,
) -> dict[str, Any]:
    """The spec of a drawing with the arrays that it holds; `complete` says that every op that runs has its value."""
    for node in drawing.nodes:
        if node["kind"] == "update":
            for edge in drawing.edges_into(node["id"]):
                if edge["s"] in drawing.arrays:
                    drawing.arrays[node["id"]] = drawing.arrays[edge["s"]]
    if flow is not None:
        drawing.cost = flow.cost
    for name, of in drawing.targets.items():
        drawing.node(name)["target"] = of
        if name in drawing.arrays:
            drawing.node(of)["grad"] = name
    add_faults(drawing, flow)
    loops = find_loops(drawing) if len(drawing.nodes) > AUTO else []
    many = len(drawing.nodes) > LARGE
    rows = leave_out_turns(drawing, flow, loops) if many else {}
    shown = drawing.seen()
    large = len(shown) > LARGE
    for node in shown:
        if node["op"] and not large and node["id"] in drawing.objects:
            node["formula"] = formula_entry(drawing, node["id"])
        if node["src"] and large:
            node["src"]["context"] = []
    if not many:
        add_reasons(drawing, flow, complete=complete)
    values = Values()
    trace = events(drawing, flow, values, complete=complete)
    return assemble(
        drawing.seen(),
        drawing.edges,
        trace,
        values.entries,
        notes=drawing.notes,
        hidden=drawing.hidden,
        direction=direction,
        math=math_table(drawing),
        collapse=collapse,
        repeats=nest_loops(drawing, loops) | rows,
    )


def _variables(what: Any) -> list[Any]:
    items = (
        list(what) if isinstance(what, list | tuple) else list(what.values()) if isinstance(what, Mapping) else [what]
    )
    for item in items:
        if not isinstance(item, Var):
            raise TypeError(message("widgets.error_no_graph", what=type(item).__name__))
    symbolic = any(isinstance(v, Symbol) for v in items)
    return [v.symbol if symbolic and isinstance(v, Parameter) else v for v in items]


def _draw_symbols(roots: Sequence[Any], wrt: list[Any], limit: int) -> tuple[Drawing, Flow | None]:
    wrt = [v.symbol if isinstance(v, Parameter) else v for v in wrt]
    grads = grad(roots[0], wrt, disconnected="none") if wrt else []
    drawing, flow = _drawn([*roots, *(g for g in grads if g is not None)], roots, limit, wrt or None)
    cost_id = drawing.id_of(roots[0])
    cost = drawing.cost = cost_name(drawing.node(cost_id)["name"] if cost_id else None)
    if flow is not None:
        flow.cost = cost
        rename(drawing, flow)
    for var, found in zip(wrt, grads, strict=True):
        name = drawing.id_of(found) if found is not None else None
        of = drawing.id_of(var)
        if found is None and of:
            drawing.unreached.append(of)
        elif found is None:
            drawing.notes.append(message("explain.unreached", name=var.name or message("widgets.unnamed")))
        if flow is not None or name is None or drawing.node(name)["kind"] != "gradient":
            continue
        shown = drawing.node(name)
        target = (
            drawing.node(of)["name"] or drawing.node(of)["label"] if of else str(var.name or message("widgets.unnamed"))
        )
        shown["name"] = gradient_name(cost, target)
        shown["label"] = shorten(f"{shown['name']} = {shown['op']}")
        if of:
            drawing.targets[name] = of
    return drawing, flow


def _drawn(
    roots: list[Any], results: Sequence[Any], limit: int, wrt: Sequence[Any] | None
) -> tuple[Drawing, Flow | None]:
    """The graph above `roots`, with one node for each gradient where they can be told apart, unless `wrt` is None."""
    found = draw_folded(roots, results, wrt, limit) if wrt is not None else None
    return found or (draw_graph(roots, results=results, limit=limit), None)


def _name_gradient(drawing: Drawing, of: str, new: str) -> None:
    """Name the gradient that an update uses: the first above the new value, if it is one of `of`."""
    stack, seen = [new], set()
    while stack:
        name = stack.pop()
        node = drawing.node(name)
        if name in seen:
            continue
        seen.add(name)
        if node["kind"] != "gradient":
            stack.extend(edge["s"] for edge in drawing.edges_into(name) if edge["s"] != of)
        elif not node["name"] and node["grad_of"] and _reaches(drawing, node["grad_of"], of):
            node["name"] = gradient_name("L", drawing.node(of)["name"] or drawing.node(of)["label"])
            drawing.targets[name] = of
            node["label"] = shorten(f"{node['name']} = {node['op']}")


def _reaches(drawing: Drawing, reader: str, of: str) -> bool:
    """Whether what comes back from op `reader` is the gradient of `of`: direct, or through ops that pass it on."""
    stack = [edge["s"] for edge in drawing.edges_into(reader)]
    while stack:
        name = stack.pop()
        if name == of:
            return True
        op = drawing.node(name)["op"]
        stack += [edge["s"] for edge in drawing.edges_into(name) if op and passes_on(op, edge["port"])]
    return False


def _draw_function(function: Function | Rewritten, limit: int, fold: bool) -> tuple[Drawing, Flow | None]:
    roots = [*function.outputs, *(new for _, new in function.updates)]
    drawing, flow = _drawn(roots, function.outputs, limit, () if fold else None)
    for var in function.inputs:
        leaf(drawing, var)
    for shared, new in function.updates:
        of = leaf(drawing, shared)
        update = drawing.add(
            "update", message("widgets.new_value", name=drawing.node(of)["label"]), var=shared, update_of=of
        )
        source = drawing.id_of(new)
        if source is not None:
            _name_gradient(drawing, of, source)
            drawing.connect(source, update, "update")
            drawing.node(update)["src"] = drawing.node(source)["src"]
        drawing.connect(update, of, "update")
    return drawing, flow
