"""Ops that change what an array is kept as: dtype, device; and arrays made in the likeness of another."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.aval import AVal, check_dtype
from tutorlib.core.backend import device_of, put
from tutorlib.core.graph import Op, Var
from tutorlib.core.operators import OPS
from tutorlib.ops.define import public, register

_cast: Op = register(
    Op(
        "cast",
        lambda xp, x, dtype: xp.asarray(x).astype(dtype),
        lambda x, dtype: AVal(x.shape, np.dtype(dtype)),
        (lambda g, out, x, dtype: g,),
        flags={"elementwise", "linear"},
        doc="x as another dtype.",
    )
)


@public
def cast(x: Any, dtype: Any) -> Any:
    """x as another dtype; x itself when it has that dtype already. Between floating-point types gradients pass.

    >>> import tutorlib as tl
    >>> tl.cast(tl.tensor([1.7]), "int64")
    tensor([1])
    """
    dtype = check_dtype(dtype)
    if isinstance(x, Var) and x.dtype == dtype and not x.aval.weak:
        return x
    return _cast(x, dtype=dtype.name)


def _same(x: AVal) -> AVal:
    return AVal(x.shape, x.dtype)


_ones_like: Op = register(Op("ones_like", lambda xp, x: xp.ones_like(x), _same, (lambda g, out, x: None,)))
_zeros_like: Op = register(Op("zeros_like", lambda xp, x: xp.zeros_like(x), _same, (lambda g, out, x: None,)))


@public
def ones_like(x: Any, dtype: Any = None) -> Any:
    """Ones with the shape of x, and its dtype unless another is named.

    >>> import tutorlib as tl
    >>> tl.ones_like(tl.tensor([5, 6]))
    tensor([1, 1])
    """
    return _ones_like(x) if dtype is None else cast(_ones_like(x), dtype)


@public
def zeros_like(x: Any, dtype: Any = None) -> Any:
    """Zeros with the shape of x, and its dtype unless another is named.

    >>> import tutorlib as tl
    >>> tl.zeros_like(tl.tensor([5, 6]), dtype="float64")
    tensor([0., 0.])
    """
    return _zeros_like(x) if dtype is None else cast(_zeros_like(x), dtype)


@public
def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    """``fill_value`` (a number, or anything that broadcasts to x) with the shape of x, and its dtype unless named.

    >>> import tutorlib as tl
    >>> tl.full_like(tl.tensor([0.5, 0.25]), 7)
    tensor([7., 7.])
    """
    if dtype is None:
        dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    return OPS.broadcast_like(cast(fill_value, dtype), x)


def _transferred(g: Any, out: Any, x: Any, where: Any) -> Any:
    home = device_of(x) if not isinstance(x, Var) else x.device  # type: ignore[attr-defined]
    return transfer(g, where=home) if isinstance(g, Var) else put(g, home)


def _transfer_forward(xp: Any, x: Any, where: Any) -> Any:
    return put(x, where)


transfer = public(
    register(
        Op(
            "transfer",
            _transfer_forward,
            lambda x, where: _same(x),
            (_transferred,),
            flags={"linear", "moves"},
            doc="x on another device; the gradient travels back to where x is.",
        )
    ),
    "transfer",
)
