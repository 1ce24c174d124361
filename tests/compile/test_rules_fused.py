"""Rules that put fused operators in the place of what is written out, and pooling before what is cheaper after it."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile.c_compiler import compiler
from tutorlib.compile.rewrite import rewrite

COMPILED = pytest.param("c", marks=pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine"))


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


# ---- layers and losses ----

X, W, B = tl.symbol("X", (None, 4)), tl.symbol("W", (4, 3)), tl.symbol("B", (3,))
LABELS = tl.symbol("labels", (None,), "int64")


@pytest.mark.parametrize("layer", [X @ W + B, B + X @ W])
def test_a_product_and_a_bias_are_a_linear_layer(layer):
    assert ops(layer) == ["linear"]


@pytest.mark.parametrize(
    "other",
    [
        X @ W + 1.0,
        X @ W + tl.symbol("column", (None, 1)),
        X @ W + tl.symbol("b", (None,)),
        X @ tl.vector("w") + tl.vector("b"),
    ],
)
def test_other_sums_with_a_product_stay_sums(other):
    assert "linear" not in ops(other)


def test_a_product_that_is_needed_elsewhere_is_not_computed_twice():
    product = X @ W
    (out,), log = rewrite([(product + B) * product])
    assert [node.op.name for node in tl.toposort([out])].count("matmul") == 1
    assert "linear" not in [node.op.name for node in tl.toposort([out])]
    assert any(miss.rule == "product_and_bias" and "twice" in miss.why for miss in log.near)


def test_a_picked_log_softmax_is_cross_entropy_and_its_gradient_one_op():
    loss = tl.mean(tl.nll(tl.log_softmax(X), LABELS, "none"))
    (value, slope), _ = rewrite([loss, tl.grad(loss, X)])
    names = [node.op.name for node in tl.toposort([value, slope])]
    assert {"cross_entropy", "cross_entropy_back"} <= set(names)
    assert not {"softmax", "log_softmax", "put_label", "pick_label", "exp"} & set(names)


@pytest.mark.parametrize("mode", [None, "check", "plain", COMPILED])
def test_a_network_written_out_trains_as_in_dynamic_mode(mode):
    x, w, b, y = normal(5, 4), normal(4, 3, seed=1), normal(3, seed=2), np.array([0, 2, 1, 2, 0])
    loss = tl.nll(tl.log_softmax(tl.tanh(X @ W + B)), LABELS)
    static = tl.function([X, W, B, LABELS], [loss, *tl.grad(loss, [X, W, B])], mode=mode)(x, w, b, y)
    leaves = [tl.tensor(a, requires_grad=True) for a in (x, w, b)]
    dynamic = tl.nll(tl.log_softmax(tl.tanh(leaves[0] @ leaves[1] + leaves[2])), y)
    dynamic.backward()
    for mine, other in zip(static, [dynamic, *(v.grad for v in leaves)], strict=True):
        np.testing.assert_allclose(mine, other.numpy(), 1e-10, 1e-14)


@pytest.mark.parametrize("mode", [None, COMPILED])
@pytest.mark.parametrize("columns", [1, 3])
def test_a_linear_layer_of_any_width_computes_in_every_way(mode, columns):
    x, w, b = normal(5, 4), normal(4, columns, seed=1), normal(columns, seed=2)
    shared = tl.shared(w), tl.shared(b)
    layer = tl.function([X], tl.relu(tl.linear(X, *shared)) * 2.0, mode=mode)
    np.testing.assert_allclose(layer(x), np.maximum(x @ w + b, 0) * 2.0, 1e-12)


def test_a_wrong_label_is_refused_where_only_the_gradient_is_computed():
    slope = tl.function([X, LABELS], tl.grad(tl.cross_entropy(X, LABELS), X))
    slope(normal(2, 4), np.array([0, 3]))
    for wrong in (4, -1):
        with pytest.raises(tl.OutOfBoundsError):
            slope(normal(2, 4), np.array([0, wrong]))
