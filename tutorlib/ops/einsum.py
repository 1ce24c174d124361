"""Einstein's notation: einsum, and tensordot written with it.

``einsum`` reads the subscripts, takes diagonals of repeated letters and sums over letters that stand in one operand
only; what is left is one op whose gradient is again an einsum, of the cotangent with the other operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, Dim
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Op
from tutorlib.core.operators import OPS
from tutorlib.ops.define import normalized_axes, public, register, result_dtype
from tutorlib.ops.shape import ndim, shape_of, transpose

# Letters that name axes, as in Python's ``string``, which loads more than this line.
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _einsum_infer(*avals: AVal, subscripts: str) -> AVal:
    inputs, output = subscripts.split("->")
    terms = inputs.split(",")
    lengths: dict[str, Dim] = {}
    owner: dict[str, tuple[Dim, ...]] = {}
    for term, aval in zip(terms, avals, strict=True):
        for place, letter in enumerate(term):
            dim = aval.shape[place]
            known = lengths.get(letter)
            if known is None or (known == 1 and letter in output and dim is not None):
                lengths[letter], owner[letter] = dim, aval.shape
            elif dim not in (None, known) and not (dim == 1 and letter in output):
                raise ShapeError(
                    f"letter {letter!r} of {subscripts!r} stands for axes of length {known} and {dim}",
                    op="einsum",
                    shapes=[owner[letter], aval.shape],
                    wrong_dims=[None, place],
                    fix="a letter stands for one length: check the order of the letters",
                )
    return AVal(tuple(lengths[letter] for letter in output), result_dtype(_einsum, avals, subscripts=subscripts))


def _einsum_forward(xp: Any, *operands: Any, subscripts: str) -> Any:
    operands = tuple(xp.asarray(x) for x in operands)
    inputs, output = subscripts.split("->")
    summed: dict[str, int] = {}
    for term, x in zip(inputs.split(","), operands, strict=True):
        for letter, length in zip(term, x.shape, strict=True):
            # NumPy would stretch a length of 1; the gradient of a summed letter could not.
            if letter not in output and summed.setdefault(letter, length) != length:
                raise ValueError(f"letter {letter!r} stands for lengths {summed[letter]} and {length}")
    return xp.einsum(subscripts, *operands, optimize=len(operands) > 1)


def _einsum_vjp(g: Any, needs: list[bool], out: Any, *operands: Any, subscripts: str) -> list[Any]:
    inputs, output = subscripts.split("->")
    terms = inputs.split(",")
    grads = []
    for i, need in enumerate(needs):
        others = [output, *terms[:i], *terms[i + 1 :]]
        rest = operands[:i] + operands[i + 1 :]
        grads.append(einsum(f"{','.join(others)}->{terms[i]}", g, *rest) if need else None)
    return grads


_einsum: Op = register(
    Op("einsum", _einsum_forward, _einsum_infer, _einsum_vjp, flags={"stretches"}, doc="A sum of products.")
)


def _trouble(says: str, subscripts: str, fix: str) -> ShapeError:
    return ShapeError(f"{says} in {subscripts!r}", op="einsum", fix=fix)


def parsed(subscripts: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with those that ``...`` stands for written out.

    >>> parsed("...ij,jk", [3, 2])
    (['Aij', 'jk'], 'Aik')
    """
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise _trouble(f"{len(terms)} terms for {len(ranks)} operands", subscripts, "write one term for each operand")
    used = set(text) - set(".,->")
    if not used <= set(_LETTERS):
        raise _trouble(f"unknown sign {min(used - set(_LETTERS))!r}", subscripts, "use letters, ... , and ->")
    free = [c for c in _LETTERS[26:] + _LETTERS[:26] if c not in used]
    extra = 0
    for term, rank in zip(terms, ranks, strict=True):
        letters = term.replace("...", "", 1)
        missing = rank - len(letters)
        if "." in letters or missing < 0 or (missing and "..." not in term):
            raise _trouble(
                f"{term!r} does not name the {rank} axes of its operand", subscripts, "write one letter for each axis"
            )
        if "..." in term:
            extra = max(extra, missing)
    # Operands of fewer such axes are aligned at the right, as in broadcasting.
    dots = "".join(free[:extra])
    full = [
        term.replace("...", dots[extra - (rank - len(term.replace("...", ""))) :] if "..." in term else "")
        for term, rank in zip(terms, ranks, strict=True)
    ]
    if not arrow:
        everything = "".join(full)
        output = dots + "".join(sorted(c for c in used if everything.count(c) == 1))
    else:
        if dots and "..." not in output:
            raise _trouble("the result leaves out ...", subscripts, "write ... in the result, or letters to sum over")
        output = output.replace("...", dots)
    for letter in output:
        if output.count(letter) > 1 or not any(letter in term for term in full):
            raise _trouble(
                f"letter {letter!r} of the result", subscripts, "name each axis of the result once, after an operand's"
            )
    return full, output


def _without_repeats(x: Any, term: str) -> tuple[Any, str]:
    """Diagonals taken for letters that stand twice in a term."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            rows, columns = shape_of(x)[first], shape_of(x)[second]
            if None not in (rows, columns) and rows != columns:
                raise ShapeError(
                    f"letter {letter!r} stands for axes of length {rows} and {columns}",
                    op="einsum",
                    shapes=[shape_of(x)],
                    wrong_dims=[second],
                    fix="a diagonal needs axes of one length",
                )
            x = OPS.diagonal(x, 0, first, second)
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return x, term


@public
def einsum(subscripts: str, *operands: Any) -> Any:
    """A sum of products, written in Einstein's notation.

    Args:
        subscripts: the axes of each operand as letters, then ``->`` and those of the result: a letter that the
            result leaves out is summed over. ``...`` stands for further axes, which broadcast. Without ``->`` the
            result has the letters that stand once, in alphabetical order.
        operands: one array for each term.

    Raises ShapeError for subscripts that do not fit the operands.

    >>> import tutorlib as tl
    >>> x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tl.einsum("ij,kj->ik", x, x)
    tensor([[ 5., 11.],
            [11., 25.]])
    >>> tl.einsum("ii", x).item()
    5.0
    """
    arrays = [x if hasattr(x, "ndim") else np.asarray(x) for x in operands]
    terms, output = parsed(subscripts, [ndim(x) for x in arrays])
    for i, (x, term) in enumerate(zip(arrays, terms, strict=True)):
        x, term = _without_repeats(x, term)
        alone = [
            k for k, c in enumerate(term) if c not in output and not any(c in t for t in terms[:i] + terms[i + 1 :])
        ]
        if alone:
            x = OPS.sum(x, tuple(alone))
            term = "".join(c for k, c in enumerate(term) if k not in alone)
        arrays[i], terms[i] = x, term
    if len(arrays) == 1:
        order = [terms[0].index(c) for c in output]
        return arrays[0] if order == sorted(order) else transpose(arrays[0], order)
    return _einsum(*arrays, subscripts=f"{','.join(terms)}->{output}")


@public
def tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    """The sum of products over some axes of x and as many of y, for every pair of what is left.

    Args:
        axes: how many: the last ones of x against the first ones of y; or a pair (axes of x, axes of y).

    >>> import tutorlib as tl
    >>> tl.tensordot(tl.tensor([[1, 2], [3, 4]]), tl.tensor([10, 1]), 1)
    tensor([12, 34])
    """
    n, m = ndim(x), ndim(y)
    if isinstance(axes, int | np.integer):
        left, right = list(range(n - int(axes), n)), list(range(int(axes)))
    else:
        left, right = ([int(a)] if isinstance(a, int | np.integer) else list(a) for a in axes)
    if len(left) != len(right) or len(left) > min(n, m):
        raise ShapeError(
            f"cannot pair axes {left} with {right}",
            op="tensordot",
            shapes=[shape_of(x), shape_of(y)],
            fix="name as many axes of x as of y",
        )
    left = [normalized_axes(a, n, "tensordot")[0] for a in left]
    right = [normalized_axes(a, m, "tensordot")[0] for a in right]
    letters = _LETTERS[:n]
    other = list(_LETTERS[n : n + m])
    for a, b in zip(left, right, strict=True):
        other[b] = letters[a]
    kept = [letters[a] for a in range(n) if a not in left] + [other[b] for b in range(m) if b not in right]
    return einsum(f"{letters},{''.join(other)}->{''.join(kept)}", x, y)
