"""Arithmetic on single numbers, done by Python: a NumPy call on one element costs as much as thirty such operations.

The last steps of many programs are a loss put together from sums. They are moved to the end, so that they stand side by
side, and run as one small function that takes the numbers out of their buffers and puts back what somebody wants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.bound import SHORT, Call
from tutorlib.compile.buffers import Like
from tutorlib.core.graph import Constant, Node, Shared, Symbol

# What Python computes as NumPy does, up to rounding, with no error raised on the way.
_TEXT = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "neg": "-{0}",
    "square": "{0} * {0}",
    "div": "{0} / {1}",
}
# Fewer steps are as quick one by one.
SHORTEST = 2


def numbers_last(nodes: Sequence[Node], likes: Mapping[int, Like], left: Mapping[int, Any]) -> list[Node]:
    """The nodes with arithmetic on single numbers at the end, where nothing but such arithmetic wants its results.

    ``left``: by id, nodes that are not in question.
    """
    needed: set[int] = set()
    chosen: list[Node] = []
    for node in reversed(nodes):
        out = id(node.outputs[0])
        if not likes[out][0] and id(node) not in left and out not in needed and is_number(node, likes):
            chosen.append(node)
        else:
            needed.update(map(id, node.inputs))
    if len(chosen) < SHORTEST:
        return list(nodes)
    moved = {id(node) for node in chosen}
    # Means first: the sums they take may use any buffer that is free then.
    last = sorted(reversed(chosen), key=lambda node: node.op.name != "mean")
    return [node for node in nodes if id(node) not in moved] + last


def is_number(node: Node, likes: Mapping[int, Like]) -> bool:
    """Whether a node makes one number of others (or the mean of a short array) and Python can do it."""
    shape, dtype = likes[id(node.outputs[0])]
    if shape or dtype.kind != "f" or dtype.itemsize < 4:
        return False
    if node.op.name == "mean":
        over = likes.get(id(node.inputs[0]))
        return over is not None and node.attrs["axis"] is None and over[1] == dtype and 1 < math.prod(over[0]) <= SHORT
    if node.op.name not in _TEXT or (node.op.name == "div" and not _divisor(node.inputs[1])):
        return False
    return all(_literal(v) is not None or likes.get(id(v)) == ((), dtype) for v in node.inputs)


def _literal(var: Symbol) -> str | None:
    if not isinstance(var, Constant) or var.ndim:
        return None
    value = var.value if type(var.value) in (int, float) else np.asarray(var.value).item()
    return f"({value!r})" if isinstance(value, int | float) and math.isfinite(value) and abs(value) < 1e300 else None


def _divisor(var: Symbol) -> bool:
    return _literal(var) is not None and float(var.value) != 0


class Numbers:
    """Steps of a schedule as one function.

    Attributes: ``steps``, how many.
    """

    def __init__(self, steps: Sequence[Any], likes: Mapping[int, Like], wanted: Callable[[Symbol], bool]) -> None:
        """``wanted(var)``: whether something after these steps reads the value."""
        self.steps = len(steps)
        self._means: list[Any] = []
        names: dict[int, str] = {}
        self._read: list[Symbol | np.ndarray] = []
        self._write: list[np.ndarray] = []
        lines, last = [], []

        def name(var: Symbol) -> str:
            text = _literal(var) or names.get(id(var))
            if text is None:
                text = names[id(var)] = f"a{len(self._read)}()"
                self._read.append(var)
            return text

        for number, step in enumerate(steps):
            node, out = step.node, step.node.outputs[0]
            if node.op.name == "mean":
                self._means.append(step)
                value = f"a{len(self._read)}() / {math.prod(likes[id(node.inputs[0])][0])}"
                self._read.append(step.outs[0])
            else:
                value = _TEXT[node.op.name].format(*map(name, node.inputs))
            names[id(out)] = f"v{number}"
            lines.append(f"        v{number} = {value}")
            if wanted(out):
                last.append(f"        w{len(self._write)}(v{number})")
                self._write.append(step.outs[0])
        given = ", ".join([*(f"a{i}" for i in range(len(self._read))), *(f"w{i}" for i in range(len(self._write)))])
        space: dict[str, Any] = {}
        exec("\n".join([f"def make({given}):", "    def run():", *lines, *last, "    return run"]), space)
        self._make = space["make"]

    def before(self) -> list[Call]:
        """The calls that the means among the steps need first."""
        return [step.calls[0].call for step in self._means]

    def call(self, operand: Callable[[Symbol], Any]) -> Call:
        """The function, for the arrays as they are."""
        arrays = [v if isinstance(v, np.ndarray) else operand(v) for v in self._read]
        return self._make(*(a.item for a in arrays), *(out.fill for out in self._write))


def runs_of_numbers(steps: Sequence[Any], likes: Mapping[int, Like], left: Mapping[int, Any]) -> list[tuple[int, int]]:
    """(first, after the last) of each stretch of steps that can be one function. Means come first in it, since their
    sums are taken before anything else of it is computed."""
    found: list[tuple[int, int]] = []
    first, closed = 0, True
    for position, step in enumerate([*steps, None]):
        node = getattr(step, "node", None)
        fits = node is not None and _fits(step, likes, left)
        begins = fits and node is not None and node.op.name == "mean"
        if not closed and (not fits or (begins and steps[position - 1].node.op.name != "mean")):
            if position - first >= SHORTEST:
                found.append((first, position))
            closed = True
        if fits and closed:
            first, closed = position, False
    return found


def _fits(step: Any, likes: Mapping[int, Like], left: Mapping[int, Any]) -> bool:
    node = step.node
    if not step.outs or step.outs[0].ndim or id(node.outputs[0]) in left or not is_number(node, likes):
        return False
    if any(isinstance(v, Shared) for v in node.inputs):
        return False  # its array may be another one at the next call
    return node.op.name != "mean" or len(step.calls) == 2
