"""New tensors made from a description, with NumPy's names: zeros, ones, full, arange, linspace, eye.

They are plain data in either mode: beside symbols they count as constants. What takes its shape from a variable
(zeros_like …) is in ``convert``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core.config import config
from tutorlib.core.create import tensor
from tutorlib.core.errors import ShapeError
from tutorlib.core.graph import Symbol
from tutorlib.ops.define import public


def _made(array: np.ndarray, dtype: Any, requires_grad: bool) -> Any:
    if dtype is None:
        dtype = config.floatX if array.dtype.kind == "f" else array.dtype
    return tensor(array, requires_grad=requires_grad, dtype=dtype)


def _known(shape: Any) -> Any:
    """``shape``, refused where a length is not known."""
    dims = shape if isinstance(shape, list | tuple) else (shape,)
    if any(d is None or isinstance(d, Symbol) for d in dims):
        raise ShapeError(
            "a length of the shape is not known while the graph is built",
            fix="take the shape from a variable: tl.zeros_like(x), tl.ones_like(x), tl.full_like(x, value)",
        )
    return shape


@public
def zeros(shape: Any, dtype: Any = None, *, requires_grad: bool = False) -> Any:
    """A tensor of zeros; ``dtype`` is ``tl.config.floatX`` by default.

    >>> import tutorlib as tl
    >>> tl.zeros((2, 3)).shape
    (2, 3)
    """
    return _made(np.zeros(_known(shape)), dtype, requires_grad)


@public
def ones(shape: Any, dtype: Any = None, *, requires_grad: bool = False) -> Any:
    """A tensor of ones; ``dtype`` is ``tl.config.floatX`` by default.

    >>> import tutorlib as tl
    >>> tl.ones(2, dtype="int64")
    tensor([1, 1])
    """
    return _made(np.ones(_known(shape)), dtype, requires_grad)


@public
def full(shape: Any, fill_value: Any, dtype: Any = None, *, requires_grad: bool = False) -> Any:
    """A tensor filled with one number; ``dtype`` follows the number, floats becoming ``tl.config.floatX``.

    >>> import tutorlib as tl
    >>> tl.full((2,), 7)
    tensor([7, 7])
    """
    return _made(np.full(_known(shape), fill_value), dtype, requires_grad)


@public
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """The numbers from ``start`` (0 if only one number is given) up to, not including, ``stop``.

    >>> import tutorlib as tl
    >>> tl.arange(4)
    tensor([0, 1, 2, 3])
    """
    return _made(np.arange(start, step=step) if stop is None else np.arange(start, stop, step), dtype, False)


@public
def linspace(start: Any, stop: Any, num: int = 50, *, endpoint: bool = True, dtype: Any = None) -> Any:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, which is one of them unless ``endpoint`` is False.

    >>> import tutorlib as tl
    >>> tl.linspace(0, 1, 5)
    tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    return _made(np.linspace(start, stop, num, endpoint=endpoint), dtype, False)


@public
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """A matrix of N rows and M (by default N) columns with ones on the k-th diagonal, zeros elsewhere.

    >>> import tutorlib as tl
    >>> tl.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _made(np.eye(N, M, k), dtype, False)
