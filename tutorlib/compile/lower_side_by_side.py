"""How updates of variables that lie side by side become bound calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tutorlib.compile.bound import Bound, Scratch, constant
from tutorlib.core.graph import Node, Op

# What a schedule puts in the place of many nodes: variables and a joined array of their changes; a number times
# variables, joined.
EACH = {
    name: Op(f"{name}_each", lambda xp, *arrays, ends: arrays[0], doc=f"{name}, for many variables at once.")
    for name in ("add", "sub")
}
SCALED = Op("mul_each", lambda xp, *arrays, by: by * arrays[0], doc="A number times many variables.")
_UFUNCS = {"add_each": np.add, "sub_each": np.subtract}


def as_one(arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    """The arrays as one vector, if they are views that lie side by side in one."""
    base = arrays[0].base
    if not isinstance(base, np.ndarray) or base.ndim != 1 or not base.flags.c_contiguous:
        return None
    first = after = arrays[0].ctypes.data
    for array in arrays:
        if array.base is not base or array.dtype != base.dtype or array.ctypes.data != after:
            return None
        after += array.nbytes
    start = (first - base.ctypes.data) // base.itemsize
    return base[start : start + (after - first) // base.itemsize]


def _one(arrays: Sequence[np.ndarray]) -> np.ndarray:
    found = as_one(arrays)
    assert found is not None, "the variables were laid side by side before"
    return found


def lower_each(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound]:
    *variables, changes = operands
    whole, ufunc = _one(variables), _UFUNCS[node.op.name]
    names = ", ".join(f"{{{i}}}" for i in range(len(variables)))
    text = (
        f"for _w, _g in zip(({names},), np.split({{{len(variables)}}}, {list(node.attrs['ends'])})): "
        f"np.{ufunc.__name__}(_w, _g.reshape(_w.shape), out=_w)"
    )
    return [Bound(partial(ufunc, whole, changes, whole), text)]


def lower_scaled(node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound]:
    by = node.attrs["by"]
    parts = ", ".join(f"{{{i}}}.ravel()" for i in range(len(operands)))
    text = f"np.multiply({by!r}, np.concatenate([{parts}]), out={{out}})"
    return [Bound(partial(np.multiply, constant(by, out.dtype), _one(operands), out), text)]
