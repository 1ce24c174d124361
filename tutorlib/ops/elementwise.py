"""Arithmetic, powers, exponentials, rounding and choice: one row an op. ``g`` is the cotangent of the result, ``out``
the result, then the operands.

Conventions at kinks are those of docs/conventions.md. Products and quotients of a cotangent go through ``safe_mul`` and
``safe_div``, so that a cotangent of exactly zero (a masked-out branch) stays zero against NaN and infinity.
Trigonometry, special functions and activations have modules of their own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tutorlib.core.errors import DTypeError
from tutorlib.core.graph import Op
from tutorlib.ops.define import elementwise, public
from tutorlib.ops.logic import eq, ge, gt, le, logical_and, logical_or, lt

# ---- protected products ----

# Without the detour that lets other libraries take part.
_vdot: Any = getattr(np.vdot, "_implementation", np.vdot)


def protected(xp: Any, product: Any, g: Any) -> Any:
    """``product``, a product or quotient of ``g``, with 0 wherever g is 0."""
    # On the host a look is cheap, and almost always nothing is to be mended; a GPU must not wait for the answer.
    # One pass and no temporary: the sum of squares is finite only if every element is.
    if xp is np and math.isfinite(_vdot(product, product)):
        return product
    return xp.where(g == 0, xp.zeros((), product.dtype), product)


def _unless_zero(g: Any, a: Any) -> Any:
    # Where a is 0 the result is 0 whatever b is: b has no influence, even under an infinite cotangent.
    return where(eq(a, 0), 0.0, g)


safe_mul: Op = elementwise(
    "safe_mul",
    (lambda g, out, a, b: safe_mul(g, b), lambda g, out, a, b: safe_mul(_unless_zero(g, a), a)),
    forward=lambda xp, a, b: protected(xp, xp.multiply(a, b), a),
    c="({0} == 0 ? 0 : {0} * {1})",
    doc="a * b, and 0 wherever a is 0, even against an infinite b.",
)
safe_div: Op = elementwise(
    "safe_div",
    (
        lambda g, out, a, b: safe_div(g, b),
        lambda g, out, a, b: neg(safe_div(safe_mul(_unless_zero(g, a), out), b)),
    ),
    forward=lambda xp, a, b: protected(xp, xp.true_divide(a, b), a),
    c="({0} == 0 ? 0 : {0} / {1})",
    doc="a / b, and 0 wherever a is 0, even against b = 0.",
)

# ---- arithmetic ----

add: Op = elementwise(
    "add",
    (lambda g, out, x, y: g, lambda g, out, x, y: g),
    ufunc="add",
    c="({0} + {1})",
    flags={"linear"},
    doc="x + y, elementwise with broadcasting.",
)
sub: Op = elementwise(
    "sub",
    (lambda g, out, x, y: g, lambda g, out, x, y: neg(g)),
    ufunc="subtract",
    c="({0} - {1})",
    flags={"linear"},
    doc="x - y, elementwise with broadcasting.",
)
mul: Op = elementwise(
    "mul",
    (lambda g, out, x, y: safe_mul(g, y), lambda g, out, x, y: safe_mul(g, x)),
    ufunc="multiply",
    c="({0} * {1})",
    doc="x * y, elementwise with broadcasting.",
)
div: Op = elementwise(
    "div",
    (lambda g, out, x, y: safe_div(g, y), lambda g, out, x, y: neg(safe_div(safe_mul(g, out), y))),
    ufunc="true_divide",
    c="({0} / {1})",
    doc="x / y, elementwise with broadcasting.",
)
floordiv: Op = elementwise(
    "floordiv",
    (lambda g, out, x, y: None, lambda g, out, x, y: None),
    ufunc="floor_divide",
    c="({1} == 0 ? {0} / {1} : rint(({0} - fmod({0}, {1})) / {1})"
    " - (fmod({0}, {1}) != 0 && (fmod({0}, {1}) < 0) != ({1} < 0)))",
    doc="The largest whole number not above x / y; its gradient is zero.",
)
mod: Op = elementwise(
    "mod",
    (lambda g, out, x, y: g, lambda g, out, x, y: neg(safe_mul(g, floordiv(x, y)))),
    ufunc="remainder",
    c="(fmod({0}, {1}) != 0 && (fmod({0}, {1}) < 0) != ({1} < 0) ? fmod({0}, {1}) + {1} : fmod({0}, {1}))",
    doc="The remainder of x / y, with the sign of y, as Python's %.",
)
neg: Op = elementwise("neg", (lambda g, out, x: neg(g),), ufunc="negative", c="(-{0})", flags={"linear"}, doc="-x.")


def _pow_x(g: Any, out: Any, x: Any, p: Any) -> Any:
    if type(p) in (int, float):
        if p == 2:
            return safe_mul(g, 2 * x)
        return None if p == 0 else g if p == 1 else safe_mul(g, pow(x, p - 1) * p)
    # p == 0: x**0 is constant, also at x == 0 where x**(p-1) is infinite.
    slope = where(eq(p, 0), 0.0, pow(x, where(eq(p, 0), 1.0, p - 1)) * p)
    return safe_mul(g, slope)


def _pow_p(g: Any, out: Any, x: Any, p: Any) -> Any:
    if type(x) in (int, float) and x != 0:
        return safe_mul(g, out * (math.log(x) if x > 0 else math.nan))
    # x**p log x tends to 0 with x for p > 0, and is 0 by convention at 0**0.
    at_zero = logical_and(eq(x, 0), ge(p, 0))
    return safe_mul(g, where(at_zero, 0.0, out * log(where(at_zero, 1.0, x))))


_BOOL = np.dtype(bool)  # whose square NumPy makes int8, and whose other powers int64


def _power(xp: Any, x: Any, p: Any) -> Any:
    if type(p) in (int, float) and p == 2 and type(x) is not bool and getattr(x, "dtype", None) is not _BOOL:
        return xp.square(x)
    try:
        return xp.power(x, p)
    except ValueError as error:
        if "negative integer" not in str(error):
            raise
        raise DTypeError(
            "whole numbers to a negative power are no whole numbers",
            op="pow",
            fix='make the base floating-point: x.astype("float64") ** p',
        ) from None


_pow: Op = elementwise(
    "pow",
    (_pow_x, _pow_p),
    forward=_power,
    c="pow({0}, {1})",
)


@public
def pow(x: Any, p: Any) -> Any:
    """x to the power p, elementwise with broadcasting. 0**0 is 1.

    A negative Python integer as p gives floating point, as ``1 / x`` does; an array of integers to negative integer
    powers raises DTypeError.

    >>> import tutorlib as tl
    >>> tl.pow(tl.tensor([1, 2, 4]), -1)
    tensor([1.  , 0.5 , 0.25])
    """
    return _pow(x, float(p) if type(p) is int and p < 0 else p)


abs: Op = elementwise(
    "abs",
    (lambda g, out, x: safe_mul(g, sign(x)),),
    ufunc="absolute",
    c="fabs({0})",
    doc="The absolute value; slope 0 at 0.",
)
sign: Op = elementwise(
    "sign",
    (lambda g, out, x: None,),
    ufunc="sign",
    c="({0} != {0} ? {0} : ({0} > 0) - ({0} < 0))",
    doc="-1, 0 or 1; its gradient is zero.",
)
square: Op = elementwise(
    "square", (lambda g, out, x: safe_mul(g, 2 * x),), ufunc="square", c="({0} * {0})", doc="x * x."
)
reciprocal: Op = elementwise(
    "reciprocal",
    (lambda g, out, x: neg(safe_mul(g, square(out))),),
    forward=lambda xp, x: xp.true_divide(1, x),
    c="(1 / {0})",
    doc="1 / x.",
)

# ---- exponentials and logarithms ----

exp: Op = elementwise("exp", (lambda g, out, x: safe_mul(g, out),), ufunc="exp", c="exp({0})", doc="e to the x.")
expm1: Op = elementwise(
    "expm1",
    (lambda g, out, x: safe_mul(g, out + 1),),
    ufunc="expm1",
    c="expm1({0})",
    doc="exp(x) - 1, exact near 0.",
)
log: Op = elementwise(
    "log", (lambda g, out, x: safe_div(g, x),), ufunc="log", c="log({0})", doc="The natural logarithm."
)
log1p: Op = elementwise(
    "log1p",
    (lambda g, out, x: safe_div(g, x + 1),),
    ufunc="log1p",
    c="log1p({0})",
    doc="log(1 + x), exact near 0.",
)
log2: Op = elementwise(
    "log2",
    (lambda g, out, x: safe_div(g * float(1 / np.log(2)), x),),
    ufunc="log2",
    c="log2({0})",
    doc="The logarithm to base 2.",
)
log10: Op = elementwise(
    "log10",
    (lambda g, out, x: safe_div(g * float(1 / np.log(10)), x),),
    ufunc="log10",
    c="log10({0})",
    doc="The logarithm to base 10.",
)
sqrt: Op = elementwise(
    "sqrt",
    (lambda g, out, x: safe_div(g * 0.5, out),),
    ufunc="sqrt",
    c="sqrt({0})",
    doc="The square root.",
)

# ---- rounding: constant between its steps ----


def _step(name: str, doc: str) -> Op:
    return elementwise(name, (lambda g, out, x: None,), ufunc=name, c=f"{name}({{0}})", doc=doc)


floor: Op = _step("floor", "The largest whole number not above x; its gradient is zero.")
ceil: Op = _step("ceil", "The smallest whole number not below x; its gradient is zero.")
trunc: Op = _step("trunc", "x without its fraction, towards zero; its gradient is zero.")
_round: Op = elementwise(
    "round", (lambda g, out, x, decimals: None,), forward=lambda xp, x, decimals: xp.round(x, decimals)
)


@public
def round(x: Any, decimals: int = 0) -> Any:
    """x rounded to ``decimals`` places, halves to the even neighbour as in NumPy; its gradient is zero.

    >>> import tutorlib as tl
    >>> tl.round(tl.tensor([0.5, 1.5, 2.4]))
    tensor([0., 2., 2.])
    """
    return _round(x, decimals=int(decimals))


# ---- choice ----

_BITS: dict[int, Any] = {2: np.int16, 4: np.int32, 8: np.int64}


def _where_forward(xp: Any, condition: Any, x: Any, y: Any) -> Any:
    if xp is np and type(condition) is np.ndarray and condition.dtype == np.bool_:
        # Against a zero a mask of bits does it: np.where guesses at every element, and guesses wrong half the time.
        for kept, other, positive in ((x, y, True), (y, x, False)):
            if (
                type(other) is float
                and other == 0
                and math.copysign(1.0, other) > 0
                and type(kept) is np.ndarray
                and kept.dtype.kind == "f"
                and kept.shape == condition.shape
                and kept.dtype.itemsize in _BITS
            ):
                bits = _BITS[kept.dtype.itemsize]
                mask = condition.astype(bits)
                mask = np.negative(mask, out=mask) if positive else np.subtract(mask, bits(1), out=mask)
                return np.bitwise_and(mask, kept.view(bits), out=mask).view(kept.dtype)
    return xp.where(condition, x, y)


where: Op = elementwise(
    "where",
    (
        None,
        lambda g, out, condition, x, y: where(condition, g, 0.0),
        lambda g, out, condition, x, y: where(condition, 0.0, g),
    ),
    forward=_where_forward,
    c="({0} ? {1} : {2})",
    doc="x where condition is true, else y; no gradient leaks from the branch not taken.",
)


def _shared_tie(g: Any, wins: Any, ties: Any) -> Any:
    return where(wins, g, where(ties, g * 0.5, 0.0))


maximum: Op = elementwise(
    "maximum",
    (lambda g, out, x, y: _shared_tie(g, gt(x, y), eq(x, y)), lambda g, out, x, y: _shared_tie(g, gt(y, x), eq(x, y))),
    ufunc="maximum",
    c="({1} >= {0} || {1} != {1} ? {1} : {0})",
    doc="The larger of x and y; where they are equal each gets half the gradient.",
)
minimum: Op = elementwise(
    "minimum",
    (lambda g, out, x, y: _shared_tie(g, lt(x, y), eq(x, y)), lambda g, out, x, y: _shared_tie(g, lt(y, x), eq(x, y))),
    ufunc="minimum",
    c="({1} <= {0} || {1} != {1} ? {1} : {0})",
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
    c="({2} != {2} || {2} <= ({1} >= {0} || {1} != {1} ? {1} : {0}) ? {2} : ({1} >= {0} || {1} != {1} ? {1} : {0}))",
    doc="x limited to low … high.",
)


def _open_end(x: Any, low: bool) -> Any:
    """A bound that limits nothing, of x's kind, so that whole numbers stay whole."""
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min if low else np.iinfo(dtype).max)
    if dtype.kind == "b":
        return not low
    return -math.inf if low else math.inf


@public
def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """x limited to the range low … high, elementwise; None leaves that side open. Where low > high, high wins.

    The gradient passes to x where low <= x <= high, to the bound that decides elsewhere.

    >>> import tutorlib as tl
    >>> tl.clip(tl.tensor([-2.0, 0.5, 9.0]), 0.0, 1.0)
    tensor([0. , 0.5, 1. ])
    """
    if low is None and high is None:
        return x
    return _clip(x, _open_end(x, True) if low is None else low, _open_end(x, False) if high is None else high)


@public
def lerp(x: Any, y: Any, weight: Any) -> Any:
    """From x (weight 0) to y (weight 1) in a straight line, elementwise with broadcasting.

    >>> import tutorlib as tl
    >>> tl.lerp(tl.tensor([0.0, 10.0]), tl.tensor([4.0, 20.0]), 0.25)
    tensor([ 1. , 12.5])
    """
    return add(mul(x, sub(1, weight)), mul(y, weight))
