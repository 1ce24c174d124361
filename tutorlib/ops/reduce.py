"""Sums, extremes, tests and counts over axes. A maximum that several elements share gives each an equal part of the
gradient. Means and spreads are in ``statistics``, products and running totals in ``accumulate``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.core.quick import method, reduced
from tutorlib.ops.convert import cast
from tutorlib.ops.define import hashable_axis, normalized_axes, public, register, result_dtype, single_axis
from tutorlib.ops.elementwise import div, where
from tutorlib.ops.logic import eq
from tutorlib.ops.shape import broadcast_like, expand_dims, ndim
from tutorlib.ops.sums import add_up, sum_of_all


def reduced_shape(x: AVal, axis: Any, keepdims: bool, op: str) -> tuple[int | None, ...]:
    """The shape after reducing ``axis``."""
    axes = normalized_axes(axis, x.ndim, op)
    if keepdims:
        return tuple(1 if i in axes else d for i, d in enumerate(x.shape))
    return tuple(d for i, d in enumerate(x.shape) if i not in axes)


def refuse_empty(x: AVal, axis: Any, op: str) -> None:
    """Raise ShapeError if an axis to be reduced has no element."""
    empty = next((a for a in normalized_axes(axis, x.ndim, op) if x.shape[a] == 0), None)
    if empty is not None:
        raise ShapeError(
            "there is no element to take: an empty axis has none",
            op=op,
            shapes=[x.shape],
            wrong_dims=[empty],
            fix="check that the data is not empty",
        )


def restore_axes(g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """A reduced value with its reduced axes back, of length 1, so that it broadcasts against x."""
    if keepdims or axis is None:
        return g  # a scalar broadcasts as it is
    return expand_dims(g, normalized_axes(axis, ndim(x), "reduce"))


def reduction(
    name: str, forward: Callable[..., Any], vjp: Any, *, needs_elements: bool = False, flags: Any = (), doc: str
) -> Op:
    """A row for an op with attributes ``axis`` and ``keepdims``."""

    def infer(x: AVal, axis: Any, keepdims: bool) -> AVal:
        shape = reduced_shape(x, axis, keepdims, name)
        if needs_elements:
            refuse_empty(x, axis, name)
        return AVal(shape, result_dtype(op, [x], axis=axis, keepdims=keepdims))

    op = register(Op(name, forward, infer, vjp, flags=flags, doc=doc))

    def call(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if axis is not None:
            if type(axis) is not int:
                axis = hashable_axis(axis)
            if getattr(x, "shape", None) == ():  # NumPy takes a scalar to have one axis here, and only here
                normalized_axes(axis, 0, name)
        return reduced(op, x, axis, bool(keepdims))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    public(call, name)
    method(call, name)
    return op


def share_among_ties(g: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The rule of an op that picks one element: its gradient in equal parts to all elements equal to the one picked."""
    ties = eq(x, restore_axes(out, x, axis, keepdims))
    number = OPS.sum(cast(ties, counting_dtype(g.dtype)), axis, True)
    return where(ties, div(restore_axes(g, x, axis, keepdims), number), 0.0)


def _sum_forward(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    if xp is np:
        if axis is None and not keepdims and type(x) is np.ndarray:
            return sum_of_all(x)
        # What np.sum calls in the end.
        return add_up(x, axis, None, None, keepdims)
    return xp.sum(x, axis=axis, keepdims=keepdims)


_sum: Op = reduction(
    "sum",
    _sum_forward,
    (lambda g, out, x, axis, keepdims: broadcast_like(restore_axes(g, x, axis, keepdims), x),),
    flags={"linear"},
    doc="""The sum over ``axis`` (None: all axes; int; tuple). Of nothing it is 0.

    >>> import tutorlib as tl
    >>> tl.sum(tl.tensor([[1, 2], [3, 4]]), axis=0)
    tensor([4, 6])
    """,
)
_max: Op = reduction(
    "max",
    lambda xp, x, axis, keepdims: xp.max(x, axis=axis, keepdims=keepdims),
    (share_among_ties,),
    needs_elements=True,
    doc="""The largest element along ``axis`` (None: of all); equal largest ones share the gradient.

    >>> import tutorlib as tl
    >>> x = tl.tensor([1.0, 3.0, 3.0], requires_grad=True)
    >>> tl.max(x).backward(); x.grad
    tensor([0. , 0.5, 0.5])
    """,
)
_min: Op = reduction(
    "min",
    lambda xp, x, axis, keepdims: xp.min(x, axis=axis, keepdims=keepdims),
    (share_among_ties,),
    needs_elements=True,
    doc="The smallest element along ``axis`` (None: of all); equal smallest ones share the gradient.",
)


_all: Op = reduction(
    "all",
    lambda xp, x, axis, keepdims: xp.all(x, axis=axis, keepdims=keepdims),
    None,
    flags={"nondiff"},
    doc="""Whether every element along ``axis`` (None: of all) is true. Of nothing it is True.

    >>> import tutorlib as tl
    >>> tl.all(tl.tensor([[1, 0], [1, 1]]), axis=0)
    tensor([ True, False])
    """,
)
_any: Op = reduction(
    "any",
    lambda xp, x, axis, keepdims: xp.any(x, axis=axis, keepdims=keepdims),
    None,
    flags={"nondiff"},
    doc="Whether some element along ``axis`` (None: of all) is true. Of nothing it is False.",
)
_count_nonzero: Op = reduction(
    "count_nonzero",
    lambda xp, x, axis, keepdims: xp.sum(xp.not_equal(x, 0), axis=axis, keepdims=keepdims),
    None,
    flags={"nondiff"},
    doc="""How many elements along ``axis`` (None: of all) are not zero.

    >>> import tutorlib as tl
    >>> tl.count_nonzero(tl.tensor([0.0, 3.0, 4.0])).item()
    2
    """,
)

# ---- where the extremes are ----


def _position(name: str, word: str) -> Any:
    def infer(x: AVal, axis: int | None, keepdims: bool) -> AVal:
        refuse_empty(x, axis, name)
        return AVal(reduced_shape(x, axis, keepdims, name), np.dtype("int64"))

    def forward(xp: Any, x: Any, axis: int | None, keepdims: bool) -> Any:
        found = getattr(xp, name)(x, axis=axis)
        if not keepdims:
            return found
        return xp.reshape(found, (1,) * x.ndim) if axis is None else xp.expand_dims(found, axis)

    op = register(Op(name, forward, infer, None, flags={"nondiff"}))

    def call(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        place = None if axis is None else single_axis(axis, ndim(x), name)
        return op(x, axis=place, keepdims=bool(keepdims))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"The position of the {word} element along ``axis``, the first of equal ones; with ``axis=None`` its position "
        "in x seen as a vector. Raises ShapeError where there is none."
    )
    return public(call)


argmax, argmin = _position("argmax", "largest"), _position("argmin", "smallest")

# ---- how many ----


def counting_dtype(dtype: Any) -> np.dtype[Any]:
    """A float dtype to count in beside ``dtype``: half precision ends at 65504, so it counts in single."""
    return np.dtype("float32") if dtype == np.float16 else np.dtype(dtype)


def _count_forward(xp: Any, x: Any, axis: Any, dtype: str) -> Any:
    axes = normalized_axes(axis, x.ndim, "count")
    return xp.asarray(int(np.prod([x.shape[a] for a in axes], dtype=np.int64)), dtype=dtype)


_count: Op = register(
    Op(
        "count",
        _count_forward,
        lambda x, axis, dtype: AVal((), np.dtype(dtype)),
        flags={"nondiff"},
        doc="How many elements of x are along axis.",
    )
)


def count(x: Any, axis: Any = None, dtype: Any = "int64") -> Any:
    """How many elements of x there are along ``axis``, as a scalar of ``dtype`` (so that dividing by it never
    widens)."""
    return _count(x, axis=hashable_axis(axis), dtype=np.dtype(dtype).name)


@public
def size(x: Any, axis: Any = None) -> Any:
    """How many elements x has, or how many along ``axis`` (int or tuple): a Python int, or where a symbol's shape does
    not tell, a whole-number symbol.

    >>> import tutorlib as tl
    >>> tl.size(tl.tensor([[1.0, 2.0, 3.0]]), 1)
    3
    >>> x = tl.vector("x")
    >>> (x.sum() / tl.size(x)).eval({x: [1.0, 2.0, 6.0]})
    array(3.)
    """
    if not hasattr(x, "shape"):
        x = np.asarray(x)
    lengths = [x.shape[a] for a in normalized_axes(hashable_axis(axis), len(x.shape), "size")]
    return count(x, axis) if None in lengths else math.prod(lengths)
