"""Joining arrays and splitting them."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import backward, check, data, derivatives, quick, value
from tests.ops.rearranged import check_moves


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(-2, 1))
@quick
def test_concatenate_joins_parts_of_any_length(lengths, axis):
    parts = [data((n, 2) if axis % 2 == 0 else (2, n), seed=n) for n in lengths]
    expected = np.concatenate(parts, axis)
    weights = np.split(
        np.cos(1.7 * np.arange(expected.size) + 0.3).reshape(expected.shape), np.cumsum(lengths)[:-1], axis
    )
    for mode in ("dynamic", "static"):
        np.testing.assert_array_equal(value(lambda *p: tl.concatenate(p, axis), *parts, mode=mode), expected)
        slopes = derivatives(lambda *p: tl.concatenate(p, axis), *parts, mode=mode)[0]
        for slope, weight in zip(slopes, weights, strict=True):
            np.testing.assert_array_equal(slope, weight)


def test_joins_differentiate_twice():
    x, y = data((2, 1)), data((2, 2), seed=1)
    check(lambda x, y: tl.concatenate([x, y], 1) ** 3, x, y, like=lambda x, y: jnp.concatenate([x, y], 1) ** 3)
    check(lambda x: tl.stack([x, x**2], -1) ** 2, x, like=lambda x: jnp.stack([x, x**2], -1) ** 2)


@given(st.integers(1, 3), st.integers(-3, 2))
@quick
def test_stack_joins_along_a_new_axis(n, axis):
    check_moves(lambda x: tl.stack([x] * n, axis), lambda x: np.stack([x] * n, axis), (2, 1))


def test_the_parts_may_have_different_dtypes():
    x, n = data((2,), "float32"), np.array([1, 2])
    joined = value(lambda x, n: tl.concatenate([x, n]), x, n)
    assert joined.dtype == np.concatenate([x, n]).dtype
    assert tl.concatenate([tl.symbol("x", (None,), "float32"), tl.symbol("n", (2,), "int64")]).dtype == joined.dtype
    (g,) = backward(lambda x: tl.concatenate([x, n]), x)
    assert g.dtype == np.float32


def test_a_number_among_the_parts_does_not_widen_them():
    x = tl.tensor(np.float32(2.0))
    assert tl.stack([x, 1.0]).dtype == np.float32
    assert tl.stack([tl.scalar("x", dtype="float32"), 1]).dtype == np.float32


def test_the_same_part_may_be_joined_twice():
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    (tl.concatenate([x, x]) * tl.tensor([1.0, 2.0, 10.0, 20.0])).sum().backward()
    assert x.grad.tolist() == [11.0, 22.0]


def test_concatenate_without_an_axis_joins_all_elements():
    x, y = data((2, 2)), data((3,))
    check(lambda x, y: tl.concatenate([x, y], None), x, y, like=lambda x, y: jnp.concatenate([x, y], None))


def test_nothing_to_join_is_an_error():
    for join in (tl.concatenate, tl.stack):
        with pytest.raises(tl.ShapeError, match="nothing to join"):
            join([])


def test_an_empty_list_is_a_part_without_elements():
    assert tl.concatenate([tl.tensor([1.0]), []]).tolist() == [1.0]


def test_parts_that_do_not_fit_are_shown_with_the_dim_marked():
    with pytest.raises(tl.ShapeError) as error:
        tl.concatenate([tl.tensor(data((2, 3))), tl.tensor(data((2, 4)))])
    assert error.value.shapes == ((2, 3), (2, 4))
    assert error.value.wrong_dims == (1, 1)
    with pytest.raises(tl.ShapeError) as error:
        tl.stack([tl.tensor(data((2, 3))), tl.tensor(data((2, 4)))])
    assert error.value.shapes == ((2, 3), (2, 4))


def test_scalars_cannot_be_concatenated():
    with pytest.raises(tl.ShapeError, match="axis 0"):
        tl.concatenate([tl.tensor(1.0), tl.tensor(2.0)])


# ---- split ----


@given(st.integers(1, 3), st.integers(0, 2), st.integers(-2, 1))
@quick
def test_split_into_equal_parts(sections, length, axis):
    shape = (sections * length, 2) if axis % 2 == 0 else (2, sections * length)
    check_moves(lambda x: tl.split(x, sections, axis), lambda x: np.split(x, sections, axis), shape)


@pytest.mark.parametrize("cuts", [[], [1], [1, 3], [0, 5], [3, 1], [2, 9]])
def test_split_at_given_places_is_numpys(cuts):
    check_moves(lambda x: tl.split(x, cuts), lambda x: np.split(x, cuts), (5, 2))


@pytest.mark.parametrize("how", [[1, 3], 2])
def test_the_pieces_joined_are_the_whole(how):
    check(lambda x: tl.concatenate(tl.split(x, how)) ** 3, data((4, 2)), like=lambda x: x**3)


def test_parts_that_would_be_unequal_are_an_error():
    with pytest.raises(tl.ShapeError, match="2 equal parts"):
        tl.split(tl.tensor([1.0, 2.0, 3.0]), 2)
    x = tl.vector("x")
    with pytest.raises(tl.ShapeError, match="2 equal parts"):
        tl.split(x, 2)[0].eval({x: [1.0, 2.0, 3.0]})
    with pytest.raises(tl.ShapeError):
        tl.split(x, 0)
