"""``tl.grad`` in both modes: orders of derivative, what may be asked for, and what is refused."""

import numpy as np
import pytest

import tutorlib as tl

MODES = ["dynamic", "static"]


def derivative(cost, at, mode, order=1, **options):
    """The ``order``-th derivative of the scalar function ``cost`` at ``at``."""
    x = tl.tensor(at, requires_grad=True) if mode == "dynamic" else tl.scalar("x")
    y = cost(x)
    for _ in range(order):
        y = tl.grad(y, x, **options)
    return y.item() if mode == "dynamic" else y.eval({x: at}).item()


both_modes = pytest.mark.parametrize("mode", MODES)


@both_modes
@pytest.mark.parametrize("order, expected", [(1, 27.0), (2, 18.0), (3, 6.0)])
def test_derivatives_of_x_cubed_by_hand(mode, order, expected):
    assert derivative(lambda x: x**3, 3.0, mode, order) == expected


@both_modes
@pytest.mark.parametrize("order", range(1, 6))
def test_every_derivative_of_exp_is_exp(mode, order):
    assert derivative(tl.exp, 0.7, mode, order) == pytest.approx(np.exp(0.7), rel=1e-14)


@both_modes
@pytest.mark.parametrize("order, expected", [(1, 0.5), (2, -0.25), (3, 0.25), (4, -0.375)])
def test_derivatives_of_log_at_two(mode, order, expected):
    assert derivative(tl.log, 2.0, mode, order) == pytest.approx(expected, rel=1e-14)


@both_modes
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_of_a_tangled_function_against_jax(mode, order):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    expected = lambda x: jnp.tanh(x * x) / (1.0 + jnp.exp(-x)) + x**3 * jnp.log(x)
    for _ in range(order):
        expected = jax.grad(expected)
    ours = derivative(lambda x: tl.tanh(x * x) / (1.0 + tl.exp(-x)) + x**3 * tl.log(x), 0.8, mode, order)
    assert ours == pytest.approx(float(expected(0.8)), rel=1e-9)


# ---- the form of the answer ----


@both_modes
def test_the_answer_has_the_form_of_wrt(mode):
    make = (lambda v: tl.tensor(v, requires_grad=True)) if mode == "dynamic" else (lambda v: tl.scalar())
    x, y = make(2.0), make(3.0)
    cost = x * y
    kind = tl.Tensor if mode == "dynamic" else tl.Symbol
    assert isinstance(tl.grad(cost, x), kind)
    assert type(tl.grad(cost, [x])) is list
    assert type(tl.grad(cost, (x, y))) is tuple


def test_grad_leaves_no_trace_in_the_leaves():
    x = tl.tensor(2.0, requires_grad=True)
    tl.grad(x * x, x)
    assert x.grad is None


def test_grad_keeps_the_graph():
    x = tl.tensor(2.0, requires_grad=True)
    y = x * x
    assert tl.grad(y, x).item() == tl.grad(y, x).item() == 4.0
    y.backward()
    assert x.grad.item() == 4.0


def test_without_create_graph_the_answer_is_a_plain_value():
    x = tl.tensor(2.0, requires_grad=True)
    slope = tl.grad(x**3, x, create_graph=False)
    assert slope.node is None
    assert slope.item() == 12.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_gradient_has_its_variables_shape_and_dtype(dtype):
    x = tl.tensor(np.ones((2, 1), dtype), requires_grad=True)
    slope = tl.grad((x * np.ones((2, 3))).sum(), x)
    assert (slope.shape, slope.dtype) == ((2, 1), dtype)
    s = tl.symbol("s", shape=(None, None), dtype=dtype)
    slope = tl.grad((s * np.ones((2, 3))).sum(), s)
    assert slope.dtype == dtype
    assert slope.eval({s: np.ones((2, 1), dtype)}).shape == (2, 1)


@both_modes
def test_the_gradient_of_the_cost_itself_is_one(mode):
    assert derivative(lambda x: x, 3.0, mode) == 1.0


# ---- intermediates ----


def test_gradients_with_respect_to_results_and_leaves_at_once():
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    to_h, to_x = tl.grad((h * h).sum(), [h, x])
    assert to_h.tolist() == [2.0, 8.0]
    assert to_x.tolist() == [4.0, 32.0]


def test_gradients_with_respect_to_symbolic_results():
    x = tl.vector("x")
    h = x * x
    to_h, to_x = tl.grad((h * h).sum(), [h, x])
    np.testing.assert_array_equal(to_h.eval({x: [1.0, 2.0]}), [2.0, 8.0])
    np.testing.assert_array_equal(to_x.eval({x: [1.0, 2.0]}), [4.0, 32.0])


# ---- cotangents ----


@pytest.mark.parametrize("weights", [[1.0, 10.0], np.array([1.0, 10.0]), tl.tensor([1.0, 10.0]), np.array([1, 10])])
def test_a_cotangent_weighs_the_elements_in_both_modes(weights):
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    assert tl.grad(x * x, x, cotangent=weights).tolist() == [2.0, 40.0]
    assert tl.grad(x * x, x, cotangent=weights, create_graph=False).tolist() == [2.0, 40.0]
    s = tl.vector("s")
    np.testing.assert_array_equal(tl.grad(s * s, s, cotangent=weights).eval({s: [1.0, 2.0]}), [2.0, 40.0])


def test_a_symbolic_cotangent_stays_a_variable():
    s, c = tl.vector("s"), tl.vector("c")
    pull = tl.function([s, c], tl.grad(s * s, s, cotangent=c))
    np.testing.assert_array_equal(pull([1.0, 2.0], [5.0, 7.0]), [10.0, 28.0])


@pytest.mark.parametrize("create_graph", [True, False])
@pytest.mark.parametrize("weights", [np.ones(3), tl.tensor(np.ones(3)), np.ones((1, 2)), 1.0])
def test_a_cotangent_of_another_shape_is_refused(weights, create_graph):
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(tl.ShapeError, match="shape of the value"):
        tl.grad(x * x, x, cotangent=weights, create_graph=create_graph)


@pytest.mark.parametrize("weights", [np.ones((2, 2)), 1.0])
def test_a_cotangent_of_another_rank_is_refused_while_the_graph_is_built(weights):
    s = tl.vector("s")
    with pytest.raises(tl.ShapeError, match="shape of the value"):
        tl.grad(s * s, s, cotangent=weights)


def test_a_cotangent_never_widens_a_gradient():
    x = tl.tensor(np.ones(2, "float32"), requires_grad=True)
    assert tl.grad(x * x, x, cotangent=np.ones(2)).dtype == "float32"
    s = tl.vector("s", dtype="float32")
    assert tl.grad(s * s, s, cotangent=np.ones(2)).dtype == "float32"


def test_known_gradients_start_the_walk_in_the_middle():
    x = tl.scalar("x")
    h = x * x
    slope = tl.grad(None, x, known={h: np.array(5.0)})
    assert slope.eval({x: 3.0}) == 30.0


# ---- consider_constant ----


@both_modes
def test_no_gradient_goes_through_what_is_considered_constant(mode):
    x = tl.tensor(3.0, requires_grad=True) if mode == "dynamic" else tl.scalar("x")
    h = x * x
    for constants in (h, [h], (h,)):
        slope = tl.grad(h * x, x, consider_constant=constants)
        assert (slope.item() if mode == "dynamic" else slope.eval({x: 3.0})) == 9.0


def test_a_tensor_of_several_elements_considered_constant_is_one_variable_not_its_rows():
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    assert tl.grad((h * x).sum(), x, consider_constant=h).tolist() == [1.0, 4.0]


# ---- disconnected ----


@both_modes
def test_a_variable_the_cost_does_not_depend_on(mode):
    if mode == "dynamic":
        x, z = tl.tensor(3.0, requires_grad=True), tl.tensor([1.0, 2.0], requires_grad=True, name="z")
    else:
        x, z = tl.scalar("x"), tl.vector("z")
    cost = x * x
    with pytest.raises(tl.DisconnectedError, match="does not depend on z"):
        tl.grad(cost, [x, z])
    assert tl.grad(cost, z, disconnected="none") is None
    zero = tl.grad(cost, z, disconnected="zero")
    value = zero.numpy() if mode == "dynamic" else zero.eval({z: [1.0, 2.0]})
    np.testing.assert_array_equal(value, [0.0, 0.0])
    with pytest.raises(tl.TutorlibError, match="disconnected"):
        tl.grad(cost, z, disconnected="ignore")


@both_modes
@pytest.mark.parametrize("op", [tl.argmax, lambda x: tl.sum(x > 0), lambda x: tl.sum(tl.stop_gradient(x))])
def test_a_gradient_that_ends_on_its_way_is_told_where(mode, op):
    x = tl.tensor([1.0, 2.0], requires_grad=True, name="x") if mode == "dynamic" else tl.vector("x")
    other = tl.tensor(1.0, requires_grad=True) if mode == "dynamic" else tl.scalar("other")
    cost = op(x) * other
    with pytest.raises(tl.DisconnectedError, match="depends on x only through") as caught:
        tl.grad(cost, x)
    assert "cost = op(x) * other" in str(caught.value) or "lambda x:" in str(caught.value)


def test_cost_and_variable_in_the_wrong_order():
    w = tl.scalar("w")
    loss = w * w
    with pytest.raises(tl.DisconnectedError, match="the cost comes first") as caught:
        tl.grad(w, loss)
    assert caught.value.fix == "the cost comes first: tl.grad(cost, x)"


@both_modes
@pytest.mark.parametrize(
    "cut",
    [lambda x: (x > 1).astype("float64"), lambda x: x.astype("int64").astype("float64")],
    ids=["comparison", "integer"],
)
def test_comparisons_and_integers_cut_a_gradient(mode, cut):
    with pytest.raises(tl.DisconnectedError):
        derivative(cut, 3.0, mode)
    assert derivative(cut, 3.0, mode, disconnected="zero") == 0.0


@both_modes
@pytest.mark.parametrize("flat", [tl.sign, lambda x: x // 2, lambda x: x**0])
def test_a_flat_function_has_slope_zero_and_is_not_called_disconnected(mode, flat):
    assert derivative(flat, 3.0, mode) == 0.0


def test_a_tensor_that_never_asked_for_a_gradient_says_what_is_missing():
    x = tl.tensor(3.0, name="x")
    w = tl.tensor(2.0, requires_grad=True)
    with pytest.raises(tl.DisconnectedError, match=r"x does not require a gradient.*\n(.*\n)+.*requires_grad=True"):
        tl.grad(w * 2, x)


@both_modes
def test_a_derivative_of_a_constant_slope_is_disconnected_as_in_theano(mode):
    with pytest.raises(tl.DisconnectedError):
        derivative(lambda x: 2 * x, 3.0, mode, order=2)


# ---- refusals ----


@both_modes
def test_integer_variables_have_no_gradient(mode):
    i = tl.tensor([0, 1]) if mode == "dynamic" else tl.vector("i", dtype="int64")
    x = tl.tensor([1.0, 2.0], requires_grad=True) if mode == "dynamic" else tl.vector("x")
    with pytest.raises(tl.DTypeError, match="int64"):
        tl.grad(x[i].sum(), i)


@both_modes
def test_integer_costs_have_no_gradient(mode):
    x = tl.tensor([1.0, 2.0], requires_grad=True) if mode == "dynamic" else tl.vector("x")
    with pytest.raises(tl.NotDifferentiableError, match="astype"):
        tl.grad((x > 1).sum(), x)


@pytest.mark.parametrize("shape", [(2,), (None,), (None, None)])
def test_a_cost_that_is_no_scalar_is_refused(shape):
    s = tl.symbol("s", shape=shape)
    with pytest.raises(tl.ShapeError, match=r"cost\.sum\(\)"):
        tl.grad(s * s, s)


@pytest.mark.parametrize("not_a_variable", [3.0, np.array(3.0), "x", None])
def test_values_are_not_variables(not_a_variable):
    x = tl.tensor(3.0, requires_grad=True)
    with pytest.raises(tl.NotDifferentiableError):
        tl.grad(x * x, not_a_variable)
    with pytest.raises(tl.NotDifferentiableError):
        tl.grad(not_a_variable, x)


# ---- the walk ----


def test_only_nodes_between_wrt_and_cost_are_walked():
    passed = []

    class Watch(tl.Observer):
        def on_vjp(self, node, cotangent, grads):
            passed.append(node.op.name)

    x, y = tl.tensor(1.0, requires_grad=True), tl.tensor(2.0, requires_grad=True)
    cost = tl.exp(x) * tl.sigmoid(y)
    with tl.observe(Watch()):
        tl.grad(cost, x)
    assert passed == ["mul", "exp"]


def test_gradient_nodes_say_where_they_come_from():
    x = tl.scalar("x")
    y = tl.exp(x) * x
    nodes = [n for n in tl.toposort([tl.grad(y, x)]) if n.role == "backward"]
    forward = {id(n) for n in tl.toposort([y])}
    assert nodes
    assert all(id(n.origin) in forward for n in nodes)


def test_the_forward_graph_is_shared_not_copied_by_the_gradient():
    x = tl.scalar("x")
    y = tl.exp(x)
    forward = [n for n in tl.toposort([tl.grad(y, x)]) if n.role == "forward"]
    assert forward == [y.node]


@pytest.mark.parametrize(
    "walk",
    [
        lambda x, y: tl.grad(y, x),
        lambda x, y: tl.grad(y, [x]),
        lambda x, y: tl.gradient_paths(y, x),
    ],
    ids=["grad", "many", "paths"],
)
def test_what_is_built_after_a_gradient_is_forward_again(walk):
    x = tl.scalar("x")
    walk(x, tl.exp(x) * x)
    after = x + 1
    assert (after.node.role, after.node.origin) == ("forward", None)
    assert after.node.source.text == "after = x + 1"


def test_what_is_built_after_a_gradient_that_failed_is_forward_again():
    x = tl.tensor(2.0, requires_grad=True)
    y = x * x
    with tl.no_grad():
        x += 1
    with pytest.raises(tl.StaleValueError):
        tl.grad(y, x)
    assert (x * 2).role == "forward"
