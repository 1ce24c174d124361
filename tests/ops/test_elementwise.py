"""Elementwise ops against JAX in both modes: values, gradients of two orders, dtypes; and their hard cases by hand."""

import math

import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tutorlib as tl
from tests.ops.oracle import MODES, check, data, quick, slopes, value

SHAPE = (2, 3)
UNARY = {
    "neg": (jnp.negative, -2, 2),
    "abs": (jnp.abs, -2, 2),
    "sign": (jnp.sign, -2, 2),
    "square": (jnp.square, -2, 2),
    "reciprocal": (jnp.reciprocal, 0.5, 2),
    "exp": (jnp.exp, -2, 2),
    "expm1": (jnp.expm1, -2, 2),
    "log": (jnp.log, 0.5, 4),
    "log1p": (jnp.log1p, -0.5, 2),
    "log2": (jnp.log2, 0.5, 4),
    "log10": (jnp.log10, 0.5, 4),
    "sqrt": (jnp.sqrt, 0.5, 4),
    "floor": (jnp.floor, -2, 2),
    "ceil": (jnp.ceil, -2, 2),
    "trunc": (jnp.trunc, -2, 2),
    "round": (jnp.round, -2, 2),
    "sin": (jnp.sin, -3, 3),
    "cos": (jnp.cos, -3, 3),
    "tan": (jnp.tan, -1, 1),
    "arcsin": (jnp.arcsin, -0.9, 0.9),
    "arccos": (jnp.arccos, -0.9, 0.9),
    "arctan": (jnp.arctan, -3, 3),
    "sinh": (jnp.sinh, -2, 2),
    "cosh": (jnp.cosh, -2, 2),
    "tanh": (jnp.tanh, -2, 2),
    "arcsinh": (jnp.arcsinh, -3, 3),
    "arccosh": (jnp.arccosh, 1.5, 4),
    "arctanh": (jnp.arctanh, -0.9, 0.9),
    "erf": (jsp.erf, -2, 2),
    "erfc": (jsp.erfc, -2, 2),
}
BINARY = {
    "add": (jnp.add, -2, 2),
    "sub": (jnp.subtract, -2, 2),
    "mul": (jnp.multiply, -2, 2),
    "div": (jnp.divide, 0.5, 2),
    "floordiv": (jnp.floor_divide, 0.5, 2),
    "mod": (jnp.mod, 0.5, 2),
    "pow": (jnp.power, 0.5, 2),
    "maximum": (jnp.maximum, -2, 2),
    "minimum": (jnp.minimum, -2, 2),
    "arctan2": (jnp.arctan2, -2, 2),
    "hypot": (jnp.hypot, -2, 2),
    "logaddexp": (jnp.logaddexp, -2, 2),
    "xlogy": (jsp.xlogy, 0.5, 2),
    "safe_mul": (jnp.multiply, -2, 2),
    "safe_div": (jnp.divide, 0.5, 2),
}
COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


@pytest.mark.parametrize("name", UNARY)
def test_unary_agrees_with_jax(name):
    like, low, high = UNARY[name]
    check(getattr(tl, name), data(SHAPE, low=low, high=high), like=like)


@pytest.mark.parametrize("name", BINARY)
def test_binary_agrees_with_jax_when_one_operand_stretches(name):
    like, low, high = BINARY[name]
    check(getattr(tl, name), data(SHAPE, low=low, high=high), data(SHAPE[1:], low=low, high=high, seed=1), like=like)


@pytest.mark.parametrize("name", BINARY)
@quick
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, min_side=0, max_side=3))
def test_binary_broadcasts_in_every_mode(name, shapes):
    _, low, high = BINARY[name]
    x, y = (data(shape, low=low, high=high, seed=k) for k, shape in enumerate(shapes.input_shapes))
    gradients = [slopes(getattr(tl, name), x, y, mode=mode) for mode in MODES]
    for mode, (dx, dy) in zip(MODES, gradients, strict=True):
        assert value(getattr(tl, name), x, y, mode=mode).shape == shapes.result_shape
        assert (dx.shape, dy.shape) == (x.shape, y.shape)
        np.testing.assert_allclose(dx, gradients[0][0], 1e-12)
        np.testing.assert_allclose(dy, gradients[0][1], 1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_and_logic_are_numpys(name, mode):
    x, y = np.array([0.0, 1.0, -1.0, np.nan, np.inf]), np.array([[0.0], [1.0], [np.nan]])
    np.testing.assert_array_equal(value(getattr(tl, name), x, y, mode=mode), COMPARISONS[name](x, y))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "logical_not"])
def test_tests_of_kind_are_numpys(name, mode):
    x = np.array([0.0, 1.0, np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(value(getattr(tl, name), x, mode=mode), getattr(np, name)(x))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8"])
def test_bit_operators_are_numpys(dtype, mode):
    x, y = np.array([0, 1, 6], dtype), np.array([1, 1, 3], dtype)
    for operator in (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b, lambda a, b: ~a):
        got = value(operator, x, y, mode=mode)
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got, operator(x, y))


@pytest.mark.parametrize("mode", MODES)
def test_bit_operators_refuse_floats_and_say_what_to_write(mode):
    for operator in (lambda x: x & (x > 0), lambda x: ~x):
        with pytest.raises(tl.DTypeError, match="compare first"):
            value(operator, np.array([1.0]), mode=mode)


def test_where_chooses():
    mask = data(SHAPE, bool)
    check(tl.where, mask, data(SHAPE), data(SHAPE[1:], seed=1), like=jnp.where)


def test_clip_agrees_with_jax():
    check(tl.clip, data((9,)), np.float64(-1), np.float64(1), like=jnp.clip)


def test_lerp_agrees_with_its_definition():
    check(tl.lerp, data(SHAPE), data(SHAPE, seed=1), data(SHAPE[1:], seed=2), like=lambda x, y, w: x + w * (y - x))


@pytest.mark.parametrize("mode", MODES)
def test_lerp_is_exact_at_both_ends(mode):
    x, y = np.array([0.1, 1e16]), np.array([0.7, 1.0])
    np.testing.assert_array_equal(value(lambda a, b: tl.lerp(a, b, 0.0), x, y, mode=mode), x)
    np.testing.assert_array_equal(value(lambda a, b: tl.lerp(a, b, 1.0), x, y, mode=mode), y)


# ---- dtypes ----


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("neg", "abs", "sign", "square", "floor", "ceil")])
def test_whole_numbers_give_what_numpy_gives(name, mode):
    x = np.array([1, 1, 1])
    result = value(getattr(tl, name), x, mode=mode)
    expected = np.int64 if name in ("trunc", "round") else np.float64
    assert result.dtype == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", [*UNARY, "sigmoid", "softplus", "silu", "gelu"])
def test_narrow_floats_stay_narrow(name, dtype, mode):
    low, high = UNARY.get(name, (None, -2, 2))[1:]
    x = data((4,), dtype, low=low, high=high)
    assert value(getattr(tl, name), x, mode=mode).dtype == dtype
    assert slopes(getattr(tl, name), x, mode=mode)[0].dtype == dtype


@pytest.mark.parametrize("mode", MODES)
def test_python_numbers_never_widen(mode):
    x = data((3,), "float32")
    for expression in (
        lambda v: v + 1.5,
        lambda v: 2 - v,
        lambda v: v**2.5,
        lambda v: 2.0**v,
        lambda v: tl.where(v > 0, v, 0.0),
        lambda v: tl.clip(v, 0.0),
        lambda v: tl.maximum(v, 0.5),
        lambda v: tl.hypot(v, 1.0),
    ):
        assert value(expression, abs(x), mode=mode).dtype == np.float32
        assert slopes(expression, abs(x), mode=mode)[0].dtype == np.float32


# ---- powers ----


@pytest.mark.parametrize("mode", MODES)
def test_negative_whole_power_of_whole_numbers_is_a_fraction(mode):
    result = value(lambda i: i**-2, np.array([1, 2, -4]), mode=mode)
    np.testing.assert_array_equal(result, [1.0, 0.25, 0.0625])


def test_static_mode_infers_the_dtype_of_a_negative_power():
    assert (tl.vector("i", dtype="int64") ** -1).dtype == np.float64


@pytest.mark.parametrize("mode", MODES)
def test_array_of_negative_powers_of_whole_numbers_says_what_to_do(mode):
    with pytest.raises(tl.DTypeError, match=r"floating-point: x\.astype"):
        value(tl.pow, np.array([2, 3]), np.array([1, -1]), mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_second_derivative_of_powers_at_0(mode):
    for power, second in ((1, 0.0), (2, 2.0), (3, 0.0)):
        assert slopes(lambda x, p=power: x**p, 0.0, mode=mode, order=2)[0] == second
        assert slopes(lambda x, p=power: x ** np.array(float(p)), 0.0, mode=mode, order=2)[0] == second


@pytest.mark.parametrize("mode", MODES)
def test_power_of_a_negative_base(mode):
    dx, dp = slopes(tl.pow, -2.0, 3.0, mode=mode)
    assert dx == 12.0
    assert math.isnan(dp)


# ---- signs, infinities, digits ----


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_floor_division_and_remainder_follow_python(dtype, mode):
    x, y = np.array([7, -7, 7, -7], dtype), np.array([2, 2, -2, -2], dtype)
    np.testing.assert_array_equal(value(tl.floordiv, x, y, mode=mode), [3, -4, -4, 3])
    np.testing.assert_array_equal(value(tl.mod, x, y, mode=mode), [1, 1, -1, -1])


@pytest.mark.parametrize("mode", MODES)
def test_clip_with_whole_numbers_stays_whole(mode):
    assert value(lambda i: tl.clip(i, None, 3), np.array([1, 9]), mode=mode).tolist() == [1, 3]
    assert value(lambda i: tl.clip(i, 2), np.array([1, 9], "int8"), mode=mode).dtype == np.int8


@pytest.mark.parametrize("mode", MODES)
def test_slopes_at_infinity_are_their_limits(mode):
    ends = np.array([-np.inf, np.inf])
    for name, limits in {
        "tanh": [0, 0],
        "sigmoid": [0, 0],
        "arctan": [0, 0],
        "softplus": [0, 1],
        "erf": [0, 0],
        "exp": [0, np.inf],
        "arcsinh": [0, 0],
        "silu": [0, 1],
        "gelu": [0, 1],
    }.items():
        np.testing.assert_array_equal(slopes(getattr(tl, name), ends, mode=mode)[0], limits, err_msg=name)


@pytest.mark.parametrize("mode", MODES)
def test_sigmoid_keeps_its_digits_far_below_0(mode):
    assert value(tl.sigmoid, -40.0, mode=mode) == pytest.approx(4.248354255291589e-18, rel=1e-14)
    assert value(lambda x: tl.log(tl.sigmoid(x)), -40.0, mode=mode) == pytest.approx(-40.0, rel=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_where_of_a_computed_branch_and_a_constant(mode):
    x = np.array([-1.0, 2.0])
    assert value(lambda v: tl.where(v > 0, v * 3.0, 0.0), x, mode=mode).tolist() == [0.0, 6.0]
    assert value(lambda v: tl.where(v > 0, 0.0, v * 3.0), x, mode=mode).tolist() == [-3.0, 0.0]
    assert value(lambda v: tl.where(v > 0, v * 3.0, v * 2.0), x, mode=mode).tolist() == [-2.0, 6.0]


def test_log_of_logaddexp_does_not_overflow():
    assert slopes(tl.logaddexp, 1000.0, 1000.0) == [0.5, 0.5]
    assert slopes(tl.logaddexp, np.inf, 0.0) == [1.0, 0.0]


def test_arcsine_keeps_its_digits_near_1():
    x = 1 - 2.0**-50
    assert slopes(tl.arcsin, x)[0] == pytest.approx(1 / math.sqrt((1 - x) * (1 + x)), rel=1e-15)


# ---- the error function ----


@pytest.mark.parametrize(("name", "ulps"), [("erf", 2), ("erfc", 6)])
def test_error_function_is_right_to_the_last_digits(name, ulps):
    x = np.concatenate([np.linspace(-7, 7, 4001), np.linspace(-27, 27, 2001), [0.84375, 1.25, 1 / 0.35, 0.25, 6.0]])
    expected = np.array([getattr(math, name)(v) for v in x])
    assert np.max(np.abs(getattr(tl, name)(x) - expected) / np.spacing(np.abs(expected))) <= ulps


def test_error_function_at_the_ends():
    x = np.array([-np.inf, np.inf, np.nan, 0.0, 5e-324])
    np.testing.assert_array_equal(tl.erf(x), [-1, 1, np.nan, 0, 5e-324])
    np.testing.assert_array_equal(tl.erfc(x), [2, 0, np.nan, 1, 1])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_error_function_in_narrow_floats(dtype):
    x = np.linspace(-5, 5, 201).astype(dtype)
    expected = np.array([math.erf(v) for v in x])
    assert np.max(np.abs(tl.erf(x) - expected)) <= 2 * np.finfo(dtype).eps


# ---- masks ----


@given(st.sampled_from(["log", "sqrt", "reciprocal", "arcsin", "arccosh", "arctanh", "log1p", "tan", "exp", "square"]))
@quick
def test_masked_out_element_gets_slope_0(name):
    bad = {"exp": 1000.0, "square": np.inf, "tan": np.inf, "reciprocal": 0.0, "log": 0.0, "sqrt": 0.0, "log1p": -1.0}
    x = np.array([bad.get(name, 1.0), 0.5 if name != "arccosh" else 2.0])
    keep = np.array([False, True])
    for mode in MODES:
        for order in (1, 2):
            slope = slopes(lambda v: tl.where(keep, getattr(tl, name)(v), 0.0), x, mode=mode, order=order)[0]
            assert slope[0] == 0.0
            assert np.isfinite(slope[1])
