"""Turns an exercise cell with its solution into what the learner gets, and into what the tests run.

The solution stands between `### BEGIN SOLUTION` and `### END SOLUTION`, nbgrader's markers. Inside a function or a
class it becomes one line that raises; at the top level each assigned name becomes `name = ...`. Either way the cell
runs without an error, so that a notebook with open exercises runs to its end.
"""

import ast
import textwrap

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
STUB = 'raise NotImplementedError("your code here")'
UNSET = "...  # your answer here"


class RegionError(ValueError):
    """A solution region that cannot be replaced; `line` counts from 1 within the cell."""

    def __init__(self, line: int, problem: str):
        super().__init__(problem)
        self.line = line


def has_solution(code: str) -> bool:
    """Whether a cell's code has a solution marker, well placed or not."""
    return BEGIN in code or END in code


def without_markers(code: str) -> str:
    """The code with its solution, only the marker lines removed."""
    _regions(code)
    return "\n".join(line for line in code.splitlines() if line.strip() not in (BEGIN, END))


def with_stubs(code: str) -> str:
    """The code as a learner gets it: every solution replaced by a stub of the same indentation.

    >>> print(with_stubs('def f(x):\\n    ### BEGIN SOLUTION\\n    return 2 * x\\n    ### END SOLUTION'))
    def f(x):
        raise NotImplementedError("your code here")
    """
    lines = code.splitlines()
    kept: list[str] = []
    done = 0
    for begin, end in _regions(code):
        indent = lines[begin][: len(lines[begin]) - len(lines[begin].lstrip())]
        body = "\n".join(lines[begin + 1 : end])
        kept += lines[done:begin]
        kept += [indent + STUB] if indent else [f"{name} = {UNSET}" for name in _assigned(body, begin)]
        done = end + 1
    return "\n".join(kept + lines[done:])


def solutions(code: str) -> list[str]:
    """The text of each solution region, without its indentation."""
    lines = code.splitlines()
    return [textwrap.dedent("\n".join(lines[begin + 1 : end])).strip() for begin, end in _regions(code)]


def _regions(code: str) -> list[tuple[int, int]]:
    """The line indices of each begin marker and its end marker."""
    found: list[tuple[int, int]] = []
    begin: int | None = None
    for number, line in enumerate(code.splitlines()):
        marker = line.strip()
        if marker not in (BEGIN, END):
            if BEGIN in line or END in line:
                raise RegionError(number + 1, "a solution marker must stand alone on its line")
        elif (marker == BEGIN) == (begin is not None):
            raise RegionError(number + 1, f"{marker} without its partner")
        elif marker == BEGIN:
            begin = number
        else:
            assert begin is not None
            found.append((begin, number))
            begin = None
    if begin is not None:
        raise RegionError(begin + 1, f"{BEGIN} without its partner")
    return found


def _assigned(body: str, begin: int) -> list[str]:
    """The names a top-level solution assigns, in order; anything but assignments is refused."""
    names: list[str] = []
    for statement in ast.parse(body).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if not targets or not all(isinstance(target, ast.Name) for target in targets):
            line = begin + 1 + statement.lineno
            raise RegionError(line, "a solution outside a function may only assign to names")
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    if not names:
        raise RegionError(begin + 1, "an empty solution")
    return list(dict.fromkeys(names))
