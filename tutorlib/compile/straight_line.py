"""A closed graph as the text of one Python function of arrays: no walk over nodes and no lookup of slots while it runs.

For small arrays that is what a hand-written step costs. A whole loop can be one function, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tutorlib.compile.bound import DOT
from tutorlib.core.graph import Constant, Node, Symbol


def _transposed(axes: Any, x: Any) -> Any:
    return x.transpose(axes)


def _bound(node: Node) -> Callable[..., Any]:
    """What computes a node from arrays of the host."""
    if node.op.name == "transpose":  # np.transpose takes as long to find the method as the method takes
        return partial(_transposed, node.attrs["axes"])
    if node.op.name == "matmul" and all(v.ndim <= 2 for v in node.inputs):
        return DOT  # the same for these, with less ado
    return partial(node.op.on_numpy, **node.attrs) if node.attrs else node.op.on_numpy


class _Text:
    """``lines`` that compute ``outputs`` from the names ``given`` to ``inputs``; ``results``: the outputs' names;
    ``space``: the functions and constants that the lines mention."""

    def __init__(self, nodes: Sequence[Node], inputs: Sequence[Symbol], outputs: Sequence[Symbol]) -> None:
        self.given = [f"a{i}" for i in range(len(inputs))]
        self.space: dict[str, Any] = {}
        self.lines: list[str] = []
        self._names = {id(v): name for v, name in zip(inputs, self.given, strict=True)}
        last = {id(v): at for at, node in enumerate(nodes) for v in (*node.inputs, *node.outputs)}
        last |= {id(v): len(nodes) for v in outputs}
        free: list[str] = []
        for at, node in enumerate(nodes):
            self.space[f"f{at}"] = _bound(node)
            call = f"f{at}({', '.join(map(self._name, node.inputs))})"
            # A name whose value is dead is taken again, which frees the value.
            dead = {id(v): v for v in node.inputs if v.node is not None and last[id(v)] == at}
            free += [self._names[key] for key in dead]
            for v in node.outputs:
                self._names[id(v)] = free.pop() if free else f"v{len(self._names)}"
            self.lines.append(f"{', '.join(self._names[id(v)] for v in node.outputs)} = {call}")
            free += [self._names[id(v)] for v in node.outputs if last[id(v)] == at]
        self.results = [self._name(v) for v in outputs]

    def _name(self, v: Symbol) -> str:
        if id(v) not in self._names:
            assert isinstance(v, Constant), "a subgraph is closed"
            self._names[id(v)] = f"c{len(self._names)}"
            self.space[self._names[id(v)]] = v.value
        return self._names[id(v)]

    def function(self, lines: Sequence[str]) -> Callable[..., Any]:
        exec("\n".join(lines), self.space)
        return self.space["run"]


def _listed(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if names else ''})"


def as_function(nodes: Sequence[Node], inputs: Sequence[Symbol], outputs: Sequence[Symbol]) -> Callable[..., Any]:
    """``run(*arrays)`` gives a tuple of the outputs."""
    text = _Text(nodes, inputs, outputs)
    lines = [f"    {line}" for line in text.lines]
    return text.function([f"def run({', '.join(text.given)}):", *lines, f"    return {_listed(text.results)}"])


def as_loop(
    nodes: Sequence[Node],
    inputs: Sequence[Symbol],
    outputs: Sequence[Symbol],
    carries: int,
    rows: int,
    sums: Sequence[int],
    until: bool,
) -> Callable[..., Any]:
    """``run(order, carries…, sequences…, captured…, stacks…)`` goes through the row numbers ``order``, fills the stacks
    and gives (the number of steps done, the last carries…).

    Args:
        inputs: of one step: carries, rows, captured. ``outputs``: carries, rows to stack, whether to stop if ``until``.
        sums: carries whose output is to be added, in place.
    """
    text = _Text(nodes, inputs, outputs)
    last = len(outputs) - until
    sequences = [f"x{i}" for i in range(rows)]
    stacks = [f"s{i}" for i in range(last - carries)]
    given = [*text.given[:carries], *sequences, *text.given[carries + rows :], *stacks]
    states = text.given[:carries]
    body = [f"{a} = {x}[t]" for a, x in zip(text.given[carries : carries + rows], sequences, strict=True)]
    body += text.lines
    body += [f"{s}[t] = {r}" for s, r in zip(stacks, text.results[carries:last], strict=True)]
    body += [f"{states[i]} += {text.results[i]}" for i in sums]
    new = [(states[i], text.results[i]) for i in range(carries) if i not in sums and states[i] != text.results[i]]
    if until:
        body.append(f"stop = {text.results[-1]}")
    if new:
        body.append(f"{', '.join(a for a, _ in new)} = {', '.join(r for _, r in new)}")
    body.append("done += 1")
    if until:
        body.append("if stop: break")
    head = [f"def run({', '.join(['order', *given])}):", "    done = 0", "    for t in order:"]
    return text.function([*head, *(f"        {line}" for line in body), f"    return {_listed(['done', *states])}"])
