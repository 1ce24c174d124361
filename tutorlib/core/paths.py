"""A gradient taken apart: which path through the graph contributed what. The parts add up to the gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.core.backend import quiet
from tutorlib.core.building import building
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Symbol
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import toposort
from tutorlib.core.walk import ARRAYS, SYMBOLS, dependents, pulled_back, seed_of


@dataclass(frozen=True)
class GradientPath:
    """One way from the cost down to a variable.

    ``nodes``: the nodes passed, the cost's first; ``contribution``: what came along it (a Tensor, or a Symbol).
    """

    nodes: tuple[Any, ...]
    contribution: Any

    def __repr__(self) -> str:
        return f"<path {' → '.join(node.op.name for node in self.nodes) or 'the cost itself'}: {self.contribution!r}>"


def gradient_paths(cost: Any, wrt: Any, *, cotangent: Any = None, limit: int = 1_000) -> list[GradientPath]:
    """Every path from ``cost`` to ``wrt`` with its part of the gradient, in the order the inputs stand in the graph.

    Raises TutorlibError when there are more than ``limit`` paths: their number can double with every node.

    >>> import tutorlib as tl
    >>> x = tl.tensor(3.0, requires_grad=True, name="x")
    >>> for path in tl.gradient_paths(x * x + x, x):
    ...     print([node.op.name for node in path.nodes], path.contribution.item())
    ['add', 'mul'] 3.0
    ['add', 'mul'] 3.0
    ['add'] 1.0
    """
    symbolic = isinstance(cost, Symbol)
    path = dependents(toposort([cost]), [wrt], [])
    domain = SYMBOLS if symbolic else ARRAYS
    seed = seed_of(cost, cotangent, "gradient_paths()")
    found: list[GradientPath] = []
    stack: list[tuple[Any, Any, tuple[Any, ...]]] = [(cost, seed, ())]
    # The walk marks the nodes it makes as backward ones; what is made after it is not.
    with quiet(), building.using(building.meta):
        while stack:
            var, g, passed = stack.pop()
            if var is wrt:
                if len(found) == limit:
                    raise TutorlibError(
                        f"there are more than {limit} paths from the cost to this variable",
                        fix="take a smaller part of the graph, or raise limit",
                    )
                found.append(
                    GradientPath(passed, g if symbolic else Tensor(np.asarray(g) if isinstance(g, np.generic) else g))
                )
            node = var.node
            if node is None:
                continue
            for child, part in reversed(pulled_back(domain, node, g, lambda v: id(v) in path)):
                stack.append((child, part, (*passed, node)))
    return found
