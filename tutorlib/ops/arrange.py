"""Ops that move, repeat or leave out elements by their place: flip, roll, pad, tile, repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import normalized_axes, public, register
from tutorlib.ops.shape import flatten, ndim, reshape_like, shape_of


def _same(x: AVal, **attrs: Any) -> AVal:
    return AVal(x.shape, x.dtype)


def _like(g: AVal, like: AVal, **attrs: Any) -> AVal:
    return AVal(like.shape, g.dtype)


# ---- flip and roll ----

_flip: Op = register(
    Op(
        "flip",
        lambda xp, x, axis: xp.flip(x, axis),
        _same,
        (lambda g, out, x, axis: _flip(g, axis=axis),),
        flags={"linear", "view"},
    )
)
_roll: Op = register(
    Op(
        "roll",
        lambda xp, x, shift, axis: xp.roll(x, shift, axis),
        _same,
        (lambda g, out, x, shift, axis: _roll(g, shift=tuple(-s for s in shift), axis=axis),),
        flags={"linear"},
    )
)


@public
def flip(x: Any, axis: Any = None) -> Any:
    """x with the order of its elements reversed along ``axis`` (int or tuple; None: along all).

    >>> import tutorlib as tl
    >>> tl.flip(tl.tensor([1, 2, 3]))
    tensor([3, 2, 1])
    """
    return _flip(x, axis=normalized_axes(axis, ndim(x), "flip"))


@public
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """x with its elements moved on by ``shift`` along ``axis``; those pushed off the end come back at the start.

    Args:
        shift: int, or a tuple with one for each axis.
        axis: int or tuple; None rolls all the elements as one vector.

    >>> import tutorlib as tl
    >>> tl.roll(tl.tensor([1, 2, 3, 4]), 1)
    tensor([4, 1, 2, 3])
    """
    if axis is None:
        return reshape_like(_roll(flatten(x), shift=(int(shift),), axis=(0,)), x)
    axes = [normalized_axes(a, ndim(x), "roll")[0] for a in _listed(axis)]
    shifts = _listed(shift)
    if len(shifts) == 1:
        shifts *= len(axes)
    elif len(axes) == 1:
        axes *= len(shifts)
    if len(axes) != len(shifts):
        raise ShapeError(f"{len(shifts)} shifts for {len(axes)} axes", op="roll", fix="give one shift for each axis")
    return _roll(x, shift=tuple(shifts), axis=tuple(axes))


def _listed(value: Any) -> list[int]:
    return [int(value)] if isinstance(value, int | np.integer) else [int(v) for v in value]


# ---- pad ----

_PAD_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _pad_infer(x: AVal, width: tuple[tuple[int, int], ...], mode: str, value: float) -> AVal:
    for axis, (dim, (before, after)) in enumerate(zip(x.shape, width, strict=True)):
        if dim == 0 and mode != "constant" and before + after:
            raise ShapeError(
                f"axis {axis} is empty: there is nothing to pad it with",
                op="pad",
                shapes=[x.shape],
                wrong_dims=[axis],
                fix='use mode="constant"',
            )
    dims = [None if d is None else d + sum(w) for d, w in zip(x.shape, width, strict=True)]
    return AVal(tuple(dims), x.dtype)


def _pad_forward(xp: Any, x: Any, width: Any, mode: str, value: float) -> Any:
    if not x.ndim:
        return xp.asarray(x)
    return xp.pad(x, width, mode, constant_values=value) if mode == "constant" else xp.pad(x, width, mode)


def _unpad_forward(xp: Any, g: Any, like: Any, width: Any, mode: str) -> Any:
    if mode == "constant":
        return g[tuple(slice(before, before + n) for n, (before, _) in zip(like.shape, width, strict=True))]
    for axis, (n, (before, after)) in enumerate(zip(like.shape, width, strict=True)):
        if before + after:
            came_from = xp.pad(xp.arange(n), (before, after), mode)
            shape = (*g.shape[:axis], n, *g.shape[axis + 1 :])
            inner = xp.zeros(shape, g.dtype)
            xp.add.at(inner, (slice(None),) * axis + (came_from,), g)
            g = inner
    return xp.asarray(g)


_pad: Op = register(
    Op(
        "pad",
        _pad_forward,
        _pad_infer,
        (lambda g, out, x, width, mode, value: _unpad(g, x, width=width, mode=mode),),
    )
)
_unpad: Op = register(
    Op(
        "unpad",
        _unpad_forward,
        _like,
        (lambda gg, out, g, like, width, mode: _pad(gg, width=width, mode=mode, value=0), None),
        flags={"linear"},
        doc="Each element of g added where pad took it from: what undoes pad.",
    )
)


def _widths(width: Any, n: int) -> tuple[tuple[int, int], ...]:
    try:
        pairs = np.broadcast_to(np.asarray(width, dtype=object), (n, 2))
        pairs = pairs.tolist()
    except ValueError:
        raise ShapeError(
            f"pad_width {width!r} does not fit {n} axes",
            op="pad",
            fix="give one number, one (before, after), or one (before, after) for each axis",
        ) from None
    if any(not isinstance(w, int) or w < 0 for pair in pairs for w in pair):
        raise ShapeError("a pad width is a whole number from 0", op="pad", fix="index x to make it smaller")
    return tuple((before, after) for before, after in pairs)


@public
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: float = 0) -> Any:
    """x with a border.

    Args:
        pad_width: elements to add: one number; a pair (before, after) for every axis; or one pair for each axis.
        mode: what to fill in: "constant", "edge" (the last element repeated), "reflect" (mirrored, without the last
            element), "symmetric" (mirrored, with it) or "wrap" (from the other end).
        constant_values: the number to fill in for "constant".

    >>> import tutorlib as tl
    >>> tl.pad(tl.tensor([1, 2, 3]), (1, 2), "reflect")
    tensor([2, 1, 2, 3, 2, 1])
    """
    if mode not in _PAD_MODES:
        raise ValueError(f"mode must be one of {', '.join(_PAD_MODES)}, not {mode!r}")
    return _pad(x, width=_widths(pad_width, ndim(x)), mode=mode, value=constant_values)


# ---- tile and repeat ----


def _tile_infer(x: AVal, reps: tuple[int, ...]) -> AVal:
    shape = (1,) * (len(reps) - x.ndim) + x.shape
    return AVal(tuple(None if d is None else d * r for d, r in zip(shape, reps, strict=True)), x.dtype)


def _untile_forward(xp: Any, g: Any, like: Any, reps: tuple[int, ...]) -> Any:
    shape = (1,) * (len(reps) - like.ndim) + like.shape
    split = [n for pair in zip(reps, shape, strict=True) for n in pair]
    copies = tuple(range(0, 2 * len(reps), 2))
    return xp.reshape(xp.sum(xp.reshape(g, split), axis=copies), like.shape)


_tile: Op = register(
    Op(
        "tile",
        lambda xp, x, reps: xp.tile(x, reps),
        _tile_infer,
        (lambda g, out, x, reps: _untile(g, x, reps=reps),),
        flags={"linear"},
    )
)
_untile: Op = register(
    Op(
        "untile",
        _untile_forward,
        _like,
        (lambda gg, out, g, like, reps: _tile(gg, reps=reps), None),
        flags={"linear"},
        doc="The copies that tile made, added up.",
    )
)


@public
def tile(x: Any, reps: Any) -> Any:
    """Copies of x laid side by side: ``reps`` (int or tuple) says how many along each axis, the last axis last.

    >>> import tutorlib as tl
    >>> tl.tile(tl.tensor([1, 2]), (2, 2))
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = _listed(reps)
    if any(r < 0 for r in counts):
        raise ShapeError(f"cannot make {min(counts)} copies", op="tile", fix="give numbers from 0")
    return _tile(x, reps=(1,) * (ndim(x) - len(counts)) + tuple(counts))


def _repeat_infer(x: AVal, repeats: int, axis: int) -> AVal:
    dims = list(x.shape)
    n = dims[axis]
    dims[axis] = None if n is None else n * repeats
    return AVal(tuple(dims), x.dtype)


def _unrepeat_forward(xp: Any, g: Any, like: Any, repeats: int, axis: int) -> Any:
    n = like.shape
    return xp.sum(xp.reshape(g, (*n[: axis + 1], repeats, *n[axis + 1 :])), axis=axis + 1)


_repeat: Op = register(
    Op(
        "repeat",
        lambda xp, x, repeats, axis: xp.repeat(x, repeats, axis),
        _repeat_infer,
        (lambda g, out, x, **attrs: _unrepeat(g, x, **attrs),),
        flags={"linear"},
    )
)
_unrepeat: Op = register(
    Op(
        "unrepeat",
        _unrepeat_forward,
        _like,
        (lambda gg, out, g, like, **attrs: _repeat(gg, **attrs), None),
        flags={"linear"},
        doc="The copies that repeat made of each element, added up.",
    )
)


@public
def repeat(x: Any, repeats: int | Sequence[int], axis: int | None = None) -> Any:
    """Each element of x several times in a row.

    Args:
        repeats: how often: one number, or one for each place along ``axis``.
        axis: the axis to repeat along; None repeats the elements of x as one vector.

    >>> import tutorlib as tl
    >>> tl.repeat(tl.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    >>> tl.repeat(tl.tensor([1, 2]), [3, 1])
    tensor([1, 1, 1, 2])
    """
    if axis is None:
        x, axis = flatten(x), 0
    (place,) = normalized_axes(axis, ndim(x), "repeat")
    counts = _listed(repeats)
    if any(r < 0 for r in counts):
        raise ShapeError(f"cannot repeat {min(counts)} times", op="repeat", fix="give numbers from 0")
    if len(counts) == 1:
        return _repeat(x, repeats=counts[0], axis=place)
    length = shape_of(x)[place]
    if length not in (None, len(counts)):
        raise ShapeError(
            f"{len(counts)} counts for {length} elements",
            op="repeat",
            shapes=[shape_of(x), (len(counts),)],
            wrong_dims=[place, 0],
            fix="give one count for each element along the axis",
        )
    return OPS.take(x, np.repeat(range(len(counts)), counts).tolist(), place)


attach_to("arrange")
