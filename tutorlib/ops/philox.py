"""Random numbers as a pure function of (key, counter): Philox4x32-10 and what is made of its bits.

J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A block of four 32-bit
words is ten rounds of multiplying and mixing of a 128-bit counter under a 64-bit key. Here the low half of that counter
numbers the blocks of one draw and the high half is the draw's own counter.

Everything below the bits uses only operations that IEEE 754 rounds correctly (+ − × ÷ √ and exponents), never a
library's log or cos: the same numbers come out on every platform, NumPy version and array module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_LOW = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
# Blocks worked out at a time on the host, so that all working arrays stay in the processor's cache.
_CHUNK = 16384


def philox(xp: Any, counter: Any, key: Any, rounds: int = 10) -> list[Any]:
    """Four arrays of 32-bit words (kept in uint64) from a counter of four such arrays and a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for number in range(rounds):
        if number:
            k0 = (k0 + _KEY_STEPS[0]) & _LOW
            k1 = (k1 + _KEY_STEPS[1]) & _LOW
        first = c0 * _MULTIPLIERS[0]
        second = c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & _LOW, (first >> 32) ^ c3 ^ k1, first & _LOW
    return [c0, c1, c2, c3]


def _uint64(xp: Any, value: Any) -> Any:
    """A key or counter (Python int or integer scalar array) as an array of uint64 with one element."""
    if type(value) is int:
        return xp.asarray([value & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)
    return xp.asarray(value).astype(np.uint64).reshape(1)


def words(xp: Any, key: Any, counter: Any, number: int) -> Any:
    """The first ``number`` 32-bit words of draw ``counter`` under ``key``, as uint64."""
    key, counter = _uint64(xp, key), _uint64(xp, counter)
    halves = (key & _LOW, key >> 32)
    high = (counter & _LOW, counter >> 32)
    blocks = -(-number // 4)
    result = xp.empty((blocks, 4), np.uint64)
    chunk = _CHUNK if xp is np else max(blocks, 1)
    for start in range(0, blocks, chunk):
        index = xp.arange(start, min(start + chunk, blocks), dtype=np.uint64)
        for place, word in enumerate(philox(xp, (index & _LOW, index >> 32, *high), halves)):
            result[start : start + chunk, place] = word
    return result.reshape(-1)[:number]


def words64(xp: Any, key: Any, counter: Any, number: int) -> Any:
    """The first ``number`` 64-bit words: each made of two, the low half first."""
    pairs = words(xp, key, counter, 2 * number).reshape(number, 2)
    return pairs[:, 0] | (pairs[:, 1] << 32)


# How many random bits fill the significand of each dtype.
_DIGITS = {"float16": 11, "float32": 24, "float64": 53}


def uniform(xp: Any, key: Any, counter: Any, number: int, dtype: str) -> Any:
    """Numbers in [0, 1), all multiples of the dtype's spacing below 1 equally likely."""
    digits = _DIGITS[dtype]
    bits = words64(xp, key, counter, number) if dtype == "float64" else words(xp, key, counter, number)
    return (bits >> ((64 if dtype == "float64" else 32) - digits)).astype(dtype) * 2.0**-digits


def _centred(xp: Any, key: Any, counter: Any, number: int, dtype: str) -> Any:
    """Numbers strictly inside (0, 1), symmetric about ½, in float64; narrower dtypes spend one word a number."""
    if dtype == "float64":
        return ((words64(xp, key, counter, number) >> 12).astype(np.float64) + 0.5) * 2.0**-52
    return (words(xp, key, counter, number).astype(np.float64) + 0.5) * 2.0**-32


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """By Horner's rule, the highest power's coefficient first."""
    result = x * coefficients[0]
    for c in coefficients[1:-1]:
        result += c
        result *= x
    result += coefficients[-1]
    return result


# log((1+s)/(1−s)) = 2 (s + s³/3 + s⁵/5 + …); with |s| < 0.172 eleven terms reach double precision.
_ATANH = tuple(2.0 / n for n in range(21, 0, -2))


def logarithm(xp: Any, x: Any) -> Any:
    """The natural logarithm of positive float64 numbers, to about one unit in the last place."""
    significand, exponent = xp.frexp(x)
    small = significand < 0.7071067811865476
    significand = xp.where(small, significand * 2, significand)
    exponent = exponent.astype(np.float64) - small
    s = (significand - 1) / (significand + 1)
    return s * _polynomial(s * s, _ATANH) + exponent * 0.6931471805599453


# M. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988): the
# numerator and the denominator of PPND16, in the middle, in the tails and far out.
_CENTRE = (
    (
        2509.0809287301226727,
        33430.575583588128105,
        67265.770927008700853,
        45921.953931549871457,
        13731.693765509461125,
        1971.5909503065514427,
        133.14166789178437745,
        3.387132872796366608,
    ),
    (
        5226.495278852854561,
        28729.085735721942674,
        39307.89580009271061,
        21213.794301586595867,
        5394.1960214247511077,
        687.1870074920579083,
        42.313330701600911252,
        1.0,
    ),
)
_TAIL = (
    (
        7.7454501427834140764e-4,
        0.0227238449892691845833,
        0.24178072517745061177,
        1.27045825245236838258,
        3.64784832476320460504,
        5.7694972214606914055,
        4.6303378461565452959,
        1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9,
        5.475938084995344946e-4,
        0.0151986665636164571966,
        0.14810397642748007459,
        0.68976733498510000455,
        1.6763848301838038494,
        2.05319162663775882187,
        1.0,
    ),
)
_FAR = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        0.0012426609473880784386,
        0.026532189526576123093,
        0.29656057182850489123,
        1.7848265399172913358,
        5.4637849111641143699,
        6.6579046435011037772,
    ),
    (
        2.04426310338993978564e-15,
        1.4215117583164458887e-7,
        1.8463183175100546818e-5,
        7.868691311456132591e-4,
        0.0148753612908506148525,
        0.13692988092273580531,
        0.59983220655588793769,
        1.0,
    ),
)


def _ratio(x: Any, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    return _polynomial(x, coefficients[0]) / _polynomial(x, coefficients[1])


def _tail(xp: Any, p: Any) -> Any:
    """Minus the quantile of a small probability p."""
    r = xp.sqrt(-logarithm(xp, p))
    return xp.where(r <= 5, _ratio(r - 1.6, _TAIL), _ratio(r - 5, _FAR))


def normal_quantile(xp: Any, p: Any) -> Any:
    """The standard normal's quantile function: z with P(Z < z) = p, for float64 p strictly inside (0, 1)."""
    q = p - 0.5
    z = q * _ratio(0.180625 - q * q, _CENTRE)
    outside = xp.abs(q) > 0.425
    if xp is np:
        (where,) = np.nonzero(outside)
        far, side = p[where], q[where]
        z[where] = np.copysign(_tail(np, np.minimum(far, 1 - far)), side)
        return z
    return xp.where(outside, xp.copysign(_tail(xp, xp.minimum(p, 1 - p)), q), z)


def normal(xp: Any, key: Any, counter: Any, number: int, dtype: str) -> Any:
    """Standard normal numbers, one uniform number each."""
    return normal_quantile(xp, _centred(xp, key, counter, number, dtype)).astype(dtype)


def exponential(xp: Any, key: Any, counter: Any, number: int, dtype: str) -> Any:
    """Standard exponential numbers (mean 1)."""
    return (-logarithm(xp, _centred(xp, key, counter, number, dtype))).astype(dtype)


def below(xp: Any, bits: Any, limit: Any) -> Any:
    """⌊bits · limit / 2⁶⁴⌋: 64 random bits as a number from 0 to limit − 1 (both uint64, broadcast)."""
    low, high = bits & _LOW, bits >> 32
    low_limit, high_limit = limit & _LOW, limit >> 32
    middle = high * low_limit + ((low * low_limit) >> 32)
    across = low * high_limit + (middle & _LOW)
    return high * high_limit + (middle >> 32) + (across >> 32)
