"""Attention against the formula written with jax.numpy; masks, causality, queries that see nothing."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import MODES, check, data, slopes, value

QUERY, KEY, VALUE = data((2, 3, 4), seed=1), data((2, 5, 4), seed=2), data((2, 5, 2), seed=3)


def like(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = q @ jnp.swapaxes(k, -1, -2) / 2.0
    return jax.nn.softmax(scores if mask is None else jnp.where(mask, scores, -jnp.inf)) @ v


def test_attention_is_a_softmax_weighted_mean_of_the_values() -> None:
    check(tl.attention, QUERY, KEY, VALUE, like=like, float32=False)


def test_a_boolean_mask_says_what_may_be_seen() -> None:
    mask = np.array([[True, False, True, True, False]] * 3)
    check(lambda q, k, v, m: tl.attention(q, k, v, m), QUERY, KEY, VALUE, mask, like=like, order=1)


def test_a_floating_point_mask_is_added_to_the_scores() -> None:
    bias = data((3, 5), seed=4)
    check(
        lambda q, k, v, b: tl.attention(q, k, v, b),
        QUERY,
        KEY,
        VALUE,
        bias,
        like=lambda q, k, v, b: jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / 2.0 + b) @ v,
        order=1,
    )


def test_causal_attention_sees_itself_and_what_came_before() -> None:
    check(
        lambda q, k, v: tl.attention(q, k, v, causal=True),
        QUERY,
        KEY,
        VALUE,
        like=lambda q, k, v: like(q, k, v, jnp.tri(3, 5, dtype=bool)),
    )


def test_a_later_key_changes_no_earlier_result() -> None:
    x = data((4, 3))
    changed = x.copy()
    changed[3] = 9.0
    first, second = (value(lambda a: tl.attention(a, a, a, causal=True), v) for v in (x, changed))
    np.testing.assert_array_equal(first[:3], second[:3])


@pytest.mark.parametrize("mode", MODES)
def test_a_query_that_sees_nothing_gets_zeros_and_zero_gradients(mode: str) -> None:
    mask = np.array([[False, False], [True, False]])
    q, k, v = data((2, 3), seed=1), data((2, 3), seed=2), data((2, 3), seed=3)

    def seen(a: Any, b: Any, c: Any) -> Any:
        return tl.attention(a, b, c, mask)

    np.testing.assert_allclose(value(seen, q, k, v, mode=mode), [np.zeros(3), v[0]], 1e-12)
    for slope in slopes(seen, q, k, v, mode=mode):
        assert np.isfinite(slope).all()
    np.testing.assert_array_equal(slopes(seen, q, k, v, mode=mode)[0][0], np.zeros(3))


def test_the_weights_can_be_had_and_sum_to_one() -> None:
    result, weights = tl.attention(tl.tensor(QUERY), tl.tensor(KEY), tl.tensor(VALUE), return_weights=True)
    assert weights.shape == (2, 3, 5)
    np.testing.assert_allclose(weights.numpy().sum(-1), np.ones((2, 3)), 1e-12)
    np.testing.assert_allclose(result.numpy(), weights.numpy() @ VALUE, 1e-12)


def test_heads_are_a_leading_axis_and_scores_can_be_scaled() -> None:
    q, k, v = (data((2, 2, 3, 4), seed=i) for i in range(3))
    alone = value(lambda a, b, c: tl.attention(a, b, c, scale=0.1), q[1, 0], k[1, 0], v[1, 0])
    np.testing.assert_allclose(value(lambda a, b, c: tl.attention(a, b, c, scale=0.1), q, k, v)[1, 0], alone, 1e-12)


def test_float32_stays_float32_with_unknown_dims() -> None:
    q = tl.symbol("q", shape=(None, None, None), dtype="float32")
    assert tl.attention(q, q, q, causal=True).dtype == np.float32


def test_vectors_are_no_positions() -> None:
    with pytest.raises(tl.ShapeError, match="at least the two axes"):
        tl.attention(np.ones(3), np.ones((3, 3)), np.ones((3, 3)))
