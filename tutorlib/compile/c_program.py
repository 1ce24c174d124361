"""The C program of a schedule: functions that take pointers, each text once, and segments that call them.

Two loops that differ in nothing but the arrays they run over are one function: fifty steps of a recurrent network are
compiled in the time of one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.compile.c_loop_text import loop_text
from tutorlib.compile.c_loops import Job, Loop
from tutorlib.compile.c_math import definitions
from tutorlib.compile.c_pools import POOLS, pool_text
from tutorlib.compile.c_products import PRODUCTS, product_text, sum_text
from tutorlib.compile.c_rows import FLAG, ROWS, row_text
from tutorlib.compile.c_vectors import TYPES
from tutorlib.core.graph import Node

# Matrix products may round once where they multiply and add, as BLAS does.
_FUSED = ', optimize("fp-contract=fast")'
_OF_OUR_OWN = "/* tl_exp_float and the like: see tutorlib/compile/c_math.py */\n"


_WRITERS = {**dict.fromkeys(POOLS, pool_text), **dict.fromkeys(ROWS, row_text)}


class Slots:
    """Numbers for arrays, by id of the variable: as they come."""

    def __init__(self) -> None:
        self.arrays: list[tuple[int, np.ndarray]] = []
        self._known: dict[int, int] = {}

    def __call__(self, key: int, array: np.ndarray) -> int:
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append((key, array))
        return self._known[key]


@dataclass
class Piece:
    """A loop, product or sum: ``lines`` of C with the nodes they belong to, ``jobs``, ``slots``, the arrays that it
    takes pointers of, and ``functions`` that it calls, by name."""

    lines: list[tuple[str, Node | None]]
    jobs: Sequence[Job]
    slots: Slots
    functions: Mapping[str, str]

    @classmethod
    def of(cls, part: Loop | Job, is_read_elsewhere: Callable[[int, set[int]], bool]) -> Piece:
        """``is_read_elsewhere``: whether a variable (by id) is read by other nodes than those with these ids."""
        slots = Slots()
        if isinstance(part, Loop):
            inside = {id(job.node) for job in part.jobs}
            lines, functions = loop_text(part, lambda key: is_read_elsewhere(key, inside), slots)
            return cls(lines, part.jobs, slots, functions)
        name = part.node.op.name
        write = product_text if name in PRODUCTS else _WRITERS.get(name, sum_text)
        return cls([(line, part.node) for line in write(part, slots)], [part], slots, {})

    @property
    def may_end(self) -> bool:
        """Whether it may find that the segment must end there."""
        return any(key == FLAG for key, _ in self.slots.arrays)

    @classmethod
    def copies(cls, pairs: Sequence[tuple[int, np.ndarray, int, np.ndarray]]) -> Piece:
        """Copies of contiguous arrays: (id of the variable, array) of where to, and of where from."""
        slots = Slots()
        lines = [
            f"__builtin_memcpy(a[{slots(k, to)}], a[{slots(j, from_)}], {to.nbytes});" for k, to, j, from_ in pairs
        ]
        return cls([(line, None) for line in lines], [], slots, {})


class Program:
    """Segments, and the table of pointers that they run on."""

    def __init__(self) -> None:
        self._pointers: list[tuple[int, np.ndarray]] = []  # of each call, one after the other
        self._functions: dict[str, tuple[str, Piece]] = {}  # by text: name, and the first piece of this text
        # Of each segment its calls: the function's name, where its pointers start in the table, and the piece.
        self._segments: list[list[tuple[str, int, Piece]]] = []
        self.work = 0  # about how many operations all segments take

    def add(self, pieces: Sequence[Piece]) -> str:
        """A segment of these pieces, in this order; its name."""
        calls = []
        for piece in pieces:
            text = "\n".join(line for line, _ in piece.lines)
            name, _ = self._functions.setdefault(text, (f"tl_part_{len(self._functions)}", piece))
            calls.append((name, len(self._pointers), piece))
            self._pointers += piece.slots.arrays
            self.work += sum(job.out.size for job in piece.jobs)
        self._segments.append(calls)
        return f"tl_segment_{len(self._segments) - 1}"

    @property
    def may_end(self) -> bool:
        """Whether a segment may end early."""
        return any(piece.may_end for _, piece in self._functions.values())

    def names(self) -> list[str]:
        """Of the segments."""
        return [f"tl_segment_{k}" for k in range(len(self._segments))]

    def table(self) -> Table:
        """A table of pointers for its arrays."""
        return Table(self._pointers)

    def text(self) -> str:
        """As it is compiled."""
        body = "\n".join([*self._function_lines(False), *self._segment_lines(False)])
        return f"{definitions(body)}{TYPES if 'tl_v' in body else ''}{body}\n"

    def commented(self) -> str:
        """For reading: each op is named where it is computed."""
        body = "\n".join([*self._function_lines(True), *self._segment_lines(True), ""])
        return _OF_OUR_OWN + body if definitions(body) else body

    def _function_lines(self, comments: bool) -> Iterator[str]:
        called: dict[str, str] = {}
        for _, piece in self._functions.values():
            called.update(piece.functions)
        yield from called.values()
        for name, piece in self._functions.values():
            is_product = any(job.node.op.name in PRODUCTS for job in piece.jobs)
            kind = "int" if piece.may_end else "void"
            yield f"static __attribute__((noinline{_FUSED if is_product else ''})) {kind} {name}(void **a) {{"
            last = None
            for line, node in piece.lines:
                if comments and node is not None and node is not last:
                    yield f"/* {_named(node)} */"
                last = node if node is not None else last
                yield line
            yield "return 0; }" if piece.may_end else "}"

    def _segment_lines(self, comments: bool) -> Iterator[str]:
        first = {id(piece) for _, piece in self._functions.values()}
        for segment, calls in zip(self.names(), self._segments, strict=True):
            yield f"void {segment}(void **a) {{"
            for name, start, piece in calls:
                if comments and id(piece) not in first:
                    yield f"/* {'; '.join(_named(job.node) for job in piece.jobs)} */"
                yield f"if ({name}(a + {start})) return;" if piece.may_end else f"{name}(a + {start});"
            yield "}"


def _named(node: Node) -> str:
    where = f", {node.source.where}" if node.source is not None else ""
    return f"{node.op.name}{where}".replace("*/", "*")


class Table:
    """The pointers that a program runs on; what they point at lives as long as it does.

    Attributes: ``address``, of the table itself; ``flag``, not 0 where a segment ended early.
    """

    def __init__(self, like: Sequence[tuple[int, np.ndarray]]) -> None:
        self._pointers = (ctypes.c_void_p * max(1, len(like)))()
        self.address = ctypes.addressof(self._pointers)
        self._like = dict(like)
        self.flag = np.zeros(1, np.intc)
        self._bound: dict[int, Any] = {}
        self._places: dict[int, list[int]] = {}  # by id of variable: where its pointer stands
        for place, (key, _) in enumerate(like):
            self._places.setdefault(key, []).append(place)

    def bind(self, arrays: Mapping[int, Any]) -> bool:
        """Point at the arrays (by id of variable) as they are now; False where one is laid out otherwise than was
        compiled for."""
        for key, like in self._like.items():
            array = self.flag if key == FLAG else arrays[key]
            if array is self._bound.get(key):
                continue
            if (array.shape, array.strides, array.dtype) != (like.shape, like.strides, like.dtype):
                return False
            address = array.__array_interface__["data"][0]
            for place in self._places[key]:
                self._pointers[place] = address
            self._bound[key] = array
        return True
