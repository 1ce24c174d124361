"""Derivatives built from the gradient walk: products with the Jacobian on either side, whole Jacobians and Hessians.

All work in both modes: given tensors they compute, given symbols they build.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.core.autodiff import grad
from tutorlib.core.errors import ShapeError, shape_text
from tutorlib.core.graph import Constant, Symbol, Var, label
from tutorlib.core.operators import OPS
from tutorlib.core.tensor import Tensor


def vjp(output: Any, wrt: Any, cotangent: Any, *, disconnected: str = "raise") -> Any:
    """``cotangent`` times the Jacobian of ``output``: what reverse mode computes in one walk (Theano's Lop).

    Args:
        output: a variable of any shape.
        wrt: a variable or a list of them.
        cotangent: of the shape of ``output``.
        disconnected: as for ``tl.grad``.

    >>> import tutorlib as tl
    >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
    >>> tl.vjp(x * x, x, tl.tensor([1.0, 10.0])).numpy()
    array([ 2., 40.])
    """
    return grad(output, wrt, cotangent=cotangent, disconnected=disconnected)


def jvp(output: Any, wrt: Any, tangent: Any) -> Any:
    """The Jacobian of ``output`` times ``tangent``: how the output moves when ``wrt`` moves along it (Theano's Rop).

    Two reverse walks: the first result is linear in its cotangent, and its own gradient with respect to that cotangent
    is the answer (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).

    Args:
        output: a variable of any shape; the result has this shape.
        wrt: a variable or a list of them.
        tangent: of the shape of ``wrt``, or a list of such.

    >>> import tutorlib as tl
    >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
    >>> tl.jvp(x * x, x, tl.tensor([1.0, 1.0])).numpy()
    array([2., 4.])
    """
    variables = list(wrt) if isinstance(wrt, list | tuple) else [wrt]
    tangents = list(tangent) if isinstance(wrt, list | tuple) else [tangent]
    if len(variables) != len(tangents):
        raise ShapeError(
            f"{len(variables)} variables need as many tangents, not {len(tangents)}", fix="pass one tangent a variable"
        )
    probe = OPS.zeros_like(output.detach() if isinstance(output, Tensor) else output)
    if isinstance(probe, Tensor):
        probe.requires_grad = True
    rows = grad(output, variables, cotangent=probe, disconnected="none")
    total: Any = None
    for row, along in zip(rows, tangents, strict=True):
        if row is None:
            continue
        part = grad(row, probe, cotangent=along, disconnected="none")
        if part is not None:
            total = part if total is None else OPS.add(total, part)
    return OPS.zeros_like(probe) if total is None else total


def _unit(shape: Sequence[int], position: int, dtype: Any) -> np.ndarray:
    unit = np.zeros(shape, dtype)
    unit.reshape(-1)[position] = 1
    return unit


def jacobian(output: Any, wrt: Any, *, disconnected: str = "raise") -> Any:
    """All derivatives of ``output`` with respect to ``wrt``: shape ``output.shape + wrt.shape``.

    One reverse walk an element of ``output``. Raises ShapeError when a symbol's shape is not known: then there is no
    telling how many walks that is.

    >>> import tutorlib as tl
    >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
    >>> tl.jacobian(x * x, x).numpy()
    array([[2., 0.],
           [0., 4.]])
    """
    if None in output.shape:
        raise ShapeError(
            f"the Jacobian of {label(output)} needs its shape {shape_text(output.shape)} to be known",
            fix="give the inputs their shape: tl.symbol(name, shape=(3,)); or use tl.vjp / tl.jvp",
        )
    many = isinstance(wrt, list | tuple)
    variables = list(wrt) if many else [wrt]
    size = int(np.prod(output.shape))
    rows: list[list[Any]] = []
    for position in range(size):
        unit: Any = _unit(output.shape, position, output.dtype)
        seed = Constant(unit) if isinstance(output, Symbol) else Tensor(unit)
        rows.append(grad(output, variables, cotangent=seed, disconnected=disconnected))
    answers = []
    for i, var in enumerate(variables):
        if not rows:
            answers.append(OPS.zeros_like(OPS.broadcast_to(_no_rows(var), (*output.shape, *var.shape))))
            continue
        column = [row[i] for row in rows]
        if column[0] is None:
            answers.append(None)
            continue
        answers.append(OPS.reshape(OPS.stack(column), _with_one_wild(output.shape, var)))
    return type(wrt)(answers) if many else answers[0]


def _no_rows(var: Var) -> Any:
    return OPS.zeros_like(var.detach() if isinstance(var, Tensor) else var)


def _with_one_wild(shape: Sequence[int], var: Var) -> tuple[int, ...]:
    unknown = [d for d in var.shape if d is None]
    if len(unknown) > 1 and len(shape) != 1:
        raise ShapeError(
            f"the Jacobian with respect to {label(var)} needs its shape to be known",
            shapes=[var.shape],
            fix="give it a shape: tl.symbol(name, shape=(3, 4))",
        )
    return (*shape, *(-1 if d is None else d for d in var.shape))


def hessian(cost: Any, wrt: Any, *, disconnected: str = "raise") -> Any:
    """The second derivatives of a scalar ``cost``: shape ``wrt.shape + wrt.shape`` (for a list, one block a variable).

    >>> import tutorlib as tl
    >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
    >>> tl.hessian((x ** 3).sum(), x).numpy()
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    many = isinstance(wrt, list | tuple)
    blocks = []
    for var in list(wrt) if many else [wrt]:
        first = grad(cost, var, disconnected=disconnected)
        blocks.append(None if first is None else jacobian(first, var, disconnected="zero"))
    return type(wrt)(blocks) if many else blocks[0]


def hvp(cost: Any, wrt: Any, vector: Any) -> Any:
    """The Hessian of a scalar ``cost`` times ``vector`` (shape of ``wrt``), without ever making the Hessian.

    >>> import tutorlib as tl
    >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
    >>> tl.hvp((x ** 3).sum(), x, tl.tensor([1.0, 1.0])).numpy()
    array([ 6., 12.])
    """
    return grad(grad(cost, wrt), wrt, cotangent=vector, disconnected="zero")
