"""How softmax, its logarithm, cross-entropy and scattering become bound calls: ops that go along rows of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

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


class Shares(NamedTuple):
    """What cross-entropy leaves for its gradient: e^(x − largest of its row), the sum of each row as a column, where
    in the flat matrix the elements of the labels are."""

    powers: np.ndarray
    totals: np.ndarray
    places: np.ndarray


# Of rows so short the largest elements are found faster in the transpose, a column at a time.
_SHORT_ROWS = 32


def _largest_of_rows(x: np.ndarray, to: np.ndarray) -> Callable[[], Any]:
    """A call that puts the largest element of each row of ``x`` into the column ``to``."""
    largest: Any = np.maximum.reduce
    if x.shape[1] > _SHORT_ROWS:
        return partial(largest, x, 1, None, to, True)
    turned, source, flat = np.empty(x.shape[::-1], x.dtype), x.T, to.reshape(-1)

    def call() -> None:
        COPYTO(turned, source)
        largest(turned, 0, None, flat)

    return call


def _check_of(labels: np.ndarray, classes: int) -> Callable[[], None]:
    unsigned = labels.view(np.uint64)  # a negative label is a very large one here

    def call() -> None:
        if unsigned.item(unsigned.argmax()) >= classes:
            raise IndexError("a label is no class")

    return call


def _labels_of_rows(labels: Any, x: Any, out: np.ndarray, axis: int) -> bool:
    """Whether ``labels`` are one class a row of a plain matrix, along whose rows softmax goes."""
    return (
        isinstance(labels, np.ndarray)
        and labels.ndim == 1
        and labels.dtype == np.int64
        and labels.flags.c_contiguous
        and _rows(x, out, axis)
    )


def lower_cross_entropy(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    x, labels = operands
    if not _labels_of_rows(labels, x, out, node.attrs["axis"]):
        return None
    rows, classes = x.shape
    low, spread, top, picked = np.empty_like(x), np.empty_like(x), np.empty((rows, 1), x.dtype), np.empty(rows, x.dtype)
    totals = np.empty((rows, 1), x.dtype)
    flat, total, logs, starts = low.reshape(-1), totals.reshape(-1), top.reshape(-1), np.arange(rows) * classes
    places, ones = np.empty_like(starts), ones_of(classes, x.dtype)
    check, find_largest = _check_of(labels, classes), _largest_of_rows(x, top)

    def call() -> None:
        check()
        find_largest()
        COPYTO(spread, top)
        np.subtract(x, spread, low)
        np.add(starts, labels, places)
        flat.take(places, None, picked, "clip")
        np.exp(low, low)
        DOT(low, ones, total)
        np.log(total, logs)
        np.subtract(logs, picked, out)

    return [Bound(call, "{out}[...] = {op}", kept=Shares(low, totals, places))]


def lower_cross_entropy_back(
    node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch
) -> list[Bound] | None:
    g, x, labels = operands
    same = isinstance(g, np.ndarray) and g.dtype == out.dtype and not np.may_share_memory(x, out)
    if not same or not out.flags.c_contiguous or not _labels_of_rows(labels, x, out, node.attrs["axis"]):
        return None
    rows, classes = x.shape
    top, totals, starts = np.empty((rows, 1), out.dtype), np.empty((rows, 1), out.dtype), np.arange(rows) * classes
    places, ones, total = np.empty_like(starts), ones_of(classes, out.dtype), totals.reshape(-1)
    check, find_largest = _check_of(labels, classes), _largest_of_rows(x, top)
    finish = _from_shares(g, Shares(out, totals, places), out)

    def call() -> None:
        check()
        find_largest()
        np.subtract(x, top, out)
        np.exp(out, out)
        DOT(out, ones, total)
        np.add(starts, labels, places)
        finish()

    return [Bound(call, "{out}[...] = {op}")]


def cross_entropy_back_after(operands: Sequence[Any], out: np.ndarray, shares: Shares) -> list[Bound] | None:
    """The gradient of cross-entropy from what cross-entropy of the same operands has left."""
    g = operands[0]
    if not isinstance(g, np.ndarray) or g.dtype != out.dtype or not out.flags.c_contiguous:
        return None
    return [Bound(_from_shares(g, shares, out), "{out}[...] = {op}")]


def _from_shares(g: np.ndarray, shares: Shares, out: np.ndarray) -> Callable[[], None]:
    """A call that makes g · (powers / totals − one-hot) into ``out``, which may be the powers' own array."""
    powers, totals, places = shares
    column, factor, spread = g.reshape(-1, 1), np.empty_like(totals), np.empty_like(powers)
    flat, share = out.reshape(-1), np.empty(len(g), out.dtype)

    def call() -> None:
        np.true_divide(column, totals, factor)
        COPYTO(spread, factor)
        np.multiply(powers, spread, out)
        flat.take(places, None, share, "clip")
        np.subtract(share, g, share)
        flat.put(places, share, "clip")

    return call


def lower_put_label(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound] | None:
    g, labels = operands[:2]
    plain = isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == np.int64 and labels.size
    if not plain or out.ndim != 2 or node.attrs["axis"] != 1 or not out.flags.c_contiguous:
        return None
    rows, classes = out.shape
    starts, flat = np.arange(rows) * classes, out.reshape(-1)
    places, check = np.empty_like(starts), _check_of(labels, classes)

    def call() -> None:
        check()
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
