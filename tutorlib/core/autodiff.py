"""Gradients in both modes, by the one walk: ``Tensor.backward`` on plain arrays, ``tl.grad`` on tensors or symbols."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from tutorlib.core import memory, observe
from tutorlib.core.array_walk import NotANumber, recorded_nodes, walk_arrays
from tutorlib.core.backend import quiet, silence, unsilence
from tutorlib.core.collecting import collector_at_rest
from tutorlib.core.dispatch import enable_grad
from tutorlib.core.errors import (
    DisconnectedError,
    DTypeError,
    ModeMixError,
    NotDifferentiableError,
    ShapeError,
    TutorlibError,
)
from tutorlib.core.graph import Symbol, Var, label
from tutorlib.core.hold import release
from tutorlib.core.leak import due, look
from tutorlib.core.operators import OPS
from tutorlib.core.parameter import Parameter
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import toposort
from tutorlib.core.walk import ARRAYS, SYMBOLS, TENSORS, dependents, seed_of, walk


def _requires_grad(var: Any) -> bool:
    return isinstance(var, Tensor) and var.requires_grad


# ---- Tensor.backward ----

# A graph that backward() has used up stays drawable until the next backward(): learners look at it in between. One
# only, and only a small one, so that a training loop holds no second set of activations.
_KEEP_NODES, _KEEP_BYTES = 5_000, 4_000_000
_used_up: list[Tensor] = []
# Whether a graph that was kept may hold cotangents of an earlier pass.
_some_remember = False
# From how many bytes a node on it pays to write over an array rather than to make another; how many nodes' bytes are
# looked at.
_LARGE = 1 << 15
_LOOKED_AT = 64
_last_cost: weakref.ref[Tensor] | None = None


def last_cost() -> Tensor | None:
    """What ``backward()`` was last called on, if it still exists."""
    return _last_cost() if _last_cost is not None else None


def release_graph() -> None:
    """Let go of the last graph that a backward pass has used up (kept until now so that it could be drawn)."""
    for node in _used_up:
        node.left = node.right = node.cotangent = None
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
    global _last_cost, _some_remember
    seed = seed_of(root, gradient, "backward()")
    if _used_up:
        release_graph()
    _last_cost = weakref.ref(root)
    order, leaves, beside_leaf, marked = recorded_nodes([root])
    if root.seq >= due[0]:
        look(root.seq)
    retain = retain_graph or create_graph
    size = _size(order)
    if size >= memory.LARGE:
        memory.keep()
    remember = retain or (len(order) <= _KEEP_NODES and size <= _KEEP_BYTES)
    hooked = {id(node): _calling(node) for node in order if node.hooks} if Tensor.some_have_hooks else None
    found = None
    if not (create_graph or hooked or (observe.observers and observe.watching("on_vjp"))):
        found = _walked(root, seed, order, leaves, remember, size)
    if found is None:
        by_id: dict[int, Any] = {id(root): Tensor(seed) if create_graph else seed}
        with enable_grad() if create_graph else quiet():
            walk(TENSORS if create_graph else ARRAYS, order, by_id, _requires_grad, remember=remember, arrive=hooked)
        found = {leaf: by_id.get(id(leaf)) for leaf in leaves}
    for leaf, grad in found.items():
        extra = leaf.extra
        if grad is None:
            # Reached only through ops of slope zero (sign, x ** 0): a gradient of zero, not none.
            grad = OPS.zeros_like(leaf._data)
        if type(grad) is np.ndarray and extra is not None and extra.grad is None and extra.hooks is None:
            extra.grad = grad
        else:
            _accumulate(leaf, _calling(leaf)(grad) if leaf.hooks else grad)
    if observe.observers:
        observe.tell("on_gradient", root, [(leaf, leaf._grad) for leaf in reversed(found)])
    if retain:
        _some_remember = True
        return
    release(marked)
    marked.used_up = True
    # A small graph stays until the next pass, but for the arrays of leaves: those may be written over once nobody else
    # has them.
    for node in beside_leaf if remember else order:
        node.left_array = node.right_array = None
    if remember:
        _used_up.extend(order)
    else:
        for node in order:
            node.left = node.right = None
            if node.extra is not None:
                node.extra.kept = None


def _size(order: list[Tensor]) -> int:
    """The bytes that nodes hold, about: the values of a few of them, if they are many."""
    every = 1 + len(order) // _LOOKED_AT
    return every * sum([node._data.nbytes for node in order[::every]])


def _walked(
    root: Tensor, seed: Any, order: list[Tensor], leaves: dict[Tensor, Any], remember: bool, size: int
) -> dict[Tensor, Any] | None:
    """The gradients of ``leaves`` by the quick walk; None where it gives up."""
    if _some_remember:
        for node in order:
            node.cotangent = None
    if root.op is None:
        leaves[root] = seed
    else:
        root.cotangent = seed
    done = False
    token = silence()
    try:
        walk_arrays(order, leaves, remember, size > _LARGE * len(order))
        done = True
    except NotANumber:
        return None
    finally:
        unsilence(token)
        if not done:
            for node in order:
                node.cotangent = None
    return leaves


def _accumulate(tensor: Tensor, grad: Any) -> None:
    """Add to ``tensor.grad`` (an array, or a tensor when the walk itself was recorded)."""
    sofar = tensor._grad
    if sofar is not None:
        grad = OPS.add(sofar if isinstance(grad, Tensor) or not isinstance(sofar, Tensor) else sofar._data, grad)
    tensor._grad = np.asarray(grad) if isinstance(grad, np.generic) else grad


def _calling(tensor: Tensor) -> Callable[[Any], Any]:
    """What to do with the cotangent that arrives at a tensor with hooks: call each, in order of registration."""

    def call(g: Any) -> Any:
        recorded = isinstance(g, Tensor)
        for hook in list(tensor.hooks.values()):
            answer = hook(g if isinstance(g, Tensor) else Tensor(np.asarray(g) if isinstance(g, np.generic) else g))
            if answer is not None:
                g = answer if recorded or not isinstance(answer, Tensor) else answer._data
                if np.shape(g) != tensor.shape:
                    raise ShapeError(
                        "a hook must return a gradient of the same shape",
                        shapes=[tensor.shape, np.shape(g)],
                        fix="return None to leave the gradient as it is",
                    )
        return g

    return call


def retain_grad(tensor: Tensor) -> None:
    """What ``Tensor.retain_grad`` documents."""
    if tensor.op is not None and not any(isinstance(hook, _Keep) for hook in (tensor.hooks or {}).values()):
        tensor.register_hook(_Keep(tensor))


class _Keep:
    """A hook that stores what arrives as the tensor's ``grad``; holds the tensor through its own hooks only."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __call__(self, g: Tensor) -> None:
        _accumulate(self.tensor, g if g.op is not None else g._data)


Tensor.run_backward = staticmethod(run_backward)
Tensor.run_retain_grad = staticmethod(retain_grad)


# ---- grad ----


def _dynamic_grad(
    roots: list[tuple[Any, Any]], wrt: list[Any], blocked: list[Any], create_graph: bool
) -> tuple[list[Any], set[int]]:
    order = recorded_nodes([root for root, _ in roots]).nodes
    path = dependents(reversed(order), wrt, blocked)
    order = [node for node in order if id(node) in path]
    cotangents: dict[int, Any] = {}
    for root, seed in roots:
        checked = seed_of(root, seed, "grad()")
        if create_graph:
            checked = OPS.cast(seed, root.dtype) if isinstance(seed, Tensor) else Tensor(checked)
        seed = checked
        cotangents[id(root)] = OPS.add(cotangents[id(root)], seed) if id(root) in cotangents else seed
    keep = frozenset(id(v) for v in wrt)
    if create_graph:
        with enable_grad():
            walk(TENSORS, order, cotangents, lambda v: id(v) in path, keep)
    else:
        with quiet():
            walk(ARRAYS, order, cotangents, lambda v: id(v) in path, keep)
    found = [cotangents.get(id(v)) for v in wrt]
    return [
        g if g is None or isinstance(g, Tensor) else Tensor(np.asarray(g) if isinstance(g, np.generic) else g)
        for g in found
    ], path


def _symbolic_grad(roots: list[tuple[Any, Any]], wrt: list[Any], blocked: list[Any]) -> tuple[list[Any], set[int]]:
    order = toposort([root for root, _ in roots])
    path = dependents(order, wrt, blocked)
    cotangents: dict[int, Any] = {}
    for root, seed in roots:
        seed = seed_of(root, seed, "grad()")
        cotangents[id(root)] = OPS.add(cotangents[id(root)], seed) if id(root) in cotangents else seed
    on_path = [node for node in reversed(order) if any([id(v) in path for v in node.outputs])]
    trail: list[Any] | None = [] if len(roots) == 1 and roots[0][1] is None else None
    walk(SYMBOLS, on_path, cotangents, lambda v: id(v) in path, frozenset(id(v) for v in wrt), trail=trail)
    return [cotangents.get(id(v)) for v in wrt], path


def grad(
    cost: Any,
    wrt: Any,
    *,
    cotangent: Any = None,
    known: Mapping[Any, Any] | None = None,
    consider_constant: Sequence[Any] = (),
    disconnected: str = "raise",
    create_graph: bool = True,
    return_paths: bool = False,
) -> Any:
    """The gradient of ``cost`` with respect to ``wrt``, in the mode of ``cost``.

    Args:
        cost: a scalar tensor or symbol (any shape when ``cotangent`` is given), or None when ``known`` says all.
        wrt: a variable, or a list or tuple of them (leaves or results); the answer has the same form.
        cotangent: d(final)/d(cost), of the cost's shape; 1 by default.
        known: further starting points: variables of the graph and the cotangents already known for them.
        consider_constant: variables (or one) that no gradient goes through.
        disconnected: "raise", "zero" or "none": what to answer for a variable that ``cost`` does not depend on.
        create_graph: dynamic mode only: record the gradient's own computation, so that it can be differentiated again.
        return_paths: return ``(gradients, paths)``; ``paths`` has the form of ``wrt`` and holds for each variable the
            list of ``GradientPath`` whose contributions add up to its gradient.

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
    roots = _checked_roots(cost, cotangent, known)
    symbolic = isinstance(roots[0][0], Symbol)
    many = isinstance(wrt, list | tuple)
    asked = list(wrt) if many else [wrt]
    variables = [v.symbol if symbolic and isinstance(v, Parameter) else v for v in asked]
    if disconnected not in ("raise", "zero", "none"):
        raise TutorlibError(f"disconnected is not {disconnected!r}", fix='write "raise", "zero" or "none"')
    for var in variables:
        _check_wrt(var, symbolic)
    constants = [consider_constant] if isinstance(consider_constant, Var) else consider_constant
    blocked = [v.symbol if symbolic and isinstance(v, Parameter) else v for v in constants]
    if symbolic:
        with collector_at_rest():
            found, path = _symbolic_grad(roots, variables, blocked)
    else:
        found, path = _dynamic_grad(roots, variables, blocked, create_graph)
    costs = [root for root, _ in roots]
    answers = [
        g if g is not None else _missing(costs, var, _reaches(costs, var, path), disconnected)
        for var, g in zip(variables, found, strict=True)
    ]
    if symbolic:
        for var, answer in zip(variables, answers, strict=True):
            if isinstance(answer, Symbol) and answer.node is not None and cost is not None:
                answer.derivative_of = (*answer.derivative_of, (cost, var))
    elif observe.observers:
        pairs = [(var, answer) for var, answer in zip(variables, answers, strict=True) if answer is not None]
        observe.tell("on_gradient", cost, pairs)
    gradients = type(wrt)(answers) if many else answers[0]
    if not return_paths:
        return gradients
    if cost is None or known:
        raise NotDifferentiableError("paths start at one cost", fix="leave known out, or return_paths")
    from tutorlib.core.paths import gradient_paths

    paths = [gradient_paths(cost, var, cotangent=cotangent) for var in variables]
    return gradients, type(wrt)(paths) if many else paths[0]


def _checked_roots(cost: Any, cotangent: Any, known: Mapping[Any, Any] | None) -> list[tuple[Var, Any]]:
    roots = ([] if cost is None else [(cost, cotangent)]) + list((known or {}).items())
    if not roots:
        raise NotDifferentiableError("grad() of nothing", fix="pass a cost, or known={variable: cotangent}")
    for root, seed in roots:
        if not isinstance(root, Var):
            raise NotDifferentiableError(
                f"grad() of {type(root).__name__}: not a tensor or a symbol",
                fix="compute the cost from tl.tensor(..., requires_grad=True) or from symbols",
            )
        if root.dtype.kind != "f":
            raise NotDifferentiableError(
                f"the cost has dtype {root.dtype}: only floating-point values have gradients",
                fix='compute it in floating point: cost.astype("float64")',
            )
        if isinstance(root, Symbol) != isinstance(roots[0][0], Symbol):
            raise ModeMixError("the starting points are of different modes", fix="use tensors only, or symbols only")
        if seed is None and root is not cost:
            raise ShapeError("a known gradient is missing its value", fix="known={variable: cotangent}")
    return cast(list[tuple[Var, Any]], roots)


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
            fix='make it floating-point: pass dtype="float64", or write 1.0 instead of 1',
        )


def _reaches(costs: list[Any], var: Any, path: set[int]) -> bool:
    """Whether a cost depends on ``var`` through nodes on the path (its gradient is then zero, not missing)."""
    if any(cost is var for cost in costs):
        return True
    if not any(id(cost) in path for cost in costs):
        return False
    return any(v is var for node in toposort(costs) if any(id(o) in path for o in node.outputs) for v in node.inputs)


def _missing(costs: list[Any], var: Any, reached: bool, disconnected: str) -> Any:
    if not reached and disconnected == "raise":
        from tutorlib.core.disconnected import disconnected_error

        raise disconnected_error(costs, var)
    if not reached and disconnected == "none":
        return None
    return OPS.zeros_like(var.detach() if isinstance(var, Tensor) else var)
