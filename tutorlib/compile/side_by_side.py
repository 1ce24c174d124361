"""Updates of many small variables as one call: the variables lie side by side in memory, and so do their changes.

A NumPy call on few elements costs what the call costs, and a network has many small weights and biases. Their arrays
move into one: each variable's value is a view of it from then on. The changes are computed in their places in a joined
array (see ``joins``), and one call takes them all. A change ``c·w + g``, as weight decay makes it, is put together for
all variables too. The graph and its log know nothing of it; the printed program has one line for all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from tutorlib.compile.buffers import Like
from tutorlib.compile.lower_side_by_side import EACH, SCALED, as_one
from tutorlib.compile.matching import made_by
from tutorlib.compile.rules_factors import number_and_rest
from tutorlib.core.aval import AVal
from tutorlib.core.graph import Constant, Node, Op, Shared, Symbol
from tutorlib.ops.define import TABLE

# Of a variable of more elements the call is cheap beside the work.
FEW = 4096
# The arrays of which values of variables are views, by id.
_together: WeakValueDictionary[int, np.ndarray] = WeakValueDictionary()


class Change(NamedTuple):
    """What a variable is updated by: variable ± (decay · variable + change). ``uses`` are the nodes that say so, the
    update first; ``decay`` is None where there is no such term."""

    variable: Shared
    change: Symbol
    decay: Constant | None
    uses: tuple[Node, ...]

    @property
    def size(self) -> int:
        return int(self.variable.storage.value.size)


class Program:
    """The nodes of a schedule with updates joined.

    Attributes: ``nodes``; ``direct``, by id of node the variable that it is computed into (of a joined update: one of
    them); ``likes`` with what is new; ``moved``, the variables whose values are to be views of one array, in order.
    """

    def __init__(self, nodes: Sequence[Node], direct: Mapping[int, Shared], likes: Mapping[int, Like]) -> None:
        self.nodes, self.direct, self.likes = list(nodes), dict(direct), dict(likes)
        self.moved: list[list[Shared]] = []


def joined_updates(
    nodes: Sequence[Node], direct: Mapping[int, Shared], likes: Mapping[int, Like], ends: Sequence[Symbol]
) -> Program | None:
    """The program with updates of small variables joined; None where there are none to join.

    ``direct``: by id of node, the variable that it is computed into; ``ends``: the results and new values.
    """
    groups = _groups(nodes, direct, likes, ends)
    if not groups:
        return None
    program = Program(nodes, direct, likes)
    for (name, _), changes in groups:
        _join(program, TABLE[name], changes)
    return program


def _groups(
    nodes: Sequence[Node], direct: Mapping[int, Shared], likes: Mapping[int, Like], ends: Sequence[Symbol]
) -> list[tuple[tuple[str, Any], list[Change]]]:
    small = [(n, direct[id(n)]) for n in nodes if id(n) in direct and n.op.name in ("add", "sub")]
    small = [(node, variable) for node, variable in small if _is_small(variable)]
    if len(small) < 2:
        return []
    uses = Counter([id(v) for node in nodes for v in node.inputs] + [id(v) for v in ends])
    known = {id(n) for n in nodes}
    groups: dict[tuple[str, Any], list[Change]] = {}
    for node, variable in small:
        found = _change(node, variable, uses, likes, known)
        if found is not None:
            groups.setdefault((node.op.name, variable.dtype), []).append(found)
    return [(key, left) for key, changes in groups.items() if len(left := _movable(_ordered(changes))) > 1]


def _is_small(variable: Shared) -> bool:
    value = variable.storage.value
    return (
        type(value) is np.ndarray
        and value.dtype.name in ("float32", "float64")
        and 0 < value.size <= FEW
        and value.flags.c_contiguous
        and not variable.storage.lent
    )


def _change(
    node: Node, variable: Shared, uses: Mapping[int, int], likes: Mapping[int, Like], known: set[int]
) -> Change | None:
    like = (variable.storage.value.shape, variable.storage.value.dtype)

    def is_computed(var: Symbol) -> bool:
        return var.node is not None and id(var.node) in known and likes[id(var)] == like

    x, y = node.inputs
    change = y if x is variable else x if node.op.name == "add" else variable
    if not is_computed(change):
        return None
    total = made_by(change, "add") if uses[id(change)] == 1 else None
    for scaled, rest in (total.inputs, total.inputs[::-1]) if total is not None else ():
        product = made_by(scaled, "mul") if uses[id(scaled)] == 1 and is_computed(scaled) else None
        if product is None or total is None or number_and_rest(product) is None or not is_computed(rest):
            continue
        number, w = product.inputs if isinstance(product.inputs[0], Constant) else product.inputs[::-1]
        if w is variable and isinstance(number, Constant):
            return Change(variable, rest, number, (node, total, product))
    return Change(variable, change, None, (node,))


def _ordered(changes: list[Change]) -> list[Change]:
    """With those of one decay beside each other; a decay of one variable alone is left as it is."""
    alike = Counter(_number(c.decay) for c in changes)
    plain = [
        c if alike[_number(c.decay)] > 1 else Change(c.variable, _whole_change(c), None, c.uses[:1]) for c in changes
    ]
    return sorted(plain, key=lambda c: (c.decay is None, _number(c.decay)))


def _whole_change(change: Change) -> Symbol:
    return change.uses[1].outputs[0] if change.decay is not None else change.change


def _number(decay: Constant | None) -> float:
    return float(np.asarray(decay.value)) if decay is not None else 0.0


def _movable(changes: list[Change]) -> list[Change]:
    """Those whose arrays may move: all, where they lie side by side already; else those that do not lie beside
    others."""
    if as_one([c.variable.storage.value for c in changes]) is not None:
        return changes
    return _ordered([c for c in changes if id(c.variable.storage.value.base) not in _together])


def lay_side_by_side(variables: Sequence[Shared]) -> None:
    """Make the values of variables views of one array, in this order."""
    values = [v.storage.value for v in variables]
    if as_one(values) is not None:
        return
    one, start = np.empty(sum(value.size for value in values), values[0].dtype), 0
    _together[id(one)] = one
    for variable, value in zip(variables, values, strict=True):
        place = one[start : start + value.size].reshape(value.shape)
        place[...] = value
        variable.storage.value = place
        start += value.size


# ---- the nodes ----


def _join(program: Program, op: Op, changes: list[Change]) -> None:
    first = changes[0].uses[0]

    def made(op: Op, inputs: Sequence[Symbol], size: int, **attrs: Any) -> Symbol:
        node = Node(op, tuple(inputs), attrs, first.place)
        node.meta = first.meta
        var = Symbol(AVal((size,), changes[0].variable.dtype), node)
        node.outputs = (var,)
        program.nodes.append(node)
        program.likes[id(var)] = ((size,), var.dtype)
        return var

    def flat(parts: Sequence[Change]) -> Iterator[Symbol]:
        for part in parts:
            shape = program.likes[id(part.change)][0]
            yield part.change if len(shape) == 1 else made(TABLE["reshape"], [part.change], part.size, shape=(-1,))

    gone = {id(node) for change in changes for node in change.uses}
    program.nodes = [n for n in program.nodes if id(n) not in gone]
    late = [n for n in program.nodes if id(n) in program.direct]
    program.nodes = [n for n in program.nodes if id(n) not in program.direct]
    parts: list[Symbol] = []
    for number in dict.fromkeys(_number(c.decay) for c in changes if c.decay is not None):
        decayed = [c for c in changes if c.decay is not None and _number(c.decay) == number]
        size = sum(c.size for c in decayed)
        variables = [c.variable for c in decayed]
        scaled = made(SCALED, variables, size, by=number)
        parts.append(made(TABLE["add"], [scaled, made(TABLE["concatenate"], [*flat(decayed)], size, axis=0)], size))
    parts += flat([c for c in changes if c.decay is None])
    size = sum(c.size for c in changes)
    whole = made(TABLE["concatenate"], parts, size, axis=0) if len(parts) > 1 else parts[0]
    variables = [c.variable for c in changes]
    ends = [math.prod(c.variable.storage.value.shape) for c in changes]
    update = Node(EACH[op.name], (*variables, whole), {"ends": tuple(np.cumsum(ends)[:-1].tolist())}, first.place)
    update.meta, update.outputs = first.meta, tuple(c.uses[0].outputs[0] for c in changes)
    program.nodes += [*late, update]
    program.direct = {key: s for key, s in program.direct.items() if key not in gone}
    program.direct[id(update)] = variables[0]
    program.moved.append(variables)
