"""The value of an expression at once, without compiling it: ``expr.eval({x: …})``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tutorlib.compile.arguments import accepted
from tutorlib.compile.executor import Plan
from tutorlib.core.backend import common_device, device, is_array, put, to_host
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import MissingInputError, TutorlibError
from tutorlib.core.graph import Symbol, Var, label
from tutorlib.core.parameter import Parameter


def result_form(outputs: Any) -> tuple[list[Any], Any]:
    """The outputs as a flat list, and how to give results the same form."""
    if outputs is None:
        return [], lambda values: None
    if isinstance(outputs, Mapping):
        keys = list(outputs)
        return _expressions(outputs.values()), lambda values: dict(zip(keys, values, strict=True))
    if isinstance(outputs, list | tuple):
        return _expressions(outputs), tuple if isinstance(outputs, tuple) else list
    return _expressions([outputs]), lambda values: values[0]


def _expressions(outputs: Iterable[Any]) -> list[Any]:
    found = list(outputs)
    for value in found:
        if isinstance(value, list | tuple | Mapping):
            raise TutorlibError(
                f"an output is {value!r:.60}, a {type(value).__name__} inside the outputs",
                fix="give one list, tuple or dict of expressions: [*group, other]",
            )
        if not isinstance(value, Var | int | float) and not is_array(value):
            what = f"{value!r:.60}, not an expression"
            if callable(value):
                what = f"the function {getattr(value, '__name__', None) or getattr(value, 'name', value)}, not called"
            raise TutorlibError(f"an output is {what}", fix="give what is to be computed, such as y = tl.exp(x)")
    return found


def evaluate(outputs: Any, givens: Mapping[Any, Any]) -> Any:
    """The value of an expression (or a list of them) with values for symbols: what ``Symbol.eval`` does."""
    flat, form = result_form(outputs)
    symbols = [as_symbol(v) for v in flat]
    keys = [k.symbol if isinstance(k, Parameter) else k for k in givens]
    for key in keys:
        if not isinstance(key, Symbol):
            raise MissingInputError(
                f"eval() takes values for symbols, {key!r:.60} is not one", fix="use the variable itself: {x: 2.0}"
            )
    if all(key.node is None for key in keys):
        from tutorlib.compile.prepare import plainly

        symbols = plainly(symbols)
    plan = Plan(keys, symbols)
    if plan.missing:
        names = ", ".join(label(v) for v in plan.missing)
        raise MissingInputError(f"no value was given for {names}", fix=f"pass it: .eval({{{names}: value}})")
    where = common_device([s.storage.value for s in plan.shared], "eval") if plan.shared else device()
    plan.move_constants(where)
    arrays = [put(accepted(k, v), where) for k, v in zip(keys, givens.values(), strict=True)]
    return form([plan.owned(to_host(r), arrays) for r in plan.run(arrays)])
