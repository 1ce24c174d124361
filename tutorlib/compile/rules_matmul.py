"""Matrix products and transposes, and sums of what was stretched. Each is proved by the shapes it asks for."""

from __future__ import annotations

from typing import Any

from tutorlib.compile.matching import made_by, size_of, used_once
from tutorlib.compile.rule_table import rule
from tutorlib.core.graph import Node
from tutorlib.core.operators import OPS
from tutorlib.ops.reduce import count

# A sum of squares of so many elements at most is a product of vectors: more are added pairwise, for accuracy.
LONGEST_DOT = 65_536


def _transposed(var: Any) -> Any:
    """A, when ``var`` is the matrix Aᵀ."""
    node = made_by(var, "transpose")
    return node.inputs[0] if node is not None and var.ndim == 2 and node.attrs["axes"] == (1, 0) else None


@rule("matmul", tier="algebra", safety="reassociates", says="Aᵀ Bᵀ = (B A)ᵀ", of=("transpose",))
def product_of_transposes(node: Node) -> Any:
    a, b = map(_transposed, node.inputs)
    return OPS.transpose(OPS.matmul(b, a)) if a is not None and b is not None else None


@rule("transpose", tier="algebra", safety="reassociates", says="(Aᵀ B)ᵀ = Bᵀ A and (A Bᵀ)ᵀ = B Aᵀ", of=("matmul",))
def transpose_of_product(node: Node) -> Any:
    """Only where a transpose goes away by it, and nothing else wants the product: it must not be computed twice."""
    product = made_by(node.inputs[0], "matmul")
    if product is None or node.attrs["axes"] != (1, 0) or not used_once(node.inputs[0]):
        return None
    a, b = product.inputs
    if a.ndim != 2 or b.ndim != 2:
        return None
    left, right = _transposed(a), _transposed(b)
    if left is None and right is None:
        return None
    return OPS.matmul(OPS.transpose(b) if right is None else right, OPS.transpose(a) if left is None else left)


@rule(
    "sum",
    "mean",
    tier="algebra",
    safety="reassociates",
    says="Σ xᵀ = Σ x, over everything",
    of=("transpose reshape expand_dims squeeze flip",),
)
def sum_of_rearranged(node: Node) -> Any:
    inner = made_by(node.inputs[0], "transpose", "reshape", "expand_dims", "squeeze", "flip")
    if inner is None or node.attrs["axis"] is not None or node.attrs["keepdims"]:
        return None
    return node.op(inner.inputs[0], **node.attrs)


@rule("sum", tier="algebra", safety="reassociates", says="Σ (Σ x) = Σ x, the outer sum over everything", of=("sum",))
def sum_twice(node: Node) -> Any:
    inner = made_by(node.inputs[0], "sum")
    if inner is None or node.attrs["axis"] is not None or node.attrs["keepdims"]:
        return None
    return OPS.sum(inner.inputs[0])


@rule(
    "sum",
    tier="algebra",
    safety="reassociates",
    says="Σ c, of a number stretched to n elements, = n · c",
    of=("broadcast_like broadcast_to",),
)
def sum_of_stretched(node: Node) -> Any:
    inner = made_by(node.inputs[0], "broadcast_like", "broadcast_to")
    if inner is None or node.attrs["axis"] is not None or node.attrs["keepdims"]:
        return None
    c, n = inner.inputs[0], size_of(node.inputs[0])
    if c.ndim or c.dtype.kind != "f" or c.dtype != node.outputs[0].dtype or c.dtype.itemsize < 4:
        return None
    if n is not None:
        return OPS.mul(c, float(n))
    return OPS.mul(c, count(inner.inputs[1], None, c.dtype)) if len(inner.inputs) > 1 else None


@rule(
    "mean",
    tier="algebra",
    safety="reassociates",
    says="the mean of a stretched number is that number",
    of=("broadcast_like broadcast_to",),
)
def mean_of_stretched(node: Node) -> Any:
    inner = made_by(node.inputs[0], "broadcast_like", "broadcast_to")
    if inner is None or node.attrs["axis"] is not None or node.attrs["keepdims"]:
        return None
    c = inner.inputs[0]
    # The mean of nothing is NaN, whatever the number.
    return c if not c.ndim and c.dtype == node.outputs[0].dtype and size_of(node.inputs[0]) else None


@rule("sum", tier="algebra", safety="reassociates", says="Σ x² = x · x, a product of vectors", of=("square",))
def sum_of_squares(node: Node) -> Any:
    inner = made_by(node.inputs[0], "square")
    if inner is None or node.attrs["axis"] is not None or node.attrs["keepdims"] or not used_once(node.inputs[0]):
        return None
    x, n = inner.inputs[0], size_of(node.inputs[0])
    if n is None or not 0 < n <= LONGEST_DOT or x.dtype.kind != "f" or x.dtype.itemsize < 4 or not x.ndim:
        return None
    flat = x if x.ndim == 1 else OPS.reshape(x, (n,))
    return OPS.matmul(flat, flat)
