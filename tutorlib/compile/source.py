"""A compiled function as text: the program that a good NumPy programmer would write by hand for it, and its memory.

The text runs: it defines ``run(inputs…, shared variables…)``. It is a picture of what the function does, made anew each
time it is asked for; what runs is the list of calls in ``schedule`` (or the plain plan, where shapes depend on values).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

import numpy as np

from tutorlib.compile.bound import STRICT, owner_of
from tutorlib.compile.schedule import Schedule, Step
from tutorlib.compile.tiles import Tiles
from tutorlib.core.graph import Constant, Node, Shared, Symbol
from tutorlib.ops.define import TABLE
from tutorlib.ops.im2col import laid
from tutorlib.ops.index import Hole

_SMALL = 12  # a constant with so many elements is written out
_COMMENT = 64  # the column where comments start


class _Ops:
    """The forward computation of every op of the table, by name: what printed programs call where NumPy has no
    function of the same meaning."""

    def __getattr__(self, name: str) -> Any:
        from tutorlib.compile.control import op_called

        op = op_called(name)
        if op is None:
            raise AttributeError(f"no op is called {name!r}")
        return op.on_numpy


op = _Ops()


class Source(str):
    """The text of a program. ``arrays`` holds what it names but does not define: ``exec(source, dict(source.arrays))``
    makes its function ``run``."""

    arrays: dict[str, Any]

    def __repr__(self) -> str:
        return str(self)


class _Names:
    """Names for variables and values that are good Python and differ."""

    def __init__(self, *further: str) -> None:
        """``further``: names that the text uses itself. Buffers of tiles are called u0, u1 …"""
        self.arrays: dict[str, Any] = {}
        self.head: list[str] = []
        self.known: dict[int, Any] = {}
        self._of: dict[int, str] = {}
        self._taken = {"np", "op", "run", "results", "new", *further}
        self._again: dict[str, int] = {}  # by name: how often it was wanted once more

    def fresh(self, wanted: str) -> str:
        name = wanted if wanted.isidentifier() and not iskeyword(wanted) else f"v{len(self._of)}"
        if name[:1] == "u" and name[1:].isdigit():
            name += "_"
        while name in self._taken:
            again = self._again[name] = self._again.get(name, 0) + 1
            name = f"{name}_" if again == 1 else f"{name}_{again}"
        self._taken.add(name)
        return name

    def enter(self, var: Symbol, wanted: str) -> str:
        self._of[id(var)] = name = self.fresh(wanted)
        return name

    def put(self, var: Symbol, text: str) -> None:
        self._of[id(var)] = text

    def has(self, var: Symbol) -> bool:
        return id(var) in self._of or id(var) in self.known or isinstance(var, Constant)

    def of(self, var: Symbol) -> str:
        found = self._of.get(id(var))
        if found is None and (isinstance(var, Constant) or id(var) in self.known):
            found = self._of[id(var)] = self._constant(var)
        assert found is not None, "a variable is named before it is used"
        return found

    def _constant(self, var: Symbol) -> str:
        value = var.value if isinstance(var, Constant) else self.known[id(var)]
        if not isinstance(value, np.ndarray):
            return self.literal(value)
        name = self.fresh(var.name or f"c{len(self.head) + len(self.arrays)}")
        if not value.size:
            self.head.append(f"{name} = np.empty({_shape(value.shape)}, {value.dtype.name!r})")
        elif value.size <= _SMALL and np.isfinite(value).all():
            self.head.append(f"{name} = np.array({value.tolist()}, {value.dtype.name!r})")
        else:
            self.arrays[name] = value
        return name

    def literal(self, value: Any) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            return "np.nan" if value != value else "np.inf" if value > 0 else "-np.inf"
        if value is None or value is Ellipsis or isinstance(value, bool | int | float | str):
            return repr(value)
        if type(value) is tuple:
            return "(" + "".join(f"{self.literal(v)}, " for v in value) + ")"
        if isinstance(value, slice):
            return f"slice({', '.join(self.literal(v) for v in (value.start, value.stop, value.step))})"
        name = self.fresh(f"k{len(self.arrays)}")
        self.arrays[name] = value
        return name

    def call(self, node: Node, text: Callable[[Symbol], str] | None = None) -> str:
        """The node as a call of its op's own forward computation; ``text`` gives its operands."""
        where = f"op.{node.op.name}"
        if TABLE.get(node.op.name) is not node.op:
            where = self.literal(node.op.on_numpy)
        operands = [(text or self.of)(v) for v in node.inputs]
        if node.op.name == "getitem":
            return f"{operands[0]}[{index_text(node.attrs['index'], operands[1:])}]"
        args = operands + [f"{k}={self.literal(v)}" for k, v in node.attrs.items()]
        return f"{where}({', '.join(args)})"


def index_text(index: Sequence[Any], arrays: Sequence[str]) -> str:
    """An index as Python writes it between brackets; ``arrays`` are the texts of its operands."""

    def item(value: Any) -> str:
        if isinstance(value, slice):
            parts = ["" if v is None else item(v) for v in (value.start, value.stop, value.step)]
            return ":".join(parts if value.step is not None else parts[:2])
        return "..." if value is Ellipsis else arrays[value.n] if isinstance(value, Hole) else repr(value)

    return ", ".join(map(item, index)) or "()"


def _comment(node: Node) -> str:
    source = node.source
    return f"{node.op.name}{f', {source.where}' if source is not None else ''}"


def _line(text: str, node: Node | None = None) -> str:
    text = f"    {text}"
    return text if node is None else f"{text:<{_COMMENT}}  # {_comment(node)}"


def _finished(names: _Names, title: str, arguments: Sequence[str], body: Sequence[str], where: str) -> Source:
    head = [f'"""{title}"""', "import numpy as np", "from tutorlib.compile.source import op", "", *names.head]
    source = Source("\n".join([*head, "", "", f"def run({', '.join(arguments)}):{where}", *body, ""]))
    source.arrays = names.arrays
    return source


def _shape(shape: Sequence[int]) -> str:
    return repr(tuple(int(n) for n in shape))


# ---- the planned program ----


def source_of_schedule(schedule: Schedule, title: str) -> Source:
    """A schedule as text."""
    loops = any(isinstance(step, Tiles) for step in schedule.steps)
    names = _Names(*(["i", "n"] if loops else []), *(["value"] if schedule.checked else []))
    arguments = [names.enter(v, v.name or f"x{i}") for i, v in enumerate(schedule.inputs) if v.node is None]
    shared = {id(v): v for v in (*schedule.shared, *_shared_in(schedule.before))}
    arguments += [names.enter(v, v.name or f"s{i}") for i, v in enumerate(shared.values())]
    first = _node_lines(schedule.before, names)
    names.known = {key: schedule.array[key] for key in schedule.known}
    places = _name_buffers(schedule, names)
    last: list[str] = []
    for step in schedule.steps:
        if isinstance(step, Tiles):
            for var, array in step.results:
                names.put(var, places[id(array)])
            tiled = step.lines(names.of, names.call, schedule.protects)
            first.extend(_line(text, node) for text, node in tiled)
            continue
        lines = _step_lines(schedule, step, names, places)
        (last if step.outs and id(step.node.outputs[0]) in schedule.direct else first).extend(lines)
    body = first
    if schedule.checked and not schedule.protecting:
        looked_at = ", ".join(names.of(v) for v in schedule.checked)
        body.append(_line(f"for value in ({looked_at},):"))
        test = "not np.isfinite(value).all()" if schedule.finite_factors else "np.isnan(value).any()"
        body.append(_line(f"    if {test}:"))
        body.append(_line("        raise FloatingPointError('0 * inf: the function itself runs again and makes it 0')"))
    body.append(_line(f"results = [{', '.join(f'np.array({names.of(v)})' for v in schedule.outputs)}]"))
    moves = [(s, new) for s, new in schedule.updates if id(new) not in schedule.direct]
    if moves:
        body.append(_line(f"new = [{', '.join(f'np.array({names.of(new)})' for _, new in moves)}]"))
    body += last
    body += [_line(f"{names.of(s)}[...] = new[{i}]") for i, (s, _) in enumerate(moves)]
    body.append(_line("return results"))
    return _finished(names, title, arguments, body, "")


def _name_buffers(schedule: Schedule, names: _Names) -> dict[int, str]:
    """Names for the arrays that results are computed into, by id of array; those that share memory are written as
    views."""
    places: dict[int, str] = {}
    memory: dict[int, str] = {}
    wholes: dict[int, np.ndarray] = {}
    for buffer in schedule.buffers.all:
        array = buffer.array
        name = names.fresh(f"b{len(memory)}")
        memory[id(owner_of(array))] = places[id(array)] = name
        wholes[id(owner_of(array))] = array
        names.head.append(f"{name} = np.empty({_shape(array.shape)}, {array.dtype.name!r})")
    for array in schedule.scratch_arrays():
        name = names.fresh(f"t{len(memory)}")
        memory[id(owner_of(array))] = places[id(array)] = name
        names.head.append(f"{name} = np.empty({_shape(array.shape)}, {array.dtype.name!r})")
    for step in schedule.steps:
        if isinstance(step, Tiles):
            continue
        for array in (*step.outs, *([step.tmp] if step.tmp is not None else [])):
            base = owner_of(array)
            if id(array) in places or id(base) not in memory:
                continue
            shape = "x".join(str(n) for n in (array if array.flags.c_contiguous else laid(array)).shape) or "scalar"
            cut, name = "", f"{memory[id(base)]}_{shape}"
            whole = wholes.get(id(base), array)
            if array.size < whole.size:
                start = (array.ctypes.data - whole.ctypes.data) // array.itemsize
                cut, name = f".reshape(-1)[{start}:{start + array.size}]", f"{name}_from_{start}"
            places[id(array)] = name
            text = f"{name} = {memory[id(base)]}{cut}{_arrangement(array)}"
            if text not in names.head:
                names.head.append(text)
    return places


def _arrangement(array: np.ndarray) -> str:
    """How an array views the memory of a buffer, as text: in another shape, or with the batch last in memory."""
    if array.flags.c_contiguous:
        return f".reshape({_shape(array.shape)})"
    return f".reshape({_shape(laid(array).shape)}).transpose({(array.ndim - 1, *range(array.ndim - 1))})"


def _step_lines(schedule: Schedule, step: Step, names: _Names, places: dict[int, str]) -> list[str]:
    node = step.node
    if not step.outs:
        name = names.enter(node.outputs[0], node.outputs[0].name or f"v{len(places)}")
        return [_line(f"{name} = {_view_text(schedule, node, names)}", node)]
    outs = []
    for var, array in zip(node.outputs, step.outs, strict=True):
        direct = schedule.direct.get(id(var))
        outs.append(names.of(direct) if direct is not None else places[id(array)])
        names.put(var, outs[-1])
    operands = [_operand_text(schedule, v, names) for v in node.inputs]
    tmp = places[id(step.tmp)] if step.tmp is not None else ""
    lines = []
    for bound in step.calls:
        form = STRICT if bound.strict is not None and schedule.protects(node) else bound.text
        call = names.call(node) if "{op}" in form else ""
        text = form.format(*operands, out=outs[0], outs=", ".join(outs), tmp=tmp, op=call)
        lines.append(_line(text, node))
    return lines


def _operand_text(schedule: Schedule, var: Symbol, names: _Names) -> str:
    if names.has(var):
        return names.of(var)
    # Only its shape is asked for, and it is nowhere as a whole.
    return f"np.broadcast_to(0, {_shape(schedule.shaped(var).shape)})"


def _view_text(schedule: Schedule, node: Node, names: _Names) -> str:
    base, shape = names.of(node.inputs[0]), schedule.array[id(node.outputs[0])].shape
    kind = node.op.name
    if kind in ("reshape", "reshape_like", "expand_dims", "squeeze"):
        return f"{base}.reshape({_shape(shape)})"
    if kind in ("broadcast_to", "broadcast_like"):
        return f"np.broadcast_to({base}, {_shape(shape)})"
    if kind == "transpose":
        return f"{base}.T" if node.attrs["axes"] == (1, 0) else f"{base}.transpose({node.attrs['axes']})"
    return names.call(node)


# ---- the plain program ----


def source_of_plan(
    nodes: Sequence[Node],
    inputs: Sequence[Symbol],
    outputs: Sequence[Symbol],
    updates: Sequence[tuple[Shared, Symbol]],
    title: str,
) -> Source:
    """A plan without buffers as text: what runs before the shapes are known, or where they depend on values."""
    names = _Names()
    arguments = [names.enter(v, v.name or f"x{i}") for i, v in enumerate(inputs)]
    ends = [*outputs, *(new for _, new in updates), *(s for s, _ in updates)]
    shared = {id(v): v for v in [*_shared_in(nodes), *(v for v in ends if isinstance(v, Shared))]}
    arguments += [names.enter(v, v.name or f"s{i}") for i, v in enumerate(shared.values())]
    body = _node_lines(nodes, names)
    body.append(_line(f"results = [{', '.join(f'np.array({names.of(v)})' for v in outputs)}]"))
    if updates:
        body.append(_line(f"new = [{', '.join(f'np.array({names.of(new)})' for _, new in updates)}]"))
        body += [_line(f"{names.of(s)}[...] = new[{i}]") for i, (s, _) in enumerate(updates)]
    body.append(_line("return results"))
    return _finished(names, title, arguments, body, "")


def _shared_in(nodes: Sequence[Node]) -> list[Shared]:
    return [v for node in nodes for v in node.inputs if isinstance(v, Shared)]


def _node_lines(nodes: Sequence[Node], names: _Names) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        call = names.call(node)
        outs = [names.enter(v, v.name or f"v{len(lines)}") for v in node.outputs]
        lines.append(_line(f"{', '.join(outs)} = {call}", node))
    return lines


# ---- memory ----


@dataclass(frozen=True)
class Life:
    """A value of the program: ``name``, ``op``, ``where`` (the learner's line), ``shape``, ``dtype``, ``bytes``, the
    number of the ``buffer`` that holds it, and its ``first`` and ``last`` step."""

    name: str
    op: str
    where: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    buffer: int
    first: int
    last: int


class Lifetimes:
    """Which buffer holds which value from which step to which.

    Attributes: ``lives`` (a list of ``Life``), ``bytes`` of all buffers, ``bytes_without_reuse``, ``steps``,
    ``passes`` (of each run of ops that goes through large arrays piece by piece: the names of the ops). Empty while the
    function has no plan: before its first call, and where shapes depend on values.
    """

    def __init__(self, schedule: Schedule | None) -> None:
        self.lives: list[Life] = []
        self.bytes = self.bytes_without_reuse = self.steps = 0
        self.passes: list[tuple[str, ...]] = []
        if schedule is None:
            return
        self.passes = [tuple(n.op.name for n in s.nodes) for s in schedule.steps if isinstance(s, Tiles)]
        self.bytes, self.bytes_without_reuse = schedule.buffers.bytes, schedule.buffers.bytes_without_reuse
        self.steps = len(schedule.steps)
        for number, buffer in enumerate(schedule.buffers.all):
            for var, first, last in buffer.tenants:
                array, source = schedule.array[id(var)], var.node.source
                where = source.where if source is not None else ""
                size = array.nbytes
                name = var.name or var.node.op.name
                life = (name, var.node.op.name, where, array.shape, array.dtype.name, size, number, first, last)
                self.lives.append(Life(*life))
        self.lives.sort(key=lambda life: (life.first, life.buffer))

    def __repr__(self) -> str:
        if not self.lives:
            return "no buffers: the function has no plan (call it once; where shapes depend on values it has none)"
        rows = [("buffer", "steps", "value", "shape", "dtype", "bytes", "line")]
        rows += [
            (
                f"b{v.buffer}",
                f"{v.first}–{v.last if v.last < self.steps else 'end'}",
                v.name,
                "×".join(map(str, v.shape)) or "scalar",
                v.dtype,
                f"{v.bytes:,}",
                v.where,
            )
            for v in self.lives
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        total = f"{self.bytes:,} bytes in all; {self.bytes_without_reuse:,} if no two values shared a buffer"
        passes = [f"one pass of {len(names)} ops: {', '.join(names)}" for names in self.passes]
        return "\n".join([*lines, *passes, total])
