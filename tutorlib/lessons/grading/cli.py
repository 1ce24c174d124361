"""The command `tutorlib grade`: reads a class's folder, grades it, writes what the teacher gets."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from pathlib import Path

from tutorlib.lessons.grading import report
from tutorlib.lessons.grading.files import ResultFolder
from tutorlib.lessons.grading.process import Limits, sandbox
from tutorlib.lessons.grading.run import Lessons, Result, Work, grade_class, read_work, run_settings, slug
from tutorlib.lessons.grading.run_one import LessonBroken
from tutorlib.lessons.grading.similarity import alike
from tutorlib.lessons.grading.submission import find_submissions
from tutorlib.lessons.paths import NoLessonsHere, find_folders
from tutorlib.lessons.source import SourceError
from tutorlib.lessons.waiting import say
from tutorlib.messages import message


def register(subparsers: argparse._SubParsersAction) -> None:
    """Add the parser of `tutorlib grade`."""
    parser = subparsers.add_parser("grade", help=message("cli.help.grade"), description=message("lessons.grade_about"))
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help=message("lessons.grade_folder"))
    add("--lesson", metavar="ID", help=message("lessons.grade_lesson"))
    add("--seed", type=int, metavar="N", help=message("lessons.grade_seed"))
    add("-n", type=int, default=2, metavar="N", dest="workers", help=message("lessons.grade_workers"))
    add("--cell-timeout", type=float, default=20.0, metavar="SECONDS", help=message("lessons.grade_timeout"))
    add("--memory", type=int, default=2048, metavar="MB", help=message("lessons.grade_memory"))
    add("--out", type=Path, metavar="DIR", help=message("lessons.grade_out"))
    add("--wrap", metavar="COMMAND", help=message("lessons.grade_wrap"))
    add("--similar", action="store_true", help=message("lessons.grade_similar"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Grade a folder; 1 when there is nothing to grade or a lesson cannot be graded."""
    folder: Path = arguments.folder.resolve()
    submissions = find_submissions(folder) if folder.is_dir() else []
    if not submissions:
        return _stop(message("lessons.grade_nothing", folder=arguments.folder))
    out = arguments.out or folder.with_name(f"{folder.name}-grades")
    if out.resolve() == folder or folder in out.resolve().parents:
        return _stop(message("lessons.grade_out_inside"))
    wrap = sandbox() if arguments.wrap is None else tuple(shlex.split(arguments.wrap))
    if not wrap:
        print(message("lessons.grade_not_isolated"), file=sys.stderr)
    limits = Limits(cell_seconds=arguments.cell_timeout, memory=arguments.memory << 20)
    try:
        folders = find_folders()
        folders.sources([arguments.lesson] if arguments.lesson else None)
        settings = run_settings(out, arguments.seed, limits)
        with tempfile.TemporaryDirectory(prefix="tutorlib-grade-") as cache:
            lessons = Lessons(folders, settings["seed"], limits, wrap, Path(cache))
            read = [read_work(submission, lessons, arguments.lesson) for submission in submissions]
            works = [work for work in read if work is not None]
            if not works:
                return _stop(message("lessons.grade_nothing", folder=arguments.folder))
            digests = {lesson: lessons.template(lesson).digest for lesson in _lessons_of(works)}

            def told(number: int, result: Result) -> None:
                said = result["problem"] or f"{result['points']}/{result['out_of']}"
                say(f"{number}/{len(works)} {result['name']}: {said}")

            everything = {**settings, "lessons": digests}
            results = grade_class(works, lessons.grade, out / "results", everything, arguments.workers, told)
    except (LessonBroken, NoLessonsHere, SourceError) as problem:
        return _stop(str(problem))
    except KeyboardInterrupt:
        _stop(message("lessons.grade_stopped"))
        return 130
    write_reports(ResultFolder(out), works, results, lessons, similar=arguments.similar)
    print(message("lessons.grade_done", n=len(results), out=out))
    return 0


def write_reports(out: ResultFolder, works: list[Work], results: list[Result], lessons: Lessons, similar: bool) -> None:
    """Write the table, the data and the notebooks of graded submissions."""
    out.write("grades.csv", report.grades_csv(results))
    out.write("grades.json", report.grades_json(results))
    for work, result in zip(works, results, strict=True):
        name = slug(work.submission.name)
        title = lessons.template(work.lesson).title if work.lesson and not work.problem else work.submission.name
        out.write(f"feedback/{name}.ipynb", report.feedback(result, title, work.code))
        if work.lesson and result["exercises"]:
            notebook = report.graded_notebook(lessons.grader(work.lesson), result, work.code)
            out.write(f"graded/{name}.ipynb", notebook)
    if similar:
        given = [code for lesson in _lessons_of(works) for code in _handed_out(lessons, lesson)]
        groups = alike({work.submission.name: work.code for work in works}, given)
        out.write("similar.json", json.dumps(groups, indent=1, ensure_ascii=False) + "\n")
    out.finish()


def _handed_out(lessons: Lessons, lesson: str) -> list[str]:
    template = lessons.template(lesson)
    return [*template.stubs.values(), *template.solutions.values()]


def _lessons_of(works: list[Work]) -> list[str]:
    return sorted({work.lesson for work in works if work.lesson and not work.problem})


def _stop(line: str) -> int:
    print(line, file=sys.stderr)
    return 1
