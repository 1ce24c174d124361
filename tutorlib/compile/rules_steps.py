"""What a program does piece by piece, row after row or gate after gate, done once for all pieces.

Unrolled loops are full of it: a product for each row of a sequence, a weight's gradient added up step after step, the
gradients of slices put into zeros and added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tutorlib.compile.matching import made_by, used_once, users
from tutorlib.compile.rule_table import rule
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.ops.define import TABLE

# From so many equal pieces on it is worth it.
SEVERAL = 4
# Pieces of more rows than this keep BLAS busy each by itself.
FEW_ROWS = 512


# ---- sums of many terms ----


def _goes_on(var: Symbol, of: Node) -> Node | None:
    """The addition that computed ``var``, if it is but a part of the sum ``of``."""
    inner = made_by(var, "add")
    return inner if inner is not None and used_once(var) and var.dtype == of.outputs[0].dtype else None


def _only_user(node: Node) -> Node | None:
    found = users(node.outputs[0])
    return found[0] if len(found) == 1 else None


def _terms(node: Node) -> list[Symbol]:
    """The terms of a sum of sums; none where ``node`` is itself part of a longer one, which is asked too."""
    user = _only_user(node)
    if user is not None and user.op.name == "add" and user.outputs[0].dtype == node.outputs[0].dtype:
        return []
    found: list[Symbol] = []
    todo = list(node.inputs)
    while todo:
        var = todo.pop()
        inner = _goes_on(var, node)
        if inner is None:
            found.append(var)
        else:
            todo += inner.inputs
    return found


def _sum(terms: Sequence[Symbol]) -> Symbol:
    total = terms[0]
    for term in terms[1:]:
        total = OPS.add(total, term)
    return total


# ---- pieces of an array ----


def _piece(var: Symbol, *ops: str) -> tuple[Node, int, int, int, bool] | None:
    """(node, axis, start, stop, whether the axis is gone) where ``var`` is a piece along one axis cut out of an array,
    or put into zeros, by one of ``ops``; the array is the node's first operand, or the shape's giver its second."""
    node = made_by(var, *ops)
    if node is None:
        return None
    put = node.op.name in ("scatter", "unsection")
    whole = node.inputs[1 if put else 0]
    if node.op.name in ("section", "unsection"):
        axis, sections, number = node.attrs["axis"], node.attrs["sections"], node.attrs["index"]
        length = whole.shape[axis]
        if length is None:
            return None
        size = length // sections
        return node, axis, number * size, (number + 1) * size, False
    if len(node.inputs) != 1 + put:
        return None
    index = node.attrs["index"]
    cuts = [(i, item) for i, item in enumerate(index) if item != slice(None)]
    if len(cuts) != 1 or len(index) > whole.ndim:
        return None
    axis, item = cuts[0]
    length = whole.shape[axis]
    if length is None:
        return None
    if isinstance(item, slice):
        start, stop, step = item.indices(length)
        return (node, axis, start, stop, False) if step == 1 and start < stop else None
    if type(item) is not int:
        return None
    at = item % length
    return node, axis, at, at + 1, True


@rule(
    "add",
    tier="algebra",
    says="pieces put into zeros, and added up to a whole = the pieces joined",
    of=("scatter unsection add",),
)
def sum_of_pieces(node: Node) -> Any:
    terms = _terms(node)
    pieces: dict[Any, list[tuple[int, int, bool, int]]] = {}
    for i, term in enumerate(terms):
        found = _piece(term, "scatter", "unsection")
        if found is not None:
            piece, axis, start, stop, gone = found
            pieces.setdefault((axis, id(piece.inputs[1])), []).append((start, stop, gone, i))
    for (axis, _), cuts in pieces.items():
        cuts.sort()
        like = terms[cuts[0][3]].node.inputs[1]
        ends = [0, *(stop for _, stop, _, _ in cuts)]
        if ends[-1] != like.shape[axis] or any(start != end for (start, *_), end in zip(cuts, ends, strict=False)):
            continue
        parts = [terms[i].node.inputs[0] for *_, i in cuts]
        if len(parts) < 2 or any(part.dtype != node.outputs[0].dtype for part in parts):
            continue
        parts = [OPS.expand_dims(p, axis) if gone else p for p, (_, _, gone, _) in zip(parts, cuts, strict=True)]
        taken = {i for *_, i in cuts}
        rest = [term for i, term in enumerate(terms) if i not in taken]
        return _sum([*rest[::-1], OPS.concatenate(parts, axis)])
    return None


# ---- rows ----


def _row(var: Symbol) -> tuple[Symbol, int, int] | None:
    """(whole, axis, number), when ``var`` is one row of an array."""
    found = _piece(var, "getitem")
    return (found[0].inputs[0], found[1], found[2]) if found is not None and found[4] else None


def _shape(*dims: int | None) -> tuple[int, ...] | None:
    """For ``reshape``: of unknown lengths there may be one."""
    return tuple(-1 if d is None else d for d in dims) if dims.count(None) < 2 else None


def _flat(*dims: int | None) -> int | None:
    return None if None in dims else math.prod(dims)  # type: ignore[arg-type]


@rule(
    "matmul",
    "linear",
    tier="algebra",
    safety="reassociates",
    says="X[t] W = (X W)[t], when it is wanted of most rows",
    of=("getitem",),
)
def product_of_rows(node: Node) -> Any:
    x, W, *bias = node.inputs
    found = _row(x)
    if found is None or W.ndim != 2 or any(v.dtype != x.dtype for v in (W, *bias)):
        return None
    whole, axis, number = found
    if whole.ndim not in (2, 3) or axis == whole.ndim - 1 or (node.op.name == "matmul" and _is_layer(node)):
        return None
    enough = max(SEVERAL, (whole.shape[axis] + 1) // 2)  # type: ignore[operator]
    rows, at_once = set(), None
    # The product that an earlier row has led to is among the last readers of the whole array.
    for user in reversed(users(whole)):
        for n in users(user.outputs[0]) if user is not None else ():
            if not _same_product(n, node):
                continue
            row = _row(user.outputs[0])  # type: ignore[union-attr]
            if row is not None and row[1] == axis:
                rows.add(row[2])
            elif user.op.name == "reshape" and user.outputs[0].ndim == 2:  # type: ignore[union-attr]
                at_once = n
        if at_once is not None or len(rows) == enough:
            break
    else:
        return None
    flat, back = _shape(_flat(*whole.shape[:-1]), whole.shape[-1]), _shape(*whole.shape[:-1], W.shape[1])
    if flat is None or back is None:
        return None
    product = at_once.outputs[0] if at_once is not None else node.op(OPS.reshape(whole, flat), W, *bias)
    return OPS.getitem(OPS.reshape(product, back), (slice(None),) * axis + (number,))


def _same_product(user: Node | None, node: Node) -> bool:
    return (
        user is not None
        and user.op is node.op
        and all(a is b for a, b in zip(user.inputs[1:], node.inputs[1:], strict=True))
    )


def _is_layer(node: Node) -> bool:
    """Whether a product and a bias are about to become one ``linear``."""
    user = _only_user(node)
    if user is None or user.op.name != "add":
        return False
    return any(v.ndim == 1 and v.shape[0] is not None and v.shape == node.inputs[1].shape[1:] for v in user.inputs)


@rule(
    "add",
    tier="algebra",
    safety="reassociates",
    says="A₁ᵀ B₁ + A₂ᵀ B₂ + … = Aᵀ B, and Σ B₁ + Σ B₂ + … = Σ B, of the rows of all steps joined",
    of=("matmul unbroadcast add",),
)
def sum_over_steps(node: Node) -> Any:
    terms = _terms(node)
    if len(terms) < SEVERAL:
        return None
    groups: dict[Any, list[int]] = {}
    for i, term in enumerate(terms):
        key = _kind(term)
        if key is not None and term.dtype == node.outputs[0].dtype:
            groups.setdefault(key, []).append(i)
    for group in groups.values():
        dear = [i for i in group if _is_dear(terms[i])]
        if len(dear) > 1:  # one may be the state before the first step
            group = [i for i in group if i not in dear]
        if len(group) < SEVERAL:
            continue
        chosen = [terms[i].node for i in group]
        right = [n.inputs[-1] if n.op.name == "matmul" else n.inputs[0] for n in chosen]
        left = [n.inputs[0].node.inputs[0] for n in chosen if n.op.name == "matmul"]
        order = _order(left, right)
        whole = _joined([right[i] for i in order])
        if left:
            total = OPS.matmul(OPS.transpose(_joined([left[i] for i in order])), whole)
        else:
            total = TABLE["unbroadcast"](whole, chosen[0].inputs[1])
        rest = [term for i, term in enumerate(terms) if i not in group]
        return _sum([*rest[::-1], total])
    return None


def _kind(term: Symbol) -> Any:
    """What terms have in common that may be one product, or one sum; None of others."""
    node = made_by(term, "matmul", "unbroadcast")
    if node is None or not used_once(term):
        return None
    if node.op.name == "unbroadcast":
        g, like = node.inputs
        fits = g.ndim == 2 and like.ndim == 1 and g.dtype == term.dtype and _few(g)
        return ("sum", g.shape[1]) if fits and g.shape[1] is not None and g.shape[1] == like.shape[0] else None
    a, b = node.inputs
    turned = made_by(a, "transpose")
    if turned is None or turned.attrs["axes"] != (1, 0) or b.ndim != 2 or not _few(b):
        return None
    widths = turned.inputs[0].shape[1], b.shape[1]
    return ("product", *widths) if None not in widths and a.dtype == b.dtype == term.dtype else None


def _is_dear(term: Symbol) -> bool:
    """Whether joining what a product is made of, being given from outside, costs more than adding up the product."""
    node = made_by(term, "matmul")
    turned = made_by(node.inputs[0], "transpose") if node is not None else None
    if node is None or turned is None or turned.inputs[0].node is not None:
        return False
    rows, columns = turned.inputs[0].shape[0], node.inputs[1].shape[1]
    return rows is None or columns is None or rows > columns


def _few(rows: Symbol) -> bool:
    return rows.shape[0] is None or rows.shape[0] <= FEW_ROWS


def _order(left: Sequence[Symbol], right: Sequence[Symbol]) -> list[int]:
    """In which order to join the rows of steps: in that in which some of them are joined, or lie, already."""
    places = range(len(right))
    for side in (right, left):
        for user in users(side[0]) if side else ():
            if user is None or user.op.name != "concatenate" or user.attrs["axis"] != 0:
                continue
            at = {id(v): i for i, v in enumerate(user.inputs)}
            if all(id(v) in at for v in side):
                return sorted(places, key=lambda i, at=at, side=side: at[id(side[i])])  # type: ignore[misc]
    for side in (left, right):
        rows = [_row(v) for v in side]
        if rows and _of_one_array(rows):
            return sorted(places, key=lambda i, rows=rows: rows[i][2])  # type: ignore[misc]
    # Sums of a backward pass begin with the last step.
    return list(places)


def _of_one_array(rows: Sequence[tuple[Symbol, int, int] | None]) -> bool:
    """Whether all are rows along one axis of one array."""
    first = rows[0]
    return first is not None and all(row is not None and row[0] is first[0] and row[1] == first[1] for row in rows)


def _joined(parts: Sequence[Symbol]) -> Symbol:
    """The rows of all ``parts``, matrices, one below the other."""
    rows = [_row(v) for v in parts]
    if _of_one_array(rows):
        whole, axis, _ = rows[0]  # type: ignore[misc]
        numbers = [row[2] for row in rows if row is not None]
        count = whole.shape[axis]
        flat = _shape(_flat(count, whole.shape[1 - axis]), whole.shape[-1]) if whole.ndim == 3 else None
        upwards = list(range(count))  # type: ignore[arg-type]
        if flat is not None and numbers in (upwards, upwards[::-1]):
            turned = OPS.transpose(whole, (1, 0, 2)) if axis else whole
            return OPS.reshape(turned if numbers == upwards else OPS.flip(turned, 0), flat)
    for user in users(parts[0]):
        if user is not None and user.op.name == "concatenate" and user.attrs["axis"] == 0:
            start = next(i for i, v in enumerate(user.inputs) if v is parts[0])
            same = all(a is b for a, b in zip(parts, user.inputs[start:], strict=False))
            lengths = [v.shape[0] for v in user.inputs[: start + len(parts)] if v.shape[0] is not None]
            if same and len(lengths) == start + len(parts):
                cut = slice(sum(lengths[:start]), sum(lengths))
                return user.outputs[0] if len(parts) == len(user.inputs) else OPS.getitem(user.outputs[0], cut)
    return OPS.concatenate(list(parts), 0)
