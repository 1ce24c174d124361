"""Where a compiled function spends its time and memory, node by node, with the learner's lines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from tutorlib.core.errors import TutorlibError
from tutorlib.core.observe import Observer, observe


@dataclass(frozen=True)
class NodeCost:
    """The cost of one node: ``seconds`` (the least of all runs), ``bytes`` of its result, ``flops`` (an estimate).

    ``op``, ``where`` and ``text`` name it; ``node`` is the node itself, for drawing.
    """

    node: Any
    op: str
    where: str
    text: str
    seconds: float
    bytes: int
    flops: int


class Profile:
    """What ``tl.profile`` found: ``nodes``, the costliest first; ``seconds``, ``bytes`` and ``flops`` in total."""

    def __init__(self, nodes: list[NodeCost]) -> None:
        self.nodes = sorted(nodes, key=lambda n: -n.seconds)
        self.seconds = sum(n.seconds for n in nodes)
        self.bytes = sum(n.bytes for n in nodes)
        self.flops = sum(n.flops for n in nodes)

    def __str__(self) -> str:
        head = f"{'time':>9} {'share':>6} {'bytes':>10} {'FLOPs':>10}  op"
        lines = [head]
        for n in self.nodes[:20]:
            share = n.seconds / self.seconds if self.seconds else 0.0
            source = f"  ({n.where}: {n.text})" if n.where else ""
            lines.append(f"{n.seconds * 1e6:>6.1f} µs {share:>6.1%} {n.bytes:>10,} {n.flops:>10,}  {n.op}{source}")
        if len(self.nodes) > 20:
            lines.append(f"… and {len(self.nodes) - 20} more nodes")
        lines.append(f"{self.seconds * 1e6:>6.1f} µs {'':>6} {self.bytes:>10,} {self.flops:>10,}  in total")
        return "\n".join(lines)

    __repr__ = __str__


def profile(function: Any, *args: Any, repeat: int = 5, **kwargs: Any) -> Profile:
    """Run a compiled function ``repeat`` times and say what each node of it costs.

    Args:
        function: what ``tl.function`` returned, and the arguments of a call.
        repeat: how often; the least time of a node counts, which leaves out most of what other programs do.

    Nodes are run one by one, so that each can be timed: an ordinary call, which runs them together, is quicker. Updates
    are undone at the end. FLOPs count one for each element an op computes, two for each multiply-add of a product.

    >>> import tutorlib as tl
    >>> x = tl.matrix("x")
    >>> found = tl.profile(tl.function([x], tl.tanh(x @ x)), [[1.0, 2.0], [3.0, 4.0]])
    >>> sorted((n.op, n.bytes, n.flops) for n in found.nodes)
    [('matmul', 32, 16), ('tanh', 32, 4)]
    """
    if repeat < 1 or not hasattr(function, "updates"):
        raise TutorlibError("profile() takes a compiled function and at least one run", fix="tl.profile(f, *arguments)")
    before = [(s, s.get_value()) for s, _ in function.updates]
    clock = _Clock()
    try:
        with observe(clock):
            for _ in range(repeat):
                clock.start()
                function(*args, **kwargs)
    finally:
        for shared, value in before:
            shared.set_value(value)
    return Profile([_cost(node, *found) for node, *found in clock.nodes.values()])


class _Clock(Observer):
    def __init__(self) -> None:
        self.nodes: dict[int, list[Any]] = {}
        self._last = 0.0

    def start(self) -> None:
        self._last = perf_counter()

    def on_value(self, node: Any, inputs: Any, value: Any) -> None:
        seconds = perf_counter() - self._last
        found = self.nodes.get(id(node))
        if found is None:
            parts = value if node.op.nout > 1 else (value,)
            shapes = [np.shape(a) for a in inputs]
            size = sum(int(getattr(p, "nbytes", 8)) for p in parts)
            self.nodes[id(node)] = [node, seconds, size, shapes, sum(int(np.size(p)) for p in parts)]
        else:
            found[1] = min(found[1], seconds)
        self._last = perf_counter()


def _cost(node: Any, seconds: float, size: int, shapes: list[tuple[int, ...]], elements: int) -> NodeCost:
    source = node.source
    count = _FLOPS.get(node.op.name)
    flops = count(shapes, elements) if count is not None else 0 if "view" in node.op.flags else elements
    where, text = (source.where, source.text) if source is not None else ("", "")
    return NodeCost(node, node.op.name, where, text, seconds, size, flops)


def _inputs(shapes: list[tuple[int, ...]], elements: int) -> int:
    return math.prod(shapes[0])


_FLOPS: dict[str, Callable[[list[tuple[int, ...]], int], int]] = {
    "matmul": lambda shapes, elements: 2 * elements * shapes[0][-1],
    **dict.fromkeys(["sum", "mean", "max", "min", "prod", "unbroadcast", "logsumexp"], _inputs),
    "conv": lambda shapes, elements: 2 * elements * math.prod(shapes[1][1:]),
}
