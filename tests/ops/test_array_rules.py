"""The rules on bare arrays, which backward() runs, say what the general rules say, which grad() runs."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core.array_walk import NotANumber, check
from tutorlib.ops.define import TABLE

UNARY = {
    "neg": lambda x: -x,
    "square": tl.square,
    "exp": tl.exp,
    "log": lambda x: tl.log(tl.abs(x) + 0.5),
    "tanh": tl.tanh,
    "sigmoid": tl.sigmoid,
    "relu": tl.relu,
    "sum": lambda x: tl.sum(x, axis=0, keepdims=True),
    "mean": lambda x: tl.mean(x, axis=-1) * 2.0,
    "getitem": lambda x: x[1:, 0] * x[0, 1],
    "pow": lambda x: x**2,
    "reshape": lambda x: tl.reshape(x, (2, 6)) * np.arange(6),
    "expand_dims": lambda x: tl.expand_dims(x, 1) * np.arange(8).reshape(2, 4),
    "squeeze": lambda x: tl.squeeze(x[:1], 0) * x[1],
    "transpose": lambda x: tl.transpose(x) * np.arange(12).reshape(4, 3),
}
BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y * y + 1.0),
    "matmul": lambda x, y: x @ tl.transpose(y),
    "pow": lambda x, y: (x * x + 1.0) ** y,
}
LAYERS = {
    "linear": lambda x: tl.linear(x, tl.transpose(x), x[:, 0]),
    "cross_entropy": lambda x: tl.cross_entropy(x, np.array([3, 0, 1]), reduction="none"),
    "conv": lambda x: tl.conv2d(tl.reshape(x, (1, 1, 3, 4)), tl.reshape(x[:2, :2] * x[1:, 2:], (1, 1, 2, 2))),
    "max_pool": lambda x: tl.max_pool2d(tl.reshape(x * x, (1, 1, 3, 4)), 2) * np.arange(1, 3),
}


def both_ways(function, *arrays):
    """Gradients of the sum of the result: by backward(), and by grad()."""
    leaves = [tl.tensor(a, requires_grad=True) for a in arrays]
    function(*leaves).sum().backward()
    general = tl.grad(function(*leaves).sum(), leaves, create_graph=False)
    return [leaf.grad for leaf in leaves], general


def test_every_op_with_array_rules_is_here():
    assert {
        name for name, op in TABLE.items() if op.on_arrays is not None
    } == UNARY.keys() | BINARY.keys() | LAYERS.keys()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_of_one_operand(name, dtype):
    x = np.linspace(-2, 3, 12).reshape(3, 4).astype(dtype)
    (quick,), (general,) = both_ways(UNARY[name], x)
    assert quick.dtype == general.dtype == dtype
    np.testing.assert_allclose(quick.numpy(), general.numpy(), rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LAYERS)
def test_of_layers(name, dtype):
    x = np.linspace(-2, 3, 12).reshape(3, 4).astype(dtype)
    (quick,), (general,) = both_ways(LAYERS[name], x)
    assert quick.dtype == general.dtype == dtype
    np.testing.assert_allclose(quick.numpy(), general.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 1), (2, 1))])
@pytest.mark.parametrize("name", BINARY)
def test_of_two_operands(name, shapes):
    x, y = (np.linspace(-2, 3, int(np.prod(s))).reshape(s).astype(t) for s, t in zip(shapes, "fd", strict=True))
    if name != "matmul" and shapes[1] == (2, 1):
        y = y.T
    for quick, general in zip(*both_ways(BINARY[name], x, y), strict=True):
        assert (quick.dtype, quick.shape) == (general.dtype, general.shape)
        np.testing.assert_allclose(quick.numpy(), general.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["neg", "square", "exp", "log", "tanh", "sigmoid", "relu", "pow"])
@pytest.mark.parametrize("value", [0.0, -0.0, 1e-310, np.inf, -np.inf, np.nan, 800.0])
def test_at_the_edges_of_numbers(name, value):
    for x in (np.array([value, 1.0]), np.array(value)):
        (quick,), (general,) = both_ways(UNARY[name], x)
        np.testing.assert_array_equal(quick.numpy(), general.numpy())


def test_a_denormal_input_of_relu_has_slope_1():
    x = tl.tensor(np.array([1e-40, 0.0], np.float32), requires_grad=True)
    tl.relu(x).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_a_nan_that_a_mask_drops_on_the_way_is_dropped():
    x = tl.tensor([0.0, 4.0], requires_grad=True)
    inner = tl.where(x > 0, x, 0.0)
    tl.where(x > 0, tl.log(inner), 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]
    assert inner.cotangent.tolist() == [0.0, 0.25]


def test_many_contributions_are_added_up_without_touching_what_others_hold():
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    total = y + y + y * 2.0 + y[0] + y
    total.backward(np.array([1.0, 1.0]))
    assert x.grad.tolist() == [7.0, 5.0]
    assert total.cotangent.tolist() == [1.0, 1.0]


def test_the_cotangent_passed_in_is_not_written_to():
    seed = np.array([1.0, 2.0])
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    (x + x + x).backward(seed)
    assert seed.tolist() == [1.0, 2.0]
    assert x.grad.tolist() == [3.0, 6.0]


def test_gradients_written_over_large_arrays_are_those_of_the_general_rules():
    """Beyond 4 MB a rule may write over the cotangent it is given; what others hold must stay as it is."""
    rng = np.random.default_rng(0)
    x, y = (tl.tensor(rng.normal(size=(300, 1000)), requires_grad=True, dtype="float32") for _ in range(2))

    def cost():
        u = tl.tanh(x * 0.5 + y) * tl.exp(x * -0.1)
        v = tl.relu(u - y) + tl.sigmoid(-u) / (y * y + 1.0)
        return (tl.log(1.0 + tl.square(v)) * (u + v) + u).mean()

    cost().backward()
    for leaf, expected in zip((x, y), tl.grad(cost(), [x, y], create_graph=False), strict=True):
        np.testing.assert_allclose(leaf.grad.numpy(), expected.numpy(), rtol=2e-4, atol=1e-10)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (2, 1, 0)])
def test_a_nan_is_found_in_any_order_of_memory(axes):
    g = np.zeros((2, 3, 4)).transpose(axes)
    check(g)
    check(g[:, ::2])
    g[1, 1, 1] = np.nan
    with pytest.raises(NotANumber):
        check(g)


def test_a_large_cotangent_passed_in_is_not_written_to():
    seed = np.ones((1200, 1000), np.float32)
    x = tl.tensor(seed * 2, requires_grad=True)
    y = -(x * 3.0)
    (y * 2.0 + x).backward(seed)
    assert (seed == 1).all()
    assert (x.grad.numpy() == -5).all()
