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
    done: set[int] = set()
    for root in roots:
        if not isinstance(root, Var) or root.node is None or (stop is not None and stop(root)):
            continue
        # A None stands above each node whose inputs are on their way: when it is met, they are all in the order.
        stack: list[Any] = [root.node]
        while stack:
            node = stack.pop()
            if node is None:
                order.append(stack.pop())
                continue
            if id(node) in done:
                continue
            done.add(id(node))
            stack.append(node)
            stack.append(None)
            for var in node.inputs[::-1]:
                above = getattr(var, "node", None)
                if above is not None and id(above) not in done and (stop is None or not stop(var)):
                    stack.append(above)
    return order


def leaves_of(roots: Iterable[Any]) -> list[Any]:
    """The leaf variables that ``roots`` depend on (roots that are leaves included), each once, in order of use."""
    found: dict[int, Any] = {}
    roots = list(roots)
    for node in toposort(roots):
        for var in node.inputs:
            if isinstance(var, Var) and var.node is None:
                found.setdefault(id(var), var)
    for root in roots:
        if isinstance(root, Var) and root.node is None:
            found.setdefault(id(root), root)
    return list(found.values())
