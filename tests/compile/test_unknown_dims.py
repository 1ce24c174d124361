"""Dims that nobody knows while the graph is built: NumPy's broadcasting and the right gradient all the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tutorlib as tl

quick = settings(max_examples=40, deadline=None, derandomize=True)
DIMS = st.sampled_from([0, 1, 1, 2, 3])


@st.composite
def broadcastable(draw, count=2, max_ndim=3):
    """Shapes that broadcast, with ones where a dim is to be stretched and leading axes left out."""
    full = tuple(draw(st.lists(DIMS, max_size=max_ndim)))
    shapes = []
    for _ in range(count):
        dims = tuple(1 if draw(st.booleans()) else d for d in full)
        shapes.append(dims[draw(st.integers(0, len(dims))) :])
    return shapes


def numbers(shape, seed):
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


def gradients(fn, arrays, symbols=None):
    """Values and gradients of the sum of ``fn``: dynamic with real shapes, or static on ``symbols``."""
    if symbols is None:
        inputs = [tl.tensor(a, requires_grad=True) for a in arrays]
        cost = tl.sum(fn(*inputs))
        return [cost.numpy(), *(g.numpy() for g in tl.grad(cost, inputs))]
    cost = tl.sum(fn(*symbols))
    return tl.function(symbols, [cost, *tl.grad(cost, symbols)])(*arrays)


def unknown(arrays):
    return [tl.symbol(f"x{i}", shape=(None,) * a.ndim) for i, a in enumerate(arrays)]


def check(fn, arrays):
    expected, static = gradients(fn, arrays), gradients(fn, arrays, unknown(arrays))
    for e, s in zip(expected, static, strict=True):
        assert e.shape == s.shape
        np.testing.assert_allclose(s, e, rtol=1e-12, atol=1e-12)


@quick
@given(broadcastable())
@pytest.mark.parametrize(
    "fn",
    [
        lambda x, y: x + y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: x**y,
        lambda x, y: tl.maximum(x, y),
        lambda x, y: tl.where(x > y, x, y),
        lambda x, y: tl.exp(x) * tl.tanh(x + y) - y,
        lambda x, y: (x + y) * (x - y),
    ],
    ids="add mul div pow maximum where mixed twice".split(),
)
def test_elementwise_ops_of_two_inputs(fn, shapes):
    check(fn, [numbers(s, i) for i, s in enumerate(shapes)])


@quick
@given(broadcastable(count=3))
def test_elementwise_ops_of_three_inputs(shapes):
    check(lambda x, y, z: tl.where(x > y, y * z, x - z), [numbers(s, i) for i, s in enumerate(shapes)])


@quick
@given(broadcastable(), st.booleans())
def test_reductions_of_broadcast_results(shapes, keepdims):
    arrays = [numbers(s, i) for i, s in enumerate(shapes)]
    ndim = max(a.ndim for a in arrays)
    for axis in range(ndim):
        check(lambda x, y, axis=axis: tl.sum(x * y, axis=axis, keepdims=keepdims) ** 2, arrays)
    if ndim and 0 not in np.broadcast_shapes(*shapes):
        check(lambda x, y: tl.mean(x * y, axis=0, keepdims=keepdims) * x, arrays)


@quick
@given(
    st.sampled_from(
        [((2,), (2,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 1)), ((1, 3), (3, 2)), ((0, 3), (3, 2))]
    ),
    st.sampled_from([(), (1,), (2,), (2, 1), (1, 3), (0,)]),
    st.sampled_from([(), (1,), (2,), (3,), (1, 1)]),
)
def test_matrix_products_whose_batch_dims_stretch(core, left, right):
    x, y = core
    shapes = (left + x if len(x) > 1 else x, right + y if len(y) > 1 else y)
    try:
        np.matmul(np.empty(shapes[0]), np.empty(shapes[1]))
    except ValueError:
        return
    check(lambda a, b: tl.matmul(a, b), [numbers(s, i) for i, s in enumerate(shapes)])


def test_one_compiled_gradient_serves_lengths_that_stretch_and_lengths_that_do_not():
    x, y = tl.vector("x"), tl.vector("y")
    cost = (x * y).sum()
    both = tl.function([x, y], tl.grad(cost, [x, y]))
    gx, gy = both([2.0], [1.0, 2.0, 3.0])
    assert (gx.tolist(), gy.tolist()) == ([6.0], [2.0, 2.0, 2.0])
    gx, gy = both([2.0, 3.0, 4.0], [1.0, 2.0, 3.0])
    assert (gx.tolist(), gy.tolist()) == ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    gx, gy = both([2.0, 3.0, 4.0], [10.0])
    assert (gx.tolist(), gy.tolist()) == ([10.0, 10.0, 10.0], [9.0])


def test_a_bias_of_unknown_length_that_turns_out_to_be_one():
    x, b = tl.matrix("x"), tl.vector("b")
    slope = tl.function([x, b], tl.grad(tl.tanh(x + b).sum(), b))
    assert slope(np.zeros((4, 3)), np.zeros(1)).tolist() == [12.0]
    assert slope(np.zeros((4, 3)), np.zeros(3)).tolist() == [4.0, 4.0, 4.0]


def test_second_order_through_a_stretched_dim():
    x, y = tl.vector("x"), tl.vector("y")
    first = tl.grad((x**2 * y).sum(), x)
    second = tl.function([x, y], tl.grad(first.sum(), x))
    assert second([3.0], [1.0, 2.0, 3.0]).tolist() == [12.0]  # Σ 2y
    assert second([3.0, 3.0, 3.0], [1.0, 2.0, 3.0]).tolist() == [2.0, 4.0, 6.0]


def test_lengths_that_do_not_fit_are_found_when_it_runs():
    x, y = tl.vector("x"), tl.vector("y")
    add = tl.function([x, y], x + y)
    with pytest.raises(tl.ShapeError, match=r"\(2,\) and \(3,\)"):
        add([1.0, 2.0], [1.0, 2.0, 3.0])
