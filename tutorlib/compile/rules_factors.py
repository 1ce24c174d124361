"""Numbers that multiply: moved to where they cost least, and joined with what multiplies there already.

A learning rate times a gradient is such a number. It moves up the backward pass, product by product, as long as that is
no dearer, and often ends in a constant.
"""

from __future__ import annotations

import math
from typing import Any

from tutorlib.compile.matching import keeps, made_by, scalar_value, size_of, used_once, users
from tutorlib.compile.rule_table import rule
from tutorlib.core.graph import Constant, Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.core.walk import shape_source

# Below so many elements a product costs what its call costs.
FEW = 4096
UNKNOWN = 1 << 62


def number_and_rest(node: Node) -> tuple[float, Symbol] | None:
    """(c, x) of a node that is c · x, where c is a finite number that neither stretches nor widens x, and not 0."""
    x, y = node.inputs
    out = node.outputs[0]
    if out.dtype.kind != "f" or out.dtype.itemsize < 4:
        return None
    for number, rest in ((x, y), (y, x)):
        if not isinstance(number, Constant) or number.ndim or not keeps(rest, node):
            continue
        value = scalar_value(number)
        if isinstance(value, int | float) and math.isfinite(value) and value:
            return float(value), rest
    return None


def scaled_by(var: Any) -> tuple[float, Symbol] | None:
    """(c, x), when ``var`` is c · x and nothing else."""
    node = made_by(var, "mul")
    return number_and_rest(node) if node is not None else None


def _is_scaled_anyway(var: Symbol, c: float, but: Node | None = None) -> bool:
    """Whether c · var is computed in any case; by another node than ``but``."""
    for user in users(var):
        if (
            user is not None
            and user is not but
            and user.op.name == "mul"
            and (found := number_and_rest(user)) is not None
            and found[0] == c
        ):
            return True
    return False


@rule("mul", tier="algebra", safety="reassociates", says="a · (b · x) = (a·b) · x", of=("number", "mul"))
def join_factors(node: Node) -> Any:
    outer = number_and_rest(node)
    inner = scaled_by(outer[1]) if outer is not None else None
    if outer is None or inner is None:
        return None
    product = outer[0] * inner[0]
    return OPS.mul(inner[1], product) if math.isfinite(product) and product else None


@rule("mul", tier="algebra", says="c · (−x) = (−c) · x", of=("number", "neg"))
def factor_of_negative(node: Node) -> Any:
    found = number_and_rest(node)
    inner = made_by(found[1], "neg") if found is not None else None
    return OPS.mul(inner.inputs[0], -found[0]) if found is not None and inner is not None else None


@rule("neg", tier="algebra", says="−(c · x) = (−c) · x", of=("mul",))
def negative_of_factor(node: Node) -> Any:
    found = scaled_by(node.inputs[0])
    return OPS.mul(found[1], -found[0]) if found is not None and used_once(node.inputs[0]) else None


@rule(
    "mul",
    "safe_mul",
    tier="algebra",
    says="x times a number stretched to its shape is x times the number",
    of=("broadcast_like broadcast_to",),
)
def times_stretched(node: Node) -> Any:
    for x, stretched in (node.inputs, node.inputs[::-1]):
        inner = made_by(stretched, "broadcast_like", "broadcast_to")
        if inner is None or inner.inputs[0].ndim or inner.inputs[0].dtype != x.dtype or x.dtype != stretched.dtype:
            continue
        same = x.aval.known and x.shape == stretched.shape
        if same or shape_source(x) is shape_source(stretched):
            c = inner.inputs[0]
            return node.op(c, x) if stretched is node.inputs[0] else node.op(x, c)
    return None


@rule(
    "mul",
    tier="algebra",
    safety="reassociates",
    says="c · (A B) = A (c · B), onto the smaller factor",
    of=("number", "matmul"),
)
def factor_into_product(node: Node) -> Any:
    found = number_and_rest(node)
    product = made_by(found[1], "matmul") if found is not None else None
    if found is None or product is None or not used_once(found[1]):
        return None
    c, out = found[0], _cost(found[1])
    costs = [_cost(v) for v in product.inputs]
    ready = [i for i, v in enumerate(product.inputs) if _is_scaled_anyway(v, c)]
    # A computed factor may pass the number on, a variable of the learner's cannot; a cotangent, which other gradients
    # want scaled as well, is not transposed.
    cheaper = [i for i, v in enumerate(product.inputs) if costs[i] < out or (costs[i] == out and not _is_given(v))]
    if not ready and (not cheaper or out == UNKNOWN):
        return None
    best = min(
        ready or cheaper,
        key=lambda i: (_is_given(product.inputs[i]), made_by(product.inputs[i], "transpose") is not None, costs[i]),
    )
    a, b = (OPS.mul(v, c) if i == best else v for i, v in enumerate(product.inputs))
    return OPS.matmul(a, b)


def _cost(var: Symbol) -> int:
    """Of multiplying a variable by a number, in elements: for few of them the call costs more than the elements."""
    size = size_of(var)
    return UNKNOWN if size is None else max(size, FEW)


def _is_given(var: Symbol) -> bool:
    while (view := made_by(var, "transpose", "reshape")) is not None:
        var = view.inputs[0]
    return var.node is None


@rule(
    "matmul",
    tier="algebra",
    safety="reassociates",
    says="(c · A) B = c · (A B), where the product is smaller",
    of=("mul",),
)
def factor_out_of_product(node: Node) -> Any:
    costs, out = [_cost(v) for v in node.inputs], _cost(node.outputs[0])
    if UNKNOWN in costs or node.outputs[0].dtype.kind != "f":
        return None
    for i, v in enumerate(node.inputs):
        found = scaled_by(v)
        if found is None or not used_once(v) or not out < min(costs):
            continue
        return OPS.mul(OPS.matmul(*(found[1] if j == i else w for j, w in enumerate(node.inputs))), found[0])
    return None


# Ops that move or stretch the elements of their first operand, or are linear in it in another way.
_VIEWS = tuple(
    """transpose reshape expand_dims squeeze broadcast_to broadcast_like put_label cross_entropy_back
    max_pool_spread""".split()
)


@rule(
    "mul",
    tier="algebra",
    says="c · f(x) = f(c · x), where f moves or stretches elements, or is linear in another way",
    of=("number", " ".join(_VIEWS)),
)
def factor_through_views(node: Node) -> Any:
    found = number_and_rest(node)
    view = made_by(found[1], *_VIEWS) if found is not None else None
    if found is None or view is None or not used_once(found[1]):
        return None
    x = view.inputs[0]
    if x.node is None and size_of(x) == size_of(found[1]):
        return None
    return view.op(OPS.mul(x, found[0]), *view.inputs[1:], **view.attrs)


@rule(
    "mul",
    tier="algebra",
    safety="reassociates",
    says="c · (g · x) = (c · g) · x, where c may go on",
    of=("number", "mul safe_mul safe_div div"),
)
def factor_into_factors(node: Node) -> Any:
    found = number_and_rest(node)
    inner = made_by(found[1], "mul", "safe_mul", "safe_div", "div") if found is not None else None
    if found is None or inner is None or not used_once(found[1]):
        return None
    g, x = inner.inputs
    if _takes(g, found[0]) and g.dtype == inner.outputs[0].dtype:
        return inner.op(OPS.mul(g, found[0]), x)
    if inner.op.name in ("mul", "safe_mul") and _takes(x, found[0]) and x.dtype == inner.outputs[0].dtype:
        return inner.op(g, OPS.mul(x, found[0]))
    return None


def _takes(var: Symbol, c: float, depth: int = 4) -> bool:
    """Whether a number that multiplies ``var`` can vanish in it."""
    if isinstance(var, Constant) or _is_scaled_anyway(var, c):
        return True
    if not depth or not used_once(var) or var.node is None:
        return False
    node = var.node
    name, inputs = node.op.name, node.inputs
    if name == "mul":
        return number_and_rest(node) is not None or _takes(inputs[0], c, depth - 1)
    if name in ("safe_mul", "safe_div", "div", "neg") or name in _VIEWS:
        return _takes(inputs[0], c, depth - 1)
    if name == "matmul":
        return any(_takes(v, c, depth - 1) or (not _is_given(v) and _cost(v) <= _cost(var)) for v in inputs)
    if name == "where":
        return any(scalar_value(inputs[i]) == 0 and _takes(inputs[3 - i], c, depth - 1) for i in (1, 2))
    return name in ("add", "sub") and all(_takes(v, c, depth - 1) for v in inputs)


@rule("neg", tier="algebra", says="−(g · x) = (−g) · x, where the sign may vanish", of=("mul safe_mul safe_div div",))
def sign_into_factors(node: Node) -> Any:
    inner = made_by(node.inputs[0], "mul", "safe_mul", "safe_div", "div")
    if inner is None or not used_once(node.inputs[0]) or node.outputs[0].dtype.kind != "f":
        return None
    g, x = inner.inputs
    return inner.op(OPS.neg(g), x) if g.node is not None and _takes(g, -1.0) else None


@rule(
    "mul", tier="algebra", safety="reassociates", says="c · where(m, x, 0) = where(m, c · x, 0)", of=("number", "where")
)
def factor_into_where(node: Node) -> Any:
    found = number_and_rest(node)
    inner = made_by(found[1], "where") if found is not None else None
    if found is None or inner is None or not used_once(found[1]):
        return None
    m, x, y = inner.inputs
    if scalar_value(y) == 0 and x.dtype == inner.outputs[0].dtype and _takes(x, found[0]):
        return OPS.where(m, OPS.mul(x, found[0]), y)
    if scalar_value(x) == 0 and y.dtype == inner.outputs[0].dtype and _takes(y, found[0]):
        return OPS.where(m, x, OPS.mul(y, found[0]))
    return None


@rule(
    "mul",
    tier="algebra",
    safety="reassociates",
    says="c · (x ± y) = c · x ± c · y, where c vanishes in both",
    of=("number", "add sub"),
)
def factor_into_sum(node: Node) -> Any:
    found = number_and_rest(node)
    inner = made_by(found[1], "add", "sub") if found is not None else None
    if found is None or inner is None or not used_once(found[1]):
        return None
    x, y = inner.inputs
    out = inner.outputs[0]
    if x is y or not all((v.dtype == out.dtype or _is_plain(v)) and _takes(v, found[0]) for v in (x, y)):
        return None
    x, y = (v.value * found[0] if _is_plain(v) else OPS.mul(v, found[0]) for v in (x, y))
    return inner.op(x, y)


def _is_plain(var: Symbol) -> bool:
    """Whether it is a number as Python writes it, which takes the dtype of what it stands beside."""
    return isinstance(var, Constant) and var.aval.weak and isinstance(var.value, int | float)


@rule(
    "mul",
    tier="algebra",
    safety="reassociates",
    says="c · Σ x = Σ (c · x), where c · x is there already",
    of=("number", "sum mean unbroadcast"),
)
def factor_of_sum(node: Node) -> Any:
    found = number_and_rest(node)
    total = made_by(found[1], "sum", "mean", "unbroadcast") if found is not None else None
    if found is None or total is None or not used_once(found[1]):
        return None
    x = total.inputs[0]
    if x.dtype != node.outputs[0].dtype or not _is_scaled_anyway(x, found[0]):
        return None
    return total.op(OPS.mul(x, found[0]), *total.inputs[1:], **total.attrs)


@rule(
    "sum",
    tier="algebra",
    safety="reassociates",
    says="Σ (c · x) = c · Σ x, where nothing else wants c · x",
    of=("mul",),
)
def sum_of_scaled(node: Node) -> Any:
    found = scaled_by(node.inputs[0])
    if found is None or not used_once(node.inputs[0]) or found[1].dtype != node.outputs[0].dtype:
        return None
    # Else ``factor_of_sum`` would undo this.
    if _is_scaled_anyway(found[1], found[0], but=node.inputs[0].node):
        return None
    return OPS.mul(OPS.sum(found[1], **node.attrs), found[0])


@rule("neg", tier="algebra", says="−f(c) = f(−c), where f stretches or masks a number", of=("broadcast_like where",))
def negative_of_number(node: Node) -> Any:
    inner = made_by(node.inputs[0], "broadcast_like", "where")
    if inner is None or not used_once(node.inputs[0]) or node.outputs[0].dtype.kind != "f":
        return None
    if inner.op.name == "broadcast_like":
        c, like = inner.inputs
        return OPS.broadcast_like(OPS.neg(c), like) if isinstance(c, Constant) else None
    m, x, y = inner.inputs
    if scalar_value(y) == 0 and x.dtype == inner.outputs[0].dtype and made_by(x, "broadcast_like") is not None:
        return OPS.where(m, OPS.neg(x), y) if isinstance(x.node.inputs[0], Constant) else None
    return None
