"""How sums in place become bound calls: to BLAS where it takes the arrays as they lie, else to NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tutorlib.compile.blas import library
from tutorlib.compile.bound import DOT, Bound, Scratch, constant
from tutorlib.core.graph import Node, Op

# What a schedule puts in the place of two nodes: w + by · g, and w + by · A B.
AXPY = Op("axpy", lambda xp, y, x, by: y + by * x, doc="y + a · x, added in place.")
GEMM = Op("gemm", lambda xp, c, a, b, by: c + by * (a @ b), doc="c + a · A B, added in place.")


def lower_axpy(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound]:
    w, g = operands
    by, blas = node.attrs["by"], library()
    call = blas.axpy(by, g, out) if blas is not None and not np.may_share_memory(g, out) else None
    if call is not None:
        return [Bound(call, f"np.add({{0}}, {by!r} * {{1}}, out={{out}})")]
    tmp = scratch(out.shape, out.dtype)
    return [
        Bound(partial(np.multiply, g, constant(by, out.dtype), tmp), f"np.multiply({{1}}, {by!r}, out={{tmp}})"),
        Bound(partial(np.add, w, tmp, out), "np.add({0}, {tmp}, out={out})"),
    ]


def lower_gemm(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound]:
    w, left, right = operands
    by, blas = node.attrs["by"], library()
    apart = not any(np.may_share_memory(a, out) for a in (left, right))
    call = blas.gemm(by, left, right, out) if blas is not None and apart else None
    name = "add" if by > 0 else "subtract"
    if call is not None:
        return [Bound(call, f"np.{name}({{0}}, {{1}} @ {{2}}, out={{out}})")]
    tmp = scratch(out.shape, out.dtype)
    return [
        Bound(partial(DOT, left, right, tmp), "np.dot({1}, {2}, out={tmp})"),
        Bound(partial(getattr(np, name), w, tmp, out), f"np.{name}({{0}}, {{tmp}}, out={{out}})"),
    ]
