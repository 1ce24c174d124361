"""`check` and `predict`: judge a learner's answer, say one line about it, remember the attempt.

The oracles are in `exercises/`, the running of the learner's code in `guard.py`, the words in `hints.py`.
"""

import copy
import os
import re
import sysconfig
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.random import default_rng

from tutorlib.core.errors import TutorlibError
from tutorlib.core.source import SourceLine
from tutorlib.lessons.exercise import Exercise, Miss
from tutorlib.lessons.exercises import find_exercise
from tutorlib.lessons.guard import SECONDS, TimeUp, guarded
from tutorlib.lessons.hints import LEVELS, hint_text, one_line
from tutorlib.lessons.progress import progress_path, record
from tutorlib.messages import message

NOT_STARTED = "not_started"
PYTHONS_OWN = (sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib"))
NOT_LEARNERS = (*(f"{folder}{os.sep}" for folder in (Path(__file__).parents[1], *PYTHONS_OWN)), "<frozen", "<__array")

_attempts: dict[tuple[str, str], int] = {}
_predicted: dict[str, str] = {}


@dataclass(frozen=True)
class Verdict:
    """What the check found: `hint` is None when `ok`, `level` the hint's level, `line` what the learner reads."""

    key: str
    ok: bool
    hint: str | None
    level: int
    line: str


def check(key: str, answer: Any = ...) -> None:
    """Say in one line whether an answer is right, and if not, what to think about next.

    `key` is the exercise's, `"L04.ex1"`; `answer` what the exercise asks for. It never raises (only an interrupt from
    the keyboard comes through), never shows the answer, and keeps whatever the answer prints to itself. Each further
    try unlocks a more detailed hint, up to the third, until the kernel is restarted.

    >>> check("L04.ex1", 12)
    L04.ex1: not yet - this exercise asks for a function, and the answer is an int.
    """
    print(evaluate(key, answer).line)


def predict(key: str, option: Any = ...) -> None:
    """Write down a prediction before the code is run; `check` judges it afterwards.

    `option` is the letter of one of the exercise's options, `"b"`. It never raises.
    """
    print(_commit(key, option))


def evaluate(key: str, answer: Any = ..., *, seconds: float = SECONDS) -> Verdict:
    """The verdict on an answer, with the attempt counted and recorded; `seconds` is the time its code gets."""
    exercise = find_exercise(key)
    if exercise is None:
        return _verdict(key, Miss("unknown_key", key=one_line(str(key), 40)), level=1)
    miss = find_miss(exercise, answer, seconds)
    if miss is not None and miss.hint == NOT_STARTED:
        return _verdict(exercise.key, miss, level=1)
    attempt = _count_attempt(exercise.key)
    verdict = _verdict(exercise.key, miss, level=min(attempt, LEVELS))
    record({"key": key, "ok": verdict.ok, "hint": verdict.hint, "hint_level": verdict.level, "attempt": attempt})
    return verdict


def find_miss(exercise: Exercise, answer: Any, seconds: float = SECONDS) -> Miss | None:
    """What is not right yet about an answer; None when it is right. Nothing is counted, printed or recorded."""
    if answer is ...:
        return Miss(NOT_STARTED)
    if exercise.is_prediction and exercise.key not in _predicted:
        return Miss("predict_first")
    return judged(exercise, answer, generator(exercise.key, seed_from_environment()), seconds)


def judged(exercise: Exercise, answer: Any, rng: np.random.Generator, seconds: float = SECONDS) -> Miss | None:
    """What the exercise's oracle, drawing from `rng`, has against an answer; None when it is right."""
    if answer is ...:
        return Miss(NOT_STARTED)
    if not exercise.options and not callable(answer):
        return Miss("not_a_function", type=with_article(type(answer).__name__))
    outcome = guarded(lambda: exercise.judge(answer if callable(answer) else copy.deepcopy(answer), rng), seconds)
    return None if outcome.raised is None else _explain(outcome.raised, seconds)


def generator(key: str, seed: int) -> np.random.Generator:
    """The generator from which the oracle of the exercise with this key draws."""
    return default_rng([zlib.crc32(key.encode()), seed])


def with_article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def forget_attempts() -> None:
    """Start counting attempts and predictions anew, as a fresh kernel would."""
    _attempts.clear()
    _predicted.clear()


def _commit(key: str, option: Any) -> str:
    exercise = find_exercise(key)
    if exercise is None or not exercise.is_prediction:
        return _verdict(key, Miss("unknown_prediction", key=one_line(str(key), 40)), level=1).line
    if option is ...:
        return _verdict(key, Miss("no_prediction", options=", ".join(exercise.options)), level=1).line
    if not isinstance(option, str) or option not in exercise.options:
        return _verdict(key, Miss("unknown_option", options=", ".join(exercise.options)), level=1).line
    _predicted[exercise.key] = option
    record({"key": exercise.key, "predicted": option})
    return message("lessons.predicted", key=exercise.key, option=option)


def seed_from_environment() -> int:
    """A grader's seed from `TUTORLIB_SEED`, else the learner's fixed one."""
    written = os.environ.get("TUTORLIB_SEED", "")
    return int(written) if re.fullmatch(r"\d{1,18}", written) else 0


def _count_attempt(key: str) -> int:
    """Which attempt of this process it is: those of earlier ones do not change what is printed."""
    counter = (str(progress_path()), key)
    _attempts[counter] = _attempts.get(counter, 0) + 1
    return _attempts[counter]


def _verdict(key: str, miss: Miss | None, level: int) -> Verdict:
    if miss is None:
        return Verdict(key, True, None, 0, message("lessons.ok", key=key))
    hint = hint_text(key, miss.hint, level, miss.fields)
    return Verdict(key, False, miss.hint, level, message("lessons.not_yet", key=one_line(str(key), 40), hint=hint))


def _explain(raised: BaseException, seconds: float) -> Miss:
    """The hint for what came out of the learner's code or of the oracle."""
    if isinstance(raised, Miss):
        return raised
    if isinstance(raised, NotImplementedError):
        return Miss(NOT_STARTED)
    if isinstance(raised, TimeUp):
        return Miss("too_slow", seconds=f"{seconds:g}")
    where = _learners_line(raised.__traceback__)
    kind = type(raised).__name__
    if where is None:
        return Miss("unusable", error=kind, text=one_line(_text(raised), 200))
    return Miss("raised", error=kind, text=one_line(_text(raised), 200), where=where)


def _text(raised: BaseException) -> str:
    """What an error says, also when its own `__str__` fails."""
    try:
        return raised.says if isinstance(raised, TutorlibError) else str(raised)
    except Exception:
        return ""


def _learners_line(traceback: TracebackType | None) -> str | None:
    """The place of the innermost line that the learner wrote, "cell, line 3"; None when there is none."""
    where = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(NOT_LEARNERS):
            where = SourceLine(code.co_filename, traceback.tb_lineno, traceback.tb_lineno, None, None).where
        traceback = traceback.tb_next
    return where
