"""What tests of ops share: run one expression in every mode, and compare it with JAX or with finite differences.

An expression is a function of arrays that uses ``tl`` (``like``: the same written with ``jax.numpy``). Integer and
boolean arrays are passed along without a gradient. A non-scalar result is made a cost by fixed weights, so that a
mistake in one element cannot cancel against another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tutorlib as tl

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# A program runs once: compiling it fast matters, not running it fast.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

# How `tl.function` is called in each static mode: with rewrites, and without.
STATIC_MODES: dict[str, dict[str, Any]] = {"static": {}, "static, as written": {"mode": "plain"}}
MODES = ("dynamic", *STATIC_MODES)

quick = settings(max_examples=25, deadline=None, derandomize=True)
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
nonempty_shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=3)

Fn = Callable[..., Any]


@st.composite
def shapes_and_axes(draw: Any, sizes: Any = shapes) -> tuple[tuple[int, ...], Any]:
    """A shape, and an ``axis`` for it: None, an int (maybe negative) or a tuple of distinct ones."""
    shape = draw(sizes)
    n = len(shape)
    if n == 0:
        return shape, draw(st.sampled_from([None, ()]))
    one = st.integers(-n, n - 1)
    some = st.lists(st.integers(0, n - 1), unique=True, max_size=n).map(tuple)
    return shape, draw(st.one_of(st.none(), one, some))


def data(shape: Sequence[int], dtype: Any = "float64", low: float = -2.0, high: float = 2.0, seed: int = 0) -> Any:
    """Uniform random numbers from low … high: reproducible, away from ties."""
    values = np.random.default_rng(seed).uniform(low, high, tuple(shape))
    return np.asarray(values > (low + high) / 2 if np.dtype(dtype).kind == "b" else values).astype(dtype)


def _list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def _weights(shape: tuple[int, ...], place: int) -> np.ndarray:
    return np.cos(1.7 * np.arange(np.prod(shape, dtype=int)) + 0.3 + place).reshape(shape)


def _cost(results: Any, total: Fn) -> Any:
    """The weighted sum of all floating-point results."""
    parts = []
    for place, result in enumerate(_list(results)):
        if result.dtype.kind == "f":
            parts.append((result, place))
    cost: Any = None
    for result, place in parts:
        term = total(result, place)
        cost = term if cost is None else cost + term
    return cost


def _tl_total(result_shapes: list[tuple[int, ...]]) -> Fn:
    return lambda r, place: tl.sum(r * _weights(result_shapes[place], place).astype(r.dtype))


def _is_float(array: Any) -> bool:
    return array.dtype.kind == "f"


def symbols_for(arrays: Sequence[Any], known: bool = False) -> list[Any]:
    """An input symbol for each array: of its rank and dtype, with unknown dims unless ``known``."""
    return [
        tl.symbol(f"x{i}", shape=a.shape if known else (None,) * a.ndim, dtype=a.dtype) for i, a in enumerate(arrays)
    ]


def values(fn: Fn, *arrays: Any, mode: str = "dynamic") -> list[np.ndarray]:
    """The results of ``fn`` in a mode, as NumPy arrays."""
    arrays = tuple(map(np.asarray, arrays))
    if mode == "dynamic":
        return [_array(r) for r in _list(fn(*map(tl.tensor, arrays)))]
    symbols = symbols_for(arrays)
    call = tl.function(symbols, _list(fn(*symbols)), on_unused_input="ignore", **STATIC_MODES[mode])
    return call(*arrays)


def value(fn: Fn, *arrays: Any, mode: str = "dynamic") -> np.ndarray:
    """The single result of ``fn`` in a mode."""
    (result,) = values(fn, *arrays, mode=mode)
    return result


def _array(result: Any) -> np.ndarray:
    return np.asarray(result.numpy() if isinstance(result, tl.Tensor) else result)


def derivatives(fn: Fn, *arrays: Any, mode: str = "dynamic", order: int = 1) -> list[list[np.ndarray]]:
    """For each order from 1: the gradients, with respect to every float array, of the weighted sum of what is one
    order below. ``derivatives(…)[0][1]`` is the first-order gradient of the second float array.
    """
    arrays = tuple(map(np.asarray, arrays))
    if mode == "dynamic":
        inputs: list[Any] = [tl.tensor(a, requires_grad=_is_float(a)) for a in arrays]
    else:
        inputs = symbols_for(arrays)
    wrt = [v for v in inputs if v.dtype.kind == "f"]
    found = []
    result = fn(*inputs)
    result_shapes = [r.shape for r in values(fn, *arrays)]
    for _ in range(order):
        cost = _cost(result, _tl_total(result_shapes))
        result = tl.grad(cost, wrt, disconnected="zero")
        result_shapes = [a.shape for a in arrays if _is_float(a)]
        found.append(result)
    if mode == "dynamic":
        return [[_array(g) for g in level] for level in found]
    flat = tl.function(inputs, [g for level in found for g in level], on_unused_input="ignore", **STATIC_MODES[mode])(
        *arrays
    )
    return [flat[i * len(wrt) : (i + 1) * len(wrt)] for i in range(order)]


def gradient(fn: Fn, *arrays: Any, mode: str = "dynamic", order: int = 1) -> np.ndarray:
    """The derivative of the given order of ``fn`` with respect to its only float array (see ``derivatives``)."""
    (result,) = derivatives(fn, *arrays, mode=mode, order=order)[order - 1]
    return result


def slopes(fn: Fn, *arrays: Any, mode: str = "dynamic", order: int = 1) -> list[np.ndarray]:
    """The gradients of the plain sum of ``fn`` with respect to each float array; of higher order, of their sum."""
    arrays = tuple(map(np.asarray, arrays))
    if mode == "dynamic":
        inputs: list[Any] = [tl.tensor(a, requires_grad=_is_float(a)) for a in arrays]
    else:
        inputs = symbols_for(arrays)
    wrt = [v for v in inputs if v.dtype.kind == "f"]
    result = _list(fn(*inputs))
    for _ in range(order):
        total: Any = None
        for r in result:
            total = tl.sum(r) if total is None else total + tl.sum(r)
        result = tl.grad(total, wrt, disconnected="zero")
    if mode == "dynamic":
        return [_array(g) for g in result]
    return tl.function(inputs, result, on_unused_input="ignore", **STATIC_MODES[mode])(*arrays)


def backward(fn: Fn, *arrays: Any) -> list[np.ndarray]:
    """What ``Tensor.backward`` leaves in ``.grad`` of every float array: the walk on plain arrays."""
    arrays = tuple(map(np.asarray, arrays))
    inputs = [tl.tensor(a, requires_grad=_is_float(a)) for a in arrays]
    result = fn(*inputs)
    cost = _cost(result, _tl_total([r.shape for r in _list(result)]))
    if cost.requires_grad:
        cost.backward()
    floats = [v for v in inputs if v.dtype.kind == "f"]
    return [np.zeros(v.shape, v.dtype) if v.grad is None else v.grad.numpy() for v in floats]


def differences(fn: Fn, *arrays: Any, eps: float = 1e-6) -> list[np.ndarray]:
    """The gradients of the weighted sum of ``fn`` by central differences."""
    arrays = tuple(np.array(a) for a in arrays)

    def cost() -> float:
        return float(_cost(values(fn, *arrays), lambda r, place: (r * _weights(r.shape, place)).sum()))

    found = []
    for array in arrays:
        if not _is_float(array):
            continue
        slope = np.zeros(array.shape)
        for i in np.ndindex(array.shape):
            before = array[i]
            array[i] = before + eps
            above = cost()
            array[i] = before - eps
            slope[i] = (above - cost()) / (2 * eps)
            array[i] = before
        found.append(slope)
    return found


def _jax_run(function: Fn, arrays: Sequence[Any]) -> Any:
    """``function`` of the arrays as one compiled program, ten times faster than op by op; else op by op."""
    arrays = tuple(map(jnp.asarray, arrays))
    try:
        return jax.jit(function)(*arrays)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError):  # it looks at values: a mask as an index, say
        return function(*arrays)


def jax_values(like: Fn, *arrays: Any) -> list[np.ndarray]:
    """The results of ``like``, computed by JAX."""
    return [np.asarray(r) for r in _list(_jax_run(like, arrays))]


def jax_derivatives(like: Fn, *arrays: Any, order: int = 1) -> list[list[np.ndarray]]:
    """``derivatives``, computed by JAX."""
    return _jax_all(like, arrays, order)[1:]


def _jax_all(like: Fn, arrays: Sequence[Any], order: int) -> list[list[np.ndarray]]:
    """The values of ``like`` and its derivatives of each order, computed by JAX in one program."""
    places = tuple(i for i, a in enumerate(map(np.asarray, arrays)) if _is_float(a))

    def lifted(function: Fn) -> Fn:
        def cost(*xs: Any) -> Any:
            return _cost(function(*xs), lambda r, place: (r * _weights(r.shape, place).astype(r.dtype)).sum())

        return jax.grad(cost, argnums=places)

    levels = [like]
    for _ in range(order):
        levels.append(lifted(levels[-1]))
    found = _jax_run(lambda *xs: [_list(level(*xs)) for level in levels], arrays)
    return [[np.asarray(r) for r in level] for level in found]


def check(
    fn: Fn,
    *arrays: Any,
    like: Fn | None = None,
    order: int = 2,
    rtol: float = 1e-9,
    atol: float = 1e-10,
    float32: bool = True,
) -> None:
    """Assert everything an op promises, at ``arrays`` (a point without kinks).

    Values and derivatives up to ``order`` equal those of ``like`` in JAX (without it: the first order equals central
    differences, the second the central differences of the first); every mode and ``backward`` agree; a gradient has
    its input's shape and dtype; what static mode infers is what comes out; float32 stays float32 (``float32``).
    """
    arrays = tuple(map(np.asarray, arrays))
    got = values(fn, *arrays)
    floats = [a for a in arrays if _is_float(a)]
    differentiable = bool(order and floats and any(map(_is_float, got)))
    expected = _jax_all(like, arrays, order if differentiable else 0) if like is not None else None
    if expected is not None:
        _agree(got, expected[0], rtol, atol)
    _check_inferred(fn, arrays, got)
    for mode in STATIC_MODES:
        for mine, other in zip(values(fn, *arrays, mode=mode), got, strict=True):
            assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
            np.testing.assert_allclose(mine, other, 1e-12, 1e-13)
    if differentiable:
        _check_derivatives(fn, arrays, expected, order, rtol, atol)
    if float32 and any(a.dtype == np.float64 for a in floats):
        _check_float32(fn, arrays, got, order)


def _check_inferred(fn: Fn, arrays: tuple[Any, ...], got: list[np.ndarray]) -> None:
    for known in (False, True):
        for symbol, result in zip(_list(fn(*symbols_for(arrays, known))), got, strict=True):
            assert symbol.dtype == result.dtype
            assert symbol.ndim == result.ndim
            for dim, real in zip(symbol.shape, result.shape, strict=True):
                assert dim is None or dim == real


def _check_derivatives(
    fn: Fn, arrays: tuple[Any, ...], expected: list[Any] | None, order: int, rtol: float, atol: float
) -> None:
    mine = derivatives(fn, *arrays, order=order)
    floats = [a for a in arrays if _is_float(a)]
    for level in mine:
        for slope, array in zip(level, floats, strict=True):
            assert (slope.shape, slope.dtype) == (array.shape, array.dtype)
    _agree(backward(fn, *arrays), mine[0], 1e-12, 1e-13)
    for mode in STATIC_MODES:
        for level, other in zip(derivatives(fn, *arrays, mode=mode, order=order), mine, strict=True):
            _agree(level, other, 1e-10, 1e-12)
    if expected is not None:
        for level, other in zip(mine, expected[1:], strict=True):
            _agree(level, other, rtol, atol)
        return
    _agree(mine[0], differences(fn, *arrays), 1e-5, 1e-6)
    if order > 1:

        def first(*xs: Any) -> Any:
            if not isinstance(xs[0], tl.Tensor):
                return derivatives(fn, *xs)[0]
            return [tl.tensor(g) for g in derivatives(fn, *[x.numpy() for x in xs])[0]]

        _agree(mine[1], differences(first, *arrays), 1e-5, 1e-6)


def _agree(mine: list[np.ndarray], other: list[np.ndarray], rtol: float, atol: float) -> None:
    for a, b in zip(mine, other, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol, atol)


def _check_float32(fn: Fn, arrays: tuple[Any, ...], got: list[np.ndarray], order: int) -> None:
    narrow = tuple(a.astype(np.float32) if a.dtype == np.float64 else a for a in arrays)
    for mode in MODES:
        for result, wide in zip(values(fn, *narrow, mode=mode), got, strict=True):
            assert result.dtype == (np.float32 if wide.dtype == np.float64 else wide.dtype), mode
            np.testing.assert_allclose(result, wide, 1e-3, 1e-4)
        if order and any(map(_is_float, got)):
            for slope in derivatives(fn, *narrow, mode=mode)[0]:
                assert slope.dtype == np.float32, mode
    if order and any(map(_is_float, got)):
        assert all(slope.dtype == np.float32 for slope in backward(fn, *narrow))
