"""Ops that join arrays along an axis and split them: concatenate, stack, split, and the pieces gradients need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op, Var
from tutorlib.core.operators import OPS
from tutorlib.ops.define import normalized_axes, public, register, result_dtype
from tutorlib.ops.shape import expand_dims, flatten, ndim, shape_of

# ---- joining ----


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
    return AVal(tuple(dims), result_dtype(_concatenate, avals, axis=axis))


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


def _along(axis: int, piece: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (piece,)


def _part_forward(xp: Any, g: Any, *parts: Any, axis: int, index: int) -> Any:
    start = sum(p.shape[axis] for p in parts[:index])
    return g[_along(axis, slice(start, start + parts[index].shape[axis]))]


def _part_vjp(gg: Any, needs: list[bool], out: Any, g: Any, *parts: Any, axis: int, index: int) -> list[Any]:
    pieces = [gg if i == index else OPS.cast(OPS.zeros_like(part), gg.dtype) for i, part in enumerate(parts)]
    return [_concatenate(*pieces, axis=axis) if needs[0] else None, *[None] * len(parts)]


# The piece of g that belongs to parts[index]: what undoes concatenate, for lengths known only when it runs.
_part: Op = register(
    Op(
        "part",
        _part_forward,
        lambda g, *parts, axis, index: AVal(parts[index].shape, g.dtype),
        _part_vjp,
        flags={"linear", "view"},
        doc="The piece of g that belongs to parts[index]: what undoes concatenate.",
    )
)


def _parts(parts: Any, op: str) -> list[Any]:
    parts = list(parts)
    if not parts:
        raise ShapeError("nothing to join", op=op, fix="pass at least one array")
    parts = [
        p if isinstance(p, Var) or hasattr(p, "ndim") or type(p) in (bool, int, float) else np.asarray(p) for p in parts
    ]
    strong = [p.dtype for p in parts if hasattr(p, "dtype")]
    # A Python number does not widen its neighbours, as it does not in arithmetic.
    return [p if hasattr(p, "dtype") else np.asarray(p, np.result_type(p, *strong) if strong else None) for p in parts]


@public
def concatenate(parts: Any, axis: int | None = 0) -> Any:
    """The parts joined along an axis they have; with ``axis=None`` all their elements, as one vector.

    Args:
        parts: a list or tuple of arrays that agree in every axis but this one. Different dtypes are promoted.
        axis: int (negative: from the end) or None.

    Raises ShapeError for no parts, or parts that do not fit.

    >>> import tutorlib as tl
    >>> tl.concatenate([tl.tensor([1, 2]), tl.tensor([3])])
    tensor([1, 2, 3])
    """
    parts = _parts(parts, "concatenate")
    if axis is None:
        parts, axis = [flatten(p) for p in parts], 0
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
    first = shape_of(parts[0])
    for part in parts:
        shape = shape_of(part)
        wrong = [i for i, (a, b) in enumerate(zip(first, shape, strict=False)) if None not in (a, b) and a != b]
        if len(shape) != len(first) or wrong:
            raise ShapeError(
                "all parts must have the same shape",
                op="stack",
                shapes=[first, shape],
                wrong_dims=[wrong[0], wrong[0]] if wrong else [],
                fix="use tl.concatenate to join along an axis they have already",
            )
    (place,) = normalized_axes(axis, len(first) + 1, "stack")
    return _concatenate(*[expand_dims(p, place) for p in parts], axis=place)


# ---- splitting ----


def _section_infer(x: AVal, axis: int, index: int, sections: int) -> AVal:
    length = x.shape[axis]
    if length is not None and length % sections:
        raise ShapeError(
            f"axis {axis} of length {length} cannot be split into {sections} equal parts",
            op="split",
            shapes=[x.shape],
            wrong_dims=[axis],
            fix="give the places to cut at: tl.split(x, [2, 5])",
        )
    dims = list(x.shape)
    dims[axis] = None if length is None else length // sections
    return AVal(tuple(dims), x.dtype)


def _section_forward(xp: Any, x: Any, axis: int, index: int, sections: int) -> Any:
    length = x.shape[axis] // sections
    _section_infer(AVal(x.shape, x.dtype), axis, index, sections)
    return x[_along(axis, slice(index * length, (index + 1) * length))]


def _unsection_forward(xp: Any, g: Any, like: Any, axis: int, index: int, sections: int) -> Any:
    result = xp.zeros(like.shape, g.dtype)
    length = like.shape[axis] // sections
    result[_along(axis, slice(index * length, (index + 1) * length))] = g
    return result


_section: Op = register(
    Op(
        "section",
        _section_forward,
        _section_infer,
        (lambda g, out, x, **attrs: _unsection(g, x, **attrs),),
        flags={"linear", "view"},
        doc="Part number index of x cut into equal sections along axis.",
    )
)
_unsection: Op = register(
    Op(
        "unsection",
        _unsection_forward,
        lambda g, like, **attrs: AVal(like.shape, g.dtype),
        (lambda gg, out, g, like, **attrs: _section(gg, **attrs), None),
        flags={"linear"},
        doc="g at its place among zeros in the shape of like: what undoes section.",
    )
)


@public
def split(x: Any, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """x cut into pieces along ``axis``, as NumPy does it.

    Args:
        indices_or_sections: a number of equal parts, or the places to cut at: [2, 5] gives x[:2], x[2:5], x[5:].
        axis: the axis to cut.

    Raises ShapeError if the axis cannot be cut into that many equal parts.

    >>> import tutorlib as tl
    >>> tl.split(tl.tensor([1, 2, 3, 4]), 2)
    [tensor([1, 2]), tensor([3, 4])]
    >>> tl.split(tl.tensor([1, 2, 3, 4]), [1])
    [tensor([1]), tensor([2, 3, 4])]
    """
    (place,) = normalized_axes(axis, ndim(x), "split")
    if isinstance(indices_or_sections, int | np.integer):
        sections = int(indices_or_sections)
        if sections < 1:
            raise ShapeError(f"cannot cut into {sections} parts", op="split", fix="ask for at least one part")
        return [_section(x, axis=place, index=i, sections=sections) for i in range(sections)]
    cuts = [int(i) for i in indices_or_sections]
    return [
        OPS.getitem(x, _along(place, slice(start, stop))) for start, stop in zip([0, *cuts], [*cuts, None], strict=True)
    ]
