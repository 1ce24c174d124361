"""``mode="c"``: max pooling and its gradient, for windows of every geometry, as NumPy computes them."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile import c_compiler

pytestmark = pytest.mark.skipif(c_compiler.compiler() is None, reason="no C compiler on this machine")
# (sizes of an image, kernel, stride, whether the gradient is C too)
WINDOWS = {
    "a half": ((6, 8), 2, 2, True),
    "rows and columns left over": ((7, 9), (2, 3), (2, 3), True),
    "gaps between windows": ((9, 9), 2, 3, True),
    "overlapping": ((7, 7), 3, 1, False),
    "one axis": ((11,), 3, 3, True),
    "windows of one": ((4, 5), 1, 1, True),
}


def pooled(x, kernel, stride):
    return tl.max_pool1d(x, kernel, stride) if x.ndim == 3 else tl.max_pool2d(x, kernel, stride)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("windows", WINDOWS)
def test_values_and_gradients_are_numpys(windows, dtype):
    sizes, kernel, stride, both = WINDOWS[windows]
    rng = np.random.default_rng(0)
    # Few different values: many ties. One window has NaN, one is all -inf.
    a = rng.integers(0, 4, (3, 2, *sizes)).astype(dtype)
    a[0, 0] = -np.inf
    a[1, 1].flat[0] = np.nan
    x, g = tl.symbol("x", a.shape, dtype), tl.symbol("g", pooled(tl.symbol("s", a.shape, dtype), kernel, stride).shape)
    y = pooled(x, kernel, stride)
    outputs = [y, tl.grad(tl.sum(y * g), x)]
    b = rng.normal(size=g.shape)
    b.flat[3] = np.inf
    fast, plain = (tl.function([x, g], outputs, mode=mode) for mode in ("c", "plain"))
    for got, want in zip(fast(a, b), plain(a, b), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    assert fast.c_source.count("max_pool_spread") == both and "max_pool" in fast.c_source


def test_a_convolutional_network_trains_as_without_c():
    rng = np.random.default_rng(1)
    data, labels = rng.normal(size=(4, 1, 12, 12)), rng.integers(0, 3, 4)
    values = {"K": rng.normal(size=(2, 1, 3, 3)), "c": np.zeros(2), "W": rng.normal(size=(50, 3)) / 7}
    results = []
    for mode in ("plain", "c"):
        P = {k: tl.shared(v, name=k) for k, v in values.items()}
        x = tl.symbol("x", data.shape)
        h = tl.relu(tl.max_pool2d(tl.conv2d(x, P["K"], P["c"]), 2))
        loss = tl.cross_entropy(tl.reshape(h, (4, 50)) @ P["W"], labels)
        updates = [(p, p - 0.1 * g) for p, g in zip(P.values(), tl.grad(loss, list(P.values())), strict=True)]
        step = tl.function([x], loss, updates=updates, mode=mode)
        results.append(([float(step(data)) for _ in range(4)], [p.get_value() for p in P.values()]))
        if mode == "c":
            assert "max_pool" in step.c_source
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-10)
    for left, right in zip(results[1][1], results[0][1], strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-13)
