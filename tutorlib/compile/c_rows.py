"""Softmax, its logarithm, cross-entropy on labels and its gradient as C text, for matrices of short rows.

A label that is no class ends the segment there, before anything that the program shows is written; the call then
raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tutorlib.compile.c_loops import C_TYPES, FLOATS, Job

ROWS = frozenset({"softmax", "log_softmax", "cross_entropy", "cross_entropy_back"})
# Of longer rows NumPy finds the largest elements faster.
_LONGEST = 64
# Stands for a variable: the key of the array in which a segment says that it ended early.
FLAG = -1


def is_row_op(job: Job) -> bool:
    """Whether the op goes along the short rows of a plain matrix."""
    name, arrays = job.node.op.name, [a for _, a in job.operands]
    if name not in ROWS or job.node.attrs.get("axis") != 1 or not all(isinstance(a, np.ndarray) for a in arrays):
        return False
    x = arrays[1 if name == "cross_entropy_back" else 0]
    if x.ndim != 2 or not x.size or x.shape[1] > _LONGEST or job.out.dtype not in FLOATS:
        return False
    if "entropy" in name and (arrays[-1].dtype not in C_TYPES or arrays[-1].dtype.kind not in "iu"):
        return False
    if "entropy" in name and arrays[-1].shape != x.shape[:1]:
        return False
    numbers = arrays[:-1] if "entropy" in name else arrays
    if any(a.dtype != job.out.dtype for a in numbers):
        return False
    return not any(np.may_share_memory(job.out, a) for a in arrays)


def row_text(job: Job, slot: Callable[[int, np.ndarray], int]) -> Iterator[str]:
    """The op line by line."""
    name, t = job.node.op.name, C_TYPES[job.out.dtype]
    operands = dict(zip({"cross_entropy": "xl", "cross_entropy_back": "gxl"}.get(name, "x"), job.operands, strict=True))
    rows, classes = operands["x"][1].shape

    def at(letter: str, *index: str) -> str:
        array = job.out if letter == "z" else operands[letter][1]
        steps = [f"{i} * {s // array.itemsize}" for i, s in zip(index, array.strides, strict=True)]
        return f"{letter}[{' + '.join(steps)}]"

    yield "{"
    for letter, (key, array) in operands.items():
        yield f"const {C_TYPES[array.dtype]} *{letter} = a[{slot(key, array)}];"
    yield f"{t} *z = a[{slot(job.key, job.out)}], e[{classes}];"
    if "l" in operands:
        yield f"int *flag = a[{slot(FLAG, np.zeros(1, np.intc))}];"
    yield f"for (long i = 0; i < {rows}; i++) {{"
    if "l" in operands:
        # Seen without sign, a negative label is a very large one.
        yield f"const unsigned long long k = (long long){at('l', 'i')};"
        yield f"if (k >= {classes}) {{ *flag = 1; return 1; }}"
    # Of NaN and a number NaN is the larger, as in NumPy.
    yield f"{t} m = {at('x', 'i', '0')}, s = 0;"
    yield f"for (long j = 1; j < {classes}; j++) {{"
    yield f"const {t} v = {at('x', 'i', 'j')};"
    yield "m = v >= m || v != v ? v : m;"
    yield "}"
    yield "#pragma omp simd reduction(+:s)"
    yield f"for (long j = 0; j < {classes}; j++) {{"
    yield f"e[j] = tl_exp_{t}({at('x', 'i', 'j')} - m);"
    yield "s += e[j];"
    yield "}"
    if name == "softmax":
        yield f"for (long j = 0; j < {classes}; j++) {at('z', 'i', 'j')} = e[j] / s;"
    elif name == "log_softmax":
        yield f"const {t} h = tl_log_{t}(s);"
        yield f"for (long j = 0; j < {classes}; j++) {at('z', 'i', 'j')} = {at('x', 'i', 'j')} - m - h;"
    elif name == "cross_entropy":
        yield f"{at('z', 'i')} = tl_log_{t}(s) - ({at('x', 'i', 'k')} - m);"
    else:
        yield f"const {t} f = {at('g', 'i')} / s;"
        yield f"for (long j = 0; j < {classes}; j++) {at('z', 'i', 'j')} = e[j] * f;"
        yield f"{at('z', 'i', 'k')} -= {at('g', 'i')};"
    yield "}"
    yield "}"
