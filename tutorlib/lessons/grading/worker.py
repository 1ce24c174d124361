"""The process in which a learner's code runs: takes cells and questions as JSON lines, answers each with one.

Started by `process.py` as `python -m tutorlib.lessons.grading.worker`. It learns the seed and the word that marks its
answer only after the learner's cell has run, with the question. It decides nothing: see `verdict.py`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from typing import Any, TextIO

from tutorlib.lessons.exercises import find_exercise, lesson_exercises
from tutorlib.lessons.grading import witness
from tutorlib.lessons.grading.pristine import Pristine
from tutorlib.lessons.guard import CappedText, captured
from tutorlib.lessons.hints import one_line

CAPTURED = 20_000
LONGEST_TEXT = 500


class Cells:
    """Runs cells one after the other in one namespace, as a notebook's kernel does, magics included."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        settings = Config()
        settings.HistoryManager.enabled = False
        self.shell = InteractiveShell.instance(config=settings)

    @property
    def names(self) -> dict[str, Any]:
        return self.shell.user_ns

    def run(self, code: str) -> dict[str, str] | None:
        """Run one cell; what it raised, in words, or None."""
        with captured(CappedText(CAPTURED)):
            result = self.shell.run_cell(code, store_history=False)
        raised = result.error_before_exec or result.error_in_exec
        return None if raised is None else {"error": type(raised).__name__, "text": one_line(_text(raised), 200)}


def main() -> None:
    """Answer the questions on standard input until it ends."""
    asked, answers = private_streams()
    job = json.loads(asked.readline())
    end_with_the_grader()
    limit_resources(job["limits"])
    lesson_exercises(job["lesson"])
    cells = Cells()
    pristine: Pristine | None = None
    reply(answers, {"ready": True})
    for line in asked:
        question = json.loads(line)
        if question["do"] == "check":
            assert pristine is not None
            reply(answers, check(question, cells.names, pristine))
            continue
        # Before the first cell of the learner, and after the setup, which loads modules.
        if question.get("learners") and pristine is None:
            pristine = Pristine()
        if question.get("forget"):
            cells.names.pop(question["forget"], None)
        reply(answers, {"mark": question["mark"], "raised": cells.run(question["code"])})


def check(question: dict[str, Any], names: dict[str, Any], pristine: Pristine) -> dict[str, Any]:
    """What the oracle found about the answer that the cells left, and what it compared."""
    exercise = find_exercise(question["key"])
    assert exercise is not None
    answer = names.get(exercise.answer, ...)
    replaced = pristine.restore()
    found: dict[str, Any] = {
        "mark": question["mark"],
        "replaced": replaced[:20],
        "meddled": [],
        "seen": [],
        "hint": None,
    }
    if exercise.options:
        return found | {"option": answer if isinstance(answer, str) else None, "open": answer is ...}
    os.environ["TUTORLIB_SEED"] = str(question["seed"])
    miss, found["seen"] = witness.judge(exercise, answer, question["seed"], question["seconds"])
    os.environ.pop("TUTORLIB_SEED", None)
    found["meddled"] = pristine.restore()[:20]
    if miss is not None:
        fields = {name: one_line(str(value), LONGEST_TEXT) for name, value in miss.fields.items()}
        found |= {"hint": miss.hint, "fields": fields}
    return found


def private_streams() -> tuple[TextIO, TextIO]:
    """The streams to the grader, moved to where a learner's print or input does not reach them."""
    asked = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    return asked, answers


def reply(answers: TextIO, data: dict[str, Any]) -> None:
    answers.write(json.dumps(data) + "\n")
    answers.flush()


def end_with_the_grader() -> None:
    """Ask Linux to end this process when the grader ends, also when that was killed."""
    if sys.platform == "linux":
        set_signal_at_parents_death = 1
        ctypes.CDLL(None).prctl(set_signal_at_parents_death, signal.SIGKILL)


def limit_resources(limits: dict[str, int]) -> None:
    """Bound this process and its children: memory, CPU time, processes, size of a file; where the system can."""
    with contextlib.suppress(ImportError, AttributeError):
        import resource

        wanted = {
            resource.RLIMIT_AS: limits["memory"],
            resource.RLIMIT_CPU: limits["cpu_seconds"],
            resource.RLIMIT_FSIZE: limits["file_size"],
            resource.RLIMIT_NPROC: threads_of_this_user() + limits["processes"],
            resource.RLIMIT_CORE: 0,
        }
        for kind, value in wanted.items():
            _, most = resource.getrlimit(kind)
            value = value if most == resource.RLIM_INFINITY else min(value, most)
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(kind, (value, value))


def threads_of_this_user() -> int:
    """How many threads run already: the limit of the system counts them all. 0 where there is no /proc."""
    total = 0
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                    total += len(os.listdir(f"/proc/{name}/task"))
    return total


def _text(raised: BaseException) -> str:
    try:
        return str(raised)
    except Exception:
        return ""


if __name__ == "__main__":
    sys.modules["tutorlib.lessons.grading.worker"] = sys.modules["__main__"]
    with contextlib.suppress(BrokenPipeError):
        main()
