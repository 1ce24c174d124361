"""The op behind ``tl.scan``: how it runs, what it gives, and its gradient, which is another scan.

Operands: the initial carries, the sequences, the length where it is a variable, and what the step captures. Results:
the final carries, then one stack for each further output of the step. A step's graph takes (carries, rows, captured)
and gives (carries, rows to stack, and whether to stop, where the scan can stop early).

Every scan is built with a history among its stacks, for its gradient: the carries before each step, and the results of
the costly ops inside. What nothing uses is dropped before a function runs (``ScanOp.prepare``), so nothing is kept
unless a gradient asks for it; cheap values (sums, products, views) and loops inside a step are computed again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from tutorlib.compile.fgraph import clone
from tutorlib.compile.head import head, unhead
from tutorlib.compile.scan_run import Layout, forward
from tutorlib.compile.subgraph import (
    CONTROL_OPS,
    SHAPED,
    ControlOp,
    Prepared,
    Rewrite,
    Subgraph,
    as_outputs,
    closed,
    costly,
    depending_on,
)
from tutorlib.core.aval import AVal, Dim
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Input, Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.core.toposort import leaves_of, toposort
from tutorlib.core.walk import dependents
from tutorlib.ops.reduce import count

Array = Any


class ScanOp(ControlOp):
    """See the module."""

    def prepare(self, node: Node, used: Sequence[bool], rewrite: Rewrite) -> Prepared:
        step, layout = node.attrs["step"], node.attrs["layout"]
        n = layout.carries
        last = len(step.outputs) - layout.until
        stacked = [i for i in range(n, last) if used[i]]
        step = step.rewritten(rewrite)
        alive = _alive_carries(step, [i for i in range(n) if used[i]], [*stacked, *range(last, len(step.outputs))], n)
        outputs = [*alive, *stacked]
        step = step.only(range(len(step.inputs)), [*outputs, *range(last, len(step.outputs))])
        reads = step.used()
        rows = [i for i in range(n, n + layout.rows) if i in reads]
        if not rows and layout.rows and layout.length is None:
            rows = [n]  # its length is the number of steps
        captured = [i for i in range(n + layout.rows, len(step.inputs)) if i in reads]
        inputs = [*alive, *rows, *captured]
        step = step.only(inputs)
        operands = [layout.operand(i) for i in inputs]
        if layout.counted:
            operands.insert(len(alive) + len(rows), n + layout.rows)
        step, sums = _with_sums(step, len(alive))
        layout = layout._replace(carries=len(alive), rows=len(rows), sums=sums)
        op = scan_op(len(outputs), step.has_effect)
        return Prepared(op, {"step": step, "layout": layout}, operands, outputs)


def _alive_carries(step: Subgraph, wanted: Sequence[int], others: Sequence[int], n: int) -> list[int]:
    """The carries that are wanted themselves or that something wanted depends on."""
    alive = set(wanted)
    number = {id(v): i for i, v in enumerate(step.inputs[:n])}
    while True:
        needed = leaves_of([step.outputs[i] for i in [*sorted(alive), *others]])
        more = alive | {number[id(v)] for v in needed if id(v) in number}
        if more == alive:
            return sorted(alive)
        alive = more


def _with_sums(step: Subgraph, n: int) -> tuple[Subgraph, tuple[int, ...]]:
    """The step with carries of the form ``carry + part`` giving the part alone: a sum can be added to in place."""
    uses: dict[int, int] = {}
    for v in [*step.outputs, *(v for node in step.nodes for v in node.inputs)]:
        uses[id(v)] = uses.get(id(v), 0) + 1
    outputs, sums = list(step.outputs), []
    for i in range(n):
        carry, new = step.inputs[i], step.outputs[i]
        node = new.node
        if node is None or node.op.name != "add" or uses[id(new)] != 1 or uses.get(id(carry)) != 1 or not carry.ndim:
            continue
        parts = [v for v in node.inputs if v is not carry]
        if len(parts) == 1 and parts[0].dtype == carry.dtype and parts[0].ndim == carry.ndim:
            outputs[i] = parts[0]
            sums.append(i)
    return (Subgraph(step.inputs, outputs), tuple(sums)) if sums else (step, ())


def _infer(*operands: AVal, step: Subgraph, layout: Layout) -> Any:
    n = layout.carries
    rows = operands[n : n + layout.rows]
    lengths = {x.shape[0] for x in rows if x.shape[0] is not None} | ({layout.length} - {None})
    if len(lengths) > 1:
        raise ShapeError(
            "the sequences have different lengths" if layout.length is None else f"length is {layout.length}",
            op="scan",
            shapes=[x.shape for x in rows],
            wrong_dims=[0] * len(rows),
            fix="cut them to one length: x[:n]",
        )
    length: Dim = None if layout.until or not lengths else lengths.pop()
    one = [AVal(a.shape[1:], a.dtype) if n <= i < n + layout.rows else a for i, a in enumerate(operands)]
    found = step.infer([*one[: n + layout.rows], *one[layout.first_captured :]])
    finals = [AVal(a.shape, a.dtype) for a in operands[:n]]
    stacks = [AVal((length, *a.shape), a.dtype) for a in found[n : len(found) - layout.until]]
    return as_outputs([*finals, *stacks], n + len(stacks))


# ---- the gradient ----


def _differentiable(step: Subgraph, needed: Sequence[int], given: Sequence[int], n: int) -> list[int]:
    """The carries whose cotangents matter: they depend on a ``needed`` input and lead to a ``given`` output."""
    varied = {i for i in needed if i < n}
    while True:
        path = dependents(step.nodes, [step.inputs[i] for i in {*varied, *needed}])
        more = {i for i in range(n) if id(step.outputs[i]) in path}
        if more <= varied:
            break
        varied |= more
    reach = {}
    for i in varied:
        path = dependents(step.nodes, [step.inputs[i]])
        reach[i] = {j for j, v in enumerate(step.outputs) if id(v) in path}
    active = varied & set(given)
    while True:
        ends = active | {j for j in given if j >= n}
        more = {i for i in varied if reach[i] & ends}
        if more <= active:
            return sorted(active)
        active |= more


def _vjp(g: Any, needs: list[bool], out: Any, *values: Any, step: Subgraph, layout: Layout) -> list[Any]:
    """Backwards through the steps: a scan whose carries are the cotangents of the carries, and the sums of the
    cotangents of what is captured. It computes each step's inner values again from the carries before it."""
    operands = [as_symbol(v) for v in values]
    cotangents = list(g) if isinstance(g, tuple) else [g]
    outs = list(out) if isinstance(out, tuple) else [out]
    n, first = layout.carries, layout.carries + layout.rows
    needed = [i for i in range(len(step.inputs)) if needs[layout.operand(i)]]
    given = [j for j, c in enumerate(cotangents) if c is not None and outs[j].dtype.kind == "f"]
    active = _differentiable(step, needed, given, n)
    d_carry = {i: Input(step.inputs[i].aval, name=_d(step.inputs[i])) for i in active}
    d_stack = {j: Input(step.outputs[j].aval, name=_d(outs[j])) for j in given if j >= n}
    wrt = [*active, *(i for i in needed if i >= n)]
    found = dict(zip(wrt, step.pulled_back({**d_carry, **d_stack}, wrt), strict=True))
    rows = [i for i in wrt if n <= i < first and found[i] is not None]
    captured = [i for i in wrt if i >= first and found[i] is not None]
    grads: list[Any] = [None] * len(needs)
    if not active and not rows and not captured:
        return grads
    total = {i: Input(step.inputs[i].aval._replace(weak=False), name=_d(step.inputs[i])) for i in captured}
    outputs: list[Any] = [OPS.zeros_like(step.inputs[i]) if found[i] is None else found[i] for i in active]
    outputs += [OPS.add(total[i], found[i]) for i in captured] + [found[i] for i in rows]
    # Constants of the loop stay outside the loop.
    outer_ones: dict[Symbol, Symbol] = {v: operands[layout.operand(i)] for i, v in enumerate(step.inputs) if i >= first}
    stacks = {id(v): x for v, x in zip(step.outputs[n:], outs[n:], strict=False) if v.node and costly(v.node)}
    saved = [(v, Input(v.aval, name=v.name), stacks[id(v)]) for v in _read(outputs, stacks)]
    outputs = clone(outputs, {**outer_ones, **{v: row for v, row, _ in saved}})

    back = Layout(len(active) + len(captured), 0, reverse=not layout.reverse)
    used = {id(v) for v in leaves_of(outputs)}
    history = dict(zip(step.inputs[:n], outs[len(outs) - layout.kept - n :], strict=False))
    along = {step.inputs[i]: operands[i] for i in range(n, first)}
    if layout.until:
        done = outs[-1]
        along = {v: head(x, done) for v, x in along.items()}
    rows_in = {**{v: cotangents[j] for j, v in d_stack.items()}, **history, **along}
    rows_in |= {row: x for _, row, x in saved}
    rows_in = {v: x for v, x in rows_in.items() if id(v) in used}
    counted: list[Symbol] = []
    if not rows_in:
        if layout.until:
            rows_in = dict(list(history.items())[:1])
        elif layout.length is not None:
            back = back._replace(length=layout.length)
        elif layout.rows:
            rows_in = {step.inputs[n]: operands[n]}
        else:
            counted = [operands[first]]
    if layout.truncate is not None:
        rows_in = {v: OPS.getitem(x, _last(layout)) for v, x in rows_in.items()}
        counted = [OPS.minimum(c, layout.truncate) for c in counted]
        back = back._replace(length=None if back.length is None else min(back.length, layout.truncate))
    back = back._replace(rows=len(rows_in), counted=bool(counted))
    inputs = [*d_carry.values(), *total.values(), *rows_in]
    inner, outer = closed(outputs, inputs, depending_on(inputs, outputs))
    starts = [OPS.zeros_like(outs[i]) if cotangents[i] is None else cotangents[i] for i in active]
    starts += [OPS.zeros_like(operands[layout.operand(i)]) for i in captured]
    results = build(inner, back, [*starts, *rows_in.values(), *counted, *outer])

    for i, result in zip(active, results, strict=False):
        grads[i] = _unless_cut(result, layout, operands) if needs[i] else None
    for i, result in zip(captured, results[len(active) :], strict=False):
        grads[layout.operand(i)] = result
    for i, result in zip(rows, results[back.carries :], strict=False):
        whole = unhead(result, operands[i]) if layout.until else result
        grads[i] = whole if layout.truncate is None else _padded(operands[i], whole, layout)
    return grads


def _read(outputs: Sequence[Symbol], kept: Collection[int]) -> list[Symbol]:
    """Of the values that can be kept (ids), those that ``outputs`` read. Being asked for its shape only is no reading:
    with the shapes that a step meets nothing is left of that."""
    read = {id(v) for v in outputs}
    found = [v for v in outputs if id(v) in kept]
    for node in reversed(toposort(outputs)):
        mine = [v for v in node.outputs if id(v) in read]
        if not mine:
            continue
        if any(id(v) in kept for v in node.outputs):
            found += mine
            continue
        for position, v in enumerate(node.inputs):
            if node.op.name not in SHAPED or position != SHAPED[node.op.name]:
                read.add(id(v))
    return list({id(v): v for v in found}.values())


def _d(v: Symbol) -> str | None:
    return f"d{v.name}" if v.name else None


def _last(layout: Layout) -> slice:
    """The rows of the last steps that a truncated gradient goes back."""
    return slice(0, layout.truncate) if layout.reverse else slice(-(layout.truncate or 0), None)


def _padded(x: Symbol, rows: Symbol, layout: Layout) -> Any:
    return OPS.at(OPS.zeros_like(x))[_last(layout)].set(rows)


def _unless_cut(grad: Symbol, layout: Layout, operands: Sequence[Symbol]) -> Any:
    """The gradient of an initial carry: zero when a truncated gradient does not get that far."""
    if layout.truncate is None:
        return grad
    if layout.length is not None:
        return grad if layout.length <= layout.truncate else OPS.zeros_like(grad)
    steps = count(operands[layout.carries], 0) if layout.rows else operands[layout.first_captured - 1]
    return OPS.where(OPS.le(steps, layout.truncate), grad, 0.0)


@cache
def scan_op(nout: int, effect: bool) -> ScanOp:
    """The scan with ``nout`` results."""
    return ScanOp("scan", forward, _infer, _vjp, nout=nout, flags={"effect"} if effect else ())


def build(step: Subgraph, layout: Layout, operands: Sequence[Symbol]) -> list[Symbol]:
    """A scan with its history added to the results of ``step``.

    Returns the final carries, the stacks of the step's own outputs, and then the history.
    """
    end = len(step.outputs) - layout.until
    own = {id(v) for v in step.outputs[layout.carries :]}
    inner = [v for node in step.nodes if costly(node) for v in node.outputs if id(v) not in own]
    outputs = [*step.outputs[:end], *step.inputs[: layout.carries], *inner, *step.outputs[end:]]
    whole = Subgraph(step.inputs, outputs)
    op = scan_op(len(outputs) - layout.until, whole.has_effect)
    made = op(*operands, step=whole, layout=layout._replace(kept=len(inner)))
    return list(made) if isinstance(made, tuple) else [made]


CONTROL_OPS["scan"] = scan_op
