"""What the bodies of ``scan`` and ``while_loop`` have in common: a state that keeps its shapes and dtypes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.compile.fgraph import clone
from tutorlib.compile.subgraph import Subgraph, dim_that_differs
from tutorlib.compile.traced_body import Traced, where_made
from tutorlib.core.aval import AVal
from tutorlib.core.config import config
from tutorlib.core.errors import DTypeError, ShapeError, TutorlibError, shape_text
from tutorlib.core.graph import Input, Shared, Symbol, label
from tutorlib.core.operators import OPS


def check_takes(function: Any, op: str, *names: str) -> None:
    """Refuse a learner's function that cannot be called with these arguments."""
    wanted = ", ".join(names) or "no arguments"
    if not callable(function):
        raise TutorlibError(
            f"{function!r:.60} is no function", op=op, fix=f"pass a function of {wanted}, without calling it"
        )
    try:
        inspect.signature(function).bind(*names)
    except TypeError as error:
        called = getattr(function, "__name__", "the function")
        raise TutorlibError(
            f"{called} is called with {wanted}, which it does not take: {error}",
            op=op,
            fix=f"write it as a function of {wanted}",
        ) from None
    except ValueError:
        pass  # a function that tells no signature


def changed(op: str, path: str, before: AVal, after: AVal, value: Any, function: Any) -> TutorlibError:
    """The error for a step that gives one part of the state, ``path``, another shape or dtype than it was given."""
    where = where_made(value, function)
    if before.dtype != after.dtype:
        return DTypeError(
            f"{path} is {before.dtype} before a step and {after.dtype} after it, at {where}",
            op=op,
            fix=f'start with that dtype, or return value.astype("{before.dtype}")',
        )
    wrong = dim_that_differs(before.shape, after.shape)
    return ShapeError(
        f"{path} has another shape before a step than after it, at {where}",
        op=op,
        shapes=[before.shape, after.shape],
        wrong_dims=[] if wrong is None else [wrong, wrong],
        fix=f"start with the shape that a step gives, {shape_text(after.shape)}",
    )


def settled(
    outputs: list[Symbol],
    carries: Sequence[Input],
    init: Sequence[Symbol],
    paths: Sequence[str],
    function: Any,
    op: str,
) -> tuple[list[Symbol], list[Input], list[Symbol]]:
    """The results of a body, its inputs and their first values, with Python numbers among the first values in the
    dtype that a step gives them. Raises where a step changes a shape or dtype.

    ``outputs``: the new state and whatever else a step gives.
    """
    carries, init = list(carries), list(init)
    replace: dict[Symbol, Symbol] = {}
    for i, (carry, start) in enumerate(zip(carries, init, strict=True)):
        if start.aval.weak:
            dtype = outputs[i].dtype
            if outputs[i].aval.weak:
                dtype = np.result_type(dtype, start.dtype)
                dtype = np.dtype(config.floatX) if dtype.kind == "f" else dtype
            init[i] = OPS.cast(start, dtype)
            carries[i] = Input(AVal((), dtype), name=carry.name)
            replace[carry] = carries[i]
    outputs = clone(outputs, replace) if replace else list(outputs)
    for i, v in enumerate(outputs):
        if v.aval.weak:
            default = config.floatX if v.dtype.kind == "f" else v.dtype
            outputs[i] = v = OPS.cast(v, carries[i].dtype if i < len(carries) else default)
        if i < len(carries):
            before, after = carries[i].aval, v.aval
            differs = dim_that_differs(before.shape, after.shape) is not None
            if before.dtype != after.dtype or before.ndim != after.ndim or differs:
                raise changed(op, paths[i], before, after, v, function)
    return outputs, carries, init


def with_states(
    outputs: list[Symbol], traced: Traced, n: int
) -> tuple[list[Symbol], list[tuple[Input, Shared, Symbol]]]:
    """A body's results with one more state, after the first ``n``, for each random stream (or other shared variable
    that updates itself) that it moved.

    Returns the outputs and, for each, (its input, the shared variable, its state before the loop).
    """
    counters: list[tuple[Input, Shared, Symbol]] = []
    replace: dict[Symbol, Symbol] = {}
    after: list[Symbol] = []
    for shared, before in traced.moved():
        stand_in = Input(before.aval, name=shared.name)
        replace[before] = stand_in
        counters.append((stand_in, shared, before))
        after.append(shared.default_update)
    if not counters:
        return outputs, []
    return clone([*outputs[:n], *after, *outputs[n:]], replace), counters


def check_shapes(
    op: str, before: Sequence[Any], after: Sequence[Any], body: Subgraph, sums: Sequence[int], n: int
) -> None:
    """Raise if a step, while running, changed the shape of a part of the state, or gave a row of another shape.

    Args:
        before: the shapes there should be: of the ``n`` parts of the state, then of the rows.
        after: the arrays that a step gave. Those numbered ``sums`` are added to the state, and may broadcast.
    """
    for i, (old, new) in enumerate(zip(before, after, strict=False)):
        if old != new.shape and i not in sums:
            what = f"the shape of {label(body.inputs[i])}" if i < n else "the shape of what is stacked"
            raise ShapeError(
                f"a step changed {what}",
                op=op,
                shapes=[old, new.shape],
                fix="start with the shape that every step gives" if i < n else "give rows of one shape in every step",
            )
