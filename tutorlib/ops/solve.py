"""Linear algebra on square matrices and stacks of them: solve, inv, det, slogdet, cholesky.

The gradient rules are those of M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), and for cholesky of I. Murray, "Differentiation of the Cholesky decomposition" (2016).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, broadcast_shapes
from tutorlib.core.errors import ShapeError, TutorlibError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import public, register, result_dtype
from tutorlib.ops.diagonal import tril
from tutorlib.ops.linalg import matmul
from tutorlib.ops.shape import expand_dims, ndim, squeeze, swap_last


def _check_square(x: AVal, op: str) -> None:
    if x.ndim < 2 or (None not in x.shape[-2:] and x.shape[-2] != x.shape[-1]):
        raise ShapeError(
            "a square matrix is needed",
            op=op,
            shapes=[x.shape],
            wrong_dims=[x.ndim - 1] if x.ndim > 1 else [],
            fix="give a matrix with as many rows as columns",
        )


def _forward(name: str, compute: Callable[..., Any], singular: str) -> Callable[..., Any]:
    """``compute`` with NumPy's error for a matrix it cannot handle turned into ours."""

    def forward(xp: Any, *arrays: Any) -> Any:
        try:
            return compute(xp, *arrays)
        except np.linalg.LinAlgError as error:
            if "ingular" in str(error) or "ositive" in str(error):
                raise TutorlibError(f"the matrix is {singular}", op=name, fix=_FIXES[singular]) from None
            raise

    return forward


_FIXES = {
    "singular": "check for rows that depend on each other, or add a small multiple of the identity",
    "not positive definite": "give a symmetric matrix such as a @ a.T + 1e-6 * np.eye(n)",
}


def _of_matrix(op: Op, x: AVal) -> np.dtype[Any]:
    return result_dtype(op, [AVal((1, 1), x.dtype)])


def _matrix_infer(x: AVal) -> AVal:
    _check_square(x, "inv")
    return AVal(x.shape, _of_matrix(_inv, x))


def _number_infer(name: str) -> Callable[[AVal], AVal]:
    def infer(x: AVal) -> AVal:
        _check_square(x, name)
        return AVal(x.shape[:-2], _of_matrix(_det, x))

    return infer


# ---- inverse ----

_inv: Op = register(
    Op(
        "inv",
        _forward("inv", lambda xp, x: xp.linalg.inv(x), "singular"),
        _matrix_infer,
        (lambda g, out, x: -matmul(swap_last(out), matmul(g, swap_last(out))),),
    )
)


@public
def inv(x: Any) -> Any:
    """The inverse of a square matrix, or of each of a stack. To solve equations ``solve`` is more accurate.

    Raises ShapeError for a matrix that is not square, TutorlibError for one without inverse.

    >>> import tutorlib as tl
    >>> tl.inv(tl.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5 , 0.  ],
            [0.  , 0.25]])
    """
    return _inv(x)


# ---- linear equations ----


def _solve_infer(a: AVal, b: AVal) -> AVal:
    _check_square(a, "solve")
    vector = b.ndim == 1
    if not b.ndim:
        raise ShapeError("the right-hand side is a scalar", op="solve", shapes=[a.shape, b.shape], fix="give a vector")
    rows, n = b.shape[0 if vector else -2], a.shape[-1] if a.shape[-1] is not None else a.shape[-2]
    if None not in (rows, n) and rows != n:
        raise ShapeError(
            f"{n} unknowns, but {rows} rows on the right-hand side",
            op="solve",
            shapes=[a.shape, b.shape],
            wrong_dims=[a.ndim - 1, 0 if vector else b.ndim - 2],
            fix="give one row for each equation; for a stack of vectors write b[..., None]",
        )
    dtype = result_dtype(_solve, [AVal((1, 1), a.dtype), AVal((1, 1), b.dtype)])
    known = n if n is not None else rows
    if vector:
        return AVal((*a.shape[:-2], known), dtype)
    return AVal((*broadcast_shapes([a.shape[:-2], b.shape[:-2]], "solve"), known, b.shape[-1]), dtype)


def _solved(a: Any, b: Any, like: Any) -> Any:
    """The solution of a z = b where b has one vector for each matrix if ``like``, the right-hand side, is a vector."""
    return squeeze(_solve(a, expand_dims(b, -1)), -1) if ndim(like) == 1 else _solve(a, b)


def _solve_vjp(g: Any, needs: list[bool], out: Any, a: Any, b: Any) -> list[Any]:
    gb = _solved(swap_last(a), g, b)
    if not needs[0]:
        return [None, gb]
    if ndim(b) == 1:
        return [-(expand_dims(gb, -1) * expand_dims(out, -2)), gb]
    return [-matmul(gb, swap_last(out)), gb]


_solve: Op = register(
    Op(
        "solve",
        _forward("solve", lambda xp, a, b: xp.linalg.solve(a, b), "singular"),
        _solve_infer,
        _solve_vjp,
        flags={"stretches"},
    )
)


@public
def solve(a: Any, b: Any) -> Any:
    """The z with ``a @ z = b``.

    Args:
        a: square matrix, or a stack (…, n, n).
        b: a vector (n,), or a matrix or a stack (…, n, k); leading axes broadcast against those of a.

    Raises ShapeError for shapes that do not fit, TutorlibError for a singular matrix.

    >>> import tutorlib as tl
    >>> tl.solve(tl.tensor([[2.0, 0.0], [0.0, 4.0]]), tl.tensor([2.0, 2.0]))
    tensor([1. , 0.5])
    """
    return _solve(a, b)


# ---- determinants ----


def _over_matrix(g: Any) -> Any:
    return expand_dims(g, (-2, -1))


def _adjugate_forward(xp: Any, x: Any) -> Any:
    # x = U S V, so adj(x) = det(U V) V' adj(S) U': exact also for a singular x, where det(x) inv(x) is not.
    u, s, v = xp.linalg.svd(x)
    n = x.shape[-1]
    others = xp.where(xp.eye(n, dtype=bool), xp.ones((), s.dtype), s[..., None, :])
    sign = xp.linalg.det(u) * xp.linalg.det(v)
    scale = sign[..., None, None] * xp.prod(others, axis=-1)[..., None, :]
    return xp.matmul(xp.swapaxes(v, -1, -2) * scale, xp.swapaxes(u, -1, -2))


def _adjugate_vjp(g: Any, out: Any, x: Any) -> Any:
    inverse = swap_last(_inv(x))
    along = OPS.sum(g * swap_last(inverse), (-2, -1))
    return _over_matrix(along) * swap_last(out) - matmul(inverse, matmul(g, swap_last(out)))


_adjugate: Op = register(
    Op(
        "adjugate",
        _adjugate_forward,
        lambda x: AVal(x.shape, _of_matrix(_det, x)),
        (_adjugate_vjp,),
        doc="det(x) inv(x), also where x is singular.",
    )
)
_det: Op = register(
    Op(
        "det",
        lambda xp, x: xp.linalg.det(x),
        _number_infer("det"),
        (lambda g, out, x: _over_matrix(g) * swap_last(_adjugate(x)),),
    )
)
_sign_det: Op = register(
    Op(
        "sign_det",
        lambda xp, x: xp.linalg.slogdet(x)[0],
        _number_infer("slogdet"),
        (lambda g, out, x: None,),
        doc="The sign of det(x): -1, 0 or 1.",
    )
)
_log_abs_det: Op = register(
    Op(
        "log_abs_det",
        lambda xp, x: xp.linalg.slogdet(x)[1],
        _number_infer("slogdet"),
        (lambda g, out, x: _over_matrix(g) * swap_last(_inv(x)),),
        doc="log |det(x)|, without overflow.",
    )
)


@public
def det(x: Any) -> Any:
    """The determinant of a square matrix, or of each of a stack. Its gradient is exact for singular matrices too.

    >>> import tutorlib as tl
    >>> tl.det(tl.tensor([[2.0, 0.0], [0.0, 0.5]])).item()
    1.0
    """
    return _det(x)


@public
def slogdet(x: Any) -> tuple[Any, Any]:
    """The sign of the determinant and the logarithm of its absolute value: (sign, logabsdet), without overflow.

    For a singular matrix they are 0 and -inf, and the gradient does not exist: TutorlibError.

    >>> import tutorlib as tl
    >>> sign, logabsdet = tl.slogdet(tl.tensor([[-1.0, 0.0], [0.0, 1.0]]))
    >>> sign.item(), logabsdet.item()
    (-1.0, 0.0)
    """
    return _sign_det(x), _log_abs_det(x)


# ---- cholesky ----


def _cholesky_infer(x: AVal) -> AVal:
    _check_square(x, "cholesky")
    return AVal(x.shape, _of_matrix(_cholesky, x))


def _cholesky_vjp(g: Any, out: Any, x: Any) -> Any:
    product = matmul(swap_last(out), g)
    # The lower triangle with the diagonal halved.
    half = (tril(product) + tril(product, -1)) * 0.5
    upper = swap_last(out)
    inside = swap_last(_solve(upper, swap_last(_solve(upper, half))))
    return (inside + swap_last(inside)) * 0.5


_cholesky: Op = register(
    Op(
        "cholesky",
        _forward("cholesky", lambda xp, x: xp.linalg.cholesky(x), "not positive definite"),
        _cholesky_infer,
        (_cholesky_vjp,),
    )
)


@public
def cholesky(x: Any) -> Any:
    """The lower triangular L with ``L @ L.T = x``, for a symmetric positive definite matrix or each of a stack.

    Only the lower triangle of x is read; the gradient is that of a symmetric x, and symmetric itself.

    Raises ShapeError for a matrix that is not square, TutorlibError for one that is not positive definite.

    >>> import tutorlib as tl
    >>> tl.cholesky(tl.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return _cholesky(x)


attach_to("solve")
