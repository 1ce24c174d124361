"""Graphs of which a few values have shapes that only running tells: these first, then the rest by a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.compile.executor import Plan
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.storage import Storage


class Late:
    """A graph cut in two: what is needed for the values of unforeseen shape, and the ``rest``.

    Attributes: ``first`` and ``rest``, their nodes; ``inputs``, what the rest reads: the function's inputs, then the
    values that were computed before; ``plan``, the plain plan of the rest.
    """

    def __init__(
        self,
        inputs: Sequence[Symbol],
        values: Sequence[Symbol],
        ends: Sequence[Symbol],
        written: Sequence[Storage],
    ) -> None:
        """``values``: those of unforeseen shape; ``written``: storages that the rest may write into."""
        self._before, self._written = Plan(inputs, values), written
        self.first = self._before.nodes
        self.inputs = [*inputs, *values]
        self.plan = Plan(self.inputs, ends)
        self.rest = self.plan.nodes

    @classmethod
    def of(
        cls,
        nodes: Sequence[Node],
        inputs: Sequence[Symbol],
        ends: Sequence[Symbol],
        unforeseen: Sequence[Node],
        written: Sequence[Storage],
    ) -> Late | None:
        """The graph of ``ends`` cut behind the ``unforeseen`` nodes; None where that leaves little to plan."""
        before = {id(node) for node in unforeseen}
        for node in reversed(nodes):
            if id(node) in before:
                before.update(id(v.node) for v in node.inputs if v.node is not None)
        read = [v for node in nodes if id(node) not in before for v in node.inputs]
        values = {id(v): v for v in (*read, *ends) if v.node is not None and id(v.node) in before}
        if 2 * len(before) > len(nodes):
            return None
        return cls(inputs, list(values.values()), ends, written)

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The arrays for ``inputs``, from those of the function."""
        found = [np.asarray(value) for value in self._before.run(arrays)]
        return [*arrays, *(self._apart(value) for value in found)]

    def _apart(self, value: np.ndarray) -> np.ndarray:
        """``value``, copied where the rest may write into what it looks into before it has read it."""
        return value.copy() if any(np.may_share_memory(value, s.value) for s in self._written) else value
