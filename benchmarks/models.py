"""The losses, written once for every engine with NumPy's names: ``m`` is the module that computes.

Engines with a better way of their own to say a model (a scan, a fused loss) say it that way in their adapter.
"""

import numpy as np
from workloads import GELU_CUBIC, GELU_SCALE


def relu(m, a):
    return m.maximum(a, 0)


def sigmoid(m, a):
    return 1 / (1 + m.exp(-a))


def linear(m, x, W, b):
    return x @ W + b


def cross_entropy(m, z, y):
    z = z - m.max(z, axis=1, keepdims=True)
    return (m.log(m.sum(m.exp(z), axis=1)) - z[np.arange(len(y)), y]).mean()


def chain(m, P, d):
    h = P["x"]
    for _ in range(d.rounds):
        h = m.tanh(h * d.w + d.b) - d.c
    return h.sum()


def hinge(m, P, d, relu=relu, linear=linear):
    h = relu(m, linear(m, d.X, P["W1"], P["b1"]))
    h = relu(m, linear(m, h, P["W2"], P["b2"]))
    score = linear(m, h, P["W3"], P["b3"])
    l2 = (P["W1"] * P["W1"]).sum() + (P["W2"] * P["W2"]).sum() + (P["W3"] * P["W3"]).sum()
    return relu(m, 1 - d.y * score).mean() + d.l2 * l2


def network(m, P, d, relu=relu, cross_entropy=cross_entropy, linear=linear):
    h = d.X
    for i in range(1, d.layers + 1):
        h = linear(m, h, P[f"W{i}"], P[f"b{i}"])
        if i < d.layers:
            h = relu(m, h)
    return cross_entropy(m, h, d.y)


def cell(m, P, h, c, a, H, sigmoid=sigmoid):
    i, f, o = (sigmoid(m, a[:, k * H : (k + 1) * H]) for k in (0, 1, 3))
    c = f * c + i * m.tanh(a[:, 2 * H : 3 * H])
    return o * m.tanh(c), c


def lstm(m, P, d, sigmoid=sigmoid, linear=linear):
    h = c = np.zeros((d.B, d.H), np.float32)
    for t in range(d.T):
        h, c = cell(m, P, h, c, linear(m, d.X[t], P["Wx"], P["b"]) + h @ P["Wh"], d.H, sigmoid)
    error = linear(m, h, P["Wo"], P["bo"]) - d.y
    return (error * error).mean()


def elementwise(m, P, d):
    x = P["x"]
    t = m.tanh(GELU_SCALE * (x + GELU_CUBIC * (x * x * x)))
    u = 0.5 * x * (1 + t)
    return m.log(1 + m.exp(-(u * u))).mean()


LOSSES = {"W1": chain, "W2": hinge, "W3": network, "W4": network, "W5": lstm, "W7": elementwise}
