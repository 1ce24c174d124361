"""What Python asks of a symbol and a symbol cannot answer: a truth value, a number, an attribute of tensors.

Each question has an error that names the learner's line and the one thing to write in its place.
"""

from __future__ import annotations

import re
from typing import Any

from tutorlib.core.errors import ModeMixError, TutorlibError
from tutorlib.core.source import mark, resolve

_COMPUTE = "compute a value first: expr.eval({x: …}), or f = tl.function([x], expr) and call f"


class SymbolAttributeError(TutorlibError, AttributeError):
    """An attribute that tensors and arrays have and symbols have not."""


# By attribute: what to write instead.
INSTEAD = {
    **dict.fromkeys(("numpy", "item", "tolist", "data", "get_value", "tobytes"), _COMPUTE),
    "backward": "ask for the gradients, which are symbols too: tl.grad(loss, [w, b])",
    "grad": "ask for the gradient, which is a symbol too: tl.grad(loss, x)",
    "zero_grad": "leave it out: tl.grad gives a new gradient each time",
    "requires_grad": "leave it out: tl.grad(loss, x) may be asked of any symbol",
    "requires_grad_": "leave it out: tl.grad(loss, x) may be asked of any symbol",
    "detach": "tl.stop_gradient(x)",
    "cpu": "say where when you make it: tl.shared(value, device=…)",
    "cuda": "say where when you make it: tl.shared(value, device=…)",
}


_OF_SHARED = dict.fromkeys(
    ("value", "numpy", "item", "tolist", "data"), "read it with get_value(), write it with set_value(v)"
)


def no_attribute(symbol: Any, name: str) -> AttributeError:
    """The error for ``symbol.name``."""
    kind = type(symbol).__name__
    fix = (_OF_SHARED.get(name) if kind == "Shared" else None) or INSTEAD.get(name)
    if fix is None:
        return AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=symbol)
    what = "a shared variable" if kind == "Shared" else "a symbol"
    return SymbolAttributeError(f"{symbol.name or 'this'} is {what}: it has no attribute {name!r}", fix=fix)


def no_value(asked: str, label: str) -> ModeMixError:
    """The error for asking the symbol called ``label`` for its value. ``asked``: "bool", "float", "int", "index" or
    "array"."""
    what, fix = _WORDS[asked](*_lines())
    return ModeMixError(f"{what} needs a value, and the symbol {label} has none while the graph is built", fix=fix)


def not_assigned(label: str, shared: bool) -> ModeMixError:
    """The error for ``symbol[i] = value``."""
    return ModeMixError(
        f"{label} is a symbol: what it stands for cannot be written into",
        fix="update it when a function is called: updates=[(w, w.at[i].set(value))]"
        if shared
        else "make a new one with the elements replaced: x = x.at[i].set(value)",
    )


def _lines() -> tuple[str, str]:
    """The learner's expression, and the line it stands in."""
    line = resolve(mark())
    if line is None:
        return "", ""
    text = line.text
    raw, _, tildes = line.pointer().partition("\n")
    return (raw[tildes.index("~") :][: tildes.count("~")] if "~" in tildes else text), text


def _of_bool(asked: str, line: str) -> tuple[str, str]:
    outside = re.sub(r"\"[^\"]*\"|'[^']*'", "", asked)
    if re.search(r"\b(and|or)\b", outside):
        return "`and` or `or`", "write & and |, with parentheses: (x > 0) & (x < 1)"
    if re.search(r"\bnot\b", outside):
        return "`not`", "write ~condition, or tl.logical_not(condition)"
    if re.search(r"\bin\b", outside):
        return "`in`", "compare and reduce: tl.any(x == value)"
    if found := re.search(r"\b(max|min|sorted|any|all)\(", outside):
        other = {"max": "tl.maximum(a, b)", "min": "tl.minimum(a, b)"}.get(found[1], f"tl.{found[1]}(x)")
        return f"Python's {found[1]}()", f"use {'tl.sort(x)' if found[1] == 'sorted' else other}"
    if re.search(r"[<>]=?[^<>=()]+[<>]=?", outside):
        return "a comparison of three", "make it two: (low < x) & (x < high)"
    if line.startswith("while"):
        return "`while`", "put the loop into the graph: tl.while_loop(condition, body, init)"
    if line.startswith("assert"):
        return "`assert`", _COMPUTE
    return (
        "`if`",
        "put the choice into the graph: tl.ifelse(condition, lambda: a, lambda: b), or by element "
        "tl.where(condition, a, b)",
    )


def _of_number(kind: str) -> Any:
    def words(asked: str, line: str) -> tuple[str, str]:
        if found := re.search(r"\bmath\.(\w+)\(", asked):
            return f"math.{found[1]}()", f"use the function of tl: tl.{found[1]}(x)"
        if "%" in asked or re.match(r"[rR]?[fF][rR]?[\"']", asked):
            return "formatting", _COMPUTE
        return f"{kind}()", f'to change the dtype write tl.cast(x, "{kind}64"); {_COMPUTE}'

    return words


def _of_index(asked: str, line: str) -> tuple[str, str]:
    if "range(" in asked:
        return "range()", "put the loop into the graph: tl.scan(step, init=…, length=n)"
    return "an index into a Python list", "make the list an array of the graph: tl.stack(items)[i]"


def _of_array(asked: str, line: str) -> tuple[str, str]:
    return "turning it into a NumPy array", f"symbols are joined by tl.stack([a, b]); {_COMPUTE}"


_WORDS = {
    "bool": _of_bool,
    "float": _of_number("float"),
    "int": _of_number("int"),
    "index": _of_index,
    "array": _of_array,
}
