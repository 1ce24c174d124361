"""What the learner calls things: variables, assignment targets, gradients; and formulas with those names put in."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tutorlib.core.source import SourceLine, resolve
from tutorlib.messages import language, table

__all__ = [
    "cost_name", "gradient_name", "in_words", "letters_of", "name_of", "place_of", "put_in", "source_of",
    "speaks_of_shape",
]  # fmt: skip

LONGEST_COST = 10
LONGEST_LINE = 400
_TOKEN = re.compile(r"∂L/∂[a-z]|(?<![A-Za-z∂])[a-df-z](?![A-Za-z])")
_FACTOR = re.compile(r"(\d)([a-z])(?![A-Za-z])")
_SHAPE = re.compile(r"(in|to) the shape of [a-z]|shaped like [a-z]")
_EXPONENTS = (("e⁻ˣ", "exp(−x)"), ("eˣ", "exp(x)"), ("eᶻ", "exp(z)"), ("xʸ⁻¹", "x^(y − 1)"), ("xʸ", "x^y"))
_OPERATORS = ("· ", "− ", "+ ", "/ ", "@ ")


def name_of(var: Any, node: Any = None) -> str | None:
    """The name a learner gave to `var`: its own, else the target of the assignment whose right side made `node`."""
    if getattr(var, "name", None):
        return str(var.name)
    source = getattr(node, "source", None)
    if (
        source is None
        or source.column is None
        or source.line != source.end_line
        or getattr(node, "role", "") != "forward"
    ):
        return None
    indent = _indent(source)
    return _assignments(source.text).get((source.column - indent, source.end_column - indent))


def _indent(source: Any) -> int:
    lines, at = source.context(0)
    raw = lines[at] if 0 <= at < len(lines) else ""
    return len(raw) - len(raw.lstrip())


@lru_cache(maxsize=1024)
def _assignments(text: str) -> dict[tuple[int, int], str]:
    """(start, end) of the right side → name, for each `name = value` on a line."""
    if "=" not in text or len(text) > LONGEST_LINE:
        return {}
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return {}
    found = {}
    for statement in body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
            if isinstance(target, ast.Name) and value.end_col_offset is not None:
                found[value.col_offset, value.end_col_offset] = target.id
    return found


def place_of(node: Any) -> Any:
    """Where in the program a node was made, to compare with others; None for what no line of a program made.

    The offset in the bytecode that the node keeps will not do: an interpreter that has run a loop a few times speeds it
    up, and then the same call has another offset.
    """
    mark = getattr(node, "place", None)
    source = resolve(mark)
    if source is None or source.column is None:
        return mark
    return source.filename, source.line, source.end_line, source.column, source.end_column


def source_of(node: Any) -> dict[str, Any] | None:
    """The `src` entry of the contract: place, line and two lines of context on each side."""
    source = getattr(node, "source", None)
    if source is None or not source.text:
        return None
    return dict(_entry(source))


@lru_cache(maxsize=1024)
def _entry(source: SourceLine) -> dict[str, Any]:
    lines, at = source.context(2)
    return {
        "where": source.where,
        "text": source.text[:LONGEST_LINE],
        "context": [line[:LONGEST_LINE] for line in lines],
        "at": at,
    }


def cost_name(name: str | None) -> str:
    """What stands above the ∂: the cost's own name where it is short, else L.

    >>> cost_name("loss"), cost_name(None)
    ('loss', 'L')
    """
    return name if name and len(name) <= LONGEST_COST else "L"


def gradient_name(cost: str, of: str) -> str:
    """The usual notation of a derivative.

    >>> gradient_name("loss", "w")
    '∂loss/∂w'
    """
    return f"∂{cost}/∂{of}"


def in_words(formula: str) -> str:
    """A formula of the engine's table with its words in the language of the learner, as far as they are translated.

    >>> in_words("z = x where c, else y")
    'z = x where c, else y'
    """
    return _in_language(formula, language())


@lru_cache(maxsize=2048)
def _in_language(formula: str, lang: str) -> str:
    for pattern, words in _phrases(lang):
        formula = pattern.sub(words, formula)
    return formula


@lru_cache(maxsize=8)
def _phrases(lang: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """English phrases as patterns, the longest first, each with what it becomes; `{v}` stands for a letter."""
    english, here = table("widgets", "en"), table("widgets", lang)
    ids = [id for id in english if id.startswith("widgets.formula_") and here[id] != english[id]]
    found = []
    for id in sorted(ids, key=lambda id: -len(english[id])):
        pattern = re.escape(english[id]).replace(re.escape("{v}"), "(∂L/∂[a-z]|[a-z])")
        found.append((re.compile(f"(?<![a-z]){pattern}(?![a-z])"), here[id].replace("{v}", r"\1")))
    return tuple(found)


def put_in(formula: str, names: Mapping[str, str]) -> str:
    """`formula` with each letter, and each ∂L/∂letter, replaced by what `names` says for it, others left as they are.

    Words are put into the language of the learner. Exponents become plain text where that is needed, and a negative
    number gets parentheses inside an expression.

    >>> put_in("∂L/∂x = ∂L/∂z · y", {"y": "-2", "∂L/∂z": "1", "∂L/∂x": "-2"})
    '-2 = 1 · (-2)'
    >>> put_in("z = eˣ", {"z": "p", "x": "score"})
    'p = exp(score)'
    """
    formula = in_words(formula)
    for short, plain in _EXPONENTS:
        formula = formula.replace(short, plain)
    formula = _FACTOR.sub(r"\1 · \2", formula)

    def said(found: re.Match[str]) -> str:
        name = names.get(found[0])
        if name is None:
            return found[0]
        inside = found.start() > 0 and (
            formula[found.start() - 1] in "−-" or formula[: found.start()].endswith(_OPERATORS)
        )
        powered = found.end() < len(formula) and formula[found.end()] in "²^"
        return f"({name})" if name.startswith(("-", "−")) and (inside or powered) else name

    return _TOKEN.sub(said, formula)


def letters_of(formula: str, shapes: bool = False) -> list[str]:
    """The letters whose values the right side of a formula uses, in order; a shape is no value (unless `shapes`).

    >>> letters_of("∂L/∂x = ∂L/∂z · y"), letters_of("z = x where c, else y"), letters_of("z = x in the shape of y")
    (['y'], ['x', 'c', 'y'], ['x'])
    >>> letters_of("z = x in the shape of y", shapes=True)
    ['x', 'y']
    """
    for short, plain in _EXPONENTS:
        formula = formula.replace(short, plain)
    right = _FACTOR.sub(r"\1 · \2", formula.partition("=")[2])
    right = right if shapes else _SHAPE.sub("", right)
    return list(dict.fromkeys(token for token in _TOKEN.findall(right) if len(token) == 1))


def speaks_of_shape(formula: str) -> bool:
    """Whether a formula needs the shape of a variable beside values: then numbers alone do not say it."""
    return bool(_SHAPE.search(formula))
