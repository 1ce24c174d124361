"""A scan whose step C can compute as a whole: the loop over its steps is C too.

The step's graph gets a schedule of its own, whose buffers hold one step's inputs and results. In C, before each step
the rows of the sequences are copied in, after it the rows of the stacks are copied out, and the new state takes the
place of the old. A step that NumPy must help with runs as without C.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tutorlib.compile.bound import COPYTO
from tutorlib.compile.buffers import Like
from tutorlib.compile.c_compiler import CompileError, library
from tutorlib.compile.c_segments import Segments
from tutorlib.compile.scan_run import Layout, one_step, steps_of
from tutorlib.compile.subgraph import remade
from tutorlib.core.aval import AVal
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.core.toposort import toposort

_LOOP = """
#include <string.h>
struct tl_move { char *to; const char *from; long long bytes, to_step, from_step; };
void tl_scan(void (*step)(void **), void **table, long long first, long long count, long long by,
             const struct tl_move *moves, long long before, long long all) {
  for (long long k = 0, t = first; k < count; k++, t += by) {
    for (long long m = 0; m < all; m++) {
      if (m == before) step(table);
      memmove(moves[m].to + t * moves[m].to_step, moves[m].from + t * moves[m].from_step, moves[m].bytes);
    }
    if (before == all) step(table);
  }
}
"""


class _Move(ctypes.Structure):
    _fields_ = (
        ("to", ctypes.c_void_p),
        ("from_", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("bytes", "to_step", "from_step")),
    )


class StepPlan(Protocol):
    """A schedule, as far as it matters here."""

    array: dict[int, Any]
    output_arrays: list[np.ndarray]
    segments: Segments | None

    def bind(self, arrays: Sequence[np.ndarray]) -> bool: ...


# From nodes, inputs, outputs and the shapes and dtypes of all values to a schedule in C.
Planner = Callable[[list[Node], list[Symbol], list[Symbol], dict[int, Like]], StepPlan]


class CompiledScan:
    """One scan of a schedule. Attributes: ``text``, the C program of its step."""

    def __init__(self, inputs: Sequence[Symbol], layout: Layout, plan: StepPlan, entry: tuple[int, int]) -> None:
        """``entry``: the addresses of the step's function and of its table of pointers."""
        assert plan.segments is not None
        self.text = plan.segments.text()
        self._inputs, self._layout, self._plan, self._entry = inputs, layout, plan, entry
        self._loop = library(_LOOP)["tl_scan"]
        self._loop.restype = None
        longs = [ctypes.c_longlong] * 3
        self._loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *longs, ctypes.c_void_p, *longs[:2]]

    def run(self, operands: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """The final states and the stacks of a scan over ``operands``, into ``outs``."""
        layout, plan = self._layout, self._plan
        n = layout.carries
        rows = [np.ascontiguousarray(x) for x in operands[n : n + layout.rows]]
        count = steps_of(layout, operands)
        own = [plan.array[id(v)] for v in self._inputs[: n + len(rows)]]
        captured = operands[layout.first_captured :]
        if not plan.bind([*own, *captured]):
            raise TutorlibError("a scan's step was planned for other arrays")
        for v, value in zip(self._inputs, [*operands[:n], *own[n:], *captured], strict=True):
            if plan.array[id(v)] is not value:
                COPYTO(plan.array[id(v)], value)
        states, results = own[:n], plan.output_arrays
        stacks = outs[n:]
        if not all(a.flags.c_contiguous for a in (*results, *stacks)):
            raise TutorlibError("a scan's step was planned for other arrays")
        before = [_move(to, row, from_step=to.nbytes) for to, row in zip(own[n:], rows, strict=True)]
        after = [_move(to, row, to_step=row.nbytes) for to, row in zip(stacks, results[n:], strict=True)]
        # One new state may be another's old one: then all are put aside before the first takes its place.
        aside = [np.empty_like(a) for a in states] if _overlap(results[:n], states) else results[:n]
        if aside is not results:
            after += [_move(to, new) for to, new in zip(aside, results, strict=False) if to is not new]
        after += [_move(to, new) for to, new in zip(states, aside, strict=True) if to is not new]
        moves = (_Move * (len(before) + len(after) + 1))(*before, *after)
        first, by = (count - 1, -1) if layout.reverse else (0, 1)
        self._loop(*self._entry, first, count, by, ctypes.addressof(moves), len(before), len(before) + len(after))
        for out, state in zip(outs, states, strict=False):
            COPYTO(out, state)


def _move(to: np.ndarray, from_: np.ndarray, to_step: int = 0, from_step: int = 0) -> _Move:
    return _Move(to.ctypes.data, from_.ctypes.data, to_step or to.nbytes, to_step, from_step)


def _overlap(results: Sequence[np.ndarray], states: Sequence[np.ndarray]) -> bool:
    pairs = [(a, b) for i, a in enumerate(results) for j, b in enumerate(states) if i != j]
    return any(np.may_share_memory(a, b) for a, b in pairs)


def compiled_scan(node: Node, operands: Sequence[Any], planner: Planner) -> CompiledScan | None:
    """The scan ``node`` in C, for operands of these shapes; None where NumPy must help, or its length is not known."""
    step, layout = node.attrs["step"], node.attrs["layout"]
    if layout.until or layout.counted or step.has_effect or not all(type(x) is np.ndarray for x in operands):
        return None
    try:
        steps_of(layout, operands)
        avals = [AVal(x.shape, x.dtype) for x in one_step(operands, layout)]
        step = step.at(avals)
    except TutorlibError:
        return None  # the plain run meets it again and names the line
    outputs = [
        remade(OPS.add, (step.inputs[i], v), {}, node).outputs[0] if i in layout.sums else v
        for i, v in enumerate(step.outputs)
    ]
    nodes = toposort(outputs)
    values = [*step.inputs, *(v for n in nodes for v in n.outputs)]
    same = all(v.aval[:2] == aval[:2] for v, aval in zip(step.inputs, avals, strict=True))
    kept = all(v.aval[:2] == aval[:2] for v, aval in zip(outputs, avals[: layout.carries], strict=False))
    if not nodes or not same or not kept or not all(v.aval.known and not v.aval.weak for v in values):
        return None
    plan = planner(nodes, list(step.inputs), outputs, {id(v): (v.aval.shape, v.aval.dtype) for v in values})
    entry = plan.segments.entry() if plan.segments is not None else None
    if entry is None or not all(a.flags.c_contiguous for a in plan.output_arrays):
        return None
    try:
        return CompiledScan(step.inputs, layout, plan, entry)
    except (CompileError, OSError):
        return None
