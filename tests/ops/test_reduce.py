"""Reductions against JAX in both modes, over every form of axis; their dtypes and their errors."""

import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
import pytest
from hypothesis import given

import tutorlib as tl
from tests.ops.oracle import MODES, check, data, nonempty_shapes, quick, shapes_and_axes, slopes, value

X = data((2, 3, 4))
DIFFERENTIABLE = {
    "sum": jnp.sum,
    "mean": jnp.mean,
    "max": jnp.max,
    "min": jnp.min,
    "prod": jnp.prod,
    "var": jnp.var,
    "std": jnp.std,
    "median": jnp.median,
    "logsumexp": jsp.logsumexp,
}
NUMPYS = {
    "sum": np.sum,
    "prod": np.prod,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "var": np.var,
    "std": np.std,
    "median": np.median,
    "all": np.all,
    "any": np.any,
    "count_nonzero": np.count_nonzero,
}
FORMS = [(None, False), (-2, True), ((0, 2), False)]


@pytest.mark.parametrize("axis, keepdims", FORMS)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_reduction_agrees_with_jax(name, axis, keepdims):
    like = DIFFERENTIABLE[name]
    check(
        lambda x: getattr(tl, name)(x, axis=axis, keepdims=keepdims),
        X,
        like=lambda x: like(x, axis=axis, keepdims=keepdims),
    )


@pytest.mark.parametrize("name", NUMPYS)
@quick
@given(shapes_and_axes(nonempty_shapes))
def test_every_axis_gives_what_numpy_gives(name, at):
    shape, axis = at
    if name in ("median", "mean", "var", "std", "max", "min") and axis == ():
        return
    x = data(shape, low=-1, high=1).round(0)
    for keepdims in (False, True):
        expected = NUMPYS[name](x, axis=axis, keepdims=keepdims)
        for mode in MODES:
            got = value(lambda v, k=keepdims: getattr(tl, name)(v, axis=axis, keepdims=k), x, mode=mode)
            assert got.shape == np.shape(expected)
            np.testing.assert_allclose(got, expected, 1e-12, 1e-14)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "logsumexp", "norm"])
@quick
@given(shapes_and_axes())
def test_gradient_has_the_shape_of_its_input_when_some_dims_are_0(name, at):
    shape, axis = at
    x = data(shape)
    for mode in MODES:
        (slope,) = slopes(lambda v: getattr(tl, name)(v, axis=axis), x, mode=mode)
        assert slope.shape == x.shape


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "median"])
def test_nothing_to_take_is_an_error_that_marks_the_axis(name, mode):
    with pytest.raises(tl.ShapeError, match="no element"):
        value(lambda x: getattr(tl, name)(x, axis=1), np.zeros((2, 0)), mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NUMPYS)
def test_axis_that_does_not_exist_is_an_error(name, mode):
    with pytest.raises(tl.ShapeError, match="axis 2 does not exist"):
        value(lambda x: getattr(tl, name)(x, axis=2), np.zeros((2, 3)), mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", [n for n in NUMPYS if n not in ("median",)])
def test_dtypes_are_numpys(name, dtype, mode):
    x = np.array([[1, 0, 1], [1, 1, 0]], dtype)
    assert value(lambda v: getattr(tl, name)(v, axis=0), x, mode=mode).dtype == NUMPYS[name](x, axis=0).dtype


@pytest.mark.parametrize("mode", MODES)
def test_sums_of_narrow_whole_numbers_do_not_wrap(mode):
    assert value(tl.sum, np.full(3, 100, "int8"), mode=mode) == 300
    assert value(tl.mean, np.full(3, 100, "int8"), mode=mode) == 100.0


@pytest.mark.parametrize("mode", MODES)
def test_half_precision_is_averaged_in_single(mode):
    x = np.full(70_000, 2.0, "float16")
    assert value(tl.mean, x, mode=mode) == 2.0
    assert value(tl.var, x, mode=mode) == 0.0
    assert slopes(tl.mean, x, mode=mode)[0][0] == pytest.approx(1 / 70_000, rel=0.05)


@pytest.mark.parametrize("axis", ["rows", 1.5, (0, "a")])
@pytest.mark.parametrize("name", [*NUMPYS, "argmax", "norm", "cumsum"])
def test_axis_that_is_no_whole_number_is_an_error(name, axis):
    with pytest.raises(tl.ShapeError, match="an axis is a whole number"):
        getattr(tl, name)(tl.tensor(X), axis=axis)


@pytest.mark.parametrize("name", ["argmax", "argmin", "cumsum", "cumprod"])
def test_where_one_axis_is_meant_two_are_an_error(name):
    with pytest.raises(tl.ShapeError, match="one axis is needed"):
        getattr(tl, name)(tl.tensor(X), axis=(0, 1))


def test_order_of_a_norm_is_a_number():
    with pytest.raises(tl.ShapeError, match="no order of a norm"):
        tl.norm(tl.tensor([1.0]), "nuc")


# ---- positions and counts ----


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axis, keepdims", [(None, False), (None, True), (0, False), (-1, True)])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_are_numpys(name, axis, keepdims, mode):
    got = value(lambda x: getattr(tl, name)(x, axis=axis, keepdims=keepdims), X, mode=mode)
    np.testing.assert_array_equal(got, getattr(np, name)(X, axis=axis, keepdims=keepdims))
    assert got.dtype == np.int64


def test_positions_and_counts_have_no_gradient():
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    for result in (tl.argmax(x), tl.all(x > 0), tl.count_nonzero(x)):
        assert not result.requires_grad


# ---- norm ----


@pytest.mark.parametrize("ord", [None, 1, 2, 3, 2.5, np.inf, -np.inf])
def test_norm_agrees_with_jax(ord):
    check(
        lambda x: tl.norm(x, ord, axis=1),
        data((3, 4), low=0.5),
        like=lambda x: jnp.linalg.norm(x, ord, axis=1),
    )


@pytest.mark.parametrize("mode", MODES)
def test_norm_of_order_0_counts(mode):
    assert value(lambda x: tl.norm(x, 0), np.array([0.0, 3.0, -1.0]), mode=mode) == 2.0


def test_norm_of_all_axes_is_that_of_the_elements():
    check(tl.norm, X, like=lambda x: jnp.sqrt((x * x).sum()))


def test_norm_refuses_to_guess_which_matrix_norm_is_meant():
    with pytest.raises(tl.ShapeError, match="axis=-1"):
        tl.norm(tl.tensor(np.eye(2)), 2)


@pytest.mark.parametrize("mode", MODES)
def test_norm_of_whole_numbers_is_floating_point(mode):
    assert value(tl.norm, np.array([3, 4]), mode=mode) == 5.0


# ---- spreads ----


@pytest.mark.parametrize("name", ["var", "std"])
def test_ddof_agrees_with_jax(name):
    check(lambda x: getattr(tl, name)(x, 1, 1), X, like=lambda x: getattr(jnp, name)(x, axis=1, ddof=1))


@pytest.mark.parametrize("mode", MODES)
def test_too_few_values_for_ddof_have_no_variance(mode):
    assert np.isnan(value(lambda x: tl.var(x, ddof=1), np.array([3.0]), mode=mode))


@pytest.mark.parametrize("mode", MODES)
def test_large_nearby_values_keep_their_spread(mode):
    assert value(tl.var, np.array([0.0, 1.0, 2.0]) + 1e9, mode=mode) == pytest.approx(2 / 3, rel=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_logsumexp_does_not_overflow(mode):
    x = np.array([[1e4, 1e4], [-1e4, -1e4]])
    np.testing.assert_array_equal(
        value(lambda v: tl.logsumexp(v, 1), x, mode=mode), [1e4 + np.log(2), -1e4 + np.log(2)]
    )
    np.testing.assert_allclose(slopes(lambda v: tl.logsumexp(v, 1), x, mode=mode)[0], np.full((2, 2), 0.5), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_logsumexp_of_a_row_of_minus_infinity_beside_others(mode):
    x = np.array([[-np.inf, -np.inf], [0.0, 0.0]])
    np.testing.assert_array_equal(value(lambda v: tl.logsumexp(v, 1), x, mode=mode), [-np.inf, np.log(2)])
    np.testing.assert_array_equal(slopes(lambda v: tl.logsumexp(v, 1), x, mode=mode)[0], [[0, 0], [0.5, 0.5]])


@pytest.mark.parametrize("op", [tl.sum, tl.max, tl.min, tl.all, tl.any, tl.mean, lambda x, axis: tl.norm(x, axis=axis)])
def test_a_scalar_has_no_axis_in_any_mode(op):
    for operand in (tl.tensor(3.0), tl.scalar("x"), np.array(3.0)):
        with pytest.raises(tl.ShapeError, match="axis -1 does not exist"):
            op(operand, axis=-1)


@pytest.mark.parametrize("shape", [(1,), (1, 3), (3, 1), (2, 2)])
def test_sums_of_minus_zero_are_zero_as_with_numpy(shape):
    x = np.full(shape, -0.0)
    for axis in (None, *range(len(shape))):
        for ours, numpys in ((tl.sum, np.sum), (tl.mean, np.mean)):
            found = ours(tl.tensor(x), axis=axis).numpy()
            np.testing.assert_array_equal(np.signbit(found), np.signbit(numpys(x, axis=axis)))
