"""Runs a function in a copy of this process, so that a lesson can show what two processes do not share."""

import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from tutorlib.messages import message

SECONDS = 10.0


def run_in_child(call: Callable[[], Any]) -> Any:
    """What `call()` returns in a child process, a copy of this one with all its variables.

    The child is made by `fork`, which Linux and macOS have. Where that is missing, or the child does not answer within
    ten seconds, it prints a line that says so and returns None. The value must be picklable.

    >>> numbers = [1, 2, 3]
    >>> run_in_child(lambda: numbers.append(4) or numbers)
    [1, 2, 3, 4]
    >>> numbers
    [1, 2, 3]
    """
    if not hasattr(os, "fork") or sys.platform == "emscripten":
        print(message("lessons.child.no_fork"))
        return None
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # Python warns that a forked copy has only one of the threads; the child computes and leaves, it starts nothing.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _answer_and_leave(call, write_end)
    os.close(write_end)
    return _answer(pid, read_end)


def _answer_and_leave(call: Callable[[], Any], write_end: int) -> NoReturn:
    """The child's whole life: it must not return into a copy of the notebook's kernel."""
    try:
        answer = pickle.dumps((True, call()))
    except BaseException as problem:
        answer = pickle.dumps((False, f"{type(problem).__name__}: {problem}"))
    try:
        while answer:
            answer = answer[os.write(write_end, answer) :]
    finally:
        os._exit(0)


def _answer(pid: int, read_end: int) -> Any:
    """The child's answer, read to the end of the pipe; a child that does not come to an end is ended."""
    alarm = threading.Timer(SECONDS, os.kill, (pid, signal.SIGKILL))
    alarm.start()
    with os.fdopen(read_end, "rb") as pipe:
        written = pipe.read()
    alarm.cancel()
    os.waitpid(pid, 0)
    if not written:
        print(message("lessons.child.silent"))
        return None
    fine, value = pickle.loads(written)
    if not fine:
        print(message("lessons.child.raised", error=value))
        return None
    return value
