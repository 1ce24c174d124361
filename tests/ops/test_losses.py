"""Losses against JAX's formulas; exact at extreme scores; labels, weights and what is ignored."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import backward, check, data, slopes, value

LABELS = np.array([2, 0, 1, 2])
REDUCTIONS = ["mean", "sum", "none"]


def jax_reduced(loss: Any, reduction: str) -> Any:
    return {"mean": jnp.mean, "sum": jnp.sum, "none": lambda x: x}[reduction](loss)


def jax_cross_entropy(x: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], axis=1)[:, 0]


# ---- cross-entropy ----


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_of_labels_equals_jaxs(reduction: str) -> None:
    check(
        lambda x, y: tl.cross_entropy(x, y, reduction),
        data((4, 3)),
        LABELS,
        like=lambda x, y: jax_reduced(jax_cross_entropy(x, y), reduction),
        order=2 if reduction == "mean" else 1,
    )


def test_cross_entropy_of_labels_has_a_third_derivative() -> None:
    check(tl.cross_entropy, data((2, 3)), LABELS[:2], like=lambda x, y: jax_cross_entropy(x, y).mean(), order=3)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_of_probabilities_equals_jaxs(reduction: str) -> None:
    check(
        lambda x, p: tl.cross_entropy(x, p, reduction),
        data((4, 3)),
        data((4, 3), low=0.1, high=1.0, seed=1),
        like=lambda x, p: jax_reduced(-(p * jax.nn.log_softmax(x)).sum(axis=-1), reduction),
        order=2 if reduction == "mean" else 1,
    )


def test_the_classes_can_be_along_any_axis() -> None:
    x, y = data((2, 3, 4)), np.array([[0, 1, 2, 0], [2, 2, 1, 0]])
    check(
        lambda a, labels: tl.cross_entropy(a, labels, "none", axis=1),
        x,
        y,
        like=lambda a, labels: -jnp.take_along_axis(jax.nn.log_softmax(a, 1), labels[:, None], axis=1)[:, 0],
    )


def test_one_example_needs_no_batch_axis() -> None:
    np.testing.assert_allclose(value(tl.cross_entropy, np.zeros(4), np.array(1)), np.log(4.0), 1e-15)


def test_cross_entropy_is_exact_for_scores_that_would_overflow() -> None:
    x = np.array([[1000.0, 0.0], [-1000.0, 0.0], [1000.0, 0.0]])
    losses = value(lambda a: tl.cross_entropy(a, np.array([0, 0, 1]), "none"), x)
    np.testing.assert_array_equal(losses, [0.0, 1000.0, 1000.0])
    slope = slopes(lambda a: tl.cross_entropy(a, np.array([0, 0, 1]), "sum"), x)[0]
    np.testing.assert_array_equal(slope, [[0.0, 0.0], [-1.0, 1.0], [1.0, -1.0]])


def test_a_class_ruled_out_costs_nothing_unless_it_is_the_label() -> None:
    x = np.array([[-np.inf, 0.0, 0.0]])
    np.testing.assert_allclose(value(tl.cross_entropy, x, np.array([1])), np.log(2.0), 1e-15)
    np.testing.assert_allclose(value(tl.cross_entropy, x, np.array([[0.0, 0.5, 0.5]])), np.log(2.0), 1e-15)
    assert value(tl.cross_entropy, x, np.array([0])) == np.inf
    np.testing.assert_array_equal(backward(tl.cross_entropy, x, np.array([1]))[0] / np.cos(0.3), [[0.0, -0.5, 0.5]])


@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_ignored_examples_have_no_loss_no_gradient_and_do_not_count(mode: str) -> None:
    x, y = data((4, 3)), np.array([2, -100, 1, -100])

    def loss(a: Any, labels: Any) -> Any:
        return tl.cross_entropy(a, labels, ignore_index=-100)

    kept = x[[0, 2]]
    np.testing.assert_allclose(
        value(loss, x, y, mode=mode), jax_cross_entropy(jnp.asarray(kept), jnp.array([2, 1])).mean(), 1e-12
    )
    slope = slopes(loss, x, y, mode=mode)[0]
    np.testing.assert_array_equal(slope[[1, 3]], np.zeros((2, 3)))
    np.testing.assert_allclose(slope[[0, 2]], slopes(tl.cross_entropy, kept, np.array([2, 1]))[0], 1e-12)
    assert value(loss, x, np.full(4, -100), mode=mode) == 0.0
    np.testing.assert_array_equal(slopes(loss, x, np.full(4, -100), mode=mode)[0], np.zeros((4, 3)))


def test_class_weights_weigh_the_examples_and_their_mean() -> None:
    x, w = data((4, 3)), np.array([1.0, 2.0, 5.0])
    check(
        lambda a, weight, y: tl.cross_entropy(a, y, weight=weight),
        x,
        w,
        LABELS,
        like=lambda a, weight, y: (weight[y] * jax_cross_entropy(a, y)).sum() / weight[y].sum(),
        order=1,
    )
    check(
        lambda a, p, weight: tl.cross_entropy(a, p, weight=weight, axis=0),
        data((3, 4)),
        data((3, 4), low=0.1, high=1.0, seed=1),
        w,
        like=lambda a, p, weight: -(weight[:, None] * p * jax.nn.log_softmax(a, 0)).sum(axis=0).mean(),
        order=1,
    )


def test_nll_is_cross_entropy_after_log_softmax() -> None:
    check(
        lambda x, y: tl.nll(tl.log_softmax(x), y),
        data((4, 3)),
        LABELS,
        like=lambda x, y: jax_cross_entropy(x, y).mean(),
    )
    w = np.array([1.0, 2.0, 5.0])
    got = value(lambda x, y: tl.nll(tl.log_softmax(x), y, weight=w, ignore_index=1), data((4, 3)), LABELS)
    expected = value(lambda x, y: tl.cross_entropy(x, y, weight=w, ignore_index=1), data((4, 3)), LABELS)
    np.testing.assert_allclose(got, expected, 1e-12)


def test_nll_leaks_nothing_from_classes_that_are_not_the_label() -> None:
    x = np.array([[-np.inf, -1.0]])
    assert value(tl.nll, x, np.array([1])) == 1.0
    np.testing.assert_array_equal(backward(tl.nll, x, np.array([1]))[0], [[0.0, -np.cos(0.3)]])


@pytest.mark.parametrize(
    ("error", "call", "says"),
    [
        (tl.OutOfBoundsError, lambda: tl.cross_entropy(np.zeros((2, 3)), [0, 3]), "label 3 is not one of the 3"),
        (tl.OutOfBoundsError, lambda: tl.nll(np.zeros((2, 3)), [0, -1]), "label -1"),
        (tl.ShapeError, lambda: tl.cross_entropy(np.zeros((2, 3)), [[1, 0, 0], [0, 0, 1]]), "one label an example"),
        (tl.ShapeError, lambda: tl.cross_entropy(np.zeros((2, 3)), [0, 1, 2]), "one label an example"),
        (tl.DTypeError, lambda: tl.nll(np.zeros((2, 3)), [0.0, 1.0]), "whole numbers"),
        (tl.TutorlibError, lambda: tl.mse(np.zeros(3), np.zeros(3), reduction="average"), "average"),
        (tl.ShapeError, lambda: tl.mse(np.zeros((3, 1)), np.zeros(3)), "different shapes"),
        (tl.ShapeError, lambda: tl.l1(tl.vector("p"), tl.matrix("t")), "different shapes"),
        (tl.ShapeError, lambda: tl.bce_with_logits(np.zeros((3, 2)), np.zeros((2, 2))), "different shapes"),
    ],
)
def test_what_does_not_fit_is_said(error: Any, call: Any, says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert caught.value.fix


# ---- binary cross-entropy ----


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_bce_with_logits_equals_the_definition(reduction: str) -> None:
    check(
        lambda x, t: tl.bce_with_logits(x, t, reduction),
        data((3, 2)),
        data((3, 2), low=0.0, high=1.0, seed=1),
        like=lambda x, t: jax_reduced(-t * jax.nn.log_sigmoid(x) - (1 - t) * jax.nn.log_sigmoid(-x), reduction),
        order=2 if reduction == "mean" else 1,
    )


def test_bce_with_logits_is_exact_at_both_ends() -> None:
    x = np.array([50.0, -50.0, 1000.0, -1000.0, 50.0])
    t = np.array([1.0, 0.0, 1.0, 0.0, 0.0])
    losses = value(lambda a, b: tl.bce_with_logits(a, b, "none"), x, t)
    np.testing.assert_allclose(losses, [np.exp(-50.0), np.exp(-50.0), 0.0, 0.0, 50.0], 1e-14)


def test_an_infinitely_sure_right_answer_costs_nothing() -> None:
    x, t = np.array([np.inf, -np.inf, np.inf]), np.array([1.0, 0.0, 0.0])
    for mode in ("dynamic", "static"):
        np.testing.assert_array_equal(
            value(lambda a, b: tl.bce_with_logits(a, b, "none"), x, t, mode=mode), [0.0, 0.0, np.inf]
        )
        np.testing.assert_array_equal(slopes(lambda a: tl.bce_with_logits(a, t, "sum"), x, mode=mode)[0], [0, 0, 1])


def test_targets_may_be_booleans_or_whole_numbers() -> None:
    x = np.array([0.5, -1.0], np.float32)
    expected = value(tl.bce_with_logits, x, np.array([1.0, 0.0], np.float32))
    for t in (np.array([True, False]), np.array([1, 0])):
        got = value(tl.bce_with_logits, x, t)
        assert got.dtype == np.float32
        assert got == expected


def test_binary_cross_entropy_equals_the_definition() -> None:
    check(
        tl.binary_cross_entropy,
        data((3, 2), low=0.1, high=0.9),
        data((3, 2), low=0.1, high=0.9, seed=1),
        like=lambda p, t: -(t * jnp.log(p) + (1 - t) * jnp.log(1 - p)).mean(),
    )


def test_sure_and_right_probabilities_have_zero_loss_and_finite_gradient() -> None:
    p, t = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    assert value(tl.binary_cross_entropy, p, t) == 0.0
    np.testing.assert_allclose(slopes(lambda a: tl.binary_cross_entropy(a, t, "sum"), p)[0], [1.0, -1.0], 1e-15)
    assert value(tl.binary_cross_entropy, p, 1 - t) == np.inf


# ---- regression ----


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_squared_absolute_and_huber_losses_equal_their_definitions(reduction: str) -> None:
    x, t = data((3, 2), low=-3.0, high=3.0), data((3, 2), seed=1)
    check(lambda a, b: tl.mse(a, b, reduction), x, t, like=lambda a, b: jax_reduced((a - b) ** 2, reduction), order=1)
    check(lambda a, b: tl.l1(a, b, reduction), x, t, like=lambda a, b: jax_reduced(jnp.abs(a - b), reduction), order=1)

    def jax_huber(a: Any, b: Any) -> Any:
        d = jnp.abs(a - b)
        return jax_reduced(jnp.where(d <= 1.5, 0.5 * d**2, 1.5 * (d - 0.75)), reduction)

    check(lambda a, b: tl.huber(a, b, 1.5, reduction), x, t, like=jax_huber, order=1)


def test_a_scalar_target_fits_any_prediction() -> None:
    assert value(lambda a: tl.mse(a, 1.0), np.array([0.0, 3.0])) == 2.5


def test_the_mean_loss_of_no_examples_is_nan_and_their_sum_zero() -> None:
    assert np.isnan(value(tl.mse, np.zeros(0), np.zeros(0)))
    assert value(lambda a, b: tl.mse(a, b, "sum"), np.zeros(0), np.zeros(0)) == 0.0
    assert value(lambda a, b: tl.cross_entropy(a, b, "none"), np.zeros((0, 3)), np.zeros(0, np.int64)).shape == (0,)


def test_integer_scores_give_a_floating_point_loss() -> None:
    loss = value(tl.cross_entropy, np.array([[0, 0]]), np.array([1]))
    np.testing.assert_allclose(loss, np.log(2.0), 1e-15)
