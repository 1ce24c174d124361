"""``tl.while_loop``: go on as long as a condition holds, in both modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import Any

from tutorlib.compile.ifelse import ifelse
from tutorlib.compile.loop_body import changed, check_shapes, check_takes, settled, with_states
from tutorlib.compile.scan import scan
from tutorlib.compile.subgraph import (
    CONTROL_OPS,
    ControlOp,
    Prepared,
    Rewrite,
    Subgraph,
    as_outputs,
    closed,
    depending_on,
)
from tutorlib.compile.traced_body import tracing
from tutorlib.compile.tree import Form, flatten
from tutorlib.core.aval import AVal, python_scalar_aval
from tutorlib.core.backend import to_host
from tutorlib.core.create import tensor
from tutorlib.core.dispatch import as_symbol, state
from tutorlib.core.errors import NotDifferentiableError, ShapeError, TutorlibError
from tutorlib.core.graph import Input, Node, Symbol, Var, aval_of
from tutorlib.core.operators import OPS
from tutorlib.core.tensor import Tensor


def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, max_steps: int | None = None) -> Any:
    """``init``, and ``body`` of it, and ``body`` of that, until ``cond`` is false.

    Args:
        cond: a function of the state that gives a single truth value.
        body: a function of the state that gives the next one, of the same structure, shapes and dtypes.
        init: the first state: a variable, or a tuple, list or dict of them.
        max_steps: stop after so many steps in any case. In static mode the gradient needs it: what it goes back
            through must be bounded before the loop starts.

    Returns the last state: the first one for which ``cond`` is false.

    Raises NotDifferentiableError for a gradient through a static loop without ``max_steps``.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> y = tl.while_loop(lambda v: v < 100.0, lambda v: v * v, x, max_steps=20)
    >>> tl.function([x], [y, tl.grad(y, x)])(3.0)          # ((3²)²)² = 3⁸; its slope is 8 · 3⁷
    [array(6561.), array(17496.)]
    """
    if max_steps is not None and max_steps < 0:
        raise TutorlibError(f"max_steps is a number of steps, not {max_steps!r}", op="while_loop", fix="use 0 or more")
    check_takes(cond, "while_loop", "state")
    check_takes(body, "while_loop", "state")
    leaves, form = flatten(init)

    def built() -> Any:
        return _built(cond, body, leaves, form) if max_steps is None else _bounded(cond, body, init, max_steps)

    if any(isinstance(v, Symbol) for v in leaves) or state.static:
        return built()
    now = init
    for done in count():
        if done == max_steps:
            break
        again = _single(cond(now))
        if isinstance(again, Symbol):  # the loop looks at a symbol from around it
            return built()
        if not bool(again):
            break
        following = _check_form(body(now), form)
        if any(isinstance(v, Symbol) for v in following):
            return built()
        now = form.build(_followed(flatten(now)[0], following, form, body))
    return form.build([v if isinstance(v, Tensor) else tensor(v) for v in flatten(now)[0]])


def _followed(before: list[Any], after: list[Any], form: Form, body: Any) -> list[Any]:
    """The next state of a dynamic loop as tensors; raises where its shapes or dtypes have changed."""
    after = [v if isinstance(v, Tensor) else tensor(v) for v in after]
    for path, old, new in zip(form.paths("state"), before, after, strict=True):
        # A Python number takes the dtype that the first step gives it.
        was = AVal((), new.dtype) if python_scalar_aval(old) is not None else aval_of(old)
        if (was.shape, was.dtype) != (new.shape, new.dtype):
            raise changed("while_loop", path, was, new.aval, new, body)
    return after


def _single(value: Any) -> Any:
    if isinstance(value, Var) and value.shape != ():
        raise ShapeError(
            "the condition of a loop must be a single truth value",
            op="while_loop",
            shapes=[value.shape],
            fix="reduce it: condition.all() or condition.any()",
        )
    return value


def _check_form(value: Any, form: Form) -> list[Any]:
    leaves, other = flatten(value)
    if other != form:
        raise TutorlibError(
            f"the body was given a state like {form!r} and returned one like {other!r}",
            op="while_loop",
            fix="return a state of the structure of init",
        )
    return leaves


def _bounded(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, max_steps: int) -> Any:
    """A scan that stops early; each of its steps asks first whether there is anything to do."""

    def step(carry: Any, _: Any) -> tuple[Any, None, Any]:
        go, now = carry

        def advance() -> Any:
            following = body(now)
            return OPS.cast(_single(cond(following)), "bool"), following

        go, now = ifelse(go, advance, lambda: (go, now))
        return (go, now), None, OPS.logical_not(go)

    with tracing():
        first = OPS.cast(as_symbol(_single(cond(init))), "bool")
    (_, last), _ = scan(step, None, (first, _strong(init)), max_steps)
    return last


def _strong(init: Any) -> Any:
    leaves, form = flatten(init)
    return form.build([as_symbol(v) for v in leaves])


def _built(cond: Callable[[Any], Any], body: Callable[[Any], Any], leaves: list[Any], form: Form) -> Any:
    init = [as_symbol(v, "while_loop") for v in leaves]
    states = [Input(v.aval, name=v.name) for v in init]
    with tracing() as traced:
        test = OPS.cast(as_symbol(_single(cond(form.build(states)))), "bool")
        new = [as_symbol(v, "while_loop") for v in _check_form(body(form.build(states)), form)]
        paths = form.paths("state")
        outputs, inner, init = settled([*new, test], states, init, paths, body, "while_loop")
        outputs, counters = with_states(outputs, traced, len(init))
    inputs = [*inner, *(c for c, _, _ in counters)]
    starts = [*init, *(before for _, _, before in counters)]
    whole, captured = closed(outputs, inputs, depending_on(inputs, outputs))
    n = len(inputs)
    attrs = {"cond": Subgraph(whole.inputs, whole.outputs[n:]), "body": Subgraph(whole.inputs, whole.outputs[:n])}
    made = _op(n, whole.has_effect)(*starts, *captured, **attrs)
    results = list(made) if isinstance(made, tuple) else [made]
    for (_, shared, _), after in zip(counters, results[len(init) :], strict=True):
        shared.default_update = after
    return form.build(results[: len(init)])


# ---- the op: the state, then what the two graphs capture; both have the same inputs ----


class WhileOp(ControlOp):
    """Attributes: ``cond`` and ``body``, graphs of the state and the captured variables."""

    def prepare(self, node: Node, used: Sequence[bool], rewrite: Rewrite) -> Prepared:
        cond, body = (node.attrs[name].rewritten(rewrite) for name in ("cond", "body"))
        n = len(used)
        reads = [*range(n), *sorted(i for i in cond.used() | body.used() if i >= n)]
        return Prepared(node.op, {"cond": cond.only(reads), "body": body.only(reads)}, reads, list(range(n)))


def _forward(xp: Any, *operands: Any, cond: Subgraph, body: Subgraph) -> Any:
    n = len(body.outputs)
    now, captured = list(operands[:n]), operands[n:]
    avals = [AVal(x.shape, x.dtype) for x in operands]
    body = body.at(avals)
    shapes = [x.shape for x in now]
    changeable = body.may_change(avals[:n])
    test, advance = cond.at(avals).runner(xp), body.runner(xp)
    while to_host(test(*now, *captured)[0]):
        now = list(advance(*now, *captured))
        if changeable and [x.shape for x in now] != shapes:
            check_shapes("while_loop", shapes, now, body, (), n)
    return as_outputs(now, n)


def _infer(*operands: AVal, cond: Subgraph, body: Subgraph) -> Any:
    n = len(body.outputs)
    body.infer(operands)
    return as_outputs([AVal(a.shape, a.dtype) for a in operands[:n]], n)


def _vjp(g: Any, needs: list[bool], out: Any, *operands: Any, cond: Subgraph, body: Subgraph) -> list[Any]:
    first = out[0] if isinstance(out, tuple) else out
    raise NotDifferentiableError(
        "the gradient goes back through every step of a loop, and nothing bounds the steps of this one",
        op="while_loop",
        fix="bound them: tl.while_loop(cond, body, init, max_steps=1000); or use tl.scan",
        source=first.node.source,
    )


@cache
def _op(nout: int, effect: bool) -> WhileOp:
    flags = {"syncs", *(["effect"] if effect else [])}
    return WhileOp("while_loop", _forward, _infer, _vjp, nout=nout, flags=flags)


CONTROL_OPS["while_loop"] = _op
