"""Ops that give back what they are given: what they do to the gradient, and when a print happens."""

import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import MODES, check, data, slopes, value

X = data((2, 3))


def test_identity_is_itself_to_any_order():
    check(tl.identity, X, like=lambda x: x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "op", [tl.identity, tl.stop_gradient, lambda x: tl.grad_scale(x, 2.0), lambda x: tl.grad_clip(x, -1, 1), tl.print_]
)
def test_value_is_unchanged(op, mode, capsys):
    np.testing.assert_array_equal(value(op, X, mode=mode), X)


def test_result_of_a_function_is_not_the_callers_array():
    x = tl.vector("x")
    given = np.zeros(2)
    result = tl.function([x], tl.identity(x))(given)
    result += 1
    assert given.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("mode", MODES)
def test_stopped_gradient_counts_as_a_constant(mode):
    assert slopes(lambda x: x * tl.stop_gradient(x * x), 3.0, mode=mode) == [9.0]


def test_nothing_behind_a_stopped_gradient_is_connected():
    x, s = tl.tensor(2.0, requires_grad=True), tl.scalar("s")
    for v in (x, s):
        with pytest.raises(tl.DisconnectedError):
            tl.grad(tl.stop_gradient(v) * 1.0, v)


@pytest.mark.parametrize("mode", MODES)
def test_scaled_gradient(mode):
    assert slopes(lambda x: tl.grad_scale(x, -2.0) ** 2, 3.0, mode=mode) == [-12.0]


@pytest.mark.parametrize("mode", MODES)
def test_clipped_gradient(mode):
    factors = np.array([-5.0, 0.5, 5.0])
    assert slopes(lambda x: tl.grad_clip(x, -1.0, 2.0) * factors, np.zeros(3), mode=mode)[0].tolist() == [
        -1.0,
        0.5,
        2.0,
    ]


@pytest.mark.parametrize("mode", MODES)
def test_controlled_gradients_stay_float32(mode):
    x = X.astype("float32")
    for op in (lambda v: tl.grad_scale(v, 0.5), lambda v: tl.grad_clip(v, -1, 1), tl.identity):
        assert slopes(op, x, mode=mode)[0].dtype == np.float32


def test_dynamic_print_happens_at_once(capsys):
    y = tl.print_(tl.tensor([1.0, 2.0]), "y")
    assert capsys.readouterr().out == "y: [1. 2.]\n"
    assert y.numpy().tolist() == [1.0, 2.0]


def test_static_print_happens_at_each_call_and_not_before(capsys):
    x = tl.scalar("x")
    f = tl.function([x], tl.print_(x * 2, "double") + 1)
    assert capsys.readouterr().out == ""
    assert f(1.0) == 3.0
    f(2.0)
    assert capsys.readouterr().out == "double: 2.0\ndouble: 4.0\n"


@pytest.mark.parametrize("mode", MODES)
def test_gradient_passes_a_print(mode, capsys):
    assert slopes(lambda x: tl.print_(x) ** 2, 3.0, mode=mode) == [6.0]
