"""Decides about an answer, in a process that the learner's code has never touched.

A passed oracle is not enough: the values that it compared must be those of the reference, which the solution gave with
the same seed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.lessons import checker, exercises
from tutorlib.lessons.exercise import Exercise, Miss, close
from tutorlib.lessons.grading import witness

FORCED_SECONDS = 2.0


@dataclass(frozen=True)
class Reference:
    """What a right answer shows: for each place in the oracle that must agree, the value it must agree with.

    At the places in `own` the expected value depends on the answer itself; there the two only have to agree.
    `option` is the right one where one is chosen.
    """

    expected: dict[str, Any] = field(default_factory=dict, repr=False)
    own: frozenset[str] = frozenset()
    option: str | None = None

    @property
    def fixed(self) -> list[str]:
        """The places with values that every right answer shares."""
        return [site for site in self.expected if site not in self.own]


def reference_of(exercise: Exercise, found: dict[str, Any], seed: int) -> Reference:
    """The reference from what a worker found about the solution."""
    if exercise.options:
        return Reference(option=found["option"])
    agreed = [(site, expected) for site, _, expected, held in found["seen"] if held]
    expected = {site: value for site, value in agreed if value is not None and not _is_of_a_misconception(site)}
    return Reference(expected, frozenset(_depends_on_the_answer(exercise, expected, seed)))


def checked(found: dict[str, Any]) -> dict[str, Any]:
    """What a worker found, in the form that this module counts on: code in the worker may have written it."""
    hint, option = found.get("hint"), found.get("option")
    whole = isinstance(found.get("seen"), list) and "hint" in found
    return {
        "hint": hint if whole and (hint is None or isinstance(hint, str)) else "not_shown",
        "fields": {str(name): str(text) for name, text in _dict(found.get("fields")).items()},
        "seen": [entry for entry in _list(found.get("seen")) if _is_comparison(entry)],
        "option": option if isinstance(option, str) else None,
        "open": found.get("open") is True,
        "replaced": [str(name) for name in _list(found.get("replaced"))],
        "meddled": [str(name) for name in _list(found.get("meddled"))],
    }


def _dict(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_comparison(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 4 and isinstance(entry[0], str)


def outcome(exercise: Exercise, reference: Reference, found: dict[str, Any], seed: int) -> Miss | None:
    """What is wrong with an answer, from what a worker found about it, `checked`; None when it is right."""
    if exercise.options:
        option = ... if found["open"] else found["option"]
        return checker.judged(exercise, option, checker.generator(exercise.key, seed))
    if found["hint"] is not None:
        return _miss(found["hint"], found["fields"])
    if found["meddled"]:
        return Miss("meddled")
    seen = {entry[0]: entry for entry in found["seen"]}
    for site, value in reference.expected.items():
        if site not in seen:
            return Miss("not_shown")
        _, observed, expected, _ = seen[site]
        if not close(observed, expected if site in reference.own else value):
            return Miss("not_shown")
    return None


def _miss(hint: str, fields: dict[str, str]) -> Miss:
    miss = Miss(hint)
    miss.fields = fields
    return miss


def _depends_on_the_answer(exercise: Exercise, expected: dict[str, Any], seed: int) -> Iterable[str]:
    """The places where known wrong answers, led through the whole oracle, make it expect something else."""
    for code in (code for codes in exercise.wrong_answers.values() for code in codes):
        names: dict[str, Any] = {"np": np, "tl": tl}
        try:
            exec(compile(code, "<cell>", "exec"), names)
            _, seen = witness.judge(exercise, names.get(exercise.answer, ...), seed, FORCED_SECONDS, always=True)
        except Exception:
            continue
        for site, _, value, _ in seen:
            if site in expected and not close(value, expected[site]):
                yield site


def _is_of_a_misconception(site: str) -> bool:
    """Whether a place lies in `diagnose(…, hint=close(…))`: that comparison only chooses the hint."""
    name, line, column = site.partition("#")[0].rsplit(":", 2)
    return (int(line), int(column)) in _misconceptions(name)


@cache
def _misconceptions(name: str) -> set[tuple[int, int]]:
    path = Path(exercises.__file__).with_name(f"{name}.py")
    if not path.exists():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hints = [keyword.value for call in _calls(tree, "diagnose") for keyword in call.keywords]
    return {(call.lineno, call.col_offset) for hint in hints for call in _calls(hint, "close")}


def _calls(tree: ast.AST, name: str) -> list[ast.Call]:
    """The calls of the function with this name anywhere in the tree."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]


def statement(exercise: Exercise, reference: Reference) -> str:
    """What the check cell of a graded notebook prints for a right answer."""
    if exercise.options:
        return f"{exercise.key} {reference.option}"
    return witness.statement_of(exercise.key, reference.expected, reference.fixed)


def places(exercise: Exercise, reference: Reference) -> Sequence[str]:
    return [] if exercise.options else reference.fixed
