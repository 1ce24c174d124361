"""Scaled dot-product attention, with masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op, aval_of
from tutorlib.ops.array_rules import attach_to
from tutorlib.ops.define import public, register
from tutorlib.ops.elementwise import reciprocal, sqrt, where
from tutorlib.ops.linalg import matmul
from tutorlib.ops.logic import logical_and
from tutorlib.ops.nn import softmax
from tutorlib.ops.reduce import count
from tutorlib.ops.shape import ndim, swap_last

_causal_mask: Op = register(
    Op(
        "causal_mask",
        lambda xp, scores: xp.tri(scores.shape[-2], scores.shape[-1], dtype=bool),
        lambda scores: AVal(scores.shape[-2:], np.dtype(bool)),
        flags={"nondiff"},
        doc="Whether a position may see another: itself and those before.",
    )
)


@public
def attention(
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    causal: bool = False,
    scale: Any = None,
    return_weights: bool = False,
) -> Any:
    """softmax(query · keyᵀ · scale) · value: each query's mean of the values, weighted by how well it fits the keys.

    Args:
        query: (…, queries, features); key: (…, keys, features); value: (…, keys, outputs). Leading axes (batch, heads)
            broadcast.
        mask: boolean, True where a query may see a key; or floating-point, added to the scores. It broadcasts against
            (…, queries, keys).
        causal: query i sees keys 0 … i only.
        scale: 1 / sqrt(features) by default.
        return_weights: return (result, weights), the weights being (…, queries, keys).

    A query that sees no key at all gets zeros, with gradient zero. Raises ShapeError.

    >>> import tutorlib as tl
    >>> x = tl.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> tl.attention(x, x, x, causal=True)[0]
    tensor([1., 0.])
    """
    query, key, value, mask = (np.asarray(v) if isinstance(v, list | tuple) else v for v in (query, key, value, mask))
    if min(ndim(query), ndim(key), ndim(value)) < 2:
        raise ShapeError(
            "query, key and value have at least the two axes (positions, features)",
            op="attention",
            shapes=[aval_of(v).shape for v in (query, key, value)],
            fix="add the axis of positions: x[None]",
        )
    features = aval_of(query).shape[-1]
    if scale is None:
        scale = (
            reciprocal(sqrt(count(query, -1, aval_of(query).dtype))) if features is None else max(features, 1) ** -0.5
        )
    scores = matmul(query * scale, swap_last(key))
    seen = None
    if mask is not None and aval_of(mask).dtype.kind == "b":
        seen = mask
    elif mask is not None:
        scores = scores + mask
    if causal:
        before = _causal_mask(scores)
        seen = before if seen is None else logical_and(seen, before)
    if seen is not None:
        # The lowest finite score, not −inf: where nothing is seen the softmax must stay finite, to be zeroed below.
        scores = where(seen, scores, float(np.finfo(aval_of(scores).dtype).min))
    weights = softmax(scores)
    if seen is not None:
        weights = where(seen, weights, 0.0)
    result = matmul(weights, value)
    return (result, weights) if return_weights else result


attach_to("attention")
