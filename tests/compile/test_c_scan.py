"""With ``mode="c"`` a scan whose step is all C is one call, with the values that NumPy gives."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile import c_compiler

pytestmark = pytest.mark.skipif(c_compiler.compiler() is None, reason="no C compiler on this machine")


def in_c(f):
    """Whether the scans of a function's latest schedule ran in C."""
    found = list(f._fast.latest().scans.values())
    return bool(found) and all(scan is not None for scan in found)


def test_a_recurrence_of_numbers():
    x = tl.vector("x")
    carry, ys = tl.scan(lambda s, v: (0.5 * s + v, s * v), x, 0.0)
    f = tl.function([x], [carry, ys], mode="c")
    a = np.arange(1.0, 6.0)
    for values in (a, a[::-1].copy(), a + 1):
        s, rows = 0.0, []
        for v in values:
            rows.append(s * v)
            s = 0.5 * s + v
        got = f(values)
        assert float(got[0]) == s and got[1].tolist() == rows
    assert in_c(f) and "tl_part" in f.c_source


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [3, 3000])
def test_rows_and_captured_arrays_of_any_size(n, reverse):
    """Small arrays are copied, large ones read where they are; both may be others at the next call."""
    xs, w = tl.symbol("xs", (5, n)), tl.symbol("w", (n,))
    last, path = tl.scan(lambda h, x: (tl.tanh(h * w + x),) * 2, xs, np.zeros(n), reverse=reverse)
    f = tl.function([xs, w], [last, path], mode="c")
    rng = np.random.default_rng(0)
    for k in range(4):
        a, b = rng.normal(size=(5, n)), rng.normal(size=n)
        a = a if k % 2 else np.asfortranarray(a)
        h, want = np.zeros(n), np.empty((5, n))
        for t in reversed(range(5)) if reverse else range(5):
            want[t] = h = np.tanh(h * b + a[t])
        got = f(a, b)
        np.testing.assert_allclose(got[0], h, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(got[1], want, rtol=1e-12, atol=1e-14)
    assert in_c(f)


def test_states_that_change_places():
    p = tl.scalar("p")

    def step(state, _):
        a, b = state
        return (b, a + b), (a, b)

    (a, b), (left, right) = tl.scan(step, None, (p, 1.0), length=7)
    f = tl.function([p], [a, b, left, right], mode="c")
    got = f(0.0)
    assert [float(v) for v in got[:2]] == [13.0, 21.0]
    assert got[2].tolist() == [0, 1, 1, 2, 3, 5, 8] and got[3].tolist() == [1, 1, 2, 3, 5, 8, 13]
    assert in_c(f)


def test_training_a_recurrent_network_as_without_c():
    rng = np.random.default_rng(1)
    values = {"W": rng.normal(size=(4, 6)) / 2, "U": rng.normal(size=(6, 6)) / 3, "b": np.zeros(6)}
    data, target = rng.normal(size=(9, 5, 4)), rng.normal(size=(5, 6))
    results = []
    for mode in ("plain", "c"):
        P = {k: tl.shared(v, name=k) for k, v in values.items()}
        x = tl.symbol("x", data.shape)

        def step(h, row, P=P):
            h = tl.tanh(row @ P["W"] + h @ P["U"] + P["b"])
            return h, h

        h, _ = tl.scan(step, x, np.zeros((5, 6)))
        loss = tl.mean((h - target) ** 2)
        updates = [(p, p - 0.3 * g) for p, g in zip(P.values(), tl.grad(loss, list(P.values())), strict=True)]
        train = tl.function([x], loss, updates=updates, mode=mode)
        losses = [float(train(data)) for _ in range(5)]
        results.append((losses, [p.get_value() for p in P.values()]))
        if mode == "c":
            assert in_c(train)
    (plain, a), (fast, b) = results
    assert plain[-1] < plain[0]
    np.testing.assert_allclose(fast, plain, rtol=1e-12)
    for left, right in zip(a, b, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-14)


def test_no_steps_give_the_first_state():
    x = tl.vector("x")
    last, ys = tl.scan(lambda s, v: (s * 2 + v, s), x, 3.0)
    f = tl.function([x], [last, ys], mode="c")
    assert float(f(np.zeros(0))[0]) == 3.0 and f(np.zeros(0))[1].shape == (0,)
    assert float(f(np.ones(2))[0]) == 15.0


def test_a_step_that_needs_numpy_runs_with_numpy():
    x = tl.matrix("x")
    last, _ = tl.scan(lambda h, v: (tl.sort(h + v) * 0.5, h), x, np.zeros(3))
    f = tl.function([x], last, mode="c")
    a = np.random.default_rng(2).normal(size=(4, 3))
    h = np.zeros(3)
    for v in a:
        h = np.sort(h + v) * 0.5
    np.testing.assert_allclose(f(a), h)
    assert not in_c(f)


def test_lengths_that_do_not_agree_are_told_as_ever():
    x, y = tl.vector("x"), tl.vector("y")
    last, _ = tl.scan(lambda s, v: (s + v[0] * v[1], s), (x, y), 0.0)
    f = tl.function([x, y], last, mode="c")
    assert float(f(np.ones(3), np.full(3, 2.0))) == 6.0
    with pytest.raises(tl.TutorlibError, match="different lengths"):
        f(np.ones(3), np.ones(2))
