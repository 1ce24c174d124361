"""A function's program as text: it runs, gives the same values, and names nodes and lines; its memory as a table."""

from itertools import pairwise

import numpy as np
import pytest

import tutorlib as tl
from tests.compile.random_graphs import random_graph, values_for
from tutorlib.core.graph import Op


def program(function):
    """The ``run`` that a function's text defines."""
    namespace = dict(function.source.arrays)
    exec(str(function.source), namespace)
    return namespace["run"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(20))
def test_the_text_computes_what_the_function_computes(seed, dtype):
    inputs, out = random_graph(seed, 12, dtype)
    outputs = [out, *tl.grad(tl.sum(tl.tanh(out)), inputs, disconnected="zero")]
    f = tl.function(inputs, outputs, on_unused_input="ignore")
    for shape in [(3, 4), (1, 1), (0, 2)]:
        arrays = values_for(shape, 2, dtype)
        expected = f(*arrays)
        for got, want in zip(program(f)(*arrays), expected, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(10))
def test_the_text_updates_what_the_function_updates(seed):
    (x, y), out = random_graph(seed, 10)
    w, v = (tl.shared(a, name=n) for a, n in zip(values_for((3, 4), 2), "wv", strict=True))
    slope = tl.grad(tl.sum(tl.tanh(out)), x, disconnected="zero")
    f = tl.function(
        [], tl.sum(w), updates=[(w, w - 0.1 * slope), (v, w)], givens=[(x, w), (y, v)], on_unused_input="ignore"
    )
    f()
    run, shared = program(f), {"w": w.get_value(), "v": v.get_value()}
    used = {k: a for k, a in shared.items() if k in run.__code__.co_varnames}
    result = run(**used)
    np.testing.assert_array_equal(f(), result[0])
    for variable in (w, v):
        np.testing.assert_allclose(used[variable.name], variable.get_value(), rtol=1e-12)


def test_the_text_protects_products_where_the_call_had_to():
    x = tl.vector("x")
    f = tl.function([x], tl.grad(tl.where(x > 0, tl.sqrt(x), 0.0).sum(), x))
    for values in ([4.0, 1.0], [4.0, 0.0], [1.0, 4.0]):
        expected = f(values)
        with np.errstate(all="ignore"):
            found = program(f)(np.array(values))[0]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [3, 70_000])
def test_the_text_protects_what_has_to_be_protected_at_every_call(n):
    x = tl.vector("x")
    f = tl.function([x], tl.grad(tl.where(x > 0, tl.log(x), 0.0).sum(), x))
    values = np.arange(n) - 1.0
    expected = f(values)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(program(f)(values)[0], expected)


@pytest.mark.parametrize("name", ["lambda", "np", "value", "i", "n", "u0", "b0", "op", "নাম", "two words"])
def test_an_input_may_have_any_name(name):
    x = tl.vector(name)
    for values in (np.arange(3.0), np.linspace(-1.0, 1.0, 70_000)):
        f = tl.function([x], tl.erf(tl.exp(tl.tanh(x) * 2.0)) + 1.0)
        np.testing.assert_allclose(program(f)(values)[0], f(values), rtol=1e-12)
        np.testing.assert_allclose(program(f)(values)[0], f(values), rtol=1e-12)


@pytest.mark.parametrize("mode", [None, "plain", "c"])
def test_the_text_of_a_loop_and_its_gradient(mode):
    xs, h0 = tl.vector("xs"), tl.scalar("h0")
    last, ys = tl.scan(lambda h, x: (tl.tanh(h + x), h * x), xs, h0)
    f = tl.function([xs, h0], [last, ys, tl.grad(last + ys.sum(), xs)], mode=mode)
    arguments = np.array([0.5, -1.0, 2.0]), np.array(0.1)
    for _ in range(2):
        expected = f(*arguments)
        for got, want in zip(program(f)(*arguments), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_before_the_first_call_the_text_is_the_plain_program():
    x, s = tl.vector("x"), tl.shared([1.0, 2.0, 3.0], name="s")
    f = tl.function([x], [x[x > 0] * 2, tl.clip(x, -1.0)], updates=[(s, s + x)])
    array, kept = np.array([1.0, -3.0, 2.0]), s.get_value()
    run = program(f)
    results = run(array, kept)
    assert [r.tolist() for r in results] == [[2.0, 4.0], [1.0, -1.0, 2.0]]
    assert kept.tolist() == [2.0, -1.0, 5.0]
    f(array)
    assert "without a plan" in f.source and "planned for" not in f.source


def test_each_line_names_its_op_and_the_learners_line():
    x = tl.vector("x")
    y = tl.exp(x)  # line of exp
    f = tl.function([x], y * y.sum())
    f([1.0])
    (line,) = [text for text in f.source.splitlines() if "np.exp" in text]
    assert "# exp, test_source.py:" in line
    assert line.split("# exp, test_source.py:")[1] == str(y.node.source.line)


def test_large_constants_are_named_and_small_ones_written():
    x = tl.vector("x")
    large, small = np.arange(100.0), np.array([2.0])
    f = tl.function([x], x * large + small - np.inf)
    f(large)
    assert "np.array([2.0], 'float64')" in f.source
    assert [a.shape for a in f.source.arrays.values()] == [(100,)]
    assert program(f)(np.ones(100))[0].tolist() == [-np.inf] * 100


def test_an_op_of_several_results_and_one_outside_the_table_can_be_printed():
    x = tl.vector("x")
    both = Op("both", lambda xp, x, by: (x + by, x * 2), lambda x, by: (x, x), nout=2)
    more, twice = both(x, by=3)
    f = tl.function([x], [more, twice - 1])
    assert [r.tolist() for r in program(f)(np.array([1.0]))] == [[4.0], [1.0]]
    f([1.0])
    assert [r.tolist() for r in program(f)(np.array([1.0]))] == [[4.0], [1.0]]


def test_names_that_are_no_python_names_or_taken_are_changed():
    a, b = tl.vector("np"), tl.vector("my value")
    f = tl.function([a, b], a + b)
    f([1.0], [2.0])
    assert program(f)(np.array([1.0]), np.array([2.0]))[0].tolist() == [3.0]


# ---- memory ----


def test_lifetimes_say_who_shares_a_buffer():
    x = tl.vector("x")
    a = tl.exp(x)
    b = tl.tanh(a)
    c = a[::-1] * b
    f = tl.function([x], c)
    f(np.zeros(10))
    lives = f.schedule
    assert [(v.op, v.bytes, v.shape, v.dtype) for v in lives.lives] == [
        ("exp", 80, (10,), "float64"),
        ("tanh", 80, (10,), "float64"),
        ("mul", 80, (10,), "float64"),
    ]
    exp, tanh, mul = lives.lives
    assert mul.buffer == tanh.buffer != exp.buffer
    assert lives.bytes == 160 and lives.bytes_without_reuse == 240
    assert "160 bytes in all; 240 if no two values shared a buffer" in repr(lives)


def test_no_two_values_of_a_buffer_are_alive_at_once():
    for seed in range(10):
        inputs, out = random_graph(seed, 20)
        f = tl.function(inputs, tl.grad(tl.sum(tl.tanh(out)), inputs, disconnected="zero"), on_unused_input="ignore")
        f(*values_for((3, 4), 2))
        by_buffer = {}
        for life in f.schedule.lives:
            by_buffer.setdefault(life.buffer, []).append((life.first, life.last))
        for lives in by_buffer.values():
            for (_, end), (start, _) in pairwise(lives):
                assert end <= start


def test_a_function_without_a_plan_says_so():
    x = tl.vector("x")
    f = tl.function([x], x + 1)
    assert f.schedule.lives == [] and "call it once" in repr(f.schedule)
