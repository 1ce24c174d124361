"""A stand-in for a GPU's array module, stricter than the real one: what would move data unseen is an error.

``StrictArray`` keeps its numbers in a NumPy array that nobody can reach: it never turns into one, into a Python number
or into a truth value by itself, and never mixes with NumPy arrays. ``StrictModule`` is NumPy's namespace on such
arrays. Only ``to_host`` and ``from_host`` cross, and the engine counts those.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tutorlib.core import backend


class HiddenTransfer(TypeError):
    """Data would have crossed between host and device without anybody saying so."""


class StrictArray:
    """An array on the pretended device."""

    __slots__ = ("_kept", "device_index")
    __hash__ = None  # type: ignore[assignment]
    # NumPy arrays on the left must ask us, and we refuse.
    __array_ufunc__ = None

    def __init__(self, kept: np.ndarray, device_index: int = 0) -> None:
        self._kept = kept
        self.device_index = device_index

    shape = property(lambda self: self._kept.shape)
    dtype = property(lambda self: self._kept.dtype)
    ndim = property(lambda self: self._kept.ndim)
    size = property(lambda self: self._kept.size)
    nbytes = property(lambda self: self._kept.nbytes)
    T = property(lambda self: StrictArray(self._kept.T, self.device_index))

    def __len__(self) -> int:
        return len(self._kept)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise HiddenTransfer("this would wait for the device and copy from it")

    __array__ = __bool__ = __float__ = __int__ = __index__ = __iter__ = item = tolist = _refuse

    def __getitem__(self, index: Any) -> StrictArray:
        return wrapped(self._kept[unwrapped(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._kept[unwrapped(index)] = unwrapped(value)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._kept, name)
        if name.startswith("__") or not callable(method):
            raise AttributeError(name)
        return lambda *args, **kwargs: wrapped(method(*unwrapped(args), **unwrapped(kwargs)))

    def __repr__(self) -> str:
        return f"<strict array {self.shape} {self.dtype}>"


def _binary(name: str) -> Any:
    op = getattr(operator, name)
    return (
        lambda self, other: wrapped(op(self._kept, unwrapped(other))),
        lambda self, other: wrapped(op(unwrapped(other), self._kept)),
    )


def _in_place(name: str) -> Any:
    op = getattr(operator, f"i{name.rstrip('_')}")

    def change(self: StrictArray, other: Any) -> StrictArray:
        self._kept = op(self._kept, unwrapped(other))
        return self

    return change


for _name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split():
    _plain, _reflected = _binary(_name)
    setattr(StrictArray, f"__{_name.rstrip('_')}__", _plain)
    setattr(StrictArray, f"__r{_name.rstrip('_')}__", _reflected)
    setattr(StrictArray, f"__i{_name.rstrip('_')}__", _in_place(_name))
for _name in "eq ne lt le gt ge".split():
    setattr(StrictArray, f"__{_name}__", _binary(_name)[0])


def _unary(name: str) -> Any:
    op = getattr(operator, name)
    return lambda self: wrapped(op(self._kept))


for _name in "neg abs invert".split():
    setattr(StrictArray, f"__{_name}__", _unary(_name))


def wrapped(result: Any) -> Any:
    """What NumPy gave, as a device would: arrays and NumPy scalars as strict arrays, the rest as it is."""
    if isinstance(result, np.ndarray | np.generic):
        return StrictArray(np.asarray(result))
    if isinstance(result, tuple | list):
        return type(result)(map(wrapped, result)) if type(result) in (tuple, list) else tuple(map(wrapped, result))
    return result


def unwrapped(value: Any) -> Any:
    """What NumPy needs of the operands; refuses host arrays among them."""
    if isinstance(value, StrictArray):
        return value._kept
    if isinstance(value, np.ndarray):
        raise HiddenTransfer(f"a host array of shape {value.shape} among the operands of a device op")
    if type(value) in (tuple, list):
        return type(value)(map(unwrapped, value))
    if isinstance(value, dict):
        return {key: unwrapped(one) for key, one in value.items()}
    return value


class StrictModule:
    """NumPy's functions (and those of a submodule such as ``linalg``) on strict arrays."""

    def __init__(self, namespace: Any = np) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._namespace, name)
        if isinstance(found, type) or not (callable(found) or hasattr(found, "__path__")):
            return found
        if not callable(found):
            return StrictModule(found)
        return StrictFunction(found)


class StrictFunction:
    """One function, with what hangs on it (``add.at``, ``add.reduce``)."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return wrapped(self._function(*unwrapped(args), **unwrapped(kwargs)))

    def __getattr__(self, name: str) -> Any:
        return StrictFunction(getattr(self._function, name))


@contextmanager
def strict_gpu() -> Any:
    """Make the double the engine's GPU inside a ``with`` block."""
    double = backend.GpuBackend(
        StrictModule(),
        StrictArray,
        to_host=lambda array: array._kept.copy(),
        from_host=lambda array, index: StrictArray(np.array(array), index),
        index_of=lambda array: array.device_index,
    )
    before = backend.register_gpu(double)
    backend.transfers.reset()
    try:
        yield double
    finally:
        backend.register_gpu(before)
        backend.transfers.reset()
