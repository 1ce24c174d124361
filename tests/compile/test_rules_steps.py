"""What is done piece by piece in a program, done once: rows of a product, steps of a sum, slices of a gradient."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile.rewrite import rewrite

T, B, D, G = 5, 3, 4, 8
X = tl.symbol("X", (T, B, D))
W, b = tl.symbol("W", (D, G)), tl.symbol("b", (G,))


def ops(*expressions):
    """The names of the ops after rewriting, in order."""
    outs, _ = rewrite(list(expressions))
    return [node.op.name for node in tl.toposort(outs)]


def values(inputs, expressions, seed=0):
    """What the expressions give, rewritten with every step checked, and as written, on random numbers."""
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=[3 if d is None else d for d in v.shape]).astype(v.dtype) for v in inputs]
    return [tl.function(inputs, list(expressions), mode=mode)(*arrays) for mode in ("check", "plain")]


def assert_equal(inputs, *expressions):
    for got, want in zip(*values(inputs, expressions), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "cut",
    [
        lambda x: [x[:, :3], x[:, 3:4], x[:, 4:]],
        lambda x: tl.split(x, 4, axis=1),
        lambda x: [x[0], x[1], x[2]],
    ],
    ids=["slices", "sections", "rows"],
)
def test_gradients_of_all_the_pieces_of_an_array_are_joined(cut):
    x = tl.symbol("x", (3, 8))
    gradient = tl.grad(sum(tl.sum(tl.tanh(piece) * (k + 1)) for k, piece in enumerate(cut(x))), x)
    left = ops(gradient)
    assert left.count("concatenate") == 1 and not {"scatter", "unsection", "add"} & set(left)
    assert_equal([x], gradient)


def test_pieces_that_leave_a_gap_or_overlap_stay_sums():
    x = tl.symbol("x", (3, 8))
    for pieces in ([x[:, :3], x[:, 4:]], [x[:, :5], x[:, 4:]], [x[:, ::2], x[:, 1::2]]):
        gradient = tl.grad(sum(tl.sum(tl.tanh(piece)) for piece in pieces), x)
        assert "concatenate" not in ops(gradient)
        assert_equal([x], gradient)


def test_what_else_is_added_to_the_pieces_stays():
    x = tl.symbol("x", (None, 6))
    gradient = tl.grad(tl.sum(tl.tanh(x[:, :3])) + tl.sum(tl.exp(x)) + tl.sum(tl.sin(x[:, 3:])), x)
    assert ops(gradient).count("concatenate") == 1
    assert_equal([x], gradient)


@pytest.mark.parametrize("shape", [(T, B, D), (T, None, D), (T, D)], ids=["batch", "batch unknown", "vectors"])
def test_products_of_rows_are_rows_of_one_product(shape):
    x = tl.symbol("x", shape)
    rows = [tl.tanh(x[t] @ W) for t in range(T)]
    assert ops(*rows).count("matmul") == 1
    assert_equal([x, W], *rows)


def test_layers_of_rows_keep_their_bias_and_rows_may_lie_along_the_second_axis():
    x = tl.symbol("x", (B, T, D))
    rows = [tl.tanh(x[:, t] @ W + b) for t in range(T)]
    left = ops(*rows)
    assert left.count("linear") == 1 and "add" not in left and "matmul" not in left
    assert_equal([x, W, b], *rows)


def test_products_of_a_few_rows_of_many_are_not_made_of_all():
    long = tl.symbol("long", (50, B, D))
    assert ops(*[tl.tanh(long[t] @ W) for t in range(5)]).count("matmul") == 5


@pytest.mark.parametrize("steps", [range(T), range(T - 1, -1, -1)], ids=["forwards", "backwards"])
@pytest.mark.parametrize("axis", [0, 1])
def test_gradients_of_the_weights_of_all_steps_are_one_product_each(steps, axis):
    """A plain recurrent network, unrolled: three products of weights' gradients for any number of steps."""
    x = tl.symbol("x", (T, B, D) if axis == 0 else (B, T, D))
    V, h0 = tl.symbol("V", (G, G)), tl.symbol("h0", (B, G))
    h = h0
    for t in steps:
        h = tl.tanh((x[t] if axis == 0 else x[:, t]) @ W + h @ V + b)
    gradients = tl.grad(tl.sum(h * h), [W, V, b, h0, x])
    left = ops(*gradients)
    # One product for all inputs, T for the states, T back through V, one for W's gradient, one for V's, one for x's.
    assert left.count("matmul") + left.count("linear") <= 1 + T + T + 2 + T
    assert left.count("unbroadcast") == 1
    assert_equal([x, W, V, b, h0], *gradients)


@pytest.mark.parametrize(("rows", "products"), [(4, 1), (50, 4)])
def test_inputs_are_joined_only_where_copying_them_is_cheaper_than_adding_products(rows, products):
    xs, V = [tl.symbol(f"x{k}", (rows, D)) for k in range(4)], tl.symbol("V", (D, G))
    slope = tl.grad(sum(tl.sum(tl.tanh(x @ V)) for x in xs), V)
    assert ops(slope).count("matmul") == 4 + products
    assert_equal([*xs, V], slope)


def test_the_slope_of_a_sigmoid_costs_no_second_sigmoid_and_one_minus_it_stays_exact():
    x = tl.symbol("x", (None,), "float32")
    slope = tl.grad(tl.sum(tl.sigmoid(x)), x)
    assert ops(slope).count("sigmoid") == 1
    at = np.array([-30, -1, 0, 2, 40], np.float32)
    np.testing.assert_allclose(tl.function([x], slope)(at), 0.25 / np.cosh(at / 2.0) ** 2, atol=6e-8)
    np.testing.assert_allclose(tl.function([x], 1 - tl.sigmoid(x))(np.float32([30])), np.exp(-30.0), rtol=1e-6)


# ---- where joined parts are computed ----


def run(inputs, outputs, *arrays, **options):
    f = tl.function(inputs, outputs, **options)
    return f, f(*arrays)


def test_parts_are_computed_in_their_places():
    x, y = tl.symbol("x", (3, 4)), tl.symbol("y", (2, 4))
    joined = tl.concatenate([tl.exp(x), y, tl.tanh(tl.sin(x))])
    a, c = np.arange(12.0).reshape(3, 4) / 5, np.ones((2, 4))
    f, (got, total) = run([x, y], [joined * 1.5, tl.sum(joined, axis=1)], a, c)
    want = np.concatenate([np.exp(a), c, np.tanh(np.sin(a))])
    np.testing.assert_allclose(got, want * 1.5)
    np.testing.assert_allclose(total, want.sum(axis=1))
    by_op = {life.op: life.buffer for life in f.schedule.lives}
    assert by_op["exp"] == by_op["tanh"] == by_op["concatenate"]


def test_stacks_of_joins_are_filled_in_place_and_parts_outlive_their_join():
    x = tl.symbol("x", (2, 3))
    e, s, c = tl.exp(x), tl.sin(x), tl.cos(x)
    both = tl.stack([tl.concatenate([e, s]), tl.concatenate([c, e])])
    a = np.linspace(-1, 1, 6).reshape(2, 3)
    f, (got, later, view) = run([x], [tl.neg(both), tl.tanh(e) * s, c.T * 2.0], a)
    want = np.stack([np.concatenate([np.exp(a), np.sin(a)]), np.concatenate([np.cos(a), np.exp(a)])])
    np.testing.assert_allclose(got, -want)
    np.testing.assert_allclose(later, np.tanh(np.exp(a)) * np.sin(a))
    np.testing.assert_allclose(view, np.cos(a).T * 2)
    again = f(a * 0)
    np.testing.assert_allclose(again[0][0, :2], -1.0)


def test_a_part_twice_columns_and_an_update_among_the_parts_are_copied():
    w = tl.shared(np.ones((2, 3)), name="w")
    x = tl.symbol("x", (2, 3))
    new = w - 0.5 * x
    e = tl.exp(x)
    outputs = [tl.concatenate([e, e]), tl.concatenate([tl.sin(x), e, tl.cos(x)], axis=1), tl.concatenate([new, w])]
    a = np.arange(6.0).reshape(2, 3) / 3
    f = tl.function([x], outputs, updates=[(w, new)])
    for _ in range(2):
        before = w.get_value()
        got = f(a)
        np.testing.assert_allclose(got[0], np.concatenate([np.exp(a), np.exp(a)]))
        np.testing.assert_allclose(got[1], np.concatenate([np.sin(a), np.exp(a), np.cos(a)], axis=1))
        np.testing.assert_allclose(got[2], np.concatenate([before - 0.5 * a, before]))
        np.testing.assert_allclose(w.get_value(), before - 0.5 * a)


def test_the_printed_program_fills_the_same_places():
    x = tl.symbol("x", (2, 3))
    h = x
    states = []
    for _ in range(3):
        h = tl.tanh(h)
        states.append(h)
    a = np.arange(6.0).reshape(2, 3) / 3
    f, (got,) = run([x], [tl.exp(tl.concatenate(states))], a)
    program = dict(f.source.arrays)
    exec(f.source, program)
    want = np.exp(np.concatenate([np.tanh(a), np.tanh(np.tanh(a)), np.tanh(np.tanh(np.tanh(a)))]))
    np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(program["run"](a)[0], want)
