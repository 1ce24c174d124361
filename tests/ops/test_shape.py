"""Ops that change the shape and keep the elements."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import backward, check, data, quick, shapes, value
from tests.ops.rearranged import check_moves

# ---- reshape ----


@given(shapes, st.data())
@quick
def test_reshape_keeps_the_elements_in_order(shape, more):
    x = data(shape)
    sides = more.draw(st.permutations(shape))
    if 0 not in sides and more.draw(st.booleans()):
        sides = [*sides, -1]
    np.testing.assert_array_equal(value(lambda x: tl.reshape(x, sides), x), x.reshape(sides))
    np.testing.assert_array_equal(value(lambda x: x.reshape(sides), x, mode="static"), x.reshape(sides))


def test_reshape_differentiates():
    check(lambda x: tl.reshape(x, (3, -1)) ** 2, data((2, 3)), like=lambda x: x.reshape(3, -1) ** 2)


@pytest.mark.parametrize(("have", "want"), [((0, 3), (-1, 3)), ((0,), (0, 5)), ((2, 0), (0, 7, 2)), ((), (1, -1))])
def test_reshape_of_few_or_no_elements(have, want):
    x = np.zeros(have)
    assert value(lambda x: tl.reshape(x, want), x).shape == x.reshape(want).shape
    assert tl.reshape(tl.symbol("x", shape=have), want).shape == x.reshape(want).shape


@pytest.mark.parametrize(("have", "want"), [((6,), (4,)), ((6,), (4, -1)), ((0,), (0, -1)), ((2,), (-1, -1))])
def test_reshape_to_a_shape_that_does_not_fit_is_an_error(have, want):
    with pytest.raises(tl.ShapeError):
        tl.reshape(tl.tensor(np.zeros(have)), want)
    with pytest.raises(tl.ShapeError):
        tl.reshape(tl.symbol("x", shape=have), want)


@pytest.mark.parametrize("shape", [(2.5,), (-2,), ("a",)])
def test_a_shape_is_made_of_whole_numbers(shape):
    with pytest.raises(tl.ShapeError, match="whole numbers"):
        tl.reshape(tl.tensor([1.0]), shape)


def test_flatten_and_ravel_give_a_vector():
    x = data((2, 0, 3))
    assert tl.flatten(tl.tensor(x)).shape == (0,)
    assert tl.ravel(tl.tensor(5.0)).shape == (1,)
    assert tl.symbol("x", shape=(None, 3)).ravel().shape == (None,)


# ---- order of axes ----


@given(st.permutations(range(4)))
@quick
def test_transpose_orders_axes_as_numpy_does(order):
    x = data((2, 1, 3, 2))
    check_moves(lambda x: tl.transpose(x, order), lambda x: x.transpose(order), x.shape)
    minus = [a - 4 for a in order]
    np.testing.assert_array_equal(value(lambda x: tl.transpose(x, minus), x), x.transpose(order))


@given(st.permutations(range(3)), st.permutations(range(-3, 0)), st.integers(0, 3))
@quick
def test_moveaxis_moves_as_numpy_does(source, destination, n):
    x = data((2, 1, 3))
    expected = np.moveaxis(x, source[:n], destination[:n])
    np.testing.assert_array_equal(value(lambda x: tl.moveaxis(x, source[:n], destination[:n]), x), expected)


def test_swapaxes_exchanges_two_axes():
    check(lambda x: tl.swapaxes(x, 0, -1), data((2, 1, 3)), like=lambda x: jnp.swapaxes(x, 0, -1))


def test_an_axis_named_twice_is_an_error():
    x = tl.tensor(data((2, 3)))
    with pytest.raises(tl.ShapeError):
        tl.transpose(x, (0, 0))
    with pytest.raises(tl.ShapeError):
        tl.moveaxis(x, (0, 0), (0, 1))


# ---- axes of length one ----


@given(shapes, st.data())
@quick
def test_expand_dims_and_squeeze_undo_each_other(shape, more):
    x = data(shape)
    n = len(shape)
    axis = more.draw(st.lists(st.integers(-n - 2, n + 1), unique_by=lambda a: a % (n + 2), min_size=2, max_size=2))
    expected = np.expand_dims(x, tuple(axis))
    np.testing.assert_array_equal(value(lambda x: tl.expand_dims(x, axis), x, mode="static"), expected)
    np.testing.assert_array_equal(value(lambda x: tl.squeeze(tl.expand_dims(x, axis), axis), x), x)


def test_squeeze_and_expand_dims_differentiate():
    check(
        lambda x: tl.expand_dims(tl.squeeze(x, 1), (0, 2)) ** 2,
        data((2, 1, 3)),
        like=lambda x: x[None, :, 0, None] ** 2,
    )


def test_an_unknown_dim_is_squeezed_when_it_turns_out_to_be_one():
    x = tl.symbol("x", shape=(None, 2))
    f = tl.function([x], tl.squeeze(x, 0))
    assert f([[1.0, 2.0]]).tolist() == [1.0, 2.0]
    with pytest.raises(tl.ShapeError, match="length 2"):
        f([[1.0, 2.0], [3.0, 4.0]])


def test_squeeze_of_everything_needs_known_dims():
    with pytest.raises(tl.ShapeError, match="not known"):
        tl.squeeze(tl.symbol("x", shape=(None, 1)))


# ---- broadcasting ----


@pytest.mark.parametrize(
    ("have", "want"), [((1, 3), (2, 3)), ((), (2, 2)), ((3,), (2, 1, 3)), ((1,), (0,)), ((2, 1), (2, 0))]
)
def test_broadcast_to_stretches_and_its_gradient_sums(have, want):
    check(lambda x: tl.broadcast_to(x, want) ** 2, data(have), like=lambda x: jnp.broadcast_to(x, want) ** 2, order=2)


@pytest.mark.parametrize("want", [(1,), (3,), (2, 1)])
def test_an_unknown_dim_is_stretched_when_it_turns_out_to_be_one(want):
    x = tl.symbol("x", shape=(None,))
    y = tl.broadcast_to(x, want)
    assert y.shape == want
    assert y.eval({x: [5.0]}).tolist() == np.broadcast_to([5.0], want).tolist()
    with pytest.raises(tl.ShapeError):
        y.eval({x: [1.0, 2.0]})


@pytest.mark.parametrize(("have", "want"), [((2,), (3,)), ((2, 3), (3,)), ((3,), (1,))])
def test_only_dims_of_length_one_stretch(have, want):
    with pytest.raises(tl.ShapeError):
        tl.broadcast_to(tl.tensor(data(have)), want)


def test_broadcast_arrays_gives_all_one_shape():
    x, y = data((3, 1)), data((2, 1, 2), seed=1)
    check(lambda x, y: tl.broadcast_arrays(x, y), x, y, like=lambda x, y: jnp.broadcast_arrays(x, y))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_meshgrid_is_numpys(indexing, n):
    vectors = [data((3,)), data((2,), seed=1), data((1,), seed=2)][:n]
    check(lambda *v: tl.meshgrid(*v, indexing=indexing), *vectors, like=lambda *v: jnp.meshgrid(*v, indexing=indexing))


def test_meshgrid_takes_a_scalar_as_one_coordinate():
    assert tl.meshgrid(tl.tensor([1, 2]), 5)[1].tolist() == [[5, 5]]
    with pytest.raises(tl.ShapeError, match="vectors"):
        tl.meshgrid(tl.tensor([[1, 2]]))


def test_gradients_of_stretched_float32_stay_float32():
    (g,) = backward(lambda x: tl.broadcast_to(x, (4, 3)), data((3,), "float32"))
    assert g.dtype == np.float32
