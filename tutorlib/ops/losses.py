"""Losses: how far predictions are from targets, as one number or one an example.

``cross_entropy`` is one op, on integer labels and on probabilities: softmax and logarithm in one, with the gradient
softmax − target. The rest is ordinary arithmetic, written so that nothing overflows or cancels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.errors import ShapeError, TutorlibError
from tutorlib.core.graph import Op, aval_of
from tutorlib.core.operators import OPS
from tutorlib.core.quick import of_several
from tutorlib.ops.convert import cast
from tutorlib.ops.cross_entropy import cross_entropy as entropy_of_labels
from tutorlib.ops.cross_entropy import pick_label, soft_cross_entropy
from tutorlib.ops.define import elementwise, normalized_axes, public
from tutorlib.ops.elementwise import abs, log, log1p, neg, safe_mul, square, where
from tutorlib.ops.index import take
from tutorlib.ops.logic import eq, le, ne
from tutorlib.ops.shape import expand_dims
from tutorlib.ops.special import sigmoid

# ---- reductions ----


def _reduced(loss: Any, reduction: str, op: str, weight: Any = None) -> Any:
    if reduction == "none":
        return loss
    if reduction == "sum":
        return OPS.sum(loss)
    if reduction != "mean":
        raise TutorlibError(f'reduction={reduction!r} is none of "mean", "sum", "none"', op=op, fix='use "mean"')
    if weight is None:
        return OPS.mean(loss)
    total = OPS.sum(weight)
    # Where nothing counts the sum of losses is 0 already; dividing it by 1 keeps its gradient finite.
    return OPS.sum(loss) / where(eq(total, 0), 1.0, total)


def _value(x: Any) -> Any:
    return np.asarray(x) if type(x) in (list, tuple) else x


def _pair(prediction: Any, target: Any, op: str) -> tuple[Any, Any]:
    """Both as values; raises ShapeError unless their shapes are alike (a scalar fits any)."""
    prediction, target = _value(prediction), _value(target)
    one, other = aval_of(prediction).shape, aval_of(target).shape
    wrong = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if None not in (a, b) and a != b), None)
    if one and other and (len(one) != len(other) or wrong is not None):
        raise ShapeError(
            "predictions and targets have different shapes: broadcasting would compare each with many",
            op=op,
            shapes=[one, other],
            wrong_dims=[wrong, wrong],
            fix="reshape one of them, for example prediction[:, 0] or target[:, None]",
        )
    return prediction, target


# ---- classification ----


@public
def cross_entropy(
    logits: Any, target: Any, reduction: str = "mean", *, axis: int = -1, weight: Any = None, ignore_index: Any = None
) -> Any:
    """Minus the log-probability that the scores give to the target class: softmax and its logarithm included.

    Args:
        logits: scores of any size, the classes along ``axis``.
        target: integer labels (the shape of logits without ``axis``), or floating-point probabilities (its shape).
        reduction: "mean" (over examples; weighted if ``weight`` is given), "sum" or "none" (one loss an example).
        axis: the class axis: -1; 1 for (batch, classes, height, width).
        weight: how much each class counts, (classes,).
        ignore_index: examples with this label have loss 0 and do not count.

    Exact for scores of any size; the mean over no example at all (all ignored) is 0. Raises ShapeError, DTypeError,
    OutOfBoundsError for a label that is no class.

    >>> import tutorlib as tl
    >>> tl.cross_entropy(tl.tensor([[0.0, 0.0], [1000.0, 0.0]]), [1, 0], reduction="none").numpy().round(4)
    array([0.6931, 0.    ])
    """
    logits, target = _value(logits), _value(target)
    (axis,) = normalized_axes(axis, logits.ndim, "cross_entropy")
    if (target.dtype if hasattr(target, "dtype") else aval_of(target).dtype).kind == "f":
        return _with_probabilities(logits, target, reduction, axis, weight)
    counted = None
    if ignore_index is not None:
        counted = ne(target, ignore_index)
        target = where(counted, target, 0)
    loss = of_several(entropy_of_labels, (logits, target), {"axis": axis})
    if reduction == "mean" and weight is None and counted is None:
        return OPS.mean(loss)
    return _weighed(loss, target, counted, weight, reduction, "cross_entropy")


def _weighed(loss: Any, labels: Any, counted: Any, weight: Any, reduction: str, op: str) -> Any:
    """The loss of each example, times its class's weight, zero where it is not counted; then reduced."""
    each = None if weight is None else take(_value(weight), labels)
    if counted is not None:
        each = cast(counted, loss.dtype) if each is None else where(counted, each, 0.0)
    return _reduced(loss if each is None else safe_mul(each, loss), reduction, op, each)


def _with_probabilities(logits: Any, target: Any, reduction: str, axis: int, weight: Any) -> Any:
    logits, target = _pair(logits, target, "cross_entropy")
    if weight is not None:
        target = target * expand_dims(_value(weight), tuple(range(1, logits.ndim - axis)))
    return _reduced(soft_cross_entropy(logits, target, axis=axis), reduction, "cross_entropy")


@public
def nll(
    log_probabilities: Any,
    target: Any,
    reduction: str = "mean",
    *,
    axis: int = -1,
    weight: Any = None,
    ignore_index: Any = None,
) -> Any:
    """Minus the log-probability of each label. ``cross_entropy`` is this after ``log_softmax``; arguments as there.

    >>> import tutorlib as tl
    >>> tl.nll(tl.tensor([[-1.0, -2.0]]), [1]).item()
    2.0
    """
    scores, target = _value(log_probabilities), _value(target)
    (axis,) = normalized_axes(axis, scores.ndim, "nll")
    counted = None
    if ignore_index is not None:
        counted = ne(target, ignore_index)
        target = where(counted, target, 0)
    return _weighed(neg(pick_label(scores, target, axis=axis)), target, counted, weight, reduction, "nll")


def _bce_forward(xp: Any, x: Any, t: Any) -> Any:
    # Of the first two terms one is exactly 0 when the answer is right, so nothing cancels.
    multiply = safe_mul.on(xp)
    wrong = multiply(1 - t, xp.maximum(x, 0)) + multiply(t, xp.maximum(-x, 0))
    return wrong + xp.log1p(xp.exp(-xp.abs(x)))


_bce_with_logits: Op = elementwise(
    "sigmoid_cross_entropy",
    (lambda g, out, x, t: g * (sigmoid(x) - t), lambda g, out, x, t: neg(safe_mul(g, x))),
    forward=_bce_forward,
    c="(({1} == 1 ? 0 : (1 - {1}) * fmax({0}, 0)) + ({1} == 0 ? 0 : {1} * fmax(-{0}, 0)) + log1p(exp(-fabs({0}))))",
    doc="−t log σ(x) − (1 − t) log(1 − σ(x)), elementwise.",
)


@public
def bce_with_logits(logits: Any, target: Any, reduction: str = "mean") -> Any:
    """Binary cross-entropy of sigmoid(logits): each score against a target in 0 … 1, exact for scores of any size.

    >>> import tutorlib as tl
    >>> tl.bce_with_logits(tl.tensor([0.0, 1000.0]), tl.tensor([1.0, 1.0]), reduction="none").numpy().round(4)
    array([0.6931, 0.    ])
    """
    logits, target = _pair(logits, target, "bce_with_logits")
    if aval_of(target).dtype.kind in "biu" and not aval_of(target).weak:
        target = cast(target, aval_of(logits).dtype)
    return _reduced(_bce_with_logits(logits, target), reduction, "bce_with_logits")


@public
def binary_cross_entropy(probabilities: Any, target: Any, reduction: str = "mean") -> Any:
    """Binary cross-entropy of probabilities in 0 … 1. From scores use ``bce_with_logits``, which loses no digits.

    A probability of exactly 0 or 1 costs nothing where it is right and infinity where it is wrong.

    >>> import tutorlib as tl
    >>> tl.binary_cross_entropy(tl.tensor([1.0]), tl.tensor([1.0])).item()
    0.0
    """
    p, target = _pair(probabilities, target, "binary_cross_entropy")
    if aval_of(target).dtype.kind in "biu" and not aval_of(target).weak:
        target = cast(target, aval_of(p).dtype)
    loss = neg(safe_mul(target, log(p)) + safe_mul(1 - target, log1p(neg(p))))
    return _reduced(loss, reduction, "binary_cross_entropy")


# ---- regression ----


@public
def mse(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    """The mean squared error. Shapes must be alike (a scalar target fits any).

    >>> import tutorlib as tl
    >>> tl.mse(tl.tensor([1.0, 5.0]), [2.0, 2.0]).item()
    5.0
    """
    prediction, target = _pair(prediction, target, "mse")
    return _reduced(square(prediction - target), reduction, "mse")


@public
def l1(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    """The mean absolute error; slope 0 where prediction and target are equal.

    >>> import tutorlib as tl
    >>> tl.l1(tl.tensor([1.0, 5.0]), [2.0, 2.0]).item()
    2.0
    """
    prediction, target = _pair(prediction, target, "l1")
    return _reduced(abs(prediction - target), reduction, "l1")


@public
def huber(prediction: Any, target: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    """Half the squared error up to ``delta``, beyond it a straight line with the slope there: outliers pull less.

    >>> import tutorlib as tl
    >>> tl.huber(tl.tensor([1.0, 5.0]), [2.0, 2.0], reduction="none")
    tensor([0.5, 2.5])
    """
    prediction, target = _pair(prediction, target, "huber")
    distance = abs(prediction - target)
    loss = where(le(distance, delta), 0.5 * square(distance), delta * (distance - 0.5 * delta))
    return _reduced(loss, reduction, "huber")
