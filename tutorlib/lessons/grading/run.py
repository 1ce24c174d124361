"""Grades a class: several submissions at a time, each result kept as soon as it is there, so that a run can go on.

One submission is graded in `run_one.py`; the files for the teacher are made in `report.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tutorlib
from tutorlib.lessons.grading.files import read_json, write_whole
from tutorlib.lessons.grading.process import Limits
from tutorlib.lessons.grading.run_one import Grader, LessonBroken
from tutorlib.lessons.grading.submission import Submission, Unreadable, lesson_of, read_answers, read_notebook
from tutorlib.lessons.grading.template import Template, read_template
from tutorlib.lessons.paths import LessonFolders, NoLessonsHere
from tutorlib.lessons.source import read_lesson
from tutorlib.lessons.waiting import waited_for
from tutorlib.messages import message

Grade = Callable[[str, dict[str, str]], dict[str, dict[str, Any]]]
Result = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """A submission that was read: its lesson and answers, or the reason why it cannot be graded."""

    submission: Submission
    lesson: str | None
    code: dict[str, str]
    notes: tuple[str, ...] = ()
    problem: str | None = None


class Lessons:
    """The graders of all lessons that turn up, each prepared once. Its methods may be called from several threads."""

    def __init__(self, folders: LessonFolders, seed: int, limits: Limits, wrap: tuple[str, ...], cache: Path):
        self.folders, self.seed, self.limits, self.wrap, self.cache = folders, seed, limits, wrap, cache
        self._graders: dict[str, Grader] = {}
        self._lock = threading.Lock()

    def template(self, lesson: str) -> Template:
        return self.grader(lesson).template

    def grader(self, lesson: str) -> Grader:
        """The prepared grader of a lesson; raises `NoLessonsHere` or `LessonBroken`."""
        with self._lock:
            if lesson not in self._graders:
                self._graders[lesson] = self._prepared(lesson)
            return self._graders[lesson]

    def known_keys(self, lesson: str) -> set[str]:
        (path,) = self.folders.sources([lesson])
        return {cell.key for cell in read_lesson(path).cells}

    def grade(self, lesson: str, code: dict[str, str]) -> dict[str, dict[str, Any]]:
        return self.grader(lesson).grade(code)

    def _prepared(self, lesson: str) -> Grader:
        """With the demonstrations only where the solutions need them: without, each submission is quicker."""
        problem: LessonBroken | None = None
        for demonstrations in (False, True):
            template = read_template(lesson, self.folders, demonstrations=demonstrations)
            grader = Grader(template, self.seed, self.limits, self.wrap, self.cache)
            try:
                grader.prepare()
                return grader
            except LessonBroken as broken:
                problem = problem or broken
        assert problem is not None
        raise problem


def read_work(submission: Submission, lessons: Lessons, lesson: str | None = None) -> Work | None:
    """What is to be graded of a submission; None when it belongs to another lesson than `lesson`."""
    try:
        notebook = read_notebook(submission.path)
        written = lesson if lesson is not None and _says_nothing(notebook, submission) else None
        found = written or lesson_of(notebook, submission.name)
        if lesson is not None and found != lesson:
            return None
        template = lessons.template(found)
    except Unreadable as problem:
        return Work(submission, lesson, {}, problem=str(problem))
    except NoLessonsHere:
        return Work(submission, None, {}, problem=message("lessons.grade_no_lesson"))
    answers = read_answers(notebook, found, template.stubs, lessons.known_keys(found))
    return Work(submission, found, answers.code, answers.notes)


def _says_nothing(notebook: dict[str, Any], submission: Submission) -> bool:
    try:
        lesson_of(notebook, submission.name)
    except Unreadable:
        return True
    return False


def grade_class(
    works: Iterable[Work],
    grade: Grade,
    store: Path,
    settings: dict[str, Any],
    workers: int = 2,
    told: Callable[[int, Result], None] = lambda number, result: None,
) -> list[Result]:
    """Grade everything that has no result yet in the folder `store`; all results, in the order of `works`.

    A result counts for the same answers under the same `settings`. `grade(lesson, code)` is called in `workers`
    threads; `told` gets each result and how many there are so far.
    """
    works = list(works)
    results: dict[str, Result] = {}
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        try:
            jobs = [pool.submit(_result, work, grade, store, settings) for work in works]
            for number, job in enumerate(waited_for(as_completed(jobs), len(jobs), message("lessons.grading")), 1):
                result = job.result()
                results[result["name"]] = result
                told(number, result)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [results[work.submission.name] for work in works]


def _result(work: Work, grade: Grade, store: Path, settings: dict[str, Any]) -> Result:
    place = store / f"{slug(work.submission.name)}.json"
    asked = [work.lesson, sorted(work.code.items()), settings, work.problem, tutorlib.__version__]
    inputs = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    kept = read_json(place)
    exercises: dict[str, dict[str, Any]] = {}
    problem = work.problem
    reused = isinstance(kept, dict) and kept.get("inputs") == inputs
    if reused:
        exercises = kept["exercises"]
    elif problem is None and work.lesson is not None:
        try:
            exercises = grade(work.lesson, work.code)
        except LessonBroken as broken:
            problem = str(broken)
    result = {
        "name": work.submission.name,
        "student": work.submission.student,
        "lesson": work.lesson,
        "inputs": inputs,
        "exercises": exercises,
        "points": sum(entry["ok"] for entry in exercises.values() if entry["counts"]),
        "out_of": sum(entry["counts"] for entry in exercises.values()),
        "notes": list(work.notes),
        "problem": problem,
    }
    # What this machine could not do now, it may do in the next run.
    if not reused and problem == work.problem:
        write_whole(place, json.dumps(result, indent=1, ensure_ascii=False))
    return {**result, "reused": reused}


def slug(name: str) -> str:
    """A file name for a submission: readable, and another one for every name.

    >>> slug("ada"), slug("Ada L/L04")
    ('ada', 'Ada-L-L04-cdd7e1')
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip(".-") or "notebook"
    if plain == name:
        return plain
    return f"{plain[:80]}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def run_settings(folder: Path, seed: int | None, limits: Limits) -> dict[str, Any]:
    """The seed and limits of the run in this folder: those given, else those of the run before, else a fresh seed."""
    before = read_json(folder / "run.json") or {}
    chosen = seed if seed is not None else before.get("seed")
    settings = {
        "seed": chosen if isinstance(chosen, int) else secrets.randbelow(10**15),
        "cell_seconds": limits.cell_seconds,
        "memory": limits.memory,
    }
    write_whole(folder / "run.json", json.dumps(settings, indent=1), mode=0o600)
    return settings
