"""How single ops become bound calls: NumPy functions with their operands and a buffer for the result fixed.

Each entry takes the operands (arrays, or numbers the learner wrote), the result's buffer and a source of scratch
arrays, and returns calls that fill the buffer. An op without an entry is computed as in dynamic mode and copied.
Which entries exist follows measurements; each must give what the op's own forward gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, wraps
from typing import Any

import numpy as np

from tutorlib.compile.bound import (
    BITS,
    BY_KEYWORD,
    CLIP,
    COPYTO,
    DOT,
    SHORT,
    Bound,
    Call,
    Scratch,
    constant,
    number_as_array,
    ones_of,
    thin,
    whole,
)
from tutorlib.compile.joins import lower_concatenate
from tutorlib.compile.lower_images import (
    lower_conv,
    lower_conv_transpose,
    lower_conv_weight,
    lower_max_pool,
    lower_max_pool_spread,
)
from tutorlib.compile.lower_rows import (
    lower_cross_entropy,
    lower_cross_entropy_back,
    lower_log_softmax,
    lower_put_label,
    lower_scatter,
    lower_softmax,
)
from tutorlib.compile.matching import made_by, nonpositive
from tutorlib.core.graph import Node, Op
from tutorlib.ops.define import normalized_axes
from tutorlib.ops.im2col import laid


def one_ufunc(node: Node) -> np.ufunc | None:
    """The ufunc that an op is, and nothing else: it reads each element of its operands before it writes it."""
    return None if node.attrs else _ufunc_of(node.op)


@lru_cache(maxsize=1024)
def _ufunc_of(op: Op) -> np.ufunc | None:
    ufunc = getattr(np, op.ufunc or "", None)
    simple = isinstance(ufunc, np.ufunc) and ufunc.nout == 1 and ufunc.signature is None
    return ufunc if simple and op.name not in LOWERING else None


@lru_cache(maxsize=1024)
def _ufunc_text(ufunc: np.ufunc, operands: int) -> str:
    return f"np.{ufunc.__name__}({', '.join(f'{{{i}}}' for i in range(operands))}, out={{out}})"


def bound_ufunc(ufunc: np.ufunc, operands: Sequence[Any], out: np.ndarray) -> Call:
    """A call of ``ufunc`` into ``out``."""
    return partial(ufunc, *operands, out=out) if ufunc in BY_KEYWORD else partial(ufunc, *operands, out)


def ufunc_call(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    """An op that is one ufunc, on operands whose loop has the result's dtype."""
    ufunc = one_ufunc(node)
    if ufunc is None:
        return None
    like = next((a for a in operands if isinstance(a, np.ndarray) and a.dtype.kind == "f"), None)
    bound = [thin(a) if type(a) is np.ndarray else number_as_array(a, like) for a in operands]
    return [Bound(bound_ufunc(ufunc, bound, out), _ufunc_text(ufunc, len(bound)))]


def _matmul(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    x, y = operands
    if x.dtype != out.dtype or y.dtype != out.dtype or out.dtype.kind != "f":
        return None
    # np.dot reaches BLAS with less ado than np.matmul, where both mean the same.
    name = "dot" if x.ndim <= 2 and y.ndim <= 2 and out.flags.c_contiguous else "matmul"
    return [Bound(partial(DOT if name == "dot" else np.matmul, x, y, out), f"np.{name}({{0}}, {{1}}, out={{out}})")]


def _linear(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    x, W, b = operands
    if not all(isinstance(a, np.ndarray) and a.dtype == out.dtype for a in operands) or out.dtype.kind != "f":
        return None
    if x.ndim != 2 or not out.flags.c_contiguous:
        return None
    return [
        Bound(partial(DOT, x, W, out), "np.dot({0}, {1}, out={out})"),
        Bound(partial(np.add, out, b, out), "np.add({out}, {2}, out={out})"),
    ]


def _relu(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if CLIP is None or not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        return None
    zero, infinity = constant(0.0, x.dtype), constant(math.inf, x.dtype)
    return [Bound(partial(CLIP, x, zero, infinity, out), "np.clip({0}, 0, np.inf, out={out})")]


def _sigmoid(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
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
def _softplus(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if CLIP is None or not isinstance(x, np.ndarray) or x.dtype != out.dtype or node.attrs:
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


def _log1p(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    exponential = made_by(node.inputs[0], "exp")
    quick = exponential is not None and nonpositive(exponential.inputs[0])
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
def _where(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    """By masks of bits, which cost the same whatever the condition: np.where guesses at each element."""
    condition, x, y = operands
    if not isinstance(condition, np.ndarray) or condition.dtype.kind != "b" or out.dtype.kind != "f":
        return None
    bits = BITS.get(out.dtype.itemsize)
    arrays = [a for a in (x, y) if not _is_zero(a)]
    if bits is None or not all(isinstance(a, np.ndarray) and a.dtype == out.dtype for a in arrays) or not arrays:
        return None
    mask, result, one = scratch(condition.shape, bits), out.view(bits), whole(1, bits)
    # A condition is 0 or 1: −1 is a mask of ones, and 1 − 1 = 0 masks the other way round.
    spread = Bound(partial(COPYTO, mask, condition), "np.copyto({tmp}, {0})")
    ones = Bound(partial(np.negative, mask, mask), "np.negative({tmp}, out={tmp})")
    kind = f".view({bits.name!r})"
    if len(arrays) == 1:
        kept = 1 if arrays[0] is x else 2
        flipped = Bound(partial(np.subtract, mask, one, mask), "np.subtract({tmp}, 1, out={tmp})")
        return [
            spread,
            ones if kept == 1 else flipped,
            Bound(
                partial(np.bitwise_and, thin(arrays[0]).view(bits), mask, result),
                f"np.bitwise_and({{{kept}}}{kind}, {{tmp}}, out={{out}}{kind})",
            ),
        ]
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


def _reduce(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> Bound:
    """The sum of ``x`` over ``axes`` into ``out``: a product with ones where that is possible, since BLAS adds rows
    and columns faster than np.add.reduce."""
    # Along rows np.add.reduce adds pairwise, which a long sum needs for its accuracy.
    if x.ndim == 2 and x.flags.c_contiguous and x.size and (axes == (0,) or (axes == (1,) and x.shape[1] <= SHORT)):
        ones = ones_of(x.shape[axes[0]], x.dtype)
        if axes == (0,):
            text = "np.dot(np.ones_like({0}[:, 0]), {0}, out={out}.reshape(-1))"
            return Bound(partial(DOT, ones, x, out.reshape(-1)), text)
        return Bound(partial(DOT, x, ones, out.reshape(-1)), "np.dot({0}, np.ones_like({0}[0]), out={out}.reshape(-1))")
    if len(axes) == x.ndim and x.flags.c_contiguous and 0 < x.size <= SHORT:
        flat, ones = x.reshape(-1), ones_of(x.size, x.dtype)
        return Bound(
            partial(DOT, flat, ones, out.reshape(())),
            "np.dot({0}.ravel(), np.ones({0}.size, {0}.dtype), out={out}.reshape(()))",
        )
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    text = f"np.add.reduce({{0}}, axis={axes}, out={{out}}.reshape({kept}), keepdims=True)"
    return Bound(partial(np.add.reduce, x, axes, None, out.reshape(kept), True), text)


def _sum(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if not isinstance(x, np.ndarray) or x.dtype != out.dtype or x.dtype.kind != "f" or x.dtype.itemsize == 2:
        return None
    return [_reduce(x, normalized_axes(node.attrs["axis"], x.ndim, "sum"), out)] if out.flags.c_contiguous else None


def _mean(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    total = _sum(node, operands, out, scratch)
    if total is None:
        return None
    axes = normalized_axes(node.attrs["axis"], x.ndim, "mean")
    number = math.prod(x.shape[a] for a in axes)
    if not number:
        return None
    share = constant(float(number), out.dtype)
    return [*total, Bound(partial(np.true_divide, out, share, out), f"np.divide({{out}}, {number}, out={{out}})")]


def _unbroadcast(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    g = operands[0]
    shape = out.shape
    if not isinstance(g, np.ndarray) or g.dtype != out.dtype or g.dtype.kind != "f" or g.dtype.itemsize == 2:
        return None
    extra = g.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1)
    if not axes:
        return [Bound(partial(COPYTO, out, g), "np.copyto({out}, {0})")]
    if not out.flags.c_contiguous:
        return None
    return [_reduce(g, axes, out)]


def _protected(name: str, ufunc: np.ufunc) -> Callable[..., list[Bound] | None]:
    """A product or quotient that is 0 where its first factor is, whatever the second.

    Only 0 · ∞ and 0 / 0 differ from the plain product, and they make NaN. So the plain product is tried, and where NaN
    reaches a result the call is run again with the strict form (see ``schedule``).
    """

    def lower(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
        g, factor = operands
        if not isinstance(g, np.ndarray) or g.dtype != out.dtype:
            return None
        finite = type(factor) in (int, float) and math.isfinite(factor) and (name == "multiply" or factor != 0)
        g, factor = thin(g), thin(number_as_array(factor, g))
        if getattr(factor, "dtype", None) != out.dtype:
            return None

        def strict() -> None:
            zero = g == 0
            ufunc(g, factor, out)
            np.copyto(out, 0, where=zero)

        text = f"np.{name}({{0}}, {{1}}, out={{out}})"
        return [Bound(partial(ufunc, g, factor, out), text, None if finite else strict)]

    return lower


def _cast(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fb" or out.dtype.kind != "f":
        return None
    return [Bound(partial(COPYTO, out, x, "unsafe"), "np.copyto({out}, {0}, casting='unsafe')")]


def _broadcast(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    x = operands[0]
    fits = isinstance(x, np.ndarray) and x.dtype == out.dtype
    return [Bound(partial(COPYTO, out, x), "np.copyto({out}, {0})")] if fits else None


def _like(value: float) -> Callable[..., list[Bound] | None]:
    def lower(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
        return [Bound(partial(out.fill, value), f"{{out}}.fill({value})")]

    return lower


LOWERING: dict[str, Callable[[Node, Sequence[Any], np.ndarray, Scratch], list[Bound] | None]] = {
    "matmul": _matmul,
    "linear": _linear,
    "cross_entropy_back": lower_cross_entropy_back,
    "relu": _relu,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "log1p": _log1p,
    "where": _where,
    "sum": _sum,
    "mean": _mean,
    "unbroadcast": _unbroadcast,
    "safe_mul": _protected("multiply", np.multiply),
    "safe_div": _protected("divide", np.true_divide),
    "cross_entropy": lower_cross_entropy,
    "scatter": lower_scatter,
    "put_label": lower_put_label,
    "concatenate": lower_concatenate,
    "softmax": lower_softmax,
    "log_softmax": lower_log_softmax,
    "conv": lower_conv,
    "conv_transpose": lower_conv_transpose,
    "conv_weight": lower_conv_weight,
    "max_pool": lower_max_pool,
    "max_pool_spread": lower_max_pool_spread,
    "cast": _cast,
    "broadcast_like": _broadcast,
    "broadcast_to": _broadcast,
    "zeros_like": _like(0),
    "ones_like": _like(1),
}


def lowered(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound]:
    """The calls that compute ``node`` from ``operands`` into ``out``."""
    special = LOWERING.get(node.op.name)
    calls = special(node, operands, out, scratch) if special is not None else ufunc_call(node, operands, out)
    if calls is not None:
        return calls
    function, attrs = node.op.on_numpy, node.attrs
    arrays = tuple(operands)

    if "fills" in node.op.flags:
        return [Bound(partial(function, *arrays, out=out, **attrs), "{out}[...] = {op}")]

    def call() -> None:
        out[...] = function(*arrays, **attrs)

    return [Bound(call, "{out}[...] = {op}")]


def several(node: Node, operands: Sequence[Any], outs: Sequence[np.ndarray]) -> list[Bound]:
    """The call that computes a node of several results into their buffers."""
    function, attrs, arrays = node.op.on_numpy, node.attrs, tuple(operands)

    def call() -> None:
        for buffer, part in zip(outs, function(*arrays, **attrs), strict=True):
            buffer[...] = part

    return [Bound(call, "for _to, _part in zip([{outs}], {op}): _to[...] = _part")]
