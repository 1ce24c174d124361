"""An oracle for ops that only move elements: where each went shows where its gradient must come from."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.oracle import backward, data, derivatives, symbols_for, values


def _weights(shape: tuple[int, ...], place: int) -> np.ndarray:
    return np.cos(1.7 * np.arange(np.prod(shape, dtype=int)) + 0.3 + place).reshape(shape)


def check_moves(fn: Callable[..., Any], like: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """Assert that ``fn`` moves (copies, drops, fills in zeros) as ``like`` does on NumPy arrays, and that the gradient
    goes back where each element came from, in both modes."""
    x = data(shape)
    # Elements are numbered from 1: a zero that was filled in comes from nowhere.
    numbers = np.arange(1, x.size + 1).reshape(shape)
    expected, origins = like(x), like(numbers)
    expected, origins = (r if isinstance(r, list | tuple) else [r] for r in (expected, origins))
    slope = np.zeros(x.size + 1)
    for place, origin in enumerate(origins):
        np.add.at(slope, origin, _weights(origin.shape, place))
    slope = slope[1:].reshape(shape)
    for mode in ("dynamic", "static"):
        for mine, other in zip(values(fn, x, mode=mode), expected, strict=True):
            assert mine.shape == other.shape
            np.testing.assert_array_equal(mine, other)
        np.testing.assert_allclose(derivatives(fn, x, mode=mode)[0][0], slope, atol=1e-13)
    np.testing.assert_allclose(backward(fn, x)[0], slope, atol=1e-13)
    for known in (False, True):
        symbols = fn(*symbols_for([x], known))
        for symbol, other in zip(symbols if isinstance(symbols, list | tuple) else [symbols], expected, strict=True):
            assert len(symbol.shape) == other.ndim
            assert all(dim in (None, real) for dim, real in zip(symbol.shape, other.shape, strict=True))
