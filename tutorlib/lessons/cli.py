"""The command `tutorlib lessons`: builds the notebooks from their sources, and checks them."""

import argparse
import sys
from pathlib import Path

from tutorlib.lessons.build import EditedByHand, build_notebook, write_notebook
from tutorlib.lessons.execute import CellFailed, execute_notebook
from tutorlib.lessons.front import read_glossary
from tutorlib.lessons.lint import check_lesson
from tutorlib.lessons.paths import LessonFolders, NoLessonsHere, find_folders
from tutorlib.lessons.source import SourceError, read_lesson
from tutorlib.messages import message


def register(subparsers: argparse._SubParsersAction) -> None:
    """Add the parser of `tutorlib lessons` and of what it can do."""
    lessons = subparsers.add_parser("lessons", help=message("lessons.cli.help"))
    actions = lessons.add_subparsers(dest="action", required=True, metavar=message("lessons.cli.action"))

    build = actions.add_parser("build", help=message("lessons.cli.build"))
    build.add_argument("ids", nargs="*", metavar="ID", help=message("lessons.cli.ids"))
    build.add_argument("--solutions", type=Path, metavar="FOLDER", help=message("lessons.cli.solutions"))
    build.add_argument("--overwrite", action="store_true", help=message("lessons.cli.overwrite"))
    build.set_defaults(run=_reported(_build))

    check = actions.add_parser("check", help=message("lessons.cli.check"))
    check.add_argument("ids", nargs="*", metavar="ID", help=message("lessons.cli.ids"))
    check.set_defaults(run=_reported(_check))


def build_lesson(path: Path, folders: LessonFolders, *, solutions: Path | None = None, overwrite: bool = False) -> Path:
    """Build and run one notebook of the lesson with this source; return the file.

    It is the learner's, in the checkout's folder of notebooks, or with `solutions` the solution, in that folder.
    Raises `SourceError`, `CellFailed` or `EditedByHand`.
    """
    lesson = read_lesson(path)
    target = folders.notebook(lesson.name) if solutions is None else solutions / f"{lesson.name}.ipynb"
    notebook = build_notebook(lesson, "learner" if solutions is None else "solution", read_glossary(folders.glossary))
    write_notebook(execute_notebook(notebook), target, overwrite=overwrite)
    return target


def _build(arguments: argparse.Namespace) -> int:
    folders = find_folders()
    for path in folders.sources(arguments.ids):
        built = build_lesson(path, folders, solutions=arguments.solutions, overwrite=arguments.overwrite)
        print(message("lessons.cli.built", name=built.name))
    return 0


def _check(arguments: argparse.Namespace) -> int:
    folders = find_folders()
    paths = folders.sources(arguments.ids)
    problems = [problem for path in paths for problem in check_lesson(path, folders)]
    for problem in problems:
        print(problem)
    print(message("lessons.cli.checked", lessons=len(paths), problems=len(problems)))
    return 1 if problems else 0


def _reported(action):
    """The action, with an author's mistake printed as one line instead of a traceback."""

    def run(arguments: argparse.Namespace) -> int:
        try:
            return action(arguments)
        except (SourceError, CellFailed, EditedByHand, NoLessonsHere) as problem:
            print(problem, file=sys.stderr)
            return 1

    return run
