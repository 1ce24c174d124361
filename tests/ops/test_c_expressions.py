"""The C expression of an elementwise op computes what its NumPy forward computes, special values included."""

import ctypes
import itertools
import shutil
import subprocess

import numpy as np
import pytest

from tutorlib.core.backend import quiet
from tutorlib.ops.define import TABLE

COMPILER = shutil.which("cc") or shutil.which("gcc")
EXPRESSIONS = {name: op for name, op in TABLE.items() if op.c}
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 2.0, 3.7, -3.7, 40.0, -40.0, 1e-300, 1e300, np.inf, -np.inf, np.nan]


def arity(expression: str) -> int:
    return next(n for n in (3, 2, 1) if f"{{{n - 1}}}" in expression)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C compiler on this machine")
    lines = ["#include <math.h>"]
    for name, op in EXPRESSIONS.items():
        operands = [f"p{k}[i]" for k in range(arity(op.c))]
        arguments = ", ".join(f"const double *p{k}" for k in range(len(operands)))
        # Beside an operator, as inside a larger expression: each must bring its own parentheses.
        body = f"for (long i = 0; i < n; i++) out[i] = -{op.c.format(*operands)};"
        lines.append(f"void op_{name}({arguments}, double *out, long n) {{ {body} }}")
    folder = tmp_path_factory.mktemp("c")
    (folder / "ops.c").write_text("\n".join(lines))
    subprocess.run(
        [COMPILER, "-O1", "-shared", "-fPIC", "ops.c", "-o", "ops.so", "-lm"], cwd=folder, check=True, timeout=60
    )
    return ctypes.CDLL(str(folder / "ops.so"))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_c_agrees_with_numpy(name, library):
    op = EXPRESSIONS[name]
    operands = np.array(list(itertools.product(NUMBERS, repeat=arity(op.c)))).T.copy()
    got = np.empty(operands.shape[1])
    pointer = ctypes.POINTER(ctypes.c_double)
    pointers = [row.ctypes.data_as(pointer) for row in [*operands, got]]
    getattr(library, f"op_{name}")(*pointers, ctypes.c_long(got.size))
    with quiet():
        expected = op.on_numpy(*operands)
    # glibc and NumPy may differ by an ulp or two in a transcendental.
    np.testing.assert_allclose(-got, np.asarray(expected, float), rtol=4e-15, atol=0)
