"""From a graph with loops and branches in it to the one that runs: nothing computed that nobody wants.

Four things happen, in this order. What only one branch of an ``ifelse`` needs moves into that branch, so that it runs
only if the branch is taken. Results that nobody uses (the history a gradient would need, say) are dropped from loops
and branches, with the operands that only they needed. The graphs inside are rewritten, as the outer one was. What a
scan need not do step by step moves out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tutorlib.compile.graph_state import copied
from tutorlib.compile.ifelse import BRANCHES, IfElse, assembled
from tutorlib.compile.scan_op import ScanOp
from tutorlib.compile.scan_outside import lifted
from tutorlib.compile.subgraph import ControlOp, Prepared, Rewrite, remade
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.toposort import toposort

# Rewrites a graph inside a node: (outputs, the node) → outputs.
RewriteInside = Callable[[list[Symbol], Node], list[Symbol]]


def prepared(roots: list[Symbol], rewrite: RewriteInside, nodes: Sequence[Node] | None = None) -> list[Symbol]:
    """``roots`` in the form that runs; ``rewrite`` does for the graphs inside what was done for this one. ``nodes``: of
    the roots, where they are known."""
    if not any(isinstance(node.op, ControlOp) for node in (toposort(roots) if nodes is None else nodes)):
        return roots
    return _lifted(_trimmed(_sunk(roots), rewrite))


def plainly(roots: list[Symbol]) -> list[Symbol]:
    """``roots`` in the form that runs, with no rewrite anywhere."""
    if not any(isinstance(node.op, ControlOp) for node in toposort(roots)):
        return roots
    return _trimmed(_sunk(roots), lambda inner, node: plainly(inner))


# ---- what only one branch needs ----

Home = tuple[int, str]  # an ifelse node (its id) and one of its branches


def _homes(roots: Sequence[Symbol], nodes: Sequence[Node]) -> dict[int, Home]:
    """By id of node: the branch that alone needs it."""
    uses: dict[int, list[tuple[Node | None, int]]] = {}
    for v in roots:
        uses.setdefault(id(v), []).append((None, 0))
    for node in nodes:
        for i, v in enumerate(node.inputs):
            uses.setdefault(id(v), []).append((node, i))
    sole: dict[int, dict[int, str]] = {}  # of an ifelse: the operands that one branch alone reads
    for node in nodes:
        if isinstance(node.op, IfElse):
            reads = {branch: {i + 1 for i in node.attrs[branch].used()} for branch in BRANCHES}
            first, second = (reads[branch] for branch in BRANCHES)
            sole[id(node)] = {i: BRANCHES[0] for i in first - second} | {i: BRANCHES[1] for i in second - first}
    home: dict[int, Home] = {}
    for node in reversed(nodes):
        places: set[Home | None] = set()
        for v in node.outputs:
            for user, i in uses.get(id(v), ()):
                branch = sole.get(id(user), {}).get(i)
                places.add((id(user), branch) if branch is not None else home.get(id(user)))
        if len(places) == 1 and (only := places.pop()) is not None:
            home[id(node)] = only
    return home


def _sunk(roots: list[Symbol]) -> list[Symbol]:
    nodes = toposort(roots)
    home = _homes(roots, nodes)
    if not home:
        return roots
    receiving = {node for node, _ in home.values()}
    new: dict[int, Symbol] = {}
    moved: dict[int, Home] = {}  # `home` for the nodes as they are now
    for node in nodes:
        inputs = tuple(new.get(id(v), v) for v in node.inputs)
        if id(node) in receiving:
            made = _with_more_inside(node, inputs, moved)
        elif any(a is not b for a, b in zip(inputs, node.inputs, strict=True)):
            made = copied(node, inputs)
        else:
            made = node
        if made is not node:
            new.update({id(old): v for old, v in zip(node.outputs, made.outputs, strict=True)})
        if id(node) in home:
            moved[id(made)] = home[id(node)]
    return [new.get(id(v), v) for v in roots]


def _with_more_inside(node: Node, inputs: tuple[Symbol, ...], home: dict[int, Home]) -> Node:
    operands = inputs[1:]
    outer = {id(v) for v in operands}
    opened = {branch: node.attrs[branch].opened(operands) for branch in BRANCHES}
    inside = {id(n) for outs in opened.values() for n in toposort(outs, stop=lambda v: id(v) in outer)}
    mine = {(id(node), branch) for branch in BRANCHES}
    attrs, captured = assembled(
        opened[BRANCHES[0]], opened[BRANCHES[1]], lambda n: id(n) in inside or home.get(id(n)) in mine
    )
    return remade(node.op, (inputs[0], *captured), attrs, node)


# ---- what nobody uses ----


def _trimmed(roots: list[Symbol], rewrite: RewriteInside) -> list[Symbol]:
    nodes = toposort(roots)
    used = {id(v) for v in roots}
    plans: dict[int, Prepared] = {}
    for node in reversed(nodes):
        if not any(id(v) in used for v in node.outputs):
            continue
        if isinstance(node.op, ControlOp):
            inside: Rewrite = partial(_inside, rewrite, node)
            plan = node.op.prepare(node, [id(v) in used for v in node.outputs], inside)
            plans[id(node)] = plan
            used.update(id(node.inputs[i]) for i in plan.operands)
        else:
            used.update(map(id, node.inputs))
    new: dict[int, Symbol] = {}
    for node in nodes:
        if not any(id(v) in used for v in node.outputs):
            continue
        inputs: Any = tuple(new.get(id(v), v) for v in node.inputs)
        found = plans.get(id(node))
        if found is not None:
            made = remade(found.op, [inputs[i] for i in found.operands], found.attrs, node)
            kept = [node.outputs[i] for i in found.outputs]
        elif any(a is not b for a, b in zip(inputs, node.inputs, strict=True)):
            made, kept = copied(node, inputs), list(node.outputs)
        else:
            continue
        for old, v in zip(kept, made.outputs, strict=True):
            v.name = old.name
            new[id(old)] = v
    return [new.get(id(v), v) for v in roots]


# ---- what a scan need not do step by step ----


def _lifted(roots: list[Symbol]) -> list[Symbol]:
    new: dict[int, Symbol] = {}
    for node in toposort(roots):
        inputs: Any = tuple(new.get(id(v), v) for v in node.inputs)
        results = lifted(node, inputs) if isinstance(node.op, ScanOp) else None
        if results is None:
            if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
                continue
            results = list(copied(node, inputs).outputs)
        for old, v in zip(node.outputs, results, strict=True):
            v.name = v.name or old.name
            new[id(old)] = v
    return [new.get(id(v), v) for v in roots]


def _inside(rewrite: RewriteInside, node: Node, outputs: list[Symbol]) -> list[Symbol]:
    return rewrite(outputs, node)
