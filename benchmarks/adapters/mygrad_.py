"""MyGrad: tensors and ``backward()``."""

import models
import mygrad as mg
import numpy as np

mg.turn_memory_guarding_off()
NAME = "MyGrad"


def version():
    return mg.__version__


RELU = lambda m, a: mg.maximum(a, 0)


def build(d):
    if d.name not in models.LOSSES:
        return None
    P = {k: mg.tensor(v.copy()) for k, v in d.params.items()}
    lr = np.float32(d.lr)
    for key in ("X",):
        if hasattr(d, key):
            setattr(d, key, mg.tensor(getattr(d, key), constant=True))

    def step():
        loss = models.LOSSES[d.name](mg, P, d)
        loss.backward()
        for k, p in P.items():
            P[k] = mg.tensor(p.data - lr * p.grad)
        return loss.item()

    return step, lambda: {k: p.data for k, p in P.items()}
