"""The functions that ``mode="c"`` computes itself: within 1.7 units in the last place, right at the ends; vectors."""

import ctypes
import subprocess

import numpy as np
import pytest

import tutorlib as tl
from tests.compile import minimax
from tutorlib.compile import c_compiler, c_math

needs_compiler = pytest.mark.skipif(c_compiler.compiler() is None, reason="no C compiler on this machine")
EXACT = {"exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log1p_unit": np.log1p, "tanh": np.tanh}
KINDS = {"float32": "float", "float64": "double"}
NO_FMA = "#undef __FMA__\n#undef __FP_FAST_FMAF\n#undef __FP_FAST_FMA\n"
# Where float64 is the longest type there is nothing to compare float64 with.
DTYPES = ["float32", pytest.param("float64", marks=pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason=""))]


def loops():
    """C text: a loop for each function and type."""
    return "".join(
        f"void {name}_{kind}(const {kind} *x, {kind} *y, long n) {{\n#pragma omp simd\n"
        f"for (long i = 0; i < n; i++) y[i] = tl_{name}_{kind}(x[i]);\n}}\n"
        for name in EXACT
        for kind in KINDS.values()
    )


def computed(name, x, before=""):
    text = loops()
    loaded = c_compiler.library(before + c_math.definitions(text) + text)
    function = loaded[f"{name}_{KINDS[x.dtype.name]}"]
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long], None
    y = np.empty_like(x)
    function(x.ctypes.data, y.ctypes.data, x.size)
    return y


def arguments(dtype):
    """Numbers of every size, many where the functions change most, and any pattern of bits."""
    rng = np.random.default_rng(0)
    n = 20_000
    info = np.finfo(dtype)
    largest = float(np.log(info.max)) * 1.2
    bits = rng.integers(0, 2 ** (8 * np.dtype(dtype).itemsize) - 1, n, dtype=f"uint{8 * np.dtype(dtype).itemsize}")
    ends = [0.0, info.tiny, info.smallest_subnormal, info.max, np.inf, np.nan, 1.0, np.log(2.0), 0.55, np.log(info.max)]
    ends += [float(np.log(info.tiny)), float(np.log(info.smallest_subnormal)), 2.0**-30, 1 - info.epsneg, 1 + info.eps]
    around = np.concatenate([np.array(ends, dtype), np.nextafter(np.array(ends, dtype), dtype(0))])
    parts = [rng.normal(size=n) * s for s in (1e-3, 0.3, 1.0, 10.0)] + [rng.uniform(-largest, largest, n)]
    return np.concatenate([*(p.astype(dtype) for p in parts), bits.view(dtype), around, -around])


def for_function(name, dtype):
    x = arguments(np.dtype(dtype).type)
    return x[(x >= 0) & (x <= 1) & ~np.signbit(x)] if name == "log1p_unit" else x


def last_places(got, exact):
    """The error in units in the last place of the result's dtype."""
    info = np.finfo(got.dtype)
    _, exponent = np.frexp(np.maximum(np.abs(exact), exact.dtype.type(info.tiny)))
    return np.abs(got - exact) / np.ldexp(exact.dtype.type(1), exponent - info.nmant - 1)


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("before", ["", NO_FMA], ids=["as it is", "no fma"])
def test_every_value_is_within_two_units_in_the_last_place(name, dtype, before):
    x = for_function(name, dtype)
    with np.errstate(all="ignore"):
        exact = EXACT[name](x.astype(np.longdouble if dtype == "float64" else np.float64))
        rounded = exact.astype(dtype)
    got = computed(name, x, before)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(got[~finite], rounded[~finite])
    assert np.isfinite(got[finite]).all()
    assert last_places(got[finite], exact[finite]).max() < 1.7
    signed = ~np.isnan(rounded)
    np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(rounded[signed]))


@needs_compiler
def test_every_loop_becomes_vector_instructions():
    found = c_compiler.compiler()
    if "clang" in found.version or "-O3" not in found.command:
        pytest.skip("only gcc says what it vectorised in these words")
    text = c_math.definitions(loops()) + loops()
    said = subprocess.run(
        [*found.command, "-fopt-info-vec-optimized", "-x", "c", "-", "-S", "-o", "-"],
        input=c_compiler._PREAMBLE + text, capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    assert said.count("loop vectorized") >= 2 * len(EXACT)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no extended precision here")
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", ["EXP", "LOG", "LOG_UNIT", "TANH"])
def test_the_coefficients_are_those_of_the_best_polynomial(name, dtype):
    kind = KINDS[dtype]
    kept = [float.fromhex(c) for c in c_math._COEFFICIENTS[kind][name].split()]
    best, error = minimax.best(name, dtype)
    assert len(kept) == len(best)
    # Rounded to their type, and found on a grid: hardly worse than the best.
    assert minimax.error_of(name, kept) <= error + 0.2 * float(np.finfo(dtype).epsneg)


def test_only_what_is_called_is_defined():
    assert c_math.definitions("sin(x) + tl_unknown_float(x)") == ""
    text = c_math.definitions("tl_log_float(x)")
    assert "tl_log_float" in text and "tl_log_rest_float" in text
    assert "tanh" not in text and "double" not in text.replace("tl_fma_double", "")


@needs_compiler
@pytest.mark.parametrize("dtype", KINDS)
def test_a_function_uses_them_and_keeps_infinities_and_zeros(dtype):
    a = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -1e-30, 1e30], dtype)
    x = tl.symbol("x", a.shape, dtype)
    functions = [tl.exp, tl.expm1, tl.log, tl.log1p, tl.tanh]
    f = tl.function([x], [g(x) for g in functions], mode="c")
    assert f"tl_tanh_{KINDS[dtype]}(" in (f(a), f.c_source)[1]
    with np.errstate(all="ignore"):
        for got, g in zip(f(a), (np.exp, np.expm1, np.log, np.log1p, np.tanh), strict=True):
            want = g(a)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)
            np.testing.assert_array_equal(np.signbit(got)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])


@needs_compiler
def test_log1p_of_a_number_that_is_surely_between_0_and_1_takes_the_short_way():
    x = tl.vector("x")
    f = tl.function([x], [tl.log1p(tl.exp(-(x * x))), tl.softplus(x), tl.log1p(x)], mode="c")
    a = np.linspace(-3, 3, 7)[3:]
    for got, want in zip(f(a), [np.log1p(np.exp(-(a**2))), np.log1p(np.exp(a)), np.log1p(a)], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-15)
    assert f.c_source.count("tl_log1p_unit_double(") == 2 and f.c_source.count("tl_log1p_double(") == 1
