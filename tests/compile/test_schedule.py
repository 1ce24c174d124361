"""The fast way to run a graph gives what the plain way gives, call after call, and touches only what is its own."""

import threading

import numpy as np
import pytest

import tutorlib as tl
from tests.compile.random_graphs import random_graph, values_for
from tutorlib.core.graph import Op

SHAPES = [(3, 4), (1, 1), (3, 4), (0, 2), (2, 0), (1, 5), (300, 2)]


def scheduled(function):
    """The schedule a function used last; fails where it ran plainly."""
    schedule = function._fast.latest()
    assert schedule is not None
    return schedule


def assert_same(fast, plain, dtype="float64"):
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    assert fast.shape == plain.shape and fast.dtype == plain.dtype
    np.testing.assert_allclose(fast, plain, rtol=tolerance, atol=tolerance)


# ---- the same values ----


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(20))
def test_calls_with_other_values_and_shapes_equal_the_plain_plan(seed, dtype, monkeypatch):
    inputs, out = random_graph(seed, 12, dtype)
    loss = tl.sum(tl.tanh(out))
    outputs = [out, *tl.grad(loss, inputs, disconnected="zero")]
    fast = tl.function(inputs, outputs, on_unused_input="ignore")
    plain = tl.function(inputs, outputs, on_unused_input="ignore", mode="plain")
    for call, shape in enumerate(SHAPES):
        arrays = values_for(shape, 2, dtype, seed=call)
        monkeypatch.setattr(fast, "_run_plainly", None)
        for a, b in zip(fast(*arrays), plain(*arrays), strict=True):
            assert_same(a, b, dtype)
    assert scheduled(fast).steps


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(15))
def test_training_equals_training_with_the_plain_plan(seed, dtype):
    results = []
    for mode in (None, "plain"):
        (x, y), out = random_graph(seed, 10, dtype)
        w, v = (tl.shared(a) for a in values_for((3, 4), 2, dtype, seed=99))
        out = tl.grad(tl.sum(tl.tanh(out)), [x, y], disconnected="zero")
        step = tl.function(
            [],
            [tl.sum(w), out[0] * 1],
            updates=[(w, w - 0.1 * out[0]), (v, 0.9 * v + w)],
            givens=[(x, w), (y, v)],
            on_unused_input="ignore",
            mode=mode,
        )
        calls = [[a.tolist() for a in step()] for _ in range(4)]
        results.append((calls, w.get_value().tolist(), v.get_value().tolist()))
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(results[0][2], results[1][2], rtol=1e-3, atol=1e-3)
    for fast, plain in zip(results[0][0], results[1][0], strict=True):
        np.testing.assert_allclose(fast[1], plain[1], rtol=1e-3, atol=1e-3)


def test_a_large_input_is_read_where_it_is_and_another_array_takes_its_place():
    x = tl.matrix("x")
    f = tl.function([x], [tl.exp(x).sum(axis=0), x.T[0] * 1, x[2:] + 1])
    big = np.random.default_rng(0).normal(size=(200, 100))
    for array in (big, big * 2):
        assert f(array)[1][0] == array[0, 0]
        assert any(a is array for a in scheduled(f).array.values())
    for array in (big, big * 2, big, np.asfortranarray(big), big[::-1], big[::-1], big):
        expected = [np.exp(array).sum(axis=0), array.T[0], array[2:] + 1]
        for got, want in zip(f(array), expected, strict=True):
            np.testing.assert_allclose(got, want)
    before = f(big)[1]
    big[0, 0] = 77.0
    assert f(big)[1][0] == 77.0 and before[0] != 77.0


def test_very_large_inputs_are_read_where_they_are_however_often_others_come():
    x = tl.vector("x")
    f = tl.function([x], [tl.sum(x), x[-1]])
    arrays = [np.full(600_000, float(i)) for i in range(6)]
    for i, array in enumerate(arrays):
        total, last = f(array)
        assert (total, last) == (600_000.0 * i, i)
        assert any(a is array for a in scheduled(f).array.values())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_where_takes_each_branch_bit_by_bit(dtype):
    x, y = (tl.symbol(n, (None,), dtype) for n in "xy")
    f = tl.function([x, y], [tl.where(x > 0, x, y), tl.where(x > 0, x, 0.0), tl.where(x > 0, 0.0, y)])
    a = np.array([1.0, -1.0, np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
    b = np.array([np.nan, np.inf, 3.0, np.nan, -0.0, np.inf, np.nan], dtype)
    for _ in range(2):
        got = f(a, b)
        for result, want in zip(
            got, [np.where(a > 0, a, b), np.where(a > 0, a, 0), np.where(a > 0, 0, b)], strict=True
        ):
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, want)


def test_a_branch_that_is_masked_out_leaks_no_nan():
    x = tl.vector("x")
    loss = tl.sum(tl.where(x > 0, tl.log(x) * x, x * 2))
    f = tl.function([x], tl.grad(loss, x))
    np.testing.assert_allclose(f([1.0, 2.0]), [1.0, 1 + np.log(2.0)])
    np.testing.assert_allclose(f([0.0, 1.0]), [2.0, 1.0])
    np.testing.assert_allclose(f([-1.0, 1.0]), [2.0, 1.0])
    np.testing.assert_allclose(f([1.0, 2.0]), [1.0, 1 + np.log(2.0)])


def test_an_update_is_not_spoilt_by_a_masked_out_infinity():
    w = tl.shared([0.0, 1.0, 4.0], name="w")
    loss = tl.sum(tl.where(w > 0, tl.sqrt(w), 0.0))
    step = tl.function([], loss, updates=[(w, w - 0.5 * tl.grad(loss, w))])
    assert step() == 3.0
    np.testing.assert_allclose(w.get_value(), [0.0, 0.75, 3.875])
    scheduled(step)


def test_nan_that_a_comparison_would_hide_is_prevented():
    x = tl.vector("x")
    gradient = tl.grad(tl.sum(tl.where(x > 0, tl.sqrt(x), 0.0)), x)
    f = tl.function([x], tl.where(gradient >= 0, 1.0, -1.0))
    assert f([0.0, 4.0]).tolist() == [1.0, 1.0]


def test_results_of_several_parts_keep_apart():
    x = tl.matrix("x")
    both = Op("both", lambda xp, x: (x + 1, x * 2), lambda x: (x, x), nout=2)
    more, twice = both(x)
    f = tl.function([x], [tl.exp(more) - more, tl.exp(twice) + twice, more.sum()])
    for a in (np.zeros((2, 2)), np.eye(2)):
        want = [np.exp(a + 1) - (a + 1), np.exp(2 * a) + 2 * a, (a + 1).sum()]
        for got, expected in zip(f(a), want, strict=True):
            np.testing.assert_allclose(got, expected)
    scheduled(f)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_classifier_trains_as_it_does_plainly(dtype):
    rng = np.random.default_rng(0)
    data, labels = rng.normal(size=(20, 6)).astype(dtype), rng.integers(0, 4, 20)
    losses = []
    for mode in (None, "plain"):
        X, y = tl.symbol("X", (None, 6), dtype), tl.symbol("y", (None,), "int64")
        W, b = tl.shared(np.full((6, 4), 0.1, dtype) * np.arange(4, dtype=dtype)), tl.shared(np.zeros(4, dtype))
        scores = tl.relu(X @ W + b)
        loss = tl.cross_entropy(scores, y) + tl.mean(tl.log_softmax(scores)) * 0.1 + tl.softmax(scores).sum() * 0.01
        updates = [(p, p - 0.5 * g) for p, g in zip((W, b), tl.grad(loss, [W, b]), strict=True)]
        step = tl.function([X, y], loss, updates=updates, mode=mode)
        losses.append([step(data, labels).item() for _ in range(6)] + [step(data[:7], labels[:7]).item()])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4 if dtype == "float32" else 1e-10)
    assert losses[0][5] < losses[0][0]


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_that_is_no_class_is_refused_at_every_call(label):
    X, y = tl.matrix("X"), tl.symbol("y", (None,), "int64")
    f = tl.function([X, y], tl.cross_entropy(X, y))
    assert f(np.zeros((2, 3)), np.array([0, 2])) == np.log(3.0)
    with pytest.raises(tl.OutOfBoundsError):
        f(np.zeros((2, 3)), np.array([0, label]))


def test_what_is_the_same_at_every_call_is_computed_once_and_warns_of_nothing():
    x = tl.vector("x")
    f = tl.function([x], [tl.mean(x), tl.grad(tl.mean(x), x)])
    with np.errstate(all="raise"):
        assert np.isnan(f(np.zeros(0))[0]) and f(np.zeros(0))[1].shape == (0,)
        assert f(np.ones(4))[1].tolist() == [0.25] * 4
    assert not any(step.node.op.name in ("count", "div") for step in scheduled(f).steps)


# ---- whose arrays they are ----


def test_the_next_call_does_not_change_what_the_last_one_returned():
    x = tl.vector("x")
    f = tl.function([x], [x, x * 2, (x * 2)[1:], tl.transpose(x)])
    first = f([1.0, 2.0])
    f([10.0, 20.0])
    assert [r.tolist() for r in first] == [[1, 2], [2, 4], [4], [1, 2]]


def test_changing_a_result_or_an_input_changes_nothing_else():
    x, s = tl.vector("x"), tl.shared([1.0, 2.0], name="s")
    f = tl.function([x], [x, s, s * x, s], updates=[(s, s + x)])
    data = np.array([1.0, 1.0])
    results = f(data)
    for r in results:
        r[...] = 50.0
    assert data.tolist() == [1.0, 1.0] and s.get_value().tolist() == [2.0, 3.0]
    assert [r.tolist() for r in f(data)] == [[1, 1], [2, 3], [2, 3], [2, 3]]


def test_shapes_that_depend_on_values_run_plainly():
    x = tl.vector("x")
    f = tl.function([x], x[x > 0] * 2)
    assert f([1.0, -1.0, 2.0]).tolist() == [2.0, 4.0]
    assert f([1.0, 3.0, 2.0]).tolist() == [2.0, 6.0, 4.0]
    assert f._fast.latest() is None


def test_another_host_device_runs_plainly():
    x = tl.vector("x")
    with tl.default_device("cpu:1"):
        s = tl.shared([1.0, 2.0])
        f = tl.function([x], s * x, updates=[(s, s + 1)])
        assert f([2.0, 2.0]).tolist() == [2.0, 4.0]
        assert f([2.0, 2.0]).tolist() == [4.0, 6.0]
    assert str(s.device) == "cpu:1" and f._fast.latest() is None


def test_a_call_that_fails_writes_nothing_and_names_the_line():
    s, x = tl.shared([1.0, 2.0]), tl.vector("x")
    good = s * 2
    bad = x + tl.shared([1.0, 2.0, 3.0])  # the guilty line
    f = tl.function([x], bad, updates=[(s, good)])
    f([1.0, 1.0, 1.0])
    for _ in range(2):
        with pytest.raises(tl.ShapeError) as error:
            f([1.0, 1.0])
        assert "guilty line" in str(error.value)
    assert s.get_value().tolist() == [2.0, 4.0]
    assert f([0.0, 0.0, 0.0]).tolist() == [1.0, 2.0, 3.0]


def test_random_draws_go_on_as_they_do_plainly():
    draws = []
    for mode in (None, "plain"):
        stream = tl.random.Stream(5)
        with tl.static():
            drawn = stream.uniform((3,))
        f = tl.function([], drawn, mode=mode)
        draws.append([f().tolist() for _ in range(3)])
    assert draws[0] == draws[1]
    assert draws[0][0] != draws[0][1]


def test_threads_in_one_function_each_get_their_own_answer():
    x, n = tl.vector("x"), tl.shared(0)
    f = tl.function([x], tl.exp(x) * 2)
    count = tl.function([], updates=[(n, n + 1)])
    wrong = []

    def work(k):
        data = np.full(50, float(k))
        for _ in range(40):
            if not np.allclose(f(data), 2 * np.exp(float(k))):
                wrong.append(k)
            count()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and n.get_value() == 160


def test_numpy_scalars_and_numbers_are_scheduled_alike():
    a = tl.scalar("a")
    f = tl.function([a], a * 2 + 1)
    assert [f(v).item() for v in (np.float64(1.0), 2.0, np.array(3.0))] == [3.0, 5.0, 7.0]
    scheduled(f)


# ---- buffers ----


def test_a_long_chain_lives_in_one_buffer():
    x = tl.vector("x")
    y = x
    for _ in range(50):
        y = tl.tanh(y) + 0.5
    f = tl.function([x], y)
    f(np.zeros(100))
    buffers = scheduled(f).buffers
    assert buffers.bytes == 800 and buffers.bytes_without_reuse == 100 * 800


def test_an_update_is_computed_into_the_variables_own_array():
    s, x = tl.shared(np.ones(4)), tl.vector("x")
    step = tl.function([x], updates=[(s, s - x)])
    step(np.ones(4))
    array = s.storage.value
    step(np.ones(4))
    assert s.storage.value is array and array.tolist() == [-1.0] * 4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_of_cross_entropy_equals_the_plain_one_and_knows_bad_labels(dtype, weighted):
    z, labels, w = (
        tl.symbol("z", (None, 5), dtype),
        tl.symbol("labels", (None,), "int64"),
        tl.symbol("w", (None,), dtype),
    )
    loss = tl.cross_entropy(z, labels, reduction="none") * w if weighted else tl.cross_entropy(z, labels)
    outputs = [tl.sum(loss), tl.grad(tl.sum(loss), z) * 0.25]
    fast = tl.function([z, labels, w], outputs, on_unused_input="ignore")
    plain = tl.function([z, labels, w], outputs, on_unused_input="ignore", mode="plain")
    rng = np.random.default_rng(0)
    for rows in (7, 1, 7):
        arrays = rng.normal(size=(rows, 5)).astype(dtype), rng.integers(0, 5, rows), rng.normal(size=rows).astype(dtype)
        tolerance = 1e-12 if dtype == "float64" else 2e-6
        for got, want in zip(fast(*arrays), plain(*arrays), strict=True):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    for bad in (5, -1):
        with pytest.raises(tl.TutorlibError):
            fast(arrays[0], np.full(7, bad), arrays[2])


@pytest.mark.parametrize("classes", [3, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_entropy_and_its_gradient_in_one_function_are_right_at_every_call(dtype, classes):
    z, labels = tl.matrix("z", dtype=dtype), tl.vector("labels", dtype="int64")
    losses = tl.cross_entropy(z, labels, reduction="none")
    f = tl.function([z, labels], [losses, tl.grad(tl.sum(losses * losses), z)])
    for call in range(3):
        rng = np.random.default_rng(call)
        a, where = rng.normal(size=(5, classes)).astype(dtype), rng.integers(0, classes, 5)
        chance = np.exp(a) / np.exp(a).sum(1, keepdims=True)
        wanted = -np.log(chance[np.arange(5), where])
        loss, gradient = f(a, where)
        np.testing.assert_allclose(loss, wanted, rtol=1e-5)
        np.testing.assert_allclose(gradient, 2 * wanted[:, None] * (chance - np.eye(classes)[where]), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_bias_is_added_to_few_rows_and_to_many_and_to_a_single_column(dtype):
    for rows, width in ((4, 3), (4, 1), (1, 1), (3000, 2)):
        x, w, b = (
            np.random.default_rng(i).normal(size=s).astype(dtype) for i, s in enumerate(((rows, 2), (2, width), width))
        )
        inputs = tl.matrix("x", dtype=dtype), tl.matrix("w", dtype=dtype), tl.vector("b", dtype=dtype)
        np.testing.assert_allclose(tl.function(inputs, tl.linear(*inputs))(x, w, b), x @ w + b, rtol=1e-5)


@pytest.mark.parametrize("op", [tl.softplus, lambda v: tl.log1p(tl.exp(-tl.square(v)))])
def test_a_number_as_the_result_needs_no_plain_run(op, monkeypatch):
    x = tl.scalar("x")
    f = tl.function([x], op(x) * 2)
    monkeypatch.setattr(type(f), "_run_plainly", None)
    v = np.log1p(np.exp(1.5)) if op is tl.softplus else np.log1p(np.exp(-(1.5**2)))
    np.testing.assert_allclose(f(np.array(1.5)), 2 * v, rtol=1e-12)
