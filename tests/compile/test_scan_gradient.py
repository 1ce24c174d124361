"""Gradients of ``tl.scan`` of any order, against JAX and dynamic mode."""

import os

import numpy as np
import pytest

import tutorlib as tl

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(0)
X, H0, W, U = RNG.normal(size=(6, 3)), RNG.normal(size=4), RNG.normal(size=(4, 4)) / 2, RNG.normal(size=(3, 4)) / 2


def rnn(xp, scan, xs, h0, w, u):
    """A recurrent network's cost, written once for ``tl`` and for JAX."""

    def step(h, x):
        h = xp.tanh(h @ w + x @ u)
        return h, h

    last, hs = scan(step, xs, h0)
    return (hs * hs).sum() + last.sum()


def jax_rnn(xs, h0, w, u):
    return rnn(jnp, lambda step, xs, h0: jax.lax.scan(step, h0, xs), xs, h0, w, u)


@pytest.fixture
def symbols():
    return tl.matrix("xs"), tl.vector("h0"), tl.matrix("w"), tl.matrix("u")


def close(found, expected, **tolerance):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, **{"rtol": 1e-10, "atol": 1e-12, **tolerance})


def dynamic(function, *values):
    """The cost and its gradients in dynamic mode."""
    leaves = [tl.tensor(v, requires_grad=True) for v in values]
    cost = function(*leaves)
    return [cost.numpy(), *(g.numpy() for g in tl.grad(cost, leaves, disconnected="zero"))]


def static(function, *values, mode=None, unknown=True):
    """The same through ``tl.function``."""
    leaves = [tl.symbol(f"v{i}", (None,) * np.ndim(v) if unknown else np.shape(v)) for i, v in enumerate(values)]
    cost = function(*leaves)
    gradients = tl.grad(cost, leaves, disconnected="zero")
    return tl.function(leaves, [cost, *gradients], mode=mode, on_unused_input="ignore")(*values)


@pytest.mark.parametrize("unknown", [True, False])
def test_a_recurrent_network_agrees_with_jax(unknown):
    expected = [jax_rnn(X, H0, W, U), *jax.grad(jax_rnn, (0, 1, 2, 3))(X, H0, W, U)]

    def ours(*values):
        return rnn(tl, tl.scan, *values)

    close(static(ours, X, H0, W, U, unknown=unknown), expected)
    close(dynamic(ours, X, H0, W, U), expected)


def test_second_order_agrees_with_jax(symbols):
    def slope(*values):
        return sum((g**2).sum() for g in jax.grad(jax_rnn, (0, 1, 2, 3))(*values))

    expected = jax.grad(slope, (0, 1, 2, 3))(X, H0, W, U)
    first = tl.grad(rnn(tl, tl.scan, *symbols), list(symbols))
    second = tl.grad(sum((g**2).sum() for g in first), list(symbols))
    close(tl.function(symbols, second)(X, H0, W, U), expected)


def test_the_third_derivative_of_a_power_by_repeated_multiplication():
    x = tl.scalar("x")
    y, _ = tl.scan(lambda c, _: (c * x, None), None, 1.0, 5)
    for _ in range(3):
        y = tl.grad(y, x)
    assert y.eval({x: 2.0}) == 5 * 4 * 3 * 2.0**2


@pytest.mark.parametrize("kwargs", [{}, {"reverse": True}])
def test_gradients_reach_carry_sequences_and_weights(kwargs):
    def cost(xs, h, w):
        last, ys = tl.scan(lambda c, x: (c * w + x, tl.sin(c) * x), xs, h, **kwargs)
        return last**2 + (ys**2).sum()

    def ours(xs, h, w):
        last, ys = jax.lax.scan(lambda c, x: (c * w + x, jnp.sin(c) * x), h, xs, **kwargs)
        return last**2 + (ys**2).sum()

    values = np.array([0.5, 1.0, 2.0, 3.0]), 1.5, 0.7
    expected = [ours(*values), *jax.grad(ours, (0, 1, 2))(*values)]
    close(static(cost, *values), expected)
    close(dynamic(cost, *values), expected)


def test_nested_scans_agree_with_jax():
    def cost(scan, xs, w):
        def outer(c, row):
            inner, ys = scan(lambda d, x: (d * w + x * c, d * x), row, c)
            return inner, ys.sum()

        last, sums = scan(outer, xs, w)
        return last * last + (sums**2).sum()

    def jax_cost(xs, w):
        return cost(lambda f, xs, c: jax.lax.scan(f, c, xs), xs, w)

    def ours(xs, w):
        return cost(tl.scan, xs, w)

    values = RNG.normal(size=(3, 4)), np.asarray(0.8)
    expected = [jax_cost(*values), *jax.grad(jax_cost, (0, 1))(*values)]
    close(static(ours, *values), expected)
    close(dynamic(ours, *values), expected)


def test_gradient_through_the_history_of_an_integer_counter():
    def cost(scan, xs):
        (total, _), _ = scan(lambda c, x: ((c[0] + x * c[1], c[1] + 1), None), xs, (0.0, 1))
        return total

    x = tl.vector("x")
    assert tl.grad(cost(tl.scan, x), x).eval({x: [5.0, 5.0, 5.0]}).tolist() == [1.0, 2.0, 3.0]


def test_float32_stays_float32_in_every_gradient(symbols):
    symbols = [tl.symbol(v.name, v.shape, "float32") for v in symbols]
    gradients = tl.grad(rnn(tl, tl.scan, *symbols), symbols)
    found = tl.function(symbols, gradients)(*(np.float32(v) for v in (X, H0, W, U)))
    assert {g.dtype.name for g in found} == {"float32"}
    close(found, jax.grad(jax_rnn, (0, 1, 2, 3))(X, H0, W, U), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("truncate", [1, 2, 9])
def test_a_truncated_gradient_goes_back_so_many_steps(truncate, reverse):
    xs, h, w = np.array([0.5, 1.0, 2.0, 3.0]), 1.5, 0.7

    def cost(xs, h, w):
        last, ys = tl.scan(lambda c, x: (c * w + x, c * x), xs, h, reverse=reverse, truncate=truncate)
        return last**2 + ys.sum()

    def by_hand(xs, h, w):
        order = range(3, -1, -1) if reverse else range(4)
        c, total = h, 0.0
        for done, t in enumerate(order):
            x, v = xs[t], w
            if done < 4 - truncate:
                c, x, v = map(jax.lax.stop_gradient, (c, x, v))
            total += c * x
            c = c * v + x
            if done < 4 - truncate:
                c, total = map(jax.lax.stop_gradient, (c, total))
        return c**2 + total

    expected = [by_hand(xs, h, w), *jax.grad(by_hand, (0, 1, 2))(xs, h, w)]
    close(static(cost, xs, h, w), expected)
    close(dynamic(cost, xs, h, w), expected)


def test_the_gradient_of_a_scan_that_stopped_stops_there_too():
    def cost(x, w):
        last, ys = tl.scan(lambda s, x: (s * w + x * x, s), x, 0.0, until=lambda carry, y: carry > 4)
        return last + (ys**2).sum()

    values = np.array([1.0, 2.0, 3.0, 4.0]), 1.0
    found = static(cost, *values)
    close(found, dynamic(cost, *values))
    assert found[1][2:].tolist() == [0.0, 0.0]
