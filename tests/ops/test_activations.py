"""Activation functions against JAX; their values far out; what they do at their kink is in docs/conventions.md."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import MODES, check, data, slopes, value

ACTIVATIONS = {
    "relu": jax.nn.relu,
    "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh,
    "softplus": jax.nn.softplus,
    "log_sigmoid": jax.nn.log_sigmoid,
    "silu": jax.nn.silu,
    "elu": jax.nn.elu,
    "leaky_relu": jax.nn.leaky_relu,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_agrees_with_jax(name):
    check(getattr(tl, name), data((2, 5), low=-4, high=4), like=ACTIVATIONS[name])


def test_gelu_by_tanh_agrees_with_jax():
    check(lambda x: tl.gelu(x, "tanh"), data((2, 5), low=-4, high=4), like=lambda x: jax.nn.gelu(x, approximate=True))


def test_two_forms_of_gelu_differ_by_half_a_thousandth_at_most():
    x = np.linspace(-6, 6, 1201)
    apart = np.abs(tl.gelu(x) - tl.gelu(x, approximate="tanh"))
    assert 4e-4 < apart.max() < 5e-4


def test_gelu_refuses_another_form():
    with pytest.raises(ValueError, match='"none" or "tanh"'):
        tl.gelu(0.0, approximate="sigmoid")


def test_gelu_keeps_its_digits_far_below_0():
    # x Φ(x) = x erfc(-x/√2)/2, from tables of the normal distribution
    assert tl.gelu(-10.0) == pytest.approx(-10 * 7.619853024160525e-24, rel=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_parameters_of_elu_and_leaky_relu(mode):
    assert value(lambda x: tl.elu(x, 2.0), -1.0, mode=mode) == pytest.approx(2 * np.expm1(-1.0))
    assert value(lambda x: tl.leaky_relu(x, 0.5), -3.0, mode=mode) == -1.5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_no_overflow_far_out(name, mode):
    x = np.array([-1e4, 1e4])
    assert np.isfinite(value(getattr(tl, name), x, mode=mode)).all()
    for order in (1, 2):
        assert np.isfinite(slopes(getattr(tl, name), x, mode=mode, order=order)[0]).all()


@pytest.mark.parametrize("mode", MODES)
def test_log_sigmoid_is_exact_where_sigmoid_is_0(mode):
    assert value(tl.log_sigmoid, -1000.0, mode=mode) == -1000.0
    assert slopes(tl.log_sigmoid, -1000.0, mode=mode)[0] == 1.0


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_nan_passes(name):
    assert np.isnan(getattr(tl, name)(np.nan))
