"""As many rows as something else has: what a scan that stops early needs for its gradient."""

from __future__ import annotations

from typing import Any

from tutorlib.core.aval import AVal
from tutorlib.core.graph import Op
from tutorlib.ops.define import register

Array = Any


def _unhead_forward(xp: Any, g: Array, x: Array) -> Array:
    result = xp.zeros(x.shape, g.dtype)
    result[: len(g)] = g
    return result


head: Op = register(
    Op(
        "head",
        lambda xp, x, like: x[: len(like)],
        lambda x, like: AVal((like.shape[0], *x.shape[1:]), x.dtype),
        (lambda g, out, x, like: unhead(g, x), None),
        flags={"linear"},
        doc="The first rows of x, as many as like has.",
    )
)
unhead: Op = register(
    Op(
        "unhead",
        _unhead_forward,
        lambda g, x: AVal(x.shape, g.dtype),
        (lambda gg, out, g, x: head(gg, g), None),
        flags={"linear"},
        doc="g as the first rows of zeros in the shape of x.",
    )
)
