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

    Attributes: ``nodes`` in the order they run; ``shared``, the shared variables read.
    """

    def __init__(self, inputs: Sequence[Symbol], outputs: Sequence[Symbol]) -> None:
        # What is given as an input is taken from the caller, whatever computed it in the graph.
        given = {id(v) for v in inputs}
        self.nodes: list[Node] = toposort(outputs, stop=lambda v: id(v) in given)
        slots: dict[int, int] = {}

        def slot(var: Symbol) -> int:
            return slots.setdefault(id(var), len(slots))

        self._inputs = [slot(v) for v in inputs]
        leaves: dict[int, Symbol] = {}
        steps = []
        for node in self.nodes:
            for var in node.inputs:
                if var.node is None and id(var) not in given:
                    leaves[id(var)] = var
            steps.append((node, [slot(v) for v in node.inputs], [slot(v) for v in node.outputs]))
        for var in outputs:
            if var.node is None and id(var) not in given:
                leaves[id(var)] = var
        self._outputs = [slot(v) for v in outputs]
        self.missing = [v for v in leaves.values() if not isinstance(v, Constant | Shared)]
        self.shared = [v for v in leaves.values() if isinstance(v, Shared)]
        self._shared = [(slot(v), v.storage) for v in self.shared]
        self._constants = [(slot(v), v.value) for v in leaves.values() if isinstance(v, Constant)]
        self._size = len(slots)
        self._steps = self._with_last_uses(steps)

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
        self._constants = [(slot, put(value, where) if is_array(value) else value) for slot, value in self._constants]

    def owned(self, result: Any, arrays: Sequence[Any]) -> Any:
        """``result`` as an array that nobody else holds: copied where it is, or may view, a leaf's own array."""
        if not isinstance(result, np.ndarray):
            return np.asarray(result) if not is_array(result) or isinstance(result, np.generic) else result.copy()
        held = [*arrays, *(storage.value for _, storage in self._shared), *(value for _, value in self._constants)]
        return result.copy() if result.base is not None or any(result is array for array in held) else result

    def run(self, arrays: Sequence[Any], likes: dict[int, Any] | None = None) -> list[Any]:
        """The values of the outputs, as arrays that may share memory with inputs or shared variables.

        ``likes``, when given, is filled with the shape and dtype of every value, by id of variable.
        """
        values: list[Any] = [None] * self._size
        for slot, value in self._constants:
            values[slot] = value
        for slot, storage in self._shared:
            values[slot] = storage.value
        for slot, value in zip(self._inputs, arrays, strict=True):
            values[slot] = value
        watched = bool(observe.observers) and observe.watching_values()
        with quiet():
            for node, ins, outs, dead in self._steps:
                operands = [values[i] for i in ins]
                result = run_node(node, operands)
                if watched:
                    observe.tell("on_value", node, operands, result)
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
