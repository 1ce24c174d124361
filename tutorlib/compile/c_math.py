"""exp, expm1, log, log1p and tanh as C text that a compiler turns into vector instructions, for float32 and float64.

A C library's own functions take one number at a time, or several with errors of up to 4 units in the last place, and
the latter are not everywhere. These have no branches and no tables, so they become part of the loop around them. Their
error is below 1.7 units in the last place; zeros keep their sign, and infinities, NaN, denormal numbers and overflow
are as NumPy has them (``tests/compile/test_c_math.py``).

The method is the usual one, a power of two and a polynomial for the rest. With n the whole number nearest to x / log 2,
r = x - n log 2, s = f / (2 + f) and z the square of s or of x:

    exp(x)  = 2^n exp(r)                             exp(r)     = 1 + r + r² EXP(r)
    log(x)  = k log 2 + log(1 + f), x = 2^k (1 + f)  log(1 + f) = f - s (f - z LOG(z))
    tanh(x) = 1 - 2 / (exp(2 x) + 1)                 tanh(x)    = x + x z TANH(z) near 0

A number becomes whole by adding 1.5 times the first number above which only whole ones are left; 2^n is made of the
bits of that sum. The polynomials are the best ones of their degree (``tests/compile/minimax.py`` finds them).
"""

from __future__ import annotations

import re
from functools import lru_cache

# By dtype and polynomial: the coefficients, lowest power first.
_COEFFICIENTS = {
    "float": {
        "EXP": """
            0x1.fffffcp-2 0x1.555492p-3 0x1.5558f2p-5 0x1.123a2p-7 0x1.6a23dp-10""",
        "LOG": """
            0x1.55557ap-1 0x1.995ebap-2 0x1.31e2f2p-2""",
        "LOG_UNIT": """
            0x1.5555p-1 0x1.99d27cp-2 0x1.1eb612p-2 0x1.1ef87p-2""",
        "TANH": """
            -0x1.55554ap-2 0x1.110d26p-3 -0x1.b9287ap-5 0x1.593d08p-6 -0x1.9b3046p-8""",
    },
    "double": {
        "EXP": """
            0x1.000000000000ap-1 0x1.55555555554f9p-3 0x1.555555555083ep-5 0x1.1111111127ce9p-7 0x1.6c16c18438d6fp-10
            0x1.a01a012a1afefp-13 0x1.a01999e2172e1p-16 0x1.71df259ae2048p-19 0x1.28ad9bb763cdbp-22
            0x1.ad7f61c9ce4d1p-26""",
        "LOG": """
            0x1.5555555555592p-1 0x1.999999997fdb6p-2 0x1.24924941f1383p-2 0x1.c71c52094f62dp-3 0x1.74663eeae1906p-3
            0x1.39a1ba8039a7cp-3 0x1.2f05656a26786p-3""",
        "LOG_UNIT": """
            0x1.5555555555535p-1 0x1.99999999a083fp-2 0x1.249249208579dp-2 0x1.c71c741f8aff5p-3 0x1.745cb39b967e8p-3
            0x1.3b1de3213408ap-3 0x1.106768b30a9d9p-3 0x1.efdd82991341dp-4 0x1.559c4de971c32p-4 0x1.5c8a5d3dc1baap-3""",
        "TANH": """
            -0x1.555555555549ep-2 0x1.11111111029ap-3 -0x1.ba1ba1ad7381ep-5 0x1.664f45c33a9e6p-6 -0x1.226ddd51d4c36p-7
            0x1.d6c61ee316973p-9 -0x1.7cf3c8c5a8e7bp-10 0x1.2fa2c805dfd67p-11 -0x1.b90b409679d64p-13
            0x1.ac05092c30dfcp-15""",
    },
}

# What the C text below calls by these names, of each type.
_FORMATS = {
    "float": {
        "T": "float", "U": "unsigned", "S": "int", "FRACTION": "23", "BIAS": "127u", "SHIFT": "0x1.8p23f",
        "WHOLE": "0x1p23f", "EXP_LOW": "-104.0f", "EXP_HIGH": "89.0f", "ALL_LOST": "-20.0f", "TANH_HIGH": "10.0f",
        "LEAST": "0x1p-126f", "UP": "0x1p25f", "UP_BY": "25.0f", "SMALL": "0x1p-25f", "HALF": "0x3f3504f3u",
        "LN2_HIGH": "0x1.62e4p-1f", "LN2_LOW": "0x1.7f7d1cp-20f", "LOG2_E": "0x1.715476p0f",
    },
    "double": {
        "T": "double", "U": "unsigned long long", "S": "long long", "FRACTION": "52", "BIAS": "1023ull",
        "SHIFT": "0x1.8p52", "WHOLE": "0x1p52", "EXP_LOW": "-746.0", "EXP_HIGH": "710.0", "ALL_LOST": "-40.0",
        "TANH_HIGH": "20.0", "LEAST": "0x1p-1022", "UP": "0x1p54", "UP_BY": "54.0", "SMALL": "0x1p-54",
        "HALF": "0x3fe6a09e667f3bcdull",
        "LN2_HIGH": "0x1.62e42fefa38p-1", "LN2_LOW": "0x1.ef35793c7673p-45", "LOG2_E": "0x1.71547652b82fep0",
    },
}  # fmt: skip

# SHIFT: 1.5 times the first number (WHOLE) above which there are only whole ones. LN2_HIGH is so short that its product
# with an exponent is exact. HALF: the bits of √½. ALL_LOST: where expm1 is -1. SMALL: below it expm1 and log1p are x.
_BASE = """
static inline U tl_bits(T x) { U u; memcpy(&u, &x, sizeof u); return u; }
static inline T tl_real(U u) { T x; memcpy(&x, &u, sizeof x); return x; }
static inline T tl_shifted(T x) { return FMA(x, LOG2_E, SHIFT); }
static inline T tl_reduced(T x, T shifted) {
  const T n = shifted - SHIFT;
  return FMA(n, -LN2_LOW, FMA(n, -LN2_HIGH, x));
}
static inline T tl_exp_reduced(T r) { return FMA(FMA(POLY(EXP, r), r, 1), r, 1); }
"""

_FUNCTIONS = {
    "exp": """
static inline T tl_exp(T x) {
  x = x < EXP_LOW ? EXP_LOW : x;
  x = x > EXP_HIGH ? EXP_HIGH : x;
  const T t = tl_shifted(x), y = tl_exp_reduced(tl_reduced(x, t));
  /* 2^n as a product of two powers: one alone may be too large or too small */
  const U half = (tl_bits(t) << (FRACTION - 1)) >> FRACTION << FRACTION;
  return y * tl_real(half + (BIAS << FRACTION)) * tl_real((tl_bits(t) << FRACTION) - half + (BIAS << FRACTION));
}
""",
    "expm1": """
static inline T tl_expm1(T x) {
  T v = x < ALL_LOST ? ALL_LOST : x;
  v = v > EXP_HIGH ? EXP_HIGH : v;
  const T t = tl_shifted(v), n = t - SHIFT, r = tl_reduced(v, t);
  const T p = FMA(n, -LN2_HIGH, v) + FMA(r * r, POLY(EXP, r), -n * LN2_LOW);
  const T half = tl_real((tl_bits(t) << FRACTION) + (BIAS - 1 << FRACTION));
  const T y = FMA(half, p, half - (T)0.5) * 2;
  return tl_real(tl_bits(x) << 1 >> 1) < SMALL ? x : y;
}
""",
    "log_rest": """
/* log(1 + f) + k log 2, for √½ <= 1 + f < √2 */
static inline T tl_log_rest(T f, T k) {
  const T s = f / (2 + f), z = s * s;
  return FMA(k, LN2_HIGH, f - FMA(s, FMA(-z, POLY(LOG, z), f), -k * LN2_LOW));
}
""",
    "log": """
static inline T tl_log(T x) {
  const T u = x < LEAST ? x * UP : x;
  const U w = tl_bits(u) - HALF + (BIAS << FRACTION);
  const T k = tl_real(tl_bits(WHOLE) | w >> FRACTION) - (WHOLE + BIAS) - (x < LEAST ? UP_BY : 0);
  const T y = tl_log_rest(tl_real((w & (((U)1 << FRACTION) - 1)) + HALF) - 1, k);
  const T end = x == 0 ? -INFINITY : x > 0 ? x : NAN;
  return x > 0 && x < INFINITY ? y : end;
}
""",
    "log1p": """
static inline T tl_log1p(T x) {
  const T u = 1 + x, v = u - 1, lost = (1 - (u - v)) + (x - v);
  const U w = tl_bits(u) - HALF + (BIAS << FRACTION);
  const T k = tl_real(tl_bits(WHOLE) | w >> FRACTION) - (WHOLE + BIAS);
  const T f = tl_real((w & (((U)1 << FRACTION) - 1)) + HALF) - 1;
  /* 2^(1-k) */
  const T scale = tl_real((2 * BIAS + 1 << FRACTION) - (w >> FRACTION << FRACTION));
  const T y = tl_log_rest(FMA((T)0.5 * lost, scale, f), k);
  const T end = u == 0 ? -INFINITY : u > 0 ? u : NAN;
  return tl_real(tl_bits(x) << 1 >> 1) < SMALL ? x : u > 0 && u < INFINITY ? y : end;
}
""",
    "log1p_unit": """
/* log(1 + x) for 0 <= x <= 1 */
static inline T tl_log1p_unit(T x) {
  const T s = x / (2 + x), z = s * s;
  return x - s * FMA(-z, POLY(LOG_UNIT, z), x);
}
""",
    "tanh": """
static inline T tl_tanh(T x) {
  const U sign = tl_bits(x) & (U)1 << (8 * sizeof(U) - 1);
  const T a = tl_real(tl_bits(x) ^ sign), z = x * x;
  const S b = tl_bits(a), high = tl_bits(TANH_HIGH);
  const T v = 2 * tl_real(b < high ? b : high);
  const T t = tl_shifted(v), e = tl_real(tl_bits(tl_exp_reduced(tl_reduced(v, t))) + (tl_bits(t) << FRACTION));
  const T y = a >= (T)0.55 ? 1 - 2 / (e + 1) : FMA(a * z, POLY(TANH, z), a);
  return tl_real(tl_bits(y) | sign);
}
""",
}
# About how many operations each takes, by the name that it has in a program.
OPERATIONS = {
    f"tl_{name}_{kind}": count
    for kind in _FORMATS
    for name, count in {"exp": 22, "expm1": 25, "log": 28, "log1p": 36, "log1p_unit": 12, "tanh": 32}.items()
}
_NEEDS = {"log": ("log_rest",), "log1p": ("log_rest",)}
# A product and a sum rounded once, where the processor does that; it would take a library too long.
_PREAMBLE = """\
#include <string.h>
#if defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__aarch64__)
#define tl_fma_float(a, b, c) __builtin_fmaf(a, b, c)
#define tl_fma_double(a, b, c) __builtin_fma(a, b, c)
#else
#define tl_fma_float(a, b, c) ((a) * (b) + (c))
#define tl_fma_double(a, b, c) ((a) * (b) + (c))
#endif
"""

_CALL = re.compile(r"\b(exp|expm1|log|log1p|log1p_unit|tanh)\(")
_UNIT = re.compile(r"\blog1p\((?=exp\(-fabsf?\()")
# All others but those that are the same for every type.
_LIBRARY = re.compile(r"\b(?!exp\(|expm1\(|log\(|log1p\(|log1p_unit\(|tanh\(|is\w+\()([a-z]\w*)\(")
_OWN = re.compile(r"\btl_(\w+)_(float|double)\(")


def in_own_functions(expression: str, kind: str) -> str:
    """An op's C expression for values of C type ``kind``: with the functions of this module where it has them, the C
    library's for that type elsewhere.

    >>> in_own_functions("log1p(exp(-fabs(x))) + cos(x)", "float")
    'tl_log1p_unit_float(tl_exp_float(-fabsf(x))) + cosf(x)'
    """
    if kind not in _FORMATS:
        return expression
    if kind == "float":
        expression = _LIBRARY.sub(r"\1f(", expression)
    return _CALL.sub(rf"tl_\1_{kind}(", _UNIT.sub(f"tl_log1p_unit_{kind}(", expression))


def definitions(text: str) -> str:
    """The functions of this module that ``text`` calls, as C; empty if it calls none."""
    wanted: dict[str, set[str]] = {}
    for name, kind in _OWN.findall(text):
        if name in _FUNCTIONS:
            wanted.setdefault(kind, set()).update((name, *_NEEDS.get(name, ())))
    found = [_of_type(kind, frozenset(names)) for kind, names in sorted(wanted.items())]
    return "".join([_PREAMBLE, *found]) if found else ""


@lru_cache(maxsize=64)
def _of_type(kind: str, names: frozenset[str]) -> str:
    text = _BASE + "".join(body for name, body in _FUNCTIONS.items() if name in names)
    text = re.sub(r"POLY\((\w+), (\w)\)", lambda found: _polynomial(kind, found[1], found[2]), text)
    text = re.sub(r"\b[A-Z][A-Z0-9_]*\b", lambda found: _FORMATS[kind].get(found[0], found[0]), text)
    text = text.replace("FMA(", f"tl_fma_{kind}(").replace("static inline", "ALWAYS")
    return re.sub(r"\btl_(?!fma)(\w+)\(", rf"tl_\1_{kind}(", text).replace("ALWAYS", _INLINE)


_INLINE = "static inline __attribute__((always_inline, const))"


def _polynomial(kind: str, name: str, x: str) -> str:
    suffix = "f" if kind == "float" else ""
    first, *rest = (f"{c}{suffix}" for c in reversed(_COEFFICIENTS[kind][name].split()))
    for c in rest:
        first = f"FMA({first}, {x}, {c})"
    return first
