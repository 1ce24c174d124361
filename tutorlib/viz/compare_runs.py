"""One Python function run on symbols and on tensors: the two graphs, and which line made which node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tutorlib.compile.traced_body import tracing
from tutorlib.compile.tree import flatten
from tutorlib.core.aval import AVal
from tutorlib.core.building import Meta, building
from tutorlib.core.create import tensor
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Input, Node, Op, Symbol, Var
from tutorlib.core.observe import Observer, observe
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import toposort
from tutorlib.messages import message
from tutorlib.viz.names import place_of, source_of

__all__ = ["Choice", "Line", "Run", "opened", "run_dynamic", "run_of", "run_static"]


@dataclass
class Line:
    """What one line of the learner's program made in one go: its `src` entry and the keys of the nodes."""

    key: Hashable
    src: dict[str, Any] | None
    nodes: list[Hashable] = field(default_factory=list)


@dataclass
class Choice:
    """An `ifelse` drawn with both its branches: the node that chooses, and the nodes of each branch."""

    node: Node
    then: list[Node] = field(default_factory=list)
    otherwise: list[Node] = field(default_factory=list)


@dataclass
class Run:
    """One run of the program: `roots` to draw, `keys` id(node) → provenance, the `lines` in their order.

    `inputs` are its leaves, in the order of the arguments; `error` says in words why it ended early.
    """

    roots: list[Any]
    keys: dict[int, Hashable]
    lines: list[Line]
    inputs: list[Any] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    error: str = ""
    kept: list[Any] = field(default_factory=list)

    def line_of(self, node: Any) -> int:
        """The number of the line that made a node, from 0; the last one for a node of unknown origin."""
        key = self.keys.get(id(node))
        return next((i for i, line in enumerate(self.lines) if key in line.nodes), len(self.lines) - 1)


class _Recorded(Observer):
    """The tape: what is recorded, in its order."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []

    def on_node(self, node: Any) -> None:
        if isinstance(node, Tensor):
            self.nodes.append(node)


def run_static(fn: Callable[..., Any], names: Sequence[str], arguments: Sequence[Any]) -> Run:
    """Run `fn` on symbols that have the shapes and dtypes of the arguments; a Python number stays what it is."""
    given = [
        Input(AVal(tuple(np.shape(a)), a.dtype), name=n) if isinstance(a, np.ndarray) else a
        for n, a in zip(names, arguments, strict=True)
    ]
    error = ""
    outputs: list[Any] = []
    with tracing() as traced:
        try:
            found, _ = flatten(fn(*given))
            outputs = [as_symbol(v, "compare") for v in found if isinstance(v, Var)]
        except TutorlibError as raised:
            error = _words(raised)
    traced.restore()
    nodes = list(traced.nodes)
    roots = outputs or _ends(nodes)
    keys, lines = _numbered(nodes)
    roots, choices = opened(roots, keys)
    inputs = [v for v in given if isinstance(v, Input)]
    return Run(roots or inputs, keys, lines, inputs, choices, [] if error else roots, error, [nodes, outputs])


def run_dynamic(fn: Callable[..., Any], names: Sequence[str], arguments: Sequence[Any]) -> Run:
    """Run `fn` on tensors; what it records is the tape."""
    given = [
        tensor(a, requires_grad=a.dtype.kind == "f", name=n) if isinstance(a, np.ndarray) else a
        for n, a in zip(names, arguments, strict=True)
    ]
    error = ""
    outputs: list[Any] = []
    tape = _Recorded()
    with observe(tape):
        try:
            found, _ = flatten(fn(*given))
            outputs = [v for v in found if isinstance(v, Var)]
        except TutorlibError as raised:
            error = _words(raised)
    nodes = tape.nodes
    keys, lines = _numbered(nodes)
    reached = {id(v) for v in toposort(outputs)}
    # What is recorded beside the result, such as the condition of an `if`, is part of the tape, too.
    beside = [v for v in _ends(nodes) if id(v) not in reached]
    inputs = [v for v in given if isinstance(v, Tensor)]
    return Run([*outputs, *beside] or inputs, keys, lines, inputs, [], outputs, error, [nodes])


def run_of(roots: Sequence[Any]) -> Run:
    """A graph that exists already, as if its nodes were made now, in the order in which they were."""
    order = toposort(roots)
    if order and isinstance(order[0], Tensor):
        order.sort(key=lambda node: node.seq)
    keys, lines = _numbered([node for node in order if node.role == "forward"])
    opened_roots, choices = opened(list(roots), keys)
    leaves = {id(v): v for node in order for v in node.inputs if isinstance(v, Var) and v.node is None}
    return Run(opened_roots, keys, lines, list(leaves.values()), choices, opened_roots, "", [order, list(roots)])


def _words(error: TutorlibError) -> str:
    where = f" ({error.source.where}: {error.source.text})" if error.source is not None else ""
    if not error.fix:
        return message("widgets.compare_stopped_plain", says=f"{error.says}{where}")
    return message("widgets.compare_stopped", says=f"{error.says}{where}", fix=error.fix)


def _ends(nodes: Sequence[Any]) -> list[Any]:
    """The values that no other node has used."""
    used = {id(v) for node in nodes for v in node.inputs}
    return [v for node in nodes for v in node.outputs if id(v) not in used]


def _numbered(nodes: Iterable[Any]) -> tuple[dict[int, Hashable], list[Line]]:
    """The provenance of nodes (place in the program, op, how often it was met there), and the lines in their order."""
    met: Counter[Hashable] = Counter()
    keys: dict[int, Hashable] = {}
    before: dict[Hashable, Line] = {}
    lines: list[Line] = []
    for node in nodes:
        place = (place_of(node), node.op.name)
        met[place] += 1
        key = keys[id(node)] = (*place, met[place])
        source = node.source
        here = (source.filename, source.line) if source is not None else None
        # The same op at the same place once more is the next round of a loop, even of a loop of one line.
        if not lines or lines[-1].key != here or before.get(place) is lines[-1]:
            lines.append(Line(here, source_of(node)))
        before[place] = lines[-1]
        lines[-1].nodes.append(key)
    return keys, lines


# ---- a choice with its branches opened ----


def opened(roots: Sequence[Any], keys: dict[int, Hashable]) -> tuple[list[Any], list[Choice]]:
    """The graph with every `ifelse` drawn as both its branches, in scopes of their own, and a node that chooses.

    Adds the provenance of what it copies to `keys`.
    """
    order = toposort(roots)
    if not any(_is_choice(node) for node in order):
        return list(roots), []
    opening = _Opening(keys)
    new = opening.copies(order, {}, None)
    return [new.get(id(v), v) for v in roots], opening.choices


def _is_choice(node: Any) -> bool:
    return "then" in node.attrs and "otherwise" in node.attrs


class _Opening:
    """Copies a graph and opens the choices in it."""

    def __init__(self, keys: dict[int, Hashable]) -> None:
        self.keys = keys
        self.choices: list[Choice] = []
        self._met: Counter[Hashable] = Counter()

    def copies(self, nodes: Iterable[Node], new: dict[int, Any], scope: str | None) -> dict[int, Any]:
        """Old variable (by id) → its copy, for the outputs of `nodes`; `scope` is where they belong now."""
        for node in nodes:
            inputs = tuple(new.get(id(v), v) for v in node.inputs)
            here = node.scope if scope is None else scope
            made = self._choice(node, inputs, here) if _is_choice(node) else self._copy(node, node.op, inputs, here)
            new.update({id(old): v for old, v in zip(node.outputs, made.outputs, strict=True)})
        return new

    def _copy(self, node: Node, op: Op, inputs: tuple[Any, ...], scope: str) -> Node:
        with building.using(Meta(node.role, node.origin, scope)):
            copy = Node(op, inputs, node.attrs if op is node.op else {}, node.place)
        copy.outputs = tuple(Symbol(v.aval, copy, v.index, v.name) for v in node.outputs)
        known = self.keys.get(id(node))
        if known is None:
            # A node inside a branch is a copy itself: its place and its turn there tell which one it stands for.
            place = (place_of(node), node.op.name)
            self._met[place] += 1
            known = (*place, self._met[place])
        self.keys[id(copy)] = known
        return copy

    def _choice(self, node: Node, inputs: tuple[Any, ...], scope: str) -> Node:
        condition, *operands = inputs
        sides: list[list[Node]] = []
        results: list[Any] = []
        for branch in ("then", "otherwise"):
            graph = node.attrs[branch]
            inner = "/".join(filter(None, [scope, message(f"widgets.compare_{branch}")]))
            given = {id(v): operand for v, operand in zip(graph.inputs, operands, strict=True)}
            before = len(self.choices)
            new = self.copies(graph.nodes, given, inner)
            outs = [new.get(id(v), v) for v in graph.outputs]
            made = {id(v.node): v.node for inside in graph.nodes for v in (new[id(o)] for o in inside.outputs)}
            side = list(made.values())
            for nested in self.choices[before:]:
                side += [*nested.then, *nested.otherwise]
            sides.append(side)
            results += outs
        chooses = self._copy(node, _chooser(len(node.outputs)), (condition, *results), scope)
        self.choices.append(Choice(chooses, *sides))
        return chooses


@cache
def _chooser(count: int) -> Op:
    """An op of a condition and the results of both branches that gives those of the branch taken."""

    def forward(xp: Any, condition: Any, *values: Any) -> Any:
        taken = values[:count] if condition else values[count:]
        return taken[0] if count == 1 else taken

    return Op("ifelse", forward, None, None, nout=count)
