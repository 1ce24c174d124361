"""Which values of a schedule share memory: lives, reuse, results in the place of operands, updates in place."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.bound import empty
from tutorlib.compile.joins import Place
from tutorlib.compile.lower import one_ufunc
from tutorlib.core.graph import Node, Shared, Symbol
from tutorlib.ops.im2col import laid, usual

Like = tuple[tuple[int, ...], np.dtype[Any]]

# Ops whose result may be a view of their first operand, made once when the schedule is.
_VIEWS = "reshape reshape_like transpose expand_dims squeeze broadcast_to broadcast_like getitem part flip diagonal"
VIEWS = frozenset(_VIEWS.split())
# Operands of which only the shape matters, by op: their number.
SHAPE_ONLY = {
    "broadcast_like": 1,
    "reshape_like": 1,
    "unbroadcast": 1,
    "put_label": 2,
    "count": 0,
    "zeros_like": 0,
    "ones_like": 0,
}
# Ops of several calls whose result may take the place of an operand, and of which.
_IN_PLACE = {"relu": (0,), "sigmoid": (0,), "safe_mul": (0, 1), "safe_div": (0, 1), "where": (1,)}
# Ops whose results, images (batch, channels, *space), lie in memory with the batch last; and those that keep to the
# order of their operand, as elementwise ops do.
_BATCH_LAST = frozenset({"conv", "conv_transpose"})
_POOLING = frozenset({"max_pool", "max_pool_spread", "max_pool_collect", "avg_pool", "avg_pool_spread"})


def is_view(node: Node) -> bool:
    """Whether the result may look into its first operand. With index arrays, whose values come at run time, it does
    not."""
    return node.op.name in VIEWS and not (node.op.name == "getitem" and len(node.inputs) > 1)


def _has_batch_last(node: Node, operands: Sequence[Any], ndim: int) -> bool:
    """Whether a result is to lie in memory as (channels, *space, batch)."""
    if ndim < 3:
        return False
    if "elementwise" in node.op.flags or node.op.name in _POOLING:
        arrays = (a for a in operands if isinstance(a, np.ndarray) and a.ndim == ndim)
        return any(laid(a).flags.c_contiguous and not a.flags.c_contiguous for a in arrays)
    return node.op.name in _BATCH_LAST


class Lives:
    """From which position of the program to which each value is needed.

    Attributes: ``first`` and ``last`` by id of variable; ``end``, the position after the last node.
    """

    def __init__(
        self, nodes: Sequence[Node], ends: Sequence[Symbol], places: Mapping[int, Place] | None = None
    ) -> None:
        """``places``: what is computed as a part of another value, which stays alive as long as its parts."""
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.end = len(nodes)
        first, last, views = self.first, self.last, []
        for position, node in enumerate(nodes):
            name = node.op.name
            of_shape = SHAPE_ONLY.get(name)
            if of_shape is None:
                for var in node.inputs:
                    last[id(var)] = position
            else:
                last.update((id(var), position) for i, var in enumerate(node.inputs) if i != of_shape)
            for var in node.outputs:
                first[id(var)] = last[id(var)] = position
            if name in VIEWS and is_view(node):
                views.append(node)
        for var in ends:
            last[id(var)] = self.end
        # A view keeps what it looks into alive, through any number of views.
        for node in reversed(views):
            base = id(node.inputs[0])
            last[base] = max(last.get(base, -1), last[id(node.outputs[0])])
        # So does a part of what it is a part of.
        for node in nodes if places else ():
            for var in node.outputs:
                if (place := places.get(id(var))) is not None:  # type: ignore[union-attr]
                    whole = id(place.whole)
                    last[whole] = max(last[whole], last[id(var)])


class Buffer:
    """An array of the schedule, and who lives in it: ``tenants``, (variable, first position, last position), one after
    another."""

    __slots__ = ("array", "tenants")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.tenants: list[tuple[Symbol, int, int]] = []


class Buffers:
    """Hands out the arrays of a schedule.

    Attributes: ``all`` buffers; ``bytes`` of them; ``bytes_without_reuse``, if each value had one of its own.
    """

    def __init__(self, lives: Lives, places: Mapping[int, Place] | None = None) -> None:
        """``places``: by id of variable, where in a joined array it is computed."""
        self.lives = lives
        self._places = places or {}
        self._begun: dict[int, np.ndarray] = {}  # by id of variable: joined arrays that have parts already
        self.all: list[Buffer] = []
        self.bytes = self.bytes_without_reuse = 0
        self._root: dict[int, int] = {}  # by id of a view's variable: whose buffer it looks into
        self._owned: dict[int, Buffer] = {}  # by id of variable
        self._free: dict[tuple[int, np.dtype[Any]], list[Buffer]] = {}

    def enter_view(self, node: Node) -> None:
        base = id(node.inputs[0])
        self._root[id(node.outputs[0])] = self._root.get(base, base)

    def take(self, node: Node, var: Symbol, operands: Sequence[Any], like: Like, position: int) -> np.ndarray:
        """The array for ``var``, a result of ``node``: an operand's that dies here, a free one, or a new one."""
        shape, key = like[0], id(var)
        if self._begun and key in self._begun:
            return self._begun[key]
        self.bytes_without_reuse += math.prod(shape) * like[1].itemsize
        if key in self._places and not _has_batch_last(node, operands, len(shape)):
            return self._part(var, like, position)
        place = self._from_operand(node, operands, like, position)
        if place is None:
            buffer = self._free_or_new(like)
            array = buffer.array
            if _has_batch_last(node, operands, len(shape)):
                array = usual(array.reshape(*shape[1:], shape[0]))
            elif array.shape != shape:
                array = array.reshape(shape)
        else:
            buffer, array = place
        self._owned[key] = buffer
        buffer.tenants.append((var, position, self.lives.last[key]))
        return array

    def take_new(self, var: Symbol, like: Like, position: int) -> np.ndarray:
        """An array for ``var`` that nobody else has had."""
        self.bytes_without_reuse += math.prod(like[0]) * like[1].itemsize
        buffer = self._owned[id(var)] = self._new(like)
        buffer.tenants.append((var, position, self.lives.last[id(var)]))
        return buffer.array

    def _part(self, var: Symbol, like: Like, position: int) -> np.ndarray:
        """The array for ``var`` in the joined array that it is a part of, which begins here if it has not yet."""
        place = self._places[id(var)]
        whole, key = place.whole, id(place.whole)
        if key not in self._begun:
            self.bytes_without_reuse += math.prod(place.like[0]) * place.like[1].itemsize
            if key in self._places:
                self._begun[key] = self._part(whole, place.like, position)
            else:
                buffer = self._owned[key] = self._free_or_new(place.like)
                buffer.tenants.append((whole, position, self.lives.last[key]))
                self._begun[key] = buffer.array.reshape(place.like[0])
        root = self._root[id(var)] = self._root.get(key, key)
        self._owned[root].tenants.append((var, position, self.lives.last[id(var)]))
        return self._begun[key].reshape(-1)[place.start : place.stop].reshape(like[0])

    def _free_or_new(self, like: Like) -> Buffer:
        free = self._free.get((math.prod(like[0]), like[1]))
        return free.pop() if free else self._new(like)

    def _new(self, like: Like) -> Buffer:
        buffer = Buffer(empty(*like))
        self.all.append(buffer)
        self.bytes += buffer.array.nbytes
        return buffer

    def _from_operand(
        self, node: Node, operands: Sequence[Any], like: Like, position: int
    ) -> tuple[Buffer, np.ndarray] | None:
        # A ufunc minds itself where operands overlap the result; several calls one after another do not.
        alone = one_ufunc(node) is None
        places = _IN_PLACE.get(node.op.name, ()) if alone else range(len(operands))
        owned, last = self._owned, self.lives.last
        for i in places:
            key = id(node.inputs[i])
            if key not in owned or last.get(key) != position:
                continue
            array = operands[i]
            if array.shape != like[0] or array.dtype != like[1]:
                continue
            if alone:
                others = [a for j, a in enumerate(operands) if j != i and isinstance(a, np.ndarray)]
                if any(np.may_share_memory(array, other) for other in others):
                    continue
            return owned.pop(key), array
        return None

    def let_go(self, node: Node, position: int) -> None:
        """Free the buffers that nothing after ``position`` needs."""
        last, owned, roots = self.lives.last, self._owned, self._root
        for var in (*node.inputs, *node.outputs):
            key = id(var)
            root = roots.get(key, key)
            if root in owned and last[root] <= position and last.get(key, -1) <= position:
                buffer = owned.pop(root)
                kind = (buffer.array.size, buffer.array.dtype)
                free = self._free.get(kind)
                if free is None:
                    self._free[kind] = [buffer]
                else:
                    free.append(buffer)


def roots_of_views(nodes: Sequence[Node]) -> dict[int, int]:
    """By id of variable: the id of the variable whose memory it may look into, through any number of views."""
    root: dict[int, int] = {}
    for node in nodes:
        if node.op.name in VIEWS and is_view(node):
            base = id(node.inputs[0])
            root[id(node.outputs[0])] = root.get(base, base)
    return root


def direct_updates(
    nodes: Sequence[Node],
    outputs: Sequence[Symbol],
    updates: Sequence[tuple[Shared, Symbol]],
    likes: Mapping[int, Like],
) -> dict[int, Shared]:
    """By id of node: the shared variable that it may write its result into, being the last to read the old value.

    That holds for an update by one ufunc, like ``w - step``, whose value nothing else uses, when no output is the
    variable (or a view of it) and no other update of this kind reads it.
    """
    makers = {id(new.node): new for _, new in updates if new.node is not None and one_ufunc(new.node) is not None}
    if not makers:
        return {}
    root = roots_of_views(nodes)
    ends = [*outputs, *(new for _, new in updates)]
    uses = Counter([id(v) for v in ends])
    reads: dict[int, set[int]] = {}
    wanted = {id(new) for new in makers.values()}
    for node in nodes:
        for v in node.inputs:
            if id(v) in wanted:
                uses[id(v)] += 1
        if id(node) in makers:
            reads[id(node)] = {root.get(id(v), id(v)) for v in node.inputs}
    shown = {root.get(id(v), id(v)) for v in ends}
    found: dict[int, Shared] = {}
    for variable, new in updates:
        node = new.node
        if node is None or id(node) not in reads or uses[id(new)] != 1:
            continue
        value = variable.storage.value
        if likes[id(new)] == (value.shape, value.dtype) and id(variable) not in shown:
            found[id(node)] = variable
    readers = Counter(key for other in found for key in reads[other])
    return {k: s for k, s in found.items() if readers[id(s)] == (1 if id(s) in reads[k] else 0)}
