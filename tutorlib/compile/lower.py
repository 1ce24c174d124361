"""How single ops become bound calls: NumPy functions with their operands and a buffer for the result fixed.

Each entry takes the operands (arrays, or numbers the learner wrote), the result's buffer and a source of scratch
arrays, and returns calls that fill the buffer. An op without an entry is computed as in dynamic mode and copied.
Which entries exist follows measurements; each must give what the op's own forward gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tutorlib.compile.bound import (
    BY_KEYWORD,
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
)
from tutorlib.compile.joins import lower_concatenate
from tutorlib.compile.lower_adding import lower_axpy, lower_gemm
from tutorlib.compile.lower_elementwise import (
    lower_log1p,
    lower_relu,
    lower_sigmoid,
    lower_softplus,
    lower_where,
)
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
from tutorlib.compile.lower_safe import protected
from tutorlib.compile.lower_side_by_side import lower_each, lower_scaled
from tutorlib.core.graph import Node, Op
from tutorlib.ops.define import normalized_axes

# Of a result of so many elements the calls cost more than the elements.
FEW = 4096


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


def _thin_beside(out: np.ndarray, value: np.ndarray) -> np.ndarray:
    """As ``thin``, and an array of one element that is stretched over ``out`` as that element: along axes of a matrix
    NumPy stretches with much more ado."""
    return value.reshape(()) if value.size == 1 != out.size else thin(value)


def ufunc_call(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    """An op that is one ufunc, on operands whose loop has the result's dtype."""
    ufunc = one_ufunc(node)
    if ufunc is None:
        return None
    bound = list(operands)
    for i, a in enumerate(operands):
        if type(a) is not np.ndarray:
            like = next((b for b in operands if isinstance(b, np.ndarray) and b.dtype.kind == "f"), None)
            bound[i] = number_as_array(a, like)
        elif a.base is not None or a.size == 1:
            bound[i] = _thin_beside(out, a)
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
    product = Bound(partial(DOT, x, W, out), "np.dot({0}, {1}, out={out})")
    if b.size == 1 or out.size > FEW:
        return [product, Bound(partial(np.add, out, _thin_beside(out, b), out), "np.add({out}, {2}, out={out})")]
    # To copy a row into many is quick, to add it to many is not.
    rows = scratch(out.shape, out.dtype)
    return [
        product,
        Bound(partial(COPYTO, rows, b), "np.copyto({tmp}, {2})"),
        Bound(partial(np.add, out, rows, out), "np.add({out}, {tmp}, out={out})"),
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
    "relu": lower_relu,
    "sigmoid": lower_sigmoid,
    "softplus": lower_softplus,
    "log1p": lower_log1p,
    "where": lower_where,
    "sum": _sum,
    "mean": _mean,
    "unbroadcast": _unbroadcast,
    "safe_mul": protected("multiply", np.multiply),
    "safe_div": protected("divide", np.true_divide),
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
    "axpy": lower_axpy,
    "gemm": lower_gemm,
    "add_each": lower_each,
    "sub_each": lower_each,
    "mul_each": lower_scaled,
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

    return [Bound(call, whole_text(node))]


def whole_text(node: Node) -> str:
    """How a node reads that its op's own forward computes."""
    if node.op.nout == 1:
        return "{out}[...] = {op}"
    return "for _to, _part in zip([{outs}], {op}): _to[...] = _part"
