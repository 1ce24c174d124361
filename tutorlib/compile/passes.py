"""Fusion as a rewrite that can be seen: several ops become one node that names its parts, and holds them.

The graph with these nodes is for looking at, checking and drawing (``f.log`` ends with it). A function runs the parts
themselves, a piece of the data at a time where that is large (see ``tiles``): which shapes are large enough is known at
a call only, and whatever watches values or names a line wants to meet the learner's own ops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.graph_state import GraphState
from tutorlib.compile.regions import STRETCH, SUMS, Region, find_regions, pass_over, shape_when_built
from tutorlib.compile.rewrite_log import RewriteLog, RewriteStep
from tutorlib.compile.rule_table import Rule, active_rules
from tutorlib.compile.subgraph import Subgraph, as_outputs, closed
from tutorlib.core.aval import AVal
from tutorlib.core.building import Meta, building
from tutorlib.core.graph import Constant, Node, Op, Symbol
from tutorlib.ops.define import normalized_axes

# So many parts are named; of more it is said how many there are.
_NAMED = 4


class Fused(Op):
    """Several ops as one: ``body`` is the graph of its parts."""

    def __init__(self, body: Subgraph) -> None:
        parts = [node.op.name for node in body.nodes]
        more = f", … {len(parts)} ops" if len(parts) > _NAMED else ""
        self.body = body
        # An array that the parts hold themselves cannot be cut in pieces.
        self._whole = any(isinstance(v, Constant) and np.size(v.value) != 1 for n in body.nodes for v in n.inputs)
        super().__init__(
            f"fused: {', '.join(parts[:_NAMED])}{more}",
            self._forward,
            self._infer,
            None,
            nout=len(body.outputs),
            doc="Several ops that run as one pass over their data.",
        )

    def _infer(self, *avals: AVal) -> Any:
        return as_outputs(self.body.infer(avals), self.nout)

    def _forward(self, xp: Any, *arrays: Any) -> Any:
        shape = self._shape_of_pass(arrays) if xp is np else None
        results = self.body.run(xp, arrays) if shape is None else self._in_pieces(arrays, shape)
        return as_outputs(results, self.nout)

    def _shape_of_pass(self, arrays: Sequence[Any]) -> tuple[int, ...] | None:
        """The one shape that all parts go through; None where they do not, or there is nothing to cut."""
        known = [v.aval._replace(shape=np.shape(a)) for v, a in zip(self.body.inputs, arrays, strict=True)]
        shapes: set[Any] = {pass_over(node).aval.shape for node in self.body.at(known).nodes}
        shape = shapes.pop()
        fits = all(np.shape(a) == shape or np.size(a) == 1 for a in arrays)
        return shape if fits and not shapes and not self._whole and None not in shape and math.prod(shape) > 1 else None

    def _in_pieces(self, arrays: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
        """The results from two pieces of the data, each gone through by all parts: what a pass does."""
        size = math.prod(shape)
        cuts = [(0, size // 2), (size // 2, size)]
        run = self.body.runner(np)
        pieces = [
            run(*(np.reshape(a, -1)[i:j] if np.size(a) != 1 else np.reshape(a, ()) for a in arrays)) for i, j in cuts
        ]
        results: list[Any] = []
        for number, (var, parts) in enumerate(zip(self.body.outputs, zip(*pieces, strict=True), strict=True)):
            kind = var.node.op.name if var.node is not None else ""
            if kind == "mean":
                total = sum(part * (j - i) for part, (i, j) in zip(parts, cuts, strict=True))
                results.append(np.asarray(total / size, var.dtype))
            elif kind in SUMS:
                results.append(np.asarray(sum(parts), var.dtype))
            else:
                results.append(np.concatenate([np.reshape(part, -1) for part in parts]).reshape(shape))
            if kind in SUMS:
                results[number] = results[number].reshape((1,) * var.ndim)
        return results


def pass_rules() -> list[Rule]:
    """The rules of tier "fuse" that are switched on."""
    return [r for r in active_rules() if r.tier == "fuse"]


def joins_by(rules: Sequence[Rule]) -> Callable[[Node], bool]:
    """Whether some rule lets a node be part of a pass: elementwise ones, stretched numbers, sums over everything."""
    by_op: dict[str, list[Rule]] = {}

    def joins(node: Node) -> bool:
        name = node.op.name
        if name in SUMS:
            ndim = node.inputs[0].ndim
            if len(normalized_axes(node.attrs["axis"], ndim, name)) != ndim:
                return False
        elif name != STRETCH and "elementwise" not in node.op.flags:
            return False
        if name not in by_op:
            by_op[name] = [r for r in rules if name in r.ops or "*" in r.ops]
        return any(r.apply(node) for r in by_op[name])

    return joins


def passes(nodes: Sequence[Node], ends: Sequence[Symbol], updates: int) -> list[Region]:
    """The regions of a function's nodes; ``ends``: its results, the last of them the new values of ``updates`` shared
    variables. What computes such a value may run in the variable's own array, after everything else, so it is left
    out."""
    rules = pass_rules()
    if not rules:
        return []
    joins = joins_by(rules)
    last = {id(v.node) for v in ends[len(ends) - updates :]}
    return find_regions(nodes, lambda n: id(n) not in last and joins(n), shape_when_built, {id(v) for v in ends})


def record(
    graph: GraphState,
    log: RewriteLog,
    regions: Collection[Region],
    check: Callable[[Symbol, Symbol], float | None] | None,
) -> None:
    """Put each region into the log as one step, and leave the graph as it was before them: so it runs."""
    for region in regions:
        node = _as_node(region)
        worst: float | None = None
        for old, new in zip(region.outputs, node.outputs, strict=True):
            new.name = old.name
            if check is not None:
                found = check(old, new)
                worst = found if worst is None else max(worst, found or 0.0)
        exchanges = [graph.exchange(old, new) for old, new in zip(region.outputs, node.outputs, strict=True)]
        rule = "fuse_sums" if region.sums else "fuse_elementwise"
        parts = ", ".join(n.op.name for n in region.nodes)
        says = f"one pass instead of {len(region.nodes)}: {parts}"
        place = region.nodes[-1].made_at
        step = RewriteStep(len(log) + 1, rule, says, region.outputs[0], node.outputs[0], place, worst)
        log.add_pass(step, exchanges)
    log.rest()


def _as_node(region: Region) -> Node:
    inside = {id(n) for n in region.nodes}
    body, captured = closed(region.outputs, [], lambda n: id(n) in inside)
    with building.using(Meta("rewrite", region.nodes[-1].origin or region.nodes[-1], region.nodes[0].scope)):
        node = Node(Fused(body), tuple(captured), {}, region.nodes[-1].place)
    avals = [v.aval for v in region.outputs]
    node.outputs = tuple(Symbol(aval, node, i) for i, aval in enumerate(avals))
    return node
