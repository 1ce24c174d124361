"""What a scan need not do step by step is done once for all steps, before or after the loop.

Before: what depends on rows and captured values alone, where it is elementwise and small or a product with a matrix.
``x @ W`` in every step is then one product of the whole sequence. After: a sum of products, as the gradient of a weight
is, is one product over all steps; the loop keeps the factors that it does not have as rows already.

This happens when a scan has the form in which it runs; a log shows the graph as it was rewritten before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tutorlib.compile.fgraph import clone, rebuilt
from tutorlib.compile.matching import made_by, size_of
from tutorlib.compile.scan_op import scan_op
from tutorlib.compile.scan_run import Layout
from tutorlib.compile.subgraph import Subgraph, depending_on, remade
from tutorlib.core.graph import Constant, Input, Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.core.toposort import toposort
from tutorlib.ops.einsum import einsum

# A step of more rows than this keeps BLAS busy by itself, and its factors would take room for nothing.
FEW_ROWS = 512
# An elementwise result of so many elements in a step costs what its call costs; a larger one is better made in the
# cache, step by step, than kept for all of them.
SMALL = 16_384


class _Scan(NamedTuple):
    """What a scan is made of; ``whole``: by number of output, stacks that are known without it."""

    step: Subgraph
    layout: Layout
    operands: list[Symbol]
    whole: dict[int, Symbol]


def lifted(node: Node, inputs: Sequence[Symbol]) -> list[Symbol] | None:
    """The results of a scan on ``inputs`` with less inside; None where all of it must stay."""
    step, layout = node.attrs["step"], node.attrs["layout"]
    if layout.until:
        return None
    scan = _before(step, layout, list(inputs))
    sums = _sums(scan.step, scan.layout)
    return _remade(node, scan, sums) if scan.step is not step or sums else None


# ---- before the loop ----


def _before(step: Subgraph, layout: Layout, operands: list[Symbol]) -> _Scan:
    """The scan with what rows alone decide as rows of their own."""
    n, first = layout.carries, layout.carries + layout.rows
    outputs = _rows_first(step, n)
    nodes = toposort(outputs)
    outside = {id(v): operands[layout.operand(i)] for i, v in enumerate(step.inputs) if i >= n}
    along = {id(v) for v in step.inputs[n:first]}
    inside: set[int] = set()  # ids of nodes that move out
    for node in nodes:
        if _for_all_steps(node, along, outside):
            whole = rebuilt(node, tuple(outside.get(id(v), v) for v in node.inputs))
            outside[id(node.outputs[0])] = whole.outputs[0]
            along.add(id(node.outputs[0]))
            inside.add(id(node))
    if not inside:
        return _Scan(step, layout, operands, {})
    known = {j: outside[id(v)] for j, v in enumerate(outputs) if j >= n and id(v) in along}
    read = [v for node in nodes if id(node) not in inside for v in node.inputs]
    ends = [v for v in dict.fromkeys([*read, *outputs]) if v.node is not None and id(v.node) in inside]
    rows = [Input(v.aval, name=v.name) for v in ends]
    outputs = clone(outputs, dict(zip(ends, rows, strict=True)))
    step = Subgraph([*step.inputs[:first], *rows, *step.inputs[first:]], outputs)
    operands = [*operands[:first], *(outside[id(v)] for v in ends), *operands[first:]]
    return _Scan(step, layout._replace(rows=layout.rows + len(rows)), operands, known)


def _for_all_steps(node: Node, along: set[int], outside: Mapping[int, Symbol]) -> bool:
    """Whether a node gives the rows of what the same op gives on whole sequences."""
    given = [v for v in node.inputs if id(v) in along]
    others = [v for v in node.inputs if id(v) not in along]
    if not given or any(id(v) not in outside and not isinstance(v, Constant) for v in others):
        return False
    out = node.outputs[0]
    if node.op.name in ("matmul", "linear"):
        return len(given) == 1 and given[0] is node.inputs[0] and node.inputs[1].ndim == 2
    size = size_of(out)
    if "elementwise" not in node.op.flags or "effect" in node.op.flags or node.attrs or size is None or size > SMALL:
        return False
    lengths = {outside[id(v)].shape[0] for v in given}
    if len({id(outside[id(v)]) for v in given}) > 1 and (len(lengths) > 1 or None in lengths):
        return False  # that the sequences agree in length is seen when the scan runs
    # The steps come first in the shapes of whole sequences, so the other axes have to match from the first on.
    same = all(v.ndim == out.ndim for v in given) and all(v.ndim <= out.ndim for v in others)
    return same and any(v.shape == out.shape for v in given)


def _rows_first(step: Subgraph, n: int) -> list[Symbol]:
    """The step's outputs, with what does not wait for the carries put together in its sums."""
    late = depending_on(step.inputs[:n], step.outputs)
    carries = {id(v) for v in step.inputs[:n]}
    waits = lambda v: id(v) in carries or (v.node is not None and late(v.node))
    uses = Counter(id(v) for v in [*step.outputs, *(v for node in step.nodes for v in node.inputs)])
    new: dict[int, Symbol] = {}
    for node in step.nodes:
        inputs = tuple(new.get(id(v), v) for v in node.inputs)
        out = node.outputs[0]
        if node.op.name == "add" and out.dtype.kind == "f" and late(node):
            terms = _terms(node, uses)
            ready = [v for v in terms if not waits(v)]
            if len(ready) > 1 and sum(not waits(v) for v in node.inputs) < len(ready):
                total = _sum([_sum(ready), *(new.get(id(v), v) for v in terms if waits(v))])
                if total.aval == out.aval:
                    new[id(out)] = total
                    continue
        if any(a is not b for a, b in zip(inputs, node.inputs, strict=True)):
            made = rebuilt(node, inputs)
            new.update({id(old): v for old, v in zip(node.outputs, made.outputs, strict=True)})
    return [new.get(id(v), v) for v in step.outputs]


def _terms(node: Node, uses: Mapping[int, int]) -> list[Symbol]:
    """The terms of a sum of sums, as written."""
    terms, todo = [], list(node.inputs[::-1])
    while todo:
        v = todo.pop()
        inner = v.node
        part = inner is not None and inner.op.name == "add" and uses[id(v)] == 1 and v.dtype == node.outputs[0].dtype
        if part:
            todo += inner.inputs[::-1]
        else:
            terms.append(v)
    return terms


def _sum(terms: Sequence[Symbol]) -> Symbol:
    total = terms[0]
    for term in terms[1:]:
        total = OPS.add(total, term)
    return total


# ---- after the loop ----


def _sums(step: Subgraph, layout: Layout) -> dict[int, tuple[str, list[Symbol]]]:
    """By number of a carry that adds up products, or rows: how, as ``einsum`` says it, and of which values."""
    found: dict[int, tuple[str, list[Symbol]]] = {}
    for i in layout.sums:
        part = step.outputs[i]
        how = _as_product(part) or _as_sum(part)
        if how is not None and all(v.dtype == part.dtype for v in how[1]):
            found[i] = how
    # A sum is done with the products that keep the same values; alone it is not worth keeping them.
    factors = {id(v) for _, values in found.values() if len(values) > 1 for v in values}
    return {i: how for i, how in found.items() if id(how[1][-1]) in factors}


def _as_product(part: Symbol) -> tuple[str, list[Symbol]] | None:
    """Aᵀ B of rows, or a bᵀ of vectors."""
    node = part.node
    if node is None or node.op.name not in ("matmul", "mul"):
        return None
    a, b = node.inputs
    if node.op.name == "mul":
        column, row = made_by(a, "expand_dims"), made_by(b, "expand_dims")
        if column is None or row is None or not part.aval.known:
            return None
        x, y = column.inputs[0], row.inputs[0]
        return ("td,tg->dg", [x, y]) if x.ndim == y.ndim == 1 and part.shape == (*x.shape, *y.shape) else None
    turned = made_by(a, "transpose")
    if turned is None or turned.attrs["axes"] != (1, 0) or b.ndim != 2:
        return None
    few = b.shape[0] is None or b.shape[0] <= FEW_ROWS
    return ("tbd,tbg->dg", [turned.inputs[0], b]) if few else None


def _as_sum(part: Symbol) -> tuple[str, list[Symbol]] | None:
    """Σ over rows, or a vector."""
    if part.ndim == 1 and made_by(part, "unbroadcast") is None:
        return "tg->g", [part]
    node = made_by(part, "unbroadcast")
    if node is None or node.inputs[0].ndim != 2 or node.inputs[1].ndim != 1:
        return None
    g, like = node.inputs
    return ("tbg->g", [g]) if g.shape[1] is not None and g.shape[1] == like.shape[0] else None


def _remade(node: Node, scan: _Scan, sums: Mapping[int, tuple[str, list[Symbol]]]) -> list[Symbol]:
    """The results of the scan, of which the loop itself gives those that are not known and no sums of products."""
    step, layout, operands, whole = scan
    n, first = layout.carries, layout.carries + layout.rows
    sequence = {id(v): operands[n + i] for i, v in enumerate(step.inputs[n:first])}
    factors = [v for _, values in sums.values() for v in values]
    stacked = list(dict.fromkeys(v for v in factors if id(v) not in sequence))
    products = _products(scan, {*sequence, *map(id, stacked)})
    staying = [i for i in range(n) if i not in sums]
    given = [*staying, *(j for j in range(n, len(step.outputs)) if j not in whole and j not in products)]
    outputs = [*(step.outputs[j] for j in given), *stacked]
    results = dict(whole)
    if outputs or step.has_effect:
        made = _loop(node, scan, staying, outputs)
        results.update(zip(given, made, strict=False))
        sequence.update((id(v), s) for v, s in zip(stacked, made[len(given) :], strict=True))
    for i, (how, values) in sums.items():
        wholes = [sequence[id(v)] for v in values]
        total = einsum(how, *wholes) if len(wholes) > 1 else OPS.sum(wholes[0], tuple(range(wholes[0].ndim - 1)))
        results[i] = _added(operands[i], total)
    captured = {id(v): operands[layout.operand(i)] for i, v in enumerate(step.inputs) if i >= first}
    for j, product in products.items():
        v, *others = product.inputs
        results[j] = rebuilt(product, (sequence[id(v)], *(captured.get(id(w), w) for w in others))).outputs[0]
    return [results[j] for j in range(len(step.outputs))]


def _products(scan: _Scan, kept: Collection[int]) -> dict[int, Node]:
    """By number of a stack: the product with a captured matrix that it is, of a value kept for all steps (ids)."""
    step, first = scan.step, scan.layout.carries + scan.layout.rows
    captured = {id(v) for v in step.inputs[first:]}
    found = {}
    for j, v in enumerate(step.outputs):
        node = made_by(v, "matmul", "linear")
        if j < scan.layout.carries or node is None or id(node.inputs[0]) not in kept or node.inputs[1].ndim != 2:
            continue
        if all(id(w) in captured or isinstance(w, Constant) for w in node.inputs[1:]):
            found[j] = node
    return found


def _loop(node: Node, scan: _Scan, carries: list[int], outputs: Sequence[Symbol]) -> Sequence[Symbol]:
    """What a scan gives that has these carries (numbers) and outputs of a step, and reads what it needs."""
    n, first = scan.layout.carries, scan.layout.carries + scan.layout.rows
    step = Subgraph(scan.step.inputs, outputs)
    reads = step.used()
    rows = [i for i in range(n, first) if i in reads]
    if not rows and scan.layout.rows and scan.layout.length is None:
        rows = [n]  # its length is the number of steps
    kept = [*carries, *rows, *(i for i in range(first, len(step.inputs)) if i in reads)]
    operands = [scan.operands[scan.layout.operand(i)] for i in kept]
    if scan.layout.counted:
        operands.insert(len(carries) + len(rows), scan.operands[first])
    added = tuple(carries.index(i) for i in scan.layout.sums if i in carries)
    layout = scan.layout._replace(carries=len(carries), rows=len(rows), sums=added)
    op = scan_op(len(outputs), step.has_effect)
    return remade(op, operands, {"step": step.only(kept), "layout": layout}, node).outputs


def _added(start: Any, total: Any) -> Any:
    nothing = start.node is not None and start.node.op.name == "zeros_like"
    return total if nothing and start.dtype == total.dtype else OPS.add(start, total)
