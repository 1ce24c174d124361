"""Random programs give the same values and gradients in both modes."""

import numpy as np
import pytest

import tutorlib as tl

# Smooth (at what the programs feed them) and bounded, so that a program of any length stays finite.
UNARY = [
    tl.tanh,
    tl.sigmoid,
    tl.relu,
    tl.square,
    tl.abs,
    tl.neg,
    tl.softplus,
    lambda x: tl.exp(tl.clip(x, -3.0, 1.0)),
    lambda x: tl.log(tl.abs(x) + 1.0),
    lambda x: tl.sqrt(x * x + 0.5),
    lambda x: x * 0.5 + 1,
    lambda x: 1 - x,
    lambda x: x**3,
    lambda x: tl.expm1(tl.tanh(x)),
    lambda x: tl.log1p(tl.square(x)),
]
BINARY = [
    tl.add,
    tl.sub,
    tl.mul,
    lambda x, y: x / (tl.abs(y) + 1),
    tl.maximum,
    tl.minimum,
    lambda x, y: tl.where(x > y, x, y * 2),
    lambda x, y: tl.where(x > 0, x, 0.0) + y,
]
SHAPING = [
    lambda x: tl.sum(x, axis=0, keepdims=True) + x * 0,
    lambda x: tl.mean(x, axis=-1, keepdims=True) * x,
    lambda x: x - tl.max(x, axis=0, keepdims=True),
    lambda x: tl.softmax(x, axis=-1),
    lambda x: tl.log_softmax(x, axis=0),
    lambda x: tl.transpose(tl.transpose(x) * 2),
    lambda x: tl.concatenate([x, x * 2])[: 3 if x.ndim else None],
    lambda x: tl.reshape(tl.reshape(x, (-1,)) * 1.5, (3, 3)),
    lambda x: x[::-1] * x,
    lambda x: x @ tl.tanh(x) * 0.1,
    lambda x: x[:, [2, 0, 1]] + x[1],
    lambda x: tl.stack([x, -x]).sum(axis=0) + x.min(),
    lambda x: tl.broadcast_to(x[:1], (3, 3)) + x,
]


def program(seed, ops):
    """A function of two 3x3 arrays and a vector: ``ops`` random steps, each on random earlier results."""
    rng = np.random.default_rng(seed)
    steps = []
    for i in range(ops):
        kind = rng.choice(3, p=[0.4, 0.35, 0.25])
        table = (UNARY, BINARY, SHAPING)[kind]
        steps.append((table[rng.integers(len(table))], kind == 1, rng.integers(0, i + 3, size=2)))

    def run(a, b, v):
        values = [a, b, a * v]
        for op, binary, (i, j) in steps:
            # tanh keeps whatever came before from growing without bound
            args = (values[i], values[j]) if binary else (values[i],)
            values.append(tl.tanh(op(*args)))
        return tl.mean(values[-1] * values[len(values) // 2] + values[-2])

    return run


def arrays(seed, dtype):
    rng = np.random.default_rng(1000 + seed)
    return [rng.normal(size=shape).astype(dtype) for shape in ((3, 3), (3, 3), (3,))]


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-9), ("float32", 2e-3)])
@pytest.mark.parametrize("seed", range(30))
def test_a_random_program(seed, dtype, tolerance):
    run, data = program(seed, 5 + (11 * seed) % 56), arrays(seed, dtype)
    leaves = [tl.tensor(a, requires_grad=True) for a in data]
    loss = run(*leaves)
    loss.backward()
    symbols = [tl.symbol(n, shape=(None,) * a.ndim, dtype=dtype) for n, a in zip("abv", data, strict=True)]
    cost = run(*symbols)
    slopes = tl.grad(cost, symbols, disconnected="zero")
    value, *static = tl.function(symbols, [cost, *slopes], on_unused_input="ignore")(*data)
    assert value.dtype == loss.dtype == dtype
    np.testing.assert_allclose(value, loss.numpy(), rtol=tolerance, atol=tolerance)
    for leaf, slope in zip(leaves, static, strict=True):
        dynamic = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()
        assert slope.dtype == dtype
        assert slope.shape == leaf.shape
        np.testing.assert_allclose(slope, dynamic, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(8))
def test_a_random_programs_second_derivatives(seed):
    run, data = program(seed, 6), arrays(seed, "float64")
    leaves = [tl.tensor(a, requires_grad=True) for a in data]
    symbols = [tl.symbol(n, shape=(None,) * a.ndim) for n, a in zip("abv", data, strict=True)]

    def second(variables):
        first = tl.grad(run(*variables), variables, disconnected="zero")
        weighted = tl.add(tl.add(tl.sum(first[0] ** 2), tl.sum(first[1])), tl.sum(first[2] ** 3))
        return tl.grad(weighted, variables, disconnected="zero")

    static = tl.function(symbols, second(symbols), on_unused_input="ignore")(*data)
    for d, s in zip(second(leaves), static, strict=True):
        np.testing.assert_allclose(s, d.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_programs_gradient_against_differences(seed):
    run, data = program(seed, 8), arrays(seed, "float64")
    leaves = [tl.tensor(a, requires_grad=True) for a in data]
    direction = [np.random.default_rng(7 + i).normal(size=a.shape) for i, a in enumerate(data)]
    slopes = tl.grad(run(*leaves), leaves, disconnected="zero")
    ours = sum((g.numpy() * d).sum() for g, d in zip(slopes, direction, strict=True))
    h = 1e-6
    up, down = (run(*(tl.tensor(a + s * h * d) for a, d in zip(data, direction, strict=True))).item() for s in (1, -1))
    assert ours == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-7)
