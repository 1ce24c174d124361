"""Ops that change the shape and keep the elements: reshape, transpose, axes of length one, broadcasting and its
undoing. Ops that move, repeat or drop elements live in ``arrange``, those that join or split in ``join``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim, broadcast_shapes
from tutorlib.core.errors import ShapeError, shape_text
from tutorlib.core.graph import Op
from tutorlib.ops.define import normalized_axes, public, register
from tutorlib.ops.sums import add_up, long_row_sums, sum_of_rows


def ndim(x: Any) -> int:
    """The number of axes of anything an op takes."""
    return x.ndim if hasattr(x, "ndim") else np.ndim(x)


def shape_of(x: Any) -> tuple[Dim, ...]:
    """The shape of anything an op takes; None where a symbol's dim is not known."""
    return x.shape if hasattr(x, "shape") else np.shape(x)


def _size(shape: Sequence[Dim]) -> int | None:
    size = 1
    for dim in shape:
        if dim is None:
            return None
        size *= dim
    return size


def _shape_of(shape: Any, op: str) -> tuple[int, ...]:
    dims = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    for dim in dims:
        if not isinstance(dim, int | np.integer) or dim < -1:
            raise ShapeError(
                f"a shape is made of whole numbers, not {dim!r}",
                op=op,
                fix="write the dims as integers, -1 for one to be worked out",
            )
    return tuple(int(d) for d in dims)


# ---- reshape ----


def _reshape_infer(x: AVal, shape: tuple[int, ...]) -> AVal:
    wild = shape.count(-1)
    if wild > 1:
        raise ShapeError("only one dim can be -1", op="reshape", fix="write out all the dims but one")
    size = _size(x.shape)
    rest = _size([d for d in shape if d != -1])
    assert rest is not None
    if size is None:
        return AVal(tuple(None if d == -1 else d for d in shape), x.dtype)
    if (wild and (rest == 0 or size % rest)) or (not wild and rest != size):
        raise ShapeError(
            f"{size} elements do not fill the shape {shape_text(shape)}",
            op="reshape",
            shapes=[x.shape, shape],
            fix="keep the number of elements the same; -1 lets one dim be worked out",
        )
    return AVal(tuple(size // rest if d == -1 else d for d in shape), x.dtype)


_reshape: Op = register(
    Op(
        "reshape",
        lambda xp, x, shape: xp.reshape(x, shape),
        _reshape_infer,
        (lambda g, out, x, shape: reshape_like(g, x),),
        flags={"linear", "view"},
    )
)
reshape_like: Op = register(
    Op(
        "reshape_like",
        lambda xp, x, like: xp.reshape(x, like.shape),
        lambda x, like: AVal(like.shape, x.dtype),
        (lambda g, out, x, like: reshape_like(g, x), None),
        flags={"linear", "view"},
        doc="x with the shape of like.",
    )
)
public(reshape_like, "reshape_like")


@public
def reshape(x: Any, shape: Any) -> Any:
    """x with the same elements in another shape; one dim may be -1.

    >>> import tutorlib as tl
    >>> tl.reshape(tl.tensor([1, 2, 3, 4]), (2, -1)).shape
    (2, 2)
    """
    return _reshape(x, shape=_shape_of(shape, "reshape"))


@public
def flatten(x: Any) -> Any:
    """x as a vector, row after row (``ravel`` is NumPy's other name for it).

    >>> import tutorlib as tl
    >>> tl.flatten(tl.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return _reshape(x, shape=(-1,))


public(flatten, "ravel")


# ---- transpose ----


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The order of axes that undoes a transposition by ``axes``."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


_transpose: Op = register(
    Op(
        "transpose",
        lambda xp, x, axes: xp.transpose(x, axes),
        lambda x, axes: AVal(tuple(x.shape[a] for a in axes), x.dtype),
        (lambda g, out, x, axes: _transpose(g, axes=inverse(axes)),),
        flags={"linear", "view"},
    )
)


@public
def transpose(x: Any, axes: Any = None) -> Any:
    """x with its axes in another order; reversed by default.

    >>> import tutorlib as tl
    >>> tl.transpose(tl.tensor([[1, 2, 3]])).shape
    (3, 1)
    """
    n = ndim(x)
    order = tuple(reversed(range(n))) if axes is None else tuple(a % n if -n <= a < n else a for a in axes)
    if sorted(order) != list(range(n)):
        raise ShapeError(f"{tuple(axes)} is no order of the {n} axes", op="transpose", fix="name each axis once")
    return _transpose(x, axes=order)


@public
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """x with the axes ``source`` (int or tuple) moved to the places ``destination``; the others keep their order.

    >>> import tutorlib as tl
    >>> tl.moveaxis(tl.tensor([[[1, 2, 3]]]), 0, -1).shape
    (1, 3, 1)
    """
    n = ndim(x)
    come = [normalized_axes(a, n, "moveaxis")[0] for a in _listed(source)]
    go = [normalized_axes(a, n, "moveaxis")[0] for a in _listed(destination)]
    if len(come) != len(go) or len(set(come)) != len(come) or len(set(go)) != len(go):
        raise ShapeError(
            f"axes {source} cannot go to places {destination}",
            op="moveaxis",
            fix="give one place for each axis, each once",
        )
    order = [a for a in range(n) if a not in come]
    for place, axis in sorted(zip(go, come, strict=True)):
        order.insert(place, axis)
    return _transpose(x, axes=tuple(order))


@public
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """x with two axes exchanged.

    >>> import tutorlib as tl
    >>> tl.swapaxes(tl.tensor([[[1, 2, 3]]]), 0, 2).shape
    (3, 1, 1)
    """
    n = ndim(x)
    (a,), (b,) = normalized_axes(axis1, n, "swapaxes"), normalized_axes(axis2, n, "swapaxes")
    order = list(range(n))
    order[a], order[b] = b, a
    return _transpose(x, axes=tuple(order))


def _listed(axis: Any) -> list[int]:
    return [int(axis)] if isinstance(axis, int | np.integer) else list(axis)


def swap_last(x: Any) -> Any:
    """x with its last two axes exchanged."""
    n = ndim(x)
    return _transpose(x, axes=(*range(n - 2), n - 1, n - 2))


# ---- axes of length one ----


def _expand_infer(x: AVal, axis: tuple[int, ...]) -> AVal:
    shape = list(x.shape)
    for a in axis:
        shape.insert(a, 1)
    return AVal(tuple(shape), x.dtype)


def _squeeze_infer(x: AVal, axis: tuple[int, ...]) -> AVal:
    for a in axis:
        if x.shape[a] not in (1, None):
            raise ShapeError(
                f"axis {a} has length {x.shape[a]}, only axes of length 1 can be squeezed",
                op="squeeze",
                shapes=[x.shape],
                wrong_dims=[a],
                fix="index the axis instead: x[..., 0]",
            )
    return AVal(tuple(d for i, d in enumerate(x.shape) if i not in axis), x.dtype)


_expand_dims: Op = register(
    Op(
        "expand_dims",
        lambda xp, x, axis: xp.expand_dims(x, axis),
        _expand_infer,
        (lambda g, out, x, axis: _squeeze(g, axis=axis),),
        flags={"linear", "view"},
    )
)
_squeeze: Op = register(
    Op(
        "squeeze",
        lambda xp, x, axis: xp.squeeze(x, axis),
        _squeeze_infer,
        (lambda g, out, x, axis: _expand_dims(g, axis=axis),),
        flags={"linear", "view"},
    )
)


@public
def expand_dims(x: Any, axis: Any) -> Any:
    """x with new axes of length 1 at the places ``axis`` (int or tuple) of the result."""
    axes = (axis,) if isinstance(axis, int | np.integer) else tuple(axis)
    return _expand_dims(x, axis=normalized_axes(axes, ndim(x) + len(axes), "expand_dims"))


@public
def squeeze(x: Any, axis: Any = None) -> Any:
    """x without its axes of length 1, or without those named. With ``axis=None`` every dim must be known."""
    if axis is None:
        shape = shape_of(x)
        if None in shape:
            raise ShapeError(
                "which axes have length 1 is not known yet", op="squeeze", shapes=[shape], fix="name them: axis=0"
            )
        axis = tuple(i for i, d in enumerate(shape) if d == 1)
    return _squeeze(x, axis=normalized_axes(axis, ndim(x), "squeeze"))


# ---- broadcasting ----


def _broadcast_infer(x: AVal, shape: tuple[int, ...]) -> AVal:
    result = broadcast_shapes([x.shape, shape], "broadcast_to")
    # An unknown dim against 1 stays unknown: it fits if it turns out to be 1.
    if len(result) != len(shape) or any(got not in (want, None) for want, got in zip(shape, result, strict=True)):
        raise ShapeError(
            f"{shape_text(x.shape)} cannot be stretched to {shape_text(shape)}",
            op="broadcast_to",
            shapes=[x.shape, shape],
            fix="only dims of length 1 stretch",
        )
    return AVal(shape, x.dtype)


_broadcast_to: Op = register(
    Op(
        "broadcast_to",
        lambda xp, x, shape: xp.broadcast_to(x, shape),
        _broadcast_infer,
        (lambda g, out, x, shape: g,),
        flags={"linear", "view", "stretches"},
    )
)
broadcast_like: Op = register(
    Op(
        "broadcast_like",
        lambda xp, x, like: xp.broadcast_to(x, like.shape),
        lambda x, like: AVal(like.shape, x.dtype),
        (lambda g, out, x, like: g, None),
        flags={"linear", "view", "stretches"},
        doc="x stretched to the shape of like.",
    )
)
public(broadcast_like, "broadcast_like")


@public
def broadcast_to(x: Any, shape: Any) -> Any:
    """x stretched to ``shape`` without copying, as NumPy broadcasts.

    >>> import tutorlib as tl
    >>> tl.broadcast_to(tl.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _broadcast_to(x, shape=_shape_of(shape, "broadcast_to"))


def _unbroadcast_forward(xp: Any, g: Any, like: Any) -> Any:
    extra = g.ndim - like.ndim
    if xp is np and extra == 1 and g.shape[1:] == like.shape:  # a bias
        return sum_of_rows(g) if g.ndim == 2 else add_up(g, 0)
    batch_last = xp is np and extra == 1 and g.ndim > 2 and g.size and g.strides[0] == g.itemsize
    if batch_last and like.size == len(like) == g.shape[1]:  # a bias of each channel
        rows = g.transpose(*range(1, g.ndim), 0).reshape(len(like), -1)
        return long_row_sums(rows).reshape(like.shape)
    if extra > 0:
        g = xp.sum(g, axis=tuple(range(extra)))
    axes = tuple(i for i, (have, want) in enumerate(zip(g.shape, like.shape, strict=True)) if want == 1 and have != 1)
    return xp.sum(g, axis=axes, keepdims=True) if axes else xp.asarray(g)


unbroadcast: Op = register(
    Op(
        "unbroadcast",
        _unbroadcast_forward,
        lambda g, like: AVal(like.shape, g.dtype),
        (lambda gg, out, g, like: broadcast_like(gg, g), None),
        flags={"linear"},
        doc="g summed over the axes along which like was stretched: what undoes broadcasting.",
    )
)
public(unbroadcast, "unbroadcast")
_broadcast_with: Op = register(
    Op(
        "broadcast_with",
        lambda xp, x, *others: xp.broadcast_to(x, np.broadcast_shapes(x.shape, *(o.shape for o in others))),
        lambda x, *others: AVal(broadcast_shapes([x.shape, *(o.shape for o in others)], "broadcast_with"), x.dtype),
        lambda g, needs, out, x, *others: [g, *[None] * len(others)],
        flags={"linear", "view", "stretches"},
        doc="x stretched to the shape that all its inputs together broadcast to.",
    )
)


@public
def broadcast_arrays(*arrays: Any) -> list[Any]:
    """All the arrays, stretched to the one shape they broadcast to.

    >>> import tutorlib as tl
    >>> [a.shape for a in tl.broadcast_arrays(tl.tensor([1, 2]), tl.tensor([[3], [4]]))]
    [(2, 2), (2, 2)]
    """
    arrays = tuple(a if hasattr(a, "shape") else np.asarray(a) for a in arrays)
    return [_broadcast_with(a, *arrays[:i], *arrays[i + 1 :]) for i, a in enumerate(arrays)]


@public
def meshgrid(*vectors: Any, indexing: str = "xy") -> list[Any]:
    """The coordinates of every point of a grid: array number i holds coordinate number i.

    Args:
        vectors: the coordinates along each axis, scalars or vectors.
        indexing: "xy": the second vector runs along axis 0, the first along axis 1 (as NumPy); "ij": in order.

    >>> import tutorlib as tl
    >>> x, y = tl.meshgrid(tl.tensor([1, 2, 3]), tl.tensor([10, 20]))
    >>> y
    tensor([[10, 10, 10],
            [20, 20, 20]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError('indexing must be "xy" or "ij"')
    n = len(vectors)
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[:2] = [1, 0]
    laid = []
    for place, vector in zip(places, vectors, strict=True):
        if ndim(vector) > 1:
            raise ShapeError(
                "coordinates must be vectors", op="meshgrid", shapes=[shape_of(vector)], fix="flatten them"
            )
        axes = tuple(a for a in range(n) if a != place or ndim(vector) == 0)
        laid.append(_expand_dims(vector, axis=axes) if axes else vector)
    return broadcast_arrays(*laid)
