"""``tl.scan`` against hand-written loops and dynamic mode: values, early stops, state, what runs, refusals."""

import tracemalloc

import numpy as np
import pytest

import tutorlib as tl


@pytest.fixture
def symbols():
    return tl.matrix("xs"), tl.vector("h0"), tl.matrix("w"), tl.matrix("u")


def network(xs, h0, w, u):
    """A recurrent network's cost."""

    def step(h, x):
        h = tl.tanh(h @ w + x @ u)
        return h, h

    last, hs = tl.scan(step, xs, h0)
    return (hs * hs).sum() + last.sum()


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
    x, c0 = tl.vector("x"), tl.scalar("c0")
    last, _ = tl.scan(lambda c, x: (tl.log(1 + tl.exp(c * x)) * 1, None), x, c0)
    assert inner_ops(scans(tl.function([x, c0], last))[0]) == ["mul", "softplus"]


def test_the_backward_pass_does_not_repeat_costly_work(symbols):
    gradients = tl.grad(network(*symbols), list(symbols))
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


def test_rows_of_different_shapes_are_refused_rather_than_broadcast():
    m = tl.matrix("m")
    _, ys = tl.scan(lambda c, row: (None, row[row > 0]), m)
    f = tl.function([m], ys)
    assert f(np.array([[1.0, -1.0], [-2.0, 2.0]])).tolist() == [[1.0], [2.0]]
    with pytest.raises(tl.ShapeError, match="what is stacked"):
        f(np.array([[1.0, 1.0], [-2.0, 2.0]]))


def test_values_whose_shape_alone_the_gradient_asks_for_are_not_kept(symbols):
    forward, _ = scans(tl.function(symbols, tl.grad(network(*symbols), list(symbols))))
    assert len(forward.outputs) == 3  # the last carry, its history, and tanh, which is the stack of results too
