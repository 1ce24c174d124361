"""Running totals and products: against JAX, and exact at zeros to the third order."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import MODES, check, data, quick, slopes, value

X = data((2, 3, 4))


def with_zeros() -> np.ndarray:
    x = X.copy()
    x[0, 0, 1] = x[1, 2, 0] = x[1, 2, 3] = 0.0
    return x


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "prod"])
def test_agrees_with_jax_at_zeros_too(name, axis):
    check(lambda x: getattr(tl, name)(x, axis), with_zeros(), like=lambda x: getattr(jnp, name)(x, axis))


def pairs(x: np.ndarray) -> np.ndarray:
    """d²/dxᵢdxⱼ of a product, by multiplying out."""
    n = len(x)
    return np.array([[0.0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(n)] for i in range(n)])


@quick
@given(st.lists(st.sampled_from([0.0, 2.0, -3.0, 0.5]), min_size=1, max_size=6))
def test_prod_has_exact_derivatives_of_two_orders(numbers):
    x = np.array(numbers)
    for mode in MODES:
        first = [np.prod(np.delete(x, i)) for i in range(len(x))]
        np.testing.assert_allclose(slopes(tl.prod, x, mode=mode)[0], first)
        np.testing.assert_allclose(slopes(tl.prod, x, mode=mode, order=2)[0], pairs(x).sum(0))


@pytest.mark.parametrize("mode", MODES)
def test_prod_has_an_exact_third_derivative_at_zeros(mode):
    # the gradient of the sum of all second derivatives of x y z: 2 (1 + 1 + 1) / 3 in each place
    np.testing.assert_array_equal(slopes(tl.prod, np.zeros(3), mode=mode, order=3)[0], [2.0, 2.0, 2.0])


@pytest.mark.parametrize("mode", MODES)
def test_prod_over_two_axes(mode):
    x = with_zeros()
    np.testing.assert_allclose(value(lambda v: tl.prod(v, (0, 2)), x, mode=mode), np.prod(x, (0, 2)))
    assert value(lambda v: tl.prod(v, (0, 2), keepdims=True), x, mode=mode).shape == (1, 3, 1)


@pytest.mark.parametrize("mode", MODES)
def test_product_that_would_overflow_on_the_way_has_its_gradient(mode):
    x = np.array([1e200, 1e200, 1e-200])
    np.testing.assert_allclose(slopes(tl.prod, x, mode=mode)[0][:2], [1.0, 1.0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), ()])
def test_small_and_empty_arrays(shape, name, mode):
    x = data(shape)
    np.testing.assert_array_equal(value(lambda v: getattr(tl, name)(v), x, mode=mode), getattr(np, name)(x))
    assert slopes(lambda v: getattr(tl, name)(v), x, mode=mode)[0].shape == shape


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_dtypes_are_numpys(name, dtype, mode):
    x = np.array([1, 1, 0], dtype)
    assert value(getattr(tl, name), x, mode=mode).dtype == getattr(np, name)(x).dtype


@pytest.mark.parametrize("mode", MODES)
def test_axis_that_does_not_exist_is_an_error(mode):
    with pytest.raises(tl.ShapeError, match="axis 1 does not exist"):
        value(lambda x: tl.cumsum(x, 1), np.zeros(3), mode=mode)
