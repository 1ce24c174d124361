"""Where parts of a joined array are computed: in their places, so that joining them copies nothing.

A part whose place is one run of memory (rows of a stack, not columns) is computed there if an op of this program
computes it and nothing else decides where it lies. The joined array then lives from its first part on. Other parts
are copied when the join itself comes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tutorlib.compile.bound import COPYTO, Bound, Scratch, direct_call
from tutorlib.core.graph import Node, Shared, Symbol

# Views that keep the order and number of elements: what looks through one has the place of what it looks at.
_RESHAPES = frozenset({"reshape", "reshape_like", "expand_dims", "squeeze"})
Like = tuple[tuple[int, ...], np.dtype[Any]]
_concatenate = direct_call(np.concatenate)


class Place(NamedTuple):
    """The place of a part: elements ``start`` to ``stop`` of the joined array ``whole``, whose shape and dtype are
    ``like``, as it lies in memory."""

    whole: Symbol
    like: Like
    start: int
    stop: int


def places_in_joins(
    nodes: Sequence[Node], likes: Mapping[int, Like], elsewhere: Collection[int], views: Collection[str]
) -> dict[int, Place]:
    """By id of variable: the place in a joined array where it is to be computed.

    Args:
        likes: by id of variable, the shape and dtype of what is computed.
        elsewhere: ids of nodes whose results have a place of their own.
        views: names of ops whose results may look into their operand.
    """
    found: dict[int, Place] = {}
    joins = [n for n in nodes if n.op.name == "concatenate"]
    if not joins:
        return found
    inside = {id(n) for n in nodes if n.op.nout == 1 and n.op.name not in views and id(n) not in elsewhere}
    for join in joins:
        whole, axis = join.outputs[0], join.attrs["axis"]
        like = likes[id(whole)]
        shape, dtype = like
        if math.prod(shape[:axis]) != 1 or not math.prod(shape):
            continue
        row = math.prod(shape[axis + 1 :])
        stop = 0
        for part in join.inputs:
            length = _length(part, axis, likes)
            start, stop = stop, stop + length * row
            var = part
            while var.node is not None and var.node.op.name in _RESHAPES:
                var = var.node.inputs[0]
            if id(var.node) in inside and id(var) not in found and likes[id(var)][1] == dtype and length:
                found[id(var)] = Place(whole, like, start, stop)
    return found


def _length(part: Symbol, axis: int, likes: Mapping[int, Like]) -> int:
    if id(part) in likes:
        return likes[id(part)][0][axis]
    return (part.storage.value if isinstance(part, Shared) else part.value).shape[axis]


def lower_concatenate(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    """Copies of the parts that were not computed in their places."""
    axis = node.attrs["axis"]
    if not all(isinstance(a, np.ndarray) for a in operands):
        return None
    calls, stop = [], 0
    for i, part in enumerate(operands):
        start, stop = stop, stop + part.shape[axis]
        index = (slice(None),) * axis + (slice(start, stop),)
        place = out[index]
        if part.ctypes.data == place.ctypes.data and part.strides == place.strides and part.dtype == out.dtype:
            continue
        if part.size:
            cut = ", ".join([":"] * axis + [f"{start}:{stop}"])
            calls.append(Bound(partial(COPYTO, place, part), f"{{out}}[{cut}] = {{{i}}}"))
    if len(calls) == len(operands) > 2 and all(a.dtype == out.dtype for a in operands):
        parts = ", ".join(f"{{{i}}}" for i in range(len(operands)))
        return [Bound(partial(_concatenate, operands, axis, out), f"np.concatenate([{parts}], {axis}, out={{out}})")]
    return calls
