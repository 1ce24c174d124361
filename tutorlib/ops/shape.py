"""Ops that rearrange elements: reshape, transpose, broadcasting and its undoing, joining and splitting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim, broadcast_shapes
from tutorlib.core.errors import ShapeError, shape_text
from tutorlib.core.graph import Op, Var
from tutorlib.core.operators import OPS
from tutorlib.ops.define import normalized_axes, public, register, result_dtype


def ndim(x: Any) -> int:
    """The number of axes of anything an op takes."""
    return x.ndim if hasattr(x, "ndim") else np.ndim(x)


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
    """x as a vector."""
    return _reshape(x, shape=(-1,))


# ---- transpose ----


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


_transpose: Op = register(
    Op(
        "transpose",
        lambda xp, x, axes: xp.transpose(x, axes),
        lambda x, axes: AVal(tuple(x.shape[a] for a in axes), x.dtype),
        (lambda g, out, x, axes: _transpose(g, axes=_inverse(axes)),),
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
        shape = x.shape if hasattr(x, "shape") else np.shape(x)
        if None in shape:
            raise ShapeError(
                "which axes have length 1 is not known yet", op="squeeze", shapes=[shape], fix="name them: axis=0"
            )
        axis = tuple(i for i, d in enumerate(shape) if d == 1)
    return _squeeze(x, axis=normalized_axes(axis, ndim(x), "squeeze"))


# ---- broadcasting ----


def _broadcast_infer(x: AVal, shape: tuple[int, ...]) -> AVal:
    result = broadcast_shapes([x.shape, shape], "broadcast_to")
    if len(result) != len(shape) or any(want != got for want, got in zip(shape, result, strict=True)):
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

# ---- joining and splitting ----


def _join_dtype(op: Op, avals: Sequence[AVal], **attrs: Any) -> np.dtype[Any]:
    return result_dtype(op, avals, **attrs)


def _concatenate_infer(*avals: AVal, axis: int) -> AVal:
    first = avals[0].shape
    dims: list[Dim] = list(first)
    total: Dim = 0
    for aval in avals:
        shape = aval.shape
        wrong = next(
            (
                i
                for i in range(min(len(first), len(shape)))
                if i != axis and None not in (shape[i], dims[i]) and shape[i] != dims[i]
            ),
            None,
        )
        if len(shape) != len(first) or wrong is not None:
            raise ShapeError(
                f"all parts must agree in every axis but axis {axis}",
                op="concatenate",
                shapes=[first, shape],
                wrong_dims=[wrong, wrong],
                fix="reshape or index the parts so that only that axis differs",
            )
        dims = [d if d is not None else s for d, s in zip(dims, shape, strict=True)]
        here = shape[axis]
        total = None if total is None or here is None else total + here
    dims[axis] = total
    return AVal(tuple(dims), _join_dtype(_concatenate, avals, axis=axis))


def _concatenate_vjp(g: Any, needs: list[bool], out: Any, *parts: Any, axis: int) -> list[Any]:
    return [_part(g, *parts, axis=axis, index=i) if need else None for i, need in enumerate(needs)]


_concatenate: Op = register(
    Op(
        "concatenate",
        lambda xp, *parts, axis: xp.concatenate(parts, axis=axis),
        _concatenate_infer,
        _concatenate_vjp,
        flags={"linear"},
    )
)


def _part_forward(xp: Any, g: Any, *parts: Any, axis: int, index: int) -> Any:
    start = sum(p.shape[axis] for p in parts[:index])
    return g[(slice(None),) * axis + (slice(start, start + parts[index].shape[axis]),)]


def _part_vjp(gg: Any, needs: list[bool], out: Any, g: Any, *parts: Any, axis: int, index: int) -> list[Any]:
    pieces = [gg if i == index else zeros_like_as(part, gg) for i, part in enumerate(parts)]
    return [_concatenate(*pieces, axis=axis) if needs[0] else None, *[None] * len(parts)]


def zeros_like_as(x: Any, g: Any) -> Any:
    """Zeros of the shape of x in the dtype of g."""
    return OPS.cast(OPS.zeros_like(x), g.dtype)


# The piece of g that belongs to parts[index]: what undoes concatenate, for lengths known only when it runs.
_part: Op = register(
    Op(
        "part",
        _part_forward,
        lambda g, *parts, axis, index: AVal(parts[index].shape, g.dtype),
        _part_vjp,
        flags={"linear", "view"},
    )
)


def _parts(parts: Any, op: str) -> list[Any]:
    parts = list(parts)
    if not parts:
        raise ShapeError("nothing to join", op=op, fix="pass at least one array")
    return [p if isinstance(p, Var) or hasattr(p, "ndim") else np.asarray(p) for p in parts]


@public
def concatenate(parts: Any, axis: int = 0) -> Any:
    """The parts joined along an axis they have.

    >>> import tutorlib as tl
    >>> tl.concatenate([tl.tensor([1, 2]), tl.tensor([3])])
    tensor([1, 2, 3])
    """
    parts = _parts(parts, "concatenate")
    return _concatenate(*parts, axis=normalized_axes(axis, ndim(parts[0]), "concatenate")[0])


@public
def stack(parts: Any, axis: int = 0) -> Any:
    """The parts, all of one shape, joined along a new axis.

    >>> import tutorlib as tl
    >>> tl.stack([tl.tensor([1, 2]), tl.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    parts = _parts(parts, "stack")
    (place,) = normalized_axes(axis, ndim(parts[0]) + 1, "stack")
    return _concatenate(*[_expand_dims(p, axis=(place,)) for p in parts], axis=place)
