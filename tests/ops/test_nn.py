"""Softmax and its logarithm against JAX, exact at extremes; dropout."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import MODES, check, data, slopes, value


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_and_its_logarithm_equal_jaxs(axis: int) -> None:
    x = data((2, 3, 2))
    check(lambda a: tl.softmax(a, axis), x, like=lambda a: jax.nn.softmax(a, axis))
    check(lambda a: tl.log_softmax(a, axis), x, like=lambda a: jax.nn.log_softmax(a, axis))


def test_softmax_has_a_third_derivative() -> None:
    check(tl.softmax, data((2, 3)), like=jax.nn.softmax, order=3)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,)])
def test_softmax_of_little_or_nothing_has_its_shape(shape: tuple[int, ...]) -> None:
    for mode in MODES:
        assert value(tl.softmax, np.zeros(shape), mode=mode).shape == shape
        assert value(tl.log_softmax, np.zeros(shape), mode=mode).shape == shape


def test_softmax_of_huge_scores_is_exact() -> None:
    x = np.array([1e300, 0.0, -1e300])
    np.testing.assert_array_equal(value(tl.softmax, x), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(value(tl.log_softmax, x), [0.0, -1e300, -2e300])


def test_log_softmax_keeps_digits_that_softmax_rounds_away() -> None:
    x = np.array([0.0, -1000.0])
    np.testing.assert_array_equal(value(tl.log_softmax, x), [0.0, -1000.0])
    np.testing.assert_array_equal(slopes(lambda a: tl.log_softmax(a)[1], x)[0], [-1.0, 1.0])


# ---- dropout ----


@pytest.mark.parametrize("mode", MODES)
def test_dropout_zeroes_the_rate_and_scales_the_rest(mode: str) -> None:
    y = value(lambda a: tl.dropout(a, 0.25, 3), np.ones(40_000), mode=mode)
    np.testing.assert_allclose(np.unique(y), [0.0, 1 / 0.75], 1e-15)
    assert abs((y == 0).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 40_000)


def test_both_modes_drop_the_same_elements() -> None:
    x = data((50, 3))
    dropped, static = (
        value(lambda a: tl.dropout(a, 0.5, 7, counter=2), x, mode=mode) for mode in ("dynamic", "static")
    )
    np.testing.assert_array_equal(dropped, static)


def test_the_gradient_goes_where_the_value_went() -> None:
    check(lambda a: tl.dropout(tl.square(a), 0.5, 1), data((5, 4)))
    x = np.ones(10)
    np.testing.assert_array_equal(
        slopes(lambda a: tl.dropout(a, 0.5, 1), x)[0], value(lambda a: tl.dropout(a, 0.5, 1), x)
    )


def test_dropout_out_of_training_is_nothing() -> None:
    x = tl.tensor([1.0, 2.0])
    assert tl.dropout(x, 0.5, train=False) is x


def test_the_training_flag_can_be_a_symbol() -> None:
    x, train = tl.vector("x"), tl.symbol("train", dtype="bool")
    f = tl.function([x, train], tl.dropout(x, 0.5, 1, train))
    np.testing.assert_array_equal(f(np.ones(9), False), np.ones(9))
    assert set(f(np.ones(99), True)) == {0.0, 2.0}


def test_a_stream_drops_others_at_each_call() -> None:
    x = tl.vector("x")
    f = tl.function([x], tl.dropout(x, 0.5, tl.random.Stream(0)))
    first, second = f(np.ones(64)), f(np.ones(64))
    assert not np.array_equal(first, second)
    stream, ones = tl.random.Stream(0), tl.tensor(np.ones(64))
    np.testing.assert_array_equal(tl.dropout(ones, 0.5, stream).numpy(), first)
    np.testing.assert_array_equal(tl.dropout(ones, 0.5, stream).numpy(), second)


@pytest.mark.parametrize("mode", MODES)
def test_dropping_everything_gives_zeros_and_zero_gradients(mode: str) -> None:
    x = np.ones(5)
    np.testing.assert_array_equal(value(lambda a: tl.dropout(a, 1.0), x, mode=mode), np.zeros(5))
    np.testing.assert_array_equal(slopes(lambda a: tl.dropout(a, 1.0), x, mode=mode)[0], np.zeros(5))
    np.testing.assert_array_equal(value(lambda a: tl.dropout(a, 0.0), x, mode=mode), x)


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_is_a_share(rate: Any) -> None:
    with pytest.raises(tl.TutorlibError, match="from 0 to 1") as caught:
        tl.dropout(np.ones(3), rate)
    assert caught.value.fix
