"""LSTM and GRU against the same equations in JAX, step by step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import check, data, derivatives, jax_derivatives, value, values
from tutorlib.ops import recurrent


def arrays_for(kind: str, steps: int, batch: int, inputs: int, units: int) -> list[np.ndarray]:
    gates, states, biases = {"lstm": (4, 2, 1), "gru": (3, 1, 2)}[kind]
    shapes = [(steps, batch, inputs), *[(batch, units)] * states]
    shapes += [(inputs, gates * units), (units, gates * units), *[(gates * units,)] * biases]
    return [data(shape, seed=i) for i, shape in enumerate(shapes)]


def lstm(*args: Any) -> Any:
    ys, (h, c) = tl.lstm(*args)
    return ys, h, c


def gru(*args: Any) -> Any:
    return tl.gru(*args)


def jax_lstm(x: Any, h: Any, c: Any, Wx: Any, Wh: Any, b: Any) -> Any:
    ys = []
    for row in x:
        i, f, g, o = jnp.split(row @ Wx + h @ Wh + b, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        ys.append(h)
    return jnp.stack(ys) if ys else jnp.zeros((0, *h.shape)), h, c


def jax_gru(x: Any, h: Any, Wx: Any, Wh: Any, b: Any, bh: Any) -> Any:
    ys = []
    for row in x:
        (r, z, n), (hr, hz, hn) = jnp.split(row @ Wx + b, 3, axis=1), jnp.split(h @ Wh + bh, 3, axis=1)
        r, z = jax.nn.sigmoid(r + hr), jax.nn.sigmoid(z + hz)
        n = jnp.tanh(n + r * hn)
        h = (1 - z) * n + z * h
        ys.append(h)
    return jnp.stack(ys) if ys else jnp.zeros((0, *h.shape)), h


LAYERS = {"lstm": (lstm, jax_lstm), "gru": (gru, jax_gru)}
each = pytest.mark.parametrize("kind", LAYERS)


@each
@pytest.mark.parametrize("sizes", [(3, 2, 3, 2), (1, 1, 1, 1), (0, 2, 3, 2), (2, 0, 3, 2), (2, 2, 0, 2), (2, 2, 3, 0)])
def test_a_layer_equals_jaxs_step_by_step_in_value_and_gradient(kind: str, sizes: tuple[int, ...]) -> None:
    mine, like = LAYERS[kind]
    check(mine, *arrays_for(kind, *sizes), like=like, order=1)


@each
def test_gradients_of_weights_are_added_up_block_by_block(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent, "IN_CACHE", 48)  # two steps or three at a time, of seven
    mine, like = LAYERS[kind]
    check(mine, *arrays_for(kind, 7, 2, 3, 2), like=like, order=1)


@each
def test_the_gradient_of_a_gradient_equals_jaxs(kind: str) -> None:
    mine, like = LAYERS[kind]
    arrays = arrays_for(kind, 3, 2, 1, 2)
    for level, other in zip(derivatives(mine, *arrays, order=2), jax_derivatives(like, *arrays, order=2), strict=True):
        for a, b in zip(level, other, strict=True):
            np.testing.assert_allclose(a, b, 1e-9, 1e-10)


@each
def test_a_backward_pass_over_a_recorded_gradient_is_right(kind: str) -> None:
    mine, like = LAYERS[kind]
    arrays = arrays_for(kind, 2, 1, 1, 2)
    leaves = [tl.tensor(a, requires_grad=True) for a in arrays]
    weights = leaves[-3]
    slope = tl.grad(tl.sum(mine(*leaves)[0]), weights)
    tl.square(slope).sum().backward()

    def penalty(*args: Any) -> Any:
        place = len(args) - 3
        inner = jax.grad(lambda w: like(*args[:place], w, *args[place + 1 :])[0].sum())
        return (inner(args[place]) ** 2).sum()

    for leaf, other in zip(leaves, jax.grad(penalty, argnums=tuple(range(len(arrays))))(*arrays), strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), other, 1e-9, 1e-11)


@each
def test_a_gradient_of_a_gradient_over_an_unknown_number_of_steps_is_refused(kind: str) -> None:
    arrays = arrays_for(kind, 2, 1, 1, 1)
    symbols = [tl.symbol(f"v{i}", (None,) * a.ndim) for i, a in enumerate(arrays)]
    slope = tl.grad(tl.sum(LAYERS[kind][0](*symbols)[0]), symbols[0])
    with pytest.raises(tl.NotDifferentiableError, match="needs their number") as error:
        tl.grad(tl.sum(slope), symbols[0])
    assert "tl.scan" in str(error.value.fix)


def test_the_gates_of_an_lstm_are_input_forget_candidate_output() -> None:
    """With one gate open (20), the others shut (−20) or open as the case needs, the state tells which column it was."""
    x, h, c = np.zeros((1, 1, 1)), np.zeros((1, 1)), np.full((1, 1), 3.0)
    Wx, Wh = np.zeros((1, 4)), np.zeros((1, 4))
    remembered = values(lstm, x, h, c, Wx, Wh, np.array([-20.0, 20.0, 20.0, 20.0]))
    np.testing.assert_allclose(remembered[2], [[3.0]], 1e-6)
    replaced = values(lstm, x, h, c, Wx, Wh, np.array([20.0, -20.0, 20.0, 20.0]))
    np.testing.assert_allclose(replaced[2], [[1.0]], 1e-6)
    hidden = values(lstm, x, h, c, Wx, Wh, np.array([20.0, -20.0, 20.0, -20.0]))
    np.testing.assert_allclose(hidden[1], [[0.0]], atol=1e-6)


def test_the_gates_of_a_gru_are_reset_update_new() -> None:
    x, h = np.zeros((1, 1, 1)), np.full((1, 1), 3.0)
    Wx, Wh, zero = np.zeros((1, 3)), np.array([[0.0, 0.0, 2.0]]), np.zeros(3)
    kept = value(lambda *v: gru(*v)[1], x, h, Wx, Wh, np.array([0.0, 20.0, 0.0]), zero)
    np.testing.assert_allclose(kept, [[3.0]], 1e-6)
    reset = value(lambda *v: gru(*v)[1], x, h, Wx, Wh, np.array([-20.0, -20.0, 0.5]), zero)
    np.testing.assert_allclose(reset, np.tanh([[0.5]]), 1e-6)
    used = value(lambda *v: gru(*v)[1], x, h, Wx, Wh, np.array([20.0, -20.0, 0.5]), np.array([0.0, 0.0, -5.0]))
    np.testing.assert_allclose(used, np.tanh([[0.5 + 6.0 - 5.0]]), 1e-6)


@each
def test_large_arguments_saturate_and_give_no_nan(kind: str) -> None:
    arrays = [a * 1000 for a in arrays_for(kind, 2, 2, 2, 2)]
    for result in values(LAYERS[kind][0], *arrays):
        assert np.isfinite(result).all()
    for slope in derivatives(LAYERS[kind][0], *arrays)[0]:
        assert np.isfinite(slope).all()


@each
def test_whole_numbers_take_the_dtype_of_the_weights(kind: str) -> None:
    x, *rest = (a.astype("float32") for a in arrays_for(kind, 2, 2, 3, 2))
    tokens = (x > 0).astype(np.int64)
    for mine, other in zip(
        values(LAYERS[kind][0], tokens, *rest), values(LAYERS[kind][0], tokens.astype("float32"), *rest), strict=True
    ):
        assert mine.dtype == np.float32
        np.testing.assert_array_equal(mine, other)


def test_one_layer_feeds_another() -> None:
    first, second = arrays_for("lstm", 3, 2, 2, 2), arrays_for("gru", 3, 2, 2, 1)

    def mine(*v: Any) -> Any:
        return tl.gru(tl.lstm(*v[:6])[0], *v[6:])[0]

    def like(*v: Any) -> Any:
        return jax_gru(jax_lstm(*v[:6])[0], *v[6:])[0]

    check(mine, *first, *second[1:], like=like, order=1)


@pytest.mark.parametrize(
    ("place", "shape", "says"),
    [
        (0, (2, 3), "x needs the shape"),
        (1, (3, 2), "h0 needs the shape .batch, units.; the batch do not fit"),
        (3, (4, 8), "Wx needs .*; the inputs do not fit"),
        (4, (2, 7), "Wh needs .*; the 4 · units do not fit"),
        (5, (12,), "b needs .*; the 4 · units do not fit"),
    ],
)
@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_what_does_not_fit_is_said(place: int, shape: tuple[int, ...], says: str, mode: str) -> None:
    arrays = arrays_for("lstm", 2, 2, 3, 2)
    arrays[place] = np.zeros(shape)
    inputs = [tl.tensor(a) if mode == "dynamic" else tl.symbol(f"v{i}", a.shape) for i, a in enumerate(arrays)]
    with pytest.raises(tl.ShapeError, match=says) as error:
        tl.lstm(*inputs)
    assert error.value.fix
