"""Makes one file of a lesson: its notebook, the solution, a page or slides."""

import json
from pathlib import Path
from typing import Any

from tutorlib.lessons.build import build_notebook, write_notebook
from tutorlib.lessons.execute import execute_notebook
from tutorlib.lessons.front import read_glossary
from tutorlib.lessons.lint import stale_problems
from tutorlib.lessons.pages import html_page, slides_page, write_page
from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.source import Lesson
from tutorlib.lessons.translation import read_lesson_in
from tutorlib.messages import DEFAULT_LANGUAGE

KINDS = ("notebook", "solution", "html", "slides")
PAGES = {"html": (html_page, ".html"), "slides": (slides_page, ".slides.html")}


def build_lesson(
    path: Path,
    folders: LessonFolders,
    *,
    kind: str = "notebook",
    out: Path | None = None,
    language: str = DEFAULT_LANGUAGE,
    overwrite: bool = False,
) -> Path:
    """Build one file of the lesson whose source is `path`; return the file.

    `kind` is one of `KINDS`. The learner's notebook goes into the checkout's folder for the language unless `out` names
    another folder; everything else goes into `out`, which then must be given. Pages are made from the learner's
    notebook, which is run again only if the one in the checkout is not up to date.

    Raises `SourceError`, `CellFailed` or `EditedByHand`.
    """
    lesson = read_lesson_in(path, language)
    folder = out or folders.built(language)
    if kind in PAGES:
        make, suffix = PAGES[kind]
        target = folder / f"{lesson.name}{suffix}"
        write_page(make(_learners(lesson, folders)), target, overwrite=overwrite)
        return target
    target = folder / f"{lesson.name}.ipynb"
    notebook = build_notebook(lesson, "solution" if kind == "solution" else "learner", read_glossary(folders.glossary))
    write_notebook(execute_notebook(notebook), target, overwrite=overwrite)
    return target


def _learners(lesson: Lesson, folders: LessonFolders) -> dict[str, Any]:
    """The learner's notebook with its outputs: the built one where it is up to date."""
    fresh = build_notebook(lesson, "learner", read_glossary(folders.glossary))
    built = folders.notebook(lesson.name, lesson.language)
    if built.exists():
        there = json.loads(built.read_text(encoding="utf-8"))
        if not any(stale_problems(fresh, there)):
            return there
    return execute_notebook(fresh)
