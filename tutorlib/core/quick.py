"""The commonest calls without detours: arithmetic and functions of one operand, on host tensors and numbers.

These do what ``dispatch.apply`` does, with nothing looked up that cannot matter in the plain case. Any other case, and
every error, is left to ``apply``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np

from tutorlib.core.backend import silence
from tutorlib.core.building import FORWARD, building, unusual
from tutorlib.core.dispatch import apply, next_seq, record, unrecorded
from tutorlib.core.graph import Op
from tutorlib.core.leak import BETWEEN_LOOKS, look
from tutorlib.core.observe import observers
from tutorlib.core.source import mark, theirs
from tutorlib.core.tensor import Tensor

_ndarray = np.ndarray
_array = np.array
_new = Tensor.__new__
_getframe = sys._getframe
_SIMPLE = (_ndarray, float, int)
_NO_ATTRS: dict[str, Any] = {}

# A context in which NumPy's floating-point warnings are off: entering it costs a third of switching them off and on.
# While one thread is inside, another gets a RuntimeError, and goes by way of ``apply``.
_silent = copy_context()
_silent.run(silence)
_quietly = _silent.run

# Python numbers as arrays without axes, by dtype and value: NumPy takes twice as long with a number as with an array.
_constants: dict[np.dtype[Any], dict[float, np.ndarray]] = {np.dtype("float32"): {}, np.dtype("float64"): {}}
_MANY = 1000


def constant(number: float, dtype: np.dtype[Any]) -> Any:
    """``number`` as a read-only array of ``dtype``; itself for other dtypes, and for 0, whose sign is no key."""
    known = _constants.get(dtype)
    if known is None or not number:
        return number
    array = known.get(number)
    if array is None:
        if len(known) >= _MANY:
            known.clear()
        array = _quietly(_array, number, dtype)
        array.flags.writeable = False
        known[number] = array
    return array


def binary(op: Op, compute: Callable[[Any, Any], Any] | None = None) -> tuple[Any, Any]:
    """The methods for ``tensor OP other`` and ``other OP tensor``. ``compute`` is the op's ufunc, or a quicker way."""
    function = compute or op.on_numpy

    def method(x: Any, y: Any) -> Any:
        if observers or (unusual and not building.now.simple):
            return apply(op, x, y)
        a = x._data
        if type(a) is not _ndarray:
            return apply(op, x, y)
        kind = type(y)
        try:
            if kind is Tensor:
                b = y._data
                if type(b) is not _ndarray:
                    return apply(op, x, y)
                data = _quietly(function, a, b)
                needs = x.requires_grad or y.requires_grad
                in_graph = needs or x.op is not None or y.op is not None
            elif kind is float or kind is int:
                b = constant(y, a.dtype)
                data = _quietly(function, a, b)
                needs = x.requires_grad
                in_graph = needs or x.op is not None
            else:
                return apply(op, x, y)
        except Exception:
            return apply(op, x, y)
        if type(data) is not _ndarray:
            data = _array(data)
        if not in_graph or (unusual and not building.now.recording):
            return unrecorded(data)
        # The lines of dispatch.record, but for what is known here.
        result = _new(Tensor)
        result._data = data
        result.requires_grad = needs
        result.op = op
        result.inputs = (x, y)
        result.arrays = (a, b)
        result.attrs = _NO_ATTRS
        result.meta = FORWARD
        frame = _getframe(1)
        code = frame.f_code
        result.place = (code, frame.f_lasti) if code is theirs[0] else mark(2)
        result.name = result._grad = result.cotangent = result.hooks = None
        result.seq = seq = next_seq()
        if not seq & BETWEEN_LOOKS:
            look()
        return result

    def reflected(y: Any, x: Any) -> Any:
        a = y._data
        if (type(x) is not float and type(x) is not int) or type(a) is not _ndarray:
            return apply(op, x, y)
        if observers or (unusual and not building.now.simple):
            return apply(op, x, y)
        try:
            b = constant(x, a.dtype)
            data = _quietly(function, b, a)
        except Exception:
            return apply(op, x, y)
        if type(data) is not _ndarray:
            data = _array(data)
        if (not y.requires_grad and y.op is None) or (unusual and not building.now.recording):
            return unrecorded(data)
        return record(op, (x, y), (b, a), _NO_ATTRS, data, y.requires_grad, FORWARD)

    return method, reflected


def of_one(op: Op, x: Any, attrs: dict[str, Any]) -> Any:
    """``op(x, **attrs)`` for an op of one operand, from a function that a learner calls."""
    if type(x) is not Tensor or observers or (unusual and not building.now.simple):
        return apply(op, x, **attrs)
    a = x._data
    if type(a) is not _ndarray:
        return apply(op, x, **attrs)
    try:
        data = _quietly(op.on_numpy, a, **attrs)
    except Exception:
        return apply(op, x, **attrs)
    if type(data) is not _ndarray:
        data = _array(data)
    needs = x.requires_grad
    if (not needs and x.op is None) or (unusual and not building.now.recording):
        return unrecorded(data)
    return record(op, (x,), (a,), attrs, data, needs, FORWARD, 3)


class Unary(Op):
    """An elementwise op of one operand."""

    def __call__(self, x: Any, **attrs: Any) -> Any:
        if attrs or type(x) is not Tensor or observers or (unusual and not building.now.simple):
            return apply(self, x, **attrs)
        a = x._data
        if type(a) is not _ndarray:
            return apply(self, x)
        try:
            data = _quietly(self.on_numpy, a)
        except Exception:
            return apply(self, x)
        if type(data) is not _ndarray:
            data = _array(data)
        needs = x.requires_grad
        if (not needs and x.op is None) or (unusual and not building.now.recording):
            return unrecorded(data)
        return record(self, (x,), (a,), _NO_ATTRS, data, needs, FORWARD)


def in_place(op: Op, symbol: str) -> Callable[[Any, Any], Any]:
    """The method for ``tensor OP= other``."""
    ufunc = op.on_numpy

    def method(x: Any, y: Any) -> Any:
        a = x._data
        b = y._data if type(y) is Tensor else y
        recording = not unusual or building.now.recording
        if (
            type(a) is _ndarray
            and type(b) in _SIMPLE
            and x.op is None
            and not (recording and (x.requires_grad or (b is not y and y.requires_grad)))
        ):
            try:
                data = _quietly(ufunc, a, b)
            except Exception:
                return x._in_place(symbol, y)
            if type(data) is _ndarray and data.shape == a.shape and data.dtype is a.dtype:
                x._write(data)
                return x
        return x._in_place(symbol, y)

    return method


def _product(a: Any, b: Any) -> Any:
    # Of matrices ``dot`` is the same product, and starts sooner.
    return a.dot(b) if a.ndim == b.ndim == 2 else np.matmul(a, b)


def method(function: Callable[..., Any], name: str) -> None:
    """Make ``function`` the method of that name itself, where the general one would only call it."""
    if hasattr(Tensor, name):
        setattr(Tensor, name, function)


def install(ops: Any) -> None:
    """Give tensors these methods. ``ops`` holds the op table by name."""
    for name, word, symbol in (("add", "add", "+"), ("sub", "sub", "-"), ("mul", "mul", "*"), ("div", "truediv", "/")):
        op = ops[name]
        method, reflected = binary(op)
        setattr(Tensor, f"__{word}__", method)
        setattr(Tensor, f"__r{word}__", reflected)
        setattr(Tensor, f"__i{word}__", in_place(op, symbol))
    Tensor.__matmul__, Tensor.__rmatmul__ = binary(ops["matmul"], _product)  # type: ignore[method-assign]
