"""Convolutions against JAX, transposed ones against their definition; windows copied out and added back."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import backward, check, data, derivatives, quick, value

_LAYOUT = {1: ("NCH", "OIH", "NCH"), 2: ("NCHW", "OIHW", "NCHW"), 3: ("NCDHW", "OIDHW", "NCDHW")}


def jax_conv(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    space = x.ndim - 2
    return jax.lax.conv_general_dilated(
        x,
        w,
        stride,
        padding,
        rhs_dilation=dilation,
        dimension_numbers=_LAYOUT[space],
        feature_group_count=groups,
        precision="highest",
    )


@st.composite
def geometries(draw: Any) -> dict[str, Any]:
    space = draw(st.integers(1, 2))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(space))

    kernel, stride, dilation = each(1, 3), each(1, 3), each(1, 2)
    padding = draw(st.sampled_from(["pairs", "same", "valid"]))
    pairs = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(space))
    groups = draw(st.sampled_from([1, 1, 2]))
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    return {
        "x": (draw(st.integers(0, 2)), groups * draw(st.integers(1, 2)), *(r + draw(st.integers(0, 3)) for r in reach)),
        "out": groups * draw(st.integers(1, 2)),
        "kernel": kernel,
        "stride": stride,
        "dilation": dilation,
        "padding": pairs if padding == "pairs" else padding,
        "groups": groups,
    }


def ours(space: int) -> Any:
    return getattr(tl, f"conv{space}d")


# JAX compiles each geometry anew: few examples, of all kinds.
@settings(quick, max_examples=8)
@given(geometries())
def test_a_convolution_equals_jaxs_in_value_gradient_and_second_order(g: dict[str, Any]) -> None:
    x = data(g["x"], seed=1)
    w = data((g["out"], g["x"][1] // g["groups"], *g["kernel"]), seed=2)
    more = {k: g[k] for k in ("stride", "padding", "dilation", "groups")}
    padding = g["padding"].upper() if isinstance(g["padding"], str) else g["padding"]
    check(
        lambda a, b: ours(len(g["kernel"]))(a, b, **more),
        x,
        w,
        like=lambda a, b: jax_conv(a, b, g["stride"], padding, g["dilation"], g["groups"]),
    )


def test_a_3d_convolution_equals_jaxs() -> None:
    x, w = data((2, 2, 3, 4, 3), seed=1), data((3, 2, 2, 2, 1), seed=2)
    check(
        lambda a, b: tl.conv3d(a, b, padding=1),
        x,
        w,
        like=lambda a, b: jax_conv(a, b, (1, 1, 1), ((1, 1),) * 3, (1, 1, 1), 1),
    )


def test_a_depthwise_convolution_convolves_each_channel_alone() -> None:
    x, w = data((2, 3, 5, 5), seed=1), data((3, 1, 3, 3), seed=2)
    alone = [value(tl.conv2d, x[:, c : c + 1], w[c : c + 1]) for c in range(3)]
    np.testing.assert_allclose(value(lambda a, b: tl.conv2d(a, b, groups=3), x, w), np.concatenate(alone, 1), 1e-12)


@pytest.mark.parametrize("stride", [1, 2])
def test_a_result_in_another_memory_order_convolves_and_pools_the_same(stride: int) -> None:
    x, w = data((2, 3, 6, 5), seed=1), data((3, 3, 3, 3), seed=2)

    def twice(a: Any, b: Any, inner: Any) -> Any:
        return tl.max_pool2d(tl.conv2d(inner(tl.conv2d(a, b, padding=1)), b, stride=stride), 2, stride=1, padding=1)

    def copied(h: Any) -> Any:
        return tl.reshape(tl.reshape(h, (-1,)), (2, 3, 6, 5))

    for mine, other in zip(
        [value(lambda a, b: twice(a, b, lambda h: h), x, w), *backward(lambda a, b: twice(a, b, lambda h: h), x, w)],
        [value(lambda a, b: twice(a, b, copied), x, w), *backward(lambda a, b: twice(a, b, copied), x, w)],
        strict=True,
    ):
        np.testing.assert_allclose(mine, other, 1e-12)


def test_the_kernel_is_not_flipped() -> None:
    x = np.array([[[0.0, 0.0, 1.0, 0.0, 0.0]]])
    w = np.array([[[1.0, 2.0, 3.0]]])
    np.testing.assert_array_equal(value(tl.conv1d, x, w), [[[3.0, 2.0, 1.0]]])


def test_a_bias_is_added_to_each_output_channel() -> None:
    x, w, b = data((2, 1, 3, 3)), np.zeros((2, 1, 2, 2)), np.array([5.0, 7.0])
    y = value(tl.conv2d, x, w, b)
    assert np.all(y[:, 0] == 5.0)
    assert np.all(y[:, 1] == 7.0)
    np.testing.assert_array_equal(
        backward(lambda v: tl.conv2d(x, w, v).sum(), b)[0], np.array([8.0, 8.0]) * np.cos(0.3)
    )


@pytest.mark.parametrize("shape", [(3, 2, 5, 4), (40, 2, 5, 7), (1, 1, 3, 3), (2, 3, 2, 2)])
def test_the_gradient_of_a_bias_is_the_sum_over_examples_and_places(shape: tuple[int, ...]) -> None:
    x, w, b = data(shape), data((3, shape[1], 2, 2), seed=1), tl.tensor(np.zeros(3), requires_grad=True)
    weights = data((shape[0], 3, shape[2] - 1, shape[3] - 1), seed=2)
    (tl.conv2d(x, w, b) * weights).sum().backward()
    np.testing.assert_allclose(b.grad.numpy(), weights.sum((0, 2, 3)), 1e-12)
    y = tl.conv2d(x, w, b)
    y.backward(np.ascontiguousarray(weights.transpose(1, 2, 3, 0)).transpose(3, 0, 1, 2))
    np.testing.assert_allclose(b.grad.numpy(), 2 * weights.sum((0, 2, 3)), 1e-12)


def test_whole_numbers_convolve_to_whole_numbers() -> None:
    y = value(tl.conv1d, np.array([[[1, 2, 3]]]), np.array([[[1, 1]]]))
    assert y.dtype == np.int64
    np.testing.assert_array_equal(y, [[[3, 5]]])


@quick
@given(geometries(), st.data())
def test_the_transposed_convolution_is_the_transpose_of_the_linear_map(g: dict[str, Any], more: Any) -> None:
    """⟨conv(x), y⟩ = ⟨x, convᵀ(y)⟩ for all x and y."""
    space = len(g["kernel"])
    geometry = {k: g[k] for k in ("stride", "dilation", "groups")}
    padding = ((0, 0),) * space if isinstance(g["padding"], str) else g["padding"]
    x = data((1, *g["x"][1:]), seed=1)
    w = data((g["out"], g["x"][1] // g["groups"], *g["kernel"]), seed=2)
    features = value(lambda a, b: ours(space)(a, b, padding=padding, **geometry), x, w)
    y = data(features.shape, seed=3)
    extra = [
        n - ((c - 1) * s - sum(p) + d * (k - 1) + 1)
        for n, c, s, p, d, k in zip(
            x.shape[2:], features.shape[2:], g["stride"], padding, g["dilation"], g["kernel"], strict=True
        )
    ]
    transpose = getattr(tl, f"conv_transpose{space}d")
    images = value(lambda a, b: transpose(a, b, padding=padding, output_padding=tuple(extra), **geometry), y, w)
    assert images.shape == x.shape
    np.testing.assert_allclose((features * y).sum(), (images * x).sum(), 1e-9)


def test_the_transposed_convolution_has_gradients_of_any_order() -> None:
    x, w = data((2, 4, 3, 2), seed=1), data((4, 3, 3, 2), seed=2)
    check(
        lambda a, b: tl.sin(tl.conv_transpose2d(a, b, stride=(2, 1), padding=(1, 0), output_padding=(1, 0), groups=2)),
        x,
        w,
    )


def test_a_transposed_convolution_with_same_padding_multiplies_the_size_by_the_stride() -> None:
    x, w = data((1, 1, 3, 4)), data((1, 1, 3, 3))
    assert value(lambda a, b: tl.conv_transpose2d(a, b, stride=2, padding="same"), x, w).shape == (1, 1, 6, 8)


def test_third_order_gradients_through_a_convolution_are_right() -> None:
    x, w = data((1, 2, 5), seed=1), data((2, 2, 2), seed=2)
    check(
        lambda a, b: tl.exp(tl.conv1d(a, b, stride=2, padding=1)),
        x,
        w,
        like=lambda a, b: jax.numpy.exp(jax_conv(a, b, (2,), ((1, 1),), (1,), 1)),
        order=3,
        float32=False,
    )


@pytest.mark.parametrize("kernel", [1, 2])
def test_a_later_convolution_leaves_earlier_results_alone(kernel: int) -> None:
    x, w = data((2, 2, 4, 4), seed=1), data((2, 2, kernel, kernel), seed=2)
    results = [tl.conv2d(x, w), tl.conv_transpose2d(x, w)]
    before = [r.copy() for r in results]
    for other in (x + 1, x + 2):
        tl.conv2d(other, w), tl.conv_transpose2d(other, w)
    for result, kept in zip(results, before, strict=True):
        np.testing.assert_array_equal(result, kept)


@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_an_empty_batch_has_empty_features_and_zero_weight_gradients(mode: str) -> None:
    x, w = np.zeros((0, 1, 4, 4)), np.ones((2, 1, 3, 3))
    assert value(tl.conv2d, x, w, mode=mode).shape == (0, 2, 2, 2)
    dx, dw = derivatives(tl.conv2d, x, w, mode=mode)[0]
    assert dx.shape == x.shape
    np.testing.assert_array_equal(dw, np.zeros((2, 1, 3, 3)))


def test_static_mode_knows_the_size_of_what_it_can_know() -> None:
    x = tl.symbol("x", shape=(None, 3, 8, None))
    w = tl.symbol("w", shape=(4, 3, 3, 3))
    assert tl.conv2d(x, w, stride=2, padding=1).shape == (None, 4, 4, None)
    assert tl.conv_transpose2d(tl.conv2d(x, w), w).shape == (None, 3, 8, None)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: tl.conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 1, 3, 3))), "3 channels, the weights are for 1"),
        (lambda: tl.conv2d(np.ones((1, 1, 2, 4)), np.ones((2, 1, 3, 3))), "length 3 does not fit into 2"),
        (lambda: tl.conv2d(np.ones((1, 4, 4)), np.ones((2, 1, 3, 3))), "needs 4 axes here, not 3"),
        (lambda: tl.conv2d(np.ones((4, 4)), np.ones((2, 1, 3, 3))), "this has 2"),
        (lambda: tl.conv2d(np.ones((1, 1, 4, 4)), np.ones((2, 1, 3, 3)), padding="full"), "'full'"),
        (lambda: tl.conv2d(np.ones((1, 1, 4, 4)), np.ones((2, 1, 3, 3)), stride=0), "stride=0"),
        (lambda: tl.conv2d(np.ones((1, 2, 4, 4)), np.ones((3, 1, 3, 3)), groups=2), "3 output channels"),
        (lambda: tl.conv_transpose1d(np.ones((1, 2, 4)), np.ones((3, 1, 3))), "2 channels, the weights are for 3"),
        (lambda: tl.conv_transpose1d(np.ones((1, 2, 4)), np.ones((2, 1, 3)), output_padding=1), "smaller than"),
        (lambda: tl.conv_transpose1d(np.ones((1, 2, 1)), np.ones((2, 1, 1)), padding=1), "nothing is left"),
    ],
)
def test_what_does_not_fit_is_said(call: Any, says: str) -> None:
    with pytest.raises(tl.ShapeError, match=says) as error:
        call()
    assert error.value.fix


# ---- windows ----


def test_unfold_makes_one_column_a_window() -> None:
    x = np.arange(9.0).reshape(1, 1, 3, 3)
    np.testing.assert_array_equal(
        value(lambda a: tl.unfold(a, 2), x)[0], [[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]
    )


@settings(quick, max_examples=10)
@given(geometries())
def test_unfold_and_fold_are_each_others_gradient(g: dict[str, Any]) -> None:
    more = {k: g[k] for k in ("stride", "padding", "dilation")}
    x = data(g["x"], seed=1)
    columns = value(lambda a: tl.unfold(a, g["kernel"], **more), x)
    check(lambda a: tl.square(tl.unfold(a, g["kernel"], **more)), x, atol=1e-6)
    check(lambda c: tl.square(tl.fold(c, g["x"][2:], g["kernel"], **more)), columns, atol=1e-6)


def test_fold_adds_where_windows_overlap() -> None:
    counts = value(lambda c: tl.fold(c, (3, 3), 2), np.ones((1, 4, 4)))
    np.testing.assert_array_equal(counts[0, 0], [[1, 2, 1], [2, 4, 2], [1, 2, 1]])


def test_a_convolution_is_unfold_and_a_matrix_product() -> None:
    x, w = data((2, 3, 5, 4), seed=1), data((4, 3, 3, 2), seed=2)
    columns = value(lambda a: tl.unfold(a, (3, 2)), x)
    np.testing.assert_allclose(value(tl.conv2d, x, w), (w.reshape(4, -1) @ columns).reshape(2, 4, 3, 3), 1e-12)


def test_columns_of_another_size_do_not_fold() -> None:
    with pytest.raises(tl.ShapeError, match="4 windows of 4 elements"):
        tl.fold(np.ones((1, 4, 5)), (3, 3), 2)
