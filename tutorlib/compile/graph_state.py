"""A function's private copy of its graph, in which variables can be exchanged: what rewrites work on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tutorlib.core.building import Meta, building
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.toposort import toposort

# A place where a variable is used: input number i of a node, or output number i of the graph (node None).
Use = tuple[Node | None, int]


def copied(node: Node, inputs: tuple[Symbol, ...]) -> Node:
    """A node of the same op, line, role and names on other inputs of the same kind."""
    with building.using(Meta(node.role, node.origin, node.scope)):
        copy = Node(node.op, inputs, node.attrs, node.place)
    copy.outputs = tuple(Symbol(v.aval, copy, v.index, v.name) for v in node.outputs)
    return copy


class GraphState:
    """The nodes of some outputs, who uses what, and exchanges that can be undone.

    The learner's own graph is not touched: nodes are copied first; leaves are shared.
    """

    def __init__(self, outputs: Iterable[Symbol]) -> None:
        outputs = list(outputs)
        new: dict[int, Symbol] = {}
        self.uses: dict[int, list[Use]] = {}
        self._known: set[int] = set()
        for node in toposort(outputs):
            copy = copied(node, tuple(new.get(id(v), v) for v in node.inputs))
            new.update({id(old): made for old, made in zip(node.outputs, copy.outputs, strict=True)})
            self._enter(copy)
        self.outputs = [new.get(id(v), v) for v in outputs]
        for i, var in enumerate(self.outputs):
            self.uses.setdefault(id(var), []).append((None, i))

    def _enter(self, node: Node) -> None:
        self._known.add(id(node))
        for i, var in enumerate(node.inputs):
            self.uses.setdefault(id(var), []).append((node, i))

    def users(self, var: Symbol) -> list[Node]:
        """The nodes that use ``var``, each once for every input it is."""
        return [node for node, _ in self.uses.get(id(var), ()) if node is not None]

    def alive(self, node: Node) -> bool:
        """Whether a node is part of the graph and something still uses one of its outputs."""
        return id(node) in self._known and any(self.uses.get(id(v)) for v in node.outputs)

    def nodes(self) -> list[Node]:
        """The nodes in topological order."""
        return toposort(self.outputs)

    def exchange(self, old: Symbol, new: Symbol) -> Exchange:
        """Put ``new`` wherever ``old`` is used. Returns what was done, for going back and forth."""
        fresh = [node for node in toposort([new], stop=lambda v: v.node is None or id(v.node) in self._known)]
        inside = {id(node) for node in fresh}
        for node in fresh:
            self._enter(node)
        # What replaces a value may be computed from it: those uses stay.
        moved = [use for use in self.uses.get(id(old), ()) if use[0] is None or id(use[0]) not in inside]
        done = Exchange(old, new, tuple(moved))
        self.apply(done)
        return done

    def apply(self, step: Exchange) -> None:
        """Do an exchange (again)."""
        self._move(step.uses, step.old, step.new)

    def undo(self, step: Exchange) -> None:
        """Take an exchange back."""
        self._move(step.uses, step.new, step.old)

    def _move(self, uses: Iterable[Use], old: Symbol, new: Symbol) -> None:
        going = {(id(node), i) for node, i in uses}
        self.uses[id(old)] = [u for u in self.uses.get(id(old), ()) if (id(u[0]), u[1]) not in going]
        for node, i in uses:
            if node is None:
                self.outputs[i] = new
            else:
                node.inputs = (*node.inputs[:i], new, *node.inputs[i + 1 :])
            self.uses.setdefault(id(new), []).append((node, i))

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes())


class Exchange:
    """One exchange of a variable for another at certain places."""

    __slots__ = ("new", "old", "uses")

    def __init__(self, old: Symbol, new: Symbol, uses: tuple[Use, ...]) -> None:
        self.old = old
        self.new = new
        self.uses = uses
