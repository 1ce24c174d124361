"""How single ops become bound calls: NumPy functions with their operands and a buffer for the result fixed.

Each entry takes the operands (arrays, or numbers the learner wrote), the result's buffer and a source of scratch
arrays, and returns calls that fill the buffer. An op without an entry is computed as in dynamic mode and copied.
Which entries exist follows measurements; each must give what the op's own forward gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from tutorlib.core.graph import Node
from tutorlib.ops.define import normalized_axes

Call = Callable[[], Any]
Scratch = Callable[[tuple[int, ...], Any], np.ndarray]


class Bound(NamedTuple):
    """A call, and how it reads in the printed program: operands as {0} {1} …, the result as {out}, scratch as {tmp}.

    ``strict``, where there is one, is what to call instead when a cotangent of zero met an infinity: see
    ``_protected``.
    """

    call: Call
    text: str
    strict: Call | None = None


def direct_call(function: Any) -> Any:
    """A NumPy function without the look-out for array classes other than NumPy's: half its cost on small arrays."""
    return getattr(function, "_implementation", function)


_dot, _copyto = direct_call(np.dot), direct_call(np.copyto)
_clip: Any = getattr(getattr(getattr(np, "_core", np), "umath", np), "clip", None)
# Ufuncs that take their buffer by keyword only.
_BY_KEYWORD = frozenset({np.maximum, np.minimum})
_BITS: dict[int, np.dtype[Any]] = {2: np.dtype("int16"), 4: np.dtype("int32"), 8: np.dtype("int64")}


def number_as_array(value: Any, like: Any) -> Any:
    """A Python number as a 0-d array of the dtype it takes beside ``like``: a ufunc call with one costs half."""
    if type(value) in (int, float) and isinstance(like, np.ndarray) and like.dtype.kind == "f":
        return _constant(value, like.dtype)
    return value


def _constant(value: Any, dtype: Any) -> np.ndarray:
    # By its text: 0.0 and -0.0 are equal, and 1 and True are.
    return _constant_of(repr(value), dtype)


@lru_cache(maxsize=1024)
def _constant_of(text: str, dtype: Any) -> np.ndarray:
    array = np.asarray(float(text), dtype)
    array.flags.writeable = False
    return array


@lru_cache(maxsize=64)
def _whole(value: int, dtype: Any) -> np.ndarray:
    array = np.asarray(value, dtype)
    array.flags.writeable = False
    return array


@lru_cache(maxsize=64)
def _ones(n: int, dtype: Any) -> np.ndarray:
    array = np.ones(n, dtype)
    array.flags.writeable = False
    return array


def thin(value: Any) -> Any:
    """An array that repeats one element as that element: a stretched number is a number."""
    if isinstance(value, np.ndarray) and value.size > 1 and not any(value.strides):
        return value[(0,) * value.ndim + (Ellipsis,)]
    return value


def one_ufunc(node: Node) -> np.ufunc | None:
    """The ufunc that an op is, and nothing else: it reads each element of its operands before it writes it."""
    ufunc = getattr(np, node.op.ufunc or "", None)
    simple = isinstance(ufunc, np.ufunc) and ufunc.nout == 1 and ufunc.signature is None and not node.attrs
    return ufunc if simple and node.op.name not in LOWERING else None


def bound_ufunc(ufunc: np.ufunc, operands: Sequence[Any], out: np.ndarray) -> Call:
    """A call of ``ufunc`` into ``out``."""
    return partial(ufunc, *operands, out=out) if ufunc in _BY_KEYWORD else partial(ufunc, *operands, out)


def ufunc_call(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    """An op that is one ufunc, on operands whose loop has the result's dtype."""
    ufunc = one_ufunc(node)
    if ufunc is None:
        return None
    like = next((a for a in operands if isinstance(a, np.ndarray) and a.dtype.kind == "f"), None)
    bound = [thin(number_as_array(a, like)) for a in operands]
    names = ", ".join(f"{{{i}}}" for i in range(len(bound)))
    return [Bound(bound_ufunc(ufunc, bound, out), f"np.{ufunc.__name__}({names}, out={{out}})")]


def _matmul(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    x, y = operands
    if x.dtype != out.dtype or y.dtype != out.dtype or out.dtype.kind != "f":
        return None
    # np.dot reaches BLAS with less ado than np.matmul, where both mean the same.
    name = "dot" if x.ndim <= 2 and y.ndim <= 2 and out.ndim and out.flags.c_contiguous else "matmul"
    return [Bound(partial(_dot if name == "dot" else np.matmul, x, y, out), f"np.{name}({{0}}, {{1}}, out={{out}})")]


def _relu(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if _clip is None or not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        return None
    zero, infinity = _constant(0.0, x.dtype), _constant(math.inf, x.dtype)
    return [Bound(partial(_clip, x, zero, infinity, out), "np.clip({0}, 0, np.inf, out={out})")]


def _sigmoid(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if not isinstance(x, np.ndarray) or x.dtype != out.dtype or node.attrs:
        return None
    one = _constant(1.0, out.dtype)
    return [
        Bound(partial(np.negative, x, out), "np.negative({0}, out={out})"),
        Bound(partial(np.exp, out, out), "np.exp({out}, out={out})"),
        Bound(partial(np.add, out, one, out), "np.add({out}, 1, out={out})"),
        Bound(partial(np.true_divide, one, out, out), "np.divide(1, {out}, out={out})"),
    ]


def _softplus(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if _clip is None or not isinstance(x, np.ndarray) or x.dtype != out.dtype or node.attrs:
        return None
    # max(x, 0) + log1p(y), y = exp(−|x|). NumPy's own logaddexp and log1p go element by element; with u = 1 + y,
    # log1p(y) = log(u) − ((u − 1) − y) / u puts back what rounding took from u.
    both = scratch((2, *out.shape), out.dtype)
    y, c = both[0], both[1]
    zero, one, infinity = (_constant(v, x.dtype) for v in (0.0, 1.0, math.inf))
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
        Bound(partial(_clip, x, zero, infinity, y), "np.clip({0}, 0, np.inf, out={tmp}[0])"),
        Bound(partial(np.add, out, y, out), "np.add({out}, {tmp}[0], out={out})"),
    ]


def _is_zero(value: Any) -> bool:
    return type(value) in (int, float) and repr(value) in ("0", "0.0")


def _where(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    """By masks of bits, which cost the same whatever the condition: np.where guesses at each element."""
    condition, x, y = operands
    if not isinstance(condition, np.ndarray) or condition.dtype.kind != "b" or out.dtype.kind != "f":
        return None
    bits = _BITS.get(out.dtype.itemsize)
    arrays = [a for a in (x, y) if not _is_zero(a)]
    if bits is None or not all(isinstance(a, np.ndarray) and a.dtype == out.dtype for a in arrays) or not arrays:
        return None
    mask, result, one = scratch(condition.shape, bits), out.view(bits), _whole(1, bits)
    # A condition is 0 or 1: −1 is a mask of ones, and 1 − 1 = 0 masks the other way round.
    spread = Bound(partial(_copyto, mask, condition), "np.copyto({tmp}, {0})")
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


# Rows no longer than this may be added without pairing.
_SHORT = 1024


def _reduce(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> Bound:
    """The sum of ``x`` over ``axes`` into ``out``: a product with ones where that is possible, since BLAS adds rows
    and columns faster than np.add.reduce."""
    # Along rows np.add.reduce adds pairwise, which a long sum needs for its accuracy.
    if x.ndim == 2 and x.flags.c_contiguous and x.size and (axes == (0,) or (axes == (1,) and x.shape[1] <= _SHORT)):
        ones = _ones(x.shape[axes[0]], x.dtype)
        if axes == (0,):
            text = "np.dot(np.ones_like({0}[:, 0]), {0}, out={out}.reshape(-1))"
            return Bound(partial(_dot, ones, x, out.reshape(-1)), text)
        return Bound(
            partial(_dot, x, ones, out.reshape(-1)), "np.dot({0}, np.ones_like({0}[0]), out={out}.reshape(-1))"
        )
    if len(axes) == x.ndim and x.flags.c_contiguous and 0 < x.size <= _SHORT:
        flat, ones = x.reshape(-1), _ones(x.size, x.dtype)
        return Bound(
            partial(_dot, flat, ones, out.reshape(())),
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
    share = _constant(float(number), out.dtype)
    return [*total, Bound(partial(np.true_divide, out, share, out), f"np.divide({{out}}, {number}, out={{out}})")]


def _unbroadcast(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    g = operands[0]
    shape = out.shape
    if not isinstance(g, np.ndarray) or g.dtype != out.dtype or g.dtype.kind != "f" or g.dtype.itemsize == 2:
        return None
    extra = g.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1)
    if not axes:
        return [Bound(partial(_copyto, out, g), "np.copyto({out}, {0})")]
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
    return [Bound(partial(_copyto, out, x, "unsafe"), "np.copyto({out}, {0}, casting='unsafe')")]


def _broadcast(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    x = operands[0]
    fits = isinstance(x, np.ndarray) and x.dtype == out.dtype
    return [Bound(partial(_copyto, out, x), "np.copyto({out}, {0})")] if fits else None


def _like(value: float) -> Callable[..., list[Bound] | None]:
    def lower(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
        return [Bound(partial(out.fill, value), f"{{out}}.fill({value})")]

    return lower


def _softmax(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if not _rows(x, out, node.attrs["axis"]):
        return None
    m = scratch((x.shape[0], 1), out.dtype)
    ones = _ones(x.shape[1], out.dtype)
    return [
        Bound(partial(np.maximum.reduce, x, 1, None, m, True), "np.maximum.reduce({0}, 1, None, {tmp}, True)"),
        Bound(partial(np.subtract, x, m, out), "np.subtract({0}, {tmp}, out={out})"),
        Bound(partial(np.exp, out, out), "np.exp({out}, out={out})"),
        Bound(partial(_dot, out, ones, m.reshape(-1)), "np.dot({out}, np.ones_like({out}[0]), out={tmp}.reshape(-1))"),
        Bound(partial(np.true_divide, out, m, out), "np.divide({out}, {tmp}, out={out})"),
    ]


def _log_softmax(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if not _rows(x, out, node.attrs["axis"]) or np.may_share_memory(x, out):
        return None
    rows = x.shape[0]
    tmp = scratch((x.size + rows,), out.dtype)
    e, m = tmp[:-rows].reshape(x.shape), tmp[-rows:].reshape(rows, 1)
    ones = _ones(x.shape[1], out.dtype)
    cut = f"{{tmp}}[:-{rows}].reshape({x.shape})"
    col = f"{{tmp}}[-{rows}:].reshape({rows}, 1)"
    return [
        Bound(partial(np.maximum.reduce, x, 1, None, m, True), f"np.maximum.reduce({{0}}, 1, None, {col}, True)"),
        Bound(partial(np.subtract, x, m, out), f"np.subtract({{0}}, {col}, out={{out}})"),
        Bound(partial(np.exp, out, e), f"np.exp({{out}}, out={cut})"),
        Bound(partial(_dot, e, ones, m.reshape(-1)), f"np.dot({cut}, np.ones_like({{out}}[0]), out={{tmp}}[-{rows}:])"),
        Bound(partial(np.log, m, m), f"np.log({col}, out={col})"),
        Bound(partial(np.subtract, out, m, out), f"np.subtract({{out}}, {col}, out={{out}})"),
    ]


def _cross_entropy(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    x, labels = operands
    plain = isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == np.int64
    if not plain or not _rows(x, out, node.attrs["axis"]):
        return None
    rows, classes = x.shape
    low, top, picked = np.empty_like(x), np.empty((rows, 1), x.dtype), np.empty(rows, x.dtype)
    flat, total, starts = low.reshape(-1), top.reshape(-1), np.arange(rows) * classes
    places, ones, unsigned = np.empty_like(starts), _ones(classes, x.dtype), labels.view(np.uint64)
    largest: Any = np.maximum.reduce
    lead = np.subtract

    def call() -> None:
        if largest(unsigned) >= classes:  # a negative label is a very large one here
            raise IndexError("a label is no class")
        largest(x, 1, None, top, True)
        lead(x, top, low)
        np.add(starts, labels, places)
        flat.take(places, None, picked, "clip")
        np.exp(low, low)
        _dot(low, ones, total)
        np.log(total, total)
        lead(total, picked, out)

    return [Bound(call, "{out}[...] = {op}")]


def _put_label(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    g, labels = operands[:2]
    plain = isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == np.int64 and labels.size
    if not plain or out.ndim != 2 or node.attrs["axis"] != 1 or not out.flags.c_contiguous:
        return None
    rows, classes = out.shape
    starts, flat, unsigned = np.arange(rows) * classes, out.reshape(-1), labels.view(np.uint64)
    places, largest = np.empty_like(starts), np.maximum.reduce

    def call() -> None:
        if largest(unsigned) >= classes:
            raise IndexError("a label is no class")
        np.add(starts, labels, places)
        flat.fill(0)
        flat[places] = g

    return [Bound(call, "{out}[...] = {op}")]


def _scatter(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    if len(operands) != 2 or not isinstance(operands[0], np.ndarray):
        return None
    index = node.attrs["index"]
    place = out[index]
    if not isinstance(place, np.ndarray) or place.shape != operands[0].shape or not np.may_share_memory(place, out):
        return None
    return [
        Bound(partial(out.fill, 0), "{out}.fill(0)"),
        Bound(
            partial(_copyto, place, operands[0]), f"{{out}}[{index!r}] = {{0}}".replace("{{", "{").replace("}}", "}")
        ),
    ]


def _rows(x: Any, out: np.ndarray, axis: int) -> bool:
    """Whether softmax along ``axis`` goes along short rows of a plain matrix."""
    return (
        isinstance(x, np.ndarray)
        and x.ndim == 2
        and axis == 1
        and x.dtype == out.dtype
        and x.dtype.itemsize >= 4
        and x.flags.c_contiguous
        and 1 < x.shape[1] <= _SHORT
        and x.shape[0] > 0
    )


LOWERING: dict[str, Callable[[Node, Sequence[Any], np.ndarray, Scratch], list[Bound] | None]] = {
    "matmul": _matmul,
    "relu": _relu,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "where": _where,
    "sum": _sum,
    "mean": _mean,
    "unbroadcast": _unbroadcast,
    "safe_mul": _protected("multiply", np.multiply),
    "safe_div": _protected("divide", np.true_divide),
    "cross_entropy": _cross_entropy,
    "scatter": _scatter,
    "put_label": _put_label,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
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
