"""What a progress file says: which exercises are done, how long it took, what comes next; as text, table and data.

The file itself is written and read in `progress.py`, taken home and brought back in `progress_transfer.py`.
"""

from __future__ import annotations

import html
import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tutorlib.lessons import exercises
from tutorlib.lessons.exercises import lesson_exercises
from tutorlib.lessons.progress import read_progress
from tutorlib.messages import message

LONGEST_GAP = 300.0
DONE, OPEN = "●", "○"
LESSON_MODULE = re.compile(r"l\d\d")


@dataclass(frozen=True)
class LessonProgress:
    """One lesson: its exercises in order, those that were right once, and the seconds spent."""

    lesson: str
    exercises: tuple[str, ...]
    done: frozenset[str]
    tries: int
    seconds: float

    @property
    def minutes(self) -> int:
        return round(self.seconds / 60)

    @property
    def dots(self) -> str:
        return "".join(DONE if key in self.done else OPEN for key in self.exercises)

    @property
    def open(self) -> tuple[str, ...]:
        return tuple(key for key in self.exercises if key not in self.done)


@dataclass(frozen=True)
class ProgressReport:
    """All lessons, and the exercise to go on with. A notebook shows it as a table, `print` as lines."""

    lessons: tuple[LessonProgress, ...]
    next: str | None

    def __str__(self) -> str:
        rows = [
            message(
                "lessons.progress_row",
                lesson=lesson.lesson,
                dots=lesson.dots.ljust(max(len(every.exercises) for every in self.lessons)),
                done=len(lesson.done),
                total=len(lesson.exercises),
                minutes=lesson.minutes,
            )
            for lesson in self.lessons
        ]
        return "\n".join([*rows, self.summary])

    __repr__ = __str__

    @property
    def summary(self) -> str:
        """The last line: the sum, and what comes next."""
        done = sum(len(lesson.done) for lesson in self.lessons)
        minutes = round(sum(lesson.seconds for lesson in self.lessons) / 60)
        said = message(
            "lessons.progress_sum",
            done=done,
            total=sum(len(lesson.exercises) for lesson in self.lessons),
            minutes=minutes,
        )
        after = message("lessons.progress_next", key=self.next) if self.next else message("lessons.progress_all_done")
        return f"{said} {after}"

    def _repr_html_(self) -> str:
        heads = "".join(
            f'<th scope="col" style="text-align:left">{html.escape(message(f"lessons.progress_head_{name}"))}</th>'
            for name in ("lesson", "exercises", "minutes")
        )
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(lesson.lesson)}</th><td style="text-align:left">'
            f'<span aria-hidden="true">{lesson.dots}</span> {len(lesson.done)}/{len(lesson.exercises)}</td>'
            f"<td>{lesson.minutes}</td></tr>"
            for lesson in self.lessons
        )
        below = "caption-side:bottom;text-align:left;white-space:nowrap"
        caption = f'<caption style="{below}">{html.escape(self.summary)}</caption>'
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"

    def show(self) -> Any:
        """In a notebook with widgets, today's report with a link to take the record home and a button to bring one in;
        elsewhere this report."""
        from tutorlib.lessons.progress_widget import progress_widget
        from tutorlib.viz.display import is_live

        return progress_widget() if is_live() else self

    def as_data(self) -> dict[str, Any]:
        """The report for other programs."""
        lessons = [
            {
                "lesson": lesson.lesson,
                "exercises": {key: key in lesson.done for key in lesson.exercises},
                "tries": lesson.tries,
                "minutes": lesson.minutes,
            }
            for lesson in self.lessons
        ]
        return {"lessons": lessons, "next": self.next}


def progress() -> ProgressReport:
    """What is done across all lessons on this machine, and what comes next.

    Minutes are counted between attempts; a pause of more than five minutes counts as five.
    """
    return report(read_progress(), known_exercises())


def report(entries: Iterable[Mapping[str, Any]], known: Mapping[str, tuple[str, ...]]) -> ProgressReport:
    """The report on these attempts; `known` maps each lesson to its exercises, in order.

    Exercises that are not known, from another version, are reported after the others of their lesson.
    """
    attempts = sorted(filter(None, map(_attempt, entries)), key=lambda attempt: attempt[0])
    every = {lesson: list(keys) for lesson, keys in known.items()}
    seconds, tries = dict[str, float](), dict[str, int]()
    done: set[str] = set()
    before: float | None = None
    for moment, key, judged, ok in attempts:
        lesson = key.partition(".")[0]
        if key not in every.setdefault(lesson, []):
            every[lesson].append(key)
        gap = 0.0 if before is None else min(moment - before, LONGEST_GAP)
        seconds[lesson] = seconds.get(lesson, 0.0) + gap
        tries[lesson] = tries.get(lesson, 0) + judged
        before = moment
        if ok:
            done.add(key)
    lessons = tuple(
        LessonProgress(
            lesson, tuple(keys), frozenset(done.intersection(keys)), tries.get(lesson, 0), seconds.get(lesson, 0.0)
        )
        for lesson, keys in sorted(every.items())
    )
    return ProgressReport(lessons, _next(lessons, attempts[-1][1].partition(".")[0] if attempts else ""))


def known_exercises() -> dict[str, tuple[str, ...]]:
    """The keys of every lesson's exercises in this version."""
    names = sorted(module.name for module in pkgutil.iter_modules(exercises.__path__))
    lessons = [name.upper() for name in names if LESSON_MODULE.fullmatch(name)]
    return {lesson: tuple(exercise.key for exercise in lesson_exercises(lesson)) for lesson in lessons}


def _attempt(entry: Mapping[str, Any]) -> tuple[float, str, bool, bool] | None:
    """When, which exercise, whether it was judged, whether it was right; None for a line that is no attempt."""
    key, time = entry.get("key"), entry.get("time")
    if not isinstance(key, str) or not isinstance(time, str) or "." not in key:
        return None
    try:
        moment = datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return moment, key, "ok" in entry, entry.get("ok") is True


def _next(lessons: tuple[LessonProgress, ...], latest: str) -> str | None:
    """The first open exercise of the lesson worked on last, else of those after it, else of those before."""
    following = [lesson for lesson in lessons if lesson.lesson >= latest]
    earlier = [lesson for lesson in lessons if lesson.lesson < latest]
    return next((key for lesson in (*following, *earlier) for key in lesson.open), None)
