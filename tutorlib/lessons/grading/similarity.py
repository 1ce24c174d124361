"""Which answers have the same structure once names and comments are set aside. A report to look into, no verdict."""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping

SMALLEST = 25


class _Renamed(ast.NodeTransformer):
    """Numbers local names, in the order in which they appear; names that are only read keep theirs."""

    def __init__(self, own: set[str]):
        self.numbers = {name: f"v{number}" for number, name in enumerate(sorted(own))}
        self.seen: dict[str, str] = {}

    def named(self, name: str) -> str:
        if name not in self.numbers:
            return name
        return self.seen.setdefault(name, f"v{len(self.seen)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.named(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg, node.annotation = self.named(node.arg), None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.named(node.name)
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
        return node


def structure(code: str) -> str | None:
    """A short hash of the code's structure; None for code that does not parse or is too small to tell anything.

    >>> one = "def f(a):\\n    b = a * 2 + 1\\n    return b * b - a"
    >>> structure(one) == structure("def g(x):\\n    # y\\n    y = x*2+1\\n    return y*y-x")
    True
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = list(ast.walk(tree))
    if len(nodes) < SMALLEST:
        return None
    own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return hashlib.sha256(ast.dump(_Renamed(own).visit(tree)).encode()).hexdigest()[:12]


def alike(answers: Mapping[str, Mapping[str, str]], given: Iterable[str]) -> list[dict[str, object]]:
    """Groups of submissions whose answer to an exercise has one structure.

    `answers` maps a submission to its code by exercise. What has the structure of a code in `given`, the lesson's stubs
    and solutions, is left out.
    """
    handed_out = {structure(code) for code in given}
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, code in answers.items():
        for key, text in code.items():
            found = structure(text)
            if found is not None and found not in handed_out:
                groups[key, found].append(name)
    return [
        {"exercise": key, "submissions": sorted(names)} for (key, _), names in sorted(groups.items()) if len(names) > 1
    ]
