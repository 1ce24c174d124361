"""Gradients in both modes, by the one walk: ``Tensor.backward`` on plain arrays, ``tl.grad`` on tensors or symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, cast

import numpy as np

from tutorlib.core.backend import quiet
from tutorlib.core.dispatch import enable_grad
from tutorlib.core.errors import (
    DisconnectedError,
    DTypeError,
    FreedGraphError,
    ModeMixError,
    NotDifferentiableError,
    ShapeError,
    StaleValueError,
    shape_text,
)
from tutorlib.core.graph import Constant, Symbol, Var, label
from tutorlib.core.hold import release
from tutorlib.core.operators import OPS
from tutorlib.core.tensor import Parameter, Tensor
from tutorlib.core.toposort import toposort
from tutorlib.core.walk import walk

_seq = attrgetter("seq")

# ---- dynamic mode ----


def _fit_array(grad: Any, value: Any, node: Any, var: Any) -> Any:
    if grad.shape != value.shape:
        grad = OPS.unbroadcast(grad, value)
    return grad if grad.dtype == value.dtype else grad.astype(value.dtype)


def _fit_tensor(grad: Any, value: Any, node: Any, var: Any) -> Any:
    if grad.shape != value.shape:
        grad = OPS.unbroadcast(grad, value)
    return grad if grad.dtype == value.dtype else OPS.cast(grad, value.dtype)


def _requires_grad(var: Any) -> bool:
    return isinstance(var, Tensor) and var.requires_grad


def _see_arrays(node: Tensor) -> tuple[Any, Sequence[Any]]:
    if node.arrays is None:
        raise FreedGraphError(
            f"the graph of {node.op.name if node.op else 'this value'} was used up by an earlier backward pass",
            fix="compute the value again before each backward(), or pass retain_graph=True to the first one",
            source=node.source,
        )
    return node._data, node.arrays


def _see_tensors(node: Tensor) -> tuple[Any, Sequence[Any]]:
    _see_arrays(node)
    for var, array in zip(node.inputs, node.arrays, strict=True):
        if isinstance(var, Tensor) and var._data is not array:
            raise StaleValueError(
                f"{label(var)} was changed after {node.op.name} used it: its recorded gradient has no derivative now",  # type: ignore[union-attr]
                fix="take the gradient before updating the value in place",
                source=node.source,
            )
    return node, node.inputs


def recorded_nodes(root: Tensor) -> list[Tensor]:
    """The recorded nodes below ``root`` that require a gradient, each before those it uses."""
    found: dict[int, Tensor] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node.op is None or not node.requires_grad or id(node) in found:
            continue
        found[id(node)] = node
        stack.extend(v for v in node.inputs if isinstance(v, Tensor))
    return sorted(found.values(), key=_seq, reverse=True)


def _seed(root: Tensor, gradient: Any, what: str) -> Any:
    """The cotangent to start from, as an array of the root's shape and dtype."""
    if gradient is None:
        if root._data.size != 1:
            raise ShapeError(
                f"{what} of a value of shape {shape_text(root.shape)}: only a single number has *the* gradient",
                fix="reduce it first: loss.sum() or loss.mean(); or weigh its elements: backward(gradient)",
            )
        return np.ones_like(root._data) if isinstance(root._data, np.ndarray) else root._data * 0 + 1
    seed = gradient._data if isinstance(gradient, Tensor) else gradient
    if np.shape(seed) != root.shape:
        raise ShapeError(
            "the gradient passed in must have the shape of the value",
            shapes=[root.shape, np.shape(seed)],
            fix="give one number for each element",
        )
    seed = np.asarray(seed) if isinstance(seed, list | tuple | float | int) else seed
    return seed.astype(root.dtype)


# A graph that backward() has used up stays drawable until the next backward(): learners look at it in between. One
# only, and only a small one, so that a training loop holds no second set of activations.
_KEEP_NODES, _KEEP_BYTES = 5_000, 16_000_000
_used_up: list[Tensor] = []


def release_graph() -> None:
    """Let go of the last graph that a backward pass has used up (kept until now so that it could be drawn)."""
    for node in _used_up:
        node.inputs = ()
        node.cotangent = None
    _used_up.clear()


def run_backward(root: Tensor, gradient: Any, retain_graph: bool, create_graph: bool) -> None:
    """What ``Tensor.backward`` documents."""
    if not root.requires_grad:
        raise DisconnectedError(
            "nothing this value was computed from requires a gradient"
            if root.op is not None or root.dtype.kind == "f"
            else f"a value of dtype {root.dtype} has no gradient",
            fix="make the leaf with tl.tensor(value, requires_grad=True), and compute outside tl.no_grad()",
        )
    seed = _seed(root, gradient, "backward()")
    release_graph()
    order = recorded_nodes(root)
    retain = retain_graph or create_graph
    remember = retain or (len(order) <= _KEEP_NODES and sum(n._data.nbytes for n in order) <= _KEEP_BYTES)
    leaves = {id(v): v for node in order for v in node.inputs if _requires_grad(v) and v.op is None}
    if root.op is None:
        leaves[id(root)] = root
    cotangents: dict[int, Any] = {id(root): Tensor(seed) if create_graph else seed}
    if create_graph:
        with enable_grad():
            walk(order, cotangents, _requires_grad, _see_tensors, _fit_tensor, remember=remember)
    else:
        with quiet():
            walk(order, cotangents, _requires_grad, _see_arrays, _fit_array, remember=remember, builds=False)
    for leaf in leaves.values():
        grad = cotangents.get(id(leaf))
        if grad is None:
            continue
        sofar = leaf._grad
        if sofar is not None:
            grad = OPS.add(sofar if create_graph or not isinstance(sofar, Tensor) else sofar._data, grad)
        leaf._grad = grad if isinstance(grad, Tensor) else np.asarray(grad) if isinstance(grad, np.generic) else grad
    if not retain:
        release(order)
        for node in order:
            node.arrays = None
            if not remember:
                node.inputs = ()
        if remember:
            _used_up.extend(order)


Tensor.run_backward = staticmethod(run_backward)


def _depends(order_forward: Iterable[Any], wrt: Iterable[Any], blocked: Iterable[Any]) -> set[int]:
    """Ids of variables that depend on ``wrt`` through differentiable positions of ops."""
    stop = {id(v) for v in blocked}
    path = {id(v) for v in wrt} - stop
    for node in order_forward:
        rules = node.op.vjp
        if rules is None:
            continue
        positions = zip(node.inputs, rules if type(rules) is tuple else [True] * len(node.inputs), strict=True)
        if any(rule is not None and id(var) in path for var, rule in positions):
            path.update(id(out) for out in node.outputs if out.dtype.kind == "f" and id(out) not in stop)
    return path


def _dynamic_grad(
    cost: Tensor, wrt: list[Any], seed: Any, blocked: list[Any], create_graph: bool
) -> tuple[list[Any], set[int]]:
    order = recorded_nodes(cost)
    path = _depends(reversed(order), wrt, blocked)
    keep = frozenset(id(v) for v in wrt)
    cotangents: dict[int, Any] = {id(cost): Tensor(_seed(cost, seed, "grad()"))}
    order = [node for node in order if id(node) in path]
    if create_graph:
        with enable_grad():
            walk(order, cotangents, lambda v: id(v) in path, _see_tensors, _fit_tensor, keep)
    else:
        cotangents = {key: value._data for key, value in cotangents.items()}
        with quiet():
            walk(order, cotangents, lambda v: id(v) in path, _see_arrays, _fit_array, keep, builds=False)
    found = [cotangents.get(id(v)) for v in wrt]
    return [
        g if g is None or isinstance(g, Tensor) else Tensor(np.asarray(g) if isinstance(g, np.generic) else g)
        for g in found
    ], path


# ---- static mode ----

# Ops whose output has, whatever the dims, the shape of their last input.
_LIKE = frozenset({"unbroadcast", "broadcast_like", "reshape_like", "zeros_like", "ones_like"})


def shape_source(var: Any) -> Any:
    """A variable that surely has the same shape as ``var``, as far up the graph as can be proved without knowing
    dims."""
    while isinstance(var, Symbol) and var.node is not None:
        node = var.node
        if node.op.name in _LIKE:
            var = node.inputs[-1]
        elif "elementwise" in node.op.flags:
            arrays = [v for v in node.inputs if v.ndim or node.outputs[0].ndim == 0]
            sources = {id(v): v for v in arrays}
            if len(sources) != 1 or arrays[0].ndim != var.ndim:
                return var
            var = arrays[0]
        else:
            return var
    return var


def _same_shape(grad: Symbol, value: Symbol, node: Any) -> bool:
    """Whether a cotangent surely has the shape of the input it belongs to."""
    if grad.aval.known and value.aval.known:
        return grad.shape == value.shape
    if "elementwise" in node.op.flags:
        # The cotangent of an elementwise op has its output's shape, even where a rule built it from other parts.
        return shape_source(grad) is shape_source(value) or shape_source(node.outputs[0]) is shape_source(value)
    # Of the other ops only those that stretch give a cotangent of another shape than the input.
    return grad.ndim == value.ndim and not (
        "stretches" in node.op.flags and (node.op.name != "matmul" or grad.ndim > 2)
    )


def _fit_symbol(grad: Any, value: Any, node: Any, var: Any) -> Any:
    if not _same_shape(grad, value, node):
        grad = OPS.unbroadcast(grad, value)
    return grad if grad.dtype == value.dtype else OPS.cast(grad, value.dtype)


def _see_symbols(node: Any) -> tuple[Any, Sequence[Any]]:
    # A rule sees a Python scalar as the learner wrote it, as it does in dynamic mode.
    inputs = [v.value if type(v) is Constant and v.aval.weak else v for v in node.inputs]
    return node.outputs[0] if len(node.outputs) == 1 else node.outputs, inputs


def _symbolic_grad(cost: Symbol, wrt: list[Any], seed: Any, blocked: list[Any]) -> tuple[list[Any], set[int]]:
    order = toposort([cost])
    path = _depends(order, wrt, blocked)
    if seed is None:
        if cost.ndim and (not cost.aval.known or int(np.prod(cost.shape)) != 1):  # type: ignore[arg-type]
            raise ShapeError(
                f"grad() needs a scalar cost, {label(cost)} has shape {shape_text(cost.shape)}",
                fix="reduce it: tl.grad(cost.sum(), x); or give known={cost: cotangent}",
            )
        seed = Constant(np.ones(cost.shape, cost.dtype))
    cotangents: dict[int, Any] = {id(cost): seed}
    walk(
        [n for n in reversed(order) if any(id(v) in path for v in n.outputs)],
        cotangents,
        lambda v: id(v) in path,
        _see_symbols,
        _fit_symbol,
        frozenset(id(v) for v in wrt),
    )
    return [cotangents.get(id(v)) for v in wrt], path


# ---- both ----


def grad(
    cost: Any,
    wrt: Any,
    *,
    cotangent: Any = None,
    consider_constant: Sequence[Any] = (),
    disconnected: str = "raise",
    create_graph: bool = True,
) -> Any:
    """The gradient of ``cost`` with respect to ``wrt``, in the mode of ``cost``.

    Args:
        cost: a scalar tensor or symbol (any shape when ``cotangent`` is given).
        wrt: a variable, or a list or tuple of them (leaves or results); the answer has the same form.
        cotangent: d(final)/d(cost), of the cost's shape; 1 by default.
        consider_constant: variables that no gradient goes through.
        disconnected: "raise", "zero" or "none": what to answer for a variable that ``cost`` does not depend on.
        create_graph: dynamic mode only: record the gradient's own computation, so that it can be differentiated again.

    Returns gradients with the shape and dtype of their variables: tensors, or symbols that a function can compute.

    Raises DisconnectedError, ShapeError for a cost that is not a scalar, DTypeError for an integer ``wrt``.

    >>> import tutorlib as tl
    >>> x = tl.tensor(3.0, requires_grad=True)
    >>> tl.grad(tl.grad(x ** 3, x), x).item()      # 6 x
    18.0
    >>> s = tl.scalar("s")
    >>> tl.grad(tl.grad(s ** 3, s), s).eval({s: 3.0}).item()
    18.0
    """
    if not isinstance(cost, Var):
        raise NotDifferentiableError(
            f"grad() of {type(cost).__name__}: not a tensor or a symbol",
            fix="compute the cost from tl.tensor(..., requires_grad=True) or from symbols",
        )
    many = isinstance(wrt, list | tuple)
    asked = list(wrt) if many else [wrt]
    symbolic = isinstance(cost, Symbol)
    variables = [v.symbol if symbolic and isinstance(v, Parameter) else v for v in asked]
    if disconnected not in ("raise", "zero", "none"):
        raise ValueError('disconnected must be "raise", "zero" or "none"')
    for var in variables:
        _check_wrt(var, symbolic)
    if cost.dtype.kind != "f":
        raise NotDifferentiableError(
            f"the cost has dtype {cost.dtype}: only floating-point values have gradients",
            fix='compute it in floating point: cost.astype("float64")',
        )
    if isinstance(cost, Symbol):
        found, path = _symbolic_grad(cost, variables, cotangent, list(consider_constant))
    else:
        found, path = _dynamic_grad(cast(Tensor, cost), variables, cotangent, list(consider_constant), create_graph)
    answers = [
        g if g is not None else _missing(var, cost, id(cost) in path and _reaches(cost, var, path), disconnected)
        for var, g in zip(variables, found, strict=True)
    ]
    if many:
        return type(wrt)(answers)
    return answers[0]


def _check_wrt(var: Any, symbolic: bool) -> None:
    if not isinstance(var, Var):
        raise NotDifferentiableError(
            f"the gradient with respect to {var!r:.60}: not a tensor or a symbol",
            fix="name the variable itself, not its value",
        )
    if isinstance(var, Symbol) != symbolic:
        raise ModeMixError(
            "cost and wrt are of different modes: one is a tensor, the other a symbol",
            fix="compute both from tensors, or both from symbols",
        )
    if var.dtype.kind != "f":
        raise DTypeError(
            f"{label(var)} has dtype {var.dtype}: only floating-point variables have gradients",
            fix=f'make it floating-point, for example with dtype="float64", or cast it: {label(var)}.astype("float64")',
        )


def _reaches(cost: Any, var: Any, path: set[int]) -> bool:
    """Whether ``var`` is an ancestor of ``cost`` through nodes on the path (its gradient is then zero, not missing)."""
    if cost is var:
        return True
    return any(v is var for node in toposort([cost]) if any(id(o) in path for o in node.outputs) for v in node.inputs)


def _missing(var: Any, cost: Any, reached: bool, disconnected: str) -> Any:
    if not reached and disconnected == "raise":
        dynamic = isinstance(var, Tensor)
        why = f"the cost does not depend on {label(var)}"
        fix = 'use it in the cost, or pass disconnected="zero"'
        if dynamic and not var.requires_grad:
            why, fix = (
                f"{label(var)} does not require a gradient, so nothing was recorded for it",
                "make it with requires_grad=True",
            )
        raise DisconnectedError(why, fix=fix)
    if not reached and disconnected == "none":
        return None
    return OPS.zeros_like(var.detach() if isinstance(var, Tensor) else var)
