"""Running a static graph: a flat list of bound calls over numbered slots.

The plan here is right and plain: every node's value gets a slot of its own, freed after its last use. Buffer reuse,
fusion and in-place evaluation belong here and change nothing that callers see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.core import observe
from tutorlib.core.backend import Device, is_array, put, quiet
from tutorlib.core.dispatch import run_node
from tutorlib.core.graph import Constant, Node, Shared, Symbol
from tutorlib.core.toposort import toposort


class Plan:
    """How to compute ``outputs`` from values for ``inputs`` and the present values of shared variables.

    Attributes: ``nodes`` in the order they run; ``shared``, the shared variables read; ``event``, by which
    observers are told of each value.
    """

    event = "on_value"

    def __init__(self, inputs: Sequence[Symbol], outputs: Sequence[Symbol], nodes: list[Node] | None = None) -> None:
        """``nodes``: those of the outputs in topological order, where they are known; else they are looked for."""
        # What is given as an input is taken from the caller, whatever computed it in the graph.
        given = {id(v) for v in inputs}
        self.nodes = nodes if nodes is not None else toposort(outputs, stop=lambda v: id(v) in given)
        self._ends = (list(inputs), list(outputs))
        leaves: dict[int, Symbol] = {}
        for node in self.nodes:
            for var in node.inputs:
                if var.node is None and id(var) not in given:
                    leaves[id(var)] = var
        for var in outputs:
            if var.node is None and id(var) not in given:
                leaves[id(var)] = var
        self.missing = [v for v in leaves.values() if not isinstance(v, Constant | Shared)]
        self.shared = [v for v in leaves.values() if isinstance(v, Shared)]
        self._leaves = leaves
        self._constants: dict[int, Any] = {key: v.value for key, v in leaves.items() if isinstance(v, Constant)}
        self._steps: list[Any] | None = None

    def _number(self) -> list[Any]:
        """Give every value a slot. Left until a plain run wants it: a schedule does without."""
        inputs, outputs = self._ends
        slots: dict[int, int] = {}

        def slot(var: Symbol) -> int:
            return slots.setdefault(id(var), len(slots))

        self._inputs = [slot(v) for v in inputs]
        steps = [(node, [slot(v) for v in node.inputs], [slot(v) for v in node.outputs]) for node in self.nodes]
        self._outputs = [slot(v) for v in outputs]
        self._held = [(slot(v), key, v) for key, v in self._leaves.items() if isinstance(v, Constant | Shared)]
        self._size = len(slots)
        self._steps = self._with_last_uses(steps)
        return self._steps

    def _with_last_uses(self, steps: list[Any]) -> list[Any]:
        kept = {*self._outputs, *self._inputs}
        result = []
        for node, ins, outs in reversed(steps):
            dead = [s for s in {*ins, *outs} if s not in kept]
            kept.update(dead)
            result.append((node, ins, outs, dead))
        return result[::-1]

    def move_constants(self, where: Device) -> None:
        """Put array constants on the device that the plan runs on."""
        self._constants = {k: put(value, where) if is_array(value) else value for k, value in self._constants.items()}

    def owned(self, result: Any, arrays: Sequence[Any]) -> Any:
        """``result`` as an array that nobody else holds: copied where it is, or may view, a leaf's own array."""
        if not isinstance(result, np.ndarray):
            return np.asarray(result) if not is_array(result) or isinstance(result, np.generic) else result.copy()
        held = [*arrays, *(s.storage.value for s in self.shared), *self._constants.values()]
        return result.copy() if result.base is not None or any(result is array for array in held) else result

    def run(self, arrays: Sequence[Any], likes: dict[int, Any] | None = None) -> list[Any]:
        """The values of the outputs, as arrays that may share memory with inputs or shared variables.

        ``likes``, when given, is filled with the shape and dtype of every value, by id of variable.
        """
        steps = self._steps if self._steps is not None else self._number()
        values: list[Any] = [None] * self._size
        for slot, key, leaf in self._held:
            values[slot] = leaf.storage.value if isinstance(leaf, Shared) else self._constants[key]
        for slot, value in zip(self._inputs, arrays, strict=True):
            values[slot] = value
        watched = bool(observe.observers) and observe.watching(self.event)
        with quiet():
            for node, ins, outs, dead in steps:
                operands = [values[i] for i in ins]
                result = run_node(node, operands)
                if watched:
                    observe.tell(self.event, node, operands, result)
                if node.op.nout == 1:
                    values[outs[0]] = result
                else:
                    for out, part in zip(outs, result, strict=True):
                        values[out] = part
                if likes is not None:
                    for var, out in zip(node.outputs, outs, strict=True):
                        likes[id(var)] = (np.shape(values[out]), getattr(values[out], "dtype", None))
                for slot in dead:
                    values[slot] = None
        return [values[i] for i in self._outputs]
