"""All exercises, one module a lesson: `l04.py` holds those of L04 in a tuple `EXERCISES`."""

import importlib
import re
from typing import Any

from tutorlib.lessons.exercise import Exercise

KEY = re.compile(r"(L\d\d)\.ex\d+")


def find_exercise(key: Any) -> Exercise | None:
    """The exercise with this key, `"L04.ex2"`; None when there is none."""
    match = KEY.fullmatch(key) if isinstance(key, str) else None
    if match is None:
        return None
    return next((exercise for exercise in lesson_exercises(match[1]) if exercise.key == key), None)


def lesson_exercises(lesson: str) -> tuple[Exercise, ...]:
    """The exercises of one lesson, `"L04"`, in order; empty when it has none."""
    name = f"{__name__}.{lesson.lower()}"
    try:
        return importlib.import_module(name).EXERCISES
    except ModuleNotFoundError as problem:
        if problem.name != name:
            raise
        return ()
