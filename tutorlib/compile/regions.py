"""Which elementwise ops can run as one pass over their data: the regions that fusion records and backends run.

A region is a set of elementwise nodes whose results have one shape, joined by what they read and give, and sums over
everything that end them. Nothing outside lies on a way from one of its nodes to another, so it can run as a whole. A
backend reads a region through ``Region.steps``: op (``op.c`` is its C expression), operands, result, in order.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from tutorlib.compile.buffers import Like
from tutorlib.core.aval import Dim
from tutorlib.core.graph import Constant, Node, Op, Shared, Symbol

# Below so many elements a whole array stays in the cache anyway, and a pass gains nothing.
LARGE = 65_536
# Nor does a pass of fewer ops.
SHORTEST = 3
SUMS = frozenset({"sum", "mean"})
# A number stretched to the pass's shape is that number, inside it.
STRETCH = "broadcast_like"

Shape = tuple[Dim, ...]


class Region(NamedTuple):
    """One pass. ``nodes`` in the order they run; ``inputs``: what they read from outside, constants included, each
    once; ``outputs``: what is used outside; ``shape``: of the pass, None for a length that is not known yet."""

    nodes: tuple[Node, ...]
    inputs: tuple[Symbol, ...]
    outputs: tuple[Symbol, ...]
    shape: Shape

    @property
    def steps(self) -> list[tuple[Op, tuple[Symbol, ...], Symbol]]:
        """(op, operands, result) of each node; attributes are in ``nodes``. A number that is stretched to the pass's
        shape stands as that number, so all ops but sums are elementwise ones, unless the stretched one is an output."""
        outputs = {id(v) for v in self.outputs}
        same = inside_only(self.nodes, lambda v: id(v) in outputs)
        return [
            (node.op, tuple(same.get(id(v), v) for v in node.inputs), node.outputs[0])
            for node in self.nodes
            if id(node.outputs[0]) not in same
        ]

    @property
    def sums(self) -> list[Node]:
        """The nodes that add up everything; the rest is elementwise."""
        return [node for node in self.nodes if node.op.name in SUMS]


def pass_over(node: Node) -> Symbol:
    """The variable that has the shape of the pass which ``node`` may be part of: its result, of a sum its operand."""
    return node.inputs[0] if node.op.name in SUMS else node.outputs[0]


def inside_only(nodes: Sequence[Node], is_output: Callable[[Symbol], bool]) -> dict[int, Symbol]:
    """By id of variable: the number that it is, stretched to the pass's shape, where nothing else wants it whole."""
    return {id(n.outputs[0]): n.inputs[0] for n in nodes if n.op.name == STRETCH and not is_output(n.outputs[0])}


def shape_when_built(node: Node) -> Shape | None:
    """The shape of the pass that a node may be part of, as far as it is known before a call; None for none.

    Where lengths are not known they are taken to be large enough and to agree; who runs the region asks again.
    """
    shape = pass_over(node).aval.shape if node.inputs else ()
    if not shape or (None not in shape and math.prod(shape) < LARGE):
        return None
    if node.op.name in SUMS:
        return shape
    return shape if all(v.node is None or _may_fit(v.aval.shape, shape) for v in node.inputs) else None


def _may_fit(given: Shape, shape: Shape) -> bool:
    """Whether an operand may have the pass's shape, or has one element."""
    if given == shape or all(d == 1 for d in given):
        return True
    return len(given) == len(shape) and all(a == b or a is None or b is None for a, b in zip(given, shape, strict=True))


def shape_when_run(likes: Mapping[int, Like]) -> Callable[[Node], Shape | None]:
    """As ``shape_when_built``, for the shapes of a call: ``likes`` by id of variable."""

    def shape_of(node: Node) -> Shape | None:
        shape = shape_now(pass_over(node), likes)
        if math.prod(shape) < LARGE:
            return None
        return shape if node.op.name in SUMS or all(_fits(v, shape, likes) for v in node.inputs) else None

    return shape_of


def shape_now(var: Symbol, likes: Mapping[int, Like]) -> tuple[int, ...]:
    """The shape of a value at a call; ``likes`` tells those of inputs and results."""
    if id(var) in likes:
        return likes[id(var)][0]
    if isinstance(var, Shared):
        return tuple(var.storage.value.shape)
    return tuple(getattr(getattr(var, "value", None), "shape", ()))


def _fits(var: Symbol, shape: Shape, likes: Mapping[int, Like]) -> bool:
    found = shape_now(var, likes)
    return found == shape or all(d == 1 for d in found)


def find_regions(
    nodes: Sequence[Node],
    joins: Callable[[Node], bool],
    shape_of: Callable[[Node], Shape | None],
    ends: Collection[int],
    shortest: int = SHORTEST,
) -> list[Region]:
    """The regions of ``nodes`` (in topological order), in an order in which they can run.

    Args:
        joins: whether an op may be part of a pass at all.
        shape_of: the shape of the pass that a node may be part of, or None.
        ends: ids of variables that are results whoever else uses them.
        shortest: smaller regions are left out.
    """
    shapes = {id(n): shape for n in nodes if (shape := shape_of(n)) is not None and joins(n)}
    if len(shapes) < shortest:
        return []
    # Regions and what lies between them take turns: even numbers for regions, odd ones for what follows them.
    turn: dict[int, int] = {}
    maker: dict[int, Node] = {}
    head: dict[int, int] = {}  # by id of node: another one of its region
    reader: dict[tuple[int, int, Shape], int] = {}

    def first_of(key: int) -> int:
        while head[key] != key:
            head[key] = key = head[head[key]]
        return key

    for node in nodes:
        shape, when, key = shapes.get(id(node)), -1, id(node)
        for var in node.inputs:
            above = maker.get(id(var))
            if above is None:
                continue
            at = turn[id(above)]
            if at % 2 == 0 and (shape is None or above.op.name in SUMS or shapes[id(above)] != shape):
                at += 1
            when = max(when, at)
        maker.update((id(v), node) for v in node.outputs)
        if shape is None:
            turn[key] = when
            continue
        turn[key] = when = when + when % 2
        head[key] = key
        for var in node.inputs:
            above = maker.get(id(var))
            inside = above is not None and id(above) in shapes and above.op.name not in SUMS
            if inside and turn[id(above)] == when and shapes[id(above)] == shape:
                head[first_of(key)] = first_of(id(above))
            elif var.aval.shape and not isinstance(var, Constant):
                # Two that read one array go together; which of them read it in this turn is remembered.
                other = reader.setdefault((id(var), when, shape), key)
                head[first_of(key)] = first_of(other)
    groups: dict[int, list[Node]] = {}
    for node in nodes:
        if id(node) in shapes:
            groups.setdefault(first_of(id(node)), []).append(node)
    kept = [g for g in groups.values() if len(g) >= shortest]
    kept.sort(key=lambda g: turn[id(g[0])])
    return [_region(g, shapes[id(g[0])], nodes, ends) for g in kept] if kept else []


def _region(group: Sequence[Node], shape: Shape, nodes: Sequence[Node], ends: Collection[int]) -> Region:
    inside = {id(n) for n in group}
    made = {id(n.outputs[0]) for n in group}
    used = {id(v) for n in nodes if id(n) not in inside for v in n.inputs if id(v) in made}
    inputs = {id(v): v for n in group for v in n.inputs if id(v) not in made}
    seen = [n.outputs[0] for n in group if id(n.outputs[0]) in used or id(n.outputs[0]) in ends]
    return Region(tuple(group), tuple(inputs.values()), tuple(seen), shape)


def in_passes(nodes: Sequence[Node], regions: Sequence[Region]) -> tuple[list[Node], dict[int, list[Node]]]:
    """The nodes in an order that puts each region together, and by position of its first node: its nodes."""
    if not regions:
        return list(nodes), {}
    unit = {id(node): i for i, node in enumerate(nodes)}
    members = {i: [node] for i, node in enumerate(nodes)}
    for region in regions:
        last = max(unit[id(n)] for n in region.nodes)
        for node in region.nodes:
            del members[unit[id(node)]]
            unit[id(node)] = last
        members[last] = list(region.nodes)
    maker = {id(v): unit[id(n)] for n in nodes for v in n.outputs}
    waits: dict[int, set[int]] = {number: set() for number in members}
    followers: dict[int, set[int]] = {number: set() for number in members}
    for node in nodes:
        mine = unit[id(node)]
        for var in node.inputs:
            needed = maker.get(id(var), mine)
            if needed != mine:
                waits[mine].add(needed)
                followers[needed].add(mine)
    ready = [number for number, above in waits.items() if not above]
    heapq.heapify(ready)
    order: list[Node] = []
    runs: dict[int, list[Node]] = {}
    while ready:
        number = heapq.heappop(ready)
        if len(members[number]) > 1:
            runs[len(order)] = members[number]
        order += members[number]
        for follower in followers[number]:
            waits[follower].discard(number)
            if not waits[follower]:
                heapq.heappush(ready, follower)
    return order, runs
