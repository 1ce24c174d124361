"""A loop over elementwise ops as C text, made of the expressions of the op table.

Where the loop is long and its ops many, it is cut into several that take turns over blocks of a few hundred elements. A
processor hides how long one element takes by starting on the next ones, but it looks only some two hundred instructions
ahead: of a long body that is one element or two. What goes from one loop to the next waits in a small array.

Functions like exp become part of the loop around them, as they are fastest; where a loop would hold many of them, or is
cut anyway, each is a C function over a block instead, which is compiled once.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tutorlib.compile.c_loops import C_TYPES, COPIES, Job, Loop, collapsed, is_full_sum, loop_dtype
from tutorlib.compile.c_math import OPERATIONS, in_own_functions
from tutorlib.compile.matching import made_by, nonpositive
from tutorlib.core.graph import Node

# Elements of a block, of a loop that is cut and of one that only adds up: so many are added before a partial sum goes
# to the total, and rounding grows with neither number much. A loop shorter than CUT is left in one piece.
BLOCK, LONG_BLOCK, CUT = 256, 1024, 64
# Operations of one loop among several: at most so many, and so many for a call of the C library. Ops of more than _LONG
# are functions over a block where a loop is cut, and where it has more than _FEW of them.
_MOST, _CALL, _LONG, _FEW = 32, 40, 20, 4
_NUMBER = re.compile(r"(?<![\w.{])(\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+)(?![\w.}])")
_FUNCTION = re.compile(r"\b([a-z]\w*)\(")
_CHEAP = frozenset(
    f"{name}{kind}" for name in "fabs sqrt rint fmax fmin floor ceil trunc".split() for kind in ("", "f")
)

Slot = Callable[[int, np.ndarray], int]
Line = tuple[str, Node | None]
Lines = Iterator[Line]


def loop_text(loop: Loop, stored: Callable[[int], bool], slot: Slot) -> tuple[list[Line], dict[str, str]]:
    """The loop as C text, line by line with the node it belongs to; and the functions over a block that it calls, by
    name.

    Args:
        loop: which.
        stored: whether the value of a variable (by id) is needed outside of the loop.
        slot: the number of an array among the function's pointers, by id of its variable.
    """
    text = _LoopText(loop, stored, slot)
    return list(text.lines()), text.functions


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A number as C text, exactly."""
    if dtype.kind != "f":
        return str(int(value))
    x = float(dtype.type(value))
    suffix = "f" if dtype.itemsize == 4 else ""
    if math.isnan(x):
        return "NAN"
    return ("-" if x < 0 else "") + "INFINITY" if math.isinf(x) else f"({x.hex()}{suffix})"


def expression_of(node: Node, dtype: np.dtype[Any]) -> str:
    """The op's expression with its numbers as numbers of ``dtype`` (a double would make a float loop half as fast), and
    with functions of our own."""
    text = str(node.op.c)
    exponential = made_by(node.inputs[0], "exp") if node.op.name == "log1p" else None
    if exponential is not None and nonpositive(exponential.inputs[0]):
        text = text.replace("log1p(", "log1p_unit(")
    return _typed(text, C_TYPES[dtype]) if dtype.kind == "f" else text


@lru_cache(maxsize=1024)
def _typed(text: str, kind: str) -> str:
    suffix = "f" if kind == "float" else ""

    def number(found: re.Match[str]) -> str:
        text = found[1]
        return f"{text if '.' in text or 'e' in text.lower() else text + '.0'}{suffix}"

    return in_own_functions(_NUMBER.sub(number, text), kind)


def _operations(job: Job) -> int:
    """About how many operations an op takes."""
    if job.node.op.c is None:
        return 1
    names = _FUNCTION.findall(expression_of(job.node, job.out.dtype))
    return 2 + sum(OPERATIONS.get(name, 0 if name in _CHEAP else _CALL) for name in names)


class _LoopText:
    def __init__(self, loop: Loop, stored: Callable[[int], bool], slot: Slot) -> None:
        self.loop, self.stored, self.slot = loop, stored, slot
        self.pointers: dict[int, tuple[str, np.ndarray]] = {}  # by slot: declaration, the array spread over the shape
        self.once: list[str] = []
        self.sums: dict[int, str] = {}  # the names of totals, by id of variable
        # Of values that the loop makes, by id of variable: name, dtype, number of the part that makes it.
        self.names: dict[int, tuple[str, np.dtype[Any], int]] = {}
        self.waiting: dict[str, np.dtype[Any]] = {}  # the names of those that a later part reads
        self.read: set[tuple[str, int]] = set()  # (name, part) of what was taken out of its array again
        self.functions: dict[str, str] = {}
        self.over_blocks: set[int] = set()  # ids of the variables that these give

    def lines(self) -> Lines:
        parts = self._parts()
        bodies = [[(job, self._body(job, k)) for job in part] for k, part in enumerate(parts)]
        arrays = [a for _, a in self.pointers.values()]
        sizes, steps = collapsed(arrays[0].shape if arrays else (), arrays)
        self.where = {number: _index([step[k] for step in steps]) for k, number in enumerate(self.pointers)}
        last = sizes[-1] if sizes else 1
        block = (BLOCK if len(parts) > 1 else LONG_BLOCK) if self.sums or len(parts) > 1 else last
        yield "{", None
        yield from ((declaration, None) for declaration, _ in self.pointers.values())
        yield from ((line, None) for line in self._placed(self.once))
        for name, dtype in self.waiting.items():
            yield f"{C_TYPES[dtype]} {name}s[{min(block, last)}] __attribute__((aligned(64)));", None
        yield from ((f"double {total} = 0;", None) for total in self.sums.values())
        for k, n in enumerate(sizes[:-1]):
            yield f"for (long i{k} = 0; i{k} < {n}; i{k}++) {{", None
        if block < last:
            yield f"for (long b = 0; b < {last}; b += {block}) {{", None
            yield f"const long e = {last} - b < {block} ? {last} - b : {block};", None
        yield from ((f"double {total}p = 0;", None) for total in self.sums.values())
        for body in bodies:
            count = "e" if block < last else str(last)
            if (job := body[0][0]).key in self.over_blocks:
                yield self._call(job, count), job.node
            if body[0][1]:
                yield from self._part(body, len(sizes) - 1, count, block < last)
        yield from ((f"{total} += {total}p;", None) for total in self.sums.values())
        yield from (("}", None) for _ in range(len(sizes[:-1]) + (block < last)))
        for job in self.loop.jobs:
            if job.key in self.sums:
                mean = f" / {float(math.prod(self.loop.shape))!r}" if job.node.op.name == "mean" else ""
                kind = C_TYPES[job.out.dtype]
                number = self.slot(job.key, job.out)
                yield f"*({kind} *)a[{number}] = ({kind})({self.sums[job.key]}{mean});", job.node
        yield "}", None

    def _parts(self) -> list[list[Job]]:
        """The jobs of each loop, in order."""
        jobs = self.loop.jobs
        arrays = [self.loop.spread(a) for a in self.loop.writes + self.loop.reads]
        sizes, _ = collapsed(arrays[0].shape, arrays)
        counts = [_operations(job) for job in jobs]
        cut = bool(sizes) and sizes[-1] >= CUT and sum(counts) > _MOST
        if not cut and (not sizes or sum(count > _LONG for count in counts) <= _FEW):
            return [jobs]
        parts: list[list[Job]] = [[]]
        total = 0
        for job, count in zip(jobs, counts, strict=True):
            alone = count > _LONG and self._is_over_block(job)
            total += count
            if parts[-1] and (alone or (cut and total > _MOST)):
                parts.append([])
                total = count
            parts[-1].append(job)
            if alone:
                self.over_blocks.add(job.key)
                parts.append([])
                total = 0
        return [part for part in parts if part]

    def _is_over_block(self, job: Job) -> bool:
        """Whether an op can be a function over a block, from values of the loop."""
        inside = all(key in self.loop.made for key, _ in job.operands)
        alike = all(isinstance(a, np.ndarray) and a.dtype == job.out.dtype for _, a in job.operands)
        return inside and alike and not is_full_sum(job)

    def _call(self, job: Job, count: str) -> str:
        kind = C_TYPES[job.out.dtype]
        text = expression_of(job.node, job.out.dtype).format(*(f"x{i}[j]" for i in range(len(job.operands))))
        op = re.sub(r"\W", "_", job.node.op.name)
        name = f"tl_each_{op}_{kind}_{zlib.crc32(text.encode()):x}"
        given = "".join(f"const {kind} *x{i}, " for i in range(len(job.operands)))
        self.functions[name] = (
            f"static __attribute__((noinline)) void {name}({given}{kind} *y, long n) {{\n"
            f"#pragma omp simd\nfor (long j = 0; j < n; j++) y[j] = {text};\n}}"
        )
        names = [self.names[key][0] for key, _ in (*job.operands, (job.key, None))]
        return f"{name}({', '.join(f'{n}s' for n in names)}, {count});"

    def _part(self, body: Sequence[tuple[Job, list[str]]], axis: int, end: str, blocked: bool) -> Lines:
        if axis >= 0:
            added = "".join(f" reduction(+:{self.sums[job.key]}p)" for job, _ in body if job.key in self.sums)
            yield f"#pragma omp simd{added}", None
            if len(self.waiting) or blocked:
                yield f"for (long j = 0; j < {end}; j++) {{", None
                yield f"const long i{axis} = {'b + ' if blocked else ''}j;", None
            else:
                yield f"for (long i{axis} = 0; i{axis} < {end}; i{axis}++) {{", None
        for job, lines in body:
            yield from ((line, job.node) for line in self._placed(lines))
            name = self.names[job.key][0] if job.key in self.names else ""
            if name in self.waiting and job.key not in self.over_blocks:
                yield f"{name}s[j] = {name};", job.node
        if axis >= 0:
            yield "}", None

    def _placed(self, lines: Sequence[str]) -> Iterator[str]:
        places = _Places(self.where)
        return (line.format_map(places) for line in lines)

    def _body(self, job: Job, part: int) -> list[str]:
        number = len(self.names) + len(self.sums)
        arrays = [a for _, a in job.operands]
        lines: list[str] = []
        if is_full_sum(job):
            self.sums[job.key] = f"s{number}"
            value = self._value(*job.operands[0], job.out.dtype, part, lines)
            return [*lines, f"s{number}p += {value};"]
        kind = loop_dtype(job.node, arrays, job.out.dtype)
        assert kind is not None
        if job.key in self.over_blocks:
            self.names[job.key] = (f"v{number}", job.out.dtype, part)
            for name, dtype, _ in [self.names[key] for key in (*(key for key, _ in job.operands), job.key)]:
                self.waiting[name] = dtype
            return [f"{self._element(job.key, job.out, written=True)} = v{number}s[j];"] if self.stored(job.key) else []
        names = []
        copies = job.node.op.name in COPIES
        for i, (key, array) in enumerate(job.operands[:1] if copies else job.operands):
            value = self._value(key, array, kind, part, lines)
            if not value.isidentifier():
                lines.append(f"const {C_TYPES[kind]} o{number}_{i} = {value};")
                value = f"o{number}_{i}"
            names.append(value)
        expression = "{0}" if copies else expression_of(job.node, kind)
        result = C_TYPES[job.out.dtype]
        lines.append(f"const {result} v{number} = ({result})({expression.format(*names)});")
        self.names[job.key] = (f"v{number}", job.out.dtype, part)
        if self.stored(job.key):
            lines.append(f"{self._element(job.key, job.out, written=True)} = v{number};")
        return lines

    def _value(self, key: int, array: Any, kind: np.dtype[Any], part: int, lines: list[str]) -> str:
        """An operand as C text of type ``kind``; ``lines`` gets what must come before."""
        if not isinstance(array, np.ndarray):
            return literal(array, kind)
        if key not in self.names:
            element = self._element(key, array)
            return element if array.dtype == kind else f"(({C_TYPES[kind]}){element})"
        name, dtype, made = self.names[key]
        if made != part:
            self.waiting[name] = dtype
            if (name, part) not in self.read:
                self.read.add((name, part))
                lines.append(f"const {C_TYPES[dtype]} {name} = {name}s[j];")
        return name if dtype == kind else f"(({C_TYPES[kind]}){name})"

    def _element(self, key: int, array: np.ndarray, written: bool = False) -> str:
        """Where the loop finds its element; one that is the same everywhere is read once."""
        number = self.slot(key, array)
        kind = C_TYPES[array.dtype]
        spread = self.loop.spread(array)
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


def _index(steps: Sequence[int]) -> str:
    terms = [f"i{k}" if step == 1 else f"i{k} * {step}" for k, step in enumerate(steps) if step]
    return " + ".join(terms) or "0"
