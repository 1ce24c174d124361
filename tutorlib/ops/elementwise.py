"""Elementwise ops: one row each. ``g`` is the cotangent of the result, ``out`` the result, then the operands.

Conventions at kinks: relu'(0) = 0, |0|' = 0, equal operands of maximum and minimum share the gradient half and half,
clip passes it at its bounds. Factors that may be infinite go through ``safe_mul`` or ``safe_div``, so that a
cotangent of exactly zero (a masked-out branch) stays zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.graph import Op
from tutorlib.ops.define import elementwise, public

# ---- protected products ----


def _protected(xp: Any, product: Any, g: Any) -> Any:
    # On the host a look is cheap, and almost always nothing is to be mended; a GPU must not wait for the answer.
    if xp is np and np.isfinite(product).all():
        return product
    return xp.where(g == 0, xp.zeros((), product.dtype), product)


safe_mul: Op = elementwise(
    "safe_mul",
    (lambda g, out, a, b: safe_mul(g, b), lambda g, out, a, b: safe_mul(g, a)),
    forward=lambda xp, a, b: _protected(xp, xp.multiply(a, b), a),
    c="({0} == 0 ? 0 : {0} * {1})",
    flags={"quiet"},
    doc="a * b, and 0 wherever a is 0, even against an infinite b.",
)
safe_div: Op = elementwise(
    "safe_div",
    (lambda g, out, a, b: safe_div(g, b), lambda g, out, a, b: neg(safe_div(safe_mul(g, out), b))),
    forward=lambda xp, a, b: _protected(xp, xp.true_divide(a, b), a),
    c="({0} == 0 ? 0 : {0} / {1})",
    flags={"quiet"},
    doc="a / b, and 0 wherever a is 0, even against b = 0.",
)

# ---- arithmetic ----

add: Op = elementwise(
    "add",
    (lambda g, out, x, y: g, lambda g, out, x, y: g),
    ufunc="add",
    c="{0} + {1}",
    flags={"linear"},
    doc="x + y, elementwise with broadcasting.",
)
sub: Op = elementwise(
    "sub",
    (lambda g, out, x, y: g, lambda g, out, x, y: neg(g)),
    ufunc="subtract",
    c="{0} - {1}",
    flags={"linear"},
    doc="x - y, elementwise with broadcasting.",
)
mul: Op = elementwise(
    "mul",
    (lambda g, out, x, y: g * y, lambda g, out, x, y: g * x),
    ufunc="multiply",
    c="{0} * {1}",
    doc="x * y, elementwise with broadcasting.",
)
div: Op = elementwise(
    "div",
    (lambda g, out, x, y: safe_div(g, y), lambda g, out, x, y: neg(safe_div(safe_mul(g, out), y))),
    ufunc="true_divide",
    c="{0} / {1}",
    flags={"quiet"},
    doc="x / y, elementwise with broadcasting.",
)
floordiv: Op = elementwise(
    "floordiv",
    (lambda g, out, x, y: None, lambda g, out, x, y: None),
    ufunc="floor_divide",
    c="floor({0} / {1})",
    flags={"quiet"},
    doc="The largest whole number not above x / y; its gradient is zero.",
)
mod: Op = elementwise(
    "mod",
    (lambda g, out, x, y: g, lambda g, out, x, y: neg(g * floordiv(x, y))),
    ufunc="remainder",
    c="({0} - floor({0} / {1}) * {1})",
    flags={"quiet"},
    doc="The remainder of x / y, with the sign of y, as Python's %.",
)
neg: Op = elementwise("neg", (lambda g, out, x: neg(g),), ufunc="negative", c="-{0}", flags={"linear"}, doc="-x.")


def _pow_x(g: Any, out: Any, x: Any, p: Any) -> Any:
    if type(p) in (int, float):
        if p == 2:
            return g * (2 * x)
        return None if p == 0 else g if p == 1 else safe_mul(g, pow(x, p - 1) * p)
    # p == 0: x**0 is constant, also at x == 0 where x**(p-1) is infinite.
    slope = where(eq(p, 0), 0.0, pow(x, where(eq(p, 0), 1.0, p - 1)) * p)
    return safe_mul(g, slope)


def _pow_p(g: Any, out: Any, x: Any, p: Any) -> Any:
    # x**p log x tends to 0 with x for p > 0, and is 0 by convention at 0**0.
    at_zero = logical_and(eq(x, 0), ge(p, 0))
    return safe_mul(g, where(at_zero, 0.0, out * log(where(at_zero, 1.0, x))))


def _power(xp: Any, x: Any, p: Any) -> Any:
    if type(p) in (int, float):
        if p == 2:
            return xp.square(x)
        if type(p) is int and p < 0:
            p = float(p)
    return xp.power(x, p)


pow: Op = elementwise(
    "pow",
    (_pow_x, _pow_p),
    forward=_power,
    c="pow({0}, {1})",
    flags={"quiet"},
    doc="x to the power p, elementwise. 0**0 is 1.",
)
abs: Op = elementwise(
    "abs", (lambda g, out, x: g * sign(x),), ufunc="absolute", c="fabs({0})", doc="The absolute value; slope 0 at 0."
)
sign: Op = elementwise(
    "sign",
    (lambda g, out, x: None,),
    ufunc="sign",
    c="(({0} > 0) - ({0} < 0))",
    doc="-1, 0 or 1; its gradient is zero.",
)
square: Op = elementwise("square", (lambda g, out, x: g * (2 * x),), ufunc="square", c="{0} * {0}", doc="x * x.")
reciprocal: Op = elementwise(
    "reciprocal",
    (lambda g, out, x: neg(safe_mul(g, square(out))),),
    forward=lambda xp, x: xp.true_divide(1, x),
    c="1 / {0}",
    flags={"quiet"},
    doc="1 / x.",
)

# ---- exponentials and logarithms ----

exp: Op = elementwise(
    "exp", (lambda g, out, x: safe_mul(g, out),), ufunc="exp", c="exp({0})", flags={"quiet"}, doc="e to the x."
)
expm1: Op = elementwise(
    "expm1",
    (lambda g, out, x: safe_mul(g, out + 1),),
    ufunc="expm1",
    c="expm1({0})",
    flags={"quiet"},
    doc="exp(x) - 1, exact near 0.",
)
log: Op = elementwise(
    "log", (lambda g, out, x: safe_div(g, x),), ufunc="log", c="log({0})", flags={"quiet"}, doc="The natural logarithm."
)
log1p: Op = elementwise(
    "log1p",
    (lambda g, out, x: safe_div(g, x + 1),),
    ufunc="log1p",
    c="log1p({0})",
    flags={"quiet"},
    doc="log(1 + x), exact near 0.",
)
log2: Op = elementwise(
    "log2",
    (lambda g, out, x: safe_div(g * float(1 / np.log(2)), x),),
    ufunc="log2",
    c="log2({0})",
    flags={"quiet"},
    doc="The logarithm to base 2.",
)
log10: Op = elementwise(
    "log10",
    (lambda g, out, x: safe_div(g * float(1 / np.log(10)), x),),
    ufunc="log10",
    c="log10({0})",
    flags={"quiet"},
    doc="The logarithm to base 10.",
)
sqrt: Op = elementwise(
    "sqrt",
    (lambda g, out, x: safe_div(g * 0.5, out),),
    ufunc="sqrt",
    c="sqrt({0})",
    flags={"quiet"},
    doc="The square root.",
)

# ---- trigonometry and hyperbolic functions ----

sin: Op = elementwise(
    "sin", (lambda g, out, x: g * cos(x),), ufunc="sin", c="sin({0})", flags={"quiet"}, doc="The sine; x in radians."
)
cos: Op = elementwise(
    "cos",
    (lambda g, out, x: neg(g * sin(x)),),
    ufunc="cos",
    c="cos({0})",
    flags={"quiet"},
    doc="The cosine; x in radians.",
)
tan: Op = elementwise(
    "tan",
    (lambda g, out, x: g * (1 + square(out)),),
    ufunc="tan",
    c="tan({0})",
    flags={"quiet"},
    doc="The tangent; x in radians.",
)
tanh: Op = elementwise(
    "tanh", (lambda g, out, x: g * (1 - square(out)),), ufunc="tanh", c="tanh({0})", doc="The hyperbolic tangent."
)

# ---- activations ----


def _like_floats(xp: Any, x: Any) -> Any:
    """x in floating point: NumPy's exp and tanh promote integers, our composed forwards must too."""
    return (
        x
        if getattr(x, "dtype", None) is not None and x.dtype.kind == "f"
        else xp.asarray(x, dtype=np.result_type(x, 0.0))
    )


def _sigmoid(xp: Any, x: Any) -> Any:
    # By tanh: one transcendental, no overflow on either side.
    return xp.tanh(_like_floats(xp, x) * 0.5) * 0.5 + 0.5


sigmoid: Op = elementwise(
    "sigmoid",
    (lambda g, out, x: g * (out * (1 - out)),),
    forward=_sigmoid,
    c="(tanh({0} * 0.5) * 0.5 + 0.5)",
    doc="1 / (1 + exp(-x)), without overflow.",
)
relu: Op = elementwise(
    "relu",
    (lambda g, out, x: where(gt(x, 0), g, 0.0),),
    forward=lambda xp, x: xp.maximum(x, 0),
    c="({0} > 0 ? {0} : 0)",
    doc="max(x, 0); slope 0 at 0.",
)
softplus: Op = elementwise(
    "softplus",
    (lambda g, out, x: g * sigmoid(x),),
    forward=lambda xp, x: xp.logaddexp(_like_floats(xp, x), 0.0),
    c="(fmax({0}, 0) + log1p(exp(-fabs({0}))))",
    doc="log(1 + exp(x)), without overflow.",
)

# ---- comparisons and logic: not differentiable ----

eq: Op = elementwise("eq", ufunc="equal", c="{0} == {1}", flags={"nondiff"}, doc="x == y, elementwise.")
ne: Op = elementwise("ne", ufunc="not_equal", c="{0} != {1}", flags={"nondiff"}, doc="x != y, elementwise.")
lt: Op = elementwise("lt", ufunc="less", c="{0} < {1}", flags={"nondiff"}, doc="x < y, elementwise.")
le: Op = elementwise("le", ufunc="less_equal", c="{0} <= {1}", flags={"nondiff"}, doc="x <= y, elementwise.")
gt: Op = elementwise("gt", ufunc="greater", c="{0} > {1}", flags={"nondiff"}, doc="x > y, elementwise.")
ge: Op = elementwise("ge", ufunc="greater_equal", c="{0} >= {1}", flags={"nondiff"}, doc="x >= y, elementwise.")
logical_and: Op = elementwise(
    "logical_and", ufunc="logical_and", c="{0} && {1}", flags={"nondiff"}, doc="Whether both are true."
)
logical_or: Op = elementwise(
    "logical_or", ufunc="logical_or", c="{0} || {1}", flags={"nondiff"}, doc="Whether one is true."
)
logical_xor: Op = elementwise(
    "logical_xor", ufunc="logical_xor", c="!{0} != !{1}", flags={"nondiff"}, doc="Whether just one is true."
)
logical_not: Op = elementwise(
    "logical_not", ufunc="logical_not", c="!{0}", flags={"nondiff"}, doc="Whether it is false."
)
isnan: Op = elementwise("isnan", ufunc="isnan", c="isnan({0})", flags={"nondiff"}, doc="Whether it is NaN.")
isfinite: Op = elementwise(
    "isfinite", ufunc="isfinite", c="isfinite({0})", flags={"nondiff"}, doc="Whether it is neither NaN nor infinite."
)

# ---- choice ----

where: Op = elementwise(
    "where",
    (
        None,
        lambda g, out, condition, x, y: where(condition, g, 0.0),
        lambda g, out, condition, x, y: where(condition, 0.0, g),
    ),
    ufunc="where",
    c="({0} ? {1} : {2})",
    doc="x where condition is true, else y; no gradient leaks from the branch not taken.",
)


def _shared_tie(g: Any, wins: Any, ties: Any) -> Any:
    return where(wins, g, where(ties, g * 0.5, 0.0))


maximum: Op = elementwise(
    "maximum",
    (lambda g, out, x, y: _shared_tie(g, gt(x, y), eq(x, y)), lambda g, out, x, y: _shared_tie(g, gt(y, x), eq(x, y))),
    ufunc="maximum",
    c="fmax({0}, {1})",
    doc="The larger of x and y; where they are equal each gets half the gradient.",
)
minimum: Op = elementwise(
    "minimum",
    (lambda g, out, x, y: _shared_tie(g, lt(x, y), eq(x, y)), lambda g, out, x, y: _shared_tie(g, lt(y, x), eq(x, y))),
    ufunc="minimum",
    c="fmin({0}, {1})",
    doc="The smaller of x and y; where they are equal each gets half the gradient.",
)
_clip: Op = elementwise(
    "clip",
    (
        lambda g, out, x, low, high: where(logical_and(ge(x, low), le(x, high)), g, 0.0),
        lambda g, out, x, low, high: where(logical_and(lt(x, low), le(low, high)), g, 0.0),
        lambda g, out, x, low, high: where(logical_or(gt(x, high), gt(low, high)), g, 0.0),
    ),
    forward=lambda xp, x, low, high: xp.minimum(xp.maximum(x, low), high),
    c="fmin(fmax({0}, {1}), {2})",
    doc="x limited to low … high.",
)


@public
def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """x limited to the range low … high, elementwise; None leaves that side open. The gradient passes where low <= x
    <= high.

    >>> import tutorlib as tl
    >>> tl.clip(tl.tensor([-2.0, 0.5, 9.0]), 0.0, 1.0)
    tensor([0. , 0.5, 1. ])
    """
    if low is None and high is None:
        return x
    return _clip(x, float("-inf") if low is None else low, float("inf") if high is None else high)
