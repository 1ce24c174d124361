"""Why is this gradient None, zero, tiny, huge or NaN? From the symptom back to its first cause, in words and data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tutorlib.core.autodiff import last_cost
from tutorlib.core.backend import quiet, to_host
from tutorlib.core.errors import MissingInputError, ModeMixError
from tutorlib.core.graph import Symbol, Var, label
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import leaves_of, toposort
from tutorlib.core.walk import ARRAYS, dependents, pulled_back, seed_of
from tutorlib.messages import message
from tutorlib.tools.replay import replay

TINY, HUGE = 1e-7, 1e3


@dataclass(frozen=True)
class Step:
    """One op on the way of a gradient: ``factor`` is the norm it sends on divided by the norm that arrived."""

    node: Any
    op: str
    where: str
    factor: float
    norm: float


@dataclass(frozen=True)
class Explanation:
    """Why a gradient is what it is.

    ``verdict``: "none", "nan", "zero", "tiny", "huge" or "ordinary"; ``sentences``: what to tell; ``causes``:
    the nodes at fault, for highlighting; ``path``: the strongest path from the cost to the variable, cost's op first.
    """

    verdict: str
    sentences: tuple[str, ...]
    causes: tuple[Any, ...] = ()
    path: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    __repr__ = __str__


def explain(var: Any, cost: Any = None, inputs: Mapping[Any, Any] | None = None) -> Explanation:
    """Say why the gradient of ``cost`` with respect to ``var`` is None, NaN, zero, tiny, huge, or nothing special.

    Args:
        var: a tensor, or a symbol (then ``cost`` is one too).
        cost: what was differentiated; in dynamic mode by default what ``backward()`` was last called on.
        inputs: static mode: values for the input symbols, ``{x: 2.0}``.

    >>> import tutorlib as tl
    >>> x = tl.tensor([-1.0, -2.0], requires_grad=True, name="x")
    >>> tl.relu(x).sum().backward()
    >>> tl.explain(x).verdict
    'zero'
    >>> print(tl.explain(x).sentences[0])
    The gradient of x is 0 everywhere.
    """
    if isinstance(var, Symbol):
        if not isinstance(cost, Symbol):
            raise MissingInputError(
                "explaining a symbol's gradient needs the cost", fix="tl.explain(x, cost, inputs={x: 2.0})"
            )
        return explain_symbols([var], cost, inputs or {})[0]
    if not isinstance(var, Tensor):
        raise ModeMixError(f"{type(var).__name__} has no gradient to explain", fix="pass a tensor or a symbol")
    return _explain(var, cost if cost is not None else last_cost(), label(var))


def explain_symbols(variables: list[Symbol], cost: Symbol, inputs: Mapping[Any, Any]) -> list[Explanation]:
    """`explain` for several variables of one static graph, which is run once."""
    values = replay([cost], {**inputs})

    def said(var: Symbol) -> Explanation:
        if id(var) not in values:
            return Explanation("none", (message("explain.unreached", name=label(var)),))
        return _of_symbols(_explain(values[id(var)], values[id(cost)], label(var)), cost, values)

    return [said(var) for var in variables]


def _of_symbols(found: Explanation, cost: Symbol, values: Mapping[int, Any]) -> Explanation:
    """An explanation that points at the nodes of the learner's static graph, not at those of its replay."""
    node_of = {id(values[id(v)]): node for node in toposort([cost]) for v in node.outputs if id(v) in values}
    path = tuple(replace(step, node=node_of.get(id(step.node), step.node)) for step in found.path)
    return replace(found, causes=tuple(node_of.get(id(n), n) for n in found.causes), path=path)


def _explain(var: Tensor, cost: Any, name: str) -> Explanation:
    if var.dtype.kind != "f":
        return Explanation("none", (message("explain.integer", name=name, dtype=var.dtype),))
    if not var.requires_grad:
        return Explanation("none", (message("explain.not_required", name=name),))
    if cost is None:
        return Explanation("none", (message("explain.no_cost", name=name),))
    if cost.op is not None and not cost.inputs:
        return Explanation("none", (message("explain.graph_gone"),))
    order = toposort([cost])
    path = dependents(order, [var])
    if id(cost) not in path and cost is not var:
        return _unreached(var, cost, order, name)
    return _Slice(var, cost, order, path, name).explanation()


def _unreached(var: Tensor, cost: Tensor, order: list[Any], name: str) -> Explanation:
    if any(leaf is not var and isinstance(leaf, Tensor) and leaf._data is var._data for leaf in leaves_of([cost])):
        return Explanation("none", (message("explain.detached", name=name),))
    path = dependents(order, [var])
    blocks = [n for n in order if id(n) not in path and any(id(v) in path for v in n.inputs)]
    if not blocks:
        return Explanation("none", (message("explain.unreached", name=name),))
    said = tuple(message("explain.blocked", name=name, op=n.op.name, line=_line(n)) for n in blocks[:3])
    return Explanation("none", said, tuple(blocks))


def _line(node: Any) -> str:
    source = node.source
    return message("explain.at", where=f"{source.where}: {source.text}") if source is not None else ""


def _norm(array: Any) -> float:
    with quiet():
        return float(np.sqrt(np.sum(np.square(np.asarray(to_host(array), dtype=np.float64)))))


def _bad(array: Any) -> tuple[int, int, str]:
    """How many elements are not finite, how many there are, and what they are."""
    host = np.asarray(to_host(array))
    nan, inf = int(np.isnan(host).sum()), int(np.isinf(host).sum())
    infinite = "−inf" if inf and bool((host[np.isinf(host)] < 0).all()) else "inf"
    return nan + inf, host.size, "NaN" if nan and not inf else infinite if inf and not nan else "NaN and inf"


def _all_finite(values: Any) -> bool:
    return all(not _bad(v)[0] for v in values if np.asarray(to_host(v)).dtype.kind == "f")


def _operands(node: Any, bad: np.ndarray | None = None) -> str:
    """The operands of a node, in short: at the first bad element where they line up with it, else their range."""
    words = []
    for var, array in zip(node.inputs, _arrays(node), strict=True):
        host = np.asarray(to_host(array))
        if bad is not None and host.shape == bad.shape and bad.any():
            host = host[bad][:1]
        title = var.name if isinstance(var, Var) and var.name else "operand"
        low, high = (host.min(), host.max()) if host.size else (float("nan"), float("nan"))
        words.append(f"{title} = {low:g}" if low == high else f"{title} from {low:g} to {high:g}")
    return ", ".join(words)


def _arrays(node: Any) -> list[Any]:
    return [v._data if isinstance(v, Tensor) else v for v in node.inputs]


# The values are those of now: a used-up graph has given up its own, but its variables still hold theirs.
_LOOK = ARRAYS._replace(see=lambda node: (node._data, _arrays(node)))


class _Slice:
    """The nodes between a cost and a variable with the cotangent at each, and what each passes on."""

    def __init__(self, var: Tensor, cost: Tensor, order: list[Any], path: set[int], name: str) -> None:
        self.var, self.cost, self.name = var, cost, name
        self.forward = order
        self.cotangents: dict[int, Any] = {
            id(cost): seed_of(cost, None if cost.size == 1 else np.ones(cost.shape), "explain()")
        }
        self.parts: list[tuple[Any, list[tuple[Any, Any]]]] = []
        with quiet():
            for node in reversed([n for n in order if id(n) in path]):
                g = self.cotangents.get(id(node))
                if g is None:
                    continue
                parts = pulled_back(_LOOK, node, g, lambda v: id(v) in path)
                self.parts.append((node, parts))
                for child, part in parts:
                    sofar = self.cotangents.get(id(child))
                    self.cotangents[id(child)] = part if sofar is None else sofar + part
        self.path_ids = path

    def explanation(self) -> Explanation:
        g = self.cotangents.get(id(self.var))
        if g is None:
            return self._zero()
        count, size, what = _bad(g)
        if count:
            head = message("explain.not_finite", name=self.name, what=what, count=count, size=size)
            said, node = self._first_bad()
            return Explanation("nan", (head, said), (node,) if node is not None else ())
        norm = _norm(g)
        if norm == 0.0 and size:
            return self._zero()
        verdict = "tiny" if norm < TINY else "huge" if norm > HUGE else "ordinary"
        sentences = [message(f"explain.{verdict}", name=self.name, norm=f"{norm:.3g}")]
        zeros = int(np.sum(np.asarray(to_host(g)) == 0))
        if zeros:
            sentences.append(message("explain.some_zero", count=zeros, size=size))
        steps = self._strongest_path()
        if steps:
            sentences.append(self._path_sentence(steps, norm))
        if self.var.op is not None and self.var.grad is None:
            sentences.append(message("explain.result", name=self.name, norm=f"{norm:.3g}"))
        culprits = [s.node for s in steps if abs(np.log10(max(s.factor, 1e-300))) >= 1] if verdict != "ordinary" else []
        return Explanation(verdict, tuple(sentences), tuple(culprits), tuple(steps))

    def _first_bad(self) -> tuple[str, Any]:
        for leaf in leaves_of([self.cost]):
            count, size, what = _bad(leaf._data) if isinstance(leaf, Tensor) and leaf.dtype.kind == "f" else (0, 0, "")
            if count:
                return message("explain.nan_leaf", name=label(leaf), what=what, count=count, size=size), None
        overflow = self._first_overflow()
        if overflow is not None:
            return self._bad_sentence("explain.nan_forward", overflow, overflow._data), overflow
        for node, parts in self.parts:
            if _bad(self.cotangents[id(node)])[0]:
                continue
            for _, part in parts:
                if _bad(part)[0]:
                    return self._bad_sentence("explain.nan_backward", node, part), node
        return message("explain.nan_seed"), None

    def _first_overflow(self) -> Any:
        """The first op of the forward pass that made NaN or infinity out of finite numbers, or None."""
        floats = (node for node in self.forward if node._data.dtype.kind == "f")
        return next((node for node in floats if _bad(node._data)[0] and _all_finite(_arrays(node))), None)

    def _bad_sentence(self, id: str, node: Any, array: Any) -> str:
        count, size, what = _bad(array)
        where = ~np.isfinite(np.asarray(to_host(array)))
        return message(
            id, op=node.op.name, line=_line(node), what=what, count=count, size=size, operands=_operands(node, where)
        )

    def _zero(self) -> Explanation:
        head = message("explain.zero", name=self.name)
        if _norm(self.cotangents[id(self.cost)]) == 0.0:
            return Explanation("zero", (head, message("explain.zero_arrives")))
        guilty: list[Any] = []
        for node, parts in self.parts:
            if _norm(self.cotangents[id(node)]) == 0.0:
                continue
            reached = {id(child) for child, part in parts if _norm(part)}
            on_path = [v for v in node.inputs if id(v) in self.path_ids]
            if any(id(v) not in reached for v in on_path):
                guilty.append(node)
        if not guilty:
            return Explanation("zero", (head, message("explain.zero_cancel", name=self.name)))
        said = [_zero_sentence(node, self.cotangents[id(node)]) for node in guilty[:3]]
        overflow = self._first_overflow()
        if overflow is not None:
            said.append(self._bad_sentence("explain.zero_overflow", overflow, overflow._data))
            guilty.append(overflow)
        return Explanation("zero", (head, *said), tuple(guilty))

    def _strongest_path(self) -> list[Step]:
        uses: dict[int, list[tuple[Any, float]]] = {}
        for node, parts in self.parts:
            for child, part in parts:
                uses.setdefault(id(child), []).append((node, _norm(part)))
        steps: list[Step] = []
        at: Any = self.var
        while at is not self.cost and uses.get(id(at)):
            node, norm = max(uses[id(at)], key=lambda use: use[1])
            arrived = _norm(self.cotangents[id(node)])
            where = node.source.where if node.source is not None else ""
            steps.append(Step(node, node.op.name, where, norm / arrived if arrived else 0.0, norm))
            at = node
        return steps[::-1]

    def _path_sentence(self, steps: list[Step], norm: float) -> str:
        ranked = sorted(steps, key=lambda s: -abs(np.log(max(s.factor, 1e-300))))[:3]
        words = [
            message(
                "explain.step",
                op=s.op,
                line=message("explain.at", where=s.where) if s.where else "",
                factor=f"{s.factor:.3g}",
            )
            for s in ranked
            if not 0.5 < s.factor < 2.0
        ]
        start = _norm(self.cotangents[id(self.cost)])
        steps_text = ", ".join(words) or message("explain.nothing")
        return message("explain.path", length=len(steps), start=f"{start:.3g}", end=f"{norm:.3g}", steps=steps_text)


# The sentence ("explain.zero_…") that fits each op when it passes on nothing.
_ZERO_KINDS = {
    op: kind
    for kind, ops in {
        "relu": "relu",
        "saturated": "sigmoid tanh softplus exp softmax",
        "factor": "mul safe_mul",
        "where": "where",
        "clip": "clip",
        "pick": "getitem max min maximum minimum",
        "flat": "sign floor ceil round floordiv",
    }.items()
    for op in ops.split()
}


def _zero_sentence(node: Any, g: Any) -> str:
    fields: dict[str, Any] = {"op": node.op.name, "line": _line(node)}
    kind = _ZERO_KINDS.get(node.op.name, "general")
    if kind in ("relu", "saturated"):
        x = np.asarray(to_host(_arrays(node)[0]))
        arriving = x[np.broadcast_to(np.asarray(to_host(g)) != 0, x.shape)] if np.shape(g) == x.shape else x
        arriving = arriving if arriving.size else x
        fields |= {
            "count": int(np.sum(x <= 0)),
            "size": x.size,
            "low": f"{arriving.min():g}",
            "high": f"{arriving.max():g}",
        }
    return message(f"explain.zero_{kind}", **fields)
