"""What a Python function does that its graph cannot show: the branches it takes, the values that another run would not
give again, its prints.

``tl.trace`` runs a function once and keeps the graph; this module finds out what that one run decided for good. It sees
the function's own text and the functions written inside it. What a function reads is in ``read_around``.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from tutorlib.compile.read_around import codes_of
from tutorlib.compile.tree import flatten
from tutorlib.core.backend import is_array, to_host
from tutorlib.core.errors import shape_text
from tutorlib.core.graph import Var
from tutorlib.core.parameter import Parameter
from tutorlib.core.source import SourceLine
from tutorlib.core.tensor import Tensor

# Larger arrays are told apart by identity: comparing their contents at every call would cost more than the call.
COMPARED_BYTES = 1 << 16
_PLAIN = (bool, int, float, complex, str, bytes, np.generic)


@dataclass(frozen=True)
class Decision:
    """Something that happened once, while tracing: ``where`` (a line), ``text`` (its code), ``outcome``."""

    where: str
    text: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.where}: `{self.text}` {self.outcome}"


def fingerprint(value: Any) -> Any:
    """Something hashable that differs when ``value`` does, as far as that can be seen; None for what is not data."""
    if value is None or isinstance(value, _PLAIN):
        return (type(value).__name__, repr(value))
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        value = value._data
    if isinstance(value, np.ndarray):
        small = value.nbytes <= COMPARED_BYTES
        return ("array", value.shape, value.dtype.str, value.tobytes() if small else id(value))
    if is_array(value):
        return ("array", value.shape, value.dtype.str, id(value))
    if isinstance(value, tuple | list | dict):
        leaves, form = flatten(value)
        parts = tuple(fingerprint(leaf) for leaf in leaves[:1000])
        return None if None in parts else (form, parts)
    return None


def described(value: Any) -> str:
    """A value in few words."""
    if isinstance(value, Var) or is_array(value):
        if value.shape:
            size = math.prod(d or 0 for d in value.shape) * value.dtype.itemsize
            unseen = ", too large to see a change inside it" if size > COMPARED_BYTES else ""
            return f"array {shape_text(value.shape)} of {value.dtype}{unseen}"
        value = to_host(value._data if isinstance(value, Tensor) else value).item()
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


@contextmanager
def counting_lines(fn: Callable[..., Any]) -> Iterator[Counter[int]]:
    """How often each line of a function runs inside the block."""
    hits: Counter[int] = Counter()
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    if code is None:
        yield hits
        return
    mine = set(codes_of(code))
    before = sys.gettrace()

    def on_call(frame: FrameType, event: str, arg: Any) -> Any:
        if before is not None:
            before(frame, event, arg)  # type: ignore[arg-type]
        return on_line if frame.f_code in mine else None

    def on_line(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            hits[frame.f_lineno] += 1
        return on_line

    sys.settrace(on_call)
    try:
        yield hits
    finally:
        sys.settrace(before)


def _in_order(tree: ast.Module, line: int) -> list[Any]:
    """The nodes of the function that starts at ``line``, as they stand in the text."""
    of_def = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)][:1]
    inside: list[Any] = of_def or [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == line]
    bodies = [part for n in inside for part in (n.body if isinstance(n.body, list) else [n.body])]
    nodes: list[Any] = [n for part in bodies for n in ast.walk(part) if hasattr(n, "lineno")]
    return sorted(nodes, key=lambda n: (n.lineno, n.col_offset))


def decisions(fn: Callable[..., Any], hits: Counter[int]) -> tuple[list[Decision], list[Decision]]:
    """(branches and loops, prints) of a function of which these lines have run; nothing where its text is not known."""
    plain = getattr(fn, "__func__", fn)
    try:
        lines, first = inspect.getsourcelines(plain)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return [], []
    offset = max(first, 1) - 1
    filename = plain.__code__.co_filename

    def ran(node: Any) -> int:
        return hits[node.lineno + offset]

    def made(node: Any, text: str, outcome: str) -> Decision:
        line = SourceLine(filename, node.lineno + offset, node.lineno + offset, None, None)
        return Decision(line.where, text, outcome)

    branches, prints = [], []
    told: set[ast.AST] = set()
    for node in _in_order(tree, plain.__code__.co_firstlineno - offset):
        if isinstance(node, ast.If) and ran(node):
            apart = node.body[0].lineno != node.lineno
            taken = "was true" if ran(node.body[0]) else "was false"
            branches.append(made(node, f"if {ast.unparse(node.test)}", taken if apart else "was decided"))
        elif isinstance(node, ast.IfExp) and ran(node):
            branches.append(made(node, ast.unparse(node), "was decided"))
        elif isinstance(node, ast.For | ast.While) and ran(node):
            times = ran(node.body[0]) if node.body[0].lineno != node.lineno else 0
            head = (
                f"while {ast.unparse(node.test)}"
                if isinstance(node, ast.While)
                else f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
            )
            ran_times = f"ran {times} times, each a part of the graph" if times else "ran while tracing"
            branches.append(made(node, head, ran_times))
        elif isinstance(node, ast.Call) and node not in told and ran(node) and _gives_another_value(plain, node.func):
            told.update(ast.walk(node.func))
            branches.append(made(node, ast.unparse(node), "ran while tracing; every call uses that one value"))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and ran(node):
            prints.append(made(node, ast.unparse(node), "ran while tracing; no call of the graph prints it"))
    return branches, prints


# Modules whose functions give another value each time.
_CHANGING = ("numpy.random", "random", "time", "datetime", "secrets", "uuid", "_io")


def _gives_another_value(fn: Any, called: ast.expr) -> bool:
    """Whether what is called, a dotted name that ``fn`` reads, draws random numbers, tells the time or the like."""
    names: list[str] = []
    while isinstance(called, ast.Attribute):
        names.append(called.attr)
        called = called.value
    if isinstance(called, ast.Call):  # np.random.default_rng().normal()
        return _gives_another_value(fn, called.func)
    if not isinstance(called, ast.Name):
        return False
    value = inspect.getclosurevars(fn)
    found: Any = {**value.builtins, **value.globals, **value.nonlocals}.get(called.id)
    for name in reversed(names):
        found = getattr(found, name, None) if isinstance(found, ModuleType | type | np.random.Generator) else None
    owner = getattr(found, "__self__", None)
    home = type(owner).__module__ if owner is not None and not isinstance(owner, ModuleType) else ""
    home = home if home not in ("", "builtins") else getattr(found, "__module__", None) or ""
    return found is input or any(home == name or home.startswith(f"{name}.") for name in _CHANGING)
