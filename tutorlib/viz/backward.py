"""The gradients of a static graph, one for each variable, read back from the walk that made their nodes.

A gradient rule builds several nodes (`safe_mul`, `transpose`, `unbroadcast`, …). The trail of the walk says which of
them ends as the gradient of which variable, so that they can be drawn as one, like those of a recorded graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tutorlib.core.graph import Constant
from tutorlib.core.toposort import toposort
from tutorlib.viz.face import shorten
from tutorlib.viz.gradients import Flow, add_in_order
from tutorlib.viz.model import Drawing, draw_graph
from tutorlib.viz.names import cost_name, gradient_name

__all__ = ["Backward", "backward_of_graph", "draw_folded", "rename", "set_gradients"]

_SMALL = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass
class Gradient:
    """The gradient of `var`: the symbol that gives it, what each use of `var` adds, the nodes that compute it."""

    var: Any
    symbol: Any
    uses: list[tuple[Any, int, Any]]
    nodes: list[Any] = field(default_factory=list)


@dataclass
class Backward:
    """The gradients of one cost in a graph whose nodes are `order`, by id of variable, those nearest to the cost first.

    `after` are ids of the nodes that compute with gradients; `asked` the variables whose gradient they use.
    """

    cost: Any
    order: list[Any]
    gradients: dict[int, Gradient]
    after: set[int]
    asked: list[Any]

    def folded(self) -> set[int]:
        """Ids of the nodes that are part of a gradient."""
        return {id(node) for gradient in self.gradients.values() for node in gradient.nodes}


def backward_of_graph(roots: Sequence[Any], wrt: Sequence[Any] = ()) -> list[Backward]:
    """The gradients that the graph above `roots` contains, by cost; none where they are not surely told apart.

    Where `wrt` is given, the first root is a cost and the others are its gradients. Not told apart are second
    derivatives, gradients of a cost that the graph does not compute, a symbol that is used and is the gradient of two
    variables, and those in a graph that rewrites have changed.
    """
    order = toposort(roots)
    back = [node for node in order if node.role == "backward"]
    trails = {id(node.meta.trail): node.meta.trail for node in back}
    if not back or not all(trails.values()):
        return []
    after = _after(order)
    used = [*(roots[:1] if wrt else roots), *(var for node in order if node.role != "backward" for var in node.inputs)]
    asked = _asked(used, wrt, trails)
    if asked is None:
        return []
    lasts = {id(trail[0][0]): trail[0][0] for trail in trails.values()}
    found = []
    for last in [node for node in order if id(node) in lasts]:
        own = {key: trail for key, trail in trails.items() if trail[0][0] is last}
        one = _of_cost(last, order, own, asked, after)
        if one is None:
            return []
        found.append(one)
    if len(found) < len(lasts):
        return []
    return found if set().union(*(one.folded() for one in found)) == {id(node) for node in back} else []


def _of_cost(
    last: Any, order: list[Any], trails: Mapping[int, list[Any]], asked: Mapping[int, list[Any]], after: set[int]
) -> Backward | None:
    """The gradients of the cost that node `last` gives, from the trails of the walks that started there."""
    if last.op.nout != 1:
        return None
    place = {id(node): at for at, node in enumerate(order)}
    cost = last.outputs[0]
    gradients: dict[int, Gradient] = {id(cost): Gradient(cost, None, [])}
    for key, trail in trails.items():
        found = _gradients(trail, cost, asked[key])
        for name, gradient in found.items():
            gradient.uses.sort(key=lambda use: (place.get(id(use[0]), 0), use[1]))
            known = gradients.setdefault(name, gradient)
            if [(id(c), port) for c, port, _ in known.uses] != [(id(c), port) for c, port, _ in gradient.uses]:
                return None
        _share_out(found, place)
        for name, gradient in found.items():
            if gradients[name] is not gradient:
                gradients[name].nodes += [node for node in gradient.nodes if node not in gradients[name].nodes]
    consumers = {id(last): last} | {id(c): c for g in gradients.values() for c, _, _ in g.uses}
    drawn = all(id(c) in place and id(c) not in after and c.role == "forward" for c in consumers.values())
    if not drawn or any(c.op.nout != 1 for c in consumers.values()):
        return None
    return Backward(cost, order, gradients, after, [var for key in trails for var in asked[key]])


def _after(order: Sequence[Any]) -> set[int]:
    """Ids of the nodes of a learner that compute with gradients."""
    after: set[int] = set()
    for node in order:
        made_by = [v.node for v in node.inputs if getattr(v, "node", None) is not None]
        if node.role != "backward" and any(n.role == "backward" or id(n) in after for n in made_by):
            after.add(id(node))
    return after


def _asked(used: Sequence[Any], wrt: Sequence[Any], trails: Mapping[int, list[Any]]) -> dict[int, list[Any]] | None:
    """The variables whose gradients are wanted, by id of trail: those in `wrt`, and those with a gradient in `used`.

    None where something else of a trail is used.
    """
    symbols = {id(v): v for v in used if getattr(v, "node", None) is not None and v.node.role == "backward"}
    asked: dict[int, list[Any]] = {}
    for key, trail in trails.items():
        reached = {id(var) for _, var, _, _ in trail}
        asked[key] = [var for var in wrt if id(var) in reached]
    for symbol in symbols.values():
        trail = symbol.node.meta.trail
        totals = {id(var): total for _, var, _, total in trail}
        variables = {id(var): var for _, var in symbol.derivative_of if totals.get(id(var)) is symbol}
        if len(variables) != 1:
            return None
        asked[id(trail)] += variables.values()
    return asked


def _gradients(trail: Sequence[Any], cost: Any, asked: Sequence[Any]) -> dict[int, Gradient]:
    """The gradients that those of the variables `asked` are made from, in the order of the walk."""
    all_: dict[int, Gradient] = {}
    before: tuple[Any, int] = (None, -1)
    for consumer, var, part, total in trail:
        start = before[1] + 1 if before[0] is consumer else 0
        port = next(at for at in range(start, len(consumer.inputs)) if consumer.inputs[at] is var)
        before = (consumer, port)
        found = all_.setdefault(id(var), Gradient(var, None, []))
        found.symbol = total
        found.uses.append((consumer, port, part))
    wanted = {id(var) for var in asked}
    stack = list(asked)
    while stack:
        for consumer, _, _ in all_[id(stack.pop())].uses:
            out = consumer.outputs[0]
            if id(out) not in wanted and out is not cost:
                wanted.add(id(out))
                stack.append(out)
    return {name: gradient for name, gradient in all_.items() if name in wanted}


def _share_out(gradients: Mapping[int, Gradient], place: Mapping[int, int]) -> None:
    """Give every node to the gradient that it helps to compute; one that an op passes on stays with that op's."""
    ends = {id(g.symbol.node) for g in gradients.values() if g.symbol.node is not None}
    taken: set[int] = set()
    for gradient in gradients.values():
        stack = [gradient.symbol.node]
        while stack:
            node = stack.pop()
            if node is None or node.role != "backward" or id(node) in taken:
                continue
            if id(node) in ends and node is not gradient.symbol.node:
                continue
            taken.add(id(node))
            gradient.nodes.append(node)
            stack += [getattr(var, "node", None) for var in node.inputs]
        gradient.nodes.sort(key=lambda node: place[id(node)])


def draw_folded(
    roots: Sequence[Any], results: Sequence[Any], wrt: Sequence[Any], limit: int
) -> tuple[Drawing, Flow] | None:
    """The graph above `roots` with one node for each gradient in it; None where `backward_of_graph` finds none.

    The gradients are those of a cost called L, see `rename`; those of several costs are named after each.
    """
    every = backward_of_graph(roots, wrt)
    if not every:
        return None
    order, out = every[0].order, set().union(*(found.folded() for found in every))
    if len(order) - len(out) > limit:
        return None
    flow = Flow()

    def fold(drawing: Drawing) -> None:
        costs = _cost_names([drawing.node(drawing.ids[id(one.cost.node)])["name"] for one in every])
        for found, cost in zip(every, costs, strict=True):
            before = len(flow.steps)
            fold_one(drawing, found)
            if len(every) > 1:
                flow.costs |= dict.fromkeys(flow.steps[before:], cost)

    def fold_one(drawing: Drawing, found: Backward) -> None:
        uses = {name: [(c, port) for c, port, _ in g.uses] for name, g in found.gradients.items()}
        made = add_in_order(drawing, flow, list(drawing.order), found.cost, uses)
        for name, gradient in found.gradients.items():
            shown = drawing.node(made[name])
            shown["inside"] = [node.op.name for node in gradient.nodes]
            drawing.ids |= {id(node): made[name] for node in gradient.nodes}
            parts = [part for _, _, part in gradient.uses]
            for part, (consumer, _, symbol) in zip(flow.parts[made[name]], gradient.uses, strict=True):
                part.symbol = symbol
                part.above_of = made[id(consumer.outputs[0])]
            drawing.inner |= {id(symbol): None for symbol in (gradient.symbol, *parts)}
            drawing.symbols[made[name]] = gradient.symbol
        # What stands for a symbol that several variables have as their gradient is the one somebody asked for.
        for var in found.asked:
            ends = found.gradients[id(var)].symbol.node
            if ends is not None and ends.role == "backward":
                drawing.ids[id(ends)] = made[id(var)]
            of = drawing.id_of(var)
            if of is not None:
                drawing.targets[made[id(var)]] = of

    # A gradient that is a number has no node: the root would be drawn as a constant beside it.
    kept = [root for root in roots if root.node is not None or not wrt]
    after = every[0].after
    drawing = draw_graph(kept, results=results, limit=len(order), leave_out=out, late=after, between=fold)
    drawing.running = order
    if flow.costs:
        rename(drawing, flow)
    return drawing, flow


def _cost_names(names: Sequence[str | None]) -> list[str]:
    """What stands above the ∂ of each of several costs: its name; where that is not its own, with a number."""
    said = [cost_name(name) for name in names]
    return [
        cost if said.count(cost) == 1 else f"{cost}{str(at).translate(_SMALL)}" for at, cost in enumerate(said, start=1)
    ]


def rename(drawing: Drawing, flow: Flow) -> None:
    """Name the gradients after the cost of `flow`."""
    for name in flow.steps:
        shown, forward = drawing.node(name), drawing.node(drawing.node(name)["grad_of"])
        shown["name"] = gradient_name(flow.cost_of(name), forward["name"] or forward["label"])
        shown["label"] = shorten(shown["name"])


def set_gradients(drawing: Drawing, flow: Flow) -> None:
    """Give the gradients of a static graph the values that its nodes got."""
    for name, symbol in drawing.symbols.items():
        forward = drawing.node(drawing.node(name)["grad_of"])
        value = drawing.arrays.get(forward["id"])
        if value is None:
            continue
        # Where the walk starts, at the cost, no node gives the gradient.
        array = np.ones_like(value) if symbol is None else _value(drawing, symbol)
        if array is not None:
            drawing.arrays[name] = array
            forward["grad"] = name
            flow.computed = True
    for name, parts in flow.parts.items():
        for part in parts:
            part.above = drawing.arrays.get(part.above_of)
            if len(parts) > 1 or drawing.node(drawing.node(name)["grad_of"])["op"] is None:
                part.array = _value(drawing, part.symbol)


def _value(drawing: Drawing, symbol: Any) -> Any:
    if isinstance(symbol, Constant):
        return np.asarray(symbol.value)
    return drawing.inner.get(id(symbol))
