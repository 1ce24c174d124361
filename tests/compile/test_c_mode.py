"""``mode="c"`` gives what NumPy gives, to rounding, for every shape and layout; without a compiler too."""

import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tutorlib as tl
from tests.compile.random_graphs import random_graph, values_for
from tutorlib.compile import c_compiler
from tutorlib.compile.c_loops import collapsed

pytestmark = pytest.mark.skipif(c_compiler.compiler() is None, reason="no C compiler on this machine")
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}


def assert_same(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=TOLERANCE[got.dtype.name], atol=TOLERANCE[got.dtype.name])


def compiled(function):
    """The C text that a function used last; fails where there is none."""
    assert function.c_source
    return function.c_source


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_and_their_gradients_equal_the_plain_plan(seed, dtype, monkeypatch):
    inputs, out = random_graph(seed, 14, dtype)
    outputs = [out, *tl.grad(tl.sum(tl.tanh(out)), inputs, disconnected="zero")]
    fast = tl.function(inputs, outputs, on_unused_input="ignore", mode="c")
    plain = tl.function(inputs, outputs, on_unused_input="ignore", mode="plain")
    monkeypatch.setattr(fast, "_run_plainly", None)
    for call, shape in enumerate([(3, 4), (1, 1), (0, 2), (3, 4)]):
        arrays = values_for(shape, 2, dtype, seed=call)
        for a, b in zip(fast(*arrays), plain(*arrays), strict=True):
            assert_same(a, b)
    compiled(fast)


def test_a_training_step_is_one_loop_and_one_call():
    x, w = tl.vector("x"), tl.shared(np.ones(5), name="w")
    loss = tl.sum(tl.tanh(x * w + 0.3))
    step = tl.function([x], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))], mode="c")
    a = np.arange(5.0)
    assert float(step(a)) == pytest.approx(np.tanh(a + 0.3).sum(), rel=1e-14)
    np.testing.assert_allclose(w.get_value(), 1 - 0.1 * a * (1 - np.tanh(a + 0.3) ** 2), rtol=1e-14)
    text = compiled(step)
    assert text.count("#pragma omp simd") == 1 and text.count("void tl_segment") == 1
    assert len(step._fast.latest()._calls) == 1 and not step._fast.latest()._last_calls


LAYOUTS = {
    "as it is": lambda a: a,
    "lying": lambda a: np.ascontiguousarray(a.T).T,
    "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "every second": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shared_arrays_of_any_layout_are_read_in_place(layout):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 70, 150))
    s = tl.shared(0.0 * a, name="s")
    x = tl.matrix("x")
    f = tl.function([x], [tl.exp(x) * s + 1, (x * s).sum(axis=0), tl.mean(x - s)], mode="c")
    for value in (a, a + 1):
        s.set_value(LAYOUTS[layout](value), borrow=True)
        given_ = LAYOUTS[layout](b)
        for got, want in zip(f(given_), [np.exp(b) * value + 1, (b * value).sum(0), np.mean(b - value)], strict=True):
            assert_same(got, np.asarray(want))
    compiled(f)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=3).flatmap(
        lambda shape: st.tuples(
            st.just(tuple(shape)), st.tuples(*(st.sampled_from([1, n]) for n in shape)), st.integers(0, len(shape))
        )
    ),
    st.sampled_from(["float32", "float64"]),
)
def test_broadcast_operands_and_sums_over_what_was_broadcast(shapes, dtype):
    wide, narrow, dropped = shapes
    x, y = tl.symbol("x", wide, dtype), tl.symbol("y", narrow[dropped:], dtype)
    loss = tl.sum(tl.tanh(x * y) + y)
    f = tl.function([x, y], [tl.tanh(x * y) + y, *tl.grad(loss, [x, y])], mode="c")
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=wide).astype(dtype), rng.normal(size=narrow[dropped:]).astype(dtype)
    slope = 1 - np.tanh(a * b) ** 2
    shape = (1,) * (len(wide) - b.ndim) + b.shape
    over = tuple(i for i, n in enumerate(shape) if n == 1)
    for got, want in zip(
        f(a, b),
        [np.tanh(a * b) + b, slope * b, (slope * a + 1).sum(over, keepdims=True).reshape(b.shape)],
        strict=True,
    ):
        assert_same(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shapes", [((4, 3), (3, 5)), ((3,), (3, 5)), ((4, 3), (3,)), ((3,), (3,)), ((1, 1), (1, 1)), ((4, 0), (0, 5))]
)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_small_products_of_any_orientation(shapes, dtype, turned):
    rng = np.random.default_rng(2)
    a, b = (rng.normal(size=s).astype(dtype) for s in shapes)
    symbols = [tl.symbol(n, m.T.shape if t else m.shape, dtype) for n, m, t in zip("xy", (a, b), turned, strict=True)]
    x, y = (s.T if t else s for s, t in zip(symbols, turned, strict=True))
    f = tl.function(symbols, (tl.exp(x) @ y) * 2 + 1, mode="c")
    given_ = [np.ascontiguousarray(m.T) if t else m for m, t in zip((a, b), turned, strict=True)]
    assert_same(f(*given_), np.asarray((np.exp(a) @ b) * 2 + 1, dtype))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2), -1])
@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_sums_and_means_over_any_axes(axis, reduce):
    a = np.random.default_rng(3).normal(size=(5, 7, 3))
    x = tl.tensor3("x")
    f = tl.function([x], getattr(tl, reduce)(tl.transpose(x, (1, 0, 2)) * 2, axis=axis) + 1, mode="c")
    assert_same(f(a), np.asarray(getattr(np, reduce)(a.transpose(1, 0, 2) * 2, axis=axis) + 1))


def test_a_long_float32_sum_keeps_its_accuracy():
    a = np.full(1_000_000, 0.1, "float32")
    x = tl.symbol("x", (None,), "float32")
    total = tl.function([x], tl.sum(x * 1.5) + 0.0, mode="c")(a)
    assert float(total) == pytest.approx(1e6 * float(np.float32(0.1) * np.float32(1.5)), rel=1e-6)


def test_nan_infinities_and_signed_zeros_are_numpys():
    a = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])
    x = tl.vector("x")
    outputs = [
        x * x - x,
        1.0 / x,
        tl.maximum(x, 0.0) + 1,
        tl.where(x > 0, x, -x) * 2,
        tl.isnan(x) * 1.0,
        tl.sign(x) + x,
    ]
    f = tl.function([x], outputs, mode="c")
    with np.errstate(all="ignore"):
        expected = [
            a * a - a, 1.0 / a, np.maximum(a, 0.0) + 1, np.where(a > 0, a, -a) * 2, np.isnan(a) * 1.0, np.sign(a) + a,
        ]  # fmt: skip
    for got, want in zip(f(a), expected, strict=True):
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[:4]), np.signbit(want[:4]))
    compiled(f)


def test_a_masked_branch_leaks_no_nan():
    w = tl.shared([0.0, 1.0, 4.0], name="w")
    loss = tl.sum(tl.where(w > 0, tl.sqrt(w), 0.0))
    step = tl.function([], loss, updates=[(w, w - 0.5 * tl.grad(loss, w))], mode="c")
    assert step() == 3.0
    np.testing.assert_allclose(w.get_value(), [0.0, 0.75, 3.875])
    compiled(step)


def test_simultaneous_updates_see_the_values_from_before():
    a, b = tl.shared([1.0, 2.0], name="a"), tl.shared([10.0, 20.0], name="b")
    step = tl.function([], a * b, updates=[(a, b), (b, a + b * 0.5)], mode="c")
    assert step().tolist() == [10.0, 40.0]
    assert (a.get_value().tolist(), b.get_value().tolist()) == ([10.0, 20.0], [6.0, 12.0])


def test_a_value_read_along_another_axis_is_read_before_its_place_is_used_again():
    x = tl.matrix("x")
    y = tl.exp(x)
    f = tl.function([x], (y + y.T) * 2 + y[0], mode="c")
    a = np.arange(9.0).reshape(3, 3) / 9
    e = np.exp(a)
    assert_same(f(a), (e + e.T) * 2 + e[0])


def test_integers_and_comparisons_between_dtypes():
    n, x = tl.symbol("n", (None,), "int64"), tl.vector("x")
    f = tl.function(
        [n, x], [tl.cast(n, "float64") * x, tl.where(n > 1, x, 0.0) + 1, tl.cast(x > n, "float64") * 2], mode="c"
    )
    a, b = np.array([0, 1, 2, 3]), np.array([0.5, 1.5, 1.5, 9.0])
    for got, want in zip(f(a, b), [a * b, np.where(a > 1, b, 0.0) + 1, (b > a) * 2.0], strict=True):
        assert_same(got, want)


def test_what_c_cannot_do_stays_with_numpy_between_the_segments():
    x = tl.matrix("x")
    f = tl.function([x], tl.exp(tl.sort(tl.tanh(x) * 2 + 1, axis=1) * 3 - 1) + x, mode="c")
    a = np.random.default_rng(4).normal(size=(3, 4))
    assert_same(f(a), np.exp(np.sort(np.tanh(a) * 2 + 1, axis=1) * 3 - 1) + a)
    assert compiled(f).count("void tl_segment") == 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 63, 64, 255, 256, 257, 1500])
def test_a_long_loop_of_many_ops_is_cut_into_several(n, dtype):
    x = tl.symbol("x", (3, n), dtype)
    y = tl.exp(-tl.tanh(x * 2 + 1))
    z = tl.log1p(y * y) * tl.tanh(x)
    f = tl.function([x], [z, tl.sum(y), tl.mean(z), y + x], mode="c")
    a = np.random.default_rng(5).normal(size=(3, n)).astype(dtype)
    e = np.exp(-np.tanh(a * 2 + 1))
    w = np.log1p(e * e) * np.tanh(a)
    for got, want in zip(f(a), [w, e.sum(), w.mean(), e + a], strict=True):
        assert_same(got, np.asarray(want))
    loops = compiled(f).count("#pragma omp simd")
    assert loops > 2 if 3 * n >= 64 else loops == 1


def test_a_cut_loop_keeps_to_the_order_in_which_arrays_are_written_and_read():
    w, v = tl.shared(np.linspace(-1, 1, 300), name="w"), tl.shared(np.zeros(300), name="v")
    new = 0.9 * v + tl.tanh(w) * tl.exp(w) * tl.log1p(tl.exp(tl.tanh(w * 3.0)))
    step = tl.function([], tl.sum(w * v), updates=[(v, new), (w, w - 0.1 * new)], mode="c")
    a, b = w.get_value(), v.get_value()
    for _ in range(3):
        total = (a * b).sum()
        b = 0.9 * b + np.tanh(a) * np.exp(a) * np.log1p(np.exp(np.tanh(a * 3.0)))
        a = a - 0.1 * b
        assert float(step()) == pytest.approx(total, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(w.get_value(), a, rtol=1e-12)
    np.testing.assert_allclose(v.get_value(), b, rtol=1e-12)
    assert compiled(step).count("#pragma omp simd") > 2


def test_equal_steps_share_one_function():
    x, w = tl.matrix("x"), tl.shared(np.eye(4) * 0.9, name="w")
    h = x
    for _ in range(6):
        h = tl.tanh(h @ w) + 0.1
    f = tl.function([x], h, mode="c")
    a = np.random.default_rng(6).normal(size=(3, 4))
    want = a
    for _ in range(6):
        want = np.tanh(want @ (np.eye(4) * 0.9)) + 0.1
    assert_same(f(a), want)
    text = compiled(f)
    assert text.count("static __attribute__((noinline)) void tl_part") < 6
    # Each op is named with its line all the same.
    assert text.count("/* tanh, ") + text.count("; tanh, ") + text.count("tanh, test_c_mode") >= 6


def test_more_functions_of_one_text_than_places_for_their_tables():
    x = tl.vector("x")
    functions = [tl.function([x], tl.exp(x) * 2 + 1, mode="c") for _ in range(7)]
    for _ in range(3):
        for k, f in enumerate(functions):
            assert f(np.full(3, float(k))).tolist() == pytest.approx([np.exp(k) * 2 + 1] * 3, rel=1e-14)
    del functions[:5]
    again = [tl.function([x], tl.exp(x) * 2 + 1, mode="c") for _ in range(5)]
    for _ in range(3):
        for k, f in enumerate([*functions, *again]):
            assert f(np.full(3, float(k))).tolist() == pytest.approx([np.exp(k) * 2 + 1] * 3, rel=1e-14)


def test_the_printed_program_gives_the_same_values():
    x = tl.vector("x")
    f = tl.function([x], tl.tanh(x) * 2 + 1, mode="c")
    a = np.linspace(-1, 1, 5)
    got = f(a)
    namespace = dict(f.source.arrays)
    exec(f.source, namespace)
    assert_same(got, namespace["run"](a)[0])


def test_threads_in_one_function_do_not_mix_their_values():
    x = tl.vector("x")
    f = tl.function([x], tl.exp(x) * x + 1, mode="c")
    wrong = []

    def work(k):
        a = np.full(1000, float(k))
        for _ in range(50):
            if not np.allclose(f(a), np.exp(a) * a + 1):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---- compiler and cache ----


def test_another_process_finds_the_library_and_compiles_nothing(tmp_path):
    code = (
        "import numpy as np, tutorlib as tl\n"
        "from tutorlib.compile import c_compiler\n"
        "real, times = c_compiler._compile, []\n"
        "c_compiler._compile = lambda *a: (times.append('probe' not in a[1]), real(*a))\n"
        "x = tl.vector('x'); f = tl.function([x], tl.exp(x) * 2 + 1, mode='c')\n"
        "print(f(np.zeros(3)).tolist(), sum('tl_segment' in f.c_source for _ in [0]), len(times))"
    )
    environment = os.environ | {"TUTORLIB_CACHE": str(tmp_path)}
    said = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    first, second = (line.rsplit(maxsplit=1) for line in said)
    assert first[0] == second[0] == "[3.0, 3.0, 3.0] 1"
    assert int(first[1]) == int(second[1]) + 1
    assert len(list((tmp_path / "c").glob("*.so"))) == 1


def test_a_folder_that_others_may_write_to_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setenv("TUTORLIB_CACHE", str(tmp_path))
    (tmp_path / "c").mkdir()
    (tmp_path / "c").chmod(0o777)
    found = c_compiler.library("double tl_open(double x) { return x + 41; }")
    assert found.tl_open is not None and list((tmp_path / "c").iterdir()) == []


def test_the_oldest_libraries_go(tmp_path, monkeypatch):
    monkeypatch.setenv("TUTORLIB_CACHE", str(tmp_path))
    monkeypatch.setattr(c_compiler, "_KEPT_FILES", 2)
    for k in range(4):
        c_compiler.library(f"int tl_old_{k}(void) {{ return {k}; }}")
    assert len(list((tmp_path / "c").glob("*.so"))) == 2


def test_without_a_compiler_numpy_computes_and_the_learner_is_told(monkeypatch):
    monkeypatch.setenv("CC", "")
    x = tl.vector("x")
    with pytest.warns(UserWarning, match="no C compiler") as told:
        f = tl.function([x], tl.exp(x) * 2, mode="c")
    assert told[0].filename == __file__
    assert f([0.0]).tolist() == [2.0] and f.c_source == ""


def test_text_that_the_compiler_refuses_costs_a_warning_and_nothing_else(monkeypatch):
    monkeypatch.setattr(c_compiler, "_PREAMBLE", "#error refused\n")
    x = tl.vector("x")
    f = tl.function([x], tl.exp(x) * 2 - 3, mode="c")
    with pytest.warns(UserWarning, match="refused"):
        assert f([0.0]).tolist() == [-1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f([0.0]).tolist() == [-1.0]


def test_loops_are_as_few_as_the_layout_allows():
    a = np.zeros((4, 5, 6))
    assert collapsed(a.shape, [a]) == ([120], [(1,)])
    assert collapsed(a.shape, [a, np.broadcast_to(np.zeros(6), a.shape)]) == ([20, 6], [(6, 0), (1, 1)])
    assert collapsed(a.T.shape, [a.T]) == ([6, 5, 4], [(1,), (6,), (30,)])
    assert collapsed((1, 1), [np.zeros((1, 1))]) == ([], [])


def test_loops_and_sums_go_along_memory():
    """Maps behind a convolution have the batch last in memory."""
    rng = np.random.default_rng(7)
    a, k = rng.normal(size=(4, 2, 6, 6)), rng.normal(size=(3, 2, 3, 3))
    x, w = tl.symbol("x", a.shape), tl.shared(k, name="w")
    y = tl.conv2d(x, w)
    z = tl.where(y > 0, tl.tanh(y) * 2, y) + 1
    f = tl.function([x], [z, z.sum(axis=(0, 2, 3)), tl.mean(z, axis=1), tl.sum(z)], mode="c")
    plain = tl.function([x], [z, z.sum(axis=(0, 2, 3)), tl.mean(z, axis=1), tl.sum(z)], mode="plain")
    for got, want in zip(f(a), plain(a), strict=True):
        assert_same(got, want)
    # 192 values in one loop, not 4 times 48.
    assert "i0 < 192;" in compiled(f) or "j < 192;" in compiled(f)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_every_number_of_rows_and_columns(dtype):
    """What is left over when rows and columns are taken several at a time, with and without a bias."""
    rng = np.random.default_rng(8)
    x, y, b = (tl.symbol(name, (None,) * n, dtype) for name, n in (("x", 2), ("y", 2), ("b", 1)))
    f = tl.function([x, y, b], [x @ y + 1, tl.linear(x, y, b) * 2, tl.transpose(x @ y) - 1], mode="c")
    for m, n in [(1, 37), (3, 7), (5, 16), (6, 17), (8, 33)]:
        p, q, r = (rng.normal(size=s).astype(dtype) for s in ((m, 5), (5, n), (n,)))
        for got, want in zip(f(p, q, r), [p @ q + 1, (p @ q + r) * 2, (p @ q).T - 1], strict=True):
            assert_same(got, want)
    compiled(f)
