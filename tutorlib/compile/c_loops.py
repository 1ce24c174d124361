"""Elementwise ops as C loops: those of one shape that follow one another share a loop, and a value that only the loop
itself needs never becomes an array.

The expressions are those of the op table. Which ops of a schedule are compiled is decided in ``c_segments``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tutorlib.core.graph import Node

C_TYPES = {
    "float32": "float", "float64": "double", "bool": "unsigned char", "int8": "signed char", "int16": "short",
    "int32": "int", "int64": "long long", "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned",
}  # fmt: skip
SUMS = frozenset({"sum", "mean"})
_COPIES = frozenset({"cast", "broadcast_to", "broadcast_like"})
# So many elements are added before a partial sum goes to the total: rounding then grows with neither number much.
_BLOCK = 1024
_NUMBER = re.compile(r"(?<![\w.{])(\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+)(?![\w.}])")


@dataclass(frozen=True)
class Job:
    """One op of a schedule: its ``node``, what it reads (id of the variable, array or number), and ``out``."""

    node: Node
    operands: tuple[tuple[int, Any], ...]
    out: np.ndarray

    @property
    def key(self) -> int:
        return id(self.node.outputs[0])


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A number as C text, exactly."""
    if dtype.kind != "f":
        return str(int(value))
    x = float(dtype.type(value))
    suffix = "f" if dtype.itemsize == 4 else ""
    if math.isnan(x):
        return "NAN"
    return ("-" if x < 0 else "") + "INFINITY" if math.isinf(x) else f"({x.hex()}{suffix})"


def _typed(expression: str, dtype: np.dtype[Any]) -> str:
    """The numbers in an op's expression as numbers of ``dtype``: a double would make a float loop half as fast."""
    suffix = "f" if dtype.itemsize == 4 else ""

    def number(found: re.Match[str]) -> str:
        text = found[1]
        return f"{text if '.' in text or 'e' in text.lower() else text + '.0'}{suffix}"

    return _NUMBER.sub(number, expression) if dtype.kind == "f" else expression


def loop_dtype(node: Node, operands: Sequence[Any], out: np.dtype[Any]) -> np.dtype[Any] | None:
    """In which dtype an op computes; None where C would not compute what NumPy does."""
    arrays = [a.dtype for a in operands if isinstance(a, np.ndarray)]
    if any(d.name not in C_TYPES for d in arrays) or out.name not in C_TYPES:
        return None
    if node.op.name in _COPIES:
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
    return common if common.name in C_TYPES and all(_fits(a, common) for a in numbers) else None


def _fits(number: Any, dtype: np.dtype[Any]) -> bool:
    """Whether comparing ``number`` with values of ``dtype`` needs no wider dtype."""
    if dtype.kind == "f":
        return True
    if dtype.kind == "b":
        return isinstance(number, bool)
    return float(number).is_integer() and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def is_elementwise(job: Job) -> bool:
    """Whether the op can be part of a loop over its result."""
    return loop_dtype(job.node, [a for _, a in job.operands], job.out.dtype) is not None


def is_full_sum(job: Job) -> bool:
    """Whether the op adds up a whole floating-point array."""
    (_, x) = job.operands[0]
    if job.node.op.name not in SUMS or not isinstance(x, np.ndarray) or x.dtype != job.out.dtype:
        return False
    return job.out.size == 1 and x.dtype.name in ("float32", "float64") and x.size > 0


def overlaps_elsewhere(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share memory in such a way that an element of one is another element of the other."""
    places = [(v.__array_interface__["data"][0], v.shape, v.strides) for v in (a, b)]
    return places[0] != places[1] and bool(np.may_share_memory(a, b))


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
        return np.broadcast_to(array, self.shape)

    def add(self, job: Job) -> None:
        self.jobs.append(job)
        self.reads += [self._spread(a) for key, a in job.operands if isinstance(a, np.ndarray) and key not in self.made]
        if is_full_sum(job):
            self.totals.add(job.key)
        else:
            self.made.add(job.key)
            self.writes.append(job.out)

    def text(self, stored: Callable[[int], bool], slot: Callable[[int, np.ndarray], int]) -> Iterator[tuple[str, Any]]:
        """The loop as C text, line by line with the node it belongs to.

        Args:
            stored: whether the value of a variable (by id) is needed outside of the loop.
            slot: the number of an array among the function's pointers, by id of its variable.
        """
        return _LoopText(self, stored, slot).lines()


class _LoopText:
    def __init__(self, loop: Loop, stored: Callable[[int], bool], slot: Callable[[int, np.ndarray], int]) -> None:
        self.loop, self.stored, self.slot = loop, stored, slot
        self.names: dict[int, tuple[str, np.dtype[Any]]] = {}  # of values in registers, by id of variable
        self.pointers: dict[int, tuple[str, np.ndarray]] = {}  # by slot: declaration, the array spread over the shape
        self.once: list[str] = []
        self.parts: list[tuple[str, str, Job]] = []  # of each total: its name, the C type it is added in, its job

    def lines(self) -> Iterator[tuple[str, Any]]:
        bodies = [(job, self._body(job)) for job in self.loop.jobs]
        sizes, steps = collapsed(self.loop.shape, [a for _, a in self.pointers.values()])
        where = {number: _index([step[k] for step in steps]) for k, number in enumerate(self.pointers)}
        yield "{", None
        yield from ((declaration, None) for declaration, _ in self.pointers.values())
        yield from ((line.format_map(_Places(where)), None) for line in self.once)
        for total, kind, _ in self.parts:
            yield f"{kind} {total} = 0;", None
        yield from self._open(sizes)
        for job, lines in bodies:
            for line in lines:
                yield line.format_map(_Places(where)), job.node
        yield from self._close(sizes)
        for total, kind, job in self.parts:
            mean = f" / {float(math.prod(self.loop.shape))!r}" if job.node.op.name == "mean" else ""
            number = self.slot(job.key, job.out)
            kind = C_TYPES[job.out.dtype.name]
            yield f"*({kind} *)a[{number}] = ({kind})({total}{mean});", job.node
        yield "}", None

    def _open(self, sizes: Sequence[int]) -> Iterator[tuple[str, Any]]:
        for k, n in enumerate(sizes[:-1]):
            yield f"for (long i{k} = 0; i{k} < {n}; i{k}++) {{", None
        if not sizes:
            for total, kind, _ in self.parts:
                yield f"{kind} {total}p = 0;", None
            return
        last, k = sizes[-1], len(sizes) - 1
        start, end = "0", str(last)
        if self.parts:
            yield f"for (long b = 0; b < {last}; b += {_BLOCK}) {{", None
            yield f"const long e = b + {_BLOCK} < {last} ? b + {_BLOCK} : {last};", None
            start, end = "b", "e"
            for total, kind, _ in self.parts:
                yield f"{kind} {total}p = 0;", None
        added = "".join(f" reduction(+:{total}p)" for total, _, _ in self.parts)
        yield f"#pragma omp simd{added}", None
        yield f"for (long i{k} = {start}; i{k} < {end}; i{k}++) {{", None

    def _close(self, sizes: Sequence[int]) -> Iterator[tuple[str, Any]]:
        if sizes:
            yield "}", None
        for total, _, _ in self.parts:
            yield f"{total} += {total}p;", None
        if sizes and self.parts:
            yield "}", None
        yield from (("}", None) for _ in sizes[:-1])

    def _body(self, job: Job) -> list[str]:
        number = len(self.names) + len(self.parts)
        arrays = [a for _, a in job.operands]
        if is_full_sum(job):
            total = f"s{number}"
            self.parts.append((total, "double", job))
            return [f"{total}p += {self._value(*job.operands[0], job.out.dtype)};"]
        kind = loop_dtype(job.node, arrays, job.out.dtype)
        assert kind is not None
        names, lines = [], []
        used = job.operands[:1] if job.node.op.name in _COPIES else job.operands
        for i, (key, array) in enumerate(used):
            value = self._value(key, array, kind)
            if not value.isidentifier():
                lines.append(f"const {C_TYPES[kind.name]} o{number}_{i} = {value};")
                value = f"o{number}_{i}"
            names.append(value)
        expression = "{0}" if job.node.op.name in _COPIES else _typed(str(job.node.op.c), kind)
        result = C_TYPES[job.out.dtype.name]
        lines.append(f"const {result} v{number} = ({result})({expression.format(*names)});")
        self.names[job.key] = (f"v{number}", job.out.dtype)
        if self.stored(job.key):
            lines.append(f"{self._element(job.key, job.out, written=True)} = v{number};")
        return lines

    def _value(self, key: int, array: Any, kind: np.dtype[Any]) -> str:
        """An operand as C text of type ``kind``."""
        if not isinstance(array, np.ndarray):
            return literal(array, kind)
        if key in self.names:
            name, dtype = self.names[key]
            return name if dtype == kind else f"(({C_TYPES[kind.name]}){name})"
        element = self._element(key, array)
        return element if array.dtype == kind else f"(({C_TYPES[kind.name]}){element})"

    def _element(self, key: int, array: np.ndarray, written: bool = False) -> str:
        """Where the loop finds its element; one that is the same everywhere is read once."""
        number = self.slot(key, array)
        kind = C_TYPES[array.dtype.name]
        spread = np.broadcast_to(array, self.loop.shape)
        if number not in self.pointers:
            self.pointers[number] = (f"{kind} *p{number} = a[{number}];", spread)
            if not any(spread.strides) and not written:
                self.once.append(f"const {kind} c{number} = *p{number};")
        if not any(spread.strides) and not written:
            return f"c{number}"
        return f"p{number}[{{{_PLACE}{number}}}]"


_PLACE = "at"


class _Places(dict[str, str]):
    """Fills {at7} with the index expression of pointer 7."""

    def __init__(self, where: dict[int, str]) -> None:
        super().__init__({f"{_PLACE}{number}": text for number, text in where.items()})


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


def _index(steps: Sequence[int]) -> str:
    terms = [f"i{k}" if step == 1 else f"i{k} * {step}" for k, step in enumerate(steps) if step]
    return " + ".join(terms) or "0"
