"""The gradient nodes of a recorded (dynamic) graph: one beside each variable that takes a gradient, with its parts.

Before `backward()` they are there without a value, "not computed": never a zero that nobody computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tutorlib.core.backend import quiet
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import toposort
from tutorlib.core.walk import ARRAYS, pulled_back
from tutorlib.messages import message
from tutorlib.viz.formulas import backward_of
from tutorlib.viz.model import Drawing
from tutorlib.viz.names import cost_name, gradient_name
from tutorlib.viz.values import to_host

__all__ = ["Flow", "Part", "add_gradients", "add_in_order"]

LARGEST = 1_000_000


@dataclass
class Part:
    """What one use of a variable adds to its gradient: the op that used it, at which input, and the number if known.

    `above` is the gradient of the op's output. In a static graph `symbol` gives the part and `above_of` is the id of
    the node that shows the gradient of the op's output.
    """

    consumer: Any
    port: int
    array: np.ndarray | None
    above: Any = None
    symbol: Any = None
    above_of: str = ""


@dataclass
class Flow:
    """The backward pass in its order: `steps` are ids of gradient nodes, `parts` what each is the sum of.

    `cost` stands above the ∂; of several costs `costs` holds that of each gradient node.
    """

    cost: str = "L"
    costs: dict[str, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    parts: dict[str, list[Part]] = field(default_factory=dict)
    earlier: dict[str, np.ndarray] = field(default_factory=dict)
    computed: bool = False

    def cost_of(self, name: str) -> str:
        """The name of the cost that this node shows a gradient of."""
        return self.costs.get(name, self.cost)


def add_gradients(drawing: Drawing, root: Tensor, wrt: Sequence[Any] | None) -> Flow:
    """Add a gradient node for every drawn variable between `wrt` (default: all that take a gradient) and `root`."""
    flow = Flow(cost_name(drawing.node(drawing.ids[id(root)])["name"] if id(root) in drawing.ids else None))
    if not root.requires_grad or id(root) not in drawing.ids:
        return flow
    flow.computed = root.cotangent is not None if root.op is not None else root.grad is not None
    shown = _on_path(drawing, wrt)
    order = [node for node in toposort([root]) if id(node) in drawing.ids]
    uses: dict[int, list[tuple[Any, int]]] = defaultdict(list)
    for node in order:
        if id(node) in shown:
            for port, var in enumerate(node.inputs):
                if id(var) in shown:
                    uses[id(var)].append((node, port))
    add_in_order(drawing, flow, order, root, uses)
    return flow


def add_in_order(
    drawing: Drawing, flow: Flow, order: Sequence[Any], root: Any, uses: Mapping[int, list[tuple[Any, int]]]
) -> dict[int, str]:
    """Add the gradient nodes of `root` and of all variables with `uses` (by id: pairs of op and input).

    A leaf's comes as soon as the gradients of all ops that use it are there. Answers with the ids of the gradient
    nodes, by id of variable.
    """
    waiting = {key: {(id(node), port) for node, port in found} for key, found in uses.items()}
    made: dict[int, str] = {}
    for node in reversed(order):
        out = node.outputs[0]
        if out is not root and not uses.get(id(out)):
            continue
        _add_one(drawing, flow, out, uses.get(id(out), []), made)
        for port, var in enumerate(node.inputs):
            left = waiting.get(id(var), set()) if getattr(var, "node", None) is None else set()
            if (id(node), port) in left:
                left.remove((id(node), port))
                if not left:
                    _add_one(drawing, flow, var, uses[id(var)], made)
    if root.node is None:
        _add_one(drawing, flow, root, [], made)
    return made


def _on_path(drawing: Drawing, wrt: Sequence[Any] | None) -> set[int]:
    """Ids of variables whose gradient is shown: they take one, and (where `wrt` is given) depend on one of those."""
    takes = {id(v) for v in drawing.objects.values() if isinstance(v, Tensor) and v.requires_grad}
    if wrt is None:
        return takes
    path = {id(v) for v in wrt} & takes
    for node in drawing.order:
        if id(node) in takes and any(id(v) in path for v in node.inputs):
            path.add(id(node))
    return path


def _add_one(drawing: Drawing, flow: Flow, var: Any, uses: list[tuple[Any, int]], made: dict[int, str]) -> None:
    of = drawing.ids[id(_made_by(var))]
    forward = drawing.node(of)
    array = None
    if flow.computed:
        raw = var.cotangent if var.op is not None else var.grad
        array = None if raw is None else to_host(raw)
    source = drawing.id_of(uses[0][0] if uses else var)
    name = drawing.add(
        "gradient", gradient_name(flow.cost, forward["name"] or forward["label"]), var=var, grad_of=of,
        scope=forward["scope"], src=drawing.node(source)["src"] if source is not None else None,
    )  # fmt: skip
    shown = drawing.node(name)
    shown["name"] = shown["label"]
    made[id(var)] = name
    flow.steps.append(name)
    if array is None and isinstance(var, Tensor):
        shown["note"] = message("widgets.not_computed")
    elif array is not None:
        drawing.arrays[name] = array
        forward["grad"] = name
    if not uses:
        drawing.connect(of, name, "gradient")
    for consumer in dict.fromkeys(consumer for consumer, _ in uses):
        drawing.connect(made[id(consumer.outputs[0])], name, "gradient")
    _add_saved(drawing, name, uses)
    flow.parts[name] = _parts(var, uses, array, flow, name)


def _made_by(var: Any) -> Any:
    """What a drawing knows a variable by: the node that makes it, or the leaf itself."""
    return var if getattr(var, "node", None) is None else var.node


def _add_saved(drawing: Drawing, name: str, uses: list[tuple[Any, int]]) -> None:
    """Dotted edges from the forward values that the local derivative uses, as its formula says."""
    done = set()
    for consumer, port in uses:
        rule = backward_of(consumer.op.name, port)
        if rule is None:
            continue
        own = drawing.id_of(consumer)
        # By the edges, not by the values: a number that several ops use has a node at each.
        at = {edge["port"]: edge["s"] for edge in drawing.edges_into(own)} if own is not None else {}
        sources = {letter: at.get(i) for i, letter in enumerate(rule.inputs)} | {rule.output: own}
        for token in rule.uses():
            id_ = sources.get(token)
            if id_ is not None and id_ not in done:
                done.add(id_)
                drawing.connect(id_, name, "saved")


def _parts(var: Any, uses: list[tuple[Any, int]], total: np.ndarray | None, flow: Flow, name: str) -> list[Part]:
    """The parts of a gradient, with numbers where they can be computed again and add up to it."""
    parts = [Part(consumer, port, None, getattr(consumer, "cotangent", None)) for consumer, port in uses]
    if total is None or not uses or (len(uses) == 1 and var.op is not None):
        return parts
    grads = {}
    for consumer, _ in uses:
        if id(consumer) not in grads:
            grads[id(consumer)] = _local_gradients(consumer)
    found = [grads[id(consumer)] for consumer, _ in uses]
    if any(g is None for g in found):
        return parts
    arrays = [a for g, (_, port) in zip(found, uses, strict=True) if g is not None and (a := g[port]) is not None]
    if len(arrays) < len(uses) or any(a.shape != total.shape for a in arrays):
        return parts
    with quiet():
        rest = total - np.sum(arrays, axis=0)
    scale = max(1e-300, float(np.abs(total).max(initial=0.0)))
    if np.isfinite(rest).all() and float(np.abs(rest).max(initial=0.0)) > 1e-6 * scale:
        if var.op is not None:
            return parts
        flow.earlier[name] = rest
    for part, array in zip(parts, arrays, strict=True):
        part.array = array
    return parts


def _local_gradients(node: Tensor) -> list[np.ndarray | None] | None:
    """What a recorded op sends back to each input, computed again; None where its inputs were changed since."""
    if node.op is None or node.op.vjp is None or node.cotangent is None:
        return None
    values = [to_host(v) if isinstance(v, Tensor) or np.ndim(v) else v for v in node.inputs]
    if any(np.size(v) > LARGEST for v in values):
        return None
    out = to_host(node)
    domain = ARRAYS._replace(see=lambda _: (out, values))
    with quiet():
        again = np.asarray(node.op.on_numpy(*values, **node.attrs))
        if again.shape != out.shape or not np.array_equal(again, out, equal_nan=again.dtype.kind == "f"):
            return None
        sent = pulled_back(domain, node, to_host(node.cotangent), _takes_gradient)
    grads: list[np.ndarray | None] = [None] * len(node.inputs)
    port = 0
    for var, grad in sent:
        while node.inputs[port] is not var:
            port += 1
        grads[port] = np.asarray(grad)
        port += 1
    return grads


def _takes_gradient(var: Any) -> bool:
    return isinstance(var, Tensor) and var.requires_grad
