"""tutorlib, dynamic mode: tensors, ``backward()`` and an update inside ``no_grad``."""

from functools import partial

import tutorlib as tl
from adapters.tutorlib_static import loss_of

NAME = "tutorlib dynamic"
loss_of = partial(loss_of, linear=lambda m, x, W, b: tl.linear(x, W, b))


def version():
    return tl.__version__


def build(d, loss_of=loss_of):
    P = {k: tl.tensor(v, requires_grad=True, name=k) for k, v in d.params.items()}
    get = lambda: {k: p.numpy() for k, p in P.items()}
    if d.name == "W10":
        w, g = P["w"], tl.tensor(d.g)

        def descend():
            with tl.no_grad():
                w.assign(w - d.lr * g)
            return 0.0

        return descend, get
    for key in ("X", "w", "b", "c"):
        if hasattr(d, key):
            setattr(d, key, tl.tensor(getattr(d, key)))
    if d.name == "W2":
        d.y = tl.tensor(d.y)

    def step():
        loss = loss_of(d, P)
        loss.backward()
        with tl.no_grad():
            for p in P.values():
                p -= d.lr * p.grad
                p.zero_grad()
        return loss.item()

    return step, get
