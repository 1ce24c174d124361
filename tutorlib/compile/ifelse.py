"""``tl.ifelse``: a choice inside a graph, of which only the branch that is taken is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tutorlib.compile.fgraph import clone
from tutorlib.compile.loop_body import check_takes
from tutorlib.compile.subgraph import (
    CONTROL_OPS,
    ControlOp,
    Prepared,
    Rewrite,
    Subgraph,
    as_outputs,
    closed,
    costly,
    dim_that_differs,
)
from tutorlib.compile.traced_body import tracing, where_made
from tutorlib.compile.tree import flatten
from tutorlib.core.aval import AVal
from tutorlib.core.backend import to_host
from tutorlib.core.config import config
from tutorlib.core.dispatch import as_symbol, state
from tutorlib.core.errors import DTypeError, ShapeError, TutorlibError
from tutorlib.core.graph import Constant, Input, Node, Symbol, Var, aval_of, label
from tutorlib.core.operators import OPS
from tutorlib.core.tensor import Tensor

BRANCHES = ("then", "otherwise")


def ifelse(condition: Any, then: Any, otherwise: Any) -> Any:
    """The value of ``then`` if ``condition`` is true, else that of ``otherwise``; the other one is not computed.

    Args:
        condition: a scalar: a truth value or a number (0 is false), of any mode.
        then, otherwise: functions without arguments that give a variable, or a tuple, list or dict of them; or the
            variables themselves. The branches must agree in structure, shapes and dtypes; Python numbers adapt.

    With a symbol as condition the choice is part of the graph, and the gradient is a choice as well: with functions,
    nothing of the branch not taken is ever computed, so it leaks no NaN. With variables, what only one branch needs is
    left out when the other one is taken, forward; their gradient is computed with zeros.

    Raises ShapeError for a condition that is not a scalar, ShapeError or DTypeError for branches that do not agree.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> root = tl.ifelse(x > 0, lambda: tl.sqrt(x), lambda: 0.0)
    >>> f = tl.function([x], [root, tl.grad(root, x)])
    >>> f(4.0), f(-1.0)
    ([array(2.), array(0.25)], [array(0.), array(0.)])
    """
    for branch in (then, otherwise):
        if callable(branch):
            check_takes(branch, "ifelse")
    if not isinstance(condition, Symbol) and not (state.static and isinstance(condition, Tensor)):
        _check_condition(aval_of(condition if isinstance(condition, Var) else np.asarray(condition)).shape)
        chosen = then if bool(condition) else otherwise
        return chosen() if callable(chosen) else chosen
    condition = as_symbol(condition, "ifelse")
    _check_condition(condition.shape)
    with tracing() as traced:
        results = [branch() if callable(branch) else branch for branch in (then, otherwise)]
        (left, form), (right, other) = map(flatten, results)
        if form != other:
            raise TutorlibError(
                f"the branches give different structures: {form!r} and {other!r}",
                op="ifelse",
                fix="let both return the same tuple, list or dict",
            )
        pairs = [
            _agreeing(as_symbol(a, "ifelse"), as_symbol(b, "ifelse"), then, otherwise)
            for a, b in zip(left, right, strict=True)
        ]
    if not pairs:
        return form.build([])
    attrs, captured = assembled([a for a, _ in pairs], [b for _, b in pairs], lambda node: id(node) in traced.made)
    return form.build(_built(condition, captured, attrs))


def _check_condition(shape: Any) -> None:
    if shape != ():
        raise ShapeError(
            "the condition must be a single truth value",
            op="ifelse",
            shapes=[shape],
            fix="reduce it: condition.all() or condition.any(); to choose element by element use tl.where",
        )


def _agreeing(a: Symbol, b: Symbol, then: Any, otherwise: Any) -> tuple[Symbol, Symbol]:
    """The two values of one result, cast where one is a Python number."""
    both = f"{where_made(a, then)} and {where_made(b, otherwise)}"
    if a.dtype != b.dtype or a.aval.weak or b.aval.weak:
        dtype: np.dtype[Any] | None = None
        if a.aval.weak or b.aval.weak:
            dtype = OPS.where(True, a, b).dtype
        if dtype is not None and dtype.kind == "f" and a.aval.weak and b.aval.weak:
            dtype = np.dtype(config.floatX)
        strong = [v.dtype for v in (a, b) if not v.aval.weak]
        if dtype is None or any(dtype != d for d in strong):
            raise DTypeError(
                f"the branches give different dtypes: {label(a)} is {a.dtype}, {label(b)} is {b.dtype}, at {both}",
                op="ifelse",
                fix=f'cast one of them: value.astype("{a.dtype}")',
            )
        a, b = (OPS.cast(v, dtype) for v in (a, b))
    wrong = dim_that_differs(a.shape, b.shape)
    if a.ndim != b.ndim or wrong is not None:
        raise ShapeError(
            f"the branches give different shapes, at {both}",
            op="ifelse",
            shapes=[a.shape, b.shape],
            wrong_dims=[] if wrong is None else [wrong, wrong],
            fix="give both the same shape: tl.broadcast_to(value, shape), or tl.zeros_like(the other one)",
        )
    return a, b


def assembled(
    then: Sequence[Symbol], otherwise: Sequence[Symbol], inside: Callable[[Node], bool]
) -> tuple[dict[str, Any], list[Symbol]]:
    """The attributes of an ifelse with these results, made of the nodes that are ``inside``; and what it captures."""
    both, captured = closed([*then, *otherwise], [], inside)
    count = len(then)
    return {
        "then": Subgraph(both.inputs, both.outputs[:count]),
        "otherwise": Subgraph(both.inputs, both.outputs[count:]),
    }, captured


def _built(condition: Symbol, operands: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """The results of a choice. It is built with what a gradient would like kept among its results: those of the costly
    ops in each branch, for which the other branch gives zeros. What nothing uses is dropped before a function runs."""
    then, otherwise = attrs["then"], attrs["otherwise"]
    own = len(then.outputs)
    mine, others = _kept(then), _kept(otherwise)
    then = Subgraph(then.inputs, [*then.outputs, *mine, *map(_nothing_like, others)])
    otherwise = Subgraph(otherwise.inputs, [*otherwise.outputs, *map(_nothing_like, mine), *others])
    effect = then.has_effect or otherwise.has_effect
    made = _op(len(then.outputs), effect)(condition, *operands, then=then, otherwise=otherwise)
    return list(made[:own]) if isinstance(made, tuple) else [made]


def _kept(graph: Subgraph) -> list[Symbol]:
    """The values inside a branch that its gradient had better not compute again."""
    own = {id(v) for v in graph.outputs}
    return [v for node in graph.nodes if costly(node) for v in node.outputs if v.aval.known and id(v) not in own]


def _nothing_like(v: Symbol) -> Constant:
    return _nothing(v.shape, v.dtype)


@cache
def _nothing(shape: Any, dtype: Any) -> Constant:
    return Constant(np.broadcast_to(np.zeros((), dtype), shape))


# ---- the op ----


class IfElse(ControlOp):
    """Operands: the condition, then what the branches capture. Attributes: the branches, with equal inputs."""

    def prepare(self, node: Node, used: Sequence[bool], rewrite: Rewrite) -> Prepared:
        kept = [i for i, wanted in enumerate(used) if wanted]
        count = len(node.attrs["then"].inputs)
        graphs = [node.attrs[branch].only(range(count), kept).rewritten(rewrite) for branch in BRANCHES]
        reads = sorted(set().union(*(graph.used() for graph in graphs)))
        then, otherwise = (graph.only(reads) for graph in graphs)
        op = _op(len(kept), then.has_effect or otherwise.has_effect)
        return Prepared(op, {"then": then, "otherwise": otherwise}, [0, *(i + 1 for i in reads)], kept)


def _forward(xp: Any, condition: Any, *operands: Any, then: Subgraph, otherwise: Subgraph) -> Any:
    graph = then if (condition if xp is np else to_host(condition)) else otherwise
    return as_outputs(graph.run(xp, operands), len(graph.outputs))


def _infer(condition: AVal, *operands: AVal, then: Subgraph, otherwise: Subgraph) -> Any:
    found = []
    for a, b in zip(then.infer(operands), otherwise.infer(operands), strict=True):
        if dim_that_differs(a.shape, b.shape) is not None:
            raise ShapeError(
                "the branches give different shapes",
                op="ifelse",
                shapes=[a.shape, b.shape],
                fix="give both the same shape",
            )
        found.append(AVal(tuple(m if m == n else None for m, n in zip(a.shape, b.shape, strict=True)), a.dtype))
    return as_outputs(found, len(found))


def _vjp(
    g: Any, needs: list[bool], out: Any, condition: Any, *operands: Any, then: Subgraph, otherwise: Subgraph
) -> list[Any]:
    cotangents = list(g) if isinstance(g, tuple) else [g]
    outs = list(out) if isinstance(out, tuple) else [out]
    given = [i for i, c in enumerate(cotangents) if c is not None and outs[i].dtype.kind == "f"]
    wanted = [i for i, need in enumerate(needs[1:]) if need]
    seeds = {i: Input(outs[i].aval, name=f"d{outs[i].name or i}") for i in given}
    found = [graph.pulled_back(seeds, wanted) for graph in (then, otherwise)]
    reached = [i for i, parts in enumerate(zip(*found, strict=True)) if any(part is not None for part in parts)]
    grads: list[Any] = [None] * len(needs)
    if not reached:
        return grads
    saved: list[tuple[Input, Any]] = []
    gradients = []
    for graph, parts in zip((then, otherwise), found, strict=True):
        own: list[Any] = [OPS.zeros_like(graph.inputs[wanted[i]]) if parts[i] is None else parts[i] for i in reached]
        known = {v: out for v, out in zip(graph.outputs, outs, strict=True) if v.node is not None and costly(v.node)}
        stand_ins = {v: Input(v.aval, name=v.name) for v in known}
        gradients.append(clone(own, stand_ins))
        saved += [(stand_ins[v], out) for v, out in known.items()]
    inputs = [*then.inputs, *seeds.values(), *(stand_in for stand_in, _ in saved)]
    arguments = [*map(as_symbol, operands), *(cotangents[i] for i in given), *(out for _, out in saved)]
    graphs = [Subgraph(inputs, own) for own in gradients]
    reads = sorted(graphs[0].used() | graphs[1].used())
    results = _built(
        as_symbol(condition),
        [arguments[i] for i in reads],
        {"then": graphs[0].only(reads), "otherwise": graphs[1].only(reads)},
    )
    for i, result in zip(reached, results, strict=True):
        grads[wanted[i] + 1] = result
    return grads


@cache
def _op(nout: int, effect: bool) -> IfElse:
    return IfElse("ifelse", _forward, _infer, _vjp, nout=nout, flags={"syncs", *(["effect"] if effect else [])})


CONTROL_OPS["ifelse"] = _op
