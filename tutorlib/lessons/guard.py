"""Runs code that a learner wrote: its output captured, its time limited, whatever it raises handed back as a value.

What the outcome means for an exercise is decided in `checker.py`. This is a courtesy to a learner whose loop does not
end, not a wall against hostile code.
"""

import contextlib
import io
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

SECONDS = 5.0
CAPTURED = 20_000
ALARM_AGAIN = 0.05


class TimeUp(BaseException):
    """Thrown into code that runs too long; not an `Exception`, so that a broad `except` does not keep it."""


@dataclass(frozen=True)
class Outcome:
    """What a guarded call did: its value, or what it raised, and the beginning of what it printed."""

    value: Any = None
    raised: BaseException | None = None
    printed: str = ""


class CappedText(io.TextIOBase):
    """A text stream that keeps the first `limit` characters and counts none of the rest."""

    def __init__(self, limit: int):
        self.limit = limit
        self.pieces: list[str] = []
        self.room = limit

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.room > 0:
            self.pieces.append(text[: self.room])
            self.room -= len(self.pieces[-1])
        return len(text)

    def getvalue(self) -> str:
        return "".join(self.pieces)


def guarded(call: Callable[[], Any], seconds: float = SECONDS, limit: int = CAPTURED) -> Outcome:
    """Call `call()` and report what happened; only `KeyboardInterrupt` comes through.

    `seconds` is the time it gets. The limit needs the main thread and a system with interval timers (Linux, macOS);
    elsewhere the call runs without one. `limit` is how many characters of its output are kept.

    >>> guarded(lambda: print("hello") or 6 * 7)
    Outcome(value=42, raised=None, printed='hello\\n')
    """
    text = CappedText(limit)
    value: Any = None
    raised: BaseException | None = None
    try:
        with captured(text):
            value = limited(call, seconds)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        raised = problem
    return Outcome(value, raised, text.getvalue())


@contextlib.contextmanager
def captured(text: CappedText) -> Iterator[None]:
    """Send stdout, stderr and a notebook's rich displays of this thread's code to `text`."""
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), displays_held_back():
        yield


@contextlib.contextmanager
def displays_held_back() -> Iterator[None]:
    """Keep `display(…)` inside the code from reaching the notebook; without IPython there is nothing to hold."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        yield
        return
    from IPython.core.displaypub import CapturingDisplayPublisher

    publisher = shell.display_pub
    shell.display_pub = CapturingDisplayPublisher()
    try:
        yield
    finally:
        shell.display_pub = publisher


def limited(call: Callable[[], Any], seconds: float) -> Any:
    """The value of `call()`; `TimeUp` is thrown into it after `seconds`, and again until it gives way."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not hasattr(signal, "setitimer"):
        return call()

    def time_up(signum: int, frame: FrameType | None) -> None:
        # An alarm that arrives while this module puts the timer back must not break it off half-way.
        if frame is not None and frame.f_code.co_filename != __file__:
            _raise_again_on_the_next_line(frame)
            raise TimeUp

    earlier_trace = sys.gettrace()
    started = time.monotonic()
    earlier_handler = signal.signal(signal.SIGALRM, time_up)
    earlier_left, earlier_interval = signal.setitimer(signal.ITIMER_REAL, seconds, ALARM_AGAIN)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier_handler)
        sys.settrace(earlier_trace)
        if earlier_left:
            left = max(earlier_left - (time.monotonic() - started), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, earlier_interval)


def _raise_again_on_the_next_line(frame: FrameType | None) -> None:
    """Make the code's next line raise `TimeUp` too: an `except` around a loop catches the first one and goes on."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename == __file__:
            return None
        if event == "line":
            raise TimeUp
        return trace

    sys.settrace(trace)
    while frame is not None and frame.f_code.co_filename != __file__:
        frame.f_trace = trace
        frame = frame.f_back
