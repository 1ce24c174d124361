"""A graph with small numbers in it, as a quiz asks about it: its lines, every value, every gradient and its parts.

Which questions are asked, and what is said about an answer, is in `quiz.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.core.walk import ARRAYS, pulled_back
from tutorlib.messages import message
from tutorlib.tools.replay import replay
from tutorlib.viz.formulas import backward_of, forward_of
from tutorlib.viz.names import name_of, put_in, speaks_of_shape

UNKNOWN_DIM = 2
MOST_ELEMENTS = 6
LARGEST = 1000.0
INFIX = {"add": "+", "sub": "−", "mul": "·", "div": "/", "matmul": "@", "lt": "<", "gt": ">", "le": "≤", "ge": "≥"}
# Numbers that are easy in one's head first; positive and small ones for graphs with logarithms, roots and powers.
POOLS = ((-3, -2, -1, 1, 2, 3), (1, 2, 3, 4), (0.5, 1, 1.5, 2))
DRAWS = 20


@dataclass(frozen=True)
class Part:
    """What one use of a variable adds to its gradient: by which operation, at which of its inputs, how much."""

    consumer: Any
    port: int
    array: np.ndarray


@dataclass
class Worked:
    """A recorded graph, worked through: `names`, `arrays`, `grads` and `parts` by id of the tensor."""

    root: Any
    order: list[Any]
    leaves: list[Any]
    names: dict[int, str]
    arrays: dict[int, np.ndarray]
    grads: dict[int, np.ndarray] = field(default_factory=dict)
    parts: dict[int, list[Part]] = field(default_factory=dict)

    @property
    def cost(self) -> str:
        """What gradients are of: the root where it is one number, else `L`, the sum of its elements."""
        return self.names[id(self.root)] if self.root.ndim == 0 else "L"

    def lines(self) -> list[str]:
        """The graph as lines of a program: the leaves with their numbers, then the operations."""
        lines = [f"{self.names[id(leaf)]} = {shown(self.arrays[id(leaf)])}" for leaf in self.leaves]
        lines += [f"{self.names[id(node)]} = {self._operation(node)}" for node in self.order]
        return lines if self.root.ndim == 0 else [*lines, f"L = sum({self.names[id(self.root)]})"]

    def _operation(self, node: Any) -> str:
        operands = [self.said(operand) for operand in node.inputs]
        if node.op.name in INFIX and len(operands) == 2:
            return f"{operands[0]} {INFIX[node.op.name]} {operands[1]}"
        return f"{node.op.name}({', '.join(operands)})"

    def said(self, operand: Any) -> str:
        """An operand's name, or its number where it is a constant."""
        return self.names[id(operand)] if id(operand) in self.names else shown(tl.tensor(operand).numpy())

    def forward_hint(self, node: Any, numbers: bool) -> str:
        """The op's formula with the names of this graph, or with the numbers that go in and a question mark."""
        rule = forward_of(node.op.name)
        if rule is None:
            return self._operation(node)
        say = self._number if numbers else self.said
        letters = {letter: say(thing) for letter, thing in zip(rule.inputs, node.inputs, strict=False) if letter}
        return put_in(rule.text, letters | {rule.output: "?" if numbers else self.names[id(node)]})

    def backward_hint(self, var: Any, numbers: bool) -> str:
        """The local rule of a variable's gradient, with names or with numbers: a sum where it is used several times."""
        rules = [self._backward(part, numbers) for part in self.parts[id(var)]]
        left, equals, _ = rules[0].partition(" = ")
        return left + equals + " + ".join(rule.partition(" = ")[2] or rule for rule in rules)

    def _backward(self, part: Part, numbers: bool) -> str:
        node, rule = part.consumer, backward_of(part.consumer.op.name, part.port)
        if rule is None:
            return self._operation(node)
        numbers = numbers and not speaks_of_shape(rule.text)
        say = self._number if numbers else self.said
        names = {letter: say(thing) for letter, thing in zip(rule.inputs, node.inputs, strict=False) if letter}
        names[rule.output] = say(node)
        own, arriving = rule.inputs[part.port], f"∂L/∂{rule.output}"
        names[arriving] = shown(self.grads[id(node)]) if numbers else self.gradient_name(node)
        names[f"∂L/∂{own}"] = "?" if numbers else self.gradient_name(node.inputs[part.port])
        return put_in(rule.text, names)

    def gradient_name(self, var: Any) -> str:
        return f"∂{self.cost}/∂{self.said(var)}"

    def _number(self, operand: Any) -> str:
        return shown(self.arrays[id(operand)]) if id(operand) in self.arrays else self.said(operand)


def shown(array: Any) -> str:
    """A number or a small array as a learner reads it.

    >>> shown(np.array([1.0, -0.5])), shown(2.0)
    ('[1, -0.5]', '2')
    """
    array = np.asarray(array)
    if array.ndim == 0:
        return f"{array.item():.4g}" if array.dtype.kind in "fc" else str(array.item())
    return f"[{', '.join(shown(part) for part in array)}]"


def worked(root: Any, rng: np.random.Generator, given: Mapping[Any, Any]) -> Worked:
    """The graph of `root` with numbers from `rng` in it, and those that are `given` for some of its inputs.

    Raises TypeError for what is no graph, ValueError where no numbers were found that are easy to compute with.
    """
    if not isinstance(root, tl.Var) or root.node is None:
        raise TypeError(message("lessons.quiz_no_graph"))
    for pool in POOLS:
        for _ in range(DRAWS):
            tensors, renamed = _recorded(root, lambda shape, pool=pool: rng.choice(pool, size=shape), given)
            found = _walked(tensors, renamed)
            if all(_easy(array) for array in (*found.arrays.values(), *found.grads.values())):
                return found
    raise ValueError(message("lessons.quiz_no_values"))


def _easy(array: np.ndarray) -> bool:
    return bool(np.isfinite(array).all() and (np.abs(array.astype(float)) <= LARGEST).all())


def _recorded(root: Any, draw: Any, given: Mapping[Any, Any]) -> tuple[Any, dict[int, str]]:
    """The graph run on new tensors, and the learner's names by id of these."""
    if isinstance(root, tl.Symbol):
        return _from_symbols(root, draw, given)
    return _from_tensors(root, draw, given)


def _from_symbols(root: Any, draw: Any, given: Mapping[Any, Any]) -> tuple[Any, dict[int, str]]:
    numbers = {}
    for leaf in tl.leaves_of([root]):
        if leaf in given:
            numbers[leaf] = given[leaf]
        elif isinstance(leaf, tl.Input):
            shape = tuple(UNKNOWN_DIM if dim is None else dim for dim in leaf.shape)
            numbers[leaf] = draw(shape).astype(leaf.dtype)
    values = replay([root], numbers)
    symbols = [*tl.leaves_of([root]), *(var for node in tl.toposort([root]) for var in node.outputs)]
    pairs = [(symbol, values[id(symbol)]) for symbol in symbols if isinstance(values.get(id(symbol)), tl.Tensor)]
    names = {id(made): name for symbol, made in pairs if (name := name_of(symbol, symbol.node))}
    return values[id(root)], names


def _from_tensors(root: Any, draw: Any, given: Mapping[Any, Any]) -> tuple[Any, dict[int, str]]:
    made: dict[int, Any] = {}
    names = {}
    for leaf in tl.leaves_of([root]):
        if not isinstance(leaf, tl.Tensor):
            continue
        drawn = leaf.requires_grad and leaf.data.size <= MOST_ELEMENTS and leaf.dtype.kind == "f"
        numbers = given[leaf] if leaf in given else draw(leaf.shape) if drawn else leaf.numpy()
        made[id(leaf)] = tl.tensor(np.asarray(numbers, dtype=leaf.dtype), requires_grad=leaf.requires_grad)
        names[id(made[id(leaf)])] = name_of(leaf)
    for node in tl.toposort([root]):
        made[id(node)] = node.op(*(made.get(id(var), var) for var in node.inputs), **node.attrs)
        names[id(made[id(node)])] = name_of(node, node)
    return made[id(root)], {key: name for key, name in names.items() if name}


def _walked(root: Any, names: Mapping[int, str]) -> Worked:
    """Names for everything, and the gradients of the root's sum with their parts."""
    order = tl.toposort([root])
    leaves = [leaf for leaf in tl.leaves_of([root]) if isinstance(leaf, tl.Tensor)]
    free = _free_names(set(names.values()))
    called: dict[int, str] = {}
    for var in [*leaves, *order]:
        own = names.get(id(var))
        called[id(var)] = own if own and own not in called.values() else next(free)
    arrays = {id(var): np.asarray(var.numpy()) for var in [*leaves, *order]}
    found = Worked(root, order, leaves, called, arrays)
    parts: dict[int, list[Part]] = defaultdict(list)
    grads = found.grads
    if root.requires_grad:
        grads[id(root)] = np.ones(root.shape, dtype=root.dtype)
    for node in reversed(order):
        if id(node) not in grads:
            continue
        ports: dict[int, Iterator[int]] = {
            id(var): iter([at for at, other in enumerate(node.inputs) if other is var]) for var in node.inputs
        }
        for var, array in pulled_back(ARRAYS, node, grads[id(node)], _takes_gradient):
            parts[id(var)].append(Part(node, next(ports[id(var)]), np.asarray(array)))
            grads[id(var)] = grads[id(var)] + array if id(var) in grads else np.asarray(array)
    found.parts = dict(parts)
    return found


def _takes_gradient(var: Any) -> bool:
    return isinstance(var, tl.Tensor) and var.requires_grad


def _free_names(taken: set[str]) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        if f"t{number}" not in taken:
            yield f"t{number}"
