"""A graph as an indented text tree, shared parts written once and referred to by their label."""

from __future__ import annotations

from typing import Any

from tutorlib.core.errors import shape_text
from tutorlib.core.graph import Var, label

_LIMIT = 2_000


def debugprint(graph: Any, file: Any = None, limit: int = _LIMIT) -> str:
    """The text of a graph: one line a variable, indented under what uses it.

    Args:
        graph: a tensor, a symbol, a list of them, or a compiled function.
        file: where to print it too (``sys.stdout`` for the screen).
        limit: how many lines at most; what is left out is counted.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> y = x * x
    >>> print(debugprint(y + y))
    add [A] float64 ()
     ├─ mul [B] float64 ()
     │   ├─ x (input) float64 ()
     │   └─ x (input) float64 ()
     └─ mul [B] see above
    """
    roots = _roots(graph)
    lines: list[str] = []
    labels: dict[int, str] = {}
    for title, root in roots:
        if title:
            lines.append(title)
        _tree(root, lines, labels, limit)
    hidden = len(lines) - limit
    if hidden > 0:
        lines = [*lines[:limit], f"… {hidden} more lines"]
    text = "\n".join(lines)
    if file is not None:
        print(text, file=file)
    return text


def _roots(graph: Any) -> list[tuple[str, Any]]:
    if hasattr(graph, "updates") and hasattr(graph, "outputs") and not isinstance(graph, Var):
        outputs = [("output:" if len(graph.outputs) == 1 else f"output {i}:", v) for i, v in enumerate(graph.outputs)]
        return outputs + [(f"update {label(s)} ←", v) for s, v in graph.updates]
    return [("", v) for v in (graph if isinstance(graph, list | tuple) else [graph])]


def _letters(n: int) -> str:
    text = ""
    n += 1
    while n:
        n, rest = divmod(n - 1, 26)
        text = chr(65 + rest) + text
    return text


def _line(var: Any, labels: dict[int, str]) -> str:
    if not isinstance(var, Var):
        return f"{label(var)} (constant)"
    known = f"{var.dtype} {shape_text(var.shape)}"
    if var.node is None:
        kind = getattr(var, "kind", "tensor")
        return f"{label(var)} ({kind}) {known}"
    name = f" {var.name}" if var.name else ""
    role = " ∂" if var.node.role == "backward" else ""
    return f"{var.node.op.name} [{labels[id(var)]}]{name}{role} {known}"


def _tree(root: Any, lines: list[str], labels: dict[int, str], limit: int) -> None:
    # (variable, prefix of this line, prefix of the lines below it)
    stack: list[tuple[Any, str, str]] = [(root, "", "")]
    while stack:
        var, here, below = stack.pop()
        if len(lines) > limit:
            lines.append("")
            continue
        if id(var) in labels:
            lines.append(f"{here}{var.node.op.name} [{labels[id(var)]}] see above")
            continue
        if isinstance(var, Var) and var.node is not None:
            labels[id(var)] = _letters(len(labels))
        lines.append(here + _line(var, labels))
        if isinstance(var, Var) and var.node is not None:
            inputs = var.node.inputs
            for i, child in reversed(list(enumerate(inputs))):
                last = i == len(inputs) - 1
                stack.append((child, below + (" └─ " if last else " ├─ "), below + ("    " if last else " │  ")))
