"""What forward ops leave for their gradients is right at every call, whichever of the two runs first."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import tutorlib as tl


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("gradient_first", [True, False])
def test_cross_entropy_of_large_scores_that_are_other_arrays_at_each_call(gradient_first):
    z, labels = tl.symbol("z", (3000, 10), "float32"), tl.symbol("labels", (3000,), "int64")
    loss = tl.cross_entropy(z, labels)
    outputs = [tl.grad(loss, z), loss]
    f = tl.function([z, labels], outputs if gradient_first else outputs[::-1])
    for call in range(3):
        scores, classes = normal(call, 3000, 10), np.random.default_rng(call).integers(0, 10, 3000)
        found = f(scores, classes)
        slope, value = found if gradient_first else found[::-1]
        chance = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        np.testing.assert_allclose(value, -np.log(chance[np.arange(3000), classes]).mean(), rtol=1e-5)
        np.testing.assert_allclose(slope, (chance - np.eye(10)[classes]) / 3000, atol=1e-7)


def windows(x, w):
    return sliding_window_view(x.astype(np.float64), w.shape[2:], axis=(2, 3))


def features_of(x, w):
    return np.einsum("bchwij,ocij->bohw", windows(x, w), w, optimize=True)


def slope_of(x, w, cotangent):
    return np.einsum("bchwij,bohw->ocij", windows(x, w), cotangent, optimize=True)


@pytest.mark.parametrize("gradient_first", [True, False])
def test_a_convolution_of_large_images_that_are_other_arrays_at_each_call(gradient_first):
    x, w = tl.symbol("x", (4, 2, 50, 50), "float32"), tl.symbol("w", (3, 2, 3, 3), "float32")
    weights = normal(9, 4, 3, 48, 48)
    features = tl.conv2d(x, w)
    outputs = [tl.grad(tl.sum(features * weights), w), features]
    f = tl.function([x, w], outputs if gradient_first else outputs[::-1])
    for call in range(3):
        images, kernel = normal(call, 4, 2, 50, 50), normal(call + 5, 3, 2, 3, 3)
        found = f(images, kernel)
        slope, value = found if gradient_first else found[::-1]
        np.testing.assert_allclose(value, features_of(images, kernel), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(slope, slope_of(images, kernel, weights), rtol=1e-3, atol=1e-2)


def test_two_convolutions_of_the_same_images_with_kernels_of_two_sizes():
    x = tl.symbol("x", (2, 1, 9, 9), "float32")
    small, large = tl.shared(normal(1, 2, 1, 2, 2)), tl.shared(normal(2, 2, 1, 3, 3))
    cost = tl.sum(tl.square(tl.conv2d(x, small))) + tl.sum(tl.square(tl.conv2d(x, large)))
    step = tl.function(
        [x],
        cost,
        updates=[(v, v - 0.01 * g) for v, g in zip((small, large), tl.grad(cost, [small, large]), strict=True)],
    )
    kernels, images = [v.get_value() for v in (small, large)], normal(3, 2, 1, 9, 9)
    for _ in range(3):
        features = [features_of(images, k) for k in kernels]
        np.testing.assert_allclose(step(images), sum((f * f).sum() for f in features), rtol=1e-4)
        kernels = [k - 0.01 * slope_of(images, k, 2 * f) for k, f in zip(kernels, features, strict=True)]
    np.testing.assert_allclose(small.get_value(), kernels[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(large.get_value(), kernels[1], rtol=1e-3, atol=1e-4)
