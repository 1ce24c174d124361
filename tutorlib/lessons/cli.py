"""The command `tutorlib lessons`: builds notebooks, pages and slides from the lessons' sources, and checks them."""

import argparse
import sys
from pathlib import Path

from tutorlib.lessons.build import EditedByHand
from tutorlib.lessons.claims import ledger_problems
from tutorlib.lessons.execute import CellFailed
from tutorlib.lessons.lint import check_lesson
from tutorlib.lessons.measure import measure_lesson, took
from tutorlib.lessons.paths import LessonFolders, NoLessonsHere, find_folders
from tutorlib.lessons.produce import KINDS, build_lesson
from tutorlib.lessons.source import SourceError, read_lesson
from tutorlib.lessons.waiting import say, waited_for
from tutorlib.messages import DEFAULT_LANGUAGE, message


def register(subparsers: argparse._SubParsersAction) -> None:
    """Add the parser of `tutorlib lessons` and of what it can do."""
    lessons = subparsers.add_parser("lessons", help=message("lessons.cli.help"))
    actions = lessons.add_subparsers(dest="action", required=True, metavar=message("lessons.cli.action"))

    build = actions.add_parser("build", help=message("lessons.cli.build"))
    build.add_argument("ids", nargs="*", metavar="ID", help=message("lessons.cli.ids"))
    build.add_argument("--to", choices=KINDS, default="notebook", help=message("lessons.cli.to"))
    build.add_argument("--out", type=Path, metavar="FOLDER", help=message("lessons.cli.out"))
    build.add_argument("--overwrite", action="store_true", help=message("lessons.cli.overwrite"))
    build.set_defaults(run=_reported(_build))

    check = actions.add_parser("check", help=message("lessons.cli.check"))
    check.add_argument("ids", nargs="*", metavar="ID", help=message("lessons.cli.ids"))
    check.add_argument("--quick", action="store_true", help=message("lessons.cli.quick"))
    check.set_defaults(run=_reported(_check))

    for action in (build, check):
        action.add_argument("--lang", default=DEFAULT_LANGUAGE, metavar="LANG", help=message("lessons.cli.lang"))


def _build(arguments: argparse.Namespace) -> int:
    if arguments.to != "notebook" and arguments.out is None:
        print(message("lessons.cli.out_wanted", kind=arguments.to), file=sys.stderr)
        return 2
    folders = find_folders()
    paths = folders.sources(arguments.ids)
    for path in waited_for(paths, len(paths), message("lessons.cli.building")):
        built = build_lesson(
            path,
            folders,
            kind=arguments.to,
            out=arguments.out,
            language=arguments.lang,
            overwrite=arguments.overwrite,
        )
        say(message("lessons.cli.built", name=built.name))
    return 0


def _check(arguments: argparse.Namespace) -> int:
    folders = find_folders()
    paths = folders.sources(arguments.ids)
    problems: list[object] = list(ledger_problems(folders))
    for path in waited_for(paths, len(paths), message("lessons.cli.checking")):
        found: list[object] = [*check_lesson(path, folders, arguments.lang)]
        if not found and not arguments.quick:
            found = _measured(path, folders)
        problems += found
    for problem in problems:
        print(problem)
    print(message("lessons.cli.checked", lessons=len(paths), problems=len(problems)))
    return 1 if problems else 0


def _measured(path: Path, folders: LessonFolders) -> list[object]:
    """The problems of running this lesson; prints what it took."""
    try:
        run, found = measure_lesson(path, folders)
    except CellFailed as problem:
        return [problem]
    say(took(read_lesson(path), run))
    return [*found]


def _reported(action):
    """The action, with an author's mistake printed as one line instead of a traceback."""

    def run(arguments: argparse.Namespace) -> int:
        try:
            return action(arguments)
        except (SourceError, CellFailed, EditedByHand, NoLessonsHere) as problem:
            print(problem, file=sys.stderr)
            return 1

    return run
