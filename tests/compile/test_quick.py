"""Repeated calls take the quick way, and whatever is new at a call is seen all the same."""

import pickle
import threading

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core.errors import TutorlibError

MODES = [None, "c"]


def only_quick(f, monkeypatch):
    """From here on a call that takes any other way fails."""
    monkeypatch.setattr(f._fast, "run", None)
    monkeypatch.setattr(f, "_run_plainly", None)


def counter(mode, n=3):
    """A function of x that returns sum(w * x) and adds x to w, which starts at 0."""
    x, w = tl.symbol("x", (n,), "float64"), tl.shared(np.zeros(n), name="w")
    return tl.function([x], tl.sum(w * x), updates=[(w, w + x * 1.0)], mode=mode), w


@pytest.mark.parametrize("mode", MODES)
def test_a_repeated_call_takes_the_quick_way_with_new_contents(mode, monkeypatch):
    f, w = counter(mode)
    a = np.array([1.0, 2.0, 3.0])
    assert [float(f(a)) for _ in range(2)] == [0.0, 14.0]
    only_quick(f, monkeypatch)
    a[:] = [1.0, 0.0, 0.0]
    assert float(f(a)) == 2.0 and w.get_value().tolist() == [3.0, 4.0, 6.0]
    assert float(f(np.array([0.0, 1.0, 1.0]))) == 10.0 and w.get_value().tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("mode", MODES)
def test_results_of_the_quick_way_are_arrays_of_the_callers_own(mode):
    x = tl.symbol("x", (2,), "float64")
    f = tl.function([x], [x + 1.0, x * 2.0], mode=mode)
    kept = [f(np.full(2, float(k))) for k in range(5)]
    assert [[part.tolist() for part in parts] for parts in kept] == [[[k + 1.0] * 2, [2.0 * k] * 2] for k in range(5)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [3, 20_000])
def test_other_arrays_are_seen(mode, n):
    """Small arguments are copied, large ones read in place: both may be others at each call."""
    f, w = counter(mode, n)
    ones = np.ones(n)
    for _ in range(3):
        f(ones)
    assert w.get_value()[-1] == 3.0
    assert float(f(2 * ones)) == 6.0 * n  # another argument
    w.set_value(10 * ones)
    assert float(f(ones)) == 10.0 * n  # another value
    assert float(f(ones)) == 11.0 * n
    held = w.get_value(borrow=True)
    f(ones)
    assert held[0] == 12.0 and w.get_value()[0] == 13.0  # what somebody else holds is left alone
    w.set_value(-ones, borrow=True)
    assert float(f(ones)) == -n and w.get_value()[0] == 0.0


@pytest.mark.parametrize("mode", MODES)
def test_other_kinds_of_arguments_are_seen(mode):
    x = tl.vector("x")
    f = tl.function([x], x * 2.0 + 1.0, mode=mode)
    for _ in range(3):
        assert f(np.array([1.0, 2.0])).tolist() == [3.0, 5.0]
    assert f([0.0, 1.0]).tolist() == [1.0, 3.0]
    assert f(np.array([0, 1], "float32")).tolist() == [1.0, 3.0]
    assert f(np.arange(4.0)).tolist() == [1.0, 3.0, 5.0, 7.0]
    assert f(np.arange(4.0)[::2]).tolist() == [1.0, 5.0]
    assert f(x=np.array([5.0, 0.0])).tolist() == [11.0, 1.0]
    with pytest.raises(TutorlibError):
        f(np.ones((2, 2)))
    with pytest.raises(TutorlibError):
        f()


@pytest.mark.parametrize("mode", MODES)
def test_versions_and_observers_hear_of_every_call(mode):
    class Count(tl.Observer):
        calls = writes = 0

        def on_call(self, function, inputs, outputs):
            self.calls += 1

        def on_write(self, storage, by):
            self.writes += 1

    f, w = counter(mode)
    for _ in range(4):
        f(np.ones(3))
    assert w.storage.version == 4
    with tl.observe(Count()) as count:
        f(np.ones(3))
    assert (count.calls, count.writes, w.storage.version) == (1, 1, 5)


def test_an_error_of_a_later_call_names_the_learners_line():
    x, i = tl.vector("x"), tl.symbol("i", (2,), "int64")
    f = tl.function([x, i], x[i] * 2.0)
    a = np.arange(3.0)
    for _ in range(3):
        assert f(a, np.array([0, 2])).tolist() == [0.0, 4.0]
    with pytest.raises(TutorlibError, match="test_quick"):
        f(a, np.array([0, 3]))
    assert f(a, np.array([1, 2])).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("mode", MODES)
def test_threads_do_not_share_a_quick_call(mode):
    f, w = counter(mode)
    for _ in range(3):
        f(np.zeros(3))

    def work():
        for _ in range(100):
            f(np.ones(3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.get_value().tolist() == [400.0] * 3


def test_an_argument_read_in_place_is_not_mixed_up_when_two_calls_take_turns():
    x = tl.symbol("x", (20_000,), "float64")
    f = tl.function([x], tl.sum(x * 2.0), mode="c")
    a, b = np.ones(20_000), np.full(20_000, 3.0)
    assert [float(f(v)) for v in (a, a, a, b, a, a, b, b, b, a)] == [4e4 if v == "a" else 12e4 for v in "aaabaabbba"]


@pytest.mark.parametrize("mode", MODES)
def test_momentum_and_adam_are_right_at_every_call(mode):
    """A new value that is used twice is copied into its variable, after everything else."""
    start = np.array([1.0, -2.0, 3.0])
    w, v, m, s, t = (
        tl.shared(a, name=n) for n, a in zip("wvmst", (start, 0 * start, 0 * start, 0 * start, 0.0), strict=True)
    )
    x = tl.symbol("x", (3,), "float64")
    g = tl.grad(tl.sum(tl.tanh(w * x) ** 2), w)
    new_v, new_m, new_s, new_t = 0.9 * v + g, 0.9 * m + 0.1 * g, 0.99 * s + 0.01 * g * g, t + 1.0
    rate = tl.sqrt(1 - 0.99**new_t) / (1 - 0.9**new_t)
    new_w = w - 0.1 * new_v - 0.1 * rate * new_m / (tl.sqrt(new_s) + 1e-8)
    step = tl.function(
        [x], [w * 2.0, new_w], updates=[(w, new_w), (v, new_v), (m, new_m), (s, new_s), (t, new_t)], mode=mode
    )
    a, b, c, d = start, 0 * start, 0 * start, 0 * start
    at = np.array([0.5, 1.0, 0.25])
    for k in range(1, 7):
        y = np.tanh(a * at)
        grad = 2 * y * (1 - y * y) * at
        b, c, d = 0.9 * b + grad, 0.9 * c + 0.1 * grad, 0.99 * d + 0.01 * grad * grad
        rate = np.sqrt(1 - 0.99**k) / (1 - 0.9**k)
        old, a = a, a - 0.1 * b - 0.1 * rate * c / (np.sqrt(d) + 1e-8)
        for got, want in zip(step(at), (2 * old, a), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11)
        for variable, want in zip((w, v, m, s, t), (a, b, c, d, k), strict=True):
            np.testing.assert_allclose(variable.get_value(), want, rtol=1e-11)
    if mode == "c" and step.c_source:
        assert step.c_source.count("void tl_segment") == 1 and step._fast.quick is not None


@pytest.mark.parametrize("mode", MODES)
def test_variables_that_exchange_values_are_not_copied_over_each_other(mode):
    a, b = tl.shared(np.zeros(3), name="a"), tl.shared(np.ones(3), name="b")
    f = tl.function([], [a, b * 1.0], updates=[(a, b), (b, tl.exp(a) * 0.0 + a)], mode=mode)
    for k in range(5):
        old = float(k % 2)
        got = f()
        assert (got[0].tolist(), got[1].tolist()) == ([old] * 3, [1 - old] * 3)


def test_a_loaded_array_takes_the_quick_way(monkeypatch):
    f, _ = counter(None)
    f(np.ones(3))
    f(np.ones(3))
    only_quick(f, monkeypatch)
    loaded = pickle.loads(pickle.dumps(np.ones(3)))
    assert loaded.dtype is not np.dtype("float64")
    assert float(f(loaded)) == 6.0
