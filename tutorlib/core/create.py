"""Making tensors of what a learner has: numbers, lists, arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core import memory
from tutorlib.core.aval import check_dtype, in_range
from tutorlib.core.backend import Array, Device, device_of, is_array, put
from tutorlib.core.backend import device as find_device
from tutorlib.core.config import config
from tutorlib.core.errors import DTypeError, ModeMixError, ShapeError, TutorlibError
from tutorlib.core.graph import Symbol
from tutorlib.core.tensor import Tensor


def as_array(data: Any, dtype: Any = None, device: str | Device | None = None, copy: bool = False) -> Array:
    """``data`` (number, nested lists, array, tensor) as an array we may keep; Python floats become
    ``config.floatX``."""
    if isinstance(data, Symbol):
        raise ModeMixError("a symbol has no value to make a tensor of", fix="compute one first: expr.eval({x: …})")
    where = find_device(device) if device is not None else None
    if isinstance(data, Tensor):
        data = data._data
    if is_array(data):
        array = data if dtype is None or data.dtype == dtype else data.astype(check_dtype(dtype))
        check_dtype(array.dtype)
        where = where or (
            find_device(None) if device_of(array).kind == "cpu" and type(array) is np.ndarray else device_of(array)
        )
        if device_of(array) != where:
            return put(array, where)
        if isinstance(array, np.generic):
            return np.asarray(array)
        return array.copy() if copy and array is data else array
    if isinstance(data, list | tuple) and any(isinstance(x, Tensor | Symbol) for x in data):
        if any(isinstance(x, Symbol) for x in data):
            raise ModeMixError(
                "a list that holds symbols is not a value", fix="join them in the graph: tl.stack([...])"
            )
        if any(x.requires_grad for x in data if isinstance(x, Tensor)):
            raise TutorlibError(
                "making a tensor of recorded tensors would cut their gradients", fix="use tl.stack([...])"
            )
    try:
        array = np.array(data)
    except ValueError as error:
        raise ShapeError(f"the rows have different lengths: {error}", fix="give every row the same length") from None
    if array.dtype.kind not in "biuf":
        raise DTypeError(
            f"cannot make numbers of {array.dtype} data", fix="pass numbers, lists of numbers or NumPy arrays"
        )
    if dtype is not None:
        array = in_range(array, check_dtype(dtype), "the dtype asked for")
    elif array.dtype.kind == "f":
        array = array.astype(config.floatX)
    return put(array, where or find_device(None))


def check_can_have_gradient(array: Array) -> None:
    """Raise DTypeError for an array of whole numbers or truth values."""
    if array.dtype.kind != "f":
        raise DTypeError(
            f"only floating-point tensors can have gradients, this one is {array.dtype}",
            fix="write 1.0 instead of 1, or pass dtype=float",
        )


def tensor(
    data: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    device: str | Device | None = None,
    name: str | None = None,
) -> Tensor:
    """A tensor with a copy of ``data``.

    Args:
        data: a number, nested lists, a NumPy (or CuPy) array, or a tensor.
        requires_grad: record what is computed from it, so that ``.backward()`` gives its gradient.
        dtype: of the result; by default that of the array, ``tl.config.floatX`` for Python floats, int64 for ints.
        device: "cpu", "cpu:1", "gpu"; by default where the data is.
        name: shown in drawings.

    Raises DTypeError for data that is not numbers or an integer tensor with ``requires_grad``, ShapeError for ragged
    lists.

    >>> import tutorlib as tl
    >>> tl.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    array = as_array(data, dtype, device, copy=True)
    if array.nbytes >= memory.LARGE:
        memory.keep()
    if requires_grad:
        check_can_have_gradient(array)
    return Tensor(array, requires_grad, name)
