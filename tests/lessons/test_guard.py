"""Learner code runs with its output capped and its time limited, and leaves alarms as it found them."""

import signal
import sys
import time

import pytest

from tutorlib.lessons.guard import TimeUp, guarded

needs_timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers on this system")


def test_the_value_and_the_beginning_of_the_output_come_back():
    outcome = guarded(lambda: print("x" * 1000) or 7, limit=10)
    assert (outcome.value, outcome.printed, outcome.raised) == (7, "x" * 10, None)


def test_what_is_raised_comes_back_as_a_value():
    assert isinstance(guarded(lambda: 1 / 0).raised, ZeroDivisionError)


@needs_timers
def test_time_up_cannot_be_kept_by_a_broad_except():
    def stubborn():
        try:
            time.sleep(30)
        except Exception:
            return "kept it"

    assert isinstance(guarded(stubborn, seconds=0.1).raised, TimeUp)


@needs_timers
def test_time_up_comes_through_a_loop_that_catches_everything():
    def stubborn():
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass

    earlier = sys.gettrace()
    assert isinstance(guarded(stubborn, seconds=0.1).raised, TimeUp)
    assert sys.gettrace() is earlier


@needs_timers
def test_an_earlier_alarm_is_still_set_afterwards():
    rung = []
    earlier = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        guarded(lambda: None, seconds=5)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 900 < left <= 1000
        signal.raise_signal(signal.SIGALRM)
        assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


@needs_timers
def test_no_alarm_is_left_behind():
    guarded(lambda: None, seconds=0.05)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
