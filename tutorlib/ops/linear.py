"""A linear layer as one op: a matrix product and a bias. Each of its three gradients is one product or sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.core.quick import of_several
from tutorlib.ops.define import public, register
from tutorlib.ops.einsum import tensordot
from tutorlib.ops.linalg import _matmul_infer, matmul
from tutorlib.ops.shape import expand_dims, ndim, swap_last


def _linear_forward(xp: Any, x: Any, W: Any, b: Any) -> Any:
    if W.ndim != 2 or b.ndim != 1 or len(b) != W.shape[1]:
        raise ValueError("a bias for each column of the weights is needed")
    # One product, however many axes x has: a stack of products would be as many calls of BLAS.
    if x.ndim > 2:
        rows = x.reshape(-1, x.shape[-1]) if x.size else x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
        y = xp.dot(rows, W).reshape(*x.shape[:-1], W.shape[1])
    else:
        y = x.dot(W)
    if y.dtype != b.dtype:
        return y + b
    y += b
    return y


def _linear_infer(x: AVal, W: AVal, b: AVal) -> AVal:
    product = _matmul_infer(x, W)
    if W.ndim != 2 or b.ndim != 1:
        raise ShapeError(
            f"the weights are a matrix (in, out) and the bias is a vector (out,), not of {W.ndim} and {b.ndim} axes",
            op="linear",
            shapes=[W.shape, b.shape],
            fix="use tl.matmul and + for anything else",
        )
    if None not in (W.shape[1], b.shape[0]) and W.shape[1] != b.shape[0]:
        raise ShapeError(
            f"the weights give {W.shape[1]} results, the bias has {b.shape[0]}",
            op="linear",
            shapes=[W.shape, b.shape],
            wrong_dims=[1, 0],
            fix="one bias for each column of the weights",
        )
    columns = W.shape[1] if W.shape[1] is not None else b.shape[0]
    return AVal((*product.shape[:-1], columns), np.result_type(product.dtype, b.dtype))


def _weights(g: Any, out: Any, x: Any, W: Any, b: Any) -> Any:
    lead = tuple(range(ndim(x) - 1))
    if len(lead) == 1:
        return matmul(swap_last(x), g)
    return tensordot(x, g, (lead, lead)) if lead else expand_dims(x, -1) * g


_linear: Op = register(
    Op(
        "linear",
        _linear_forward,
        _linear_infer,
        (
            lambda g, out, x, W, b: matmul(g, swap_last(W)),
            _weights,
            lambda g, out, x, W, b: OPS.sum(g, tuple(range(ndim(x) - 1))),
        ),
        doc="x @ W + b.",
    )
)


@public
def linear(x: Any, W: Any, b: Any = None) -> Any:
    """x @ W + b, the layer that every network is made of, as one op.

    Args:
        x: (…, in): one example a row, with any axes before.
        W: (in, out).
        b: (out,), or None.

    Returns (…, out). Raises ShapeError.

    >>> import tutorlib as tl
    >>> tl.linear(tl.tensor([[1.0, 2.0]]), tl.tensor([[1.0], [10.0]]), tl.tensor([0.5]))
    tensor([[21.5]])
    """
    return matmul(x, W) if b is None else of_several(_linear, (x, W, b), {})
