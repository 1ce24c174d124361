"""Softmax and its logarithm in one, as ops: what ``cross_entropy`` and ``nll`` are made of, on integer labels and on
probabilities. The functions that learners call are in ``losses``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.errors import DTypeError, OutOfBoundsError, ShapeError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.ops.define import register, result_dtype
from tutorlib.ops.elementwise import exp, neg, safe_mul
from tutorlib.ops.nn import log_softmax, shifted, softmax
from tutorlib.ops.shape import expand_dims
from tutorlib.ops.sums import row_sums

_maximum: Any = np.maximum.reduce
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}

# ---- labels ----


def _check_labels(xp: Any, labels: Any, classes: int, op: str) -> None:
    # A GPU must not wait for a look at its data; there a wrong label gives a wrong loss.
    if xp is not np or not labels.size or labels.dtype.kind not in "iu":
        return
    # Seen as numbers without sign, negative ones are the largest: one look for both ends.
    if _maximum(labels.view(_UNSIGNED[labels.itemsize]), None) >= classes:
        low, high = labels.min(), labels.max()
        raise OutOfBoundsError(
            f"label {low if low < 0 else high} is not one of the {classes} classes 0 … {classes - 1}",
            op=op,
            fix="number the classes from 0; leave examples out with ignore_index",
        )


def _labels_infer(x: AVal, labels: AVal, axis: int, op: str) -> tuple[int | None, ...]:
    if labels.dtype.kind not in "iu":
        raise DTypeError(f"labels are whole numbers, not {labels.dtype}", op=op, fix='cast them: y.astype("int64")')
    rest = tuple(d for i, d in enumerate(x.shape) if i != axis)
    wrong = next(
        (i for i, (a, b) in enumerate(zip(rest, labels.shape, strict=False)) if None not in (a, b) and a != b), None
    )
    if len(rest) != labels.ndim or wrong is not None:
        raise ShapeError(
            f"one label an example: labels have the shape of the scores without the class axis {axis}",
            op=op,
            shapes=[x.shape, labels.shape],
            wrong_dims=[None, wrong],
            fix="give labels as whole numbers; one-hot rows or probabilities must be floating-point",
        )
    return tuple(a if a is not None else b for a, b in zip(rest, labels.shape, strict=True))


def _pick_forward(xp: Any, x: Any, labels: Any, axis: int) -> Any:
    _check_labels(xp, labels, x.shape[axis], "pick_label")
    return xp.take_along_axis(x, xp.expand_dims(labels, axis), axis=axis).squeeze(axis)


def _put_forward(xp: Any, g: Any, labels: Any, like: Any, axis: int) -> Any:
    labels, g = xp.expand_dims(labels, axis), xp.expand_dims(g, axis)
    if xp is np:
        result = np.zeros(like.shape, g.dtype)
        np.put_along_axis(result, labels, g, axis=axis)
        return result
    places = xp.arange(like.shape[axis]).reshape((-1,) + (1,) * (like.ndim - 1 - axis))
    return xp.where(places == labels, g, xp.zeros((), g.dtype))


pick_label: Op = register(
    Op(
        "pick_label",
        _pick_forward,
        lambda x, labels, axis: AVal(_labels_infer(x, labels, axis, "pick_label"), x.dtype),
        (lambda g, out, x, labels, axis: _put(g, labels, x, axis=axis), None),
        flags={"linear"},
        doc="The element of x at each label.",
    )
)
_put: Op = register(
    Op(
        "put_label",
        _put_forward,
        lambda g, labels, like, axis: AVal(like.shape, g.dtype),
        (lambda gg, out, g, labels, like, axis: pick_label(gg, labels, axis=axis), None, None),
        flags={"linear"},
        doc="g at each label, 0 elsewhere.",
    )
)


def _cross_entropy_forward(xp: Any, x: Any, labels: Any, axis: int) -> Any:
    if xp is np and type(x) is np.ndarray and axis == x.ndim - 1 and x.size and x.dtype.kind == "f":
        return _cross_entropy_keeping(x, labels, axis)[0]
    _check_labels(xp, labels, x.shape[axis], "cross_entropy")
    low = shifted(xp, x, axis)
    total = xp.log(xp.sum(xp.exp(low), axis=axis))
    return total - xp.take_along_axis(low, xp.expand_dims(labels, axis), axis=axis).squeeze(axis)


def _cross_entropy_keeping(x: Any, labels: Any, axis: int) -> tuple[Any, Any]:
    """The losses, and what the way back can use: exp(x) less a factor a row, its sums, the place of each label.

    For NumPy arrays with the classes along the last axis; nothing is kept for others.
    """
    if axis != x.ndim - 1 or not x.size or x.dtype.kind != "f":
        return _cross_entropy_forward(np, x, labels, axis), None
    classes = x.shape[axis]
    _check_labels(np, labels, classes, "cross_entropy")
    if labels.shape != x.shape[:-1] or labels.dtype.kind not in "iu":
        raise ValueError("a label, as a whole number, for each example is needed")
    rows = x.reshape(-1, classes)
    # Of a wide array NumPy finds the largest of each column sooner than that of each row of a narrow one.
    largest = _maximum(rows.T.copy() if classes < len(rows) else rows.T, 0)
    e = rows - largest[:, None]
    places = np.add(np.arange(0, e.size, classes), labels.reshape(-1), dtype=np.intp, casting="unsafe")
    picked = e.reshape(-1).take(places)
    np.exp(e, e)
    total = row_sums(e)
    loss = np.log(total)
    loss -= picked
    return loss.reshape(labels.shape), (e, total, places)


def _cross_entropy_kept(g: Any, node: Any) -> Any:
    """The gradient for the scores from what was kept."""
    if node.kept is None:
        return _cross_entropy_back_forward(np, g, *node.arrays, **node.attrs)
    e, total, places = node.kept
    g = g.reshape(-1)
    d = e * (g / total)[:, None]
    d.reshape(-1)[places] -= g
    return d.reshape(node.left_array.shape)


cross_entropy: Op = register(
    Op(
        "cross_entropy",
        _cross_entropy_forward,
        lambda x, labels, axis: AVal(
            _labels_infer(x, labels, axis, "cross_entropy"), result_dtype(exp, [AVal((), x.dtype)])
        ),
        (lambda g, out, x, labels, axis: _cross_entropy_back(g, x, labels, axis=axis), None),
        doc="log Σ exp(x) − x[label].",
    )
)
cross_entropy.keeping = _cross_entropy_keeping
cross_entropy.on_arrays = (_cross_entropy_kept, None)


def _cross_entropy_back_forward(xp: Any, g: Any, x: Any, labels: Any, axis: int) -> Any:
    _check_labels(xp, labels, x.shape[axis], "cross_entropy_back")
    e = xp.exp(shifted(xp, x, axis))
    e /= xp.sum(e, axis=axis, keepdims=True)
    if xp is np and axis == x.ndim - 1:
        rows = e.reshape(labels.size, x.shape[axis])  # a view: e is new
        rows[np.arange(labels.size), labels.reshape(-1)] -= 1
    else:
        e -= _put_forward(xp, xp.ones_like(g, dtype=e.dtype), labels, x, axis)
    e *= xp.expand_dims(g, axis)
    return e


def _to_scores(u: Any, out: Any, g: Any, x: Any, labels: Any, axis: int) -> Any:
    s, w = softmax(x, axis), u * expand_dims(g, axis)
    return s * (w - OPS.sum(w * s, axis, True))


_cross_entropy_back: Op = register(
    Op(
        "cross_entropy_back",
        _cross_entropy_back_forward,
        lambda g, x, labels, axis: AVal(x.shape, result_dtype(exp, [AVal((), x.dtype)])),
        (
            lambda u, out, g, x, labels, axis: OPS.sum(u * softmax(x, axis), axis) - pick_label(u, labels, axis=axis),
            _to_scores,
            None,
        ),
        doc="g · (softmax(x) − one-hot(label)).",
    )
)


def _soft_cross_entropy_forward(xp: Any, x: Any, t: Any, axis: int) -> Any:
    low = shifted(xp, x, axis)
    low = low - xp.log(xp.sum(xp.exp(low), axis=axis, keepdims=True))
    # A class of probability 0 costs nothing, even at a score of −inf.
    return -xp.sum(safe_mul.on(xp)(t, low), axis=axis)


def _soft_cross_entropy_infer(x: AVal, t: AVal, axis: int) -> AVal:
    dims = (a if a is not None else b for a, b in zip(x.shape, t.shape, strict=True))
    dtype = result_dtype(safe_mul, [AVal((), t.dtype), AVal((), result_dtype(exp, [AVal((), x.dtype)]))])
    return AVal(tuple(d for i, d in enumerate(dims) if i != axis), dtype)


soft_cross_entropy: Op = register(
    Op(
        "soft_cross_entropy",
        _soft_cross_entropy_forward,
        _soft_cross_entropy_infer,
        (
            lambda g, out, x, t, axis: expand_dims(g, axis) * (softmax(x, axis) * OPS.sum(t, axis, True) - t),
            lambda g, out, x, t, axis: safe_mul(expand_dims(neg(g), axis), log_softmax(x, axis)),
        ),
        doc="−Σ t · log softmax(x).",
    )
)
