"""Linear algebra on square matrices: values and gradients against JAX, to second order."""

import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import check, data, slopes

A = data((2, 3, 3)) + 3 * np.eye(3)


@pytest.mark.parametrize("x", [A, A[0], A[:, :1, :1], np.zeros((0, 3, 3)), np.zeros((0, 0))])
def test_inv_is_numpys(x):
    check(tl.inv, x, like=jnp.linalg.inv, rtol=1e-7)


@pytest.mark.parametrize(
    ("a", "b"),
    [((2, 3, 3), (3, 2)), ((2, 3, 3), (3,)), ((3, 3), (2, 3, 1)), ((3, 3), (3,)), ((2, 1, 3, 3), (4, 3, 2))],
)
def test_solve_is_numpys(a, b):
    check(tl.solve, data(a) + 3 * np.eye(3), data(b, seed=1), like=jnp.linalg.solve, rtol=1e-7)


@pytest.mark.parametrize("x", [A, A[1], A[:, :2, :2], A[0, :1, :1]])
def test_det_is_numpys(x):
    check(tl.det, x, like=jnp.linalg.det, rtol=1e-7)


def test_the_determinant_of_an_empty_matrix_is_one():
    assert tl.det(tl.tensor(np.zeros((2, 0, 0)))).tolist() == [1.0, 1.0]
    assert slopes(tl.det, np.zeros((2, 0, 0)))[0].shape == (2, 0, 0)


def test_det_has_an_exact_gradient_where_the_matrix_is_singular():
    (slope,) = slopes(tl.det, np.array([[1.0, 2.0], [2.0, 4.0]]))
    np.testing.assert_allclose(slope, [[4.0, -2.0], [-2.0, 1.0]], atol=1e-12)
    (slope,) = slopes(tl.det, np.zeros((3, 3)))
    np.testing.assert_array_equal(slope, np.zeros((3, 3)))


@pytest.mark.parametrize("x", [A, -A[0]])
def test_slogdet_is_numpys(x):
    check(tl.slogdet, x, like=lambda x: tuple(jnp.linalg.slogdet(x)), rtol=1e-7)


def test_slogdet_does_not_overflow():
    sign, log = tl.slogdet(tl.tensor(np.eye(400) * -1e10))
    assert sign.item() == 1.0
    assert log.item() == pytest.approx(400 * np.log(1e10))


def test_slogdet_of_a_singular_matrix():
    sign, log = tl.slogdet(tl.tensor(np.zeros((2, 2))))
    assert (sign.item(), log.item()) == (0.0, -np.inf)


@pytest.mark.parametrize("x", [A, A[0], A[:, :1, :1]])
def test_cholesky_is_numpys(x):
    check(
        lambda a: tl.cholesky(a @ tl.swapaxes(a, -1, -2)),
        x,
        like=lambda a: jnp.linalg.cholesky(a @ jnp.swapaxes(a, -1, -2)),
        rtol=1e-7,
    )


def test_the_gradient_of_cholesky_is_symmetric():
    x = A[0] @ A[0].T
    (slope,) = slopes(tl.cholesky, x)
    np.testing.assert_allclose(slope, slope.T)


def test_a_singular_matrix_is_named_as_such():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    for call in (tl.inv, lambda x: tl.solve(x, [1.0, 2.0])):
        with pytest.raises(tl.TutorlibError, match="singular"):
            call(tl.tensor(singular))
    with pytest.raises(tl.TutorlibError, match="not positive definite"):
        tl.cholesky(tl.tensor(-singular))


@pytest.mark.parametrize("op", [tl.inv, tl.det, tl.slogdet, tl.cholesky])
@pytest.mark.parametrize("shape", [(2, 3), (3,), ()])
def test_a_matrix_that_is_not_square_is_an_error_in_both_modes(op, shape):
    with pytest.raises(tl.ShapeError, match="square"):
        op(tl.tensor(data(shape)))
    with pytest.raises(tl.ShapeError, match="square"):
        op(tl.symbol("x", shape))


@pytest.mark.parametrize("b", [(2,), (2, 1), ()])
def test_a_right_hand_side_that_does_not_fit_is_an_error_in_both_modes(b):
    with pytest.raises(tl.ShapeError):
        tl.solve(tl.tensor(A[0]), tl.tensor(data(b)))
    with pytest.raises(tl.ShapeError):
        tl.solve(tl.symbol("a", (3, 3)), tl.symbol("b", b))


def test_integers_give_floating_point_results():
    assert tl.inv(tl.tensor([[2, 0], [0, 4]])).dtype == np.float64
    assert tl.det(tl.symbol("x", (2, 2), "int64")).dtype == np.float64
