"""The dynamic mode's variable: a Tensor holds a value, and is its own graph node when an op on it was recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tutorlib.core import observe
from tutorlib.core.aval import AVal
from tutorlib.core.backend import Array, Device, device_of, is_array, put, to_host
from tutorlib.core.backend import device as find_device
from tutorlib.core.errors import (
    DisconnectedError,
    DTypeError,
    ModeMixError,
    OutOfBoundsError,
    ShapeError,
    StaleValueError,
    shape_text,
)
from tutorlib.core.graph import Var
from tutorlib.core.operators import OPS
from tutorlib.core.recorded import Extra, Recorded


class Tensor(Recorded, Var):
    """A value of the dynamic mode, made by ``tl.tensor`` or by an op on tensors.

    Attributes: ``data`` (the array, read-only), ``requires_grad``, ``grad`` (a Tensor or None),
    ``name``. A recorded result also has ``op``, ``inputs``, ``attrs``, ``source``; ``arrays`` are the values its
    inputs had when it was recorded, so a later write to an input cannot falsify a gradient.
    """

    __slots__ = ("__weakref__", "_data", "requires_grad")

    _data: Array
    requires_grad: bool

    def __init__(self, data: Array, requires_grad: bool = False, name: str | None = None) -> None:
        self._start(requires_grad, name)
        self._data = data

    def _start(self, requires_grad: bool, name: str | None) -> None:
        self.requires_grad = requires_grad
        self.op = self.cotangent = None
        self.extra = Extra(name)
        self.attrs = {}
        self.seq = 0

    @property
    def data(self) -> Array:
        """The array on its device, on the host as a read-only view. Setting it replaces a leaf's value, unrecorded."""
        return self.numpy() if isinstance(self._data, np.ndarray) else self._data

    @data.setter
    def data(self, value: Any) -> None:
        if self.op is not None:
            raise StaleValueError(
                "the value of a recorded result cannot be replaced",
                fix="compute a new value instead: y = y + 1, or take y.detach()",
            )
        self._write(self._fitting(value))

    @property
    def aval(self) -> AVal:
        return AVal(self._data.shape, self._data.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._data.dtype

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def size(self) -> int:
        return self._data.size

    @property
    def node(self) -> Tensor | None:
        """This tensor itself when it is the result of a recorded op, None for a leaf."""
        return None if self.op is None else self

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return (self,)

    @property
    def index(self) -> int:
        return 0

    @property
    def device(self) -> Device:
        return device_of(self._data)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up here; None before the first, and on results of ops."""
        extra = self.extra
        if extra is None or extra.grad is None or isinstance(extra.grad, Tensor):
            return None if extra is None else extra.grad
        extra.grad = grad = Tensor.unrecorded(extra.grad)
        return grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            value = value if isinstance(value, Tensor) else Tensor(np.array(value, self.dtype))
            if value.shape != self.shape:
                raise ShapeError(
                    "a gradient has the shape of its tensor",
                    shapes=[self.shape, value.shape],
                    fix="set it to None to clear it",
                )
        self._grad = value

    def zero_grad(self) -> None:
        """Forget the gradient, so that the next backward pass starts afresh."""
        if self.extra is not None:
            self.extra.grad = None

    def backward(self, gradient: Any = None, *, retain_graph: bool = False, create_graph: bool = False) -> None:
        """Add d(self)/d(leaf) to ``leaf.grad`` for every leaf with ``requires_grad`` that this value was computed from.

        Args:
            gradient: the cotangent of this value (its shape); may be left out for a value with one element.
            retain_graph: keep the graph, so that it can be walked again.
            create_graph: record the walk too, so that gradients can be differentiated; implies ``retain_graph``.

        Raises ShapeError for a non-scalar without ``gradient``, DisconnectedError if nothing here requires a gradient,
        FreedGraphError on a second pass.

        >>> import tutorlib as tl
        >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        Tensor.run_backward(self, gradient, retain_graph, create_graph)

    # Whether a hook was ever registered: else nobody need look for one.
    some_have_hooks: ClassVar[bool] = False
    # Set by the autodiff module.
    run_backward: ClassVar[Any]
    run_retain_grad: ClassVar[Any]

    def register_hook(self, hook: Callable[[Tensor], Any]) -> Callable[[], None]:
        """Call ``hook(gradient)`` whenever a backward pass has this tensor's complete gradient.

        What it returns, unless None, is the gradient from there on. Returns a function that removes the hook.

        >>> import tutorlib as tl
        >>> x = tl.tensor(1.0, requires_grad=True)
        >>> remove = x.register_hook(lambda g: g * 10)
        >>> (x * 3).backward(); x.grad.item()
        30.0
        """
        if not self.requires_grad:
            raise DisconnectedError("this tensor gets no gradient", fix="make it with requires_grad=True")
        Tensor.some_have_hooks = True
        if self.hooks is None:
            self.hooks = {}
        key = object()
        self.hooks[key] = hook
        hooks = self.hooks
        return lambda: hooks.pop(key, None)

    def retain_grad(self) -> Tensor:
        """Let backward passes store this result's gradient in ``grad`` too, as they do for leaves. Returns itself."""
        Tensor.run_retain_grad(self)
        return self

    def numpy(self) -> np.ndarray:
        """The value as a read-only NumPy array (no copy on the host); ``.numpy().copy()`` gives one you may change."""
        host = to_host(self._data).view()
        host.flags.writeable = False
        return host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        host = self.numpy()
        if dtype is not None and dtype != host.dtype:
            return host.astype(dtype)
        return host.copy() if copy else host

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        if self._data.size != 1:
            raise ShapeError(
                f"item() needs one element, this tensor has shape {shape_text(self.shape)}",
                fix="take one: x[0].item(), or reduce it: x.sum().item()",
            )
        return to_host(self._data).item()

    def tolist(self) -> Any:
        return to_host(self._data).tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __index__(self) -> int:
        if self._data.size == 1 and self._data.dtype.kind in "iu":
            return int(self.item())
        raise TypeError("only a one-element integer tensor can be an index")

    def __format__(self, spec: str) -> str:
        if self._data.size == 1 and spec:
            return format(self.item(), spec)
        try:
            return format(repr(self), spec)
        except ValueError:
            raise ShapeError(
                f"the format {spec!r} is for one number, this tensor has shape {shape_text(self.shape)}",
                fix="take one: x[0], or format them one by one: [f'{v:.2f}' for v in x]",
            ) from None

    def detach(self) -> Tensor:
        """The same value, outside every graph."""
        return Tensor(self._data, name=self.name)

    def to(self, device: str | Device) -> Tensor:
        """The value on another device (this tensor itself when it is there already). Recorded, so gradients travel
        back."""
        where = find_device(device)
        return self if self.device == where else OPS.transfer(self, where=where)

    def assign(self, value: Any) -> None:
        """Replace this leaf's value (same shape and dtype). Raises TutorlibError where a graph forbids it.

        Allowed for leaves: those with ``requires_grad`` only inside ``tl.no_grad()``, as optimisers do.
        """
        self._may_change("assign()")
        self._write(self._fitting(value))

    def _fitting(self, value: Any) -> Array:
        """``value`` as an array of our own that may take this leaf's place."""
        new = value._data if isinstance(value, Tensor) else value
        if not is_array(new) or new.dtype != self.dtype:
            new = np.array(new, self.dtype)
        elif new is value:
            new = new.copy()
        if new.shape != self.shape:
            raise ShapeError("the new value has another shape", shapes=[self.shape, new.shape], fix="make a new tensor")
        return put(new, self.device)

    def _write(self, array: Array) -> None:
        if observe.observers:
            observe.tell("before_write", self, "in-place")
        self._data = array
        if observe.observers:
            observe.tell("on_write", self, "in-place")

    def _may_change(self, what: str) -> None:
        if self.op is not None and self.requires_grad:
            raise StaleValueError(
                f"{what} would change a value that the recorded graph still needs",
                fix="compute a new value instead: y = y + 1, or tl.where(mask, new, y)",
            )
        if self.requires_grad and Tensor.recording():
            raise StaleValueError(
                f"{what} on a tensor with requires_grad=True would go unrecorded",
                fix="update it inside `with tl.no_grad():`, or compute a new tensor instead",
            )

    def _unrecorded(self, value: Any, what: str) -> Any:
        """``value`` as data to be written here; refused where that would silently cut a gradient."""
        if isinstance(value, Tensor):
            if value.requires_grad and Tensor.recording():
                raise StaleValueError(
                    f"{what} would take over the value, but not the gradient, of a recorded tensor",
                    fix="compute a new tensor instead: y = y + x, tl.stack or tl.where; or write x.detach()",
                )
            return value._data
        if isinstance(value, Var):
            raise ModeMixError(f"{what} needs a value, not a symbol", fix="compute one first: expr.eval({x: …})")
        return value

    # Set by the dispatch module: whether ops are being recorded now; and what makes a tensor of an array.
    recording: ClassVar[Any]
    unrecorded: ClassVar[Any]

    def _in_place(self, op: str, other: Any) -> Tensor:
        self._may_change(f"`{op}=`")
        other = self._unrecorded(other, f"`{op}=`")
        value = getattr(OPS, {"+": "add", "-": "sub", "*": "mul", "/": "div"}[op])(self._data, other)
        if value.shape != self.shape or not np.can_cast(value.dtype, self.dtype, "same_kind"):
            raise (ShapeError if value.shape != self.shape else DTypeError)(
                f"`{op}=` would make {value.dtype} {shape_text(value.shape)} of {self.dtype} {shape_text(self.shape)}",
                fix="compute a new tensor instead",
            )
        self._write(value.astype(self.dtype) if value.dtype != self.dtype else value)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        self._may_change("assignment into x[...]")
        value = self._unrecorded(value, "assignment into x[...]")
        new = self._data.copy()
        items = index if isinstance(index, tuple) else (index,)
        items = tuple(item._data if isinstance(item, Tensor) else item for item in items)
        try:
            new[items if isinstance(index, tuple) else items[0]] = value
        except IndexError as error:
            raise OutOfBoundsError(
                str(error), shapes=[self.shape], fix="use one index an axis, inside its length"
            ) from None
        except ValueError:
            raise ShapeError(
                f"the value does not fit the part of this {shape_text(self.shape)} tensor that it is assigned to",
                fix="give a value of the shape of x[index], or one number for all",
            ) from None
        self._write(new)

    def __copy__(self) -> Tensor:
        return type(self)(self._data, self.requires_grad, self.name)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return type(self)(self._data.copy(), self.requires_grad, self.name)

    def __reduce__(self) -> Any:
        return type(self), (to_host(self._data), self.requires_grad, self.name)

    def __repr__(self) -> str:
        body = np.array2string(to_host(self._data), separator=", ", prefix="tensor(", threshold=200)
        extra = "" if self.dtype.name in ("float64", "int64", "bool") else f", dtype={self.dtype.name}"
        where = self.device
        extra += f", device={str(where)!r}" if str(where) != "cpu" else ""
        if self.op is not None:
            extra += f", op={self.op.name}"
        elif self.requires_grad:
            extra += ", requires_grad=True"
        return f"tensor({body}{extra})"
