"""Activation functions of networks, element by element. softmax, which looks along an axis, is in ``nn``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tutorlib.core.graph import Op
from tutorlib.ops.define import elementwise, public
from tutorlib.ops.elementwise import exp, expm1, neg, safe_mul, square, where
from tutorlib.ops.logic import gt
from tutorlib.ops.special import as_floats, erfc, sigmoid
from tutorlib.ops.trigonometry import tanh

_clip: Any = getattr(getattr(getattr(np, "_core", np), "umath", np), "clip", None)


# The bounds as arrays, with which NumPy starts sooner.
_BOUNDS = {np.dtype(t): (np.zeros((), t), np.full((), math.inf, t)) for t in ("float16", "float32", "float64")}
_NONE = None, None


def _relu(xp: Any, x: Any) -> Any:
    # NumPy's clip is four times as quick as its maximum.
    if xp is np and _clip is not None and type(x) is np.ndarray and x.ndim:
        low, high = _BOUNDS.get(x.dtype, _NONE)
        if low is not None:
            return _clip(x, low, high)
    return xp.maximum(x, 0)


relu: Op = elementwise(
    "relu",
    (lambda g, out, x: where(gt(x, 0), g, 0.0),),
    forward=_relu,
    c="({0} <= 0 ? 0 : {0})",
    doc="max(x, 0); slope 0 at 0.",
)
softplus: Op = elementwise(
    "softplus",
    (lambda g, out, x: safe_mul(g, sigmoid(x)),),
    forward=lambda xp, x: xp.logaddexp(as_floats(xp, x), 0.0),
    c="(({0} > 0 ? {0} : 0) + log1p(exp(-fabs({0}))))",
    doc="log(1 + exp(x)), without overflow.",
)


def _silu_x(g: Any, out: Any, x: Any) -> Any:
    # Each product is 0 where its first factor is, so that both ends have their limit, 0 and 1.
    s = sigmoid(x)
    return safe_mul(g, safe_mul(s, 1 + safe_mul(1 - s, x)))


silu: Op = elementwise(
    "silu",
    (_silu_x,),
    forward=lambda xp, x: safe_mul.on(xp)(sigmoid.on(xp)(x), x),
    c="({0} < -1e30 ? 0 : {0} / (1 + exp(-{0})))",
    doc="x sigmoid(x), also called swish (Hendrycks and Gimpel 2016).",
)

_ROOT_HALF = math.sqrt(0.5)
_DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)


def _gelu_x(g: Any, out: Any, x: Any) -> Any:
    below = erfc(x * -_ROOT_HALF) * 0.5
    density = exp(square(x) * -0.5) * _DENSITY_AT_0
    return safe_mul(g, below + safe_mul(density, x))


_gelu: Op = elementwise(
    "gelu",
    (_gelu_x,),
    forward=lambda xp, x: safe_mul.on(xp)(erfc.on(xp)(as_floats(xp, x) * -_ROOT_HALF) * 0.5, x),
    c="({0} < -1e30 ? 0 : 0.5 * {0} * erfc({0} * -0.70710678118654752440))",
)


@public
def gelu(x: Any, approximate: str = "none") -> Any:
    """x Φ(x), with Φ the normal distribution function (Hendrycks and Gimpel 2016).

    Args:
        approximate: "none" for that, or "tanh" for the paper's 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), which is off
            by up to 5e-4 but is what some published models were trained with.

    >>> import tutorlib as tl
    >>> tl.gelu(tl.tensor([0.0, 1.0]))
    tensor([0.        , 0.84134475])
    >>> tl.gelu(tl.tensor([0.0, 1.0]), approximate="tanh")
    tensor([0.        , 0.84119199])
    """
    if approximate not in ("none", "tanh"):
        raise ValueError('approximate must be "none" or "tanh"')
    if approximate == "none":
        return _gelu(x)
    inner = (x + square(x) * x * 0.044715) * math.sqrt(2 / math.pi)
    return safe_mul((1 + tanh(inner)) * 0.5, x)


@public
def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, else alpha (exp(x) - 1) (Clevert et al. 2016); slope alpha at 0.

    >>> import tutorlib as tl
    >>> tl.elu(tl.tensor([-1.0, 2.0]))
    tensor([-0.63212056,  2.        ])
    """
    positive = gt(x, 0)
    return where(positive, x, expm1(where(positive, 0.0, x)) * alpha)


@public
def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """x where x > 0, else negative_slope x; slope negative_slope at 0.

    >>> import tutorlib as tl
    >>> tl.leaky_relu(tl.tensor([-1.0, 2.0]))
    tensor([-0.01,  2.  ])
    """
    return where(gt(x, 0), x, x * negative_slope)


@public
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), exact where sigmoid itself rounds to 0 or 1.

    >>> import tutorlib as tl
    >>> tl.log_sigmoid(tl.tensor([0.0, -1000.0]))
    tensor([-6.93147181e-01, -1.00000000e+03])
    """
    return neg(softplus(neg(x)))
