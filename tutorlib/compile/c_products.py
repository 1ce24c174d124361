"""Small matrix products and sums over some axes as C text.

A product that BLAS computes faster than a simple loop stays with BLAS: see ``is_product``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tutorlib.compile.c_loops import C_TYPES, FLOATS, SUMS, Job, collapsed, in_memory
from tutorlib.compile.c_vectors import Product, product_in_vectors
from tutorlib.ops.define import normalized_axes

# Multiplications up to which this is no slower than calling BLAS, and up to which it is little slower (where calling
# BLAS would mean to leave C); elements of a copy on the stack.
FEW, MANY = 40_000, 600_000
_ON_STACK = 4096
PRODUCTS = frozenset({"matmul", "linear"})

Slot = Callable[[int, np.ndarray], int]
Lines = Iterator[str]


def is_product(job: Job, most: int) -> bool:
    """Whether the op is a product of a matrix or vector with another, with or without a bias, of at most so many
    multiplications."""
    if job.node.op.name not in PRODUCTS:
        return False
    arrays = [a for _, a in job.operands]
    x = arrays[0]
    if not all(isinstance(a, np.ndarray) and a.dtype == job.out.dtype and 1 <= a.ndim <= 2 for a in arrays):
        return False
    if job.out.dtype not in FLOATS or any(np.may_share_memory(job.out, a) for a in arrays):
        return False
    return bool(job.out.size * x.shape[-1] <= most)


def is_partial_sum(job: Job) -> bool:
    """Whether the op adds floating-point numbers over some axes, or over those that a broadcast made."""
    if job.node.op.name not in SUMS | {"unbroadcast"}:
        return False
    (_, x) = job.operands[0]
    fits = isinstance(x, np.ndarray) and x.dtype == job.out.dtype and job.out.dtype in FLOATS
    return fits and not np.may_share_memory(x, job.out)


# ---- products ----


def product_text(job: Job, slot: Slot) -> Lines:
    """``x @ y``, or ``x @ y + bias``, line by line."""
    (xkey, x), (ykey, y), *bias = job.operands
    t = C_TYPES[job.out.dtype]
    size = job.out.itemsize
    m, n, k = (x.shape[0] if x.ndim == 2 else 1), (y.shape[1] if y.ndim == 2 else 1), x.shape[-1]
    a = (x.strides[0] // size if x.ndim == 2 else 0, x.strides[-1] // size)
    b = (y.strides[0] // size, y.strides[1] // size if y.ndim == 2 else 0)
    c = (
        job.out.strides[0] // size if x.ndim == 2 else 0,
        job.out.strides[-1] // size if y.ndim == 2 else 0,
    )
    yield "{"
    yield f"const {t} *x = a[{slot(xkey, x)}], *y = a[{slot(ykey, y)}];"
    yield f"{t} *z = a[{slot(job.key, job.out)}];"
    start, step = "0", 0
    for key, b_array in bias:
        yield f"const {t} *v = a[{slot(key, b_array)}];"
        start, step = ("v[0]", 0) if n == 1 else (f"v[j * {b_array.strides[0] // size}]", b_array.strides[0] // size)
    left, right = "x", "y"
    if n == 1 and m > 1:
        # A matrix times a column is that column, as a row, times the matrix lying down.
        left, right, a, b, c, m, n = "y", "x", (0, b[0]), (a[1], a[0]), (c[1], c[0]), 1, m
    if n > 1 and b[1] != 1 and m > 1 and k * n <= _ON_STACK:
        yield f"{t} w[{max(1, k * n)}];"
        yield f"for (long q = 0; q < {k}; q++) for (long j = 0; j < {n}; j++) "
        yield f"  w[q * {n} + j] = {right}[q * {b[0]} + j * {b[1]}];"
        right, b = "w", (n, 1)
    if b[1] == 1 and n > 1:
        if bias and step != 1:
            yield f"{t} u[{n}];"
            yield f"for (long j = 0; j < {n}; j++) u[j] = {start};"
        begin = ("v" if step == 1 else "u") if bias else ""
        yield from product_in_vectors(Product(t, m, n, k, left, right, "z", a, b[0], c, begin))
    else:
        yield f"for (long i = 0; i < {m}; i++) for (long j = 0; j < {n}; j++) {{"
        yield f"{t} s = {start};"
        yield "#pragma omp simd reduction(+:s)"
        yield f"for (long q = 0; q < {k}; q++) s += {left}[i * {a[0]} + q * {a[1]}] * {right}[q * {b[0]} + j * {b[1]}];"
        yield f"z[i * {c[0]} + j * {c[1]}] = s;"
        yield "}"
    yield "}"


# ---- sums ----


def _summed(job: Job) -> tuple[int, ...]:
    (_, x), shape = job.operands[0], job.out.shape
    if job.node.op.name != "unbroadcast":
        return normalized_axes(job.node.attrs["axis"], x.ndim, job.node.op.name)
    extra = x.ndim - len(shape)
    return (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and x.shape[i + extra] != 1))


def sum_text(job: Job, slot: Slot) -> Lines:
    """A sum, a mean or an ``unbroadcast`` line by line."""
    key, x = job.operands[0]
    axes = _summed(job)
    t = C_TYPES[job.out.dtype]
    count = float(np.prod([x.shape[i] for i in axes], dtype=float)) if job.node.op.name == "mean" else 1.0
    # The result seen with the shape of x: along a summed axis every element is the same one.
    out = job.out.reshape(tuple(1 if i in axes else n for i, n in enumerate(x.shape)))
    kept, axes = [i for i in in_memory(x) if i not in axes], tuple(i for i in in_memory(x) if i in axes)
    outer, steps = collapsed([x.shape[i] for i in kept], [_lying(x, kept), _lying(out, kept)])
    inner, along = collapsed([x.shape[i] for i in axes], [_lying(x, axes)])
    yield "{"
    yield f"const {t} *x = a[{slot(key, x)}];"
    yield f"{t} *z = a[{slot(job.key, job.out)}];"
    from_ = " + ".join(
        [f"i{k} * {s[0]}" for k, s in enumerate(steps)] + [f"q{k} * {s[0]}" for k, s in enumerate(along)]
    )
    to = " + ".join(f"i{k} * {s[1]}" for k, s in enumerate(steps)) or "0"
    if steps and along and steps[-1] == (1, 1):
        yield from _rows_added(t, outer, inner, from_ or "0", to, count)
    else:
        yield from (f"for (long i{k} = 0; i{k} < {n}; i{k}++) {{" for k, n in enumerate(outer))
        yield "double s = 0;"
        yield from (f"for (long q{k} = 0; q{k} < {n}; q{k}++) {{" for k, n in enumerate(inner[:-1]))
        yield "double part = 0;"
        if inner:
            k = len(inner) - 1
            yield "#pragma omp simd reduction(+:part)"
            yield f"for (long q{k} = 0; q{k} < {inner[-1]}; q{k}++) part += x[{from_ or '0'}];"
        else:
            yield f"part += x[{from_ or '0'}];"
        yield "s += part;"
        yield "}" * len(inner[:-1])
        yield f"z[{to}] = ({t})({_divided('s', count)});"
        yield "}" * len(outer)
    yield "}"


def _rows_added(t: str, outer: list[int], inner: list[int], from_: str, to: str, count: float) -> Lines:
    """Rows added to the result one after the other: every loop goes along memory."""
    last = len(outer) - 1
    loops = [f"for (long i{k} = 0; i{k} < {n}; i{k}++)" for k, n in enumerate(outer)]
    yield " ".join([*loops, f"z[{to}] = 0;"])
    yield from (f"{loop} {{" for loop in loops[:-1])
    yield from (f"for (long q{k} = 0; q{k} < {n}; q{k}++) {{" for k, n in enumerate(inner))
    yield "#pragma omp simd"
    yield f"for (long i{last} = 0; i{last} < {outer[-1]}; i{last}++) z[{to}] += x[{from_}];"
    yield "}" * len(inner)
    yield "}" * len(loops[:-1])
    if count != 1.0:
        yield " ".join([*loops, f"z[{to}] = ({t})({_divided(f'z[{to}]', count)});"])


def _divided(value: str, count: float) -> str:
    return value if count == 1.0 else f"{value} / {count!r}"


def _lying(array: np.ndarray, axes: list[int] | tuple[int, ...]) -> np.ndarray:
    """An array with only these axes, of the same strides: for ``collapsed``."""
    return np.lib.stride_tricks.as_strided(
        array, tuple(array.shape[i] for i in axes), tuple(array.strides[i] for i in axes), writeable=False
    )
