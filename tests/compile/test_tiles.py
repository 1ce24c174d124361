"""Runs of elementwise ops on large arrays, tile by tile: same values, less memory, and nothing torn in between."""

import numpy as np
import pytest

import tutorlib as tl
from tests.compile.random_graphs import values_for
from tutorlib.compile.regions import LARGE
from tutorlib.compile.tiles import TILE, Tiles

SHAPES = [(LARGE,), (LARGE + 1,), (3 * TILE - 1,), (300, 400), (5 * TILE,)]


def runs(function):
    """The tiled runs of a function's latest schedule."""
    return [step for step in function._fast.latest().steps if isinstance(step, Tiles)]


def gelu_loss(x):
    u = 0.5 * x * (1.0 + tl.tanh(0.79788 * (x + 0.044715 * (x * x * x))))
    return tl.mean(tl.log(1.0 + tl.exp(-(u * u))))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients_equal_the_plain_plan(shape, dtype):
    x = tl.symbol("x", (None,) * len(shape), dtype)
    loss = gelu_loss(x) + tl.sum(tl.where(x > 0.5, tl.sqrt(x - 0.5), tl.relu(x))) * 1e-3
    outputs = [loss, tl.grad(loss, x), tl.sigmoid(x) * 2 + tl.maximum(x, 0.0)]
    fast, plain = tl.function([x], outputs), tl.function([x], outputs, mode="plain")
    tolerance = 1e-9 if dtype == "float64" else 1e-4
    for seed in range(2):
        (array,) = values_for(shape, 1, dtype, seed)
        for got, want in zip(fast(array), plain(array), strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    assert runs(fast)


def test_training_by_tiles_equals_plain_training():
    values = []
    for mode in (None, "plain"):
        x = tl.shared(values_for((LARGE + 77,), 1)[0], name="x")
        loss = gelu_loss(x)
        step = tl.function([], loss, updates=[(x, x - 100.0 * tl.grad(loss, x))], mode=mode)
        losses = [step().item() for _ in range(4)]
        values.append((losses, x.get_value()))
    np.testing.assert_allclose(values[0][0], values[1][0], rtol=1e-10)
    np.testing.assert_allclose(values[0][1], values[1][1], rtol=1e-9, atol=1e-12)
    assert len(set(values[0][0])) == 4


def test_a_value_that_hangs_on_a_sum_over_all_comes_after_it():
    x = tl.vector("x")
    centred = tl.exp(x) - tl.mean(tl.exp(x) * 1.5)
    f = tl.function([x], [tl.sqrt(tl.abs(centred)) + tl.tanh(x), tl.sum(centred * centred)])
    (array,) = values_for((LARGE * 2,), 1)
    want = np.exp(array) - np.mean(np.exp(array) * 1.5)
    for _ in range(2):
        got = f(array)
        np.testing.assert_allclose(got[0], np.sqrt(np.abs(want)) + np.tanh(array))
        np.testing.assert_allclose(got[1], (want * want).sum())
    assert runs(f)


def test_another_input_array_is_taken_up_and_a_strided_one_too():
    x = tl.matrix("x")
    f = tl.function([x], tl.tanh(tl.exp(x) * 0.5) + x * x)
    for array in (*values_for((400, 300), 2), np.asfortranarray(values_for((400, 300), 1)[0])):
        np.testing.assert_allclose(f(array), np.tanh(np.exp(array) * 0.5) + array * array)
    assert runs(f)


def test_a_masked_out_infinity_leaks_no_nan():
    w = tl.shared(np.linspace(-1.0, 1.0, LARGE + 10), name="w")
    start = w.get_value()
    loss = tl.sum(tl.where(w > 0, tl.log(w) * tl.exp(w), 0.0))
    step = tl.function([], updates=[(w, w - 1e-3 * tl.grad(loss, w))])
    step()
    positive = start > 0
    a = start[positive]
    want = start.copy()
    want[positive] = a - 1e-3 * (np.exp(a) / a + np.log(a) * np.exp(a))
    np.testing.assert_allclose(w.get_value(), want)
    assert runs(step)


def test_what_stays_inside_a_run_takes_a_tile_of_memory_only():
    x = tl.vector("x")
    y = x
    for _ in range(20):
        y = tl.tanh(y) * 1.01 + 0.01 * x
    f = tl.function([x], tl.sum(y))
    n = 40 * TILE
    f(np.ones(n))
    (run,) = runs(f)
    assert f.schedule.bytes < 100 and run.buffers.bytes <= 3 * 8 * TILE


def test_the_text_of_a_run_computes_the_same():
    x, y = tl.vector("x"), tl.vector("y")
    loss = gelu_loss(x * y)
    f = tl.function([x, y], [loss, tl.grad(loss, x), tl.where(x > y, x, y) + tl.softplus(x)])
    arrays = values_for((LARGE + 5,), 2)
    expected = f(*arrays)
    assert f"for i in range(0, {LARGE + 5}, {TILE}):" in f.source
    namespace = dict(f.source.arrays)
    exec(str(f.source), namespace)
    for got, want in zip(namespace["run"](*arrays), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_the_mean_of_a_large_shared_variable_may_be_part_of_a_run():
    w, x = tl.shared(np.full(LARGE, 2.0), name="w"), tl.vector("x")
    f = tl.function([x], [tl.mean(w), tl.sum(tl.exp(w) * tl.sin(w)), tl.exp(tl.tanh(x) * tl.mean(w)) + 1])
    mean, total, values = f(np.zeros(LARGE))
    assert mean == 2.0 and (values == 2.0).all()
    np.testing.assert_allclose(total, LARGE * np.exp(2) * np.sin(2), rtol=1e-12)


@pytest.mark.parametrize(
    "op", [tl.hypot, lambda x, y: tl.xlogy(tl.abs(x), tl.abs(y)), lambda x, y: tl.clip(x, -1.0, y)]
)
def test_the_text_of_a_run_cuts_the_operands_of_every_op(op):
    x, y = tl.vector("x"), tl.vector("y")
    f = tl.function([x, y], tl.exp(-tl.abs(op(x * 0.5, tl.exp(y)))))
    arrays = values_for((LARGE + 5,), 2)
    expected = f(*arrays)
    assert f.schedule.passes
    namespace = dict(f.source.arrays)
    exec(str(f.source), namespace)
    np.testing.assert_allclose(namespace["run"](*arrays)[0], expected, rtol=1e-12)


def test_rows_stretched_over_a_matrix_are_left_out_of_runs():
    x, b = tl.matrix("x"), tl.vector("b")
    f = tl.function([x, b], tl.exp(tl.tanh(x + b) * 2.0) - b)
    (array,), (row,) = values_for((700, 100), 1), values_for((100,), 1, seed=5)
    np.testing.assert_allclose(f(array, row), np.exp(np.tanh(array + row) * 2.0) - row)
