"""Sorting and picking by order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import check, data, quick, shapes, value
from tests.ops.rearranged import check_moves


@given(shapes.filter(len), st.booleans(), st.data())
@quick
def test_sort_is_numpys_and_its_gradient_goes_back(shape, descending, more):
    axis = more.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    x = data(shape)
    order = np.argsort(-x if descending else x, axis)

    def like(y):
        return np.take_along_axis(y.ravel() if axis is None else y, order, axis)

    check_moves(lambda x: tl.sort(x, axis, descending=descending), like, shape)


def test_sort_differentiates_twice():
    check(lambda x: tl.sort(x, 0) ** 3, data((3, 2)), like=lambda x: jnp.sort(x, 0) ** 3)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.booleans())
@quick
def test_equal_elements_keep_their_order(numbers, descending):
    expected = np.argsort([-n if descending else n for n in numbers], kind="stable")
    for mode in ("dynamic", "static"):
        got = value(lambda x: tl.argsort(x, descending=descending), np.array(numbers), mode=mode)
        np.testing.assert_array_equal(got, expected)


def test_nan_sorts_last_and_first_when_descending():
    x = tl.tensor([np.nan, 1.0, 2.0])
    assert tl.argsort(x).tolist() == [1, 2, 0]
    assert tl.argsort(x, descending=True).tolist() == [0, 2, 1]


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("axis", [0, -1])
def test_topk_gives_values_and_indices(k, axis):
    x = data((3, 4))

    def like(x):
        values, indices = jax.lax.top_k(jnp.moveaxis(x, axis, -1), k)
        return jnp.moveaxis(values, -1, axis), jnp.moveaxis(indices, -1, axis)

    check(lambda x: tl.topk(x, k, axis), x, like=like)


def test_topk_may_give_the_smallest():
    values, indices = tl.topk(tl.tensor([3.0, 1.0, 1.0, 2.0]), 3, largest=False)
    assert values.tolist() == [1.0, 1.0, 2.0]
    assert indices.tolist() == [1, 2, 3]


def test_topk_of_too_many_is_an_error_in_both_modes():
    with pytest.raises(tl.ShapeError, match="3 elements from an axis of length 2"):
        tl.topk(tl.tensor([1.0, 2.0]), 3)
    x = tl.vector("x")
    with pytest.raises(tl.ShapeError, match="3 elements from an axis of length 2"):
        tl.topk(x, 3)[0].eval({x: [1.0, 2.0]})


def test_a_scalar_has_no_order():
    with pytest.raises(tl.ShapeError):
        tl.sort(tl.tensor(1.0))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_is_numpys(side):
    a, v = np.array([1.0, 2.0, 2.0, 4.0]), np.array([[0.0, 2.0], [4.0, 9.0]])
    for mode in ("dynamic", "static"):
        got = value(lambda a, v: tl.searchsorted(a, v, side), a, v, mode=mode)
        np.testing.assert_array_equal(got, np.searchsorted(a, v, side))


def test_unique_gives_each_value_once_and_the_first_gets_the_gradient():
    x = tl.tensor([3.0, 1.0, 3.0], requires_grad=True)
    y = tl.unique(x)
    assert y.tolist() == [1.0, 3.0]
    (y * tl.tensor([10.0, 20.0])).sum().backward()
    assert x.grad.tolist() == [20.0, 10.0, 0.0]


def test_unique_of_a_symbol_has_an_unknown_length():
    x = tl.matrix("x")
    assert tl.unique(x).shape == (None,)
    assert tl.unique(x).eval({x: [[2.0, 1.0], [1.0, 2.0]]}).tolist() == [1.0, 2.0]
