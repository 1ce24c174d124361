"""The one gradient walk.

Reverse mode: from the cost back through the nodes, each node's rule turns the cotangent of its output into cotangents
of its inputs, and what reaches a variable by several ways is added up. Whether gradients are arrays, tensors or symbols
depends only on what the rules are handed: that is a ``Domain``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tutorlib.core import observe
from tutorlib.core.backend import module_of, put, tag
from tutorlib.core.building import Meta, building
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import FreedGraphError, ShapeError, StaleValueError, shape_text
from tutorlib.core.graph import Constant, Symbol, Var, label
from tutorlib.core.operators import OPS
from tutorlib.core.quick import constant
from tutorlib.core.tensor import Tensor


class Domain(NamedTuple):
    """What rules compute with.

    ``see(node)`` gives what a rule is handed, (output or outputs, inputs); ``fit(cotangent, value, node)`` undoes
    broadcasting and dtype promotion; ``builds`` says whether rules make nodes, which are then marked as backward ones.
    """

    see: Callable[[Any], tuple[Any, Sequence[Any]]]
    fit: Callable[[Any, Any, Any], Any]
    builds: bool


def walk(
    domain: Domain,
    order: Iterable[Any],
    cotangents: dict[int, Any],
    on_path: Callable[[Any], bool],
    keep: frozenset[int] = frozenset(),
    remember: bool = False,
    arrive: Mapping[int, Callable[[Any], Any]] | None = None,
    trail: list[Any] | None = None,
) -> None:
    """Carry ``cotangents`` (by ``id`` of variable) from the outputs of the nodes in ``order`` to their inputs.

    Args:
        domain: arrays, tensors or symbols.
        order: nodes, each before those it uses.
        on_path: whether an input variable leads to something a gradient is wanted for.
        keep: ids of intermediate variables whose cotangent is a result, not to be dropped on the way.
        remember: leave each cotangent on its (dynamic) node, for drawing.
        arrive: by id of variable: called with its complete cotangent, and may return another one to go on with.
        trail: filled with what was sent, in order: (node, input variable, its part, the sum of its parts so far).
    """
    before = building.meta
    add = OPS.add
    try:
        for node in order:
            outputs = node.outputs
            if node.op.nout == 1:
                key = id(outputs[0])
                g = cotangents.get(key) if key in keep else cotangents.pop(key, None)
                if g is None:
                    continue
                if arrive and key in arrive:
                    g = arrive[key](g)
                    if key in keep:
                        cotangents[key] = g
            else:
                g = tuple(cotangents.get(id(v)) if id(v) in keep else cotangents.pop(id(v), None) for v in outputs)
                if all(part is None for part in g):
                    continue
            if remember:
                node.cotangent = g
            parts = pulled_back(domain, node, g, on_path, trail)
            for var, grad in parts:
                key = id(var)
                sofar = cotangents.get(key)
                total = cotangents[key] = grad if sofar is None else add(sofar, grad)
                if trail is not None:
                    trail.append((node, var, grad, total))
            if observe.observers:
                observe.tell("on_vjp", node, g, parts)
    finally:
        building.meta = before


def pulled_back(
    domain: Domain, node: Any, g: Any, on_path: Callable[[Any], bool], trail: list[Any] | None = None
) -> list[tuple[Any, Any]]:
    """The cotangents that one node sends to its inputs, as pairs (input, cotangent), for inputs on the path only.

    Nodes made for them know the ``trail`` of their walk.
    """
    see, fit, builds = domain
    out, values = see(node)
    inputs = node.inputs
    if builds:
        meta, now = Meta("backward", node, node.meta.scope, trail), building.now
        if now.simple:
            building.meta = meta
        else:  # the thread is known to do something unusual already
            now.meta = meta
    rules = node.op.vjp
    if type(rules) is tuple:
        attrs = node.attrs
        found = [
            (var, value, rule(g, out, *values, **attrs))
            for var, value, rule in zip(inputs, values, rules, strict=True)
            if rule is not None and on_path(var)
        ]
    else:
        needs = [on_path(var) for var in inputs]
        grads = rules(g, needs, out, *values, **node.attrs)
        found = [part for part, need in zip(zip(inputs, values, grads, strict=True), needs, strict=True) if need]
    return [(var, fit(grad, value, node)) for var, value, grad in found if grad is not None]


def dependents(order: Iterable[Any], wrt: Iterable[Any], blocked: Iterable[Any] = ()) -> set[int]:
    """Ids of variables that depend on ``wrt`` through differentiable positions of ops.

    ``order`` is topological, first nodes first; no dependence goes through a ``blocked`` variable.
    """
    stop = {id(v) for v in blocked}
    path = {id(v) for v in wrt} - stop
    for node in order:
        rules = node.op.vjp
        if rules is None:
            continue
        if type(rules) is tuple:
            found = [1 for var, rule in zip(node.inputs, rules, strict=True) if rule is not None and id(var) in path]
        else:
            found = [1 for var in node.inputs if id(var) in path]
        if found:
            path.update([id(out) for out in node.outputs if out.dtype.kind == "f" and id(out) not in stop])
    return path


# ---- arrays and tensors ----


def see_arrays(node: Tensor) -> tuple[Any, Sequence[Any]]:
    """A node's value and those of its inputs. Raises FreedGraphError where an earlier pass has used them up."""
    if node.arrays is None:
        raise FreedGraphError(
            f"the graph of {node.op.name if node.op else 'this value'} was used up by an earlier backward pass",
            fix="compute the value again before each backward(), or pass retain_graph=True to the first one",
            source=node.source,
        )
    return node._data, node.arrays


def _see_tensors(node: Tensor) -> tuple[Any, Sequence[Any]]:
    see_arrays(node)
    for var, array in zip(node.inputs, node.arrays, strict=True):
        if isinstance(var, Tensor) and var._data is not array:
            name = node.op.name if node.op else "an op"
            raise StaleValueError(
                f"{label(var)} was changed after {name} used it: its recorded gradient has no derivative now",
                fix="take the gradient before updating the value in place",
                source=node.source,
            )
    return node, node.inputs


def fit_array(grad: Any, value: Any, node: Any) -> Any:
    """``grad`` in the shape and dtype of ``value``, an input of ``node``."""
    if grad.shape != value.shape:
        on_host = type(grad) is np.ndarray and type(value) is np.ndarray
        grad = (OPS.unbroadcast.on_numpy if on_host else OPS.unbroadcast)(grad, value)
    return grad if grad.dtype == value.dtype else grad.astype(value.dtype)


def _fit_tensor(grad: Any, value: Any, node: Any) -> Any:
    if grad.shape != value.shape:
        grad = OPS.unbroadcast(grad, value)
    return grad if grad.dtype == value.dtype else OPS.cast(grad, value.dtype)


# ---- symbols ----

# Ops that are not elementwise whose output has, whatever the dims, the shape of one input: its number.
_SHAPE_OF_INPUT = {
    **dict.fromkeys(["unbroadcast", "broadcast_like", "reshape_like", "scatter"], 1),
    **dict.fromkeys(["zeros_like", "ones_like", "softmax", "log_softmax"], 0),
}


def shape_source(var: Any) -> Any:
    """A variable surely of the same shape as ``var``, as far up the graph as can be proved without knowing dims."""
    # What is found is kept on every variable passed, or a deep graph would be climbed anew from each of its nodes.
    source = _source(var)
    todo = [] if source is not None else [(var, _of_its_shape(var))]
    while todo:
        now, operands = todo[-1]
        found: Any = None
        agree = True
        for operand in operands:
            source = _source(operand)
            if source is None:
                todo.append((operand, _of_its_shape(operand)))
                break
            agree = agree and (found is None or found is source)
            found = source
        else:
            source = now.shape_source = found if agree and found is not None else now
            todo.pop()
    return source


def _source(var: Any) -> Any:
    """The shape source of a variable, None while it is not known."""
    return var if not isinstance(var, Symbol) or var.node is None else var.shape_source


def _of_its_shape(var: Symbol) -> Sequence[Any]:
    """Operands of the op that made ``var``: where they all have one shape, it has that shape. None for no op of that
    kind."""
    node: Any = var.node
    if "elementwise" in node.op.flags:
        ndim = len(var.aval.shape)
        dims = [len(v.aval.shape) for v in node.inputs]
        if dims.count(ndim) == len(dims):
            return node.inputs
        arrays = [v for v, n in zip(node.inputs, dims, strict=True) if n or not ndim]
        return arrays if all([v.ndim == ndim for v in arrays]) else ()
    number = _SHAPE_OF_INPUT.get(node.op.name)
    return () if number is None else (node.inputs[number],)


def _same_shape(grad: Symbol, value: Symbol, node: Any) -> bool:
    """Whether a cotangent surely has the shape of the input it belongs to."""
    if grad.aval.known and value.aval.known:
        return grad.shape == value.shape
    if "elementwise" in node.op.flags:
        # The cotangent of an elementwise op has its output's shape, even where a rule built it from other parts.
        return shape_source(grad) is shape_source(value) or shape_source(node.outputs[0]) is shape_source(value)
    # Of the other ops only those that stretch give a cotangent of another shape than the input.
    stretches = "stretches" in node.op.flags and (node.op.name != "matmul" or grad.ndim > 2)
    return grad.ndim == value.ndim and not stretches


def _fit_symbol(grad: Any, value: Any, node: Any) -> Any:
    if grad.aval is value.aval and None not in grad.aval.shape:
        return grad
    if not _same_shape(grad, value, node):
        grad = OPS.unbroadcast(grad, value)
    return grad if grad.dtype == value.dtype else OPS.cast(grad, value.dtype)


def _see_symbols(node: Any) -> tuple[Any, Sequence[Any]]:
    # A rule sees a Python scalar as the learner wrote it, as it does in dynamic mode.
    inputs = [v.value if type(v) is Constant and v.aval.weak else v for v in node.inputs]
    return node.outputs[0] if len(node.outputs) == 1 else node.outputs, inputs


ARRAYS = Domain(see_arrays, fit_array, builds=False)
TENSORS = Domain(_see_tensors, _fit_tensor, builds=True)
SYMBOLS = Domain(_see_symbols, _fit_symbol, builds=True)


# ---- where a walk starts ----


def seed_of(root: Any, cotangent: Any, what: str) -> Any:
    """The cotangent to start from, of the root's shape and dtype: an array for a tensor, a symbol for a symbol."""
    if cotangent is None and isinstance(root, Tensor) and type(root._data) is np.ndarray and root._data.size == 1:
        one = constant(1.0, root._data.dtype)
        if root._data.ndim == 0 and type(one) is np.ndarray:
            return one
        return np.ones(root._data.shape, root._data.dtype)
    shape = root.shape
    if cotangent is None:
        if None in shape or int(np.prod(shape)) != 1:
            raise ShapeError(
                f"{what} of a value of shape {shape_text(shape)}: only a single number has *the* gradient",
                fix="reduce it first: cost.sum() or cost.mean(); or weigh its elements by passing a cotangent",
            )
        if isinstance(root, Symbol):
            return Constant(np.ones(shape, root.dtype))
        where = root.device
        # Made on the GPU, not moved there.
        return module_of(where).ones_like(root._data) if where.kind == "gpu" else tag(np.ones(shape, root.dtype), where)
    seed = cotangent if isinstance(cotangent, Var) else np.asarray(cotangent)
    if isinstance(root, Symbol):
        seed = as_symbol(seed)
    given = seed.shape
    if len(given) != len(shape) or any(None not in (a, b) and a != b for a, b in zip(given, shape, strict=True)):
        raise ShapeError(
            "the cotangent passed in must have the shape of the value",
            shapes=[shape, given],
            fix="give one number for each element",
        )
    if isinstance(root, Symbol):
        return OPS.cast(seed, root.dtype)
    seed = seed._data if isinstance(seed, Tensor) else seed
    return put(seed if seed.dtype == root.dtype else seed.astype(root.dtype), root.device)
