"""Ops that move, repeat or leave out elements by their place."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import check, data, quick, shapes, shapes_and_axes
from tests.ops.rearranged import check_moves


@given(shapes_and_axes())
@quick
def test_flip_is_numpys(case):
    shape, axis = case
    check_moves(lambda x: tl.flip(x, axis), lambda x: np.flip(x, axis), shape)


@given(shapes, st.integers(-5, 5), st.data())
@quick
def test_roll_is_numpys(shape, shift, more):
    axis = more.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    check_moves(lambda x: tl.roll(x, shift, axis), lambda x: np.roll(x, shift, axis), shape)


def test_roll_along_several_axes():
    x = data((3, 4))
    check(lambda x: tl.roll(x, (1, -2), (0, 1)), x, like=lambda x: jnp.roll(x, (1, -2), (0, 1)))
    check(lambda x: tl.roll(x, (1, 1), 0), x, like=lambda x: jnp.roll(x, (1, 1), 0))
    with pytest.raises(tl.ShapeError, match="2 shifts for 3 axes"):
        tl.roll(tl.tensor(x[None]), (1, 2), (0, 1, 2))


# ---- pad ----


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=2), st.integers(1, 3))
@quick
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_pad_is_numpys(mode, widths, n):
    check_moves(lambda x: tl.pad(x, widths, mode), lambda x: np.pad(x, widths, mode), (n, 3))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_pad_differentiates(mode):
    widths = ((1, 2), (0, 0), (5, 3))
    x = data((2, 2, 3))
    check(lambda x: tl.pad(x, widths, mode) ** 2, x, like=lambda x: jnp.pad(x, widths, mode) ** 2)


def test_pad_fills_with_a_number():
    assert tl.pad(tl.tensor([1.0]), 1, constant_values=9).tolist() == [9.0, 1.0, 9.0]
    assert tl.pad(tl.tensor(np.zeros((0,))), (1, 1)).tolist() == [0.0, 0.0]
    assert tl.pad(tl.tensor(5.0), 3).item() == 5.0


def test_an_empty_axis_has_nothing_to_pad_with():
    with pytest.raises(tl.ShapeError, match="empty"):
        tl.pad(tl.tensor(np.zeros((0,))), 1, "edge")


@pytest.mark.parametrize("widths", [-1, (1.5, 0), ((1, 1), (2, 2), (3, 3))])
def test_a_pad_width_that_makes_no_sense_is_an_error(widths):
    with pytest.raises(tl.ShapeError):
        tl.pad(tl.tensor(data((2, 2))), widths)


# ---- tile and repeat ----


@given(shapes, st.lists(st.integers(0, 3), min_size=1, max_size=5))
@quick
def test_tile_is_numpys(shape, reps):
    reps = reps[: len(shape) + 1]
    check_moves(lambda x: tl.tile(x, reps), lambda x: np.tile(x, reps), shape)


def test_tile_by_one_number():
    check(lambda x: tl.tile(x, 2) ** 2, data((2, 3)), like=lambda x: jnp.tile(x, 2) ** 2)


@given(shapes, st.integers(0, 3), st.data())
@quick
def test_repeat_is_numpys(shape, n, more):
    axis = more.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    check_moves(lambda x: tl.repeat(x, n, axis), lambda x: np.repeat(x, n, axis), shape)


def test_repeat_by_one_number_for_each_element():
    counts = np.array([0, 1, 3])
    check(lambda x: tl.repeat(x, counts, 1) ** 2, data((2, 3)), like=lambda x: jnp.repeat(x, counts, 1) ** 2)
    with pytest.raises(tl.ShapeError, match="3 counts for 2 elements"):
        tl.repeat(tl.tensor([1.0, 2.0]), counts)


# ---- triangles and diagonals ----


@given(st.integers(0, 3), st.integers(0, 3), st.integers(-4, 4))
@quick
def test_triangles_are_numpys(rows, columns, k):
    for mine, theirs in ((tl.tril, np.tril), (tl.triu, np.triu)):
        check_moves(lambda x, f=mine: f(x, k), lambda x, f=theirs: f(x, k), (2, rows, columns))


@given(st.permutations(range(3)), st.integers(-4, 4))
@quick
def test_diagonals_are_numpys(axes, k):
    a, b = axes[:2]
    check_moves(lambda x: tl.diagonal(x, k, a, b - 3), lambda x: np.diagonal(x, k, a, b - 3), (2, 3, 4))


def test_flips_rolls_triangles_and_diagonals_differentiate_twice():
    x = data((2, 3))
    check(
        lambda x: (tl.flip(x, 1) ** 2, tl.roll(x, 1) ** 2, tl.triu(x, 1) ** 2, tl.tril(x) ** 2, tl.diagonal(x, 1) ** 2),
        x,
        like=lambda x: (
            jnp.flip(x, 1) ** 2,
            jnp.roll(x, 1) ** 2,
            jnp.triu(x, 1) ** 2,
            jnp.tril(x) ** 2,
            jnp.diagonal(x, 1) ** 2,
        ),
    )


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_diag_makes_a_matrix_of_a_vector_and_back(k):
    check(lambda x: tl.diag(x, k) ** 2, data((3,)), like=lambda x: jnp.diag(x, k) ** 2)
    check(lambda x: tl.diag(x, k) ** 2, data((3, 4)), like=lambda x: jnp.diag(x, k) ** 2)


def test_trace_sums_the_diagonal():
    check(lambda x: tl.trace(x, 1, -1, 0) ** 2, data((2, 3, 4)), like=lambda x: jnp.trace(x, 1, -1, 0) ** 2)


@pytest.mark.parametrize("op", [tl.tril, tl.triu, tl.diagonal])
def test_a_vector_has_no_triangle_and_no_diagonal(op):
    with pytest.raises(tl.ShapeError, match="matrix"):
        op(tl.tensor([1.0, 2.0]))
