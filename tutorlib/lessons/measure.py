"""What a lesson may cost, and what it does cost: its solution is run, timed and weighed.

What can be seen without running a lesson is checked in `lint.py`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tutorlib.lessons.build import build_notebook, joined
from tutorlib.lessons.execute import Run, run_notebook
from tutorlib.lessons.front import read_glossary
from tutorlib.lessons.lint import Problem
from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.source import Lesson, read_lesson
from tutorlib.messages import message

LESSON_SECONDS = 60.0
LESSON_BYTES = 600_000_000
PASSED = re.compile(r"\S+: OK\n")


def measure_lesson(path: Path, folders: LessonFolders) -> tuple[Run, list[Problem]]:
    """Run the solution of the lesson whose source is `path`; return what it took, and what is wrong with that.

    Raises `SourceError` or `CellFailed`.
    """
    lesson = read_lesson(path)
    run = run_notebook(build_notebook(lesson, "solution", read_glossary(folders.glossary)))
    lines = {cell.key: cell.line for cell in lesson.cells}
    found = [*budget_problems(run), *answer_problems(run)]
    return run, [Problem(f"{lesson.name}/{path.name}", lines.get(key or ""), text) for key, text in found]


def budget_problems(run: Run) -> Iterator[tuple[str | None, str]]:
    """The lesson takes no more than its time and its memory; the slowest cell is named."""
    if run.seconds > LESSON_SECONDS:
        slowest = max(run.cells, key=lambda key: run.cells[key])
        yield (
            slowest,
            message(
                "lessons.lint.too_slow",
                seconds=round(run.seconds),
                most=round(LESSON_SECONDS),
                key=slowest,
                its=round(run.cells[slowest], 1),
            ),
        )
    if run.peak_bytes is not None and run.peak_bytes > LESSON_BYTES:
        megabytes, most = run.peak_bytes // 10**6, LESSON_BYTES // 10**6
        yield None, message("lessons.lint.too_heavy", megabytes=megabytes, most=most)


def answer_problems(run: Run) -> Iterator[tuple[str | None, str]]:
    """The lesson's own solutions pass their checks."""
    for cell in run.notebook["cells"]:
        if "check" in cell["metadata"].get("tags", []):
            said = "".join(joined(output.get("text", "")) for output in cell["outputs"])
            if not PASSED.fullmatch(said):
                yield cell["id"], message("lessons.lint.solution_fails", key=cell["id"], said=said.strip())


def took(lesson: Lesson, run: Run) -> str:
    """One line: the lesson's time and memory."""
    megabytes = run.peak_bytes // 10**6 if run.peak_bytes is not None else "?"
    return message("lessons.cli.measured", lesson=lesson.id, seconds=round(run.seconds, 1), megabytes=megabytes)
