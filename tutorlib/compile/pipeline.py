"""From the graph as written to the graph that runs, by mode."""

from __future__ import annotations

from tutorlib.compile import (
    rules_algebra,
    rules_basic,
    rules_collect,
    rules_factors,
    rules_fold,
    rules_fused,
    rules_matmul,
    rules_passes,
    rules_stable,
    rules_stable_gradients,
    rules_steps,
)
from tutorlib.compile.graph_state import GraphState
from tutorlib.compile.passes import passes, record
from tutorlib.compile.regions import Region
from tutorlib.compile.rewrite import Check, rewritten_graph
from tutorlib.compile.rewrite_log import RewriteLog
from tutorlib.compile.subgraph import ControlOp
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.toposort import toposort

# In the order they run; importing them enters their rules.
RULE_MODULES = (
    rules_basic,
    rules_stable,
    rules_stable_gradients,
    rules_fold,
    rules_algebra,
    rules_steps,
    rules_matmul,
    rules_factors,
    rules_collect,
    rules_fused,
    rules_passes,
)


def rewritten(
    roots: list[Symbol], mode: str | None, nodes: list[Node] | None = None
) -> tuple[list[Symbol], RewriteLog]:
    """The outputs to compute and the log of how they came about, in the mode of ``tl.function``. ``nodes``: of the
    roots, where they are known."""
    if mode == "plain":
        from tutorlib.compile.prepare import plainly

        return plainly(roots), RewriteLog(GraphState(roots, nodes))
    log = rewritten_graph(roots, check=_check(roots, mode), nodes=nodes)
    if not any(isinstance(node.op, ControlOp) for node in log.graph.nodes()):
        return log.graph.outputs, log
    from tutorlib.compile.prepare import prepared

    def inside(outputs: list[Symbol], node: Node) -> list[Symbol]:
        found, steps = rewritten(outputs, mode)
        log.enter_inside(node, steps)
        return found

    return prepared(log.graph.outputs, inside, log.graph.nodes()), log


def compiled(
    roots: list[Symbol], updates: int, mode: str | None, nodes: list[Node] | None = None
) -> tuple[list[Symbol], list[Node], list[Region], RewriteLog]:
    """As ``rewritten``, with the nodes that run in topological order and the regions that run as one pass; the last
    ``updates`` roots are new values of shared variables."""
    found, log = rewritten(roots, mode, nodes)
    if mode == "plain":
        return found, toposort(found), [], log
    graph = log.graph
    # Loops and branches are changed once more before they run; the log shows the graph as it was rewritten.
    same = all(a is b for a, b in zip(found, graph.outputs, strict=True))
    nodes = graph.nodes() if same else toposort(found)
    regions = passes(nodes, found, updates)
    shown = regions if same else passes(graph.nodes(), graph.outputs, updates)
    record(graph, log, shown, _check(graph.outputs, mode))
    return list(found), nodes, regions, log


def _check(roots: list[Symbol], mode: str | None) -> Check | None:
    """What compares both sides of a step, in mode "check"."""
    if mode != "check":
        return None
    from tutorlib.compile.verify import Check as Comparison

    return Comparison(roots)
