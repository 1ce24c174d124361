"""Rules on matrix products, transposes, factors and repeated terms: what they leave, and that values stay."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile.rewrite import rewrite

A, B = tl.symbol("A", (3, 4)), tl.symbol("B", (5, 3))
X, D, W = tl.symbol("X", (64, 784)), tl.symbol("D", (64, 128)), tl.symbol("W", (784, 128))
M, v, s = tl.matrix("M"), tl.symbol("v", (6,)), tl.scalar("s")
F = tl.symbol("F", (200, 300), "float32")


def ops(*expressions):
    """The names of the ops after rewriting, in order."""
    outs, _ = rewrite(list(expressions))
    return [node.op.name for node in tl.toposort(outs)]


def values(expressions, seed=0):
    """What the expressions give, rewritten with every step checked, and as written, on random numbers."""
    leaves = [var for var in tl.core.toposort.leaves_of(expressions) if isinstance(var, tl.core.graph.Input)]
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=[3 if d is None else d for d in var.shape]).astype(var.dtype) for var in leaves]
    made = [tl.function(leaves, list(expressions), mode=mode)(*arrays) for mode in ("check", "plain")]
    return made[0], made[1], arrays


@pytest.mark.parametrize(
    ("expression", "left"),
    [
        (A.T @ B.T, ["matmul", "transpose"]),
        ((A.T @ B.T).T, ["matmul"]),
        ((B @ A).T, ["matmul", "transpose"]),
        ((A.T @ tl.symbol("C", (3, 5))).T, ["transpose", "matmul"]),
        (M.T.T @ M, ["matmul"]),
        (tl.sum(M.T), ["sum"]),
        (tl.sum(tl.sum(M, axis=0)), ["sum"]),
        (tl.mean(tl.reshape(M, (-1,))), ["mean"]),
        (tl.sum(tl.broadcast_to(s, (3, 4))), ["mul"]),
        (tl.mean(tl.broadcast_to(s, (3, 4))), []),
        (tl.sum(v * v), ["matmul"]),
        (tl.sum(A * A), ["reshape", "matmul"]),
        (0.1 * (X.T @ D), ["transpose", "mul", "matmul"]),
        ((0.1 * X) @ W, ["matmul", "mul"]),
        (0.1 * -M, ["mul"]),
        (-(0.1 * M), ["mul"]),
        (2.0 * (3.0 * M + 4.0 * M.T), ["mul", "transpose", "mul", "add"]),
        (2.0 * tl.where(M > 0, 3.0 * M, 0.0), ["gt", "mul", "where"]),
        (2.0 * tl.reshape(3.0 * M, (-1,)), ["mul", "reshape"]),
        (tl.sum(3.0 * M), ["sum", "mul"]),
        (M * tl.broadcast_like(s, M), ["mul"]),
        (2.0 * v + 3.0 * v, ["mul"]),
        (v + 3.0 * tl.exp(v) + 2.0 * tl.exp(v), ["exp", "mul", "add"]),
        (3.0 * v + (2.0 * v) * tl.exp(v), ["exp", "mul", "add", "mul"]),
        (v * tl.sin(v) + v * tl.cos(v), ["sin", "cos", "add", "mul"]),
        (v * tl.sin(v) + (v * tl.cos(v)) * 2.0, ["sin", "cos", "mul", "add", "mul"]),
        (v * tl.sin(v) - v * tl.cos(v), ["sin", "mul", "cos", "mul", "sub"]),
        (5.0 * (v + 2.0 * (v * v * v)), ["square", "mul", "add", "mul"]),
        ((2.0 * v) * (0.5 * tl.sin(v)), ["sin", "mul"]),
        ((2.0 * tl.cos(v)) * (3.0 * tl.sin(v)), ["cos", "sin", "mul", "mul"]),
        (-((3.0 * v) * tl.sin(v)), ["mul", "sin", "mul"]),
        (v * tl.sin(v) + v * 1.0, ["sin", "mul", "add"]),
    ],
)
def test_what_a_rule_leaves(expression, left):
    assert ops(expression) == left
    got, want, _ = values([expression])
    np.testing.assert_allclose(got[0], want[0], rtol=1e-10, atol=1e-10)


def test_a_product_that_is_wanted_itself_is_not_computed_twice():
    product = X.T @ D
    assert ops(product, 0.1 * product).count("matmul") == 1
    turned = A.T @ tl.symbol("C", (3, 5))
    assert ops(turned, turned.T).count("matmul") == 1


def test_a_factor_goes_onto_the_smaller_operand_only():
    scaled = tl.toposort(rewrite([0.1 * (X.T @ D)])[0])[1]
    assert scaled.op.name == "mul" and scaled.outputs[0].shape == (64, 128)
    # Where the result is smallest it stays there.
    long, wide = tl.symbol("long", (10, 5000)), tl.symbol("wide", (5000, 10))
    assert ops(0.1 * (tl.exp(long) @ tl.exp(wide)))[-1] == "mul"


def test_rules_worked_by_hand():
    left, right = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    a, b = tl.symbol("a", (2, 2)), tl.symbol("b", (2, 2))
    f = tl.function([a, b], [a.T @ b.T, tl.sum(a * a), 2.0 * (3.0 * a - 4.0 * b), tl.sum(2.0 * b)])
    transposed, squares, both, total = f(left, right)
    np.testing.assert_array_equal(transposed, [[3.0, 4.0], [4.0, 6.0]])
    assert squares == 30.0 and total == 6.0
    np.testing.assert_array_equal(both, [[6.0, 4.0], [10.0, 16.0]])


def test_a_learning_rate_ends_in_a_constant_of_the_backward_pass():
    params = {
        k: tl.shared(np.ones(shape), name=k) for k, shape in {"U": (784, 128), "b": (128,), "V": (128, 10)}.items()
    }
    loss = tl.mean(tl.square(tl.relu(X @ params["U"] + params["b"]) @ params["V"]))
    wrt = list(params.values())
    f = tl.function([X], loss, updates=[(p, p - 0.1 * g) for p, g in zip(wrt, tl.grad(loss, wrt), strict=True)])
    last = [new.node for _, new in f.updates]
    assert all(node.inputs[1].node.op.name == "mul" for node in last)
    ends = f.log.goto(f.log.rewrites)[1:]
    assert [new.node.inputs[1].node.op.name for new in ends] == ["matmul", "unbroadcast", "matmul"]


def test_training_agrees_with_jax_where_factors_moved():
    rng = np.random.default_rng(3)
    start = {"U": rng.normal(size=(7, 5)), "b": rng.normal(size=5), "V": rng.normal(size=(5, 2))}
    x, y = rng.normal(size=(9, 7)), rng.normal(size=(9, 2))

    def loss(m, p, x, y, relu):
        h = relu(x @ p["U"] + p["b"])
        return m.mean(m.square(h @ p["V"] - y)) + 0.01 * ((p["U"] * p["U"]).sum() + (p["V"] * p["V"]).sum())

    shared = {k: tl.shared(value, name=k) for k, value in start.items()}
    xs, ys = tl.symbol("x", x.shape), tl.symbol("y", y.shape)
    cost = loss(tl, shared, xs, ys, tl.relu)
    wrt = list(shared.values())
    updates = [(p, p - 0.3 * g) for p, g in zip(wrt, tl.grad(cost, wrt), strict=True)]
    step = tl.function([xs, ys], cost, updates=updates)
    with jax.enable_x64(True):
        params = {k: jnp.asarray(value) for k, value in start.items()}
        gradient = jax.value_and_grad(lambda p: loss(jnp, p, jnp.asarray(x), jnp.asarray(y), jax.nn.relu))
        for _ in range(4):
            want, grads = gradient(params)
            np.testing.assert_allclose(step(x, y), want, rtol=1e-10)
            params = {k: params[k] - 0.3 * grads[k] for k in params}
    for k, var in shared.items():
        np.testing.assert_allclose(var.get_value(), params[k], rtol=1e-9)


def test_the_gradient_of_a_cube_shares_its_square():
    cubed = ops(tl.grad(tl.sum(F * F * F * 0.5), F), tl.sum(F * F * F * 0.5))
    assert cubed.count("square") == 1 and cubed.count("mul") + cubed.count("safe_mul") <= 4
    got, _, (array,) = values([tl.grad(tl.sum(F * F * F * 0.5), F)])
    np.testing.assert_allclose(got[0], 1.5 * array * array, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_log_of_one_plus_a_small_number_keeps_its_digits(dtype):
    x = tl.symbol("x", (None,), dtype)
    y = tl.log(1.0 + tl.exp(-(x * x)))
    assert "softplus" not in ops(y)
    f = tl.function([x], [y, tl.grad(tl.sum(y), x)])
    points = np.array([0.0, 0.5, 3.0, 5.0, 9.0, 30.0], dtype)
    exact = np.exp(-(points.astype("float64") ** 2))
    tolerance = 1e-13 if dtype == "float64" else 4e-6
    got, slope = f(points)
    np.testing.assert_allclose(got, np.log1p(exact), rtol=tolerance, atol=1e-40)
    np.testing.assert_allclose(slope, -2 * points * exact / (1 + exact), rtol=tolerance * 4, atol=1e-37)


def test_masked_infinities_stay_masked_where_products_are_joined():
    x = tl.symbol("x", (3,))
    cost = tl.sum(tl.where(x > 0, tl.log(x), 0.0) ** 3) * 0.5
    f = tl.function([x], tl.grad(cost, x))
    np.testing.assert_allclose(f([0.0, 1.0, np.e]), [0.0, 0.0, 1.5 / np.e])


def gelu(m, x):
    return 0.5 * x * (1 + m.tanh(0.8 * (x + 0.04 * (x * x * x))))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 3e-6), ("float64", 1e-12)])
def test_the_slope_of_gelu_is_jaxs_and_needs_a_sigmoid_in_place_of_a_tangent(dtype, tolerance):
    z = tl.symbol("z", (101,), dtype)
    cost = tl.sum(tl.square(gelu(tl, z)))
    slope = tl.grad(cost, z)
    at = np.linspace(-6, 6, 101, dtype=dtype)
    with jax.enable_x64(True):
        want, wanted = jax.value_and_grad(lambda a: jnp.square(gelu(jnp, a)).sum())(jnp.asarray(at, "float64"))
    for mode in (None, "check", "plain"):
        found, gradient = tl.function([z], [cost, slope], mode=mode)(at)
        np.testing.assert_allclose(found, want, rtol=1e-5)
        np.testing.assert_allclose(gradient, wanted, rtol=tolerance, atol=tolerance)
    left = ops(cost, slope)
    assert "tanh" not in left and left.count("sigmoid") == 1
    assert len(left) < len([n for n in tl.toposort([cost, slope])]) - 8


def test_one_plus_tanh_is_exact_far_to_the_left():
    z = tl.symbol("z", (3,))
    found = tl.function([z], 0.5 * (1 + tl.tanh(z)))(np.array([-20.0, -30.0, 1.0]))
    np.testing.assert_allclose(found, 1 / (1 + np.exp([40.0, 60.0, -2.0])), rtol=1e-14)


def test_a_tangent_that_is_wanted_for_itself_stays():
    z = tl.symbol("z", (3,))
    assert ops(0.5 * (1 + tl.tanh(z)), tl.tanh(z)) == ["tanh", "add", "mul"]
    assert ops(1 + tl.tanh(z)) == ["tanh", "add"]
    assert "sigmoid" not in ops(tl.grad(tl.sum(tl.tanh(z) * 2.0), z))


def test_a_cotangent_of_zero_stays_zero_where_factors_are_collected():
    z, g = tl.symbol("z", (4,)), tl.symbol("g", (4,))
    cost = tl.sum(g * (z * tl.sqrt(z) + z * tl.log(z)))
    at, weights = np.array([0.0, 1.0, 4.0, 0.0]), np.array([0.0, 1.0, 2.0, 0.0])
    (slope, plain) = (tl.function([z, g], tl.grad(cost, z), mode=mode)(at, weights) for mode in (None, "plain"))
    np.testing.assert_allclose(slope, plain)
    np.testing.assert_allclose(slope, [0.0, 1.5 + 1.0, 2 * (3.0 + np.log(4.0) + 1.0), 0.0])


def test_a_cotangent_that_a_factor_makes_zero_stays_zero_where_factors_are_collected():
    z, g = tl.symbol("z", (3,)), tl.symbol("g", (3,))
    # g · (s² · sin s + s² · 3), s = √z: at z = 0 the factor s meets 1 / s.
    s = tl.sqrt(z)
    cost = tl.sum(g * (tl.square(s) * tl.sin(s) + tl.square(s) * 3.0))
    at, weights = np.array([0.0, 1.0, 4.0]), np.array([2.0, 1.0, 0.0])
    slope, plain = (tl.function([z, g], tl.grad(cost, z), mode=mode)(at, weights) for mode in (None, "plain"))
    np.testing.assert_allclose(slope, plain)
    np.testing.assert_allclose(slope[1:], [np.sin(1.0) + np.cos(1.0) / 2 + 3.0, 0.0])


def test_a_product_of_very_many_factors_is_no_trouble():
    z = tl.symbol("z", (2,))
    product = tl.sin(z)
    for _ in range(3000):
        product = product * tl.cos(z)
    found = tl.function([z], product + z * tl.sin(z))(np.array([0.0, 0.01]))
    np.testing.assert_allclose(found, [0.0, np.sin(0.01) * np.cos(0.01) ** 3000 + 0.01 * np.sin(0.01)])


def test_a_rate_times_a_summed_and_multiplied_gradient_is_moved_once():
    """The gradient of a bias is a sum of what the weights' gradient is a product of: both meet the rate."""
    W, b = tl.shared(np.ones((4, 3)), name="W"), tl.shared(np.zeros(3), name="b")
    x, y = tl.symbol("x", (5, 4)), tl.symbol("y", (5,), "int64")
    loss = tl.cross_entropy(tl.linear(x, W, b), y)
    updates = [(p, p - 0.5 * g) for p, g in zip((W, b), tl.grad(loss, [W, b]), strict=True)]
    step = tl.function([x, y], loss, updates=updates)
    moves = [s.rule for s in step.log if s.rule in ("sum_of_scaled", "factor_of_sum")]
    assert len(moves) <= 2
    step(np.ones((5, 4)), np.zeros(5, "int64"))
    # Each row gives softmax(0, 0, 0) less one-hot(0), a fifth of it; half of their sum is taken away.
    np.testing.assert_allclose(b.get_value(), [1 / 3, -1 / 6, -1 / 6], rtol=1e-12)
