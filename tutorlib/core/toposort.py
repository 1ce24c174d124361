"""Walks over graphs of either mode: topological order and leaves. Iterative, so that depth is no limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tutorlib.core.graph import Var


def toposort(roots: Iterable[Any], stop: Callable[[Any], bool] | None = None) -> list[Any]:
    """The nodes needed for ``roots`` in topological order: every node after those it uses. Iterative and deterministic.

    ``stop(var)`` true means: take this variable as given, do not look at what made it.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> [node.op.name for node in toposort([tl.exp(x * x) + x])]
    ['mul', 'exp', 'add']
    """
    order: list[Any] = []
    done: set[Any] = set()
    for root in roots:
        if not isinstance(root, Var) or root.node is None or (stop is not None and stop(root)):
            continue
        # A None stands above each node whose inputs are on their way: when it is met, they are all in the order.
        stack: list[Any] = [root.node]
        pop, push = stack.pop, stack.append
        while stack:
            node = pop()
            if node is None:
                order.append(pop())
                continue
            if node in done:
                continue
            done.add(node)
            above = [
                made
                for var in node.inputs
                if (made := getattr(var, "node", None)) is not None
                and made not in done
                and (stop is None or not stop(var))
            ]
            if above:
                push(node)
                push(None)
                stack += reversed(above)
            else:
                order.append(node)
    return order


def leaves_of(roots: Iterable[Any], nodes: Iterable[Any] | None = None) -> list[Any]:
    """The leaf variables that ``roots`` depend on (roots that are leaves included), each once, in order of use.

    ``nodes``: those of the roots in topological order, where they are known.
    """
    found: dict[Any, None] = {}
    roots = list(roots)
    for node in toposort(roots) if nodes is None else nodes:
        for var in node.inputs:
            if getattr(var, "node", node) is None:
                found[var] = None
    for root in roots:
        if isinstance(root, Var) and root.node is None:
            found[root] = None
    return list(found)
