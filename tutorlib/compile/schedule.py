"""The fast way to run a graph on the host: bound calls into buffers planned once for one set of shapes.

Every value has a buffer for good; two values share one when their lives do not overlap; an elementwise result takes the
place of an operand that nobody needs any more; reshapes, transposes and slices are views and cost nothing. Updates are
written into the shared variables' own arrays, by the last op itself where nothing else wants the old value. A call of
the function copies its inputs in, runs the list, and copies its outputs out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.compile.lower import Bound, lowered, one_ufunc
from tutorlib.core.backend import silence, unsilence
from tutorlib.core.graph import Constant, Node, Shared, Symbol

# Ops whose result may be a view of their first operand, made once when the schedule is.
_VIEWS = "reshape reshape_like transpose expand_dims squeeze broadcast_to broadcast_like getitem part flip diagonal"
VIEWS = frozenset(_VIEWS.split())
# Elementwise ops whose lowered calls read every operand before they write, so that one may be overwritten.
_IN_PLACE = frozenset({"relu", "cast"})


@dataclass(frozen=True)
class Line:
    """One line of the program: its ``text`` and the ``node`` it belongs to (None for copies in and out)."""

    text: str
    node: Node | None


Like = tuple[tuple[int, ...], np.dtype[Any]]


class Schedule:
    """A plan for the shapes, and the arrays of shared variables, that it was made with.

    Attributes: ``lines`` (the program as text), ``bytes`` (of all buffers), ``bytes_without_reuse``.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        inputs: Sequence[Symbol],
        outputs: Sequence[Symbol],
        updates: Sequence[tuple[Shared, Symbol]],
        likes: Mapping[int, Like],
    ) -> None:
        """``likes``: by id of variable, the shape and dtype of its value."""
        direct = _direct_updates(nodes, outputs, updates, likes)
        nodes = [n for n in nodes if id(n) not in direct] + [n for n in nodes if id(n) in direct]
        self._direct = {id(n.outputs[0]): s for n in nodes if (s := direct.get(id(n))) is not None}
        self._calls: list[Any] = []
        self.lines: list[Line] = []
        self.bytes = self.bytes_without_reuse = 0
        self._array: dict[int, Any] = {}  # by id of variable: its buffer, or a Python number
        self._root: dict[int, int] = {}  # whose buffer a view looks into
        self._names: dict[int, str] = {}
        self._free: dict[tuple[int, str], list[np.ndarray]] = {}
        self._owned: dict[int, np.ndarray] = {}
        self._bound_to = [(v.storage, v.storage.value) for v in _shared_of(nodes, outputs, updates)]
        roots = [*outputs, *(new for _, new in updates)]
        self._last = self._last_uses(nodes, roots)
        for i, var in enumerate(inputs):
            self._array[id(var)] = np.empty(*likes[id(var)])
            self._name(var, var.name if var.name and var.name.isidentifier() else f"x{i}")
        self._input_buffers = [self._array[id(v)] for v in inputs]
        for position, node in enumerate(nodes):
            self._add(node, position, likes)
        self._output_buffers = [self._operand(v) for v in outputs]
        self._update_buffers = [(s, self._operand(new)) for s, new in updates if id(new) not in self._direct]
        self._shared_arrays = [array for _, array in self._bound_to]
        self.output_names = [self._names.get(id(v), repr(self._array.get(id(v)))) for v in outputs]

    # ---- making it ----

    @staticmethod
    def _last_uses(nodes: Sequence[Node], outputs: Sequence[Symbol]) -> dict[int, int]:
        last: dict[int, int] = {}
        for position, node in enumerate(nodes):
            for var in (*node.inputs, *node.outputs):
                last[id(var)] = position
        for var in outputs:
            last[id(var)] = len(nodes)
        # A view keeps what it looks into alive, through any number of views.
        for node in reversed(nodes):
            if node.op.name in VIEWS:
                base = id(node.inputs[0])
                last[base] = max(last[base], last[id(node.outputs[0])])
        return last

    def _name(self, var: Symbol, name: str) -> str:
        taken = set(self._names.values())
        while name in taken:
            name += "_"
        self._names[id(var)] = name
        return name

    def _operand(self, var: Symbol) -> Any:
        known = self._array.get(id(var))
        if known is None:
            if isinstance(var, Constant):
                known = var.value
                self._names[id(var)] = repr(known) if var.aval.weak else f"c{len(self._names)}"
            elif isinstance(var, Shared):
                known = var.storage.value
                self._name(var, var.name if var.name and var.name.isidentifier() else f"s{len(self._names)}")
            self._array[id(var)] = known
        return known

    def _add(self, node: Node, position: int, likes: Mapping[int, Like]) -> None:
        operands = [self._operand(v) for v in node.inputs]
        names = [self._names[id(v)] for v in node.inputs]
        out_var = node.outputs[0]
        # With index arrays, whose values come at run time, getitem is no view.
        indexed = node.op.name == "getitem" and len(operands) > 1
        if node.op.name in VIEWS and not indexed and isinstance(operands[0], np.ndarray):
            view = node.op.on_numpy(*operands, **node.attrs)
            if isinstance(view, np.ndarray) and np.may_share_memory(view, operands[0]):
                self._array[id(out_var)] = view
                self._root[id(out_var)] = self._root.get(id(node.inputs[0]), id(node.inputs[0]))
                attrs = ", ".join(f"{key}={value!r}" for key, value in node.attrs.items())
                made = self._name(out_var, f"b{len(self._names)}")
                self.lines.append(Line(f"{made} = tl.{node.op.name}({', '.join([*names[:1], attrs])})  # a view", node))
                return
        for var in node.outputs:
            shape, dtype = likes[id(var)]
            if id(var) in self._direct:
                variable = self._direct[id(var)]
                self._array[id(var)] = self._operand(variable)
                self._names[id(var)] = self._names[id(variable)]
                continue
            self._array[id(var)] = self._buffer(node, operands, shape, dtype, position)
            self._name(var, f"b{len(self._names)}")
            self.bytes_without_reuse += self._array[id(var)].nbytes
        if node.op.nout == 1:
            for call, text in lowered(node, operands, self._array[id(out_var)]):
                self._emit((call, text), names, self._names[id(out_var)], node)
        else:
            self._emit(self._several(node, operands), names, ", ".join(self._names[id(v)] for v in node.outputs), node)
        self._let_go(node, position)

    def _several(self, node: Node, operands: Sequence[Any]) -> Bound:
        buffers = [self._array[id(v)] for v in node.outputs]
        function, attrs, arrays = node.op.on_numpy, node.attrs, tuple(operands)

        def call() -> None:
            for buffer, part in zip(buffers, function(*arrays, **attrs), strict=True):
                buffer[...] = part

        return call, f"{{out}} = tl.{node.op.name}(…)"

    def _emit(self, bound: Bound, names: Sequence[str], out: str, node: Node) -> None:
        call, text = bound
        self._calls.append(call)
        self.lines.append(Line(text.format(*names, out=out), node))

    def _buffer(
        self, node: Node, operands: Sequence[Any], shape: tuple[int, ...], dtype: np.dtype[Any], position: int
    ) -> np.ndarray:
        if one_ufunc(node) is not None or node.op.name in _IN_PLACE:
            for var, array in zip(node.inputs, operands, strict=True):
                root = id(var)
                if root in self._owned and self._last[root] == position and root not in self._root:
                    mine = self._owned[root]
                    if array is mine and mine.shape == shape and mine.dtype == dtype:
                        del self._owned[root]
                        self._owned[id(node.outputs[0])] = mine
                        return mine
        free = self._free.get((math.prod(shape), dtype.str))
        if free:
            buffer = free.pop().reshape(shape)
        else:
            buffer = np.empty(shape, dtype)
            self.bytes += buffer.nbytes
        self._owned[id(node.outputs[0])] = buffer
        return buffer

    def _let_go(self, node: Node, position: int) -> None:
        for var in {id(v): v for v in (*node.inputs, *node.outputs)}.values():
            root = self._root.get(id(var), id(var))
            if root in self._owned and self._last.get(root, -1) <= position and self._last[id(var)] <= position:
                buffer = self._owned.pop(root)
                self._free.setdefault((buffer.size, buffer.dtype.str), []).append(buffer)

    # ---- running it ----

    def fits(self, arrays: Sequence[Any]) -> bool:
        """Whether these inputs, and the shared variables as they are, are what the schedule was made for."""
        return all(
            type(a) is np.ndarray and a.shape == b.shape for a, b in zip(arrays, self._input_buffers, strict=True)
        ) and all(storage.value is array for storage, array in self._bound_to)

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs, as arrays of the caller's own; the updates are in the shared variables' arrays afterwards."""
        for buffer, array in zip(self._input_buffers, arrays, strict=True):
            np.copyto(buffer, array)
        token = silence()
        try:
            for call in self._calls:
                call()
        finally:
            unsilence(token)
        results = [np.array(buffer) for buffer in self._output_buffers]
        # All new values are taken before the first is written: one may be the present value of another variable.
        new = [(s.storage, _taken(value, self._shared_arrays)) for s, value in self._update_buffers]
        for storage, value in new:
            np.copyto(storage.value, value)
        return results


def _taken(value: Any, shared: Sequence[np.ndarray]) -> Any:
    copy = isinstance(value, np.ndarray) and any(np.may_share_memory(value, array) for array in shared)
    return value.copy() if copy else value


def _shared_of(
    nodes: Sequence[Node], outputs: Sequence[Symbol], updates: Sequence[tuple[Shared, Symbol]]
) -> list[Shared]:
    found = {id(v): v for node in nodes for v in node.inputs if isinstance(v, Shared)}
    found |= {id(v): v for v in (*outputs, *(new for _, new in updates)) if isinstance(v, Shared)}
    found |= {id(s): s for s, _ in updates}
    return list(found.values())


def _roots_of_views(nodes: Sequence[Node]) -> dict[int, int]:
    """By id of variable: the id of the variable whose memory it may look into, through any number of views."""
    root: dict[int, int] = {}
    for node in nodes:
        if node.op.name in VIEWS:
            base = id(node.inputs[0])
            root[id(node.outputs[0])] = root.get(base, base)
    return root


def _direct_updates(
    nodes: Sequence[Node],
    outputs: Sequence[Symbol],
    updates: Sequence[tuple[Shared, Symbol]],
    likes: Mapping[int, Like],
) -> dict[int, Shared]:
    """By id of node: the shared variable that it may write its result into, being the last to read the old value.

    That holds for an update by one ufunc, like ``w - step``, whose value nothing else uses, when no output is the
    variable (or a view of it) and no other update of this kind reads it.
    """
    root = _roots_of_views(nodes)
    ends = [*outputs, *(new for _, new in updates)]
    uses = Counter([id(v) for node in nodes for v in node.inputs] + [id(v) for v in ends])
    shown = {root.get(id(v), id(v)) for v in ends}
    reads = {id(node): {root.get(id(v), id(v)) for v in node.inputs} for node in nodes}
    found: dict[int, Shared] = {}
    for variable, new in updates:
        node = new.node
        if node is None or uses[id(new)] != 1 or one_ufunc(node) is None:
            continue
        value = variable.storage.value
        if likes[id(new)] == (value.shape, value.dtype) and id(variable) not in shown:
            found[id(node)] = variable
    return {
        key: variable
        for key, variable in found.items()
        if not any(id(variable) in reads[other] for other in found if other != key)
    }
