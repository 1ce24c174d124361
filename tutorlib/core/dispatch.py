"""The one place where modes meet: what an op does depends only on what it is called on.

Plain arrays: compute. Tensors: compute, and record a node if a gradient may be wanted. Symbols: build a node,
compute nothing.
"""

from __future__ import annotations

import re
import sys
from contextlib import AbstractContextManager, ContextDecorator
from itertools import count
from typing import Any

import numpy as np

from tutorlib.core.backend import CPU, HOST_TYPES, common_device, is_array, module_of, silence, tag, unsilence
from tutorlib.core.building import FORWARD, Meta, building
from tutorlib.core.errors import DTypeError, ModeMixError, OutOfBoundsError, ShapeError, TutorlibError, note_source
from tutorlib.core.graph import Constant, Input, Node, Op, Shared, Symbol, Var, aval_of
from tutorlib.core.hold import hold
from tutorlib.core.leak import due, look
from tutorlib.core.observe import observers, tell
from tutorlib.core.parameter import Parameter
from tutorlib.core.recorded import (
    ALL_FITTED,
    BOTH_FITTED,
    GENERAL,
    LEFT,
    LEFT_FITTED,
    NOWHERE,
    POURED,
    RIGHT_FITTED,
    SEVERAL,
    Extra,
)
from tutorlib.core.source import mark, ours, theirs
from tutorlib.core.tensor import Tensor

# What a thread is doing: see Building.
state = building
Tensor.recording = staticmethod(lambda: state.recording)
counter = count(1)
_new = Tensor.__new__
_getframe = sys._getframe
_ndarray = np.ndarray
_NO_ATTRS: dict[str, Any] = {}
_SYMBOLS = frozenset({Symbol, Input, Constant, Shared})


class _During(ContextDecorator):
    """A ``with`` block in which a field of ``building`` has another value."""

    def __init__(self, field: str, value: bool) -> None:
        self._field = field
        self._value = value
        self._before: list[bool] = []

    def __enter__(self) -> None:
        now = building.now
        self._before.append(getattr(now, self._field))
        now.change(self._field, self._value)

    def __exit__(self, *_: object) -> None:
        building.now.change(self._field, self._before.pop())


def no_grad() -> AbstractContextManager[None]:
    """Compute without recording; leaves with ``requires_grad`` may be updated in place inside.

    >>> import tutorlib as tl
    >>> w = tl.tensor([1.0], requires_grad=True)
    >>> with tl.no_grad():
    ...     w -= 0.5
    >>> w
    tensor([0.5], requires_grad=True)
    """
    return _During("recording", False)


def enable_grad() -> AbstractContextManager[None]:
    """Record again inside a ``no_grad`` block."""
    return _During("recording", True)


def static() -> AbstractContextManager[None]:
    """Build a static graph from parameters inside, where their expressions would otherwise be computed at once."""
    return _During("static", True)


def apply(op: Op, *args: Any, **attrs: Any) -> Any:
    """Call ``op`` on arguments of any mode."""
    # The short way for what is by far the commonest: host tensors, arrays and numbers, outside any special context.
    arrays = []
    dynamic = in_graph = needs = foreign = False
    for arg in args:
        kind = type(arg)
        if kind is Tensor or kind is Parameter:
            data = arg._data
            if type(data) is not _ndarray:
                return _apply_other(op, args, attrs)
            dynamic = True
            arrays.append(data)
            if arg.requires_grad:
                needs = in_graph = True
            elif arg.op is not None:
                in_graph = True
        elif kind is _ndarray:
            arrays.append(arg)
            foreign = True
        elif kind in HOST_TYPES:
            arrays.append(arg)
        else:
            return _apply_other(op, args, attrs)
    now = building.now
    if dynamic and now.static:
        return build(op, args, attrs)
    kept = None
    token = silence()
    try:
        if needs and op.keeping is not None and now.recording:
            data, kept = op.keeping(*arrays, **attrs)
        else:
            data = op.on_numpy(*arrays, **attrs)
    except (ValueError, TypeError, IndexError) as error:
        raise explained(op, arrays, attrs, error).of(args) from None
    finally:
        unsilence(token)
    if not dynamic:
        return data
    if type(data) is not _ndarray and type(data) in HOST_TYPES:
        data = np.asarray(data)
    if not in_graph or not now.recording:
        return unrecorded(data)
    result = record(op, args, arrays, attrs, data, needs, now.meta, 2, kept)
    if foreign:
        hold(result, [arg for arg in args if type(arg) is _ndarray])
    return result


Op.__call__ = apply  # type: ignore[assignment, method-assign]


def _apply_other(op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    symbolic = False
    for arg in args:
        kind = type(arg)
        if kind in _SYMBOLS:
            symbolic = True
        elif kind not in HOST_TYPES:
            break
    else:
        if symbolic:
            return build(op, args, attrs)
    args = tuple(arg if isinstance(arg, Var) or type(arg) in HOST_TYPES else _array(op, arg) for arg in args)
    if any(isinstance(arg, Symbol) for arg in args):
        return build(op, args, attrs)
    if any(isinstance(arg, Tensor) for arg in args):
        return build(op, args, attrs) if state.static else _run_and_record(op, args, attrs)
    return run(op, args, attrs)


def _array(op: Op, value: Any) -> Any:
    if is_array(value):
        return value
    array = np.asarray(value) if isinstance(value, list | tuple | range) else None
    if array is None or array.dtype.kind not in "biuf":
        fix = "pass numbers, arrays, tensors or symbols"
        if value is None:
            fix += "; a length that a symbol's shape does not tell (None) is tl.size(x, axis)"
        raise DTypeError(f"cannot take {type(value).__name__} {value!r:.60}", op=op.name, fix=fix)
    return array


def run(op: Op, arrays: Any, attrs: dict[str, Any]) -> Any:
    """Compute on plain arrays of one device."""
    where = CPU
    for array in arrays:
        if type(array) not in HOST_TYPES:
            where = common_device(arrays, op.name)
            break
    function = op.on_numpy if where.kind == "cpu" else op.on(module_of(where))
    token = silence()
    try:
        result = function(*arrays, **attrs)
    except (ValueError, TypeError, IndexError) as error:
        raise explained(op, arrays, attrs, error) from None
    finally:
        unsilence(token)
    if where.kind != "cpu" or not where.number or "moves" in op.flags:
        return result
    return tag(result, where) if op.nout == 1 else tuple(tag(part, where) for part in result)


def explained(op: Op, values: Any, attrs: dict[str, Any], error: Exception) -> TutorlibError:
    """The error a learner should read for ``error``, raised by NumPy inside ``op``."""
    if isinstance(error, TutorlibError):
        return error
    try:
        op.infer(*map(aval_of, values), **attrs)  # type: ignore[misc]
    except TutorlibError as better:
        return better
    except Exception:
        pass
    shapes = [np.shape(v) for v in values if is_array(v)]
    if found := re.search(r"is out of bounds for axis \d+ with size (\d+)", str(error)):
        length = int(found[1])
        fix = f"use an index from {-length} to {length - 1}" if length else "the axis is empty"
        return OutOfBoundsError(str(error), op=op.name, shapes=shapes, fix=fix)
    kind = ShapeError if isinstance(error, ValueError) else DTypeError
    return (OutOfBoundsError if isinstance(error, IndexError) else kind)(str(error), op=op.name, shapes=shapes)


def _run_and_record(op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Tensor:
    """``apply`` for tensors of any device."""
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    arrays = [arg._data if isinstance(arg, Tensor) else arg for arg in args]
    try:
        data = run(op, arrays, attrs)
    except TutorlibError as error:
        error.of(args)
        raise
    if type(data) in HOST_TYPES:
        data = np.asarray(data)
    needs = any(t.requires_grad for t in tensors)
    if not state.recording or not (needs or any(t.op is not None for t in tensors)):
        return unrecorded(data)
    result = record(op, args, arrays, attrs, data, needs, building.meta)
    foreign = [arg for arg in args if isinstance(arg, np.ndarray)]
    if foreign:
        hold(result, foreign)
    return result


def unrecorded(data: Any) -> Tensor:
    """A computed value that is no node of a graph."""
    result = _new(Tensor)
    result._data = data
    result.requires_grad = False
    result.op = result.cotangent = result.extra = None
    result.attrs = _NO_ATTRS
    result.seq = 0
    return result


Tensor.unrecorded = staticmethod(unrecorded)


def record(
    op: Op,
    inputs: tuple[Any, ...],
    arrays: Any,
    attrs: dict[str, Any],
    data: Any,
    needs: bool,
    meta: Meta,
    depth: int = 2,
    kept: Any = None,
) -> Tensor:
    """``data``, computed by ``op`` from ``arrays``, the values of ``inputs``, as a node of the graph.

    ``needs`` says whether some input requires a gradient; ``depth`` is how far up the stack the learner may be;
    ``kept`` is what the op left for its rule on arrays.
    """
    needs = needs and op.vjp is not None and data.dtype.kind == "f"
    route = _route(op, inputs, data) if needs else NOWHERE
    if len(inputs) == 1:
        return node_of(op, inputs[0], None, arrays[0], None, route, attrs, data, needs, meta, depth + 1, kept)
    if len(inputs) == 2:
        left, right = inputs
        return node_of(op, left, right, arrays[0], arrays[1], route, attrs, data, needs, meta, depth + 1, kept)
    return node_of(op, inputs, SEVERAL, arrays, None, route, attrs, data, needs, meta, depth + 1, kept)


def node_of(
    op: Op,
    left: Any,
    right: Any,
    left_array: Any,
    right_array: Any,
    route: int,
    attrs: dict[str, Any],
    data: Any,
    needs: bool,
    meta: Meta,
    depth: int,
    kept: Any = None,
) -> Tensor:
    """``record`` for a caller who knows where everything goes: see ``Recorded``."""
    result = _new(Tensor)
    result._data = data
    result.requires_grad = needs
    result.op = op
    result.left = left
    result.right = right
    result.left_array = left_array
    result.right_array = right_array
    result.route = route
    result.attrs = attrs
    frame = _getframe(depth)
    code = frame.f_code
    if code is theirs[0] or ours.get(code.co_filename) is False:
        result.code = code
        result.instruction = frame.f_lasti
    else:
        result.place = mark(depth + 1)
    result.extra = None if meta is FORWARD and kept is None else Extra(None, meta, kept)
    result.cotangent = result.mark = None
    result.seq = seq = next(counter)
    if seq >= due[0]:
        look(seq)
    if observers:
        tell("on_node", result)
    return result


def _route(op: Op, inputs: tuple[Any, ...], data: Any) -> int:
    """Where the gradient walk is to send a cotangent of the result."""
    rules = op.on_arrays
    if rules is None or type(data) is not _ndarray:
        return GENERAL
    if len(rules) < 2:
        return LEFT if rules else POURED
    if len(inputs) > 2:
        return ALL_FITTED
    left, right = inputs
    if not (isinstance(left, Tensor) and left.requires_grad):
        return RIGHT_FITTED
    return BOTH_FITTED if isinstance(right, Tensor) and right.requires_grad else LEFT_FITTED


def as_symbol(value: Any, op: str | None = None) -> Symbol:
    """``value`` as an input of a symbolic node: parameters show their shared face, data becomes a constant.

    Raises ModeMixError for a tensor that is part of a recorded graph or requires a gradient: it would be frozen
    silently.
    """
    if isinstance(value, Symbol):
        return value
    if isinstance(value, Parameter):
        return value.symbol
    if isinstance(value, Tensor):
        if value.op is None and not value.requires_grad:
            return Constant(value._data, value.name)
        what = "computed by a recorded op" if value.op is not None else "a tensor with requires_grad=True"
        raise ModeMixError(
            f"{value.name or 'this value'} is {what}; in a symbolic graph its value would be frozen",
            op=op,
            fix="use tl.shared(value) for something to train, an input symbol for data, or x.detach() for a constant",
        )
    return Constant(value.copy() if isinstance(value, np.ndarray) else value)


def build(op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Make a node of a static graph. Shapes and dtypes are checked now, at the learner's line."""
    inputs = tuple([arg if type(arg) in _SYMBOLS else as_symbol(arg, op.name) for arg in args])
    try:
        avals = op.infer(*[v.aval for v in inputs], **attrs)  # type: ignore[misc]
    except TutorlibError as error:
        error.of(inputs)
        raise
    origin = building.now.meta.origin
    node = Node(op, inputs, attrs, mark(2) if origin is None else origin.place)
    if op.nout == 1:
        result = Symbol(avals, node)
        node.outputs = (result,)
    else:
        node.outputs = tuple([Symbol(aval, node, i) for i, aval in enumerate(avals)])
    if observers:
        tell("on_node", node)
    return result if op.nout == 1 else node.outputs


def run_node(node: Node, arrays: list[Any]) -> Any:
    """Compute one node of a static graph; an error names the line that made the node."""
    try:
        return run(node.op, arrays, node.attrs)
    except TutorlibError as error:
        note_source(error.of(node.inputs), node.source)
        raise
