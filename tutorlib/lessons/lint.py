"""The rules a lesson must keep, each a short function over its source or over its built notebook.

A rule yields what is wrong, in words from the message table under `lessons.lint.`; `check_lesson` runs all of them.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutorlib.lessons.build import build_notebook, joined
from tutorlib.lessons.claims import claim_problems
from tutorlib.lessons.execute import VIEW
from tutorlib.lessons.exercises import lesson_exercises
from tutorlib.lessons.front import read_glossary
from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.solution_regions import BEGIN, END, has_solution, solutions
from tutorlib.lessons.source import Cell, Lesson, SourceError, read_lesson
from tutorlib.lessons.translation import Translation, translation_problems
from tutorlib.messages import DEFAULT_LANGUAGE, message

SCREEN_LINES = 30
CODE_WIDTH = 90
PROSE_WIDTH = 100
OUTPUT_BYTES = 200_000
IMAGE = re.compile(r"!\[([^\]]*)\]\(")
IMG_TAG = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
ALT = re.compile(r"""\balt=(["'])\s*[^\s"']""")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#{1,6}) +(.*)", re.MULTILINE)


@dataclass(frozen=True)
class Problem:
    """One broken rule: the file, the line in it (None where lines mean nothing), what is wrong."""

    file: str
    line: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


def check_lesson(path: Path, folders: LessonFolders, language: str = DEFAULT_LANGUAGE) -> list[Problem]:
    """All problems of the lesson whose source is `path`, and of its built learner notebook; nothing is run.

    In another language than English: those of its translation, and of the notebook in that language.
    """
    try:
        lesson = read_lesson(path)
        translation = Translation.of(lesson, language)
        translated = translation.apply(lesson)
        fresh = build_notebook(translated, "learner", read_glossary(folders.glossary))
    except SourceError as problem:
        return [Problem(f"{problem.path.parent.name}/{problem.path.name}", problem.line, problem.problem)]
    wrong: list[tuple[int | None, str]]
    if language == DEFAULT_LANGUAGE:
        file, wrong = path.name, [*_source_problems(lesson, folders)]
    else:
        file = translation.path.name
        wrong = [*translation_problems(lesson, translation), *_prose_problems(translated, folders)]
    built = folders.notebook(lesson.name, language)
    found = [Problem(f"{lesson.name}/{file}", line, text) for line, text in wrong]
    return found + [Problem(built.name, None, text) for text in _built_problems(lesson, fresh, built)]


def _prose_problems(lesson: Lesson, folders: LessonFolders) -> Iterator[tuple[int, str]]:
    """What can be wrong with prose in any language."""
    yield from heading_problems(lesson)
    for cell in lesson.cells:
        yield from length_problems(cell)
        if cell.kind == "prose":
            yield from image_problems(cell)
            yield from link_problems(cell, lesson, folders)


def _source_problems(lesson: Lesson, folders: LessonFolders) -> Iterator[tuple[int, str]]:
    yield from name_problems(lesson)
    yield from _prose_problems(lesson, folders)
    yield from exercise_problems(lesson)
    yield from widget_problems(lesson)
    yield from prerequisite_problems(lesson, folders)
    yield from claim_problems(lesson, folders)


def name_problems(lesson: Lesson) -> Iterator[tuple[int, str]]:
    """The folder is named after the lesson."""
    if not lesson.name.startswith(f"{lesson.id}_"):
        yield 1, message("lessons.lint.folder_name", folder=lesson.name, lesson=lesson.id)


def heading_problems(lesson: Lesson) -> Iterator[tuple[int, str]]:
    """One heading of level 1, at the top, and no level skipped on the way down."""
    level = 0
    for cell in lesson.cells:
        for marks, title in HEADING.findall(_without_fences(cell.text) if cell.kind == "prose" else ""):
            if len(marks) > level + 1 or (len(marks) == 1 and level > 0):
                yield cell.line, message("lessons.lint.heading", title=title, level=len(marks), before=level)
            level = len(marks)


def exercise_problems(lesson: Lesson) -> Iterator[tuple[int, str]]:
    """Every exercise cell has a solution, defines the name its exercise wants, and is followed by its check."""
    code = [cell for cell in lesson.cells if cell.kind == "code"]
    known = {exercise.key: exercise for exercise in lesson_exercises(lesson.id)}
    for cell in code:
        if "exercise" not in cell.tags:
            if has_solution(cell.text):
                yield cell.line, message("lessons.lint.solution_outside", key=cell.key)
            continue
        exercise = known.pop(f"{lesson.id}.{cell.key}", None)
        if exercise is None:
            yield cell.line, message("lessons.lint.unknown_exercise", key=f"{lesson.id}.{cell.key}")
            continue
        if not has_solution(cell.text):
            yield cell.line, message("lessons.lint.no_solution", key=cell.key)
        if exercise.answer not in _defined_names(cell.text):
            yield cell.line, message("lessons.lint.answer_name", key=cell.key, name=exercise.answer)
        called = f'check("{exercise.key}", {exercise.answer})'
        if not any(called in other.text and {"check", "nbval-check-output"} <= set(other.tags) for other in code):
            yield cell.line, message("lessons.lint.no_check", key=cell.key, call=called)
    for key in known:
        yield 1, message("lessons.lint.missing_exercise", key=key)


def widget_problems(lesson: Lesson) -> Iterator[tuple[int, str]]:
    """A widget's output is not compared, and a cell right after it prints what it shows in words."""
    code = [cell for cell in lesson.cells if cell.kind == "code"]
    for cell, following in zip(code, [*code[1:], None], strict=True):
        if "widget" not in cell.tags:
            continue
        if "nbval-ignore-output" not in cell.tags:
            yield cell.line, message("lessons.lint.widget_compared", key=cell.key)
        if following is None or ".describe()" not in following.text or "nbval-check-output" not in following.tags:
            yield cell.line, message("lessons.lint.widget_undescribed", key=cell.key)


def length_problems(cell: Cell) -> Iterator[tuple[int, str]]:
    """A cell fits on a screen, and its code into the width of a notebook."""
    lines = cell.text.splitlines()
    widest = max(map(len, lines))
    if cell.kind == "code" and widest > CODE_WIDTH:
        yield cell.line, message("lessons.lint.too_wide", key=cell.key, width=widest, most=CODE_WIDTH)
    length = len(lines) if cell.kind == "code" else sum(1 + len(line) // PROSE_WIDTH for line in lines)
    if length > SCREEN_LINES:
        yield cell.line, message("lessons.lint.too_long", key=cell.key, lines=length, most=SCREEN_LINES)


def image_problems(cell: Cell) -> Iterator[tuple[int, str]]:
    """Every picture in the prose says in words what it shows."""
    without = [alt for alt in IMAGE.findall(cell.text) if not alt.strip()]
    without += [tag for tag in IMG_TAG.findall(cell.text) if not ALT.search(tag)]
    for _ in without:
        yield cell.line, message("lessons.lint.no_alt", key=cell.key)


def link_problems(cell: Cell, lesson: Lesson, folders: LessonFolders) -> Iterator[tuple[int, str]]:
    """A relative link leads to a file beside the built notebook, a link with # to a heading of the lesson."""
    headings = {re.sub(r"\s", "-", title.strip()) for other in lesson.cells for _, title in HEADING.findall(other.text)}
    for target in LINK.findall(_without_fences(cell.text)):
        file, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        if (file and not (folders.built() / file).exists()) or (not file and anchor not in headings):
            yield cell.line, message("lessons.lint.broken_link", key=cell.key, target=target)


def prerequisite_problems(lesson: Lesson, folders: LessonFolders) -> Iterator[tuple[int, str]]:
    """The front matter's links to earlier lessons lead to notebooks."""
    for target in LINK.findall(" ".join(lesson.front["prerequisites"])):
        if not (folders.built() / target).exists():
            yield 1, message("lessons.lint.broken_link", key="prerequisites", target=target)


def _built_problems(lesson: Lesson, fresh: dict[str, Any], built: Path) -> Iterator[str]:
    if not built.exists():
        yield message("lessons.lint.not_built", lesson=lesson.id)
        return
    there = json.loads(built.read_text(encoding="utf-8"))
    yield from stale_problems(fresh, there)
    yield from leak_problems(lesson, there)
    yield from output_problems(there)


def stale_problems(fresh: dict[str, Any], there: dict[str, Any]) -> Iterator[str]:
    """The built notebook has the cells and metadata that a build would write now, and all of them were run."""
    lesson = fresh["metadata"]["tutorlib"]["lesson"]
    if _skeleton(fresh) != _skeleton(there):
        yield message("lessons.lint.stale", lesson=lesson)
    if any(cell["cell_type"] == "code" and cell["execution_count"] is None for cell in there["cells"]):
        yield message("lessons.lint.not_run", lesson=lesson)


def leak_problems(lesson: Lesson, there: dict[str, Any]) -> Iterator[str]:
    """No line of a solution, and no marker, stands in the learner's copy of that exercise."""
    written = {cell["id"]: joined(cell["source"]) for cell in there["cells"]}
    for cell in lesson.cells:
        if not has_solution(cell.text):
            continue
        copy = written.get(cell.key, "")
        lines = {line.strip() for text in solutions(cell.text) for line in text.splitlines() if line.strip()}
        if BEGIN in copy or END in copy or any(line.strip() in lines for line in copy.splitlines()):
            yield message("lessons.lint.leak", key=cell.key)


def output_problems(there: dict[str, Any]) -> Iterator[str]:
    """Outputs hold no error, no live widget, nothing huge, and no picture without words."""
    if "widgets" in there["metadata"]:
        yield message("lessons.lint.widget_state")
    for cell in there["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            pictures = IMG_TAG.findall(joined(data.get("text/html", "")))
            bitmap = "image/png" in data and not cell["metadata"].get("alt")
            if output["output_type"] == "error":
                yield message("lessons.lint.error_output", key=cell["id"])
            if VIEW in data:
                yield message("lessons.lint.widget_state")
            if bitmap or any(not ALT.search(tag) for tag in pictures):
                yield message("lessons.lint.no_alt", key=cell["id"])
            if (size := len(json.dumps(output))) > OUTPUT_BYTES:
                yield message("lessons.lint.huge_output", key=cell["id"], size=size // 1000)


def _skeleton(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook without its outputs, in a form in which two builds can be compared."""
    kept = ("cell_type", "id", "metadata", "source")
    cells = [{name: cell[name] for name in kept} | {"source": joined(cell["source"])} for cell in notebook["cells"]]
    return {**notebook, "cells": cells}


def _without_fences(prose: str) -> str:
    return re.sub(r"^(`{3,}|~{3,}).*?^\1", "", prose, flags=re.DOTALL | re.MULTILINE)


def _defined_names(code: str) -> set[str]:
    """The names that a cell defines at its top level."""
    names: set[str] = set()
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return names
