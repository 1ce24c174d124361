"""``mode="c"``: softmax, cross-entropy and their gradients as NumPy computes them; wrong labels write nothing."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile import c_compiler

pytestmark = pytest.mark.skipif(c_compiler.compiler() is None, reason="no C compiler on this machine")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("classes", [1, 3, 10, 64])
def test_values_and_gradients_are_numpys(classes, dtype):
    rng = np.random.default_rng(classes)
    a = (rng.normal(size=(7, classes)) * 5).astype(dtype)
    a[1], a[2, 0], a[3], a[4, 0] = 1000.0, np.nan, -np.inf, np.inf
    labels = rng.integers(0, classes, 7)
    x, y = tl.symbol("x", a.shape, dtype), tl.symbol("y", (7,), "int64")
    losses = tl.cross_entropy(x * 1.5, y, reduction="none")
    outputs = [
        tl.softmax(x + 1, axis=1) * 2, tl.log_softmax(x * 2, axis=1) + 1, losses,
        tl.grad(tl.sum(losses * losses), x), tl.grad(tl.mean(losses), x),
    ]  # fmt: skip
    f = tl.function([x, y], outputs, mode="c")
    plain = tl.function([x, y], outputs, mode="plain")
    tolerance = {"float32": 2e-6, "float64": 1e-14}[dtype]
    with np.errstate(all="ignore"):
        for got, want in zip(f(a, labels), plain(a, labels), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=20 * tolerance, atol=tolerance)
    assert f.c_source.count("void tl_segment") == 1 and "cross_entropy_back" in f.c_source


@pytest.mark.parametrize("wrong", [-1, 3, 2**40, -(2**62)])
def test_a_label_that_is_no_class_is_told_and_nothing_is_written(wrong):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 4))
    x, y = tl.symbol("x", (5, 4)), tl.symbol("y", (5,), "int64")
    w, v = tl.shared(rng.normal(size=(4, 3)), name="w"), tl.shared(np.zeros((4, 3)), name="v")
    loss = tl.cross_entropy(x @ w, y)
    new = 0.5 * v + tl.grad(loss, w)
    step = tl.function([x, y], loss, updates=[(v, new), (w, w - 0.1 * new)], mode="c")
    good = np.array([0, 1, 2, 1, 0])
    for _ in range(4):
        step(a, good)
    assert step.c_source.count("void tl_segment") == 1 and step._fast.quick is not None
    before = w.get_value(), v.get_value()
    bad = good.copy()
    bad[3] = wrong
    for _ in range(2):
        with pytest.raises(tl.TutorlibError, match=r"is not one of the 3 classes.*\n?.*") as told:
            step(a, bad)
        assert "test_c_rows" in str(told.value)
        np.testing.assert_array_equal(w.get_value(), before[0])
        np.testing.assert_array_equal(v.get_value(), before[1])
    z = a @ before[0]
    want = (np.log(np.exp(z).sum(1)) - z[np.arange(5), good]).mean()
    assert float(step(a, good)) == pytest.approx(want, rel=1e-12)


def test_a_classifier_trains_as_without_c():
    rng = np.random.default_rng(2)
    data, labels = rng.normal(size=(30, 4)).astype("float32"), rng.integers(0, 3, 30)
    values = [rng.normal(size=s).astype("float32") / 2 for s in ((4, 8), (8,), (8, 3), (3,))]
    results = []
    for mode in ("plain", "c"):
        P = [tl.shared(v) for v in values]
        x, y = tl.symbol("x", data.shape, "float32"), tl.symbol("y", (30,), "int64")
        loss = tl.cross_entropy(tl.linear(tl.relu(tl.linear(x, P[0], P[1])), P[2], P[3]), y)
        updates = [(p, p - 0.5 * g) for p, g in zip(P, tl.grad(loss, P), strict=True)]
        step = tl.function([x, y], loss, updates=updates, mode=mode)
        results.append([float(step(data, labels)) for _ in range(20)])
    assert results[1][-1] < results[1][0]
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4)
    assert len(step._fast.latest()._calls) == 1
