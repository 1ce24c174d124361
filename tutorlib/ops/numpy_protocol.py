"""NumPy's own functions called on our variables (``np.exp(x)``, ``array @ x``, ``np.concatenate``) mean our ops."""

from __future__ import annotations

from typing import Any

from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Var
from tutorlib.core.operators import OPS
from tutorlib.ops.define import TABLE

# NumPy's name -> ours, where they differ.
_UFUNCS = {op.ufunc: name for name, op in TABLE.items() if op.ufunc}
_UFUNCS |= {
    "divide": "div",
    "power": "pow",
    "logical_and": "logical_and",
    "absolute": "abs",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "invert": "logical_not",
    "fabs": "abs",
}
_FUNCTIONS = {"amax": "max", "amin": "min"}


def _no_counterpart(name: str) -> TutorlibError:
    return TutorlibError(
        f"numpy.{name} has no counterpart for tensors and symbols",
        fix=f"use an op of tl, or plain data: numpy.{name}(x.numpy())",
    )


def numpy_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
    op = vars(OPS).get(name)
    if method != "__call__" or op is None or kwargs.keys() - {"dtype"} or kwargs.get("dtype") is not None:
        raise _no_counterpart(ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}")
    return op(*inputs)


def numpy_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = _FUNCTIONS.get(function.__name__, function.__name__)
    op = vars(OPS).get(name)
    if op is None:
        if function.__name__ in ("shape", "ndim", "size"):
            return getattr(args[0], function.__name__)
        raise _no_counterpart(function.__name__)
    return op(*args, **kwargs)


Var.numpy_ufunc = staticmethod(numpy_ufunc)
Var.numpy_function = staticmethod(numpy_function)
