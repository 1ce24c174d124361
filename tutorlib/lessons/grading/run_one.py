"""Grades one submission: runs its answers in the lesson, stubs what does not come to an end, and runs it again.

Processes are in `process.py`, verdicts in `verdict.py`, a whole class in `run.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tutorlib.lessons.exercise import Exercise, Miss
from tutorlib.lessons.grading.process import Limits, Stopped, Worker
from tutorlib.lessons.grading.template import Template
from tutorlib.lessons.grading.verdict import Reference, checked, outcome, reference_of
from tutorlib.lessons.guard import SECONDS
from tutorlib.lessons.hints import hint_text
from tutorlib.messages import message, table

FEEDBACK_LEVEL = 2


class LessonBroken(RuntimeError):
    """The lesson itself cannot be graded: its setup or one of its own solutions fails."""


@dataclass(frozen=True)
class Grader:
    """What is the same for every submission of a lesson."""

    template: Template
    seed: int
    limits: Limits = field(default_factory=Limits)
    wrap: tuple[str, ...] = ()
    cache: Path | None = None
    references: dict[str, Reference] = field(default_factory=dict, repr=False)

    def run(self, code: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """What a worker found about each exercise, once all of the lesson was run with these answers.

        Raises `_Stuck`, naming the exercise at which the worker stopped.
        """
        found: dict[str, dict[str, Any]] = {}
        at: Exercise | None = None
        try:
            with Worker(self.template.lesson, self.limits, len(self.template.steps), self.wrap, self.cache) as worker:
                for step in self.template.steps:
                    at, forged = step.exercise, worker.forged
                    if step.kind == "check":
                        assert at is not None
                        found[at.key] |= self._check(worker, at)
                        found[at.key]["forged"] += worker.forged - forged
                    elif at is not None:
                        cell = {"code": code[at.key], "forget": at.answer, "learners": True}
                        found[at.key] = {"raised": self._cell(worker, cell), "forged": worker.forged - forged}
                    elif (raised := self._cell(worker, {"code": step.code})) and not found:
                        raise LessonBroken(message("lessons.grade_setup_failed", key=step.key, **raised))
        except Stopped as stop:
            if at is None and not found:
                raise LessonBroken(message("lessons.grade_no_worker", why=stop.why)) from None
            raise _Stuck(at.key if at else list(found)[-1], stop.why) from None
        return found

    def _cell(self, worker: Worker, cell: dict[str, Any]) -> dict[str, str] | None:
        raised = worker.ask({"do": "run", **cell}, self.limits.cell_seconds).get("raised")
        if not raised:
            return None
        return {name: str(raised.get(name)) if isinstance(raised, dict) else "?" for name in ("error", "text")}

    def _check(self, worker: Worker, exercise: Exercise) -> dict[str, Any]:
        # The oracle's own limit comes first: code that lets itself be stopped costs no second run.
        seconds = min(SECONDS, self.limits.cell_seconds / 2)
        question = {"do": "check", "key": exercise.key, "seed": self.seed, "seconds": seconds}
        return checked(worker.ask(question, self.limits.cell_seconds))

    def prepare(self) -> None:
        """Run the lesson's own solutions once; what they show is the reference. Raises `LessonBroken`."""
        try:
            found = self.run(self.template.solutions)
        except _Stuck as stuck:
            raise LessonBroken(message("lessons.grade_solution_failed", key=stuck.key, hint=stuck.why)) from None
        for exercise in self.template.exercises:
            entry = found[exercise.key]
            reference = Reference() if entry["hint"] else reference_of(exercise, entry, self.seed)
            miss = outcome(exercise, reference, entry, self.seed)
            if miss is not None:
                raise LessonBroken(message("lessons.grade_solution_failed", key=exercise.key, hint=miss.hint))
            self.references[exercise.key] = reference

    def grade(self, code: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """For each exercise what is said about the answer in `code`: `ok`, `hint`, `line`, `notes`.

        An answer that hangs, or ends its process, is replaced by the stub and everything else is run again.
        """
        stubs, stopped = self.template.stubs, dict[str, str]()
        texts = {**stubs, **{key: text for key, text in code.items() if key in stubs}}
        while True:
            try:
                found = self.run(texts)
                break
            except _Stuck as stuck:
                if texts == stubs:
                    raise LessonBroken(message("lessons.grade_no_worker", why=stuck.why)) from None
                # A stub does not stop: something that an earlier answer left running did it.
                guilty = [stuck.key] if stuck.key not in stopped else list(stubs)
                for key in guilty:
                    stopped.setdefault(key, stuck.why)
                    texts[key] = stubs[key]
        return {
            exercise.key: self._result(exercise, found[exercise.key], stopped.get(exercise.key))
            for exercise in self.template.exercises
        }

    def _result(self, exercise: Exercise, found: dict[str, Any], stopped: str | None) -> dict[str, Any]:
        if stopped is not None:
            miss: Miss | None = Miss(stopped, seconds=f"{self.limits.cell_seconds:g}")
        else:
            miss = outcome(exercise, self.references[exercise.key], found, self.seed)
            if miss is not None and miss.hint == "not_started" and found["raised"]:
                miss = Miss("cell_raised", **found["raised"])
        notes = []
        if stopped is None and found["replaced"]:
            notes.append(message("lessons.grade_replaced", names=_few(found["replaced"])))
        if stopped is None and found["meddled"]:
            notes.append(message("lessons.grade_meddled", names=_few(found["meddled"])))
        if found["forged"]:
            notes.append(message("lessons.grade_forged", n=found["forged"]))
        return {
            "ok": miss is None,
            "hint": None if miss is None else miss.hint,
            "line": message("lessons.ok", key=exercise.key) if miss is None else self.words(exercise.key, miss),
            "counts": not exercise.quiz,
            "notes": notes,
        }

    @staticmethod
    def words(key: str, miss: Miss) -> str:
        """The line of feedback. What the learner's process says is data: an unknown hint, or odd fields, do no harm."""
        own = f"lessons.grade_hint_{miss.hint}"
        try:
            hint = message(own, **miss.fields) if own in table("lessons") else _hint(key, miss)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError):
            hint = message("lessons.grade_hint_not_shown")
        return message("lessons.not_yet", key=key, hint=hint)


def _hint(key: str, miss: Miss) -> str:
    return hint_text(key, miss.hint, FEEDBACK_LEVEL, miss.fields)


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


class _Stuck(Exception):
    """The worker stopped while it was at this exercise."""

    def __init__(self, key: str, why: str):
        super().__init__(key, why)
        self.key, self.why = key, why
