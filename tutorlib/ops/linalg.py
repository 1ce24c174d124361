"""Products of vectors and matrices: matmul, dot, inner, outer. Any other sum of products is an ``einsum``."""

from __future__ import annotations

from typing import Any

from tutorlib.core.aval import AVal, broadcast_shapes
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.ops.define import public, register, result_dtype
from tutorlib.ops.einsum import tensordot
from tutorlib.ops.elementwise import mul
from tutorlib.ops.shape import expand_dims, flatten, ndim, squeeze, swap_last


def _matmul_infer(x: AVal, y: AVal) -> AVal:
    if not x.ndim or not y.ndim:
        raise ShapeError(
            "a matrix product needs vectors or matrices, one operand is a scalar",
            op="matmul",
            shapes=[x.shape, y.shape],
            fix="multiply by a scalar with *",
        )
    left, right = x.shape[-1], y.shape[-2] if y.ndim > 1 else y.shape[0]
    if None not in (left, right) and left != right:
        which = "second-last" if y.ndim > 1 else "only"
        fix = f"the last dim of the left ({left}) must equal the {which} dim of the right ({right})"
        if y.ndim == 2 and y.shape[1] == left:
            fix += "; transposing the right operand would fit: x @ y.T"
        elif x.ndim == 2 and x.shape[0] == right:
            fix += "; transposing the left operand would fit: x.T @ y"
        raise ShapeError(
            f"inner dims {left} and {right} differ",
            op="matmul",
            shapes=[x.shape, y.shape],
            wrong_dims=[x.ndim - 1, max(y.ndim - 2, 0)],
            fix=fix,
        )
    batch = broadcast_shapes([x.shape[:-2], y.shape[:-2]], "matmul")
    rows = x.shape[-2:-1] if x.ndim > 1 else ()
    columns = y.shape[-1:] if y.ndim > 1 else ()
    return AVal(batch + rows + columns, result_dtype(_matmul, [AVal((1, 1), x.dtype), AVal((1, 1), y.dtype)]))


def _matmul_x(g: Any, out: Any, x: Any, y: Any) -> Any:
    if ndim(y) == 1:
        return g * y if ndim(x) == 1 else expand_dims(g, -1) * y
    if ndim(x) == 1:
        return squeeze(matmul(y, expand_dims(g, -1)), -1)
    return matmul(g, swap_last(y))


def _matmul_y(g: Any, out: Any, x: Any, y: Any) -> Any:
    if ndim(x) == 1:
        return g * x if ndim(y) == 1 else expand_dims(x, -1) * expand_dims(g, -2)
    if ndim(y) == 1:
        return squeeze(matmul(swap_last(x), expand_dims(g, -1)), -1)
    return matmul(swap_last(x), g)


_matmul: Op = register(Op("matmul", None, _matmul_infer, (_matmul_x, _matmul_y), ufunc="matmul", flags={"stretches"}))


@public
def matmul(x: Any, y: Any) -> Any:
    """The matrix product of NumPy's ``@``: vectors, matrices, and stacks of matrices whose leading axes broadcast.

    >>> import tutorlib as tl
    >>> tl.matmul(tl.tensor([[1, 2], [3, 4]]), tl.tensor([1, 1]))
    tensor([3, 7])
    """
    return _matmul(x, y)


@public
def dot(x: Any, y: Any) -> Any:
    """NumPy's dot product: of vectors the inner product, of matrices ``x @ y``, with a scalar the product.

    For more than two axes it sums over the last of x and the second last of y, and keeps all others; ``x @ y``
    pairs up the leading ones.

    >>> import tutorlib as tl
    >>> tl.dot(tl.tensor([1, 2]), tl.tensor([3, 4])).item()
    11
    """
    if ndim(x) == 0 or ndim(y) == 0:
        return mul(x, y)
    return matmul(x, y) if ndim(y) <= 2 else tensordot(x, y, (-1, -2))


@public
def inner(x: Any, y: Any) -> Any:
    """The sum of products over the last axis of each, for every pair of what is left; with a scalar the product.

    >>> import tutorlib as tl
    >>> tl.inner(tl.tensor([[1, 2], [3, 4]]), tl.tensor([1, 1]))
    tensor([3, 7])
    """
    if ndim(x) == 0 or ndim(y) == 0:
        return mul(x, y)
    return tensordot(x, y, (-1, -1))


@public
def outer(x: Any, y: Any) -> Any:
    """Every element of x times every element of y, as a matrix.

    >>> import tutorlib as tl
    >>> tl.outer(tl.tensor([1, 2]), tl.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    return mul(expand_dims(flatten(x), 1), expand_dims(flatten(y), 0))
