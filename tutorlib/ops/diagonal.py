"""Ops on the triangles and diagonals of matrices, and of stacks of matrices."""

from __future__ import annotations

from typing import Any

from tutorlib.core.aval import AVal
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import normalized_axes, public, register
from tutorlib.ops.shape import ndim, shape_of


def _matrices(op: str, x: Any) -> None:
    if ndim(x) < 2:
        raise ShapeError("a matrix is needed", op=op, shapes=[shape_of(x)], fix="give x at least two axes")


_tril: Op = register(
    Op(
        "tril",
        lambda xp, x, k: xp.tril(x, k),
        lambda x, k: AVal(x.shape, x.dtype),
        (lambda g, out, x, k: _tril(g, k=k),),
        flags={"linear"},
    )
)
_triu: Op = register(
    Op(
        "triu",
        lambda xp, x, k: xp.triu(x, k),
        lambda x, k: AVal(x.shape, x.dtype),
        (lambda g, out, x, k: _triu(g, k=k),),
        flags={"linear"},
    )
)


@public
def tril(x: Any, k: int = 0) -> Any:
    """The lower triangle of a matrix (or of each of a stack): zero above diagonal number ``k``.

    >>> import tutorlib as tl
    >>> tl.tril(tl.tensor([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    _matrices("tril", x)
    return _tril(x, k=int(k))


@public
def triu(x: Any, k: int = 0) -> Any:
    """The upper triangle of a matrix (or of each of a stack): zero below diagonal number ``k``.

    >>> import tutorlib as tl
    >>> tl.triu(tl.tensor([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    _matrices("triu", x)
    return _triu(x, k=int(k))


def _diagonal_infer(x: AVal, offset: int, axis1: int, axis2: int) -> AVal:
    rows, columns = x.shape[axis1], x.shape[axis2]
    length = None
    if rows is not None and columns is not None:
        length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    rest = tuple(d for i, d in enumerate(x.shape) if i not in (axis1, axis2))
    return AVal((*rest, length), x.dtype)


def _undiagonal_forward(xp: Any, g: Any, like: Any, offset: int, axis1: int, axis2: int) -> Any:
    result = xp.zeros(like.shape, g.dtype)
    along = xp.arange(g.shape[-1])
    xp.moveaxis(result, (axis1, axis2), (-2, -1))[..., along - min(offset, 0), along + max(offset, 0)] = g
    return result


_diagonal: Op = register(
    Op(
        "diagonal",
        lambda xp, x, **attrs: xp.diagonal(x, **attrs),
        _diagonal_infer,
        (lambda g, out, x, **attrs: _undiagonal(g, x, **attrs),),
        flags={"linear", "view"},
    )
)
_undiagonal: Op = register(
    Op(
        "undiagonal",
        _undiagonal_forward,
        lambda g, like, **attrs: AVal(like.shape, g.dtype),
        (lambda gg, out, g, like, **attrs: _diagonal(gg, **attrs), None),
        flags={"linear"},
        doc="g on the diagonal of zeros in the shape of like: what undoes diagonal.",
    )
)
_diag: Op = register(
    Op(
        "diag",
        lambda xp, x, k: xp.diag(x, k),
        lambda x, k: AVal((None if x.shape[0] is None else x.shape[0] + abs(k),) * 2, x.dtype),
        (lambda g, out, x, k: _diagonal(g, offset=k, axis1=0, axis2=1),),
        flags={"linear"},
    )
)


@public
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal of the matrices that ``axis1`` and ``axis2`` of x span, as the last axis of the result.

    Args:
        offset: which diagonal: positive above the main one, negative below.

    >>> import tutorlib as tl
    >>> tl.diagonal(tl.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    _matrices("diagonal", x)
    (a,), (b,) = normalized_axes(axis1, ndim(x), "diagonal"), normalized_axes(axis2, ndim(x), "diagonal")
    if a == b:
        raise ShapeError("a diagonal runs along two axes", op="diagonal", fix="give two different axes")
    return _diagonal(x, offset=int(offset), axis1=a, axis2=b)


@public
def diag(x: Any, k: int = 0) -> Any:
    """A matrix with vector x on diagonal ``k`` and zeros elsewhere; of a matrix, that diagonal.

    >>> import tutorlib as tl
    >>> tl.diag(tl.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if ndim(x) not in (1, 2):
        raise ShapeError("a vector or a matrix is needed", op="diag", shapes=[shape_of(x)], fix="use tl.diagonal")
    return _diag(x, k=int(k)) if ndim(x) == 1 else diagonal(x, k)


@public
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum along a diagonal (see ``diagonal``).

    >>> import tutorlib as tl
    >>> tl.trace(tl.tensor([[1, 2], [3, 4]])).item()
    5
    """
    return OPS.sum(diagonal(x, offset, axis1, axis2), -1)


attach_to("diagonal")
