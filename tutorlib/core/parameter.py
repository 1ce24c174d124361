"""A value to be trained, usable in both modes."""

from __future__ import annotations

from typing import Any

from tutorlib.core import memory
from tutorlib.core.backend import Array
from tutorlib.core.create import as_array, check_can_have_gradient
from tutorlib.core.graph import Shared
from tutorlib.core.storage import Storage
from tutorlib.core.tensor import Tensor


class Parameter(Tensor):
    """One storage, two faces: beside tensors it is a leaf tensor, beside symbols it is a shared variable.

    >>> import tutorlib as tl
    >>> w = tl.Parameter([1.0, 2.0], name="w")
    >>> (w * w).sum().backward(); w.grad
    tensor([2., 4.])
    >>> x = tl.vector("x")
    >>> double = tl.function([], updates=[(w, w.symbol * 2)])
    >>> double(); w
    tensor([2., 4.], requires_grad=True)
    """

    __slots__ = ("storage", "symbol")

    def __init__(self, data: Any, requires_grad: bool = True, name: str | None = None) -> None:
        self._start(requires_grad, name)
        array = as_array(data, copy=True)
        if array.nbytes >= memory.LARGE:
            memory.keep()
        if requires_grad:
            check_can_have_gradient(array)
        self.storage = Storage(array, name, recorded=True)
        self.symbol = Shared(self.storage, name=name)

    @property
    def _data(self) -> Array:
        return self.storage.value

    def _write(self, array: Array) -> None:
        self.storage.write(array, "in-place")
