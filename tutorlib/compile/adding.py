"""Updates of large variables that add something: in one call of BLAS, where NumPy would make the something first.

``w − c·g`` becomes one pass over w and g, ``w − A B`` a product that is added as it is made. Both are found among the
updates that are computed into their variables' own arrays (see ``buffers.direct_updates``) when a schedule is made. The
graph and its log keep the two ops; the printed program has one line for both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.blas import library
from tutorlib.compile.buffers import Like, roots_of_views
from tutorlib.compile.lower_adding import AXPY, GEMM
from tutorlib.compile.matching import made_by
from tutorlib.compile.rules_factors import number_and_rest
from tutorlib.core.graph import Node, Shared, Symbol

# Below so many elements two calls of NumPy are as quick as one through ctypes.
LARGE = 16_384


def added_at_once(
    nodes: Sequence[Node],
    direct: Mapping[int, Shared],
    likes: Mapping[int, Like],
    ends: Sequence[Symbol],
    products_only: bool = False,
) -> tuple[list[Node], dict[int, Shared]]:
    """``nodes`` and ``direct`` (by id of node: the variable it is computed into) with both joined where that pays.

    ``products_only``: ``w − c·g`` is left as it is, for C makes one loop of it anyway.
    """
    large = [n for n in nodes if id(n) in direct and n.op.name in ("add", "sub") and _is_large(n, likes)]
    if not large or library() is None:
        return list(nodes), dict(direct)
    uses = Counter([id(v) for node in nodes for v in node.inputs] + [id(v) for v in ends])
    root, known = roots_of_views(nodes), {id(n) for n in nodes}
    written = {id(s) for s in direct.values()}
    joined: dict[int, Node] = {}
    gone: set[int] = set()
    for node in large:
        added = _added(node, direct[id(node)])
        inner = added[0].node if added is not None else None
        if added is None or inner is None or id(inner) not in known or uses[id(added[0])] != 1:
            continue
        if products_only and inner.op.name != "matmul":
            continue
        found = _joined(node, direct[id(node)], inner, added[1], likes)
        # What is read must not be what another update may have written by then.
        if found is not None and not any(root.get(id(v), id(v)) in written for v in found.inputs[1:]):
            joined[id(node)] = found
            gone.add(id(inner))
    left = [joined.get(id(n), n) for n in nodes if id(n) not in gone]
    return left, {id(joined[key]) if key in joined else key: s for key, s in direct.items()}


def _is_large(node: Node, likes: Mapping[int, Like]) -> bool:
    shape, dtype = likes[id(node.outputs[0])]
    return int(np.prod(shape)) >= LARGE and dtype.name in ("float32", "float64")


def _added(node: Node, variable: Shared) -> tuple[Symbol, float] | None:
    """(p, sign) of a node that is variable ± p."""
    x, y = node.inputs
    if x is variable and y is not variable:
        return y, 1.0 if node.op.name == "add" else -1.0
    return (x, 1.0) if y is variable and node.op.name == "add" and x is not variable else None


def _joined(node: Node, variable: Shared, inner: Node, sign: float, likes: Mapping[int, Like]) -> Node | None:
    like = likes[id(node.outputs[0])]
    operands: tuple[Symbol, ...]
    if likes.get(id(inner.outputs[0])) != like:
        return None
    if made_by(inner.outputs[0], "mul") is not None:
        found = number_and_rest(inner)
        if found is None or _like(found[1], likes) != like:
            return None
        op, operands, by = AXPY, (found[1],), sign * found[0]
    elif inner.op.name == "matmul" and all(_like(v, likes)[0:1] and v.ndim == 2 for v in inner.inputs):
        op, operands, by = GEMM, inner.inputs, sign
    else:
        return None
    made = Node(op, (variable, *operands), {"by": by}, node.place)
    made.meta, made.outputs = node.meta, node.outputs
    return made


def _like(var: Symbol, likes: Mapping[int, Like]) -> Any:
    if isinstance(var, Shared):
        return var.storage.value.shape, var.storage.value.dtype
    return likes.get(id(var), ())
