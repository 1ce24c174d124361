"""Elementwise ops as C loops: those of one shape that follow one another share a loop, and a value that only the loop
itself needs never becomes an array.

How a loop reads as text is in ``c_loop_text``; which ops of a schedule are compiled is decided in ``c_segments``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tutorlib.core.graph import Node

C_TYPES = {
    np.dtype(name): kind
    for name, kind in {
        "float32": "float", "float64": "double", "bool": "unsigned char", "int8": "signed char", "int16": "short",
        "int32": "int", "int64": "long long", "uint8": "unsigned char", "uint16": "unsigned short",
        "uint32": "unsigned",
    }.items()
}  # fmt: skip
FLOATS = frozenset({np.dtype("float32"), np.dtype("float64")})
SUMS = frozenset({"sum", "mean"})
COPIES = frozenset({"cast", "broadcast_to", "broadcast_like"})


@dataclass(frozen=True)
class Job:
    """One op of a schedule: its ``node``, what it reads (id of the variable, array or number), and ``out``."""

    node: Node
    operands: tuple[tuple[int, Any], ...]
    out: np.ndarray

    @property
    def key(self) -> int:
        return id(self.node.outputs[0])


def loop_dtype(node: Node, operands: Sequence[Any], out: np.dtype[Any]) -> np.dtype[Any] | None:
    """In which dtype an op computes; None where C would not compute what NumPy does."""
    arrays = [a.dtype for a in operands if isinstance(a, np.ndarray)]
    if any(d not in C_TYPES for d in arrays) or out not in C_TYPES:
        return None
    if node.op.name in COPIES:
        return out if out.kind == "f" or all(d == out for d in arrays) else None
    if node.op.c is None or node.attrs or node.op.nout != 1:
        return None
    if out.kind == "f":
        return out
    if out.kind != "b" or not arrays:
        return None
    # A comparison: in the dtype that its operands have in common. Python's numbers do not widen it.
    common = np.result_type(*arrays)
    numbers = [a for a in operands if not isinstance(a, np.ndarray)]
    return common if common in C_TYPES and all(_fits(a, common) for a in numbers) else None


def _fits(number: Any, dtype: np.dtype[Any]) -> bool:
    """Whether comparing ``number`` with values of ``dtype`` needs no wider dtype."""
    if dtype.kind == "f":
        return True
    if dtype.kind == "b":
        return isinstance(number, bool)
    return float(number).is_integer() and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def is_elementwise(job: Job) -> bool:
    """Whether the op can be part of a loop over its result: one that does not overwrite what it reads later."""
    if any(isinstance(a, np.ndarray) and overlaps_elsewhere(job.out, a) for _, a in job.operands):
        return False
    return loop_dtype(job.node, [a for _, a in job.operands], job.out.dtype) is not None


def is_full_sum(job: Job) -> bool:
    """Whether the op adds up a whole floating-point array."""
    (_, x) = job.operands[0]
    if job.node.op.name not in SUMS or not isinstance(x, np.ndarray) or x.dtype != job.out.dtype:
        return False
    return job.out.size == 1 and x.dtype in FLOATS and x.size > 0


def overlaps_elsewhere(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share memory in such a way that an element of one is another element of the other."""
    if a is b or not np.may_share_memory(a, b):
        return False
    places = [(v.__array_interface__["data"][0], v.shape, v.strides) for v in (a, b)]
    return places[0] != places[1]


@dataclass
class Loop:
    """Jobs that go over one shape together, in order."""

    shape: tuple[int, ...]
    jobs: list[Job] = field(default_factory=list)
    made: set[int] = field(default_factory=set)
    totals: set[int] = field(default_factory=set)
    reads: list[np.ndarray] = field(default_factory=list)
    writes: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def over(cls, job: Job) -> Loop:
        first = Loop(job.operands[0][1].shape if is_full_sum(job) else job.out.shape)
        first.add(job)
        return first

    def takes(self, job: Job) -> bool:
        """Whether ``job`` may go over the same elements at the same time."""
        total = is_full_sum(job)
        if (job.operands[0][1].shape if total else job.out.shape) != self.shape:
            return False
        if any(key in self.totals for key, _ in job.operands):
            return False
        reads = [self._spread(a) for key, a in job.operands if isinstance(a, np.ndarray) and key not in self.made]
        if any(overlaps_elsewhere(r, w) for r in reads for w in self.writes):
            return False
        if total:
            return not any(np.may_share_memory(job.out, a) for a in (*self.reads, *self.writes, *reads))
        return not any(overlaps_elsewhere(job.out, a) for a in (*self.reads, *self.writes, *reads))

    def _spread(self, array: np.ndarray) -> np.ndarray:
        return array if array.shape == self.shape else np.broadcast_to(array, self.shape)

    def spread(self, array: np.ndarray) -> np.ndarray:
        """``array`` over the loop's shape, with the axes in the order in which the loop goes: along memory."""
        return self._spread(array).transpose(in_memory((self.writes or self.reads)[0]))

    def add(self, job: Job) -> None:
        self.jobs.append(job)
        self.reads += [self._spread(a) for key, a in job.operands if isinstance(a, np.ndarray) and key not in self.made]
        if is_full_sum(job):
            self.totals.add(job.key)
        else:
            self.made.add(job.key)
            self.writes.append(job.out)


def in_memory(array: np.ndarray) -> list[int]:
    """The axes of an array in the order in which it lies in memory, the one of the largest steps first."""
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


def collapsed(shape: Sequence[int], arrays: Iterable[np.ndarray]) -> tuple[list[int], list[tuple[int, ...]]]:
    """The fewest nested loops over ``shape``: their lengths, and of each the step of every array in elements."""
    strides = [tuple(s // a.itemsize for s in a.strides) for a in arrays]
    sizes: list[int] = []
    steps: list[tuple[int, ...]] = []
    for axis, n in enumerate(shape):
        here = tuple(s[axis] for s in strides)
        if n == 1:
            continue
        if sizes and all(before == s * n for before, s in zip(steps[-1], here, strict=True)):
            sizes[-1], steps[-1] = sizes[-1] * n, here
        else:
            sizes.append(n)
            steps.append(here)
    return sizes, steps
