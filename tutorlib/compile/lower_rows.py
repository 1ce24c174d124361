"""How softmax, its logarithm, cross-entropy and scattering become bound calls: ops that go along rows of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tutorlib.compile.bound import COPYTO, DOT, SHORT, Bound, Scratch, ones_of
from tutorlib.core.graph import Node


def lower_softmax(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if not _rows(x, out, node.attrs["axis"]):
        return None
    m = scratch((x.shape[0], 1), out.dtype)
    ones = ones_of(x.shape[1], out.dtype)
    return [
        Bound(partial(np.maximum.reduce, x, 1, None, m, True), "np.maximum.reduce({0}, 1, None, {tmp}, True)"),
        Bound(partial(np.subtract, x, m, out), "np.subtract({0}, {tmp}, out={out})"),
        Bound(partial(np.exp, out, out), "np.exp({out}, out={out})"),
        Bound(partial(DOT, out, ones, m.reshape(-1)), "np.dot({out}, np.ones_like({out}[0]), out={tmp}.reshape(-1))"),
        Bound(partial(np.true_divide, out, m, out), "np.divide({out}, {tmp}, out={out})"),
    ]


def lower_log_softmax(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    (x,) = operands
    if not _rows(x, out, node.attrs["axis"]) or np.may_share_memory(x, out):
        return None
    rows = x.shape[0]
    tmp = scratch((x.size + rows,), out.dtype)
    e, m = tmp[:-rows].reshape(x.shape), tmp[-rows:].reshape(rows, 1)
    ones = ones_of(x.shape[1], out.dtype)
    cut = f"{{tmp}}[:-{rows}].reshape({x.shape})"
    col = f"{{tmp}}[-{rows}:].reshape({rows}, 1)"
    return [
        Bound(partial(np.maximum.reduce, x, 1, None, m, True), f"np.maximum.reduce({{0}}, 1, None, {col}, True)"),
        Bound(partial(np.subtract, x, m, out), f"np.subtract({{0}}, {col}, out={{out}})"),
        Bound(partial(np.exp, out, e), f"np.exp({{out}}, out={cut})"),
        Bound(partial(DOT, e, ones, m.reshape(-1)), f"np.dot({cut}, np.ones_like({{out}}[0]), out={{tmp}}[-{rows}:])"),
        Bound(partial(np.log, m, m), f"np.log({col}, out={col})"),
        Bound(partial(np.subtract, out, m, out), f"np.subtract({{out}}, {col}, out={{out}})"),
    ]


def lower_cross_entropy(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    x, labels = operands
    plain = isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == np.int64
    if not plain or not _rows(x, out, node.attrs["axis"]):
        return None
    rows, classes = x.shape
    low, top, picked = np.empty_like(x), np.empty((rows, 1), x.dtype), np.empty(rows, x.dtype)
    flat, total, starts = low.reshape(-1), top.reshape(-1), np.arange(rows) * classes
    places, ones, unsigned = np.empty_like(starts), ones_of(classes, x.dtype), labels.view(np.uint64)
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
        DOT(low, ones, total)
        np.log(total, total)
        lead(total, picked, out)

    return [Bound(call, "{out}[...] = {op}")]


def lower_cross_entropy_back(
    node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch
) -> list[Bound] | None:
    g, x, labels = operands
    plain = isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == np.int64
    same = isinstance(g, np.ndarray) and g.dtype == out.dtype and not np.may_share_memory(x, out)
    if not plain or not same or not out.flags.c_contiguous or not _rows(x, out, node.attrs["axis"]):
        return None
    rows, classes = x.shape
    flat, starts, ones, column = (
        out.reshape(-1),
        np.arange(rows) * classes,
        ones_of(classes, out.dtype),
        g.reshape(-1, 1),
    )
    places, most = np.empty_like(starts), np.empty((rows, 1), out.dtype)
    total, share = most.reshape(-1), np.empty(rows, out.dtype)
    unsigned = labels.view(np.uint64)
    largest: Any = np.maximum.reduce

    def call() -> None:
        if largest(unsigned) >= classes:
            raise IndexError("a label is no class")
        largest(x, 1, None, most, True)
        np.subtract(x, most, out)
        np.exp(out, out)
        DOT(out, ones, total)
        np.true_divide(column, most, most)
        np.multiply(out, most, out)
        np.add(starts, labels, places)
        flat.take(places, None, share, "clip")
        np.subtract(share, g, share)
        flat.put(places, share, "clip")

    return [Bound(call, "{out}[...] = {op}")]


def lower_put_label(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    g, labels = operands[:2]
    plain = isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == np.int64 and labels.size
    if not plain or out.ndim != 2 or node.attrs["axis"] != 1 or not out.flags.c_contiguous:
        return None
    rows, classes = out.shape
    starts, flat, unsigned = np.arange(rows) * classes, out.reshape(-1), labels.view(np.uint64)
    places = np.empty_like(starts)
    largest: Any = np.maximum.reduce

    def call() -> None:
        if largest(unsigned) >= classes:
            raise IndexError("a label is no class")
        np.add(starts, labels, places)
        flat.fill(0)
        flat[places] = g

    return [Bound(call, "{out}[...] = {op}")]


def lower_scatter(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    if len(operands) != 2 or not isinstance(operands[0], np.ndarray):
        return None
    index = node.attrs["index"]
    place = out[index]
    if not isinstance(place, np.ndarray) or place.shape != operands[0].shape or not np.may_share_memory(place, out):
        return None
    return [
        Bound(partial(out.fill, 0), "{out}.fill(0)"),
        Bound(partial(COPYTO, place, operands[0]), f"{{out}}[{index!r}] = {{0}}".replace("{{", "{").replace("}}", "}")),
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
        and 1 < x.shape[1] <= SHORT
        and x.shape[0] > 0
    )
