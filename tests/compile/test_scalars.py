"""Arithmetic on single numbers runs as one Python function: same values, new inputs and shared values seen."""

import numpy as np
import pytest

import tutorlib as tl


def numbers(function):
    """How many steps each Python function of the latest plan stands for."""
    return [n.steps for n in function._fast.latest()._numbers.values()]


def loss_of(x, w):
    return tl.mean(x * x) + 0.5 * (tl.sum(w * w) + 3.0 * tl.sum(w)) / 4.0 - 1.0


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_a_loss_of_sums_is_one_function(dtype, tolerance):
    x, w = tl.symbol("x", (None,), dtype), tl.symbol("w", (4, 4), dtype)
    f = tl.function([x, w], loss_of(x, w))
    plain = tl.function([x, w], loss_of(x, w), mode="plain")
    rng = np.random.default_rng(0)
    for size in (3, 3, 7):
        a, b = rng.normal(size=size).astype(dtype), rng.normal(size=(4, 4)).astype(dtype)
        got, want = f(a, b), plain(a, b)
        assert got.dtype == want.dtype and got.shape == ()
        np.testing.assert_allclose(got, want, rtol=tolerance)
    (steps,) = numbers(f)
    assert steps >= 4


def test_worked_by_hand():
    x, w = tl.symbol("x", (2,)), tl.symbol("w", (4, 4))
    f = tl.function([x, w], loss_of(x, w))
    # mean of 1, 9 = 5; half of (16 + 48) / 4 = 8; less 1
    assert f([1.0, 3.0], np.ones((4, 4))) == 12.0


def test_several_results_and_what_is_used_in_between():
    x = tl.symbol("x", (5,))
    total = tl.sum(x)
    half, twice = total * 0.5, total * 2.0 + 1.0
    f = tl.function([x], [half, twice - half, x * (half + 1.0)])
    got = f(np.arange(5.0))
    assert (got[0], got[1]) == (5.0, 16.0)
    np.testing.assert_array_equal(got[2], np.arange(5.0) * 6.0)


def test_infinite_numbers_raise_nothing():
    x = tl.symbol("x", (3,))
    f = tl.function([x], (tl.sum(x) * 1e200 * tl.sum(x) - tl.sum(x)) / 2.0 + 1.0)
    assert f([1e150, 0.0, 0.0]) == np.inf
    assert np.isnan(f([np.inf, 0.0, 0.0]))
    assert np.isnan(f([np.nan, 0.0, 0.0]))


def test_shared_numbers_are_read_anew_at_each_call():
    x, rate = tl.symbol("x", (3,)), tl.shared(1.0, name="rate")
    f = tl.function([x], (tl.sum(x) + rate) * 2.0 - 1.0, updates=[(rate, rate * 3.0 + 1.0)])
    assert [f([1.0, 1.0, 1.0]).item() for _ in range(3)] == [7.0, 13.0, 31.0]
    rate.set_value(0.0)
    assert f([1.0, 1.0, 1.0]) == 5.0


def test_another_large_input_is_taken_up():
    x = tl.symbol("x", (20_000,))
    f = tl.function([x], (tl.sum(x) + 1.0) * 2.0 - 3.0)
    for value in (1.0, 2.0, 1.0):
        assert f(np.full(20_000, value)) == (20_000 * value + 1) * 2 - 3
    assert numbers(f)


def test_the_text_computes_the_same():
    x, w = tl.symbol("x", (6,)), tl.symbol("w", (4, 4))
    f = tl.function([x, w], loss_of(x, w))
    arrays = np.arange(6.0), np.arange(16.0).reshape(4, 4)
    want = f(*arrays)
    space = dict(f.source.arrays)
    exec(str(f.source), space)
    np.testing.assert_allclose(space["run"](*arrays)[0], want, rtol=1e-12)
