"""The exercises of L00, *Start here*: small enough to be got wrong on purpose."""

from typing import Any

import numpy as np

from tutorlib.lessons.choice import choice
from tutorlib.lessons.exercise import Exercise, cases, close, diagnose
from tutorlib.lessons.oracle import one_value


def judge_twice(twice: Any, rng: np.random.Generator) -> None:
    """Two times the number, for numbers where x + 2 and x squared are something else."""
    numbers = rng.uniform(3, 9, size=3).round(1)
    returned = [one_value(twice(float(x))) for x in numbers]
    diagnose(
        close(returned, 2 * numbers),
        adds_two=close(returned, numbers + 2),
        squares=close(returned, numbers**2),
        unchanged=close(returned, numbers),
        otherwise="wrong_value",
    )


PREDICTION = {
    "5b9d5203216f": "says_error",
    "7156b777ea23": "says_zero",
    "8c17abae0736": "says_text",
    "f36c1065c1fe": "holds",
}

EXERCISES = (
    Exercise(
        key="L00.ex1",
        answer="twice",
        judge=judge_twice,
        wrong_answers=cases("""
#: adds_two
def twice(x):
    return x + 2
#: squares
def twice(x):
    return x ** 2
#: unchanged
def twice(x):
    2 * x
    return x
#: wrong_value
def twice(x):
    return 12.0
#: call_returns_none
def twice(x):
    print(2 * x)
#: not_a_function
twice = 12.0
"""),
    ),
    Exercise(
        key="L00.ex2",
        answer="prediction",
        judge=choice("L00.ex2 what is doubled?", tuple("abcd"), PREDICTION),
        options=tuple("abcd"),
        wrong_answers=cases("""
#: says_zero
prediction = "a"
#: says_error
prediction = "c"
#: says_text
prediction = "d"
#: unknown_option
prediction = "2 * x"
"""),
    ),
)
