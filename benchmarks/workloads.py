"""The workloads: data, first parameters and learning rates, one place for all engines. All float32.

Each is one full training step: forward, backward and the update by gradient descent.

W1  a chain of 200 elementwise ops on 8 numbers           W5  an LSTM, 32 in, 64 hidden, 50 steps, batch 32
W2  a 2-16-16-1 network, 64 points, hinge loss and L2     W6  a convolutional network on 28x28 images, batch 32
W3  784-128-10, batch 64, softmax cross-entropy           W7  some forty elementwise ops on 1,000,000 numbers
W4  784-1024-1024-10, batch 256, the same                 W10 w -= lr * g on 1,000,000 numbers
"""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

NAMES = ("W1", "W2", "W3", "W4", "W5", "W6", "W7", "W10")
GELU_SCALE, GELU_CUBIC = 0.7978845608028654, 0.044715


def _normal(rng, *shape, scale=1.0):
    return np.ascontiguousarray(rng.normal(size=shape) * scale, np.float32)


def _layers(rng, sizes):
    params = {}
    for i, (n, m) in enumerate(pairwise(sizes), 1):
        params[f"W{i}"] = _normal(rng, n, m, scale=n**-0.5)
        params[f"b{i}"] = np.zeros(m, np.float32)
    return params


def chain(length=200):
    """W1, of any length: x only is trained."""
    rng = np.random.default_rng(1)
    x, w, b, c = (_normal(rng, 8) for _ in range(4))
    return SimpleNamespace(
        name="W1", rounds=length // 4, lr=0.01, params={"x": x}, w=1 + np.float32(0.1) * w, b=b * np.float32(0.1), c=c
    )


def _network(name, seed, sizes, batch):
    rng = np.random.default_rng(seed)
    data = {"X": _normal(rng, batch, sizes[0]), "y": rng.integers(0, sizes[-1], batch)}
    return SimpleNamespace(name=name, lr=0.01, layers=len(sizes) - 1, params=_layers(rng, sizes), **data)


def make(name):
    """The workload called ``name``: a namespace with ``params`` (a dict of arrays), ``lr`` and its data."""
    rng = np.random.default_rng(int(name[1:]))
    if name == "W1":
        return chain()
    if name == "W2":
        X = _normal(rng, 64, 2)
        y = np.where(X[:, :1] * X[:, 1:] > 0, 1, -1).astype(np.float32)
        return SimpleNamespace(name=name, lr=0.05, l2=1e-4, X=X, y=y, params=_layers(rng, [2, 16, 16, 1]))
    if name == "W3":
        return _network(name, 3, [784, 128, 10], 64)
    if name == "W4":
        return _network(name, 4, [784, 1024, 1024, 10], 256)
    if name == "W5":
        T, B, D, H = 50, 32, 32, 64
        params = {
            "Wx": _normal(rng, D, 4 * H, scale=(D + H) ** -0.5),
            "Wh": _normal(rng, H, 4 * H, scale=(D + H) ** -0.5),
            "b": np.zeros(4 * H, np.float32),
            "Wo": _normal(rng, H, 1, scale=H**-0.5),
            "bo": np.zeros(1, np.float32),
        }
        X, y = _normal(rng, T, B, D), _normal(rng, B, 1)
        return SimpleNamespace(name=name, lr=0.05, T=T, B=B, H=H, X=X, y=y, params=params)
    if name == "W6":
        params = {
            "K1": _normal(rng, 8, 1, 3, 3, scale=1 / 3),
            "c1": np.zeros(8, np.float32),
            "K2": _normal(rng, 16, 8, 3, 3, scale=72**-0.5),
            "c2": np.zeros(16, np.float32),
            "W": _normal(rng, 400, 10, scale=1 / 20),
            "b": np.zeros(10, np.float32),
        }
        X, y = _normal(rng, 32, 1, 28, 28), rng.integers(0, 10, 32)
        return SimpleNamespace(name=name, lr=0.05, X=X, y=y, params=params)
    if name == "W7":
        return SimpleNamespace(name=name, lr=100.0, params={"x": _normal(rng, 1_000_000)})
    if name == "W10":
        return SimpleNamespace(name=name, lr=0.01, params={"w": _normal(rng, 1_000_000)}, g=_normal(rng, 1_000_000))
    raise ValueError(f"no workload is called {name}")
