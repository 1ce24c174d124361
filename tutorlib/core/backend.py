"""Array modules and devices: the one place that knows NumPy from CuPy. Nothing else may import cupy.

An array's device is read from the array itself. ``cpu`` is NumPy; ``cpu:1``, ``cpu:2`` … are host memory too, kept
apart by a tag so that model parallelism can be taught on any machine; ``gpu`` is CuPy, imported on first use.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from tutorlib.core.errors import DeviceMismatchError, TutorlibError

Array = Any


class Device(NamedTuple):
    """A device: ``kind`` "cpu" or "gpu", and its number.

    >>> str(device("cpu:1")), str(device("cpu"))
    ('cpu:1', 'cpu')
    """

    kind: str
    number: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}" if self.number else self.kind

    def __repr__(self) -> str:
        return f"device({str(self)!r})"


CPU = Device("cpu")


class TaggedArray(np.ndarray):
    """A NumPy array on one of the extra host devices ``cpu:1``, ``cpu:2`` …; views keep the tag."""

    device_index: int

    def __array_finalize__(self, source: Any) -> None:
        self.device_index = getattr(source, "device_index", 0)


class Transfers:
    """How often data crossed between host and GPU since the last ``reset()``: nothing crosses unseen.

    Attributes: ``host_to_gpu``, ``gpu_to_host``.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.host_to_gpu = self.gpu_to_host = 0


transfers = Transfers()


class GpuBackend(NamedTuple):
    """How to reach a GPU array module: CuPy, or a strict double of it in tests."""

    module: Any
    array_type: type
    to_host: Callable[[Array], np.ndarray]
    from_host: Callable[[np.ndarray, int], Array]
    index_of: Callable[[Array], int] = lambda array: 0


_gpu: GpuBackend | None = None
_gpu_searched = False
HOST_TYPES = frozenset({np.ndarray, float, int, bool, np.float64, np.float32, np.float16, np.int64, np.int32, np.bool_})


def register_gpu(backend: GpuBackend | None) -> GpuBackend | None:
    """Make ``backend`` the GPU array module, or None to search for CuPy afresh. Returns the one before."""
    global _gpu, _gpu_searched
    before, _gpu, _gpu_searched = _gpu, backend, backend is not None
    return before


def gpu_backend() -> GpuBackend | None:
    """The GPU backend; None, with one line on stderr the first time, when there is no CuPy or no GPU."""
    global _gpu, _gpu_searched
    if not _gpu_searched:
        _gpu_searched = True
        try:
            import cupy

            if cupy.cuda.runtime.getDeviceCount() == 0:
                raise RuntimeError("no GPU is visible")
            _gpu = GpuBackend(cupy, cupy.ndarray, cupy.asnumpy, _cupy_from_host, lambda array: array.device.id)
        except Exception as error:  # CuPy reports a missing driver by its own exception classes
            reason = "CuPy is not installed" if isinstance(error, ImportError) else str(error).splitlines()[0]
            print(f"tutorlib: no GPU ({reason}); everything runs on the CPU with NumPy.", file=sys.stderr)
    return _gpu


def _cupy_from_host(array: np.ndarray, index: int) -> Array:
    import cupy

    with cupy.cuda.Device(index):
        return cupy.asarray(array)


_default: list[Device] = []


def device(name: str | Device | None = None) -> Device:
    """The device called ``name``: "cpu", "cpu:1", "gpu", "gpu:1"; None gives the default device.

    "gpu" on a machine without one gives "cpu" and says so once, so that a program written for a GPU runs anywhere.
    Raises TutorlibError for any other name.
    """
    if isinstance(name, Device):
        return name
    if name is None:
        return _default[-1] if _default else device(os.environ.get("TUTORLIB_DEVICE") or "cpu")
    kind, colon, number = name.partition(":")
    if kind not in ("cpu", "gpu") or (colon and not number.isdigit()):
        raise TutorlibError(f"no device is called {name!r}", fix='use "cpu", "cpu:1", "gpu" or "gpu:1"')
    if kind == "gpu" and gpu_backend() is None:
        return CPU
    return Device(kind, int(number or 0))


@contextmanager
def default_device(name: str | Device) -> Iterator[Device]:
    """Make new tensors and shared variables on this device inside a ``with`` block."""
    _default.append(device(name))
    try:
        yield _default[-1]
    finally:
        _default.pop()


def device_of(array: Array) -> Device:
    """The device an array lives on."""
    kind = type(array)
    if kind in HOST_TYPES:
        return CPU
    if kind is TaggedArray:
        return Device("cpu", array.device_index)
    if _gpu is not None and isinstance(array, _gpu.array_type):
        return Device("gpu", _gpu.index_of(array))
    if kind.__module__.partition(".")[0] == "cupy" and gpu_backend() is not None:
        return device_of(array)
    return CPU


def is_array(value: Any) -> bool:
    """Whether ``value`` is an array of a module we know (NumPy, or the GPU's)."""
    return isinstance(value, np.ndarray | np.generic) or (
        (_gpu is not None and isinstance(value, _gpu.array_type)) or type(value).__module__.partition(".")[0] == "cupy"
    )


def common_device(arrays: Iterable[Array], op: str | None = None) -> Device:
    """The one device of all arrays; Python scalars fit any. Raises DeviceMismatchError on a mix."""
    found: Device | None = None
    for array in arrays:
        if type(array) in (float, int, bool):
            continue
        here = device_of(array)
        if found is None:
            found = here
        elif here != found:
            raise DeviceMismatchError(
                f"operands are on different devices: {found} and {here}",
                op=op,
                fix=f'move one of them: x.to("{found}") or x.to("{here}")',
            )
    return found or CPU


def module_of(where: Device) -> Any:
    """The array module that computes on a device."""
    if where.kind == "gpu":
        backend = gpu_backend()
        assert backend is not None, "a gpu Device exists only where a backend does"
        return backend.module
    return np


def put(array: Array, where: Device) -> Array:
    """``array`` on device ``where``: itself when it is there already, else a copy (counted when it crosses)."""
    here = device_of(array)
    if here == where:
        return array
    if here.kind == "gpu":
        array = to_host(array)
    if where.kind == "gpu":
        backend = gpu_backend()
        assert backend is not None
        transfers.host_to_gpu += 1
        return backend.from_host(np.asarray(array), where.number)
    return tag(np.array(array), where)


def tag(array: Array, where: Device) -> Array:
    """Mark a fresh host array as living on ``where`` (a host device)."""
    if where.number == 0:
        return np.asarray(array)
    tagged = np.asarray(array).view(TaggedArray)
    tagged.device_index = where.number
    return tagged


def to_host(array: Array) -> np.ndarray:
    """``array`` as a plain NumPy array: a view of host memory, or a (counted) copy from a GPU."""
    if isinstance(array, np.ndarray):
        return array.view(np.ndarray) if type(array) is not np.ndarray else array
    if device_of(array).kind == "gpu":
        transfers.gpu_to_host += 1
        backend = gpu_backend()
        assert backend is not None
        return backend.to_host(array)
    return np.asarray(array)


# NumPy's floating-point warnings are silenced while an op runs: NaN and inf are shown by our own tools, at the op that
# made them. np.errstate does it in 2 us; setting the context variable behind it takes 0.1, and an op runs every few.
_umath = import_module("numpy._core.umath")
_extobj = getattr(_umath, "_extobj_contextvar", None)
_make_extobj = getattr(_umath, "_make_extobj", None)

silence: Callable[[], Any]
unsilence: Callable[[Any], Any]
if _extobj is not None and _make_extobj is not None:
    silence = partial(_extobj.set, _make_extobj(all="ignore"))
    unsilence = _extobj.reset
else:
    silence = partial(np.seterr, all="ignore")
    unsilence = lambda before: np.seterr(**before)


@contextmanager
def quiet() -> Iterator[None]:
    """A block without NumPy's floating-point warnings."""
    token = silence()
    try:
        yield
    finally:
        unsilence(token)
