"""Questions that the oracles of several exercises ask about what a learner's code made, each with its hint."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.core.observe import Observer
from tutorlib.lessons.exercise import Miss


class WriteCounter(Observer):
    """Counts how often one storage was written."""

    def __init__(self, storage: Any):
        self.storage, self.writes = storage, 0

    def on_write(self, storage: Any, by: Any) -> None:
        self.writes += storage is self.storage


def callable_or_miss(made: Any) -> Any:
    """What the learner's function returned, if it can be called."""
    if made is None:
        raise Miss("returned_none")
    if not callable(made):
        raise Miss("not_callable", type=type(made).__name__)
    return made


def one_value(returned: Any) -> np.ndarray:
    """The value that a call returned, as an array."""
    if returned is None:
        raise Miss("call_returns_none")
    if isinstance(returned, list | tuple):
        raise Miss("call_returns_list")
    return np.asarray(returned, dtype=float)


def parts(returned: Any, count: int) -> list[np.ndarray]:
    """The `count` arrays that a rule returned, one for each input."""
    if returned is None:
        raise Miss("returned_none")
    if not isinstance(returned, tuple | list) or len(returned) != count:
        raise Miss("wrong_count", count=count)
    try:
        return [np.asarray(part, dtype=float) for part in returned]
    except (TypeError, ValueError):
        raise Miss("not_numbers") from None


def compiled_or_miss(made: Any) -> None:
    """Asked last: what an ordinary Python function gets wrong is better said by what it did."""
    if not isinstance(made, tl.Function):
        raise Miss("not_compiled")


def graph_or_miss(made: Any) -> Any:
    """What the learner's function returned, if it is a symbol that something computes: asked before its structure."""
    if made is None:
        raise Miss("returned_none")
    if not isinstance(made, tl.Symbol):
        raise Miss("not_a_symbol", type=type(made).__name__)
    if made.node is None:
        raise Miss("only_a_leaf")
    return made


def op_counts(root: Any) -> Counter[str]:
    """How many nodes of each op a graph has, every node counted once.

    >>> x = tl.scalar("x")
    >>> sorted(op_counts(tl.exp(x * x) * x).items())
    [('exp', 1), ('mul', 2)]
    """
    return Counter(str(getattr(node.op, "name", node.op)) for node in tl.toposort([root]))


def pulled_back(function: Callable[..., Any], arrays: Sequence[Any], cotangent: Any, step: float = 1e-5) -> list[Any]:
    """What a vjp of `function` at `arrays` must give, from central differences: one array for each of them.

    >>> [round(float(g), 6) for g in pulled_back(lambda x, y: x * y, [3.0, 5.0], 2.0)]
    [10.0, 6.0]
    """
    found = []
    for which, array in enumerate(arrays):
        slopes = np.zeros(np.shape(array))
        for position in np.ndindex(slopes.shape):
            ends = []
            for sign in (1, -1):
                moved = [np.array(a, dtype=float) for a in arrays]
                moved[which][position] += sign * step
                ends.append(float(np.sum(cotangent * np.asarray(function(*moved)))))
            slopes[position] = (ends[0] - ends[1]) / (2 * step)
        found.append(slopes)
    return found
