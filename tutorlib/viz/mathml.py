"""The engine's formulas as presentation MathML, ready for a learner's own names.

A tree is a list `[element, child, …]`: the child of a token (mi, mn, mo, mtext) is text, all others are trees. A bare
string is a placeholder: a letter of the formula ("x"), or a derivative ("∂L/∂x"). A page makes elements from a tree
one by one, so no name can become markup.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from tutorlib.tools.latex import split_name

__all__ = ["markup", "math_of", "name_tree", "with_names"]

Tree = Any
TOKENS = frozenset(("mi", "mn", "mo", "mtext"))
_SCAN = re.compile(
    r"∂L/∂[a-z]|-?[\u0980-\u09ff]+|\d+(?:\.\d+)?|[^\W\d_¹²³⁰-⁹ˣʸᶻᵀ₀-₉ₖ]+(?:-[A-Za-z]+)*|[⁻⁺¹²³ˣʸᶻᵀ]+|[₋₀-₉ₖ]+|\S",
    re.UNICODE,
)
_FUNCTIONS = frozenset(
    "log exp sin cos tan sinh cosh tanh arcsin arccos arctan erf sign sigmoid softmax mean var max min adj det sym "
    "σ Φ φ Σ Π".split()
)
_RAISED = dict(zip("⁻⁺¹²³ˣʸᶻᵀ", "−+123xyzT", strict=True))
_LOWERED = dict(zip("₋₀₁₂₃₄₅₆₇₈₉ₖ", "−0123456789k", strict=True))
NBSP = "\N{NO-BREAK SPACE}"
_OPEN = {"(": ")", "[": "]", "⌊": "⌋", "⌈": "⌉"}
_GREEK_WORDS = "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
_GREEK_LETTERS = dict(zip(_GREEK_WORDS.split(), "αβγδεζηθκλμνξπρστφχψω", strict=True))


@lru_cache(maxsize=1024)
def math_of(formula: str) -> Tree:
    """The tree of a formula of the table, such as `"∂L/∂x = ∂L/∂z · y"`.

    A division becomes a fraction; divided by, a derivative stays a factor of its own: what follows it is the local
    derivative.

    >>> math_of("z = x · y")
    ['mrow', 'z', ['mo', '='], 'x', ['mo', '·'], 'y']
    >>> math_of("∂L/∂x = ∂L/∂z / x")[-1]
    ['mfrac', ['mn', '1'], 'x']
    """
    return _Reader(_SCAN.findall(formula)).row()


def name_tree(name: str) -> Tree:
    """A learner's name in mathematics: Greek letters by their words, a number at the end as an index.

    >>> name_tree("W1"), name_tree("alpha"), name_tree("-2")
    (['msub', ['mi', 'W'], ['mn', '1']], ['mi', 'α'], ['mn', '-2'])
    """
    if name.startswith("∂") and "/∂" in name:
        cost, _, of = name[1:].partition("/∂")
        return ["mfrac", ["mrow", ["mo", "∂"], name_tree(cost)], ["mrow", ["mo", "∂"], name_tree(of)]]
    if re.fullmatch(r"[-−]?[\d.]+(e[-+]?\d+)?", name):
        return ["mn", name]
    if not name.isidentifier():
        return ["mtext", name]
    base, index = split_name(name)
    shown = ["mi", _GREEK_LETTERS.get(base, base)]
    return ["msub", shown, ["mn" if index.isdigit() else "mi", index]] if index else shown


def with_names(tree: Tree, names: dict[str, Tree]) -> Tree:
    """`tree` with its placeholders filled in; `names["L"]` stands above the ∂.

    >>> with_names("∂L/∂x", {"x": ["mi", "w"], "L": ["mi", "loss"]})
    ['mfrac', ['mrow', ['mo', '∂'], ['mi', 'loss']], ['mrow', ['mo', '∂'], ['mi', 'w']]]
    """
    if isinstance(tree, str):
        if tree.startswith("∂L/∂"):
            above = names.get("L", ["mi", "L"])
            return ["mfrac", ["mrow", ["mo", "∂"], above], ["mrow", ["mo", "∂"], with_names(tree[4:], names)]]
        return names.get(tree, ["mi", tree])
    if tree[0] in TOKENS:
        return tree
    return [tree[0], *(with_names(child, names) for child in tree[1:])]


def markup(tree: Tree) -> str:
    """A tree without placeholders as MathML text.

    >>> markup(with_names(math_of("z = x²"), {"z": ["mi", "a<b"]}))
    '<math display="block"><mrow><mi>a&lt;b</mi><mo>=</mo><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'
    """

    def said(part: Tree) -> str:
        if part[0] in TOKENS:
            text = part[1].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            return f"<{part[0]}>{text}</{part[0]}>"
        return f"<{part[0]}>{''.join(map(said, part[1:]))}</{part[0]}>"

    return f'<math display="block">{said(tree)}</math>'


class _Reader:
    """Reads the tokens of one formula from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def row(self, end: str = "") -> Tree:
        """Everything up to `end`, which is read too."""
        found: list[Tree] = []
        while self.peek() and self.peek() != end:
            if self.peek() == "/" and found and self.at + 1 < len(self.tokens):
                self.at += 1
                above, below = found.pop(), _bare(self.factor())
                if isinstance(above, str) and above.startswith("∂"):
                    found += [above, ["mo", "·"], ["mfrac", ["mn", "1"], below]]
                else:
                    found.append(["mfrac", _bare(above), below])
            else:
                found.append(self.factor())
        self.at += 1
        found = _sentences(found)
        return found[0] if len(found) == 1 else ["mrow", *found]

    def factor(self) -> Tree:
        """One operand with what is raised and lowered at it, or one operator."""
        token = self.peek()
        self.at += 1
        if token == "√":
            return ["msqrt", _bare(self.factor())]
        if token in _OPEN:
            inside = self.row(_OPEN[token])
            base: Tree = ["mrow", ["mo", token], inside, ["mo", _OPEN[token]]]
        elif token in _FUNCTIONS:
            name = self.marked(["mo" if token in "ΣΠ" else "mi", token])
            following = self.peek()
            if name[0] == "mi" and following not in _OPEN:
                name = ["mi", f"{token}\N{THIN SPACE}"]
            if following in _OPEN or following in _FUNCTIONS or _is_operand(following):
                return ["mrow", name, self.factor()]
            return name
        elif _is_operand(token):
            base = token if token.startswith("∂") or (token != "e" and not token[0].isdigit()) else _leaf(token)
        elif token.strip("-")[:1].isalpha():
            return ["mtext", token]
        else:
            return ["mo", token]
        return self.marked(base)

    def marked(self, base: Tree) -> Tree:
        """`base` with the exponent and the index that follow it."""
        token = self.peek()
        if token and token[0] in _LOWERED:
            self.at += 1
            return self.marked(["msub", base, _small(token, _LOWERED)])
        if token and token[0] in _RAISED:
            self.at += 1
            return self.marked(["msup", base, _small(token, _RAISED)])
        if token == "^":
            self.at += 1
            return ["msup", base, _bare(self.factor())]
        return base


def _is_operand(token: str) -> bool:
    return bool(token) and (token.startswith("∂L/∂") or token[0].isdigit() or (len(token) == 1 and token.isalpha()))


def _leaf(token: str) -> Tree:
    return ["mn" if token[0].isdigit() else "mi", token]


def _small(token: str, signs: dict[str, str]) -> Tree:
    parts: list[Tree] = []
    for sign in token:
        plain = signs[sign]
        if plain == "T":
            parts.append(["mo", "⊤"])
        elif plain in "−+":
            parts.append(["mo", plain])
        else:
            parts.append(["mn", plain] if plain.isdigit() else ["mi", plain] if plain == "k" else plain)
    return parts[0] if len(parts) == 1 else ["mrow", *parts]


def _bare(tree: Tree) -> Tree:
    """Without the brackets that a fraction bar, a root or a raised position makes needless."""
    return tree[2] if isinstance(tree, list) and tree[0] == "mrow" and tree[1] == ["mo", "("] else tree


def _sentences(parts: list[Tree]) -> list[Tree]:
    """Words that stand side by side as one text, with the spaces that a row of mathematics would swallow."""
    found: list[Tree] = []
    for part in parts:
        if isinstance(part, list) and part[0] == "mtext":
            # An ending such as "-এর" belongs to what stands before it.
            ending = part[1].startswith("-")
            if found and isinstance(found[-1], list) and found[-1][0] == "mtext":
                before = found[-1][1].removesuffix(NBSP) if ending else found[-1][1]
                found[-1] = ["mtext", f"{before}{part[1]}{NBSP}"]
                continue
            part = ["mtext", f"{part[1] if ending else NBSP + part[1]}{NBSP}"]
        found.append(part)
    return found
