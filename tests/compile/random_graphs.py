"""Random expressions made of the shapes that rewrite rules look for, and of everyday ops between them."""

from __future__ import annotations

import numpy as np

import tutorlib as tl

UNARY = [
    tl.exp,
    tl.tanh,
    tl.sigmoid,
    tl.relu,
    tl.softplus,
    tl.abs,
    tl.square,
    lambda v: -v,
    lambda v: tl.log(tl.abs(v) + 1.0),
    lambda v: tl.sqrt(tl.square(v)),
    lambda v: tl.log(1.0 + tl.exp(v)),
    lambda v: 1.0 / (1.0 + tl.exp(-v)),
    lambda v: v * 1,
    lambda v: v + 0,
    lambda v: v / 4.0,
    lambda v: v**2,
    lambda v: v**1,
    lambda v: 2.0 * (3.0 * v),
    lambda v: tl.exp(v) - 1.0,
    lambda v: tl.log(tl.sigmoid(v)),
    lambda v: 1.0 - tl.sigmoid(v),
    lambda v: v - (-v),
    lambda v: tl.log(tl.softmax(v)),
    lambda v: tl.transpose(tl.transpose(v)),
    lambda v: v.T.T * v,
    lambda v: tl.squeeze(tl.expand_dims(v, 0), 0),
    lambda v: tl.sum(v, axis=-1, keepdims=True) * v,
    lambda v: tl.where(v > 0, v, v),
    lambda v: tl.exp(v) / tl.sum(tl.exp(v), axis=-1, keepdims=True),
    lambda v: v - (-2.0) * v,
    lambda v: tl.maximum(v, 0.5),
    lambda v: tl.log1p(tl.exp(v)),
    lambda v: tl.clip(v, -1.0, 1.0),
]
BINARY = [tl.add, tl.sub, tl.mul, tl.maximum, tl.minimum, lambda a, b: a / (1.0 + b * b), lambda a, b: a - (-b)]


def random_graph(seed: int, size: int, dtype: str = "float64", shape=(None, None)):
    """(inputs, output): ``size`` ops on two matrices of one shape, in a range where exp does not overflow."""
    rng = np.random.default_rng(seed)
    x, y = (tl.symbol(name, shape, dtype) for name in "xy")
    pool = [x, y]
    for _ in range(size):
        if rng.random() < 0.6:
            value = UNARY[rng.integers(len(UNARY))](pool[rng.integers(len(pool))])
        else:
            value = BINARY[rng.integers(len(BINARY))](pool[rng.integers(len(pool))], pool[rng.integers(len(pool))])
        pool.append(tl.tanh(value) * 2.0 if rng.random() < 0.3 else value)
    return [x, y], tl.clip(pool[-1], -1e6, 1e6) + 0.0 * 1


def values_for(shape, count: int, dtype: str = "float64", seed: int = 0):
    """``count`` arrays of one shape."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for _ in range(count)]
