"""The rows of the op table that draw random numbers: pure functions of (key, counter) and of their parameters.

They carry the flag "random". Equal inputs do mean equal outputs, so merging two of them that have the same key and
counter is right, and merging any others cannot happen. Functions for people are in ``random``.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Op
from tutorlib.ops import philox
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import register

# Counters count up from 0; the last one is set aside for making keys from keys.
_SPLITTING = 2**64 - 1
_LONG = np.dtype("int64")
_FLAGS = frozenset({"random", "nondiff"})


def _drawing(name: str, numbers: Any, doc: str) -> Op:
    """A row for an op that fills a shape (given, or that of a third operand) with independent numbers."""

    def forward(xp: Any, key: Any, counter: Any, *like: Any, shape: Any, dtype: str) -> Any:
        shape = like[0].shape if like else shape
        return numbers(xp, key, counter, prod(shape), dtype).reshape(shape)

    def infer(key: AVal, counter: AVal, *like: AVal, shape: Any, dtype: str) -> AVal:
        return AVal(like[0].shape if like else shape, np.dtype(dtype))

    return register(Op(name, forward, infer, flags=_FLAGS, doc=doc))


random_bits: Op = _drawing(
    "random_bits", lambda xp, k, c, n, dtype: philox.words(xp, k, c, n).astype(dtype), "Random words."
)
random_uniform: Op = _drawing("random_uniform", philox.uniform, "Uniform random numbers in [0, 1).")
random_normal: Op = _drawing("random_normal", philox.normal, "Standard normal random numbers.")
random_exponential: Op = _drawing("random_exponential", philox.exponential, "Standard exponential random numbers.")


def _integers_forward(xp: Any, key: Any, counter: Any, low: Any, high: Any, *like: Any, shape: Any, dtype: str) -> Any:
    shape = like[0].shape if like else shape
    low, high = xp.asarray(low), xp.asarray(high)
    if xp is np and not (low < high).all():
        raise TutorlibError("there is no whole number from low up to below high", op="randint", fix="make high > low")
    random = philox.words64(xp, key, counter, prod(shape)).reshape(shape)
    limit = high.astype(np.uint64) - low.astype(np.uint64)
    return (philox.below(xp, random, limit) + low.astype(np.uint64)).astype(np.int64).astype(dtype)


random_integers: Op = register(
    Op(
        "random_integers",
        _integers_forward,
        lambda key, counter, low, high, *like, shape, dtype: AVal(like[0].shape if like else shape, np.dtype(dtype)),
        flags=_FLAGS,
        doc="Random whole numbers from low to high - 1.",
    )
)
random_permutation: Op = register(
    Op(
        "random_permutation",
        lambda xp, key, counter, *like, axis, n: xp.argsort(
            philox.words64(xp, key, counter, like[0].shape[axis] if like else n), kind="stable"
        ),
        lambda key, counter, *like, axis, n: AVal((like[0].shape[axis] if like else n,), _LONG),
        flags=_FLAGS,
        doc="A random order of 0 … n - 1.",
    )
)


def _weighted_order_forward(xp: Any, key: Any, counter: Any, weights: Any) -> Any:
    # The k first of exponential waiting times with these rates are a weighted draw of k without replacement.
    _check_weights(xp, weights)
    waiting = philox.exponential(xp, key, counter, weights.shape[0], "float64")
    return xp.argsort(waiting / weights, kind="stable")


random_weighted_order: Op = register(
    Op(
        "random_weighted_order",
        _weighted_order_forward,
        lambda key, counter, weights: AVal(weights.shape, _LONG),
        flags=_FLAGS,
        doc="A random order in which a heavier element tends to come earlier.",
    )
)


def _check_weights(xp: Any, weights: Any) -> None:
    if xp is np and not ((weights >= 0).all() and (weights.sum(axis=-1) > 0).all()):
        raise TutorlibError(
            "probabilities must not be negative, nor all be zero", op="categorical", fix="use tl.softmax for logits"
        )


def _categorical_forward(xp: Any, key: Any, counter: Any, p: Any, shape: Any) -> Any:
    _check_weights(xp, p)
    upto = xp.cumsum(p, axis=-1, dtype=np.float64)
    # Divided by the last, which makes that exactly 1: a category without weight at the end is never drawn.
    upto = (upto / upto[..., -1:])[..., :-1]
    shape = (*shape, *p.shape[:-1])
    u = philox.uniform(xp, key, counter, prod(shape), "float64").reshape(shape)
    if p.ndim == 1:
        return xp.searchsorted(upto, u, side="right").astype(np.int64)
    return (upto <= u[..., None]).sum(axis=-1)


random_categorical: Op = register(
    Op(
        "random_categorical",
        _categorical_forward,
        lambda key, counter, p, shape: AVal((*shape, *p.shape[:-1]), _LONG),
        flags=_FLAGS,
        doc="Random categories with given probabilities.",
    )
)


def _multinomial_forward(xp: Any, key: Any, counter: Any, p: Any, n: int, shape: Any) -> Any:
    drawn = _categorical_forward(xp, key, counter, p, (n, *shape))
    return xp.stack([(drawn == category).sum(axis=0) for category in range(p.shape[-1])], axis=-1)


random_multinomial: Op = register(
    Op(
        "random_multinomial",
        _multinomial_forward,
        lambda key, counter, p, n, shape: AVal((*shape, *p.shape), _LONG),
        flags=_FLAGS,
        doc="How often each category came in n draws.",
    )
)
random_keys: Op = register(
    Op(
        "random_keys",
        lambda xp, key, n: philox.words64(xp, key, _SPLITTING, n),
        lambda key, n: AVal((n,), np.dtype("uint64")),
        flags=_FLAGS,
        doc="New keys made from a key.",
    )
)


attach_to("random_ops")
