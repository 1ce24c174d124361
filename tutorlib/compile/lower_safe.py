"""How products and quotients of cotangents become bound calls: with zero staying zero, at the price of plain ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tutorlib.compile.bound import Bound, Scratch, number_as_array, thin
from tutorlib.core.graph import Node


def _masked(ufunc: np.ufunc, g: np.ndarray, factor: Any, out: np.ndarray) -> None:
    zero = g == 0
    ufunc(g, factor, out)
    np.copyto(out, 0, where=zero)


def protected(name: str, ufunc: np.ufunc) -> Callable[..., list[Bound] | None]:
    """A product or quotient that is 0 where its first factor is, whatever the second.

    Only 0 · ∞ and 0 / 0 differ from the plain product, and they make NaN. So the plain product is tried, and where NaN
    reaches a result the call is run again with the strict form (see ``schedule``).
    """
    text = f"np.{name}({{0}}, {{1}}, out={{out}})"

    def lower(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
        g, factor = operands
        if not isinstance(g, np.ndarray) or g.dtype != out.dtype:
            return None
        if type(factor) is not np.ndarray:
            finite = type(factor) in (int, float) and math.isfinite(factor) and (name == "multiply" or factor != 0)
            factor = number_as_array(factor, g)
            if getattr(factor, "dtype", None) != out.dtype:
                return None
        else:
            finite = False
            if factor.dtype != out.dtype:
                return None
            if factor.base is not None:
                factor = thin(factor)
        if g.base is not None:
            g = thin(g)
        return [
            Bound(partial(ufunc, g, factor, out), text, None if finite else partial(_masked, ufunc, g, factor, out))
        ]

    return lower
