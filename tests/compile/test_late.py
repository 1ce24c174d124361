"""Values whose shapes only running tells are computed first; the rest is planned, and all is as if it were not."""

import numpy as np
import pytest

import tutorlib as tl


def scheduled(function):
    """The schedule a function used last; fails where it ran plainly."""
    schedule = function._fast.latest()
    assert schedule is not None
    return schedule


def trained(mode, steps=7):
    """A classifier's losses and weights after some minibatches, the last one shorter."""
    rng = np.random.default_rng(0)
    rows, labels = tl.shared(rng.normal(size=(10, 4)), name="rows"), tl.shared(rng.integers(0, 3, 10), name="labels")
    w, b = tl.shared(rng.normal(size=(4, 3)), name="w"), tl.shared(np.zeros(3), name="b")
    x, y, i = tl.matrix("x"), tl.symbol("y", (None,), "int64"), tl.symbol("i", (), "int64")
    loss = tl.cross_entropy(tl.tanh(x @ w) @ (w.T @ w) + b, y)
    updates = [(p, p - 0.1 * g) for p, g in zip((w, b), tl.grad(loss, [w, b]), strict=True)]
    part = slice(i * 4, (i + 1) * 4)
    step = tl.function([i], loss, updates=updates, givens=[(x, rows[part]), (y, labels[part])], mode=mode)
    losses = [float(step(k % 3)) for k in range(steps)]
    return step, losses, w.get_value()


@pytest.mark.parametrize("mode", [None, "c"])
def test_minibatches_cut_out_between_symbols_train_as_they_do_plainly(mode):
    step, losses, w = trained(mode)
    _, want, w_plain = trained("plain")
    np.testing.assert_allclose(losses, want, rtol=1e-12)
    np.testing.assert_allclose(w, w_plain, rtol=1e-10)
    assert {s.array[id(s.inputs[1])].shape[0] for s in step._fast._known.values() if s is not None} == {4, 2}


def test_the_printed_program_has_it_all():
    i, data = tl.symbol("i", (), "int64"), tl.shared(np.arange(12.0).reshape(6, 2), name="data")
    x = data[i : i + 2]
    f = tl.function([i], tl.tanh(tl.exp(-x) * 2.0 + 1.0).sum(axis=0) * tl.square(x).sum() - 1.0)
    for _ in range(2):
        got = f(3)
    scheduled(f)
    namespace = dict(f.source.arrays)
    exec(f.source, namespace)
    np.testing.assert_array_equal(namespace["run"](np.array(3), data.get_value())[0], got)
    assert "data[i:" in f.source


def test_the_sliced_variable_may_itself_be_updated():
    def run(mode):
        n, w, v = tl.symbol("n", (), "int64"), tl.shared([1.0, 2.0, 3.0]), tl.shared([0.0, 0.0])
        part = w[n : n + 2]
        more = tl.exp(part) * 2.0 + 1.0 - tl.tanh(part)
        f = tl.function([n], more.sum(), updates=[(w, w * 2.0), (v, v + part)], mode=mode)
        sums = [float(f(k)) for k in (0, 1, 1, 0)]
        return sums, w.get_value().tolist(), v.get_value().tolist()

    assert run(None) == run("plain")


def test_a_mask_of_another_length_each_time():
    x, y = tl.vector("x"), tl.vector("y")
    kept = x[x > 0]
    z = tl.tanh(y) * 2.0 + 1.0
    f = tl.function([x, y], [kept * 2.0, tl.exp(z) - z * tl.square(z), tl.sum(kept) + tl.sum(z)])
    rng = np.random.default_rng(1)
    for n in (5, 5, 3, 5):
        a, b = rng.normal(size=(2, n))
        k, t = a[a > 0], np.tanh(b) * 2 + 1
        for got, want in zip(f(a, b), [k * 2, np.exp(t) - t**3, k.sum() + t.sum()], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    scheduled(f)


def test_an_error_in_the_first_part_names_its_line():
    x, i = tl.matrix("x"), tl.symbol("i", (), "int64")
    rows = x[i:]
    first = rows[0]  # there may be none
    f = tl.function([x, i], tl.exp(tl.tanh(first * 2.0) + 1.0).sum() - tl.square(first).sum())
    data = np.ones((2, 3))
    f(data, 0), f(data, 1)
    with pytest.raises(tl.TutorlibError, match="there may be none"):
        f(data, 2)
