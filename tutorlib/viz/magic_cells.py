"""The text of a cell as something to run: its last expression gives a value, its lines keep their numbers."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Cell"]


class Cell:
    """A cell below a magic.

    Attributes: `has_value`, whether it ends with an expression; `assigned`, the names it assigns, in their order;
    `read`, the names it reads that it has not assigned before.
    """

    def __init__(self, shell: Any, text: str) -> None:
        # The magic is the cell's first line, so that errors and graphs name the lines that the learner sees.
        source = "\n" + shell.input_transformer_manager.transform_cell(text)
        self.name = shell.compile.cache(source, shell.execution_count)
        tree = ast.parse(source, self.name)
        last = tree.body[-1] if tree.body else None
        quiet = source.rstrip().endswith(";")
        self.has_value = isinstance(last, ast.Expr) and not quiet
        self.assigned, self.read = _names_of(tree)
        end = tree.body.pop() if isinstance(last, ast.Expr) and not quiet else None
        self._body = compile(tree, self.name, "exec")
        self._end = None if end is None else compile(ast.Expression(end.value), self.name, "eval")

    def run(self, names: dict[str, Any]) -> Any:
        """Run it among these names; returns the value of its last expression, or None."""
        exec(self._body, names)
        return None if self._end is None else eval(self._end, names)

    def as_function(self, names: dict[str, Any], arguments: Sequence[str]) -> Callable[..., Any]:
        """A function of some names that runs the cell among a copy of the others: it changes none of them."""

        def cell(*values: Any) -> Any:
            return self.run({**names, **dict(zip(arguments, values, strict=True))})

        kind = inspect.Parameter.POSITIONAL_ONLY
        cell.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in arguments])  # type: ignore[attr-defined]
        return cell


def _names_of(tree: ast.Module) -> tuple[list[str], list[str]]:
    """Names assigned at the top of a cell, and names read before they are assigned, each once, in their order."""
    assigned: dict[str, None] = {}
    read: dict[str, None] = {}
    for statement in tree.body:
        stores: list[str] = []
        loads: list[str] = []
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                (stores if isinstance(node.ctx, ast.Store) else loads).append(node.id)
        read.update(dict.fromkeys(name for name in loads if name not in assigned))
        for name in stores:
            assigned.pop(name, None)
            assigned[name] = None
    return list(assigned), list(read)
