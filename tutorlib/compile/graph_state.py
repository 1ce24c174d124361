"""A function's private copy of its graph, in which variables can be exchanged: what rewrites work on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tutorlib.core.graph import Constant, Node, Symbol
from tutorlib.core.toposort import toposort

# A place where a variable is used: input number i of a node, or output number i of the graph (node None).
Use = tuple[Node | None, int]
_new_node, _new_symbol = Node.__new__, Symbol.__new__


def copied(node: Node, inputs: tuple[Symbol, ...]) -> Node:
    """A node of the same op, line, role and names on other inputs of the same kind."""
    copy = _new_node(Node)
    copy.op = node.op
    copy.inputs = inputs
    copy.attrs = node.attrs
    copy.place = node.place
    copy.meta = node.meta
    outputs = []
    for old in node.outputs:
        var = _new_symbol(Symbol)
        var.aval = old.aval
        var.node = copy
        var.index = old.index
        var.name = old.name
        var.shape_source = None
        var.derivative_of = old.derivative_of
        outputs.append(var)
    copy.outputs = tuple(outputs)
    return copy


class GraphState:
    """The nodes of some outputs, who uses what, and exchanges that can be undone.

    The learner's own graph is not touched: nodes are copied first; leaves are shared. Uses are kept of all variables
    but constants, by nodes that some output still needs.
    """

    def __init__(self, outputs: Iterable[Symbol], nodes: Iterable[Node] | None = None) -> None:
        """``nodes``: those of the outputs in topological order, where they are known."""
        outputs = list(outputs)
        new: dict[int, Symbol] = {}
        # By id of variable: the nodes that use it, once for each operand it is, and None for each output it is.
        self._uses: dict[int, list[Node | None]] = {}
        # Of inputs and shared variables, which may have very many uses: the nodes, and how often each uses it.
        self._readers: dict[int, dict[Node, int]] = {}
        self._alive: set[Node] = set()
        self._order: list[Node] | None = self._copies(toposort(outputs) if nodes is None else nodes, new)
        self.outputs = [new.get(id(v), v) for v in outputs]
        for var in self.outputs:
            if var.node is not None:
                self._uses.setdefault(id(var), []).append(None)

    def _copies(self, nodes: Iterable[Node], new: dict[int, Symbol]) -> list[Node]:
        """Copies of nodes, each on the copies of its inputs. ``new`` is filled with the copies of results, by id."""
        uses, alive, order = self._uses, self._alive.add, []
        for node in nodes:
            inputs = tuple([new[id(v)] if v.node is not None else v for v in node.inputs])
            copy = copied(node, inputs)
            alive(copy)
            order.append(copy)
            for var in inputs:
                if var.node is not None:
                    key = id(var)
                    if key in uses:
                        uses[key].append(copy)
                    else:
                        uses[key] = [copy]
                elif type(var) is not Constant:
                    self._read(var, copy)
            for old, made in zip(node.outputs, copy.outputs, strict=True):
                new[id(old)] = made
        return order

    def _read(self, var: Symbol, node: Node) -> None:
        readers = self._readers.setdefault(id(var), {})
        readers[node] = readers.get(node, 0) + 1

    def _enter(self, node: Node) -> None:
        """Count the uses a node makes, and those of the nodes it brings along."""
        todo = [node]
        while todo:
            node = todo.pop()
            if node in self._alive:
                continue
            self._alive.add(node)
            for var in node.inputs:
                if var.node is not None:
                    uses = self._uses.get(id(var))
                    if uses is None:
                        self._uses[id(var)] = [node]
                    else:
                        uses.append(node)
                    if var.node not in self._alive:
                        todo.append(var.node)
                elif type(var) is not Constant:
                    self._read(var, node)

    def _leave(self, node: Node) -> None:
        """Forget the uses of a node that nothing needs, and of those that only it needed."""
        todo = [node]
        while todo:
            node = todo.pop()
            if node not in self._alive or any(self._uses.get(id(v)) for v in node.outputs):
                continue
            self._alive.discard(node)
            for var in node.inputs:
                if var.node is not None:
                    uses = self._uses[id(var)]
                    uses.remove(node)
                    if not uses:
                        todo.append(var.node)
                elif type(var) is not Constant:
                    self._unread(var, node)

    def _unread(self, var: Symbol, node: Node) -> None:
        readers = self._readers[id(var)]
        readers[node] -= 1
        if not readers[node]:
            del readers[node]

    def uses(self, var: Symbol) -> Sequence[Node | None]:
        """What uses a result: nodes, once for each operand it is, and None for each output. Of an input or a shared
        variable: the nodes, each once. Of a constant: nothing."""
        return self._uses.get(id(var), ()) if var.node is not None else list(self._readers.get(id(var), ()))

    def users(self, var: Symbol) -> list[Node]:
        """The nodes that use ``var``, each once for every input it is."""
        return [node for node in self._uses.get(id(var), ()) if node is not None]

    def alive(self, node: Node) -> bool:
        """Whether some output needs the node."""
        return node in self._alive

    def nodes(self) -> list[Node]:
        """The nodes in topological order."""
        if self._order is None:
            self._order = toposort(self.outputs)
        return list(self._order)

    def exchange(self, old: Symbol, new: Symbol) -> Exchange:
        """Put ``new`` wherever ``old`` is used. Returns what was done, for going back and forth."""
        # What replaces a value may be computed from it: nodes that come with the new one are not among its users yet.
        users = {id(n): n for n in self._uses.get(id(old), ()) if n is not None}
        places: list[Use] = [(node, i) for node in users.values() for i, v in enumerate(node.inputs) if v is old]
        places += [(None, i) for i, v in enumerate(self.outputs) if v is old]
        done = Exchange(old, new, tuple(places))
        self.apply(done)
        return done

    def apply(self, step: Exchange) -> None:
        """Do an exchange (again)."""
        self._move(step.places, step.old, step.new)

    def undo(self, step: Exchange) -> None:
        """Take an exchange back."""
        self._move(step.places, step.new, step.old)

    def _move(self, places: Sequence[Use], old: Symbol, new: Symbol) -> None:
        self._order = None
        for node, i in places:
            if node is None:
                self.outputs[i] = new
            else:
                node.inputs = (*node.inputs[:i], new, *node.inputs[i + 1 :])
        movers = [node for node, _ in places]
        if new.node is not None:
            self._uses.setdefault(id(new), []).extend(movers)
            self._enter(new.node)
        elif type(new) is not Constant:
            for mover in movers:
                if mover is not None:
                    self._read(new, mover)
        if old.node is not None:
            uses = self._uses[id(old)]
            for mover in movers:
                uses.remove(mover)
            self._leave(old.node)
        elif type(old) is not Constant:
            for mover in movers:
                if mover is not None:
                    self._unread(old, mover)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes())


class Exchange:
    """One exchange of a variable for another at certain places."""

    __slots__ = ("new", "old", "places")

    def __init__(self, old: Symbol, new: Symbol, places: tuple[Use, ...]) -> None:
        self.old = old
        self.new = new
        self.places = places
