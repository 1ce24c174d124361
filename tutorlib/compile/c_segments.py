"""``mode="c"``: which steps of a schedule are compiled, and the calls that run them.

A segment is a run of steps that C can compute, one after the other, with nothing of NumPy in between; what C cannot, or
BLAS does better, stays as it is between segments. If one segment is all there is, the updates belong to it too: then a
training step is a single C call. The values are those of NumPy, to rounding.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.compile.buffers import SHAPE_ONLY
from tutorlib.compile.c_compiler import CompileError, compiler, library
from tutorlib.compile.c_loops import Job, Loop, is_elementwise, is_full_sum
from tutorlib.compile.c_products import PRODUCTS, is_partial_sum, is_product, product_text, sum_text
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.source import mark, resolve

if TYPE_CHECKING:
    from tutorlib.compile.schedule import Step

# A segment of fewer calls gains less than the call of C costs.
_FEWEST_CALLS = 2
# Compilers take more than proportionally long over long functions, and nobody waits for a hundred thousand lines.
_JOBS_A_FUNCTION, _MOST_JOBS = 120, 3000


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


class _Function:
    """One C function: ``lines`` of text with the nodes they belong to, and the arrays it takes pointers of."""

    def __init__(self, name: str, jobs: Sequence[Job], is_read_elsewhere: Callable[[int, set[int]], bool]) -> None:
        self.name = name
        self.lines: list[tuple[str, Node | None]] = []
        self._slots: dict[int, int] = {}  # by id of variable
        self._like: list[tuple[int, np.ndarray]] = []
        for part in _grouped(jobs):
            if isinstance(part, Loop):
                inside = {id(job.node) for job in part.jobs}
                self.lines += part.text(lambda key, inside=inside: is_read_elsewhere(key, inside), self._slot)  # type: ignore[misc]
            else:
                write = product_text if part.node.op.name in PRODUCTS else sum_text
                self.lines += ((line, part.node) for line in write(part, self._slot))
        self._table = (ctypes.c_void_p * max(1, len(self._like)))()
        self._bound: list[Any] = [None] * len(self._like)

    def _slot(self, key: int, array: np.ndarray) -> int:
        if key not in self._slots:
            self._slots[key] = len(self._like)
            self._like.append((key, array))
        return self._slots[key]

    def text(self, comments: bool = False) -> str:
        """The function as C; with ``comments`` each op is named above its first line."""
        lines, last = [f"void {self.name}(void **a) {{"], None
        for line, node in self.lines:
            if comments and node is not None and node is not last:
                where = f", {node.source.where}" if node.source is not None else ""
                lines.append(f"/* {node.op.name}{where} */".replace("*/ */", "*/"))
            last = node if node is not None else last
            lines.append(line)
        return "\n".join([*lines, "}", ""])

    def bind(self, arrays: Mapping[int, Any]) -> bool:
        """Point at the arrays as they are now; False where one is laid out otherwise than was compiled for."""
        for number, (key, like) in enumerate(self._like):
            array = arrays[key]
            if array is self._bound[number]:
                continue
            if (array.shape, array.strides, array.dtype) != (like.shape, like.strides, like.dtype):
                return False
            self._table[number] = array.__array_interface__["data"][0]
            self._bound[number] = array
        return True

    def call(self, loaded: ctypes.CDLL) -> Callable[[], Any]:
        """Runs it; the table of pointers, and what they point at, live as long as this object."""
        function = getattr(loaded, self.name)
        function.argtypes, function.restype = [ctypes.c_void_p], None
        return partial(function, ctypes.addressof(self._table))


def _grouped(jobs: Sequence[Job]) -> Iterator[Loop | Job]:
    """Jobs that share a loop together, the others alone, in order."""
    loop: Loop | None = None
    for job in jobs:
        in_loop = is_elementwise(job) or is_full_sum(job)
        if in_loop and loop is not None and loop.takes(job):
            loop.add(job)
            continue
        if loop is not None:
            yield loop
        loop = Loop.over(job) if in_loop else None
        if not in_loop:
            yield job
    if loop is not None:
        yield loop


def _job(step: Step, operand: Callable[[Symbol], Any]) -> Job | None:
    """A step as C sees it; None for one that C cannot compute as NumPy does."""
    node = step.node
    if len(step.outs) != 1:
        return None
    of_shape = SHAPE_ONLY.get(node.op.name)
    read = [(id(v), operand(v)) for i, v in enumerate(node.inputs) if i != of_shape]
    arrays = [step.outs[0], *(a for _, a in read if not isinstance(a, bool | int | float))]
    if not read or not all(isinstance(a, np.ndarray) and _can_be_walked(a) for a in arrays):
        return None
    job = Job(node, tuple(read), step.outs[0])
    return job if any(fits(job) for fits in (is_elementwise, is_full_sum, is_product, is_partial_sum)) else None


def _can_be_walked(array: np.ndarray) -> bool:
    return all(s % array.itemsize == 0 for s in array.strides)


class Segments:
    """The compiled parts of a schedule; empty where nothing is worth it.

    Args:
        steps: of the schedule, those that write into shared variables last.
        operand: from a variable to its array or number.
        direct: ids of the results that are written into shared variables.
        kept: ids of the variables that are read after the steps.
        alone: whether the updates may be written by the same call as everything else.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        operand: Callable[[Symbol], Any],
        direct: Mapping[int, Any],
        kept: set[int],
        alone: bool,
    ) -> None:
        self._functions: dict[int, list[_Function]] = {}  # by position of the first step of a segment
        self._calls: dict[int, list[Callable[[], Any]]] = {}
        self._taken: set[int] = set()  # positions of the steps inside of segments
        jobs = {i: job for i, step in enumerate(steps) if (job := _job(step, operand)) is not None}
        if len(jobs) > _MOST_JOBS:
            return
        readers: dict[int, set[int]] = {}
        for step in steps:
            for i, var in enumerate(step.node.inputs):
                if SHAPE_ONLY.get(step.node.op.name) != i:
                    readers.setdefault(id(var), set()).add(id(step.node))

        def is_read_elsewhere(key: int, inside: set[int]) -> bool:
            return key in kept or key in direct or not readers.get(key, set()) <= inside

        for positions in self._segments(steps, jobs, direct, alone):
            parts = [positions[k : k + _JOBS_A_FUNCTION] for k in range(0, len(positions), _JOBS_A_FUNCTION)]
            number = sum(map(len, self._functions.values()))
            self._functions[positions[0]] = [
                _Function(f"tl_segment_{number + k}", [jobs[i] for i in part], is_read_elsewhere)
                for k, part in enumerate(parts)
            ]
            self._taken.update(positions)
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
        return (run for run in found if sum(len(steps[i].calls) for i in run) >= _FEWEST_CALLS)

    def _load(self) -> None:
        if not self._functions:
            return
        try:
            loaded = library("\n".join(f.text() for found in self._functions.values() for f in found))
        except (CompileError, OSError) as error:
            _warn(f"{error} — NumPy computes everything, with the same values")
            self._functions, self._taken = {}, set()
            return
        self._calls = {i: [f.call(loaded) for f in found] for i, found in self._functions.items()}

    def text(self) -> str:
        """The C program, each op named; empty where nothing is compiled."""
        return "\n".join(f.text(comments=True) for found in self._functions.values() for f in found)

    def bind(self, arrays: Mapping[int, Any]) -> bool:
        """Point at the arrays as they are now; False where a new plan is needed."""
        return all(f.bind(arrays) for found in self._functions.values() for f in found)

    def __contains__(self, position: int) -> bool:
        """Whether the step at ``position`` is compiled."""
        return position in self._taken

    def hold_all(self, steps: Sequence[Step]) -> bool:
        """Whether nothing of the schedule's ``steps`` is left to NumPy."""
        return all(i in self._taken or not step.outs for i, step in enumerate(steps))

    def calls_at(self, position: int) -> list[Callable[[], Any]]:
        """The calls that start where the step at ``position`` stands; none inside of a segment."""
        return self._calls.get(position, [])
