"""How a scan runs: step by step, or where shapes allow as one function that is the whole loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tutorlib.compile.loop_body import check_shapes
from tutorlib.compile.straight_line import as_loop
from tutorlib.compile.subgraph import LONGEST_TEXT, Subgraph, as_outputs, watched_inside
from tutorlib.core.aval import AVal
from tutorlib.core.backend import to_host
from tutorlib.core.errors import ShapeError, TutorlibError
from tutorlib.core.graph import Symbol

Array = Any


class Layout(NamedTuple):
    """The attributes of a scan beside its step.

    ``carries``, ``rows``: how many; ``length``: fixed, or None when it is that of the sequences or (``counted``) an
    operand; ``until``: the step's last output says whether to stop; ``truncate``: how many steps back the gradient
    goes; ``kept``: how many inner values are among the stacks, last; ``sums``: carries that only add up: the step
    gives what is to be added.
    """

    carries: int
    rows: int
    length: int | None = None
    counted: bool = False
    reverse: bool = False
    until: bool = False
    truncate: int | None = None
    kept: int = 0
    sums: tuple[int, ...] = ()

    @property
    def first_captured(self) -> int:
        return self.carries + self.rows + self.counted

    def operand(self, inner: int) -> int:
        """The number of the operand that input ``inner`` of the step comes from."""
        return inner if inner < self.carries + self.rows else inner + self.counted


def steps_of(layout: Layout, operands: Sequence[Array]) -> int:
    rows = operands[layout.carries : layout.carries + layout.rows]
    lengths = [len(x) for x in rows]
    if layout.length is not None:
        lengths.append(layout.length)
    if layout.counted:
        lengths.append(int(to_host(operands[layout.first_captured - 1])))
    if len(set(lengths)) > 1:
        raise ShapeError(
            f"the sequences have different lengths: {', '.join(map(str, lengths))}",
            op="scan",
            shapes=[x.shape for x in rows],
            wrong_dims=[0] * len(rows),
            fix="cut them to one length: x[:n]",
        )
    return max(lengths[0], 0)


def forward(xp: Any, *operands: Array, step: Subgraph, layout: Layout) -> Any:
    n = layout.carries
    steps = steps_of(layout, operands)
    carries = list(operands[:n])
    rows = operands[n : n + layout.rows]
    captured = operands[layout.first_captured :]
    avals = [AVal(x.shape, x.dtype) for x in one_step(operands, layout)]
    step = step.at(avals)
    last = len(step.outputs) - layout.until
    watched = step.may_change(avals[:n])
    if xp is np and not watched and len(step.nodes) <= LONGEST_TEXT and not watched_inside():
        found = _at_once(step, layout, steps, operands)
        if found is not None:
            return found
    expected: list[tuple[int, ...]] = []
    stacks: list[Array] = []
    sums = layout.sums
    for i in sums:
        carries[i] = xp.array(carries[i])
    run = step.runner(xp)
    done = 0
    for t in range(steps - 1, -1, -1) if layout.reverse else range(steps):
        results = run(*carries, *[x[t] for x in rows], *captured)
        if watched:
            expected = expected or [*(c.shape for c in carries), *(r.shape for r in results[n:last])]
            if [r.shape for r in results[:last]] != expected:
                check_shapes("scan", expected, results, step, sums, n)
        if sums:
            for i in sums:
                carries[i] += results[i]
            carries = [carries[i] if i in sums else results[i] for i in range(n)]
        else:
            carries = [*results[:n]]
        if not done:
            stacks = [xp.empty((steps, *r.shape), r.dtype) for r in results[n:last]]
        for stack, row in zip(stacks, results[n:last], strict=True):
            stack[t] = row
        done += 1
        if layout.until and to_host(results[-1]):
            break
    if not done:
        found = step.infer(avals)
        stacks = [xp.empty((0, *(d or 0 for d in a.shape)), a.dtype) for a in found[n:last]]
    if done < steps:
        stacks = [stack[:done].copy() for stack in stacks]
    return as_outputs([*carries, *stacks], last)


def _at_once(step: Subgraph, layout: Layout, steps: int, operands: Sequence[Array]) -> Any:
    """The results of a scan by one function that is the whole loop; None if an error came up, to be met again step by
    step."""
    n, last = layout.carries, len(step.outputs) - layout.until
    if step.loop is None:
        outline = (n, layout.rows, layout.sums, layout.until)
        step.loop = as_loop(step.nodes, step.inputs, step.outputs, *outline)
    stacks = [np.empty((steps, *_known(v)), v.dtype) for v in step.outputs[n:last]]
    carries = [np.array(x) if i in layout.sums else x for i, x in enumerate(operands[:n])]
    order = range(steps - 1, -1, -1) if layout.reverse else range(steps)
    given = [*operands[n : n + layout.rows], *operands[layout.first_captured :]]
    try:
        done, *carries = step.loop(order, *carries, *given, *stacks)
    except (TutorlibError, ValueError, TypeError, IndexError):
        return None
    if done < steps:
        stacks = [stack[:done].copy() for stack in stacks]
    return as_outputs([*carries, *stacks], last)


class _Row(NamedTuple):
    shape: tuple[int, ...]
    dtype: Any


def one_step(operands: Sequence[Array], layout: Layout) -> list[Any]:
    n = layout.carries
    rows = [_Row(x.shape[1:], x.dtype) for x in operands[n : n + layout.rows]]
    return [*operands[:n], *rows, *operands[layout.first_captured :]]


def _known(v: Symbol) -> tuple[int, ...]:
    return tuple(d for d in v.shape if d is not None)
