"""What a scan need not do step by step is done once, and its values stay."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl

T, B, D, H = 5, 3, 2, 4


def scans(f):
    return [node for node in f._plan.nodes if node.op.name == "scan"]


def inner_ops(node):
    return [inner.op.name for inner in node.attrs["step"].nodes]


def data(*shapes):
    rng = np.random.default_rng(3)
    return [rng.normal(size=shape) for shape in shapes]


def cell(m, h, x, W, V, b):
    return m.tanh(x @ W + h @ V + b)


def jax_loss(x, h, W, V, b, backwards=False):
    for row in x[::-1] if backwards else x:
        h = cell(jnp, h, row, W, V, b)
    return (h * h).sum()


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("shape", [(T, B, D), (T, D)], ids=["rows", "vectors"])
@pytest.mark.parametrize("known", [True, False])
def test_inputs_meet_their_weights_before_the_loop_and_weights_get_their_gradients_after_it(shape, known, backwards):
    arrays = data(shape, (*shape[1:-1], H), (D, H), (H, H), (H,))
    symbols = [tl.symbol("xhWVb"[i], a.shape if known else (None,) * a.ndim) for i, a in enumerate(arrays)]
    x, h, *weights = symbols
    last, _ = tl.scan(lambda h, row: (cell(tl, h, row, *weights), None), x, h, reverse=backwards)
    loss = (last * last).sum()
    f = tl.function(symbols, [loss, *tl.grad(loss, symbols)])
    forward, backward = scans(f)
    assert inner_ops(forward).count("matmul") == 1
    if known:
        assert inner_ops(forward) == ["matmul", "add", "tanh"]
        assert "transpose" not in inner_ops(backward) and "mul" not in inner_ops(backward)
    if len(shape) == 3:
        assert inner_ops(backward).count("matmul") == 1
    got = f(*arrays)
    with jax.enable_x64(True):
        want = jax_loss(*arrays, backwards)
        slopes = jax.grad(jax_loss, argnums=tuple(range(5)))(*arrays, backwards)
    np.testing.assert_allclose(got[0], want, 1e-10)
    for a, b in zip(got[1:], slopes, strict=True):
        np.testing.assert_allclose(a, b, 1e-9, 1e-11)


def test_a_map_over_rows_needs_no_loop_and_rows_come_back_as_they_are():
    x, W = tl.symbol("x", (T, D)), tl.symbol("W", (D, H))
    _, (ys, rows) = tl.scan(lambda _, row: (None, (tl.exp(row @ W), row)), x)
    f = tl.function([x, W], [ys, rows])
    assert scans(f) == []
    a, w = data((T, D), (D, H))
    got, same = f(a, w)
    np.testing.assert_allclose(got, np.exp(a @ w))
    np.testing.assert_array_equal(same, a)


def test_a_gradient_of_a_gradient_goes_through_what_moved():
    arrays = data((T, B, D), (B, H), (D, H), (H, H), (H,))
    symbols = [tl.symbol("xhWVb"[i], a.shape) for i, a in enumerate(arrays)]
    x, h, *weights = symbols
    last, _ = tl.scan(lambda h, row: (cell(tl, h, row, *weights), None), x, h)
    slope = tl.grad((last * last).sum(), weights[0])
    second = tl.function(symbols, tl.grad((slope * slope).sum(), weights))(*arrays)

    def penalty(*args):
        return (jax.grad(jax_loss, argnums=2)(*args) ** 2).sum()

    with jax.enable_x64(True):
        for a, b in zip(second, jax.grad(penalty, argnums=(2, 3, 4))(*arrays), strict=True):
            np.testing.assert_allclose(a, b, 1e-8, 1e-10)


def test_the_number_of_steps_may_be_an_operand_and_a_start_may_be_other_than_zero():
    n, x = tl.scalar("n", dtype="int64"), tl.symbol("x", (B, D))
    total, start = tl.symbol("total", (D, D)), tl.symbol("start", (B, D))
    step = lambda c, _: ((c[0] + c[1].T @ tl.tanh(c[1]), tl.sin(c[1] + x)), None)
    (found, _), _ = tl.scan(step, None, (total, start), n)
    f = tl.function([n, x, total, start], found)
    assert "matmul" not in inner_ops(scans(f)[0])
    a, sums, c = data((B, D), (D, D), (B, D))
    want, state = sums.copy(), c
    for _ in range(4):
        want += state.T @ np.tanh(state)
        state = np.sin(state + a)
    np.testing.assert_allclose(f(4, a, sums, c), want)
    np.testing.assert_allclose(f(0, a, sums, c), sums)


def test_a_scan_that_may_stop_keeps_its_work_inside():
    x, W = tl.symbol("x", (T, D)), tl.symbol("W", (D, H))
    total, ys = tl.scan(lambda c, row: (c + (row @ W).sum(), row @ W), x, tl.scalar("c"), until=lambda c, y: c > 1e9)
    inputs = [v for v in tl.core.toposort.leaves_of([total]) if isinstance(v, tl.core.graph.Input)]
    f = tl.function(inputs, [total, ys])
    assert "matmul" in inner_ops(scans(f)[0])


def test_sequences_of_one_step_and_of_more_are_not_stretched_to_each_other():
    a, b = tl.vector("a"), tl.vector("b")
    last, _ = tl.scan(lambda c, v: (c + v[0] * v[1], None), (a, b), 0.0)
    f = tl.function([a, b], last)
    assert f([1.0, 2.0], [3.0, 4.0]) == 11.0
    with pytest.raises(tl.ShapeError, match="different lengths"):
        f([1.0], [1.0, 2.0, 3.0])


def test_a_plain_function_runs_the_step_as_written():
    x, W, h = tl.symbol("x", (T, D)), tl.symbol("W", (D, H)), tl.symbol("h", (H,))
    last, _ = tl.scan(lambda h, row: (tl.tanh(row @ W + h), None), x, h)
    plain, fast = (tl.function([x, W, h], last, mode=mode) for mode in ("plain", None))
    assert "matmul" in inner_ops(scans(plain)[0]) and "matmul" not in inner_ops(scans(fast)[0])
    arrays = data((T, D), (D, H), (H,))
    np.testing.assert_allclose(fast(*arrays), plain(*arrays))


def test_large_elementwise_rows_stay_in_the_loop():
    x, c = tl.symbol("x", (2, 20_000)), tl.symbol("c", (20_000,))
    last, _ = tl.scan(lambda c, row: (c + tl.exp(row), None), x, c)
    assert "exp" in inner_ops(scans(tl.function([x, c], last))[0])
