"""Updates of large variables that add in place: the values of NumPy, whatever is read and however it lies."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile import adding, blas
from tutorlib.compile.blas import library

DTYPES = ["float32", "float64"]
SIDE = 160  # a square matrix of this side is large


def normal(seed, *shape, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def joined(function):
    """The names of the ops that the schedule of a function has put in the place of two."""
    return [step.node.op.name for step in function._fast.latest().steps if step.node.op.name in ("axpy", "gemm")]


def needs_blas(names):
    return names if library() is not None else []


def assert_close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_step_of_descent_is_numpys(dtype):
    start, slope = normal(0, SIDE, SIDE, dtype=dtype), normal(1, SIDE, SIDE, dtype=dtype)
    w, v = tl.shared(start), tl.shared(start)
    g = tl.matrix("g", dtype=dtype)
    step = tl.function([g], tl.sum(w), updates=[(w, w - 0.1 * g), (v, g * 3.0 + v)])
    for call in range(3):
        assert_close(w.get_value(), start - call * 0.1 * slope)
        step(slope)
    assert_close(v.get_value(), start + 9.0 * slope)
    assert joined(step) == needs_blas(["axpy", "axpy"])
    w.set_value(slope)
    step(np.asfortranarray(start))
    assert_close(w.get_value(), slope - 0.1 * start)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_a_product_is_added_as_numpy_adds_it(dtype, turned):
    a, b, start = normal(0, SIDE, 3, dtype=dtype), normal(1, 3, SIDE, dtype=dtype), normal(2, SIDE, SIDE, dtype=dtype)
    x, y = tl.matrix("x", dtype=dtype), tl.matrix("y", dtype=dtype)
    w = tl.shared(start)
    left, right = x.T if turned[0] else x, y.T if turned[1] else y
    step = tl.function([x, y], updates=[(w, w - left @ right)])
    for _ in range(2):
        step(a.T.copy() if turned[0] else a, b.T.copy() if turned[1] else b)
    assert_close(w.get_value(), start - 2 * a @ b)


def test_without_the_library_and_for_arrays_that_do_not_lie_in_rows_numpy_adds(monkeypatch):
    a, b, start = normal(0, SIDE, 8), normal(1, 4, SIDE), normal(2, SIDE, SIDE)
    x, y = tl.matrix("x", dtype="float32"), tl.matrix("y", dtype="float32")
    for found in (library, lambda: None):
        monkeypatch.setattr(adding, "library", found)
        w, v = tl.shared(start), tl.shared(start)
        step = tl.function([x, y], updates=[(w, w - x[:, ::2] @ y), (v, v - 0.5 * (v.T + 0.0))])
        step(a, b)
        assert_close(w.get_value(), start - a[:, ::2] @ b)
        assert_close(v.get_value(), start - 0.5 * start.T)


def test_updates_that_read_what_others_write_see_the_values_before():
    a, b = normal(0, SIDE, SIDE) / SIDE, normal(1, SIDE, SIDE) / SIDE
    u, v = tl.shared(a), tl.shared(b)
    step = tl.function([], updates=[(u, u - 0.5 * v), (v, v - u @ v)])
    step()
    assert_close(u.get_value(), a - 0.5 * b)
    assert_close(v.get_value(), b - a @ b)
    w = tl.shared(a)
    tl.function([], updates=[(w, w - 0.25 * w)])()
    assert_close(w.get_value(), 0.75 * a)
    w.set_value(a)
    tl.function([], updates=[(w, w + 2.0 * w.T)])()
    assert_close(w.get_value(), a + 2 * a.T)


def test_a_value_read_by_borrowing_and_a_product_wanted_elsewhere_stay_right():
    start, slope = normal(0, SIDE, SIDE), normal(1, SIDE, SIDE)
    w, g = tl.shared(start), tl.shared(slope)
    change = 0.1 * g
    step = tl.function([], [tl.sum(change), change], updates=[(w, w - change)])
    step()
    assert joined(step) == []
    kept = w.get_value(borrow=True)
    before = kept.copy()
    total, shown = step()
    assert (kept == before).all()
    assert_close(w.get_value(), before - 0.1 * slope)
    assert_close(shown, 0.1 * slope)
    assert abs(total - 0.1 * slope.sum()) < 1e-2


def test_masked_out_infinities_do_not_reach_the_variable():
    x = tl.shared(np.linspace(-1, 1, SIDE * SIDE, dtype=np.float32), name="x")
    loss = tl.sum(tl.where(x > 0, tl.log(x), 0.0))
    step = tl.function([], updates=[(x, x - 0.1 * tl.grad(loss, x))])
    before = x.get_value()
    step()
    slope = np.divide(1, before, out=np.zeros_like(before), where=before > 0)
    np.testing.assert_allclose(x.get_value(), before - 0.1 * slope, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(library() is None, reason="NumPy brings no BLAS library that can be called")
def test_the_library_refuses_what_it_would_get_wrong():
    found = library()
    f, d = np.ones((4, 4), np.float32), np.ones((4, 4))
    assert found.axpy(1.0, d, f) is None and found.axpy(1.0, f[::2], f[:2]) is None and found.axpy(1.0, f[0], f) is None
    assert found.gemm(1.0, d, f, f.copy()) is None and found.gemm(1.0, f[:, ::2], f[:2], f.copy()) is None
    odd = np.zeros(65, np.uint8)[1:].view(np.float32).reshape(4, 4)
    swapped = f.astype(f.dtype.newbyteorder())
    assert found.axpy(1.0, odd, f) is None and found.gemm(1.0, odd, f, f.copy()) is None
    assert found.axpy(1.0, swapped, swapped.copy()) is None
    assert found.gemm(1.0, f, f, f.T[:2]) is None and found.gemm(1.0, f[:, :0], f[:0], f.copy()) is None


@pytest.mark.skipif(library() is None, reason="NumPy brings no BLAS library that can be called")
def test_a_library_that_computes_otherwise_is_not_used(monkeypatch):
    assert blas._does_as_numpy(library())
    monkeypatch.setattr(blas.Blas, "axpy", lambda self, a, x, y: lambda: None)
    assert not blas._does_as_numpy(library())


@pytest.mark.filterwarnings("ignore:.*no C compiler")
def test_with_c_a_product_is_added_in_place_and_a_multiple_is_a_loop_of_c():
    a, b, start = normal(0, SIDE, 3), normal(1, 3, SIDE), normal(2, SIDE, SIDE)
    x, y = tl.matrix("x", dtype="float32"), tl.matrix("y", dtype="float32")
    w, v = tl.shared(start), tl.shared(start)
    step = tl.function([x, y], tl.sum(x), updates=[(w, w - x @ y), (v, v - 0.5 * tl.tanh(v))], mode="c")
    for _ in range(3):
        step(a, b)
    assert_close(w.get_value(), start - 3 * a @ b)
    for _ in range(3):
        start = start - np.float32(0.5) * np.tanh(start)
    assert_close(v.get_value(), start)
    assert "axpy" not in joined(step) or not step.c_source
