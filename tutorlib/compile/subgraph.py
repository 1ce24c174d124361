"""Graphs inside graphs: the body of a loop or a branch, as data that can be run, differentiated and compared.

A ``Subgraph`` is closed: all it needs comes in through its inputs. What a body takes from around it is captured as a
further operand of the op that holds it, so work that does not depend on the body's own inputs is done outside, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tutorlib.compile.executor import Plan
from tutorlib.compile.fgraph import clone, rebuilt
from tutorlib.compile.merge import constant_key, frozen
from tutorlib.compile.straight_line import as_function
from tutorlib.core import observe
from tutorlib.core.autodiff import grad
from tutorlib.core.aval import AVal, Dim
from tutorlib.core.backend import common_device
from tutorlib.core.building import Meta, building
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Constant, Input, Node, Op, Symbol
from tutorlib.core.operators import OPS
from tutorlib.core.toposort import leaves_of, toposort

# Python compiles a longer body more slowly than it saves; it runs through the plain plan.
LONGEST_TEXT = 2_000
# For so many sets of shapes a graph is kept in the form made for them.
REMEMBERED = 4
# Ops that give their first operand the shape of another: nothing, where it has that shape.
_LIKE = frozenset({"unbroadcast", "broadcast_like", "reshape_like"})
# The operand that an op takes the shape of, and nothing else.
SHAPED = {**dict.fromkeys(_LIKE, 1), "zeros_like": 0, "ones_like": 0, "scatter": 1}
Rewrite = Callable[[list[Symbol]], list[Symbol]]


class Subgraph:
    """A closed graph: ``inputs`` (its own Input symbols) and ``outputs``. Equal ones compute the same."""

    __slots__ = ("_at", "_code", "_key", "_nodes", "_plans", "inputs", "loop", "outputs")

    def __init__(self, inputs: Sequence[Input], outputs: Sequence[Symbol]) -> None:
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self._nodes: list[Node] | None = None
        self._code: Any = None
        self.loop: Any = None  # a scan over it as one function, kept by the scan
        self._at: dict[Any, Subgraph] = {}
        self._plans: dict[Any, Plan] = {}
        self._key: Any = None

    @property
    def nodes(self) -> list[Node]:
        """The nodes in topological order."""
        if self._nodes is None:
            self._nodes = toposort(self.outputs)
        return self._nodes

    @property
    def has_effect(self) -> bool:
        """Whether running it can be seen from outside (it prints)."""
        return any("effect" in node.op.flags for node in self.nodes)

    def used(self) -> set[int]:
        """The numbers of the inputs that some output depends on."""
        needed = {id(v) for v in leaves_of(self.outputs)}
        return {i for i, v in enumerate(self.inputs) if id(v) in needed}

    def only(self, inputs: Sequence[int], outputs: Sequence[int] | None = None) -> Subgraph:
        """The part of it with these inputs and outputs (numbers)."""
        kept = self.outputs if outputs is None else [self.outputs[i] for i in outputs]
        return Subgraph([self.inputs[i] for i in inputs], kept)

    def rewritten(self, rewrite: Rewrite) -> Subgraph:
        """The same graph in the form that ``rewrite`` gives its outputs."""
        return Subgraph(self.inputs, rewrite(self.outputs))

    def opened(self, operands: Sequence[Symbol]) -> list[Symbol]:
        """Its outputs as expressions of ``operands``, one an input."""
        return clone(self.outputs, dict(zip(self.inputs, operands, strict=True)))

    def infer(self, avals: Sequence[AVal]) -> list[AVal]:
        """What the outputs are when the inputs are ``avals``."""
        if all(given == v.aval for given, v in zip(avals, self.inputs, strict=True)):
            return [v.aval for v in self.outputs]
        known = {id(v): aval for v, aval in zip(self.inputs, avals, strict=True)}
        for node in self.nodes:
            found = node.op.infer(*(known.get(id(v), v.aval) for v in node.inputs), **node.attrs)  # type: ignore[misc]
            for v, aval in zip(node.outputs, (found,) if node.op.nout == 1 else found, strict=True):
                known[id(v)] = aval
        return [known.get(id(v), v.aval) for v in self.outputs]

    def pulled_back(self, cotangents: Mapping[int, Symbol], wrt: Sequence[int]) -> list[Symbol | None]:
        """Cotangents of the inputs numbered ``wrt`` from those of outputs (by number), as expressions of the inputs.

        None where no gradient flows.
        """
        seeds: dict[int, tuple[Symbol, Symbol]] = {}
        for number, cotangent in cotangents.items():
            out = self.outputs[number]
            if out.dtype.kind == "f":
                before = seeds.get(id(out))
                seeds[id(out)] = (out, cotangent if before is None else OPS.add(before[1], cotangent))
        if not seeds or not wrt:
            return [None] * len(wrt)
        return grad(None, [self.inputs[i] for i in wrt], known=dict(seeds.values()), disconnected="none")

    # ---- running ----

    def at(self, avals: Sequence[AVal]) -> Subgraph:
        """The graph for inputs of just these shapes: what only unknown shapes made necessary is left out."""
        if all(v.aval.known for v in self.inputs) and all(v.aval.known for v in self.outputs):
            return self
        key = tuple(avals)
        found = self._at.get(key)
        if found is None:
            if len(self._at) >= REMEMBERED:
                self._at.clear()
            found = self._at[key] = self._with_shapes(avals)
        return found

    def _with_shapes(self, avals: Sequence[AVal]) -> Subgraph:
        inputs = [Input(aval, name=v.name) for v, aval in zip(self.inputs, avals, strict=True)]
        new: dict[int, Symbol] = {id(old): v for old, v in zip(self.inputs, inputs, strict=True)}
        try:
            for node in self.nodes:
                operands = tuple(new.get(id(v), v) for v in node.inputs)
                made = rebuilt(node, operands)
                nothing = node.op.name in _LIKE and operands[0].aval.known and operands[0].aval == made.outputs[0].aval
                results = operands[:1] if nothing else made.outputs
                new.update({id(old): v for old, v in zip(node.outputs, results, strict=True)})
        except TutorlibError:
            return self  # running it will meet the same error, at its line
        return Subgraph(inputs, [new.get(id(v), v) for v in self.outputs])

    def may_change(self, state: Sequence[AVal]) -> bool:
        """Whether its first outputs may have other shapes than ``state``, or any a shape that is not known."""
        same = all(v.shape == aval.shape for v, aval in zip(self.outputs, state, strict=False))
        return not same or not all(v.aval.known for v in self.outputs)

    def run(self, xp: Any, arrays: Sequence[Any]) -> Sequence[Any]:
        """The outputs for these inputs, on their device. They may share memory with the inputs."""
        return self.runner(xp)(*arrays)

    def runner(self, xp: Any) -> Callable[..., Sequence[Any]]:
        """A function of arrays that gives the outputs."""
        if xp is not np or len(self.nodes) > LONGEST_TEXT or watched_inside():
            return self._plainly
        if self._code is None:
            self._code = as_function(self.nodes, self.inputs, self.outputs)
        code, plainly = self._code, self._plainly

        def run(*arrays: Any) -> Sequence[Any]:
            try:
                return code(*arrays)
            except TutorlibError as error:
                if error.placed:
                    raise
            except (ValueError, TypeError, IndexError):
                pass
            return plainly(*arrays)  # node by node: it meets the same error and knows the line

        return run

    def _plainly(self, *arrays: Any) -> Sequence[Any]:
        where = common_device(arrays)
        plan = self._plans.get(where)
        if plan is None:
            plan = self._plans[where] = Plan(self.inputs, self.outputs)
            plan.event = "on_inner_value"
            plan.move_constants(where)
        return plan.run(arrays)

    # ---- comparing ----

    def _identity(self) -> Any:
        if self._key is None:
            number: dict[int, Any] = {id(v): ("input", i, v.aval) for i, v in enumerate(self.inputs)}

            def name(v: Symbol) -> Any:
                if id(v) not in number:
                    number[id(v)] = ("constant", constant_key(v)) if isinstance(v, Constant) else ("leaf", id(v))
                return number[id(v)]

            rows = []
            for i, node in enumerate(self.nodes):
                attrs = tuple(sorted((key, frozen(value)) for key, value in node.attrs.items()))
                rows.append((id(node.op), attrs, tuple(map(name, node.inputs))))
                number.update({id(v): (i, v.index) for v in node.outputs})
            key = (len(self.inputs), tuple(rows), tuple(map(name, self.outputs)))
            try:
                hash(key)
            except TypeError:
                key = (id(self), (), ())
            self._key = key
        return self._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subgraph) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"<graph of {len(self.nodes)} nodes>"


def watched_inside() -> bool:
    """Whether some observer wants the values inside loops and branches."""
    return bool(observe.observers) and observe.watching("on_inner_value")


# ---- making them ----


def closed(
    outputs: Sequence[Symbol], inputs: Sequence[Input], inside: Callable[[Node], bool]
) -> tuple[Subgraph, list[Symbol]]:
    """The graph of ``outputs`` made of the nodes that are ``inside``, and what it captures from around it.

    The captured variables get inputs of their own after ``inputs``. Constants stay inside.
    """
    own = {id(v) for v in inputs}
    outer: dict[int, Symbol] = {}

    def look(v: Symbol) -> None:
        if id(v) not in own and not isinstance(v, Constant) and (v.node is None or not inside(v.node)):
            outer[id(v)] = v

    for node in toposort(outputs, stop=lambda v: v.node is not None and not inside(v.node)):
        for v in node.inputs:
            look(v)
    for v in outputs:
        look(v)
    captured = list(outer.values())
    stand_ins = [Input(v.aval._replace(weak=False), name=v.name) for v in captured]
    return Subgraph([*inputs, *stand_ins], clone(outputs, dict(zip(captured, stand_ins, strict=True)))), captured


def depending_on(inputs: Sequence[Symbol], outputs: Sequence[Symbol]) -> Callable[[Node], bool]:
    """Whether a node depends on one of ``inputs``: the test for what belongs into a loop."""
    reached = {id(v) for v in inputs}
    found: set[int] = set()
    for node in toposort(outputs):
        if any(id(v) in reached for v in node.inputs):
            found.add(id(node))
            reached.update(id(v) for v in node.outputs)
    return lambda node: id(node) in found


# ---- ops that hold them ----


class Prepared(NamedTuple):
    """How a node with graphs inside runs: the numbers of the operands and outputs it keeps, its op and attributes."""

    op: Op
    attrs: dict[str, Any]
    operands: list[int]
    outputs: list[int]


class ControlOp(Op):
    """An op with graphs among its attributes. There is one a number of results: ``CONTROL_OPS`` makes them."""

    def prepare(self, node: Node, used: Sequence[bool], rewrite: Rewrite) -> Prepared:
        """The node as a function runs it: without outputs that are not ``used``, the graphs inside rewritten."""
        raise NotImplementedError


# By name: from the number of results, and whether running it can be seen from outside, to the op.
CONTROL_OPS: dict[str, Callable[[int, bool], ControlOp]] = {}


# Cheaper to compute again than to keep for a gradient.
_CHEAP = frozenset(
    """add sub mul div neg square safe_mul safe_div abs sign where maximum minimum clip relu eq ne lt le gt ge
    logical_and logical_or logical_not cast identity stop_gradient reshape reshape_like transpose expand_dims squeeze
    broadcast_to broadcast_like unbroadcast getitem zeros_like ones_like part section""".split()
)


def costly(node: Node) -> bool:
    """Whether a gradient should find the results of a node kept, rather than compute them again."""
    return node.op.name not in _CHEAP and not isinstance(node.op, ControlOp)


def remade(op: Op, inputs: Sequence[Symbol], attrs: dict[str, Any], like: Node) -> Node:
    """A node with the line and role of ``like``; its outputs are inferred."""
    avals = op.infer(*(v.aval for v in inputs), **attrs)  # type: ignore[misc]
    with building.using(Meta(like.role, like.origin, like.scope)):
        node = Node(op, tuple(inputs), attrs, like.place)
    node.outputs = tuple(Symbol(a, node, i) for i, a in enumerate((avals,) if op.nout == 1 else avals))
    return node


def as_outputs(values: Sequence[Any], nout: int) -> Any:
    """Results as an op with ``nout`` outputs gives them."""
    return values[0] if nout == 1 else tuple(values)


def dim_that_differs(a: Sequence[Dim], b: Sequence[Dim]) -> int | None:
    """The first axis whose two lengths are known and differ."""
    return next((i for i, (m, n) in enumerate(zip(a, b, strict=False)) if None not in (m, n) and m != n), None)
