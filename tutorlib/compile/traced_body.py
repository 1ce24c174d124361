"""Running the body of a loop or branch once, on symbols: what it made, what state it moved, which line it is on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tutorlib.core.dispatch import state
from tutorlib.core.graph import Node, Shared, Symbol
from tutorlib.core.observe import Observer, observe
from tutorlib.core.source import SourceLine


class Traced(Observer):
    """What happens while a body runs on symbols: the nodes it makes, and the state it moves.

    ``nodes``: the nodes made. ``moved()``: shared variables whose default update changed meanwhile (a random stream
    draws), with the value before: (shared, state before).
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.made: set[int] = set()
        self._seen: set[int] = set()
        self._states: dict[int, tuple[Shared, Symbol | None]] = {}
        self._thread = threading.get_ident()

    def on_node(self, node: Any) -> None:
        if not isinstance(node, Node) or threading.get_ident() != self._thread:
            return
        self.nodes.append(node)
        self.made.add(id(node))
        stack = list(node.inputs)
        while stack:
            v = stack.pop()
            if isinstance(v, Shared) and id(v) not in self._states:
                self._states[id(v)] = (v, v.default_update)
            if v.node is not None and id(v.node) not in self._seen:
                self._seen.add(id(v.node))
                stack.extend(v.node.inputs)

    def moved(self) -> list[tuple[Shared, Symbol]]:
        changed = [(s, before) for s, before in self._states.values() if s.default_update is not before]
        return [(s, s if before is None else before) for s, before in changed]

    def restore(self) -> None:
        """Give shared variables back the default updates they had before."""
        for shared, before in self._states.values():
            shared.default_update = before


@contextmanager
def tracing() -> Iterator[Traced]:
    """A block in which a body runs on symbols: parameters show their shared face, and what is made is noted."""
    traced = Traced()
    before = state.static, state.body
    state.static, state.body = True, object()
    try:
        with observe(traced):
            yield traced
    finally:
        state.static, state.body = before


def where_made(var: Any, function: Any = None) -> str:
    """The place in the learner's program that a result of a body came from, for messages."""
    node = getattr(var, "node", None)
    if node is not None and node.source is not None:
        return f"{node.source.where} ({node.source.text})"
    code = getattr(function, "__code__", None)
    if code is None:
        return "a leaf of the graph"
    return f"the function at {SourceLine(code.co_filename, code.co_firstlineno, code.co_firstlineno, None, None).where}"
