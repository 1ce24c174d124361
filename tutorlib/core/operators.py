"""Operators and methods of every variable, in either mode: each forwards to the public op of the same meaning.

The ops register themselves in ``OPS`` when ``tutorlib.ops`` is imported; the core defines none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class OpNamespace:
    """The public ops by name, filled by ``tutorlib.ops``, some of them when they are first asked for."""

    # Set by tutorlib.ops: loads the function of that name, if there is one.
    load: ClassVar[Callable[[str], None]] = lambda name: None

    def __getattr__(self, name: str) -> Any:
        OpNamespace.load(name)
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(f"no op is called {name!r}") from None


OPS: Any = OpNamespace()


class Operators:
    """Mixin: arithmetic, comparison (elementwise), indexing and the common methods."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Any:
        return OPS.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return OPS.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return OPS.sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return OPS.sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return OPS.mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return OPS.mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return OPS.div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return OPS.div(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return OPS.floordiv(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return OPS.floordiv(other, self)

    def __mod__(self, other: Any) -> Any:
        return OPS.mod(self, other)

    def __rmod__(self, other: Any) -> Any:
        return OPS.mod(other, self)

    def __pow__(self, other: Any) -> Any:
        return OPS.pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return OPS.pow(other, self)

    def __matmul__(self, other: Any) -> Any:
        return OPS.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return OPS.matmul(other, self)

    def __divmod__(self, other: Any) -> Any:
        return OPS.floordiv(self, other), OPS.mod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return OPS.floordiv(other, self), OPS.mod(other, self)

    def __neg__(self) -> Any:
        return OPS.neg(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return OPS.abs(self)

    def __eq__(self, other: Any) -> Any:
        # Elementwise, but a variable is no None and no text: `if x == None` gets its plain answer.
        if other is None or isinstance(other, str):
            return NotImplemented
        return OPS.eq(self, other)

    def __ne__(self, other: Any) -> Any:
        if other is None or isinstance(other, str):
            return NotImplemented
        return OPS.ne(self, other)

    def __lt__(self, other: Any) -> Any:
        return OPS.lt(self, other)

    def __le__(self, other: Any) -> Any:
        return OPS.le(self, other)

    def __gt__(self, other: Any) -> Any:
        return OPS.gt(self, other)

    def __ge__(self, other: Any) -> Any:
        return OPS.ge(self, other)

    def __and__(self, other: Any) -> Any:
        return OPS.bitwise_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return OPS.bitwise_and(other, self)

    def __or__(self, other: Any) -> Any:
        return OPS.bitwise_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return OPS.bitwise_or(other, self)

    def __xor__(self, other: Any) -> Any:
        return OPS.bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return OPS.bitwise_xor(other, self)

    def __round__(self, decimals: int | None = None) -> Any:
        return OPS.round(self, decimals or 0)

    def __invert__(self) -> Any:
        return OPS.invert(self)

    def __getitem__(self, index: Any) -> Any:
        return OPS.getitem(self, index)

    @property
    def T(self) -> Any:
        """The transpose (all axes reversed)."""
        return OPS.transpose(self)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        return OPS.sum(self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        return OPS.mean(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        return OPS.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        return OPS.min(self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Any = None, keepdims: bool = False) -> Any:
        return OPS.prod(self, axis=axis, keepdims=keepdims)

    def var(self, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        return OPS.var(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        return OPS.std(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def norm(self, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
        return OPS.norm(self, ord, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        return OPS.argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        return OPS.argmin(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Any:
        return OPS.all(self, axis=axis, keepdims=keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Any:
        return OPS.any(self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None) -> Any:
        return OPS.cumsum(self, axis)

    def cumprod(self, axis: int | None = None) -> Any:
        return OPS.cumprod(self, axis)

    def round(self, decimals: int = 0) -> Any:
        return OPS.round(self, decimals)

    def reshape(self, *shape: Any) -> Any:
        return OPS.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def transpose(self, *axes: Any) -> Any:
        return OPS.transpose(self, (axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes) or None)

    def squeeze(self, axis: Any = None) -> Any:
        return OPS.squeeze(self, axis)

    def flatten(self) -> Any:
        return OPS.reshape(self, (-1,))

    def take(self, indices: Any, axis: int | None = None) -> Any:
        return OPS.take(self, indices, axis)

    def clip(self, low: Any = None, high: Any = None) -> Any:
        return OPS.clip(self, low, high)

    def dot(self, other: Any) -> Any:
        return OPS.dot(self, other)

    def astype(self, dtype: Any) -> Any:
        return OPS.cast(self, dtype)

    def exp(self) -> Any:
        return OPS.exp(self)

    def log(self) -> Any:
        return OPS.log(self)

    def sqrt(self) -> Any:
        return OPS.sqrt(self)

    def tanh(self) -> Any:
        return OPS.tanh(self)

    def sigmoid(self) -> Any:
        return OPS.sigmoid(self)

    def relu(self) -> Any:
        return OPS.relu(self)

    def abs(self) -> Any:
        return OPS.abs(self)

    @property
    def at(self) -> Any:
        """The way to a copy with some elements replaced: ``x.at[index].set(v)``, ``.add(v)``, ``.mul(v)``."""
        return OPS.at(self)

    def ravel(self) -> Any:
        return OPS.flatten(self)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return OPS.swapaxes(self, axis1, axis2)

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        return OPS.repeat(self, repeats, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return OPS.diagonal(self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return OPS.trace(self, offset, axis1, axis2)

    def argsort(self, axis: int | None = -1) -> Any:
        return OPS.argsort(self, axis)
