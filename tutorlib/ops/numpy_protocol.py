"""NumPy's own functions called on our variables (``np.exp(x)``, ``np.sum(x, axis=0)``, ``array @ x``) mean our ops.

Only the translation lives here: other names, other argument names, and a clear refusal of what a graph cannot do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Var
from tutorlib.core.operators import OPS
from tutorlib.ops.define import TABLE
from tutorlib.ops.shape import ndim

# NumPy's name -> ours, where they differ.
_UFUNCS = {op.ufunc: name for name, op in dict.items(TABLE) if op.ufunc}
_UFUNCS |= {
    "divide": "div",
    "power": "pow",
    "fabs": "abs",
    "positive": "identity",
    "rint": "round",
}
_FUNCTIONS = {"amax": "max", "amin": "min", "around": "round", "ravel": "flatten", "astype": "cast"}
# What ``np.add.reduce`` and ``np.add.accumulate`` are called on their own.
_REDUCE = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "logaddexp": "logsumexp",
}
_ACCUMULATE = {"add": "cumsum", "multiply": "cumprod"}
_ARGUMENTS = {"a_min": "low", "a_max": "high", "min": "low", "max": "high", "newshape": "shape", "arrays": "parts"}
# Arguments of NumPy that change nothing when they are as here; anything else is refused.
_NEUTRAL = {"out": (None,), "where": (True,), "dtype": (None,), "order": ("K", "C", None), "initial": (None,)}
_NEUTRAL |= {"casting": ("same_kind",), "subok": (True,)}
# Functions that only look at values: they get the tensors' arrays.
_READERS = frozenset(
    "allclose isclose array_equal array_equiv array_repr array_str array2string save savetxt savez savez_compressed "
    "may_share_memory shares_memory result_type can_cast min_scalar_type common_type iscomplexobj isrealobj".split()
)


def _no_counterpart(name: str) -> TutorlibError:
    return TutorlibError(
        f"numpy.{name} has no counterpart for tensors and symbols",
        fix=f"use an op of tl, or plain data: numpy.{name}(x.numpy())",
    )


def _is_neutral(key: str, value: Any) -> bool:
    if type(value).__name__ == "_NoValueType":
        return True
    return any(value is neutral or (isinstance(neutral, str) and value == neutral) for neutral in _NEUTRAL[key])


def _accepted(name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """NumPy's keyword arguments as ours. Raises TutorlibError for one that a graph cannot honour."""
    fixes = {
        "out": "results are new values: write y = … instead of filling an array (x += y with an array x asks for out)",
        "where": "choose afterwards: tl.where(mask, result, x)",
        "dtype": "convert with x.astype(dtype), before or after",
    }
    kept = {}
    for key, value in kwargs.items():
        if key not in _NEUTRAL:
            kept[_ARGUMENTS.get(key, key)] = value
        elif key == "out" and isinstance(value, tuple) and all(v is None for v in value):
            continue
        elif key == "dtype" and name in ("zeros_like", "ones_like", "full_like", "cast"):
            kept[key] = value
        elif not _is_neutral(key, value):
            raise TutorlibError(
                f"numpy.{name}({key}=…) is not possible with tensors and symbols",
                fix=fixes.get(key, f"leave {key} out"),
            )
    return kept


def numpy_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``Var.__array_ufunc__`` means: a call of a ufunc, or of one of its methods."""
    name = ufunc.__name__
    if method == "__call__":
        op = getattr(OPS, _UFUNCS.get(name, name), None)
        if op is None:
            raise _no_counterpart(name)
        return op(*inputs, **_accepted(name, kwargs))
    kwargs = _accepted(f"{name}.{method}", kwargs)
    if method == "outer" and len(inputs) == 2:
        x, y = inputs
        x = OPS.expand_dims(x, tuple(range(ndim(x), ndim(x) + ndim(y))))
        return numpy_ufunc(ufunc, "__call__", (x, y), kwargs)
    found = {"reduce": _REDUCE, "accumulate": _ACCUMULATE}.get(method, {}).get(name)
    if found is None:
        raise _no_counterpart(f"{name}.{method}")
    # The methods work along the first axis where the functions mean all axes.
    return getattr(OPS, found)(*inputs, **({"axis": 0} if len(inputs) == 1 else {}) | kwargs)


def numpy_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``Var.__array_function__`` means: a call of one of NumPy's other functions."""
    name = function.__name__
    if name in ("shape", "ndim"):
        return getattr(args[0], name)
    if name in _READERS:
        return function(*map(_read, args), **{key: _read(value) for key, value in kwargs.items()})
    op = _counterpart(function, _FUNCTIONS.get(name, name))
    if op is None:
        raise _no_counterpart(f"{_home(function).removeprefix('numpy').removeprefix('.')}.{name}".removeprefix("."))
    positional, keywords = _by_name(function, op, args, kwargs)
    keywords = _accepted(name, keywords)
    try:
        inspect.signature(op).bind(*positional, **keywords)
    except TypeError as error:
        raise TutorlibError(
            f"numpy.{name} was called in a way that its counterpart does not offer: {error}",
            fix=f"see help(tl.{getattr(op, '__name__', name)}) for the arguments it takes",
        ) from None
    except ValueError:
        pass
    return op(*positional, **keywords)


def _counterpart(function: Callable[..., Any], name: str) -> Any:
    # numpy.fft and numpy.strings have names of their own meaning.
    return getattr(OPS, name, None) if _home(function) in ("numpy", "numpy.linalg") else None


def _home(function: Callable[..., Any]) -> str:
    return getattr(function, "__module__", None) or "numpy"


def _read(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_read, value))
    return np.asarray(value) if isinstance(value, Var) else value


def _by_name(function: Any, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments with those past the second by NumPy's names: ours may come in another order, or miss some."""
    try:
        theirs = list(inspect.signature(function).parameters.values())
        ours = set(inspect.signature(op).parameters)
    except (TypeError, ValueError):
        return args, kwargs
    late = {p.name: value for p, value in zip(theirs[2:], args[2:], strict=False)}
    known = all(name in _NEUTRAL or _ARGUMENTS.get(name, name) in ours for name in late)
    if not known or len(args) > len(theirs) or any(p.kind is p.VAR_POSITIONAL for p in theirs):
        return args, kwargs
    return args[:2], {**late, **kwargs}


Var.numpy_ufunc = staticmethod(numpy_ufunc)
Var.numpy_function = staticmethod(numpy_function)
