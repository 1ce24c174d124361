"""How the coefficients in ``tutorlib/compile/c_math.py`` are found: Remez' exchange algorithm in extended precision.

    python tests/compile/minimax.py        prints the table

A polynomial with n coefficients fits best where its error reaches its largest size n + 1 times with alternating signs.
Start with n + 1 points, solve for the polynomial whose error there is ±e, move the points to where the error of that
one is largest, and repeat. Errors are weighted so that they count relative to the function that is computed in the end.
"""

from math import factorial

import numpy as np

Long = np.longdouble
POINTS = 20_000
ROOT2, LN2 = np.sqrt(Long(2)), np.log(Long(2))


def solved(A, b):
    """x with A x = b, by elimination: NumPy's own solver has no extended precision."""
    A, b, n = A.copy(), b.copy(), len(b)
    for i in range(n):
        pivot = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, pivot]], b[[i, pivot]] = A[[pivot, i]], b[[pivot, i]]
        share = A[i + 1 :, i] / A[i, i]
        A[i + 1 :] -= share[:, None] * A[i]
        b[i + 1 :] -= share * b[i]
    x = np.zeros(n, Long)
    for i in reversed(range(n)):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def alternating(error, count):
    """Where an error has its ``count`` largest values of alternating sign."""
    changes = np.flatnonzero((error[1:] < 0) != (error[:-1] < 0)) + 1
    peaks = [part[np.argmax(np.abs(error[part]))] for part in np.split(np.arange(len(error)), changes)]
    while len(peaks) > count:
        size = np.abs(error[peaks])
        if len(peaks) == count + 1:
            del peaks[0 if size[0] < size[-1] else -1]
            continue
        # Rounding makes small ones where the error crosses zero: they go in pairs, so that signs still alternate.
        k = int(np.argmin(np.maximum(size[:-1], size[1:])))
        del peaks[k : k + 2]
    return np.array(peaks)


def grid(low, high):
    low, high = Long(low), Long(high)
    return (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * np.arange(POINTS, dtype=Long) / (POINTS - 1))


def weighted(function, weight, x):
    """The function at the points, and how much an error counts there: a little, where it does not count at all."""
    w = weight(x)
    return function(x), np.maximum(w, w.max() * Long(1e-7))


def fitted(function, weight, low, high, count):
    """(coefficients, lowest power first, of the best polynomial on low … high; its largest weighted error)."""
    x = grid(low, high)
    f, w = weighted(function, weight, x)
    scale = np.abs(x).max()
    powers = (x / scale)[:, None] ** np.arange(count)
    at = np.round(np.linspace(0, POINTS - 1, count + 1)).astype(int)
    for _ in range(8):
        signs = Long(-1) ** np.arange(count + 1)
        c = solved(np.column_stack([powers[at], signs / w[at]]), f[at])[:-1]
        error = w * (f - powers @ c)
        new = alternating(error, count + 1)
        if len(new) <= count or (new == at).all():
            break
        at = new
    return c / scale ** np.arange(count), float(np.abs(error).max())


def series(term, count=60):
    """The sum of term(k) x^k."""

    def value(x):
        total = np.zeros_like(x)
        for k in reversed(range(count)):
            total = total * x + term(k)
        return total

    return value


# exp(r) = 1 + r + r² EXP(r)
exp_rest = series(lambda k: 1 / Long(factorial(k + 2)), 30)
# log(1 + f) = f − s (f − z LOG(z)) with s = f / (2 + f) and z = s²: twice the series of atanh(s)
atanh_rest = series(lambda k: 2 / Long(2 * k + 3))


def tanh_rest(z):
    """tanh(x) = x + x z TANH(z) with z = x²."""
    x = np.sqrt(z)
    e = np.expm1(2 * x)
    # Near 0 the difference has few digits left: there the first terms of its series.
    near = -1 / Long(3) + z * (2 / Long(15) - z * (17 / Long(315) - z * (62 / Long(2835) - z * 1382 / Long(155_925))))
    return np.where(z < 1e-3, near, (e / (e + 2) / np.where(z > 0, x, 1) - 1) / np.where(z > 0, z, 1))


REDUCED = ((ROOT2 - 1) / (ROOT2 + 1)) ** 2
# By name: the function, what an error counts, from where to where, and how many coefficients float32 and float64 need.
WANTED = {
    "EXP": (exp_rest, lambda r: r * r / np.exp(r), -LN2 / 2 * Long("1.0005"), LN2 / 2 * Long("1.0005"), (5, 10)),
    "LOG": (atanh_rest, lambda z: z / 2, 0, REDUCED, (3, 7)),
    "LOG_UNIT": (atanh_rest, lambda z: z / 2, 0, 1 / Long(9), (4, 10)),
    "TANH": (tanh_rest, lambda z: z / (1 + z * tanh_rest(z)), 0, Long("0.55") ** 2, (5, 10)),
}


def best(name, dtype):
    """The coefficients for a dtype, and their largest relative error."""
    *problem, counts = WANTED[name]
    return fitted(*problem, counts[dtype == "float64"])


def error_of(name, coefficients):
    """The largest relative error of any other coefficients."""
    function, weight, low, high, _ = WANTED[name]
    x = grid(low, high)
    f, w = weighted(function, weight, x)
    return float(np.abs(w * (f - np.polynomial.polynomial.polyval(x, np.array(coefficients, Long)))).max())


if __name__ == "__main__":
    for name in WANTED:
        for dtype in ("float32", "float64"):
            coefficients, error = best(name, dtype)
            print(f"{name} {dtype}: {error / float(np.finfo(dtype).epsneg):.3f} of the last place")
            print("   ", ", ".join(float(np.dtype(dtype).type(c)).hex() for c in coefficients))
