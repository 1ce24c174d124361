"""``tl.scan`` against hand-written loops, JAX and dynamic mode: values, gradients of any order, state, refusals."""

import os
import tracemalloc

import numpy as np
import pytest

import tutorlib as tl

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(0)
X, H0, W, U = RNG.normal(size=(6, 3)), RNG.normal(size=4), RNG.normal(size=(4, 4)) / 2, RNG.normal(size=(3, 4)) / 2


def rnn(xp, scan, xs, h0, w, u):
    """A recurrent network's cost, written once for ``tl`` and for JAX."""

    def step(h, x):
        h = xp.tanh(h @ w + x @ u)
        return h, h

    last, hs = scan(step, xs, h0)
    return (hs * hs).sum() + last.sum()


def jax_rnn(xs, h0, w, u):
    return rnn(jnp, lambda step, xs, h0: jax.lax.scan(step, h0, xs), xs, h0, w, u)


@pytest.fixture
def symbols():
    return tl.matrix("xs"), tl.vector("h0"), tl.matrix("w"), tl.matrix("u")


def close(found, expected, **tolerance):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, **{"rtol": 1e-10, "atol": 1e-12, **tolerance})


def dynamic(function, *values):
    """The cost and its gradients in dynamic mode."""
    leaves = [tl.tensor(v, requires_grad=True) for v in values]
    cost = function(*leaves)
    return [cost.numpy(), *(g.numpy() for g in tl.grad(cost, leaves, disconnected="zero"))]


def static(function, *values, mode=None, unknown=True):
    """The same through ``tl.function``."""
    leaves = [tl.symbol(f"v{i}", (None,) * np.ndim(v) if unknown else np.shape(v)) for i, v in enumerate(values)]
    cost = function(*leaves)
    gradients = tl.grad(cost, leaves, disconnected="zero")
    return tl.function(leaves, [cost, *gradients], mode=mode, on_unused_input="ignore")(*values)


# ---- values ----


def test_the_carry_goes_from_step_to_step_and_ys_are_stacked():
    x = tl.vector("x")
    total, sums = tl.scan(lambda s, x: (s + x, s * 10), x, 0.0)
    last, stack = tl.function([x], [total, sums])([1.0, 2.0, 3.0])
    assert last == 6.0
    assert stack.tolist() == [0.0, 10.0, 30.0]


def test_dynamic_mode_is_a_loop_that_records():
    x = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    total, sums = tl.scan(lambda s, x: (s + x * x, s), x, 0.0)
    assert (total.item(), sums.tolist()) == (14.0, [0.0, 1.0, 5.0])
    total.backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("xs", ["array", "symbol"])
def test_reverse_goes_from_the_end_and_keeps_places(xs):
    x = tl.vector("x")
    values = np.array([1.0, 2.0, 3.0])
    _, sums = tl.scan(lambda s, x: (s + x, s + x), x if xs == "symbol" else values, 0.0, reverse=True)
    sums = tl.function([x], sums)(values) if xs == "symbol" else sums.numpy()
    assert sums.tolist() == [6.0, 5.0, 3.0]


def test_length_takes_the_place_of_xs():
    n = tl.scalar("n", dtype="int64")
    fixed, _ = tl.scan(lambda v, _: (v * 2, None), None, 1.0, 10)
    last, _ = tl.scan(lambda v, _: (v * 2, None), None, tl.cast(n, "float64") * 0 + 1, n)
    assert fixed.item() == 1024.0
    f = tl.function([n], last)
    assert [float(f(k)) for k in (0, 1, 10)] == [1.0, 2.0, 1024.0]


def test_carry_x_and_y_may_be_nested():
    a, b = tl.vector("a"), tl.matrix("b")

    def step(carry, x):
        new = {"n": carry["n"] + 1, "s": (carry["s"][0] + x["b"].sum(),)}
        return new, [x["a"] * 2, (new["n"],)]

    last, ys = tl.scan(step, {"a": a, "b": b}, {"n": 0, "s": (0.0,)})
    n, s, doubled, count = tl.function([a, b], [last["n"], last["s"][0], ys[0], ys[1][0]])(
        [1.0, 2.0], [[1.0, 1.0], [2.0, 2.0]]
    )
    assert (n, s) == (2, 6.0)
    assert doubled.tolist() == [2.0, 4.0]
    assert count.tolist() == [1, 2]


def test_a_map_has_no_carry_and_a_fold_no_ys():
    x = tl.vector("x")
    nothing, squares = tl.scan(lambda c, x: (None, x * x), x)
    assert nothing is None
    assert squares.eval({x: [1.0, 2.0]}).tolist() == [1.0, 4.0]
    assert tl.scan(lambda c, x: (c * x, None), x, 1.0)[1] is None


def test_a_number_as_start_takes_the_dtype_of_the_steps():
    x = tl.vector("x", dtype="float32")
    total, _ = tl.scan(lambda s, x: (s + x, None), x, 0)
    assert total.dtype == "float32"
    assert tl.scan(lambda s, x: (s + x, None), np.float32([1, 2]), 0)[0].dtype == "float32"


@pytest.mark.parametrize("mode", [None, "plain", "check"])
def test_no_step_leaves_the_carry_and_gives_empty_ys(mode):
    x, h = tl.matrix("x"), tl.vector("h")
    last, ys = tl.scan(lambda h, x: (h + x, tl.stack([h, x])), x, h)
    final, stack = tl.function([x, h], [last, ys], mode=mode)(np.ones((0, 3)), np.ones(3))
    assert final.tolist() == [1.0, 1.0, 1.0]
    assert stack.shape == (0, 2, 3)


def test_no_step_in_dynamic_mode_gives_ys_of_the_same_shape():
    last, ys = tl.scan(lambda h, x: (h + x, tl.stack([h, x])), tl.tensor(np.ones((0, 3))), np.ones(3))
    assert last.tolist() == [1.0, 1.0, 1.0]
    assert ys.shape == (0, 2, 3)


def test_symbols_that_only_the_step_uses_make_it_static():
    w = tl.scalar("w")
    last, _ = tl.scan(lambda c, x: (c * w + x, None), np.array([1.0, 2.0]), 0.0)
    assert last.eval({w: 3.0}) == 5.0


# ---- gradients ----


@pytest.mark.parametrize("unknown", [True, False])
def test_a_recurrent_network_agrees_with_jax(unknown):
    expected = [jax_rnn(X, H0, W, U), *jax.grad(jax_rnn, (0, 1, 2, 3))(X, H0, W, U)]

    def ours(*values):
        return rnn(tl, tl.scan, *values)

    close(static(ours, X, H0, W, U, unknown=unknown), expected)
    close(dynamic(ours, X, H0, W, U), expected)


def test_second_order_agrees_with_jax(symbols):
    def slope(*values):
        return sum((g**2).sum() for g in jax.grad(jax_rnn, (0, 1, 2, 3))(*values))

    expected = jax.grad(slope, (0, 1, 2, 3))(X, H0, W, U)
    first = tl.grad(rnn(tl, tl.scan, *symbols), list(symbols))
    second = tl.grad(sum((g**2).sum() for g in first), list(symbols))
    close(tl.function(symbols, second)(X, H0, W, U), expected)


def test_the_third_derivative_of_a_power_by_repeated_multiplication():
    x = tl.scalar("x")
    y, _ = tl.scan(lambda c, _: (c * x, None), None, 1.0, 5)
    for _ in range(3):
        y = tl.grad(y, x)
    assert y.eval({x: 2.0}) == 5 * 4 * 3 * 2.0**2


@pytest.mark.parametrize("kwargs", [{}, {"reverse": True}])
def test_gradients_reach_carry_sequences_and_weights(kwargs):
    def cost(xs, h, w):
        last, ys = tl.scan(lambda c, x: (c * w + x, tl.sin(c) * x), xs, h, **kwargs)
        return last**2 + (ys**2).sum()

    def ours(xs, h, w):
        last, ys = jax.lax.scan(lambda c, x: (c * w + x, jnp.sin(c) * x), h, xs, **kwargs)
        return last**2 + (ys**2).sum()

    values = np.array([0.5, 1.0, 2.0, 3.0]), 1.5, 0.7
    expected = [ours(*values), *jax.grad(ours, (0, 1, 2))(*values)]
    close(static(cost, *values), expected)
    close(dynamic(cost, *values), expected)


def test_nested_scans_agree_with_jax():
    def cost(scan, xs, w):
        def outer(c, row):
            inner, ys = scan(lambda d, x: (d * w + x * c, d * x), row, c)
            return inner, ys.sum()

        last, sums = scan(outer, xs, w)
        return last * last + (sums**2).sum()

    def jax_cost(xs, w):
        return cost(lambda f, xs, c: jax.lax.scan(f, c, xs), xs, w)

    def ours(xs, w):
        return cost(tl.scan, xs, w)

    values = RNG.normal(size=(3, 4)), np.asarray(0.8)
    expected = [jax_cost(*values), *jax.grad(jax_cost, (0, 1))(*values)]
    close(static(ours, *values), expected)
    close(dynamic(ours, *values), expected)


def test_gradient_through_the_history_of_an_integer_counter():
    def cost(scan, xs):
        (total, _), _ = scan(lambda c, x: ((c[0] + x * c[1], c[1] + 1), None), xs, (0.0, 1))
        return total

    x = tl.vector("x")
    assert tl.grad(cost(tl.scan, x), x).eval({x: [5.0, 5.0, 5.0]}).tolist() == [1.0, 2.0, 3.0]


def test_float32_stays_float32_in_every_gradient(symbols):
    symbols = [tl.symbol(v.name, v.shape, "float32") for v in symbols]
    gradients = tl.grad(rnn(tl, tl.scan, *symbols), symbols)
    found = tl.function(symbols, gradients)(*(np.float32(v) for v in (X, H0, W, U)))
    assert {g.dtype.name for g in found} == {"float32"}
    close(found, jax.grad(jax_rnn, (0, 1, 2, 3))(X, H0, W, U), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("truncate", [1, 2, 9])
def test_a_truncated_gradient_goes_back_so_many_steps(truncate, reverse):
    xs, h, w = np.array([0.5, 1.0, 2.0, 3.0]), 1.5, 0.7

    def cost(xs, h, w):
        last, ys = tl.scan(lambda c, x: (c * w + x, c * x), xs, h, reverse=reverse, truncate=truncate)
        return last**2 + ys.sum()

    def by_hand(xs, h, w):
        order = range(3, -1, -1) if reverse else range(4)
        c, total = h, 0.0
        for done, t in enumerate(order):
            x, v = xs[t], w
            if done < 4 - truncate:
                c, x, v = map(jax.lax.stop_gradient, (c, x, v))
            total += c * x
            c = c * v + x
            if done < 4 - truncate:
                c, total = map(jax.lax.stop_gradient, (c, total))
        return c**2 + total

    expected = [by_hand(xs, h, w), *jax.grad(by_hand, (0, 1, 2))(xs, h, w)]
    close(static(cost, xs, h, w), expected)
    close(dynamic(cost, xs, h, w), expected)


# ---- stopping early ----


@pytest.mark.parametrize("third", [False, True])
def test_ys_are_as_long_as_there_were_steps(third):
    x = tl.vector("x")
    if third:
        last, ys = tl.scan(lambda s, x: (s + x, s + x, s + x > 4), x, 0.0)
    else:
        last, ys = tl.scan(lambda s, x: (s + x, s + x), x, 0.0, until=lambda carry, y: y > 4)
    assert ys.shape == (None,)
    f = tl.function([x], [last, ys])
    final, stack = f([1.0, 2.0, 3.0, 4.0])
    assert (final, stack.tolist()) == (6.0, [1.0, 3.0, 6.0])
    assert f([1.0, 1.0])[1].tolist() == [1.0, 2.0]


def test_the_gradient_of_a_scan_that_stopped_stops_there_too():
    def cost(x, w):
        last, ys = tl.scan(lambda s, x: (s * w + x * x, s), x, 0.0, until=lambda carry, y: carry > 4)
        return last + (ys**2).sum()

    values = np.array([1.0, 2.0, 3.0, 4.0]), 1.0
    found = static(cost, *values)
    close(found, dynamic(cost, *values))
    assert found[1][2:].tolist() == [0.0, 0.0]


# ---- state ----


def test_a_random_stream_draws_anew_in_every_step_and_call():
    x = tl.vector("x")
    stream, plain = tl.random.Stream(3, static=True), tl.random.Stream(3)
    before = stream.normal(())
    _, noise = tl.scan(lambda c, x: (None, stream.normal((2,)) + x), x)
    after = stream.normal(())
    f = tl.function([x], [before, noise, after])
    for _ in range(2):
        got = f(np.zeros(3))
        assert got[0] == plain.normal(()).item()
        assert got[1].tolist() == [plain.normal((2,)).tolist() for _ in range(3)]
        assert got[2] == plain.normal(()).item()
    assert int(stream.counter.get_value()) == 10


def test_a_stream_in_nested_scans_gives_the_sequence_of_the_dynamic_loop():
    x = tl.matrix("x")

    def noise(stream, xs):
        return tl.scan(lambda c, row: (None, tl.scan(lambda d, v: (None, stream.uniform(()) + v), row)[1]), xs)[1]

    f = tl.function([x], noise(tl.random.Stream(1), x))
    expected = noise(tl.random.Stream(1), tl.tensor(np.zeros((2, 3)))).numpy()
    assert f(np.zeros((2, 3))).tolist() == expected.tolist()
    assert np.unique(expected).size == 6


def test_the_gradient_sees_the_numbers_that_the_steps_drew():
    stream = tl.random.Stream(5, static=True)
    x = tl.vector("x")
    total, _ = tl.scan(lambda c, x: (c + x * stream.normal(()), None), x, 0.0)
    plain = tl.random.Stream(5)
    expected = [plain.normal(()).item() for _ in range(3)]
    np.testing.assert_allclose(tl.function([x], tl.grad(total, x))([9.0, 9.0, 9.0]), expected)


def test_parameters_inside_show_their_shared_face():
    w = tl.Parameter([2.0], name="w")
    x = tl.vector("x")
    last, _ = tl.scan(lambda c, x: (c * w + x, None), x, np.zeros(1))
    f = tl.function([x], last)
    assert f([1.0, 1.0]).tolist() == [3.0]
    with tl.no_grad():
        w -= 1.0
    assert f([1.0, 1.0]).tolist() == [2.0]


def test_updates_go_on_beside_a_scan():
    w = tl.shared(1.0, name="w")
    x = tl.vector("x")
    last, _ = tl.scan(lambda c, x: (c * w + x, None), x, 0.0)
    f = tl.function([x], last, updates=[(w, w - 0.1 * tl.grad(last, w))])
    assert f([1.0, 2.0]) == 3.0
    assert w.get_value() == pytest.approx(0.9)


# ---- what runs ----


def scans(f):
    return [node for node in f._plan.nodes if node.op.name == "scan"]


def inner_ops(node):
    return [inner.op.name for inner in node.attrs["step"].nodes]


def test_what_does_not_depend_on_the_step_is_computed_outside(symbols):
    x, h0, w, _ = symbols
    last, _ = tl.scan(lambda h, x: (tl.tanh(h @ tl.exp(w)), None), x, h0)
    f = tl.function([x, h0, w], last)
    assert "exp" not in inner_ops(scans(f)[0])
    assert "exp" in [node.op.name for node in f._plan.nodes]


def test_no_history_is_kept_without_a_gradient(symbols):
    x, h0, w, u = symbols
    last, _ = tl.scan(lambda h, x: (tl.tanh(h @ w + x @ u), None), x, h0)
    (node,) = scans(tl.function([x, h0, w, u], last))
    assert len(node.outputs) == 1


def test_results_nobody_uses_are_not_computed(symbols):
    x, h0, *_ = symbols
    last, ys = tl.scan(lambda c, x: ((c[0] + x.sum(), c[1] * 2), (tl.exp(x), tl.sin(x))), x, (h0, 1.0))
    (node,) = scans(tl.function([x, h0], [last[0], ys[1]]))
    assert len(node.outputs) == 2
    assert "exp" not in inner_ops(node)


def test_the_step_is_rewritten_like_any_graph():
    x = tl.vector("x")
    _, ys = tl.scan(lambda c, x: (None, tl.log(1 + tl.exp(x)) * 1), x)
    assert inner_ops(scans(tl.function([x], ys))[0]) == ["softplus"]


def test_the_backward_pass_does_not_repeat_costly_work(symbols):
    gradients = tl.grad(rnn(tl, tl.scan, *symbols), list(symbols))
    forward, backward = scans(tl.function(symbols, gradients))
    assert "tanh" in inner_ops(forward)
    assert "tanh" not in inner_ops(backward)


def test_equal_scans_become_one():
    x = tl.vector("x")

    def total():
        return tl.scan(lambda c, x: (c + tl.exp(x), None), x, 0.0)[0]

    assert len(scans(tl.function([x], total() * total()))) == 1


def test_ten_thousand_steps_need_no_deeper_stack():
    x, w = tl.vector("x"), tl.scalar("w")
    last, _ = tl.scan(lambda c, x: (c * w + x, None), x, 0.0)
    f = tl.function([x, w], [last, tl.grad(last, w)])
    total, slope = f(np.ones(10_000), 1.0)
    assert total == 10_000.0
    assert slope == sum(range(10_000))


def test_the_history_takes_as_much_memory_as_its_values():
    """Steps times (carry and costly results) for the gradient, not steps times the whole graph of a step."""
    steps, width = 200, 5_000
    x, h, w = tl.matrix("x"), tl.vector("h"), tl.vector("w")
    last, _ = tl.scan(lambda h, x: (tl.tanh(h * w + x * w - h), None), x, h)
    f = tl.function([x, h, w], tl.grad(last.sum(), w))
    values = np.ones((steps, width)), np.ones(width), np.ones(width)
    f(*values)
    tracemalloc.start()
    f(*values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    one = steps * width * 8
    assert peak < 3.5 * one  # h, tanh, and a copy at most


# ---- refusals ----


def test_a_carry_of_another_dtype_is_refused_with_its_place():
    x, n = tl.vector("x"), tl.vector("n", dtype="int64")
    with pytest.raises(tl.DTypeError, match=r"carry\['b'\]\[0\] is int64 before a step and float64 after it"):
        tl.scan(lambda c, x: ({"a": c["a"], "b": (c["b"][0] + x,)}, None), x, {"a": x, "b": (n,)})
    with pytest.raises(tl.DTypeError, match="carry is int64"):
        tl.scan(lambda c, x: (c + x, None), np.ones(3), np.array(0))


@pytest.mark.parametrize("xs", [np.ones((3, 2)), tl.matrix("x")], ids=["dynamic", "static"])
def test_a_carry_of_another_shape_is_refused_with_both_shapes(xs):
    with pytest.raises(tl.ShapeError, match="carry has another shape") as caught:
        tl.scan(lambda c, x: (c + x, None), xs, 0.0)
    assert caught.value.shapes[0] == ()
    assert "c + x" in caught.value.source.text


def test_a_shape_that_changes_while_running_is_refused():
    x = tl.vector("x")
    last, _ = tl.scan(lambda c, _: (tl.concatenate([c, c]), None), None, x, 3)
    with pytest.raises(tl.ShapeError, match="changed the shape"):
        tl.function([x], last)([1.0, 2.0])


def test_an_error_in_a_step_names_the_line_in_the_step():
    x, i = tl.vector("x"), tl.vector("i", dtype="int64")

    def step(c, k):
        return c + x[k], None  # the guilty line

    last, _ = tl.scan(step, i, 0.0)
    with pytest.raises(IndexError) as caught:
        tl.function([x, i], last)([1.0, 2.0], [0, 1, 7])
    assert "the guilty line" in caught.value.source.text


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tl.scan(lambda c, x: (c, x)), "number of steps"),
        (lambda: tl.scan(lambda c, x: (c, x), 3.0, 0.0), "nothing to go through"),
        (lambda: tl.scan(lambda c, x: (c, x), (np.ones(2), np.ones(3)), 0.0), "disagree"),
        (lambda: tl.scan(lambda c, x: (c, x), np.ones(2), 0.0, 3), "disagree"),
        (lambda: tl.scan(lambda c, x: c + x, np.ones(2), 0.0), r"return \(carry, y\)"),
        (lambda: tl.scan(lambda c, x: ((c, x), x), np.ones(2), 0.0), "carry like"),
        (lambda: tl.scan(lambda c, x: (c, x, x > 0), np.ones(2), 0.0, reverse=True), "stop early"),
        (lambda: tl.scan(lambda c, x: (c, x), np.ones(2), 0.0, truncate=0), "truncate"),
        (lambda: tl.scan(lambda c, x: (c, x), None, 0.0, tl.scalar("n")), "whole number"),
    ],
)
def test_what_cannot_be_scanned_is_refused(call, words):
    with pytest.raises(tl.TutorlibError, match=words) as caught:
        call()
    assert caught.value.fix
    assert "tl.scan" in caught.value.source.text


def test_sequences_of_different_lengths_are_refused_while_running():
    a, b = tl.vector("a"), tl.vector("b")
    _, ys = tl.scan(lambda c, x: (None, x[0] * x[1]), (a, b))
    with pytest.raises(tl.ShapeError, match="different lengths"):
        tl.function([a, b], ys)([1.0, 2.0], [1.0, 2.0, 3.0])
