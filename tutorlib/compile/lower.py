"""How single ops become bound calls: NumPy functions with their operands and a buffer for the result fixed.

Each entry takes the operands (arrays, or numbers the learner wrote) and the result's buffer and returns calls that fill
it. An op without an entry is computed as in dynamic mode and copied into its buffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tutorlib.core.graph import Node
from tutorlib.ops.define import normalized_axes

Call = Callable[[], Any]
# A call and how it reads in the printed program, operands as {0} {1} …, the result as {out}.
Bound = tuple[Call, str]

_dot = np.dot
_umath_clip = getattr(getattr(np, "_core", np), "umath", np)
_clip = getattr(_umath_clip, "clip", None)


def number_as_array(value: Any, like: Any) -> Any:
    """A Python number as a 0-d array of the dtype it takes beside ``like``: a ufunc call with one costs half."""
    if type(value) in (int, float) and isinstance(like, np.ndarray) and like.dtype.kind == "f":
        return _constant(value, like.dtype)
    return value


@lru_cache(maxsize=1024)
def _constant(value: Any, dtype: Any) -> np.ndarray:
    array = np.asarray(value, dtype)
    array.flags.writeable = False
    return array


@lru_cache(maxsize=64)
def _ones(n: int, dtype: Any) -> np.ndarray:
    array = np.ones(n, dtype)
    array.flags.writeable = False
    return array


def one_ufunc(node: Node) -> np.ufunc | None:
    """The ufunc that an op is, and nothing else: it reads each element of its operands before it writes it."""
    ufunc = getattr(np, node.op.ufunc or "", None)
    simple = isinstance(ufunc, np.ufunc) and ufunc.nout == 1 and ufunc.signature is None
    return ufunc if simple and node.op.name not in LOWERING else None


def ufunc_call(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    """An op that is one ufunc, on operands whose loop has the result's dtype."""
    ufunc = one_ufunc(node)
    if ufunc is None:
        return None
    like = next((a for a in operands if isinstance(a, np.ndarray) and a.dtype.kind == "f"), None)
    bound = [number_as_array(a, like) for a in operands]
    names = ", ".join(f"{{{i}}}" for i in range(len(bound)))
    return [(partial(ufunc, *bound, out), f"np.{ufunc.__name__}({names}, out={{out}})")]


def _matmul(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    x, y = operands
    if x.dtype != out.dtype or y.dtype != out.dtype or out.dtype.kind != "f":
        return None
    # np.dot reaches BLAS with less ado than np.matmul, where both mean the same.
    name = "dot" if x.ndim <= 2 and y.ndim <= 2 and out.ndim and out.flags.c_contiguous else "matmul"
    return [(partial(getattr(np, name), x, y, out), f"np.{name}({{0}}, {{1}}, out={{out}})")]


def _relu(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    (x,) = operands
    if _clip is None or x.dtype.kind != "f":
        return None
    zero, infinity = _constant(0, x.dtype), _constant(math.inf, x.dtype)
    return [(partial(_clip, x, zero, infinity, out), "np.clip({0}, 0, np.inf, out={out})")]


def _sigmoid(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    (x,) = operands
    if x.dtype != out.dtype:
        return None
    half = _constant(0.5, out.dtype)
    return [
        (partial(np.multiply, x, half, out), "np.multiply({0}, 0.5, out={out})"),
        (partial(np.tanh, out, out), "np.tanh({out}, out={out})"),
        (partial(np.multiply, out, half, out), "np.multiply({out}, 0.5, out={out})"),
        (partial(np.add, out, half, out), "np.add({out}, 0.5, out={out})"),
    ]


def _where(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    condition, x, y = operands
    if not isinstance(condition, np.ndarray) or condition.dtype.kind != "b":
        return None
    return [
        (partial(np.copyto, out, y), "np.copyto({out}, {2})"),
        (partial(np.copyto, out, x, where=condition), "np.copyto({out}, {1}, where={0})"),
    ]


def _sum(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    (x,) = operands
    axis, keepdims = node.attrs["axis"], node.attrs["keepdims"]
    if x.dtype != out.dtype or x.dtype.kind != "f":
        return None
    axes = normalized_axes(axis, x.ndim, "sum")
    if axes == (0,) and x.ndim == 2 and not keepdims and x.flags.c_contiguous:
        ones = _ones(x.shape[0], x.dtype)  # a product with ones: BLAS adds rows faster than np.add.reduce
        return [(partial(_dot, ones, x, out), "np.dot(np.ones(len({0})), {0}, out={out})")]
    text = f"np.add.reduce({{0}}, axis={axes}, out={{out}}, keepdims={keepdims})"
    return [(partial(np.add.reduce, x, axes, None, out, keepdims), text)]


def _mean(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    (x,) = operands
    total = _sum(node, operands, out)
    axes = normalized_axes(node.attrs["axis"], x.ndim, "mean")
    number = math.prod(x.shape[a] for a in axes)
    if total is None or not number or out.dtype.name == "float16":
        return None
    share = _constant(float(number), out.dtype)
    return [*total, (partial(np.true_divide, out, share, out), f"np.divide({{out}}, {number}, out={{out}})")]


def _unbroadcast(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
    g, like = operands
    extra = g.ndim - like.ndim
    axes = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(like.shape) if n == 1 and g.shape[i + extra] != 1
    )
    if not axes or g.dtype.kind != "f":
        return None
    if axes == (0,) and g.ndim == 2 and like.ndim == 1 and g.flags.c_contiguous:
        ones = _ones(g.shape[0], g.dtype)
        return [(partial(_dot, ones, g, out), "np.dot(np.ones(len({0})), {0}, out={out})")]
    flat = out.reshape(tuple(1 if i in axes else n for i, n in enumerate(g.shape)))
    return [(partial(np.add.reduce, g, axes, None, flat, True), f"{{out}}[...] = {{0}}.sum(axis={axes})")]


def _protected(name: str, ufunc: np.ufunc) -> Callable[[Node, Sequence[Any], np.ndarray], list[Bound] | None]:
    def lower(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound] | None:
        g, factor = operands
        if not isinstance(g, np.ndarray) or g.dtype != out.dtype or not out.flags.c_contiguous:
            return None
        factor = number_as_array(factor, g)
        if np.may_share_memory(g, out) or getattr(factor, "dtype", None) != out.dtype:
            return None
        flat = out.reshape(-1)

        def call() -> None:
            ufunc(g, factor, out)
            if not math.isfinite(_dot(flat, flat)):
                np.copyto(out, 0, where=g == 0)

        return [(call, f"np.{name}({{0}}, {{1}}, out={{out}}); {{out}}[{{0}} == 0] = 0")]

    return lower


LOWERING: dict[str, Callable[[Node, Sequence[Any], np.ndarray], list[Bound] | None]] = {
    "matmul": _matmul,
    "relu": _relu,
    "sigmoid": _sigmoid,
    "where": _where,
    "sum": _sum,
    "mean": _mean,
    "unbroadcast": _unbroadcast,
    "safe_mul": _protected("multiply", np.multiply),
    "safe_div": _protected("divide", np.true_divide),
}


def lowered(node: Node, operands: Sequence[Any], out: np.ndarray) -> list[Bound]:
    """The calls that compute ``node`` from ``operands`` into ``out``."""
    special = LOWERING.get(node.op.name)
    calls = special(node, operands, out) if special is not None else ufunc_call(node, operands, out)
    if calls is not None:
        return calls
    function, attrs = node.op.on_numpy, node.attrs
    arrays = tuple(operands)

    def call() -> None:
        out[...] = function(*arrays, **attrs)

    names = ", ".join([f"{{{i}}}" for i in range(len(arrays))] + [f"{k}={v!r}" for k, v in attrs.items()])
    return [(call, f"{{out}}[...] = tl.{node.op.name}({names})".replace("{{", "{").replace("}}", "}"))]
