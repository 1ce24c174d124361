"""Equal nodes become one: same op, same attributes, same inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tutorlib.compile.graph_state import GraphState
from tutorlib.core.backend import to_host
from tutorlib.core.graph import Constant, Node, Symbol


def frozen(value: Any) -> Any:
    """An attribute in a form that can be compared and hashed: slices are neither on every Python."""
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, tuple | list):
        return tuple(map(frozen, value))
    return (type(value).__name__, value)


def constant_key(constant: Constant) -> Any:
    """What two constants have in common exactly if they are the same: kind and bytes; large arrays are told by
    identity."""
    value = constant.value
    if constant.aval.weak:
        return ("weak", type(value).__name__, repr(value))
    if getattr(value, "nbytes", 1 << 20) > 4096:
        return id(constant)
    host = to_host(value)
    return (host.dtype, host.shape, host.tobytes())


class Merge:
    """Knows every node it has seen by what it computes; a node that is seen again is one too many."""

    def __init__(self, graph: GraphState, replace: Callable[[Node, Symbol, Symbol], None]) -> None:
        """``replace(node, old, kept)`` puts a result of another node in the place of ``node``'s."""
        self._graph, self._replace = graph, replace
        self._seen: dict[Any, Node] = {}
        self._constants: dict[int, Any] = {}
        self._by_value: dict[Any, int] = {}

    def _name(self, var: Constant) -> int:
        """A number that equal constants share, the id of the first of them."""
        known = self._constants.get(id(var))
        if known is None:
            number = self._by_value.setdefault(constant_key(var), id(var))
            known = self._constants[id(var)] = (number, var)  # the variable is held, so that its id stays its own
        return known[0]

    def _key(self, node: Node) -> Any:
        attrs = node.attrs
        known = tuple(sorted([(name, frozen(value)) for name, value in attrs.items()])) if attrs else ()
        return (id(node.op), known, *[id(v) if type(v) is not Constant else self._name(v) for v in node.inputs])

    def run(self, nodes: Iterable[Node]) -> None:
        """Merge each of ``nodes``, which stand in topological order, with an equal one that was seen before."""
        seen, alive = self._seen, self._graph.alive
        for node in nodes:
            if not alive(node):
                continue
            try:
                key = self._key(node)
                first = seen.setdefault(key, node)
            except TypeError:
                continue  # an attribute that cannot be compared
            if first is node:
                continue
            if not alive(first) or self._key(first) != key:
                seen[key] = node  # the one seen before has changed since
                continue
            for old, kept in zip(node.outputs, first.outputs, strict=True):
                self._replace(node, old, kept)
