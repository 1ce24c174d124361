"""Running totals along an axis, and products: whose gradients are running totals too, exact at zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.graph import Op
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.convert import ones_like, zeros_like
from tutorlib.ops.define import hashable_axis, normalized_axes, public, register, result_dtype, single_axis
from tutorlib.ops.elementwise import protected, safe_mul
from tutorlib.ops.index import getitem
from tutorlib.ops.join import concatenate
from tutorlib.ops.shape import expand_dims, flatten, ndim

# `reverse` runs from the end: the gradient of a running total is the running total the other way.


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (part,)


def _turned(x: Any, axis: int, reverse: bool) -> Any:
    return x[_along(axis, slice(None, None, -1))] if reverse else x


def _running(name: str) -> Any:
    def forward(xp: Any, x: Any, axis: int, reverse: bool) -> Any:
        return _turned(getattr(xp, name)(_turned(x, axis, reverse), axis=axis), axis, reverse)

    return forward


def _infer_running(op: Any) -> Any:
    return lambda x, axis, reverse: AVal(x.shape, result_dtype(op(), [x], axis=axis, reverse=reverse))


def _before(x: Any, axis: int, reverse: bool, first: Any) -> Any:
    """Each element's predecessor in the running direction; ``first`` (zeros_like or ones_like) starts it."""
    if reverse:
        return concatenate(
            [getitem(x, _along(axis, slice(1, None))), first(getitem(x, _along(axis, slice(-1, None))))], axis
        )
    return concatenate(
        [first(getitem(x, _along(axis, slice(None, 1)))), getitem(x, _along(axis, slice(None, -1)))], axis
    )


_cumsum: Op = register(
    Op(
        "cumsum",
        _running("cumsum"),
        _infer_running(lambda: _cumsum),
        (lambda g, out, x, axis, reverse: _cumsum(g, axis=axis, reverse=not reverse),),
        flags={"linear"},
    )
)


def _cumprod_x(g: Any, out: Any, x: Any, axis: int, reverse: bool) -> Any:
    # Element k is a factor of every product from k on: the product before it, times what the later factors make of g.
    later = _recurrence(_before(x, axis, not reverse, ones_like), g, axis=axis, reverse=not reverse)
    return safe_mul(later, _before(out, axis, reverse, ones_like))


_cumprod: Op = register(Op("cumprod", _running("cumprod"), _infer_running(lambda: _cumprod), (_cumprod_x,)))


def _recurrence_forward(xp: Any, a: Any, b: Any, axis: int, reverse: bool) -> Any:
    a, b = (xp.moveaxis(_turned(v, axis, reverse), axis, 0) for v in (a, b))
    s = xp.array(b, dtype=np.result_type(a.dtype, b.dtype))
    for k in range(1, s.shape[0]):
        s[k] += protected(xp, s[k - 1] * a[k], s[k - 1])
    return _turned(xp.moveaxis(s, 0, axis), axis, reverse)


def _recurrence_vjp(g: Any, needs: list[bool], out: Any, a: Any, b: Any, axis: int, reverse: bool) -> list[Any]:
    carried = _recurrence(_before(a, axis, not reverse, ones_like), g, axis=axis, reverse=not reverse)
    return [safe_mul(carried, _before(out, axis, reverse, zeros_like)) if needs[0] else None, carried]


_recurrence: Op = register(
    Op(
        "recurrence",
        _recurrence_forward,
        lambda a, b, axis, reverse: AVal(a.shape, np.result_type(a.dtype, b.dtype)),
        _recurrence_vjp,
        doc="s[k] = b[k] + a[k] s[k-1] along an axis; its gradient is such a recurrence the other way.",
    )
)


def _prod_x(g: Any, out: Any, x: Any, axis: int) -> Any:
    before = _before(_cumprod(x, axis=axis, reverse=False), axis, False, ones_like)
    after = _before(_cumprod(x, axis=axis, reverse=True), axis, True, ones_like)
    return safe_mul(expand_dims(g, axis), before * after)


_prod: Op = register(
    Op(
        "prod",
        lambda xp, x, axis: xp.prod(x, axis=axis),
        lambda x, axis: AVal(x.shape[:axis] + x.shape[axis + 1 :], result_dtype(_prod, [x], axis=axis)),
        (_prod_x,),
    )
)


@public
def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product over ``axis`` (None: all axes; int; tuple). Of nothing it is 1.

    Its gradient is the product of the other elements, also where some are 0.

    >>> import tutorlib as tl
    >>> x = tl.tensor([2.0, 0.0, 3.0], requires_grad=True)
    >>> tl.prod(x).backward(); x.grad
    tensor([0., 6., 0.])
    """
    axes = normalized_axes(hashable_axis(axis), ndim(x), "prod")
    if axis is None and not keepdims:
        return _prod(flatten(x), axis=0)
    for a in reversed(axes):
        x = _prod(x, axis=a)
    return expand_dims(x, axes) if keepdims and axes else x


def _totals(x: Any, axis: int | None, op: Op) -> Any:
    if axis is None:
        return op(flatten(x), axis=0, reverse=False)
    return op(x, axis=single_axis(axis, ndim(x), op.name), reverse=False)


@public
def cumsum(x: Any, axis: int | None = None) -> Any:
    """The running sum along ``axis``; with ``axis=None`` of x seen as a vector.

    >>> import tutorlib as tl
    >>> tl.cumsum(tl.tensor([1, 2, 3]))
    tensor([1, 3, 6])
    """
    return _totals(x, axis, _cumsum)


@public
def cumprod(x: Any, axis: int | None = None) -> Any:
    """The running product along ``axis``; with ``axis=None`` of x seen as a vector. Gradients are exact at zeros.

    >>> import tutorlib as tl
    >>> tl.cumprod(tl.tensor([1, 2, 3]))
    tensor([1, 2, 6])
    """
    return _totals(x, axis, _cumprod)


attach_to("accumulate")
