"""What a function is given, checked: values for inputs, updates, givens. Every refusal says how to mend it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tutorlib.compile.fgraph import check_replacement
from tutorlib.core.aval import in_range
from tutorlib.core.backend import is_array
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import (
    DTypeError,
    MissingInputError,
    ModeMixError,
    ShapeError,
    TutorlibError,
    UpdateTypeError,
    shape_text,
)
from tutorlib.core.graph import Constant, Node, Shared, Symbol, label
from tutorlib.core.operators import OPS
from tutorlib.core.parameter import Parameter
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import leaves_of

Pairs = Mapping[Any, Any] | Iterable[tuple[Any, Any]]


class In(NamedTuple):
    """An input of a function with a default ``value`` or a keyword ``name`` of its own: ``tl.In(x, value=1.0)``."""

    variable: Symbol
    value: Any = None
    name: str | None = None


def checked_inputs(inputs: Sequence[Any]) -> list[In]:
    """What ``tl.function`` takes as inputs: symbols, each once."""
    if isinstance(inputs, Symbol | In):
        raise TutorlibError("inputs are a list", fix="write tl.function([x], …)")
    ins = [i if isinstance(i, In) else In(i) for i in inputs]
    for i in ins:
        if not isinstance(i.variable, Symbol) or isinstance(i.variable, Constant | Shared):
            what = (
                "a shared variable has a value already"
                if isinstance(i.variable, Shared)
                else f"{i.variable!r:.60} is not a symbol"
            )
            raise TutorlibError(f"{what}: it cannot be an input", fix="use symbols such as tl.vector('x') as inputs")
    if len({id(i.variable) for i in ins}) != len(ins):
        raise TutorlibError("an input is listed twice", fix="list each input once")
    return ins


def accepted(var: Symbol, value: Any) -> Any:
    """``value`` as an array that may stand for input ``var``. Raises DTypeError or ShapeError saying how to convert
    it."""
    if isinstance(value, Tensor):
        value = value._data
    elif isinstance(value, Symbol):
        raise ModeMixError(
            f"input {label(var)} needs a value, not the symbol {label(value)}",
            fix="to put a symbol in the place of another use givens, or a value: expr.eval({x: …})",
        )
    weak = not is_array(value)
    if weak and (value is None or isinstance(value, str | dict | set) or callable(value)):
        raise DTypeError(
            f"input {label(var)} needs a value, not {value!r:.60}", fix="pass a number, a list of numbers or an array"
        )
    try:
        array = np.asarray(value) if weak or isinstance(value, np.generic) else value
    except ValueError:
        raise ShapeError(
            f"the rows given for {label(var)} have different lengths", fix="give every row the same length"
        ) from None
    if array.dtype != var.dtype:
        kinds = array.dtype.kind + var.dtype.kind
        fits = (
            np.can_cast(array.dtype, var.dtype, "safe")
            or kinds in ("if", "uf", "bf", "bi")
            or (weak and kinds in ("ff", "ii", "iu"))
        )
        if array.dtype.kind not in "biuf" or not fits:
            fix = f"convert it: value.astype({var.dtype.name!r})"
            if array.dtype.kind == "c":
                fix = "take its real part, value.real, or its size, abs(value)"
            elif array.dtype.kind not in "biuf":
                fix = "pass numbers only"
            raise DTypeError(f"input {label(var)} is {var.dtype}, the value given is {array.dtype}", fix=fix)
        array = in_range(array, var.dtype, f"input {label(var)}") if weak else array.astype(var.dtype)
    shape = tuple(array.shape)
    wrong = next(
        (i for i, (want, got) in enumerate(zip(var.shape, shape, strict=False)) if want is not None and want != got),
        None,
    )
    if len(shape) != var.ndim or wrong is not None:
        raise ShapeError(
            f"input {label(var)} has shape {shape_text(var.shape)}, the value given has {shape_text(shape)}",
            shapes=[var.shape, shape],
            wrong_dims=[wrong, wrong],
            fix=f"give axis {wrong} the length {var.shape[wrong or 0]}"
            if len(shape) == var.ndim
            else f"give it {var.ndim} axes: {'nest the lists, or value.reshape(…)' if var.ndim else 'one number'}",
        )
    return array


def update_value(variable: Shared, value: Any) -> Any:
    if any(want not in (None, got) for want, got in zip(variable.shape, value.shape, strict=True)):
        raise ShapeError(
            f"the update of {label(variable)} has another shape",
            shapes=[variable.shape, value.shape],
            fix="make it with tl.shared(value, shape=(None, …)) to let it change",
        )
    return value


def _pairs(pairs: Pairs, what: str) -> list[tuple[Any, Any]]:
    items = list(pairs.items() if isinstance(pairs, Mapping) else pairs)
    for item in items:
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise TutorlibError(
                f"{what} are pairs (variable, new value), not {item!r:.60}",
                fix=f"write {what}=[(a, new_a), (b, new_b)]",
            )
    return [(a, b) for a, b in items]


def checked_updates(updates: Pairs) -> list[tuple[Shared, Symbol]]:
    result: list[tuple[Shared, Symbol]] = []
    for key, new in _pairs(updates, "updates"):
        variable = key.symbol if isinstance(key, Parameter) else key
        if not isinstance(variable, Shared):
            raise UpdateTypeError(
                f"only shared variables can be updated, {label(variable)} is not one",
                fix="make it with tl.shared(value)",
            )
        if any(variable is seen for seen, _ in result):
            raise UpdateTypeError(
                f"{label(variable)} has two updates; both cannot be its new value", fix="combine them into one"
            )
        value = as_symbol(new if not isinstance(new, list | tuple) else np.asarray(new))
        if value.dtype != variable.dtype:
            if not np.can_cast(value.dtype, variable.dtype, "same_kind" if value.aval.weak else "safe"):
                fix = f"cast the update: tl.cast(new_value, {variable.dtype.name!r})"
                if value.dtype.kind == "f" and variable.dtype.kind != "f":
                    fix = f'make the variable floating-point: tl.shared(value, dtype="{value.dtype}")'
                raise UpdateTypeError(
                    f"shared variable {label(variable)} holds {variable.dtype}, its update is {value.dtype}",
                    fix=fix,
                    source=value.node.source if value.node is not None else None,
                )
            if isinstance(value, Constant) and value.aval.weak:
                value = Constant(
                    in_range(np.asarray(value.value), variable.dtype, f"shared variable {label(variable)}")
                )
            else:
                value = OPS.cast(value, variable.dtype)
        elif value.aval.weak:
            value = Constant(np.asarray(value.value, variable.dtype)) if isinstance(value, Constant) else value
        if value.ndim != variable.ndim or any(
            a not in (None, b) and b is not None for a, b in zip(variable.shape, value.shape, strict=True)
        ):
            raise ShapeError(
                f"the update of {label(variable)} has another shape than the variable",
                shapes=[variable.shape, value.shape],
                fix="reduce or index the new value to the variable's shape",
                source=value.node.source if value.node is not None else None,
            )
        result.append((variable, value))
    return result


def checked_givens(givens: Pairs) -> dict[Symbol, Symbol]:
    result: dict[Symbol, Symbol] = {}
    for key, new in _pairs(givens, "givens"):
        old = key.symbol if isinstance(key, Parameter) else key
        if not isinstance(old, Symbol):
            raise ModeMixError(
                f"givens replace symbols, {old!r:.60} is not one", fix="use a variable of the graph on the left"
            )
        value = as_symbol(np.asarray(new, old.dtype) if isinstance(new, list | tuple | int | float) else new)
        check_replacement(old, value)
        result[old] = value
    return result


def default_updates(leaves: list[Symbol], updates: list[tuple[Shared, Symbol]]) -> list[tuple[Shared, Symbol]]:
    """Updates that shared variables among the ``leaves`` bring along themselves (random streams do)."""
    known = {id(s) for s, _ in updates}
    found: list[tuple[Shared, Symbol]] = []
    while leaves:  # an update that comes along may use variables that bring along theirs
        new = [v for v in leaves if isinstance(v, Shared) and v.default_update is not None]
        more = checked_updates([(v, v.default_update) for v in new if id(v) not in known])
        known.update(id(s) for s, _ in more)
        found += more
        leaves = leaves_of([value for _, value in more])
    return found


def missing_inputs(missing: Sequence[Symbol], nodes: list[Node]) -> TutorlibError:
    """The error for inputs that ``nodes`` need and nobody gives."""
    names = ", ".join(label(v) for v in missing)
    user = next((n for n in nodes if any(v is missing[0] for v in n.inputs)), None)
    return MissingInputError(
        f"the outputs depend on {names}, which {'is' if len(missing) == 1 else 'are'} not among the inputs",
        fix=f"add it to the inputs: tl.function([{names}], …), or give it a value with givens",
        source=user.source if user is not None else None,
    )
