"""``mode="c"``: which steps of a schedule are compiled, and the calls that run them.

A segment is a run of steps that C can compute, one after the other, with nothing of NumPy in between; what C cannot, or
BLAS does better, stays as it is between segments. If one segment is all there is, the updates belong to it too: then a
training step is a single C call. The values are those of NumPy, to rounding.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.compile.buffers import SHAPE_ONLY
from tutorlib.compile.c_calls import calls_of, entries
from tutorlib.compile.c_compiler import CompileError, compiler, library
from tutorlib.compile.c_loops import Job, Loop, is_elementwise, is_full_sum
from tutorlib.compile.c_pools import POOLS, is_pool
from tutorlib.compile.c_products import FEW, MANY, is_partial_sum, is_product
from tutorlib.compile.c_program import Piece, Program
from tutorlib.compile.c_rows import ROWS, is_row_op
from tutorlib.core.graph import Symbol
from tutorlib.core.source import mark, resolve

if TYPE_CHECKING:
    from tutorlib.compile.schedule import Step

# A segment of fewer calls gains less than the call of C costs, unless NumPy takes several passes for the one.
_FEWEST_CALLS = 2
_OF_SEVERAL_PASSES = frozenset({"where", "softplus", "sigmoid"}) | POOLS | ROWS
# Compilers take more than proportionally long over long loops, and nobody waits for a hundred thousand lines.
_JOBS_A_LOOP, _MOST_JOBS = 120, 3000


def ready_for_c() -> bool:
    """Whether there is a compiler; where there is none, the learner's line is told so."""
    if compiler() is not None:
        return True
    _warn('mode="c" found no C compiler (cc, gcc or clang): NumPy computes everything, with the same values')
    return False


def _warn(text: str) -> None:
    line = resolve(mark())
    place = (line.filename, line.line) if line is not None else ("tutorlib", 1)
    warnings.warn_explicit(text, UserWarning, *place)


def _grouped(jobs: Sequence[Job]) -> Iterator[Loop | Job]:
    """Jobs that share a loop together, the others alone, in order."""
    loop: Loop | None = None
    for job in jobs:
        in_loop = is_elementwise(job) or is_full_sum(job)
        if in_loop and loop is not None and len(loop.jobs) < _JOBS_A_LOOP and loop.takes(job):
            loop.add(job)
            continue
        if loop is not None:
            yield loop
        loop = Loop.over(job) if in_loop else None
        if not in_loop:
            yield job
    if loop is not None:
        yield loop


def _job(step: Step, operand: Callable[[Symbol], Any], most: int) -> Job | None:
    """A step as C sees it; None for one that C cannot compute as NumPy does, or a product of more multiplications."""
    node = step.node
    if len(step.outs) != 1:
        return None
    of_shape = SHAPE_ONLY.get(node.op.name)
    read = [(id(v), operand(v)) for i, v in enumerate(node.inputs) if i != of_shape]
    arrays = [step.outs[0], *(a for _, a in read if not isinstance(a, bool | int | float))]
    if not read or not all(isinstance(a, np.ndarray) and _can_be_walked(a) for a in arrays):
        return None
    job = Job(node, tuple(read), step.outs[0])
    return (
        job
        if is_product(job, most)
        or any(f(job) for f in (is_elementwise, is_full_sum, is_partial_sum, is_pool, is_row_op))
        else None
    )


def _passes(step: Step) -> int:
    """About how often NumPy goes over the step's arrays; several passes may hide in one call."""
    return max(len(step.calls), _FEWEST_CALLS if step.node.op.name in _OF_SEVERAL_PASSES else 0)


def _can_be_walked(array: np.ndarray) -> bool:
    return all(s % array.itemsize == 0 for s in array.strides)


def _checked(call: Callable[[], Any], flag: np.ndarray) -> Callable[[], None]:
    def checked() -> None:
        call()
        if flag[0]:
            flag[0] = 0
            raise IndexError("a label is no class")

    return checked


class Segments:
    """The compiled parts of a schedule; empty where nothing is worth it.

    Args:
        steps: of the schedule, those that write into shared variables last.
        operand: from a variable to its array or number.
        direct: ids of the results that are written into shared variables.
        kept: ids of the variables that are read after the steps.
        checked: ids of those in which NaN is looked for, as long as NumPy computes something without protection.
        alone: whether the updates may be written by the same call as everything else.
        moves: new values and the variables that get them as copies. If one segment is everything, it makes the copies.
        whole: whether all of it is to be one segment, or nothing.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        operand: Callable[[Symbol], Any],
        direct: Mapping[int, Any],
        kept: set[int],
        checked: set[int],
        alone: bool,
        moves: Sequence[tuple[Symbol, Symbol]] = (),
        whole: bool = False,
    ) -> None:
        self._program = Program()
        self._starts: dict[int, str] = {}  # the segments' names by position of their first step
        self._calls: dict[int, Callable[[], Any]] = {}
        self._taken: set[int] = set()  # positions of the steps inside of segments
        most = MANY if whole else FEW
        jobs = {i: job for i, step in enumerate(steps) if (job := _job(step, operand, most)) is not None}
        found = list(self._segments(steps, jobs, direct, alone)) if len(jobs) <= _MOST_JOBS else []
        if not whole:
            found = [run for run in found if sum(_passes(steps[i]) for i in run) >= _FEWEST_CALLS]
        elif not (len(found) == 1 and all(i in jobs or not step.outs for i, step in enumerate(steps))):
            found = []
        self._taken.update(i for positions in found for i in positions)
        readers: dict[int, set[int]] = {}
        for step in steps:
            for i, var in enumerate(step.node.inputs):
                if SHAPE_ONLY.get(step.node.op.name) != i:
                    readers.setdefault(id(var), set()).add(id(step.node))
        tried = any(b.strict is not None for i, s in enumerate(steps) if i not in self._taken for b in s.calls)
        ends = kept | checked if tried else kept

        def is_read_elsewhere(key: int, inside: set[int]) -> bool:
            return key in ends or key in direct or not readers.get(key, set()) <= inside

        self.copies = bool(moves) and len(found) == 1 and self.hold_all(steps)
        for positions in found:
            parts = _grouped([jobs[i] for i in positions])
            pieces = [Piece.of(part, is_read_elsewhere) for part in parts]
            if self.copies:
                pieces.append(Piece.copies([(id(s), operand(s), id(new), operand(new)) for new, s in moves]))
            self._starts[positions[0]] = self._program.add(pieces)
        self._table = self._program.table()
        self._loaded: ctypes.CDLL | None = None
        self._load()

    @staticmethod
    def _segments(
        steps: Sequence[Step], jobs: Mapping[int, Job], direct: Mapping[int, Any], alone: bool
    ) -> Iterator[list[int]]:
        found: list[list[int]] = [[]]
        is_last = [bool(s.outs) and id(s.node.outputs[0]) in direct for s in steps]
        pure = all(i in jobs or not step.outs for i, step in enumerate(steps))
        for i, step in enumerate(steps):
            if i in jobs:
                if i and is_last[i] and not is_last[i - 1] and not (pure and alone):
                    found.append([])
                found[-1].append(i)
            elif step.outs:
                found.append([])
        return (run for run in found if run)

    def _load(self) -> None:
        if not self._starts:
            return
        names = self._program.names()
        try:
            loaded = library(self._program.text() + entries(names))
        except (CompileError, OSError) as error:
            _warn(f"{error} — NumPy computes everything, with the same values")
            self._starts, self._taken, self._program, self.copies = {}, set(), Program(), False
            self._table = self._program.table()
            return
        self._loaded = loaded
        calls = dict(zip(names, calls_of(loaded, names, self._table, self._program.work), strict=True))
        if self._program.may_end:
            calls = {name: _checked(call, self._table.flag) for name, call in calls.items()}
        self._calls = {position: calls[name] for position, name in self._starts.items()}

    def text(self) -> str:
        """The C program, each op named; empty where nothing is compiled."""
        return self._program.commented() if self._starts else ""

    def bind(self, arrays: Mapping[int, Any]) -> bool:
        """Point at the arrays as they are now; False where a new plan is needed."""
        return self._table.bind(arrays)

    def __contains__(self, position: int) -> bool:
        """Whether the step at ``position`` is compiled."""
        return position in self._taken

    def hold_all(self, steps: Sequence[Step]) -> bool:
        """Whether nothing of the schedule's ``steps`` is left to NumPy."""
        return all(i in self._taken or not step.outs for i, step in enumerate(steps))

    def entry(self) -> tuple[int, int] | None:
        """If there is one segment: the addresses of its C function and of the table of pointers that it takes."""
        if len(self._starts) != 1 or self._loaded is None or self._program.may_end:
            return None
        (name,) = self._starts.values()
        return ctypes.cast(self._loaded[name], ctypes.c_void_p).value or 0, self._table.address

    def calls_at(self, position: int) -> list[Callable[[], Any]]:
        """The calls that start where the step at ``position`` stands; none inside of a segment."""
        return [self._calls[position]] if position in self._calls else []
