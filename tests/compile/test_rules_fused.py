"""Rules that put fused operators in the place of what is written out, and pooling before what is cheaper after it."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile.rewrite import rewrite


def ops(expression):
    return [node.op.name for node in tl.toposort(rewrite([expression])[0])]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


IMAGES = tl.symbol("images", (None, 3, 5, 7))
OFFSET = tl.symbol("offset", (3,))


def pooled(images, offset):
    return tl.max_pool2d(tl.relu(images + tl.reshape(offset, (1, 3, 1, 1))), 2)


def test_pooling_comes_before_relu_and_before_what_is_added_to_a_whole_image():
    assert ops(pooled(IMAGES, OFFSET)) == ["max_pool", "reshape", "add", "relu"]


def test_what_is_added_to_each_pixel_is_added_before_pooling():
    picture = tl.symbol("picture", (5, 7))
    assert ops(tl.max_pool2d(IMAGES + picture, 2)) == ["add", "max_pool"]


def test_the_way_back_works_on_pooled_maps_too():
    slopes = tl.grad(tl.square(pooled(IMAGES, OFFSET)).sum(), [IMAGES, OFFSET])
    nodes = tl.toposort(rewrite(slopes)[0])
    (spread,) = [node for node in nodes if node.op.name == "max_pool_spread"]
    assert spread.inputs[1] is IMAGES
    assert {n.op.name for n in nodes if n.outputs[0].shape == (None, 3, 5, 7)} == {"max_pool_spread", "unbroadcast"}


@pytest.mark.parametrize(
    "make", [pooled, lambda images, offset: tl.max_pool2d(images + offset[:, None, None], 3, 1, 1)]
)
@pytest.mark.parametrize("options", [{}, {"mode": "check"}, {"mode": "plain"}])
def test_gradients_through_pooling_are_those_of_dynamic_mode(make, options):
    images, offset = normal(2, 3, 5, 7), normal(3, seed=1)
    cost = tl.exp(make(IMAGES, OFFSET)).sum()
    static = tl.function([IMAGES, OFFSET], [cost, *tl.grad(cost, [IMAGES, OFFSET])], **options)(images, offset)
    leaves = [tl.tensor(a, requires_grad=True) for a in (images, offset)]
    loss = tl.exp(make(*leaves)).sum()
    loss.backward()
    for mine, other in zip(static, [loss, *(v.grad for v in leaves)], strict=True):
        np.testing.assert_allclose(mine, other.numpy(), 1e-12)


def test_equal_largest_elements_share_the_gradient_after_the_rules_as_before():
    x = tl.symbol("x", (1, 1, 2, 4))
    cost = tl.max_pool2d(tl.relu(x), 2).sum()
    value = np.array([[[[1.0, 1.0, -1.0, -1.0], [0.0, 1.0, -2.0, -1.0]]]])
    slope = tl.function([x], tl.grad(cost, x))(value)
    np.testing.assert_allclose(slope[0, 0], [[1 / 3, 1 / 3, 0, 0], [0, 1 / 3, 0, 0]])


def test_the_rules_can_be_switched_off():
    with tl.rules_off("pool_before_relu", "pool_before_offset"):
        assert ops(pooled(IMAGES, OFFSET)) == ["reshape", "add", "relu", "max_pool"]
