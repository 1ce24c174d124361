"""``tl.scan``: a loop whose steps share one body, in both modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.loop_body import changed, check_takes, settled, with_states
from tutorlib.compile.scan_op import build
from tutorlib.compile.scan_run import Layout
from tutorlib.compile.subgraph import closed, depending_on
from tutorlib.compile.traced_body import tracing
from tutorlib.compile.tree import Form, flatten
from tutorlib.core.aval import AVal, python_scalar_aval
from tutorlib.core.backend import is_array
from tutorlib.core.create import tensor
from tutorlib.core.dispatch import as_symbol, no_grad, state
from tutorlib.core.errors import DTypeError, ModeMixError, ShapeError, TutorlibError, shape_text
from tutorlib.core.graph import Input, Symbol, Var
from tutorlib.core.operators import OPS
from tutorlib.core.tensor import Tensor


def scan(
    fn: Callable[..., Any],
    xs: Any = None,
    init: Any = None,
    length: Any = None,
    *,
    reverse: bool = False,
    truncate: int | None = None,
    until: Callable[..., Any] | None = None,
) -> tuple[Any, Any]:
    """Apply ``fn`` once for each row of ``xs``, handing a carry from step to step.

    Args:
        fn: ``fn(carry, x) -> (carry, y)``: x is one row of xs; y is stacked. A third result, a truth value, stops the
            scan after this step.
        xs: what to go through, along the first axis; or None. It, the carry and y may be a variable, or a tuple, list
            or dict of them (nested too), or None.
        init: the carry before the first step. Every step must keep its structure, shapes and dtypes.
        length: the number of steps, needed when there is no xs: an int or a scalar integer symbol.
        reverse: go through xs from its end; ``y`` keeps the place of its x.
        truncate: the gradient goes only so many steps back from the end; what lies before counts as constant.
        until: ``until(carry, y)`` after each step: true stops the scan. ys are then as long as there were steps.

    Returns (the last carry, the stacked ys). In dynamic mode this is a Python loop that records. With symbols it is
    one node of the graph, whose step is compiled once; its gradient is a scan too, of any order. What a step takes from
    around it (weights) it may simply use. A ``tl.random.Stream`` used inside draws anew in every step.

    Raises ShapeError or DTypeError when a step changes the carry's shape or dtype, naming which part.

    >>> import tutorlib as tl
    >>> x = tl.vector("x")
    >>> total, sums = tl.scan(lambda s, x: (s + x, s + x), x, 0.0)
    >>> tl.function([x], [total, sums])([1.0, 2.0, 3.0])
    [array(6.), array([1., 3., 6.])]
    >>> tl.grad(total * total, x).eval({x: [1.0, 2.0]})
    array([6., 6.])
    """
    loop = _Loop(fn, xs, init, length, reverse, truncate, until)
    return loop.built() if loop.symbolic else loop.run()


class _Loop:
    """What ``scan`` was given, checked."""

    def __init__(
        self, fn: Any, xs: Any, init: Any, length: Any, reverse: bool, truncate: int | None, until: Any
    ) -> None:
        self.fn, self.until, self.reverse = fn, until, reverse
        check_takes(fn, "scan", "carry", "x")
        if until is not None:
            check_takes(until, "scan", "carry", "y")
        self.xs, self.xs_form = flatten(xs)
        self.init, self.carry_form = flatten(init)
        self.length = int(length) if isinstance(length, int | np.integer) else length
        if truncate is not None and truncate < 1:
            raise TutorlibError(f"truncate is a number of steps, not {truncate!r}", op="scan", fix="use at least 1")
        self.truncate = truncate
        self.xs = [x if isinstance(x, Var) or is_array(x) else np.asarray(x) for x in self.xs]
        self._check_xs()
        everything = [*self.xs, *self.init, length]
        self.symbolic = any(isinstance(v, Symbol) for v in everything) or state.static

    def _check_xs(self) -> None:
        lengths = set() if self.length is None or isinstance(self.length, Var) else {self.length}
        for x, path in zip(self.xs, self.xs_form.paths("xs"), strict=True):
            if not x.shape:
                raise ShapeError(
                    f"{path} is a scalar: there is nothing to go through",
                    op="scan",
                    fix="pass an array: a list of numbers is taken as so many variables, np.array([…]) as one",
                )
            lengths |= {x.shape[0]} - {None}
        if len(lengths) > 1:
            raise ShapeError(
                f"xs and length disagree: {', '.join(map(str, sorted(lengths)))}",
                op="scan",
                shapes=[x.shape for x in self.xs],
                wrong_dims=[0] * len(self.xs),
                fix="cut them to one length: x[:n]",
            )
        if not self.xs and self.length is None:
            raise TutorlibError("without xs there is no number of steps", op="scan", fix="pass length=n")
        if isinstance(self.length, Var) and (self.length.shape or self.length.dtype.kind not in "iu"):
            raise DTypeError(
                f"length is a whole number, not {self.length.dtype} {shape_text(self.length.shape)}",
                op="scan",
                fix='use tl.scalar("n", dtype="int64")',
            )

    def step(self, carry: Sequence[Any], rows: Sequence[Any]) -> tuple[list[Any], list[Any], Form, Any]:
        """One call of the learner's function: (new carry, y, form of y, whether to stop or None)."""
        result = self.fn(self.carry_form.build(carry), self.xs_form.build(rows))
        if not isinstance(result, tuple) or len(result) not in (2, 3):
            raise TutorlibError(
                f"a step must return (carry, y), this one returned {type(result).__name__}",
                op="scan",
                fix="return carry, y; y may be None, and None may be the carry",
            )
        new, form = flatten(result[0])
        if form != self.carry_form:
            raise TutorlibError(
                f"a step was given a carry like {self.carry_form!r} and returned one like {form!r}",
                op="scan",
                fix="return a carry of the structure of init",
            )
        y, y_form = flatten(result[1])
        stop = result[2] if len(result) == 3 else self.until(result[0], result[1]) if self.until is not None else None
        if stop is not None and (self.reverse or self.truncate is not None):
            raise TutorlibError(
                "a scan that may stop early cannot be reversed or have its gradient truncated",
                op="scan",
                fix="reverse the sequence itself: xs[::-1]; or leave truncate out",
            )
        return new, y, y_form, stop

    # ---- static ----

    def built(self) -> tuple[Any, Any]:
        xs = [as_symbol(x, "scan") for x in self.xs]
        init = [as_symbol(v, "scan") for v in self.init]
        carries = [Input(v.aval, name=v.name) for v in init]
        rows = [Input(AVal(x.shape[1:], x.dtype), name=x.name) for x in xs]
        with tracing() as traced:
            new, y, y_form, stop = self.step(carries, rows)
            outputs = [as_symbol(v, "scan") for v in (*new, *y)]
            if stop is not None:
                outputs.append(OPS.cast(as_symbol(stop, "scan"), "bool"))
                if outputs[-1].ndim:
                    raise ShapeError(
                        "whether to stop is a single truth value",
                        op="scan",
                        shapes=[outputs[-1].shape],
                        fix="reduce it: condition.all()",
                    )
            paths = self.carry_form.paths("carry")
            outputs, carries, init = settled(outputs, carries, init, paths, self.fn, "scan")
            outputs, counters = with_states(outputs, traced, len(init))
        inputs = [*carries, *(c for c, _, _ in counters), *rows]
        n = len(carries)
        carries += [c for c, _, _ in counters]
        init += [before for _, _, before in counters]
        step, captured = closed(outputs, inputs, depending_on(inputs, outputs))
        counted = [as_symbol(self.length)] if isinstance(self.length, Var) else []
        layout = Layout(
            len(carries),
            len(rows),
            None if counted else self.length,
            bool(counted),
            self.reverse,
            stop is not None,
            self.truncate,
        )
        results = build(step, layout, [*init, *xs, *counted, *captured])
        for (_, shared, _), after in zip(counters, results[n:], strict=False):
            shared.default_update = after
        for v, named in zip(results, new, strict=False):
            v.name = getattr(named, "name", None) if isinstance(named, Symbol) and named.node is not None else None
        finals, stacks = results[:n], results[len(carries) : len(carries) + len(y)]
        return self.carry_form.build(finals), y_form.build(stacks)

    # ---- dynamic ----

    def run(self) -> tuple[Any, Any]:
        xs = [x if isinstance(x, Tensor) else tensor(x) for x in self.xs]
        steps = int(self.length) if self.length is not None else len(xs[0])
        if not steps:
            return self._nothing()
        weak = [python_scalar_aval(v) is not None for v in self.init]
        carry = [v if isinstance(v, Tensor) or w else tensor(v) for v, w in zip(self.init, weak, strict=True)]
        ys: list[list[Any]] = []
        form = None
        # Steps from which no gradient is wanted are not recorded.
        constant = 0 if self.truncate is None else max(0, steps - self.truncate)
        for done, t in enumerate(range(steps - 1, -1, -1) if self.reverse else range(steps)):
            if done < constant:
                with no_grad():
                    new, y, form, stop = self.step(carry, [x[t] for x in xs])
            else:
                new, y, form, stop = self.step(carry, [x[t] for x in xs])
            if not done and any(isinstance(v, Symbol) for v in (*new, *y)):
                self.symbolic = True
                return self.built()
            for i, value in enumerate(new):
                new[i] = value = value if isinstance(value, Tensor) else tensor(value)
                before = carry[i]
                if isinstance(before, Tensor):
                    differs = value.shape != before.shape or value.dtype != before.dtype
                else:
                    differs = bool(value.shape)
                if differs:
                    was = before.aval if isinstance(before, Tensor) else AVal((), value.dtype)
                    raise changed("scan", self.carry_form.paths("carry")[i], was, value.aval, value, self.fn)
            carry = new
            ys.append(y)
            if stop is not None and bool(stop):
                break
        if self.reverse:
            ys.reverse()
        assert form is not None
        return self.carry_form.build(carry), form.build([OPS.stack(column) for column in zip(*ys, strict=True)])

    def _nothing(self) -> tuple[Any, Any]:
        """No step at all: the structure and shapes of y come from running the step on symbols."""
        try:
            _, stacks = self.built()
        except ModeMixError as error:
            raise TutorlibError(
                "of a scan of no steps only the step can tell what y would be, and this one cannot run on symbols",
                op="scan",
                fix="leave the scan out when there is nothing to go through",
            ) from error
        leaves, form = flatten(stacks)
        empty = [tensor(v.eval()) for v in leaves]
        starts = [v if isinstance(v, Tensor) else tensor(v) for v in self.init]
        return self.carry_form.build(starts), form.build(empty)
