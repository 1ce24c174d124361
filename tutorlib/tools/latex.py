"""An expression as mathematics: LaTeX text that a notebook shows typeset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tutorlib.core.autodiff import grad
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Constant, Var, label
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import toposort

# How tightly the outermost operator of a text binds: a looser one needs brackets inside a tighter one.
SUM, PRODUCT, POWER, ATOM = range(4)
Text = tuple[str, int]
# A part used several times and longer than this gets a letter of its own, else the formula doubles with every use.
LONG = 30

_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega".split()
)


class Latex:
    r"""LaTeX text; in a notebook it shows as mathematics.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> print(tl.latex(tl.exp(-x) / (x + 1)))
    \frac{e^{-x}}{x + 1}
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.text}$"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<latex {self.text}>"


def latex(expression: Any, wrt: Any = None) -> Latex:
    r"""``expression`` (a symbol or a recorded tensor) as LaTeX; with ``wrt``, its gradient as an equation.

    Parts that are long and used more than once are named first. Raises TutorlibError for anything but a variable.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> print(tl.latex(tl.sin(x) * 2.0, wrt=x))
    \frac{\partial}{\partial x} \left(2 \sin x\right) = 2 \cos x
    """
    if not isinstance(expression, Var):
        raise TutorlibError(f"{type(expression).__name__} is no expression", fix="pass a symbol or a tensor")
    if wrt is None:
        return Latex(_formula(expression))
    of = _formula(expression)
    left = of if expression.name else f"\\left({of}\\right)"
    derivative = _simplified(grad(expression, wrt, disconnected="zero"))
    return Latex(f"\\frac{{\\partial}}{{\\partial {name_of(wrt)}}} {left} = {_formula(derivative)}")


def _simplified(expression: Any) -> Any:
    """A symbolic gradient as it is computed after rewriting: without products by one and sums over nothing."""
    if isinstance(expression, Tensor):
        return expression
    from tutorlib.compile.pipeline import rewritten

    return rewritten([expression], None)[0][0]


def name_of(var: Any) -> str:
    """A variable's name in mathematics: one letter in italics, Greek by its word, longer words upright."""
    if not isinstance(var, Var):
        return number(var)
    if isinstance(var, Constant) and not var.name:
        return number(var.value) if var.ndim == 0 else f"\\mathrm{{c}}_{{{'×'.join(map(str, var.shape))}}}"
    name = str(var.name) if var.name else "\\square" if var.node is None else label(var)
    if len(name) == 1 or name.startswith("\\"):
        return name
    base, index = split_name(name)
    shown = f"\\{base}" if base in _GREEK else base if len(base) == 1 else f"\\mathrm{{{_escaped(base)}}}"
    return f"{shown}_{{{_escaped(index)}}}" if index else shown


def split_name(name: str) -> tuple[str, str]:
    """A name and its index: what follows the first underscore, or the digits at its end.

    >>> split_name("W1"), split_name("w_in"), split_name("loss")
    (('W', '1'), ('w', 'in'), ('loss', ''))
    """
    base, _, index = name.partition("_")
    letters = base.rstrip("0123456789")
    return (letters, base[len(letters) :]) if not index and letters != base and letters else (base, index)


def _escaped(text: str) -> str:
    for character in "\\{}$&#%_^~":
        text = text.replace(
            character, {"\\": "\\backslash ", "^": "\\wedge ", "~": "\\sim "}.get(character, "\\" + character)
        )
    return text


def number(value: Any) -> str:
    """A number in LaTeX, powers of ten written out."""
    value = getattr(value, "item", lambda: value)() if getattr(value, "size", 1) == 1 else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"\\mathrm{{{value}}}"
    if value in (float("inf"), float("-inf")):
        return "\\infty" if value > 0 else "-\\infty"
    text = f"{value:.6g}"
    mantissa, e, exponent = text.partition("e")
    power = f"10^{{{int(exponent)}}}" if e else ""
    return text if not e else power if mantissa == "1" else f"{mantissa} \\cdot {power}"


def _bracketed(text: Text, at_least: int) -> str:
    return text[0] if text[1] >= at_least else f"\\left({text[0]}\\right)"


def _operator(template: str, level: int, *needed: int) -> Callable[..., Text]:
    return lambda node, *parts: (template.format(*map(_bracketed, parts, needed)), level)


def _applied(name: str) -> Callable[..., Text]:
    """A function: brackets only where the operand is more than one thing."""
    return lambda node, *parts: (
        f"{name} {parts[0][0]}"
        if len(parts) == 1 and parts[0][1] == ATOM
        else f"{name}\\left({', '.join(p[0] for p in parts)}\\right)",
        ATOM if len(parts) > 1 or parts[0][1] != ATOM else PRODUCT,
    )


def _wrapped(template: str, level: int = ATOM) -> Callable[..., Text]:
    return lambda node, *parts: (template.format(*(p[0] for p in parts)), level)


def _reduced(name: str) -> Callable[..., Text]:
    def show(node: Any, x: Text) -> Text:
        axis = node.attrs.get("axis")
        axes = "" if axis is None else f"_{{{', '.join(map(str, axis if isinstance(axis, tuple) else (axis,)))}}}"
        return f"{name}{axes} {_bracketed(x, PRODUCT)}", PRODUCT

    return show


def _product(node: Any, x: Text, y: Text) -> Text:
    left, right = _bracketed(x, PRODUCT), _bracketed(y, PRODUCT)
    if _is_number(right) and not _is_number(left):
        left, right = right, left  # a factor stands in front
    dot = " \\cdot " if right[:1].isdigit() or right.startswith("-") else " "
    return f"{left}{dot}{right}", PRODUCT


def _without_tape(name: str) -> Callable[..., Text]:
    """A recurrent layer of what it was called with; what its first operand keeps for the way back says nothing new."""
    return lambda node, tape, *parts: _applied(f"\\operatorname{{{name}}}")(node, *parts)


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdigit()


def _power(node: Any, x: Text, p: Text) -> Text:
    return f"{_bracketed(x, ATOM)}^{{{p[0]}}}", POWER


def _indexed(node: Any, x: Text, *arrays: Text) -> Text:
    def shown(item: Any) -> str:
        return "" if item is None else arrays[item.n][0] if hasattr(item, "n") else str(item)

    parts = []
    for item in node.attrs["index"]:
        if isinstance(item, slice):
            ends = ":".join(map(shown, (item.start, item.stop)))
            parts.append(ends if item.step is None else f"{ends}:{shown(item.step)}")
        else:
            parts.append("\\ldots" if item is Ellipsis else "\\cdot" if item is None else shown(item))
    return f"{_bracketed(x, ATOM)}_{{{', '.join(parts)}}}", ATOM


_CASES = "\\begin{{cases}} {1} & \\text{{if }} {0} \\\\ {2} & \\text{{else}} \\end{{cases}}"


def _choice(node: Any, number: int, condition: Text, *captured: Text) -> Text:
    """A result of an ``ifelse`` as its two branches."""
    then, otherwise = (_of_body(node.attrs[branch], number, captured) for branch in ("then", "otherwise"))
    return _wrapped(_CASES)(node, condition, then, otherwise)


def _of_body(body: Any, number: int, given: tuple[Text, ...]) -> Text:
    """A result of a graph inside a node, its inputs written as ``given``."""
    texts = {id(v): text for v, text in zip(body.inputs, given, strict=True)}
    for node in body.nodes:
        parts = [texts.get(id(v)) or _leaf(v) for v in node.inputs]
        texts.update((id(v), _shown(node, v.index, parts)) for v in node.outputs)
    return texts.get(id(body.outputs[number])) or _leaf(body.outputs[number])


def _leaf(var: Any) -> Text:
    shown = name_of(var)
    return shown, SUM if shown.startswith("-") else ATOM


def _shown(node: Any, number: int, parts: list[Text]) -> Text:
    """Result ``number`` of a node, from the texts of its operands."""
    if node.op.name == "ifelse":
        return _choice(node, number, *parts)
    show = SHOWN.get(node.op.name) or _applied(f"\\operatorname{{{_escaped(node.op.name)}}}")
    return show(node, *parts)


_TRANSPARENT = "cast identity broadcast_to broadcast_like unbroadcast reshape reshape_like expand_dims squeeze transfer"
SHOWN: dict[str, Callable[..., Text]] = {
    "add": _operator("{0} + {1}", SUM, SUM, SUM),
    "sub": _operator("{0} - {1}", SUM, SUM, PRODUCT),
    "mul": _product,
    "safe_mul": _product,
    "div": _wrapped("\\frac{{{0}}}{{{1}}}"),
    "safe_div": _wrapped("\\frac{{{0}}}{{{1}}}"),
    "neg": _operator("-{0}", SUM, PRODUCT),
    "reciprocal": _wrapped("\\frac{{1}}{{{0}}}"),
    "pow": _power,
    "square": _operator("{0}^2", POWER, ATOM),
    "sqrt": _wrapped("\\sqrt{{{0}}}"),
    "abs": _wrapped("\\left|{0}\\right|"),
    "exp": _wrapped("e^{{{0}}}", POWER),
    "floor": _wrapped("\\left\\lfloor {0} \\right\\rfloor"),
    "ceil": _wrapped("\\left\\lceil {0} \\right\\rceil"),
    "matmul": _operator("{0} \\, {1}", PRODUCT, PRODUCT, POWER),
    "linear": _operator("{0} \\, {1} + {2}", SUM, PRODUCT, POWER, SUM),
    **{name: _without_tape(name) for name in ("lstm", "gru")},
    "transpose": _operator("{0}^\\top", POWER, ATOM),
    "sum": _reduced("\\sum"),
    "mean": _reduced("\\operatorname{mean}"),
    "max": _reduced("\\max"),
    "min": _reduced("\\min"),
    "prod": _reduced("\\prod"),
    "getitem": _indexed,
    "where": _wrapped(_CASES),
    "maximum": _applied("\\max"),
    "minimum": _applied("\\min"),
    "sigmoid": _wrapped("\\sigma\\left({0}\\right)"),
    "eq": _operator("{0} = {1}", SUM, SUM, SUM),
    "ne": _operator("{0} \\neq {1}", SUM, SUM, SUM),
    "lt": _operator("{0} < {1}", SUM, SUM, SUM),
    "le": _operator("{0} \\leq {1}", SUM, SUM, SUM),
    "gt": _operator("{0} > {1}", SUM, SUM, SUM),
    "ge": _operator("{0} \\geq {1}", SUM, SUM, SUM),
    **{name: _applied(f"\\{name}") for name in "log sin cos tan tanh sinh cosh arcsin arccos arctan".split()},
    **{name: (lambda node, x, *like: x) for name in _TRANSPARENT.split()},
    "ones_like": lambda node, x: ("1", ATOM),
    "zeros_like": lambda node, x: ("0", ATOM),
    "count": lambda node, x: ("n", ATOM),
}


def _formula(expression: Var) -> str:
    """The text of an expression, bottom up; parts that are long and used again are defined first."""
    nodes = toposort([expression])
    uses = Counter(id(v) for node in nodes for v in node.inputs)
    texts: dict[int, Text] = {}
    definitions: list[str] = []

    def text_of(var: Any) -> Text:
        return texts[id(var)] if id(var) in texts else _leaf(var)

    for node in nodes:
        parts = [text_of(v) for v in node.inputs]
        for var in node.outputs:
            texts[id(var)] = text = _shown(node, var.index, parts)
            if len(text[0]) > LONG and uses[id(var)] > 1:
                letter = f"t_{{{len(definitions) + 1}}}"
                definitions.append(f"{letter} &= {text[0]}")
                texts[id(var)] = (letter, ATOM)
    whole = text_of(expression)[0]
    if not definitions:
        return whole
    lines = " \\\\ ".join([*definitions, f"& {whole}"])
    return f"\\begin{{aligned}} {lines} \\end{{aligned}}"
