"""What a graph is made of, in both modes: ops, nodes, variables, and the walks over them. Nothing here computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from tutorlib.core import source as source_lines
from tutorlib.core.aval import AVal, Dim, array_aval, in_range, python_scalar_aval
from tutorlib.core.backend import Device, device_of, to_host
from tutorlib.core.building import building
from tutorlib.core.errors import DTypeError, ModeMixError, ShapeError, UpdateTypeError, shape_text
from tutorlib.core.operators import Operators
from tutorlib.core.storage import Storage


class Op:
    """One row of the op table, shared by both modes.

    Args:
        name: the op's name in graphs and errors.
        forward: ``forward(xp, *arrays, **attrs) -> array`` on an array module; no control flow on values.
        infer: ``infer(*avals, **attrs) -> AVal``: shape and dtype without data.
        vjp: how cotangents flow back. A tuple with one rule ``(g, out, *inputs, **attrs) -> cotangent`` an input
            (None: no gradient flows to that input), or one function ``(g, needs, out, *inputs, **attrs) -> sequence``
            for all of them. Rules call public ops only, so the same text differentiates arrays, tensors and symbols.
            They need not undo broadcasting nor restore dtypes: the gradient walk does. None: not differentiable.
        c: the C expression of an elementwise op, with ``{0} {1}`` for its operands.
        flags: of "elementwise", "linear", "view", "random", "nondiff", "stretches" (a non-elementwise op that
            broadcasts an input), "moves" (the result is on a device of its own), "fills" (``forward`` takes ``out``, an
            array for the result).
        ufunc: the NumPy ufunc of the same meaning, called directly in place of ``forward``.

    Where speed counts, ``on_arrays`` holds the rules of ``vjp`` once more for NumPy arrays alone: a tuple of
    ``(g, node) -> cotangent`` or PASS, see ``array_walk``. They need not keep 0 · inf from being NaN. With an empty
    tuple goes ``pour(g, node, total, untouched)``: it adds the cotangent of the first input, which alone gets one, to
    ``total``, whose elements are still all 0 if ``untouched``.
    ``keeping(*arrays, **attrs) -> (result, kept)`` is the forward computation on NumPy arrays that also returns what
    such a rule can use again: it finds it as ``node.kept``, or None where the result came another way.
    """

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any] | None = None,
        infer: Callable[..., AVal] | None = None,
        vjp: Any = None,
        *,
        c: str | None = None,
        nout: int = 1,
        flags: Iterable[str] = (),
        ufunc: str | None = None,
        doc: str = "",
    ) -> None:
        self.name = name
        self.forward = forward
        self.infer = infer
        self.vjp = vjp
        self.c = c
        self.nout = nout
        self.flags = frozenset(flags)
        self.ufunc = ufunc
        self.__doc__ = doc
        self._on_arrays: tuple[Any, ...] | None = None
        self.to_left: Any = None
        self.to_right: Any = None
        # The rule where both operands are one tensor, if there is a quicker one than both rules in turn.
        self.to_both: Any = None
        self.pour: Callable[[Any, Any, Any, bool], None] | None = None
        self.keeping: Callable[..., tuple[Any, Any]] | None = None
        # Whether its rules on arrays give NaN exactly where those of ``vjp`` do: neither guards 0 · inf.
        self.guards_nothing = False
        # Whether no rule asks what its cotangent is: then a NaN in one element has no say in what becomes of others.
        self.pulls_blindly = False
        self._bound: dict[int, Callable[..., Any]] = {}
        self.on_numpy = self.on(np)

    @property
    def on_arrays(self) -> tuple[Any, ...] | None:
        """The rules on NumPy arrays, where the op has any."""
        return self._on_arrays

    @on_arrays.setter
    def on_arrays(self, rules: tuple[Any, ...]) -> None:
        self._on_arrays = rules
        self.to_left, self.to_right = (*rules, None, None)[:2]

    def on(self, xp: Any) -> Callable[..., Any]:
        """The forward computation bound to array module ``xp``: a function of arrays and attributes."""
        bound = self._bound.get(id(xp))
        if bound is None:
            bound = getattr(xp, self.ufunc) if self.ufunc else partial(cast(Callable[..., Any], self.forward), xp)
            self._bound[id(xp)] = bound
        return bound

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        """Apply the op. The dispatch module, which knows the modes, puts its ``apply`` in this place."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<op {self.name}>"


class NodeView:
    """What nodes of both modes share: they have a ``meta`` and a ``place``."""

    __slots__ = ()
    meta: Any
    place: Any

    @property
    def role(self) -> str:
        """ "forward", "backward" or "rewrite"."""
        return self.meta.role

    @property
    def origin(self) -> Any:
        """The forward node that a backward node came from, or None."""
        return self.meta.origin

    @property
    def scope(self) -> str:
        return self.meta.scope

    @property
    def made_at(self) -> Any:
        """The place in the learner's program that made this node; a backward node has that of its origin."""
        return self.place if self.meta.origin is None else self.meta.origin.place

    @property
    def source(self) -> source_lines.SourceLine | None:
        """The learner's line that made this node, see ``made_at``."""
        return source_lines.resolve(self.made_at)


class Node(NodeView):
    """One application of an op in a static graph."""

    __slots__ = ("__weakref__", "attrs", "inputs", "meta", "op", "outputs", "place")

    def __init__(
        self, op: Op, inputs: tuple[Symbol, ...], attrs: dict[str, Any], place: source_lines.Mark | None
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.outputs: tuple[Symbol, ...] = ()
        self.place = place
        self.meta = building.now.meta

    def __repr__(self) -> str:
        return f"<node {self.op.name}>"


class Var(Operators):
    """Base of every variable of either mode. Arithmetic on it makes nodes."""

    __slots__ = ()
    # NumPy must hand `array * var` to us instead of looping over elements.
    __array_priority__ = 1000

    aval: Any
    name: Any
    node: Any
    index: Any

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The dims; None where a symbol's is not known yet."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("a scalar has no len()")
        if shape[0] is None:
            raise ModeMixError(
                "the length of this symbol is not known while the graph is built",
                fix="give the shape when you make it: tl.symbol(name, shape=(3, None)); or go through it in the graph: "
                "tl.scan",
            )
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return Var.numpy_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return Var.numpy_function(function, args, kwargs)

    # Set by tutorlib.ops, which knows which public op a NumPy function means.
    numpy_ufunc: ClassVar[Callable[..., Any]]
    numpy_function: ClassVar[Callable[..., Any]]
    # Set by tutorlib: draws the graph where a notebook can show it. The core knows no drawing.
    display: ClassVar[Callable[[Any], None] | None] = None

    def _ipython_display_(self) -> None:
        """A cell's last line: a result shows its graph, a leaf its text (IPython's next choice after this error)."""
        if Var.display is None or self.node is None:
            raise NotImplementedError
        Var.display(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def _said(what: str, *about: Any) -> Exception:
    """The error for what a symbol cannot do. How to say it loads when it is needed."""
    from tutorlib.core import misuse

    return getattr(misuse, what)(*about)


class Symbol(Var):
    """A variable of a static graph: the output of a node, or (by a subclass) a leaf."""

    __slots__ = ("__weakref__", "aval", "derivative_of", "index", "name", "node", "shape_source")
    kind = "output"

    def __init__(self, aval: AVal, node: Node | None = None, index: int = 0, name: str | None = None) -> None:
        self.aval = aval
        self.node = node
        self.index = index
        self.name = name
        self.shape_source: Any = None  # an ancestor known to have this shape, once the gradient walk has found one
        self.derivative_of: tuple[Any, ...] = ()  # pairs (cost, variable) that tl.grad answered with this

    @property
    def device(self) -> Device | None:
        """Where the value lives, for variables that hold one; None for the rest: decided when a function runs."""
        return None

    def eval(self, givens: dict[Any, Any] | None = None) -> np.ndarray:
        """The value of this expression, given a value for every input it needs: ``y.eval({x: 2.0})``."""
        return Symbol.evaluate(self, givens or {})

    # Set by tutorlib.compile, which knows how to run a graph.
    evaluate: ClassVar[Callable[..., Any]]
    # Set by tutorlib, which knows the tools: the costs of a compiled function.
    profiled: ClassVar[Callable[..., Any]]

    def __bool__(self) -> bool:
        raise _said("no_value", "bool", label(self))

    def __float__(self) -> float:
        raise _said("no_value", "float", label(self))

    def __int__(self) -> int:
        raise _said("no_value", "int", label(self))

    def __index__(self) -> int:
        raise _said("no_value", "index", label(self))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise _said("no_value", "array", label(self))

    def __format__(self, spec: str) -> str:
        if spec and spec[-1] in "eEfFgGn%dxXob":
            raise _said("no_value", "float", label(self))
        return format(repr(self), spec)

    def __contains__(self, value: Any) -> bool:
        raise _said("no_value", "bool", label(self))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise _said("not_assigned", label(self), isinstance(self, Shared))

    def __getattr__(self, name: str) -> Any:
        raise _said("no_attribute", self, name)

    def __repr__(self) -> str:
        known = f"{self.dtype} {shape_text(self.shape)}"
        if self.node is not None:
            name = f"{self.name} = " if self.name else ""
            return f"<{name}{self.node.op.name}({', '.join(label(v) for v in self.node.inputs)}): {known}>"
        return f"<{self.kind} {label(self)}: {known}>"


class Input(Symbol):
    """A leaf that gets its value when a function is called."""

    __slots__ = ()
    kind = "input"


class Constant(Symbol):
    """A leaf with a fixed value: ``value`` is an array, or the Python scalar the learner wrote."""

    __slots__ = ("value",)
    kind = "constant"

    def __init__(self, value: Any, name: str | None = None) -> None:
        Symbol.__init__(self, aval_of(value), name=name)
        self.value = value


class Shared(Symbol):
    """A leaf whose value lives in a Storage and survives between calls of every function that uses it."""

    __slots__ = ("default_update", "storage")
    kind = "shared"

    def __init__(self, storage: Storage, shape: tuple[Dim, ...] | None = None, name: str | None = None) -> None:
        value = storage.value
        super().__init__(AVal(value.shape if shape is None else shape, value.dtype), name=name)
        self.storage = storage
        self.default_update: Any = None

    @property
    def device(self) -> Device:
        return device_of(self.storage.value)

    def get_value(self, borrow: bool = False) -> np.ndarray:
        """The value now, as a NumPy array: a copy, or with ``borrow=True`` the stored array itself (host only).

        Changing a borrowed array changes the shared variable behind everybody's back; prefer ``set_value``.
        """
        return self.storage.read(borrow)

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Store ``value`` (same dtype or one that casts to it without loss, same shape where the shape is fixed).

        It is copied unless ``borrow=True``. Raises UpdateTypeError for another dtype, ShapeError for another shape.
        """
        self.storage.write(fitting(value, self, borrow), by="set_value", borrowed=borrow)


def fitting(value: Any, like: Shared, borrow: bool = False) -> Any:
    """``value`` as an array that shared variable ``like`` may hold; raises what ``Shared.set_value`` documents."""
    array = value._data if isinstance(value, Var) and hasattr(value, "_data") else value
    if device_of(array).kind == "cpu":
        try:
            array = np.asarray(array)
        except ValueError:
            raise ShapeError(
                f"the rows given for {label(like)} have different lengths", fix="give every row the same length"
            ) from None
        weak = not isinstance(value, np.ndarray | np.generic | Var)
        if array.dtype != like.dtype:
            if not np.can_cast(array.dtype, like.dtype, "safe") and not (
                weak
                and (np.can_cast(array.dtype, like.dtype, "same_kind") or array.dtype.kind + like.dtype.kind == "iu")
            ):
                raise UpdateTypeError(
                    f"shared variable {label(like)} holds {like.dtype}, the new value is {array.dtype}",
                    fix=f"convert it first: value.astype({like.dtype.name!r})",
                )
            array = in_range(array, like.dtype, f"shared variable {label(like)}")
            borrow = True
        if not borrow:
            array = array.copy()
    shape = tuple(array.shape)
    if len(shape) != like.ndim or any(want not in (None, got) for want, got in zip(like.shape, shape, strict=True)):
        raise ShapeError(
            f"shared variable {label(like)} has shape {shape_text(like.shape)}, the new value {shape_text(shape)}",
            fix="to let it change, make it with tl.shared(value, shape=(None,)), None for each dim that may vary",
        )
    return array


def aval_of(value: Any) -> AVal:
    """The AVal of a variable, an array or a Python scalar."""
    if isinstance(value, Var):
        return value.aval
    weak = python_scalar_aval(value)
    if weak is not None:
        return weak
    try:
        return array_aval(tuple(value.shape), value.dtype)
    except AttributeError:
        raise DTypeError(
            f"{type(value).__name__} {value!r:.60} is no value of a graph",
            fix="pass a number, an array, a tensor or a symbol",
        ) from None


def label(var: Any) -> str:
    """A short name for messages: the variable's own, else what it is."""
    if not isinstance(var, Var):
        return repr(var) if python_scalar_aval(var) else f"array{shape_text(np.shape(var))}"
    if var.name:
        return str(var.name)
    if isinstance(var, Constant):
        if var.aval.weak:
            return repr(var.value)
        return f"{to_host(var.value).item():g}" if var.shape == () else f"constant{shape_text(var.shape)}"
    return "‹unnamed›" if var.node is None else f"{var.node.op.name}(…)"
