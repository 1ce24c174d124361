"""Normalisation against JAX formulas; what constants give; statistics as outputs."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import MODES, check, data, slopes, value, values

EPS = 1e-5


def jax_standardize(x: Any, axis: Any) -> Any:
    return (x - x.mean(axis, keepdims=True)) / jnp.sqrt(x.var(axis, keepdims=True) + EPS)


@pytest.mark.parametrize("axis", [-1, 0, (0, 2), None])
def test_standardize_equals_its_definition(axis: Any) -> None:
    check(lambda x: tl.standardize(x, axis), data((2, 3, 4)), like=lambda x: jax_standardize(x, axis))


@pytest.mark.parametrize("mode", MODES)
def test_equal_values_standardize_to_zero_with_gradient_zero(mode: str) -> None:
    x = np.full((2, 3), 7.0)
    np.testing.assert_array_equal(value(lambda a: tl.standardize(a), x, mode=mode), np.zeros((2, 3)))
    np.testing.assert_array_equal(slopes(lambda a: tl.standardize(a), x, mode=mode)[0], np.zeros((2, 3)))


def test_a_large_mean_does_not_spoil_the_deviation() -> None:
    x = 1e8 + np.array([-1.0, 1.0])
    np.testing.assert_allclose(value(lambda a: tl.standardize(a, eps=0.0), x), [-1.0, 1.0], 1e-12)


def test_layer_norm_scales_and_shifts_the_features() -> None:
    check(
        tl.layer_norm,
        data((2, 3, 4)),
        data((4,), seed=1),
        data((4,), seed=2),
        like=lambda x, s, b: jax_standardize(x, -1) * s + b,
        order=1,
    )


def test_layer_norm_takes_several_last_axes() -> None:
    check(
        lambda x, s: tl.layer_norm(x, s, axis=(-2, -1)),
        data((2, 3, 4)),
        data((3, 4), seed=1),
        like=lambda x, s: jax_standardize(x, (-2, -1)) * s,
        order=1,
    )


def test_rms_norm_divides_by_the_root_mean_square() -> None:
    check(
        tl.rms_norm,
        data((2, 4)),
        data((4,), seed=1),
        like=lambda x, s: x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * s,
    )


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4), (2, 3, 2, 2)])
def test_batch_norm_normalises_each_channel_and_gives_its_statistics(shape: tuple[int, ...]) -> None:
    others = tuple(a for a in range(len(shape)) if a != 1)
    place = (3,) + (1,) * (len(shape) - 2)

    def like(x: Any, s: Any, b: Any) -> Any:
        y = jax_standardize(x, others) * s.reshape(place) + b.reshape(place)
        return y, x.mean(others), x.var(others)

    check(tl.batch_norm, data(shape), data((3,), seed=1), data((3,), seed=2), like=like, order=1)


def test_batch_norm_uses_given_statistics_and_hands_them_back() -> None:
    x, mean, var = data((2, 3, 4)), data((3,), seed=1), data((3,), low=0.5, high=2.0, seed=2)

    def like(a: Any, m: Any, v: Any) -> Any:
        return (a - m[:, None]) / jnp.sqrt(v[:, None] + EPS), m, v

    check(lambda a, m, v: tl.batch_norm(a, mean=m, var=v), x, mean, var, like=like)


def test_batch_norm_takes_the_channels_last() -> None:
    x = data((5, 4, 3))
    y, mean, _ = values(lambda a: tl.batch_norm(a, np.array([1.0, 2.0, 3.0]), axis=-1), x)
    np.testing.assert_allclose(y.mean((0, 1)), np.zeros(3), atol=1e-12)
    np.testing.assert_allclose(y.std((0, 1)), [1.0, 2.0, 3.0], 1e-3)
    np.testing.assert_allclose(mean, x.mean((0, 1)), 1e-12)


def test_running_statistics_are_updates_of_shared_variables() -> None:
    x, running = tl.matrix("x"), tl.shared(np.zeros(2), name="running")
    y, mean, _ = tl.batch_norm(x)
    train = tl.function([x], y, updates=[(running, 0.5 * running + 0.5 * mean)])
    train(np.array([[2.0, 4.0], [4.0, 8.0]]))
    np.testing.assert_allclose(running.get_value(), [1.5, 3.0], 1e-15)


def test_group_norm_normalises_each_group_of_channels() -> None:
    def like(x: Any, s: Any) -> Any:
        y = jax_standardize(x.reshape(2, 2, 2, 3), (2, 3)).reshape(x.shape)
        return y * s[:, None]

    check(lambda x, s: tl.group_norm(x, 2, s), data((2, 4, 3)), data((4,), seed=1), like=like)


def test_whole_numbers_are_normalised_in_floating_point() -> None:
    np.testing.assert_allclose(value(lambda a: tl.standardize(a, eps=0.0), np.array([1, 3])), [-1.0, 1.0], 1e-15)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: tl.group_norm(np.ones((1, 3)), 2), "3 channels do not make 2 groups"),
        (lambda: tl.batch_norm(np.ones((2, 2)), mean=np.ones(2)), "belong together"),
        (lambda: tl.layer_norm(np.ones(3), axis=1), "axis 1"),
    ],
)
def test_what_does_not_fit_is_said(call: Any, says: str) -> None:
    with pytest.raises(tl.ShapeError, match=says) as caught:
        call()
    assert caught.value.fix
