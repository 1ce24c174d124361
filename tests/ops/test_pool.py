"""Pooling against JAX's reduce_window; how ties, padding and NaN are treated."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import backward, check, data, quick, value


@st.composite
def geometries(draw: Any) -> dict[str, Any]:
    kernel = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    dilation = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    padding = draw(st.sampled_from(["valid", "same", "pairs"]))
    pairs = tuple((draw(st.integers(0, k - 1)), draw(st.integers(0, k - 1))) for k in kernel)
    return {
        "shape": (
            draw(st.integers(0, 2)),
            draw(st.integers(1, 2)),
            *(d * k + draw(st.integers(0, 3)) for k, d in zip(kernel, dilation, strict=True)),
        ),
        "kernel_size": kernel,
        "stride": (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        "padding": pairs if padding == "pairs" else padding,
        "dilation": dilation,
    }


def window_reduce(x: Any, start: float, combine: Any, g: dict[str, Any]) -> Any:
    padding = g["padding"].upper() if isinstance(g["padding"], str) else ((0, 0), (0, 0), *g["padding"])
    return jax.lax.reduce_window(
        x,
        start,
        combine,
        (1, 1, *g["kernel_size"]),
        (1, 1, *g["stride"]),
        padding,
        window_dilation=(1, 1, *g["dilation"]),
    )


def arguments(g: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: g[name] for name in ("kernel_size", "stride", "padding", *names)}


# JAX compiles each geometry anew: few examples where it is the oracle.
@settings(quick, max_examples=6)
@given(geometries())
def test_max_pool_equals_jaxs_reduce_window(g: dict[str, Any]) -> None:
    x = data(g["shape"])
    check(lambda a: tl.max_pool2d(a, **arguments(g, "dilation")), x, order=0)
    expected = np.asarray(window_reduce(jnp.asarray(x), -jnp.inf, jax.lax.max, g))
    np.testing.assert_array_equal(value(lambda a: tl.max_pool2d(a, **arguments(g, "dilation")), x), expected)


@settings(quick, max_examples=10)
@given(geometries())
def test_max_pool_has_the_slope_of_its_winners(g: dict[str, Any]) -> None:
    check(lambda a: tl.square(tl.max_pool2d(a, **arguments(g, "dilation"))), data(g["shape"]), atol=1e-6)


@settings(quick, max_examples=6)
@given(geometries())
def test_avg_pool_equals_jaxs_reduce_window_over_the_number_of_elements(g: dict[str, Any]) -> None:
    g = {**g, "dilation": (1, 1)}
    check(
        lambda a: tl.avg_pool2d(a, **arguments(g)),
        data(g["shape"]),
        like=lambda a: window_reduce(a, 0.0, jax.lax.add, g) / np.prod(g["kernel_size"]),
        order=0,
    )


@settings(quick, max_examples=6)
@given(geometries())
def test_avg_pool_without_padding_counts_only_elements_of_the_image(g: dict[str, Any]) -> None:
    g = {**g, "dilation": (1, 1)}

    def like(a: Any) -> Any:
        number = window_reduce(jnp.ones_like(a), 0.0, jax.lax.add, g)
        return window_reduce(a, 0.0, jax.lax.add, g) / number

    check(lambda a: tl.avg_pool2d(a, count_include_pad=False, **arguments(g)), data(g["shape"]), like=like, order=0)


@settings(quick, max_examples=10)
@given(geometries(), st.booleans())
def test_avg_pool_spreads_the_gradient_evenly(g: dict[str, Any], count: bool) -> None:
    check(lambda a: tl.avg_pool2d(a, count_include_pad=count, **arguments(g)), data(g["shape"]), order=1)


def test_avg_pool_has_a_second_derivative_through_what_uses_it() -> None:
    check(lambda a: tl.exp(tl.avg_pool2d(a, 2, stride=1, padding=1)), data((1, 2, 3, 4)))


def test_equal_largest_elements_share_the_gradient_and_the_shares_sum_to_one() -> None:
    x = np.array([[[3.0, 3.0, 1.0, 2.0, 0.0, 4.0]]])
    slope = backward(lambda a: tl.max_pool1d(a, 3).sum(), x)[0] / np.cos(0.3)
    np.testing.assert_allclose(slope, [[[0.5, 0.5, 0.0, 0.0, 0.0, 1.0]]], 1e-15)


def test_windows_that_overlap_add_their_gradients() -> None:
    x = np.array([[[1.0, 5.0, 2.0]]])
    slope = backward(lambda a: tl.max_pool1d(a, 2, stride=1).sum(), x)[0] / np.cos(0.3)
    np.testing.assert_allclose(slope, [[[0.0, 2.0, 0.0]]], 1e-15)


def test_padding_never_wins_not_even_against_minus_infinity() -> None:
    x = np.full((1, 1, 2), -np.inf)
    assert np.all(value(lambda a: tl.max_pool1d(a, 2, stride=1, padding=1), x) == -np.inf)
    slope = backward(lambda a: tl.where(True, 1.0, tl.max_pool1d(a, 2, stride=2, padding=1)).sum(), x)[0]
    np.testing.assert_array_equal(slope, [[[0.0, 0.0]]])
    x = np.array([[[-1.0, -2.0]]])
    np.testing.assert_array_equal(value(lambda a: tl.max_pool1d(a, 2, padding=1), x), [[[-1.0, -2.0]]])


def test_nan_wins_every_window_it_is_in() -> None:
    pooled = value(lambda a: tl.max_pool1d(a, 2), np.array([[[np.nan, 1.0, 2.0, 3.0]]]))
    np.testing.assert_array_equal(pooled, [[[np.nan, 3.0]]])


def test_an_infinite_cotangent_reaches_only_the_winner() -> None:
    x = tl.tensor([[[1.0, 2.0]]], requires_grad=True)
    tl.max_pool1d(x, 2).backward(np.array([[[np.inf]]]))
    np.testing.assert_array_equal(np.asarray(x.grad), [[[0.0, np.inf]]])


def test_whole_numbers_have_a_largest_and_a_mean() -> None:
    x = np.array([[[1, 2, -3, -5]]])
    pooled, mean = value(lambda a: tl.max_pool1d(a, 2, padding=1), x), value(lambda a: tl.avg_pool1d(a, 2), x)
    np.testing.assert_array_equal(pooled, [[[1, 2, -5]]])
    assert pooled.dtype == np.int64
    np.testing.assert_array_equal(mean, [[[1.5, -4.0]]])


def test_the_result_is_an_array_of_its_own_for_windows_of_one_element() -> None:
    x = tl.tensor([[[1.0, 2.0]]])
    assert not np.shares_memory(tl.max_pool1d(x, 1).data, x.data)


def test_three_axes_pool_too() -> None:
    x = np.arange(16.0).reshape(1, 1, 2, 4, 2)
    np.testing.assert_array_equal(value(lambda a: tl.max_pool3d(a, 2), x).ravel(), [11.0, 15.0])
    np.testing.assert_array_equal(value(lambda a: tl.avg_pool3d(a, 2), x).ravel(), [5.5, 9.5])


def test_static_mode_knows_the_size_of_what_it_can_know() -> None:
    x = tl.symbol("x", shape=(None, 3, 9, None))
    assert tl.max_pool2d(x, 2).shape == (None, 3, 4, None)
    assert tl.avg_pool2d(x, 3, stride=2, padding="same").shape == (None, 3, 5, None)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: tl.max_pool2d(np.ones((1, 1, 3)), 2), "max_pool2d"),
        (lambda: tl.max_pool2d(np.ones((3, 3)), 2), "this has 2"),
        (lambda: tl.avg_pool1d(np.ones((1, 1, 3)), 4), "length 4 does not fit into 3"),
        (lambda: tl.max_pool1d(np.ones((1, 1, 3)), 2, padding=2), "nothing but padding"),
        (lambda: tl.max_pool1d(np.ones((1, 1, 3)), (2, 2)), "kernel_size"),
    ],
)
def test_what_does_not_fit_is_said(call: Any, says: str) -> None:
    with pytest.raises(tl.ShapeError, match=says) as error:
        call()
    assert error.value.fix
