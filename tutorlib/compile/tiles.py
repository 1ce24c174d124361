"""Runs of elementwise ops on large arrays, evaluated tile by tile: each value of a tile is used while it is still in
the cache, and what only the run itself needs never becomes a large array.

Sums over everything may end a run: each tile adds its part. Which ops go together was decided before (see ``regions``);
how one op is computed on a tile is the same as on an array (see ``lower``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tutorlib.compile.bound import DOT, SHORT, STRICT, Bound, empty, ones_of, owner_of, thin
from tutorlib.compile.buffers import Buffers, Like, Lives
from tutorlib.compile.lower import lowered
from tutorlib.compile.regions import (
    STRETCH,
    SUMS,
    Region,
    find_regions,
    in_passes,
    inside_only,
    pass_over,
    shape_now,
    shape_when_run,
)
from tutorlib.core.graph import Node, Symbol

# Elements of a tile; large arrays get larger tiles, so that the list of calls stays short.
TILE, MOST_TILES = 32_768, 256


def passes_of(
    nodes: Sequence[Node], regions: Sequence[Region], likes: Mapping[int, Like], left_out: Collection[int]
) -> tuple[list[Node], dict[int, list[Node]]]:
    """The nodes in the order they run, and by position of its first node each pass that is worth tiles here.

    ``regions``: found without knowing the shapes, which ``likes`` holds, of nodes not all of which need be among
    ``nodes``; ``left_out``: ids of nodes that run last.
    """
    shape_of = shape_when_run(likes)
    first = [n for n in nodes if id(n) not in left_out]
    known = {id(n) for n in first}
    found = []
    for region in regions:
        found += find_regions([n for n in region.nodes if id(n) in known], lambda n: True, shape_of, ())
    return in_passes(first, found)


class Tiles:
    """One run in a schedule.

    Attributes: ``nodes``; ``calls``; ``results`` (variable, array) that the rest of the program sees; ``text``, how it
    reads, line by line with the node it belongs to; ``tile``, the elements of one.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        operand: Callable[[Symbol], Any],
        likes: Mapping[int, Like],
        buffers: Buffers,
        position: int,
    ) -> None:
        self.nodes = list(nodes)
        self._operand, self._likes = operand, likes
        self.size = math.prod(shape_now(pass_over(nodes[0]), likes))
        self.tile = max(TILE, -(-self.size // MOST_TILES))
        self.count = -(-self.size // self.tile)
        end = position + len(nodes) - 1
        seen = [v for n in nodes for v in n.outputs if buffers.lives.last[id(v)] > end or n.op.name in SUMS]
        self.results = [(v, buffers.take_new(v, likes[id(v)], position)) for v in seen]
        self._whole = {id(v): array for v, array in self.results}
        self._parts = {id(n): np.empty(self.count, likes[id(n.outputs[0])][1]) for n in nodes if n.op.name in SUMS}
        self._scratch: dict[tuple[str, int], np.ndarray] = {}
        self._rows: dict[tuple[int, Any], np.ndarray] = {}
        self._lent: np.ndarray | None = None
        self._place_tiles()
        self.calls: list[Bound] = []
        self.strict: list[bool] = []

    def _place_tiles(self) -> None:
        """Buffers of one tile's size for the values that stay inside."""
        self._numbers = inside_only(self.nodes, lambda v: id(v) in self._whole)
        inside = [n for n in self.nodes if n.op.name not in SUMS and id(n.outputs[0]) not in self._numbers]
        self.buffers = Buffers(Lives(self.nodes, []))
        self._small: dict[int, np.ndarray] = {}
        for at, node in enumerate(self.nodes):
            var = node.outputs[0]
            if node in inside and id(var) not in self._whole:
                like = ((self.tile,), self._likes[id(var)][1])
                operands = [self._small.get(id(v)) for v in node.inputs]
                self._small[id(var)] = self.buffers.take(node, var, operands, like, at)
            self.buffers.let_go(node, at)

    def reads(self) -> Iterator[Symbol]:
        """The variables whose arrays it uses."""
        for node in self.nodes:
            yield from node.inputs[:1] if node.op.name == STRETCH else node.inputs

    def bind(self, strict: set[int]) -> bool:
        """Make the calls for the arrays as they are; False where one cannot be cut into tiles."""
        whole: dict[int, Any] = dict(self._whole)
        for var in self.reads():
            if id(var) in whole or id(var) in self._small or id(var) in self._numbers:
                continue
            array = thin(self._operand(var))
            if isinstance(array, np.ndarray) and array.size > 1 and not array.flags.c_contiguous:
                return False
            whole[id(var)] = array
        self.calls, self.strict = [], []
        for k in range(self.count):
            first, last = k * self.tile, min((k + 1) * self.tile, self.size)
            for node in self.nodes:
                if id(node.outputs[0]) in self._numbers:
                    continue
                for bound in self._of_tile(node, whole, k, first, last):
                    self.calls.append(bound)
                    self.strict.append(id(node) in strict)
        for node in self.nodes:
            if node.op.name in SUMS:
                self._finish_sum(node)
        return True

    def _cut(self, value: Any, first: int, last: int) -> Any:
        if not isinstance(value, np.ndarray) or value.size == 1:
            return value.reshape(()) if isinstance(value, np.ndarray) else value
        return value.reshape(-1)[first:last]

    def _of_tile(self, node: Node, whole: Mapping[int, Any], k: int, first: int, last: int) -> list[Bound]:
        def part(var: Symbol) -> Any:
            var = self._numbers.get(id(var), var)
            small = self._small.get(id(var))
            return small[: last - first] if small is not None else self._cut(whole[id(var)], first, last)

        operands = [part(v) for v in node.inputs]
        if node.op.name in SUMS:
            to = self._parts[id(node)][k : k + 1].reshape(())
            return self._sum(operands[0], to)
        return lowered(node, operands, part(node.outputs[0]), self.scratch)

    def _sum(self, x: np.ndarray, to: np.ndarray) -> list[Bound]:
        """The sum of a tile: of short rows by BLAS, then of these sums in pairs; of an odd length all in pairs."""
        text = "{out}[...] += np.add.reduce({0})"
        if x.size % SHORT or x.dtype.name not in ("float32", "float64"):
            return [Bound(partial(np.add.reduce, x, 0, None, to), text)]
        sums = self._rows.setdefault((x.size, x.dtype), np.empty(x.size // SHORT, x.dtype))
        rows = partial(DOT, x.reshape(-1, SHORT), ones_of(SHORT, x.dtype), sums)
        return [Bound(rows, ""), Bound(partial(np.add.reduce, sums, 0, None, to), text)]

    def scratch(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array whose content lasts for one node only, of one tile's size or several."""
        several = len(shape) - 1
        key = (np.dtype(dtype).str, several)
        if key not in self._scratch:
            self._scratch[key] = empty((*shape[:-1], self.tile), dtype)
        self._lent = self._scratch[key]
        return self._lent[..., : shape[-1]]

    def _finish_sum(self, node: Node) -> None:
        out, parts = self._whole[id(node.outputs[0])].reshape(()), self._parts[id(node)]
        self.calls.append(Bound(partial(np.add.reduce, parts, 0, None, out), ""))
        if node.op.name == "mean":
            number = np.asarray(float(self.size), out.dtype)
            self.calls.append(Bound(partial(np.true_divide, out, number, out), f"{{out}}[...] /= {self.size}"))
        self.strict += [False] * (len(self.calls) - len(self.strict))

    # ---- as text ----

    def lines(
        self,
        name: Callable[[Symbol], str],
        call: Callable[[Node, Callable[[Symbol], str]], str],
        protects: Callable[[Node], bool],
    ) -> Iterator[tuple[str, Node | None]]:
        """The run as text, line by line with the node it belongs to; buffers of a tile are called u0, u1 …

        ``protects``: whether products of a node are to be shown protected against 0 · ∞.
        """
        names: dict[int, str] = {}
        yield f"# {len(self.nodes)} ops run as one pass, {self.tile} elements at a time", None
        for number, buffer in enumerate(self.buffers.all):
            names[id(owner_of(buffer.array))] = f"u{number}"
            yield f"u{number} = np.empty({self.tile}, {buffer.array.dtype.name!r})", None
        for number, array in enumerate(self._scratch.values()):
            names[id(owner_of(array))] = f"u{len(self.buffers.all) + number}"
            yield f"{names[id(owner_of(array))]} = np.empty({array.shape}, {array.dtype.name!r})", None

        def text(var: Symbol) -> str:
            var = self._numbers.get(id(var), var)
            small = self._small.get(id(var))
            if small is not None:
                return f"{names[id(owner_of(small))]}[:n]"
            value = self._whole.get(id(var), self._operand(var))
            if not isinstance(value, np.ndarray) or value.size == 1:
                return name(var)
            stretched = thin(value) is not value
            return f"{name(var)}.flat[0]" if stretched else f"{name(var)}.reshape(-1)[i:i + n]"

        sums = [n for n in self.nodes if n.op.name in SUMS]
        for node in sums:
            yield f"{name(node.outputs[0])}[...] = 0", node
        yield f"for i in range(0, {self.size}, {self.tile}):", None
        yield f"    n = min({self.tile}, {self.size} - i)", None
        inner = self._small.keys() | self._numbers.keys()
        whole = {id(v): thin(self._operand(v)) for v in self.reads() if id(v) not in inner} | self._whole
        for node in self.nodes:
            if id(node.outputs[0]) in self._numbers:
                continue
            self._lent = None
            for bound in self._of_tile(node, whole, 0, 0, min(self.tile, self.size)):
                tmp = f"{names[id(owner_of(self._lent))]}[..., :n]" if self._lent is not None else ""
                out = name(node.outputs[0]) if node in sums else text(node.outputs[0])
                form = STRICT if bound.strict is not None and protects(node) else bound.text
                if not form:
                    continue  # a part of what the next line says
                op = call(node, text) if "{op}" in form else ""
                yield "    " + form.format(*map(text, node.inputs), out=out, tmp=tmp, op=op), node
        for node in sums:
            if node.op.name == "mean":
                yield f"{name(node.outputs[0])}[...] /= {self.size}", node
