"""PyTorch, eager: autograd and an update inside ``no_grad``."""

import models
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
NAME = "PyTorch eager"


def version():
    return torch.__version__


RELU = lambda m, a: torch.relu(a)
SIGMOID = lambda m, a: torch.sigmoid(a)
ENTROPY = lambda m, z, y: F.cross_entropy(z, y)


def convolutional(m, P, d):
    h = F.max_pool2d(torch.relu(F.conv2d(d.X, P["K1"], P["c1"])), 2)
    h = F.max_pool2d(torch.relu(F.conv2d(h, P["K2"], P["c2"])), 2)
    return F.cross_entropy(h.flatten(1) @ P["W"] + P["b"], d.y)


def lstm(m, P, d):
    h = c = torch.zeros(d.B, d.H)
    for t in range(d.T):
        h, c = models.cell(torch, P, h, c, d.X[t] @ P["Wx"] + P["b"] + h @ P["Wh"], d.H, SIGMOID)
    error = h @ P["Wo"] + P["bo"] - d.y
    return (error * error).mean()


def loss_of(d, P):
    if d.name == "W2":
        return models.hinge(torch, P, d, relu=RELU)
    if d.name in ("W3", "W4"):
        return models.network(torch, P, d, relu=RELU, cross_entropy=ENTROPY)
    special = {"W5": lstm, "W6": convolutional}
    return special.get(d.name, models.LOSSES.get(d.name))(torch, P, d)


def build(d, wrap=lambda f: f):
    P = {k: torch.tensor(v, requires_grad=True) for k, v in d.params.items()}
    for key in ("X", "y", "w", "b", "c", "g"):
        if hasattr(d, key):
            setattr(d, key, torch.as_tensor(getattr(d, key)))
    get = lambda: {k: p.detach().numpy() for k, p in P.items()}
    if d.name == "W10":
        w = P["w"]

        def descend():
            with torch.no_grad():
                w.add_(d.g, alpha=-d.lr)
            return 0.0

        return descend, get
    loss_function = wrap(lambda: loss_of(d, P))

    def step():
        loss = loss_function()
        loss.backward()
        with torch.no_grad():
            for p in P.values():
                p.sub_(p.grad, alpha=d.lr)
                p.grad = None
        return loss.item()

    return step, get
