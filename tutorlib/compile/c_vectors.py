"""A small matrix product with its sums in vector registers, as C text.

Four rows of the result and as many columns as two registers hold are added up together: what is read of either factor
serves several sums. The text uses the vector types that gcc and clang share; a processor with shorter registers takes
two for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_LANES = {"float": (8, 4, 2), "double": (4, 2)}
_ROWS = 4

TYPES = "".join(
    f"typedef {kind} tl_v{n}{kind} "
    f"__attribute__((vector_size({n} * sizeof({kind})), aligned(sizeof({kind})), may_alias));\n"
    for kind, lanes in _LANES.items()
    for n in lanes
)


class Product(NamedTuple):
    """z = x @ y + start, of C type ``kind``: x (m, k), y (k, n) with rows that are runs of memory.

    ``x``, ``y``, ``z``: the pointers' names. ``x_steps``: elements from one row, and from one column, to the next;
    ``y_step`` of y's rows; ``z_steps``. ``start``: the name of n numbers that every row starts from, or "".
    """

    kind: str
    m: int
    n: int
    k: int
    x: str
    y: str
    z: str
    x_steps: tuple[int, int]
    y_step: int
    z_steps: tuple[int, int]
    start: str


def product_in_vectors(p: Product) -> Iterator[str]:
    """The product line by line."""
    lanes = _LANES[p.kind]
    wide = [lanes[0]] * (2 if p.m > 1 else 4)
    whole = p.n // sum(wide) * sum(wide)
    rest, left = [], p.n - whole
    for n in (*lanes, 1):
        rest += [n] * (left // n)
        left %= n
    rows = p.m // _ROWS * _ROWS
    for first, end, several in ((0, rows, _ROWS), (rows, p.m, p.m - rows)):
        if end == first:
            continue
        yield f"for (long i = {first}; i < {end}; i += {several}) {{"
        if whole:
            yield f"for (long j = 0; j < {whole}; j += {sum(wide)}) {{"
            yield from _block(p, several, wide)
            yield "}"
        if rest:
            yield f"const long j = {whole};"
            yield from _block(p, several, rest)
        yield "}"


def _block(p: Product, rows: int, widths: list[int]) -> Iterator[str]:
    """Some rows of the result from row i on, and columns of these widths from column j on."""
    columns = [(f"j + {sum(widths[:e])}", n) for e, n in enumerate(widths)]
    for r in range(rows):
        for e, (j, n) in enumerate(columns):
            zero = "0" if n == 1 else "{0}"
            yield f"{_type(p.kind, n)} c{r}_{e} = {_at(p.kind, p.start, j, n) if p.start else zero};"
    yield f"for (long q = 0; q < {p.k}; q++) {{"
    for e, (j, n) in enumerate(columns):
        yield f"const {_type(p.kind, n)} b{e} = {_at(p.kind, p.y, f'q * {p.y_step} + {j}', n)};"
    for r in range(rows):
        yield f"const {p.kind} a{r} = {p.x}[(i + {r}) * {p.x_steps[0]} + q * {p.x_steps[1]}];"
        yield " ".join(f"c{r}_{e} += a{r} * b{e};" for e in range(len(columns)))
    yield "}"
    row, column = p.z_steps
    for r in range(rows):
        for e, (j, n) in enumerate(columns):
            if n == 1 or column == 1:
                yield f"{_at(p.kind, p.z, f'(i + {r}) * {row} + ({j}) * {column}', n, written=True)} = c{r}_{e};"
            else:
                yield f"for (long l = 0; l < {n}; l++) {p.z}[(i + {r}) * {row} + ({j} + l) * {column}] = c{r}_{e}[l];"


def _type(kind: str, n: int) -> str:
    return kind if n == 1 else f"tl_v{n}{kind}"


def _at(kind: str, pointer: str, index: str, n: int, written: bool = False) -> str:
    if n == 1:
        return f"{pointer}[{index}]"
    return f"*({'' if written else 'const '}{_type(kind, n)} *)({pointer} + {index})"
