"""Convolutions and poolings in a planned function: images with the batch last in memory, and nobody notices."""

import numpy as np
import pytest

import tutorlib as tl
from tests.compile.test_source import program


def normal(*shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def outputs_of(network, images, kernel):
    out = network(images, kernel)
    return [out, *tl.grad(tl.square(tl.sin(out)).sum(), [images, kernel])]


def residual(x, w):
    h = tl.conv2d(x, w, padding=1)
    return tl.max_pool2d(tl.softplus(h) + tl.where(h > 0, h, x), 2)


NETWORKS = {
    "conv and pool": lambda x, w: tl.max_pool2d(tl.relu(tl.conv2d(x, w)), 2),
    "padding and a remainder": lambda x, w: tl.max_pool2d(tl.conv2d(x, w, padding=1), (2, 3)),
    "windows that overlap": lambda x, w: tl.max_pool2d(tl.conv2d(x, w, stride=(1, 2)), 2, stride=1, padding=1),
    "groups": lambda x, w: tl.avg_pool2d(tl.conv2d(x, w[:, :1], groups=3), 2),
    "two orders in memory": residual,
    "one place": lambda x, w: tl.conv2d(x, w[:, :, :1, :1]),
    "transposed": lambda x, w: tl.conv_transpose2d(tl.conv2d(x, w, stride=2), w, stride=2),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_planned_network_computes_what_the_plain_plan_does_and_so_does_its_text(name, dtype):
    images, kernel = tl.symbol("images", (None, 3, None, None), dtype), tl.symbol("kernel", (3, 3, 3, 3), dtype)
    outputs = outputs_of(NETWORKS[name], images, kernel)
    planned, plain = (tl.function([images, kernel], outputs, mode=mode) for mode in (None, "plain"))
    w = normal(3, 3, 3, 3, seed=1, dtype=dtype)
    for shape in [(4, 3, 7, 6), (1, 3, 6, 8)]:
        x = normal(*shape, seed=shape[0], dtype=dtype)
        found = planned(x, w)
        for mine, other in zip(found, plain(x, w), strict=True):
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, *((1e-10, 1e-12) if dtype == "float64" else (1e-3, 1e-4)))
        for again, mine in zip(program(planned)(x, w), found, strict=True):
            np.testing.assert_allclose(again, mine, *((1e-10, 1e-12) if dtype == "float64" else (1e-3, 1e-4)))


def test_ties_and_infinite_cotangents_are_treated_as_they_are_without_a_plan():
    x, g = tl.symbol("x", (2, 1, 4, 4)), tl.symbol("g", (2, 1, 2, 2))
    slope = tl.function([x, g], tl.grad(tl.max_pool2d(x, 2), x, cotangent=g))
    weights = normal(2, 1, 2, 2)
    apart = normal(2, 1, 4, 4, seed=1)
    np.testing.assert_allclose(slope(apart, weights).reshape(2, 2, 2, 2, 2).sum((2, 4)), weights[:, 0], 1e-12)
    np.testing.assert_allclose(slope(np.ones((2, 1, 4, 4)), weights), np.repeat(np.repeat(weights, 2, 2), 2, 3) / 4)
    weights[0, 0, 0, 0] = np.inf
    found = slope(apart, weights)
    assert np.isinf(found).sum() == 1
    assert not np.isnan(found).any()


def test_a_result_that_is_returned_is_an_ordinary_array():
    x, w = tl.symbol("x", (None, 2, 5, 5)), tl.symbol("w", (3, 2, 2, 2))
    f = tl.function([x, w], tl.conv2d(x, w))
    first = f(normal(2, 2, 5, 5), normal(3, 2, 2, 2))
    before = first.copy()
    f(normal(2, 2, 5, 5, seed=5), normal(3, 2, 2, 2))
    np.testing.assert_array_equal(first, before)
