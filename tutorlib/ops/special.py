"""Special functions: the error function, and logarithms that are exact where the plain formula is not.

The error function follows Sun Microsystems' fdlibm (s_erf.c, 1993): its regions and its minimax rational coefficients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tutorlib.core.graph import Op
from tutorlib.core.quick import constant
from tutorlib.ops.define import elementwise
from tutorlib.ops.elementwise import div, exp, log, neg, safe_mul, square, where
from tutorlib.ops.logic import eq, isinf, logical_and


def as_floats(xp: Any, x: Any) -> Any:
    """x in floating point: NumPy's own functions promote integers, composed forwards must too."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return float(x)
    return x if dtype.kind == "f" else xp.asarray(x, dtype=np.result_type(dtype, 0.0))


# ---- the error function ----

# Coefficients from the constant term up. Near 0: erf = x + x P(x²) / Q(x²).
_NEAR_0 = (
    (
        1.28379167095512558561e-01,
        -3.25042107247001499370e-01,
        -2.84817495755985104766e-02,
        -5.77027029648944159157e-03,
        -2.37630166566501626084e-05,
    ),
    (
        1.0,
        3.97917223959155352819e-01,
        6.50222499887672944485e-02,
        5.08130628187576562776e-03,
        1.32494738004321644526e-04,
        -3.96022827877536812320e-06,
    ),
)
# Around 1: erf = _ERF_1 + P(x - 1) / Q(x - 1).
_ERF_1 = 8.45062911510467529297e-01
_NEAR_1 = (
    (
        -2.36211856075265944077e-03,
        4.14856118683748331666e-01,
        -3.72207876035701323847e-01,
        3.18346619901161753674e-01,
        -1.10894694282396677476e-01,
        3.54783043256182359371e-02,
        -2.16637559486879084300e-03,
    ),
    (
        1.0,
        1.06420880400844228286e-01,
        5.40397917702171048937e-01,
        7.18286544141962662868e-02,
        1.26171219808761642112e-01,
        1.36370839120290507362e-02,
        1.19844998467991074170e-02,
    ),
)
# In the tail: erfc = exp(-x² - 0.5625 + P(1/x²) / Q(1/x²)) / x, with one pair below 1/0.35 and one above.
_TAIL = (
    (
        -9.86494403484714822705e-03,
        -6.93858572707181764372e-01,
        -1.05586262253232909814e01,
        -6.23753324503260060396e01,
        -1.62396669462573470355e02,
        -1.84605092906711035994e02,
        -8.12874355063065934246e01,
        -9.81432934416914548592e00,
    ),
    (
        1.0,
        1.96512716674392571292e01,
        1.37657754143519042600e02,
        4.34565877475229228821e02,
        6.45387271733267880336e02,
        4.29008140027567833386e02,
        1.08635005541779435134e02,
        6.57024977031928170135e00,
        -6.04244152148580987438e-02,
    ),
)
_FAR_TAIL = (
    (
        -9.86494292470009928597e-03,
        -7.99283237680523006574e-01,
        -1.77579549177547519889e01,
        -1.60636384855821916062e02,
        -6.37566443368389627722e02,
        -1.02509513161107724954e03,
        -4.83519191608651397019e02,
    ),
    (
        1.0,
        3.03380607434824582924e01,
        3.25792512996573918826e02,
        1.53672958608443695994e03,
        3.19985821950859553908e03,
        2.55305040643316442583e03,
        4.74528541206955367215e02,
        -2.24409524465858183362e01,
    ),
)


def _ratio(x: Any, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    above, below = (_polynomial(x, c) for c in coefficients)
    return above / below


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    result = coefficients[-1]
    for c in coefficients[-2::-1]:
        result = result * x + c
    return result


def _regions(xp: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """|x|, and what each region needs: y with erf = x + x y, z with erf = _ERF_1 + z, and erfc(|x|) in the tail."""
    size = xp.abs(x)
    small = xp.minimum(size, 0.84375)
    y = _ratio(small * small, _NEAR_0)
    z = _ratio(xp.clip(size, 0.84375, 1.25) - 1, _NEAR_1)
    tail = xp.clip(size, 1.25, 28.0)
    s = 1 / (tail * tail)
    # The square of a rounded argument is exact, so that exp loses nothing to a large exponent.
    rounded = xp.floor(tail * 256) / 256
    fraction = xp.where(tail < 1 / 0.35, _ratio(s, _TAIL), _ratio(s, _FAR_TAIL))
    tail = xp.exp(-rounded * rounded - 0.5625) * xp.exp((rounded - tail) * (rounded + tail) + fraction) / tail
    return size, y, z, tail


def _in_float32(xp: Any, x: Any) -> Any:
    """Half precision is computed in single: its exponents do not hold the coefficients."""
    x = as_floats(xp, x)
    return x.astype("float32") if getattr(x, "dtype", None) == np.float16 else x


def _erf(xp: Any, x: Any) -> Any:
    wide = _in_float32(xp, x)
    size, y, z, tail = _regions(xp, wide)
    outer = xp.where(size < 1.25, _ERF_1 + z, 1 - tail)
    result = xp.where(size < 0.84375, wide + wide * y, xp.where(wide < 0, -outer, outer))
    result = xp.where(xp.isnan(wide), wide, result)
    return result.astype("float16") if getattr(x, "dtype", None) == np.float16 else result


def _erfc(xp: Any, x: Any) -> Any:
    wide = _in_float32(xp, x)
    size, y, z, tail = _regions(xp, wide)
    inner = xp.where(wide < 0.25, 1 - (wide + wide * y), 0.5 - (wide - 0.5 + wide * y))
    middle = xp.where(wide < 0, 1 + (_ERF_1 + z), 1 - _ERF_1 - z)
    tail = xp.where(size < 28, tail, 0.0)
    outer = xp.where(wide < 0, 2 - tail, tail)
    result = xp.where(size < 0.84375, inner, xp.where(size < 1.25, middle, outer))
    result = xp.where(xp.isnan(wide), wide, result)
    return result.astype("float16") if getattr(x, "dtype", None) == np.float16 else result


_SLOPE_AT_0 = 2 / math.sqrt(math.pi)

erf: Op = elementwise(
    "erf",
    (lambda g, out, x: safe_mul(g, exp(neg(square(x))) * _SLOPE_AT_0),),
    forward=_erf,
    c="erf({0})",
    doc="""The error function, 2/√π times the integral of exp(-t²) from 0 to x; odd, -1 … 1.

    >>> import tutorlib as tl
    >>> round(tl.erf(0.5).item(), 12)
    0.520499877813
    """,
)
erfc: Op = elementwise(
    "erfc",
    (lambda g, out, x: safe_mul(g, exp(neg(square(x))) * -_SLOPE_AT_0),),
    forward=_erfc,
    c="erfc({0})",
    doc="1 - erf(x), with all its digits where erf(x) rounds to 1.",
)

# ---- logarithms ----


def _share_of(g: Any, out: Any, x: Any, y: Any) -> Any:
    # Equal infinities share; two of -inf have, as logsumexp of nothing but -inf, no gradient.
    lead = where(logical_and(isinf(x), eq(x, y)), 0.0, x - y)
    return safe_mul(g, where(eq(out, -math.inf), 0.0, sigmoid(lead)))


logaddexp: Op = elementwise(
    "logaddexp",
    (lambda g, out, x, y: _share_of(g, out, x, y), lambda g, out, x, y: _share_of(g, out, y, x)),
    ufunc="logaddexp",
    c="(fmax({0}, {1}) + ({0} == {1} ? 0.69314718055994530942 : log1p(exp(-fabs({0} - {1})))))",
    doc="log(exp(x) + exp(y)), without overflow.",
)


def _sigmoid(xp: Any, x: Any) -> Any:
    # exp overflows to infinity for very negative x, and 1 / infinity is the 0 that is wanted; digits are kept below.
    x = as_floats(xp, x)
    if xp is not np or type(x) is not np.ndarray or not x.ndim:
        return 1 / (1 + xp.exp(-x))
    t = np.negative(x)
    np.exp(t, t)
    one = constant(1, t.dtype)
    return np.true_divide(one, np.add(t, one, t), t)


sigmoid: Op = elementwise(
    "sigmoid",
    (lambda g, out, x: safe_mul(g, out * (1 - out)),),
    forward=_sigmoid,
    c="(({0} >= 0 ? 1 : exp(-fabs({0}))) / (1 + exp(-fabs({0}))))",
    doc="1 / (1 + exp(-x)), the logistic function.",
)


def _xlogy(xp: Any, x: Any, y: Any) -> Any:
    at_zero = xp.logical_and(x == 0, xp.logical_not(xp.isnan(y)))
    return xp.where(at_zero, 0, x * xp.log(xp.where(at_zero, 1, y)))


def _xlogy_x(g: Any, out: Any, x: Any, y: Any) -> Any:
    at_zero = logical_and(eq(x, 0), eq(y, 0))
    return safe_mul(g, where(at_zero, 0.0, log(where(at_zero, 1.0, y))))


def _xlogy_y(g: Any, out: Any, x: Any, y: Any) -> Any:
    at_zero = logical_and(eq(x, 0), eq(y, 0))
    return safe_mul(g, where(at_zero, 0.0, div(x, where(at_zero, 1.0, y))))


xlogy: Op = elementwise(
    "xlogy",
    (_xlogy_x, _xlogy_y),
    forward=_xlogy,
    c="({0} == 0 && {1} == {1} ? 0 : {0} * log({1}))",
    doc="x log(y), and 0 where x is 0, whatever y is; at (0, 0) both slopes are 0.",
)
