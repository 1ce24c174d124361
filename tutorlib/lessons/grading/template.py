"""The teacher's side of a lesson: the cells that count, in order, and what each exercise asks for.

Solutions are read from the lesson's source, so grading needs a checkout. What a learner handed in is in
`submission.py`.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from dataclasses import dataclass, field
from typing import Literal

from tutorlib.lessons.exercise import Exercise
from tutorlib.lessons.exercises import find_exercise
from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.solution_regions import has_solution, with_stubs, without_markers
from tutorlib.lessons.source import Cell, Lesson, SourceError, read_lesson


@dataclass(frozen=True)
class Step:
    """One cell of the graded notebook. An exercise has two texts, the stub and the solution; others have one."""

    key: str
    kind: Literal["setup", "exercise", "check"]
    code: str = ""
    solution: str = ""
    exercise: Exercise | None = None


@dataclass(frozen=True)
class Template:
    """A lesson as it is graded."""

    lesson: str
    title: str
    steps: tuple[Step, ...] = field(repr=False)

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """The exercises in the order of the lesson."""
        return tuple(step.exercise for step in self.steps if step.kind == "exercise" and step.exercise)

    @property
    def stubs(self) -> dict[str, str]:
        return {step.exercise.key: step.code for step in self.steps if step.kind == "exercise" and step.exercise}

    @property
    def solutions(self) -> dict[str, str]:
        return {step.exercise.key: step.solution for step in self.steps if step.kind == "exercise" and step.exercise}

    @property
    def digest(self) -> str:
        """Changes whenever a cell that counts changes, or the module with the lesson's oracles."""
        modules = {exercise.judge.__module__ for exercise in self.exercises}
        oracles = [inspect.getsource(sys.modules[name]) for name in sorted(modules)]
        cells = [(step.key, step.kind, step.code, step.solution) for step in self.steps]
        return hashlib.sha256(repr((cells, oracles)).encode()).hexdigest()[:16]


def read_template(lesson: str, folders: LessonFolders, *, demonstrations: bool = False) -> Template:
    """The lesson with this id: its cells tagged setup, exercise and check, with `demonstrations` all code cells.

    Raises `NoLessonsHere` for an unknown lesson, `SourceError` for an exercise without an oracle.
    """
    (path,) = folders.sources([lesson])
    read = read_lesson(path)
    steps = [step for cell in read.cells if cell.kind == "code" for step in _steps(read, cell, demonstrations)]
    return Template(read.id, read.front["title"], tuple(steps))


def _steps(lesson: Lesson, cell: Cell, demonstrations: bool) -> list[Step]:
    if "exercise" in cell.tags:
        exercise = find_exercise(f"{lesson.id}.{cell.key}")
        if exercise is None:
            raise SourceError(lesson.path, cell.line, f"no oracle for the exercise {lesson.id}.{cell.key}")
        marked = has_solution(cell.text)
        stub = with_stubs(cell.text) if marked else cell.text
        solution = without_markers(cell.text) if marked else cell.text
        return [Step(cell.key, "exercise", stub, solution, exercise)]
    if "check" in cell.tags:
        exercise = find_exercise(f"{lesson.id}.{cell.key.removesuffix('-check')}")
        return [Step(cell.key, "check", exercise=exercise)] if exercise else []
    if "setup" in cell.tags or demonstrations:
        return [Step(cell.key, "setup", cell.text)]
    return []
