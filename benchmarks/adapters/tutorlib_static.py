"""tutorlib, static mode: shared variables, ``tl.grad`` and one ``tl.function`` for the whole step."""

import copy

import models
import numpy as np

import tutorlib as tl
from tutorlib import function, shared, symbol  # loads static mode, as importing another engine loads its compiler

NAME = "tutorlib static"
RELU = lambda m, a: tl.relu(a)
SIGMOID = lambda m, a: tl.sigmoid(a)
ENTROPY = lambda m, z, y: tl.cross_entropy(z, y)


def version():
    return tl.__version__


def convolutional(m, P, d):
    h = d.X
    for K, c in (("K1", "c1"), ("K2", "c2")):
        h = tl.relu(tl.max_pool2d(tl.conv2d(h, P[K], P[c]), 2))
    return tl.cross_entropy(tl.reshape(h, (h.shape[0], 400)) @ P["W"] + P["b"], d.y)


def fused_lstm(d, P):
    """W5 with the whole layer as one op."""
    zeros = np.zeros((d.B, d.H), np.float32)
    _, (h, _) = tl.lstm(d.X, zeros, zeros, P["Wx"], P["Wh"], P["b"])
    error = h @ P["Wo"] + P["bo"] - d.y
    return (error * error).mean()


def loss_of(d, P, linear=models.linear):
    """The loss of workload ``d``, in the mode of the parameters."""
    if d.name == "W2":
        return models.hinge(tl, P, d, relu=RELU, linear=linear)
    if d.name in ("W3", "W4"):
        return models.network(tl, P, d, relu=RELU, cross_entropy=ENTROPY, linear=linear)
    if d.name == "W5":
        return models.lstm(tl, P, d, sigmoid=SIGMOID, linear=linear)
    if d.name == "W6":
        return convolutional(tl, P, d)
    return models.LOSSES[d.name](tl, P, d)


def build(d, mode=None, loss_of=loss_of):
    S = {k: shared(v, name=k) for k, v in d.params.items()}
    get = lambda: {k: s.get_value() for k, s in S.items()}
    if d.name == "W10":
        g = shared(d.g, name="g")
        step = function([], updates=[(S["w"], S["w"] - d.lr * g)], mode=mode)
        return lambda: step() or 0.0, get
    inputs, values = [], []
    symbolic = copy.copy(d)
    for key in ("X", "y"):
        if hasattr(d, key):
            value = getattr(d, key)
            stand_in = symbol(key, value.shape, value.dtype)
            setattr(symbolic, key, stand_in)
            inputs.append(stand_in)
            values.append(value)
    loss = loss_of(symbolic, S)
    wrt = list(S.values())
    updates = [(s, s - d.lr * g) for s, g in zip(wrt, tl.grad(loss, wrt), strict=True)]
    step = function(inputs, loss, updates=updates, mode=mode)
    return (lambda: step(*values)), get


def float32_everywhere(d):
    """The names of ops whose result is not float32 though it is floating-point."""
    found = []

    class Look(tl.Observer):
        def on_node(self, node):
            found.extend(node.op.name for v in node.outputs if v.dtype.kind == "f" and v.dtype != np.float32)

    with tl.observe(Look()):
        build(d)
    return found
