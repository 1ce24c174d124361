"""How activations, logarithms beside 1 and masks become bound calls: elementwise ops that are several calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from tutorlib.compile.bound import BITS, CLIP, COPYTO, Bound, Call, Scratch, constant, thin, whole
from tutorlib.compile.matching import made_by, nonpositive
from tutorlib.core.graph import Node
from tutorlib.ops.im2col import laid


def lower_relu(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if CLIP is None or not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        return None
    zero, infinity = constant(0.0, x.dtype), constant(math.inf, x.dtype)
    return [Bound(partial(CLIP, x, zero, infinity, out), "np.clip({0}, 0, np.inf, out={out})")]


def lower_sigmoid(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if not isinstance(x, np.ndarray) or x.dtype != out.dtype or node.attrs:
        return None
    one = constant(1.0, out.dtype)
    return [
        Bound(partial(np.negative, x, out), "np.negative({0}, out={out})"),
        Bound(partial(np.exp, out, out), "np.exp({out}, out={out})"),
        Bound(partial(np.add, out, one, out), "np.add({out}, 1, out={out})"),
        Bound(partial(np.true_divide, one, out, out), "np.divide(1, {out}, out={out})"),
    ]


def _as_it_lies(lower: Callable[..., list[Bound] | None]) -> Callable[..., list[Bound] | None]:
    """Work on arrays in the order of their memory where the result has the batch last: scratch has no other order."""

    @wraps(lower)
    def call(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
        if out.ndim < 3 or out.flags.c_contiguous or not laid(out).flags.c_contiguous:
            return lower(node, operands, out, scratch)
        turned = [laid(a) if isinstance(a, np.ndarray) and a.ndim == out.ndim else a for a in operands]
        if not all(np.ndim(a) in (0, out.ndim) for a in turned):
            return None
        calls = lower(node, turned, laid(out), scratch)
        return None if calls is None else [Bound(partial(_one_by_one, [b.call for b in calls]), "{out}[...] = {op}")]

    return call


def _one_by_one(calls: Sequence[Call]) -> None:
    for call in calls:
        call()


@_as_it_lies
def lower_softplus(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    # Halves of scratch are arrays only where the result has axes.
    if CLIP is None or not isinstance(x, np.ndarray) or x.dtype != out.dtype or node.attrs or not out.ndim:
        return None
    # max(x, 0) + log1p(y), y = exp(−|x|). NumPy's own logaddexp and log1p go element by element; with u = 1 + y,
    # log1p(y) = log(u) − ((u − 1) − y) / u puts back what rounding took from u.
    both = scratch((2, *out.shape), out.dtype)
    y, c = both[0], both[1]
    zero, one, infinity = (constant(v, x.dtype) for v in (0.0, 1.0, math.inf))
    return [
        Bound(partial(np.absolute, x, y), "np.absolute({0}, out={tmp}[0])"),
        Bound(partial(np.negative, y, y), "np.negative({tmp}[0], out={tmp}[0])"),
        Bound(partial(np.exp, y, y), "np.exp({tmp}[0], out={tmp}[0])"),
        Bound(partial(np.add, y, one, out), "np.add({tmp}[0], 1, out={out})"),
        Bound(partial(np.subtract, out, one, c), "np.subtract({out}, 1, out={tmp}[1])"),
        Bound(partial(np.subtract, c, y, c), "np.subtract({tmp}[1], {tmp}[0], out={tmp}[1])"),
        Bound(partial(np.true_divide, c, out, c), "np.divide({tmp}[1], {out}, out={tmp}[1])"),
        Bound(partial(np.log, out, out), "np.log({out}, out={out})"),
        Bound(partial(np.subtract, out, c, out), "np.subtract({out}, {tmp}[1], out={out})"),
        Bound(partial(CLIP, x, zero, infinity, y), "np.clip({0}, 0, np.inf, out={tmp}[0])"),
        Bound(partial(np.add, out, y, out), "np.add({out}, {tmp}[0], out={out})"),
    ]


def lower_log1p(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    exponential = made_by(node.inputs[0], "exp")
    quick = exponential is not None and nonpositive(exponential.inputs[0]) and out.ndim
    if not quick or not isinstance(x, np.ndarray) or x.dtype != out.dtype or out.dtype.kind != "f":
        return [Bound(partial(np.log1p, x, out), "np.log1p({0}, out={out})")]
    # Of what lies between 0 and 1: as in ``_softplus``.
    both = scratch((2, *out.shape), out.dtype)
    u, c = both[0], both[1]
    one = constant(1.0, x.dtype)
    return [
        Bound(partial(np.add, x, one, u), "np.add({0}, 1, out={tmp}[0])"),
        Bound(partial(np.subtract, u, one, c), "np.subtract({tmp}[0], 1, out={tmp}[1])"),
        Bound(partial(np.subtract, c, x, c), "np.subtract({tmp}[1], {0}, out={tmp}[1])"),
        Bound(partial(np.true_divide, c, u, c), "np.divide({tmp}[1], {tmp}[0], out={tmp}[1])"),
        Bound(partial(np.log, u, out), "np.log({tmp}[0], out={out})"),
        Bound(partial(np.subtract, out, c, out), "np.subtract({out}, {tmp}[1], out={out})"),
    ]


def _is_zero(value: Any) -> bool:
    return type(value) in (int, float) and repr(value) in ("0", "0.0")


@_as_it_lies
def lower_where(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    """By what is done to the bits, which costs the same whatever the condition: np.where guesses at each element.

    A condition is 0 or 1. Bits times that, as a whole number, are these bits or 0; −1 is a mask of ones, and 1 − 1 = 0
    masks the other way round.
    """
    condition, x, y = operands
    if not isinstance(condition, np.ndarray) or condition.dtype.kind != "b" or out.dtype.kind != "f":
        return None
    bits = BITS.get(out.dtype.itemsize)
    arrays = [a for a in (x, y) if not _is_zero(a)]
    if bits is None or not all(isinstance(a, np.ndarray) and a.dtype == out.dtype for a in arrays) or not arrays:
        return None
    mask, result, one = scratch(condition.shape, bits), out.view(bits), whole(1, bits)
    spread = Bound(partial(COPYTO, mask, condition), "np.copyto({tmp}, {0})")
    kind = f".view({bits.name!r})"
    if len(arrays) == 1:
        kept = 1 if arrays[0] is x else 2
        # The same object as the result where it is the same array: NumPy need not look for an overlap then.
        value = result if arrays[0] is out else thin(arrays[0]).view(bits)
        if kept == 1:
            text = f"np.multiply({{1}}{kind}, {{tmp}}, out={{out}}{kind})"
            return [spread, Bound(partial(np.multiply, value, mask, result), text)]
        return [
            spread,
            Bound(partial(np.subtract, mask, one, mask), "np.subtract({tmp}, 1, out={tmp})"),
            Bound(
                partial(np.bitwise_and, value, mask, result), f"np.bitwise_and({{2}}{kind}, {{tmp}}, out={{out}}{kind})"
            ),
        ]
    ones = Bound(partial(np.negative, mask, mask), "np.negative({tmp}, out={tmp})")
    a, b = x.view(bits), y.view(bits)
    return [
        spread,
        ones,
        Bound(partial(np.bitwise_xor, a, b, result), f"np.bitwise_xor({{1}}{kind}, {{2}}{kind}, out={{out}}{kind})"),
        Bound(
            partial(np.bitwise_and, result, mask, result), f"np.bitwise_and({{out}}{kind}, {{tmp}}, out={{out}}{kind})"
        ),
        Bound(
            partial(np.bitwise_xor, result, b, result), f"np.bitwise_xor({{out}}{kind}, {{2}}{kind}, out={{out}}{kind})"
        ),
    ]
