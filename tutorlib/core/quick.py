"""The commonest calls without detours: arithmetic and functions of one operand, on host tensors and numbers.

These do what ``dispatch.apply`` does, with nothing looked up that cannot matter in the plain case. Any other case, and
every error, is left to ``apply``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

import numpy as np

from tutorlib.core.backend import silence
from tutorlib.core.building import FORWARD, building, unusual
from tutorlib.core.dispatch import apply, counter, node_of, record, unrecorded
from tutorlib.core.graph import Op
from tutorlib.core.hold import hold
from tutorlib.core.observe import observers
from tutorlib.core.operators import OPS
from tutorlib.core.recorded import (
    ALL_FITTED,
    BOTH_FITTED,
    GENERAL,
    LEFT,
    LEFT_FITTED,
    NOWHERE,
    POURED,
    RIGHT,
    RIGHT_FITTED,
    SEVERAL,
    TWICE,
)
from tutorlib.core.source import mark, ours, theirs
from tutorlib.core.tensor import Tensor

_ndarray = np.ndarray
_array = np.array
_new = Tensor.__new__
_getframe = sys._getframe
_NO_ATTRS: dict[str, Any] = {}
_WHOLE: dict[str, Any] = {"axis": None, "keepdims": False}

# A context in which NumPy's floating-point warnings are off: entering it costs a third of switching them off and on.
# While one thread is inside, another gets a RuntimeError, and goes by way of ``apply``.
_silent = copy_context()
_silent.run(silence)
_quietly = _silent.run

# Python numbers as arrays without axes, by dtype and value: NumPy takes twice as long with a number as with an array.
_FLOAT32, _FLOAT64 = np.dtype("float32"), np.dtype("float64")
_constants32: dict[float, np.ndarray] = {}
_constants64: dict[float, np.ndarray] = {}
_MANY = 1000


def constant(number: float, dtype: np.dtype[Any]) -> Any:
    """``number`` as a read-only array of ``dtype``; itself for other dtypes, and for 0, whose sign is no key."""
    if not number:
        return number
    if dtype is _FLOAT32:
        known = _constants32
    elif dtype is _FLOAT64:
        known = _constants64
    else:
        return number
    array = known.get(number)
    if array is None:
        if len(known) >= _MANY:
            known.clear()
        array = _quietly(_array, number, dtype)
        array.flags.writeable = False
        known[number] = array
    return array


def binary(op: Op, compute: Callable[[Any, Any], Any] | None = None, general: Any = None) -> tuple[Any, Any]:
    """The methods for ``tensor OP other`` and ``other OP tensor``.

    ``compute`` is the op's ufunc, or a quicker way. ``general``: what to call where this is not the plain case, if it
    is not ``op``; numbers then come to ``compute`` as they are.
    """
    function = compute or op.on_numpy
    numbers = general is None
    general = general or partial(apply, op)

    def method(x: Any, y: Any) -> Any:
        recording = True
        if unusual:
            now = building.now
            if observers or not now.simple:
                return general(x, y)
            recording = now.recording
        a = x._data
        if type(a) is not _ndarray:
            return general(x, y)
        kind = type(y)
        try:
            if kind is Tensor:
                b = y._data
                data = _quietly(function, a, b)
                if x.requires_grad:
                    if not y.requires_grad:
                        route = LEFT_FITTED
                    else:
                        route = BOTH_FITTED if x is not y or op.to_both is None else TWICE
                else:
                    route = RIGHT_FITTED if y.requires_grad else NOWHERE
            elif kind is float or kind is int:
                b = constant(y, a.dtype) if numbers else y
                data = _quietly(function, a, b)
                route = LEFT if x.requires_grad else NOWHERE
            else:
                return general(x, y)
        except Exception:
            return general(x, y)
        if type(data) is not _ndarray:
            if kind is Tensor and type(b) is not _ndarray:
                return general(x, y)
            data = _array(data)
        if not recording or (not route and x.op is None and (kind is not Tensor or y.op is None)):
            return unrecorded(data)
        # The lines of dispatch.record, but for what is known here.
        result = _new(Tensor)
        result._data = data
        result.requires_grad = route > 0
        result.op = op
        result.left = x
        result.right = y
        result.left_array = a
        result.right_array = b
        result.route = route
        result.attrs = _NO_ATTRS
        frame = _getframe(1)
        code = frame.f_code
        if code is theirs[0] or ours.get(code.co_filename) is False:
            result.code = code
            result.instruction = frame.f_lasti
        else:
            result.place = mark(2)
        result.cotangent = result.extra = result.mark = None
        result.seq = next(counter)
        return result

    def reflected(y: Any, x: Any) -> Any:
        recording = True
        if unusual:
            now = building.now
            if observers or not now.simple:
                return general(x, y)
            recording = now.recording
        a = y._data
        if (type(x) is not float and type(x) is not int) or type(a) is not _ndarray:
            return general(x, y)
        try:
            b = constant(x, a.dtype) if numbers else x
            data = _quietly(function, b, a)
        except Exception:
            return general(x, y)
        if type(data) is not _ndarray:
            data = _array(data)
        needs = y.requires_grad
        if (not needs and y.op is None) or not recording:
            return unrecorded(data)
        return node_of(op, x, y, b, a, RIGHT if needs else NOWHERE, _NO_ATTRS, data, needs, FORWARD, 2)

    return method, reflected


def unary(op: Op) -> Callable[[Any], Any]:
    """``op``, of one operand and without attributes, as a plain function: that is called in a third of the time."""
    function = op.on_numpy

    def call(x: Any) -> Any:
        if type(x) is not Tensor or (unusual and (observers or not building.now.simple)):
            return apply(op, x)
        a = x._data
        if type(a) is not _ndarray:
            return apply(op, x)
        try:
            data = _quietly(function, a)
        except Exception:
            return apply(op, x)
        if type(data) is not _ndarray:
            data = _array(data)
        needs = x.requires_grad
        if (not needs and x.op is None) or (unusual and not building.now.recording):
            return unrecorded(data)
        if not needs or op.to_left is None:
            route = GENERAL if needs and data.dtype.kind == "f" else NOWHERE
            return node_of(op, x, None, a, None, route, _NO_ATTRS, data, route is not NOWHERE, FORWARD, 2)
        # The lines of dispatch.record, but for what is known here.
        result = _new(Tensor)
        result._data = data
        result.requires_grad = True
        result.op = op
        result.left = x
        result.left_array = a
        result.right = None
        result.route = LEFT
        result.attrs = _NO_ATTRS
        frame = _getframe(1)
        code = frame.f_code
        if code is theirs[0] or ours.get(code.co_filename) is False:
            result.code = code
            result.instruction = frame.f_lasti
        else:
            result.place = mark(2)
        result.cotangent = result.extra = result.mark = None
        result.seq = next(counter)
        return result

    call.__name__ = call.__qualname__ = op.name
    call.__doc__ = op.__doc__
    call.op = op  # type: ignore[attr-defined]
    return call


def reduced(op: Op, x: Any, axis: Any, keepdims: bool) -> Any:
    """``op(x, axis=axis, keepdims=keepdims)``, from a function that a learner calls."""
    attrs = _WHOLE if axis is None and not keepdims else {"axis": axis, "keepdims": keepdims}
    if type(x) is not Tensor or (unusual and (observers or not building.now.simple)):
        return apply(op, x, **attrs)
    a = x._data
    if type(a) is not _ndarray:
        return apply(op, x, **attrs)
    try:
        data = _quietly(op.on_numpy, a, axis, keepdims)
    except Exception:
        return apply(op, x, **attrs)
    if type(data) is not _ndarray:
        data = _array(data)
    needs = x.requires_grad
    if (not needs and x.op is None) or (unusual and not building.now.recording):
        return unrecorded(data)
    needs = needs and op.vjp is not None and data.dtype.kind == "f"
    route = NOWHERE if not needs else LEFT if op.to_left is not None else GENERAL
    return node_of(op, x, None, a, None, route, attrs, data, needs, FORWARD, 3)


def indexing(
    op: Op, plain: Callable[[Any, int], bool], general: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """The method for ``tensor[index]``: where ``plain(index, ndim)``, NumPy's own; ``general`` does others."""

    def method(x: Any, index: Any) -> Any:
        if type(x) is not Tensor or (unusual and (observers or not building.now.simple)):
            return general(x, index)
        a = x._data
        if type(a) is not _ndarray or not plain(index, a.ndim):
            return general(x, index)
        try:
            data = a[index]
        except Exception:
            return general(x, index)
        if type(data) is not _ndarray:
            data = _array(data)
        needs = x.requires_grad
        if (not needs and x.op is None) or (unusual and not building.now.recording):
            return unrecorded(data)
        attrs = {"index": index if type(index) is tuple else (index,)}
        return node_of(op, x, None, a, None, POURED if needs else NOWHERE, attrs, data, needs, FORWARD, 2)

    return method


def of_several(op: Op, operands: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """``op(*operands, **attrs)`` for an op of several operands, from a function that a learner calls."""
    if unusual and (observers or not building.now.simple):
        return apply(op, *operands, **attrs)
    arrays = []
    needs = foreign = in_graph = False
    for operand in operands:
        if type(operand) is Tensor:
            array = operand._data
            if type(array) is not _ndarray:
                return apply(op, *operands, **attrs)
            arrays.append(array)
            if operand.requires_grad:
                needs = in_graph = True
            elif operand.op is not None:
                in_graph = True
        elif type(operand) is _ndarray:
            arrays.append(operand)
            foreign = True
        else:
            return apply(op, *operands, **attrs)
    kept = None
    recording = in_graph and not (unusual and not building.now.recording)
    try:
        if recording and needs and op.keeping is not None:
            data, kept = _quietly(op.keeping, *arrays, **attrs)
        else:
            data = _quietly(op.on_numpy, *arrays, **attrs)
    except Exception:
        return apply(op, *operands, **attrs)
    if type(data) is not _ndarray or (not in_graph and foreign):
        return apply(op, *operands, **attrs)
    if not recording:
        return unrecorded(data)
    if needs and len(operands) > 2 and op.to_left is not None and data.dtype.kind == "f":
        result = node_of(op, operands, SEVERAL, arrays, None, ALL_FITTED, attrs, data, True, FORWARD, 3, kept)
    else:
        result = record(op, operands, arrays, attrs, data, needs, FORWARD, 3, kept)
    if foreign:
        hold(result, [operand for operand in operands if type(operand) is _ndarray])
    return result


# ---- in place ----

_SIMPLE = (_ndarray, float, int)
_references = getattr(sys, "getrefcount", lambda _: sys.maxsize)


def _references_of_one_held(tensor: Any) -> int:
    return _references(tensor._data)


# What ``_references_of_one_held`` says of an array that only its tensor holds: it differs between Pythons.
_ALONE = _references_of_one_held(unrecorded(_array(0.0)))


def in_place(op: Op, symbol: str) -> Callable[[Any, Any], Any]:
    """The method for ``tensor OP= other``.

    The array itself is written over where nobody else can see it: no graph, no view and no learner's variable. Else the
    tensor gets another array, and whoever holds the old one keeps its value.
    """
    ufunc = op.on_numpy

    def method(x: Any, y: Any) -> Any:
        b = y._data if type(y) is Tensor else y
        recording = not unusual or building.now.recording
        if (
            type(x._data) is _ndarray
            and type(b) in _SIMPLE
            and x.op is None
            and not (recording and (x.requires_grad or (b is not y and y.requires_grad)))
        ):
            try:
                if not observers and _references_of_one_held(x) == _ALONE and x._data.base is None:
                    _quietly(ufunc, x._data, b, x._data)
                    return x
                a = x._data
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


def _power(compute: Any, a: Any, b: Any) -> Any:
    if type(b) is int and b < 0:
        raise ValueError("the function that learners call makes a float of it")
    return compute(a, b)


def method(function: Callable[..., Any], name: str) -> None:
    """Make ``function`` the method of that name itself, where the general one would only call it."""
    if hasattr(Tensor, name):
        setattr(Tensor, name, function)


def install(ops: Any) -> None:
    """Give tensors these methods. ``ops`` holds the op table by name."""
    for name, word, symbol in (("add", "add", "+"), ("sub", "sub", "-"), ("mul", "mul", "*"), ("div", "truediv", "/")):
        op = ops[name]
        forward, reflected = binary(op)
        setattr(Tensor, f"__{word}__", forward)
        setattr(Tensor, f"__r{word}__", reflected)
        setattr(Tensor, f"__i{word}__", in_place(op, symbol))
    Tensor.__matmul__, Tensor.__rmatmul__ = binary(ops["matmul"], _product)  # type: ignore[method-assign]
    power = binary(ops["pow"], partial(_power, ops["pow"].on_numpy), OPS.pow)
    Tensor.__pow__, Tensor.__rpow__ = power  # type: ignore[method-assign]
    Tensor.__neg__ = OPS.neg  # type: ignore[method-assign]
    for name, function in vars(OPS).items():
        if hasattr(function, "op"):
            method(function, name)
