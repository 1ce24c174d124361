"""What an exercise is, and the words that its oracle and its wrong answers are written with.

Which exercises there are stands in the folder `exercises/`, questions that many of them ask in `oracle.py`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Judge = Callable[[Any, np.random.Generator], None]


class Miss(Exception):
    """Raised by an oracle: the answer is not right yet, and `hint` is the id of what to say.

    `fields` fill the hint's text. They may show what the learner's code did, never what it should have done.
    """

    def __init__(self, hint: str, **fields: Any):
        super().__init__(hint)
        self.hint, self.fields = hint, fields


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    `key` is `"L04.ex1"`; `answer` the name that the learner's cell defines; `judge(answer, rng)` the oracle, which
    draws its inputs from `rng`, returns None for a right answer and raises `Miss` otherwise; `wrong_answers` maps a
    hint to cells that must get it. `options` are the letters to choose from, where one is chosen; the choice is a
    prediction, noted before the code is run, unless it is a `quiz`.
    """

    key: str
    answer: str
    judge: Judge
    wrong_answers: Mapping[str, tuple[str, ...]] = field(repr=False)
    options: tuple[str, ...] = ()
    quiz: bool = False

    @property
    def is_prediction(self) -> bool:
        return bool(self.options) and not self.quiz


def close(observed: Any, expected: Any) -> bool:
    """Whether two values, or lists of values, have one shape and agree to float precision.

    >>> close([0.1 + 0.2, 1.0], [0.3, 1.0]), close([1.0], 1.0)
    (True, False)
    """
    try:
        left, right = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    except (TypeError, ValueError):
        return False
    return left.shape == right.shape and bool((np.abs(left - right) <= 1e-6 + 1e-5 * np.abs(right)).all())


def diagnose(right: bool, *, otherwise: str, **misconceptions: bool) -> None:
    """Return when `right`; else raise the `Miss` of the first misconception that holds, or of `otherwise`.

    >>> diagnose(False, sign_flipped=False, forgot_factor=True, otherwise="wrong_value")
    Traceback (most recent call last):
    tutorlib.lessons.exercise.Miss: forgot_factor
    """
    if not right:
        raise Miss(next((hint for hint, holds in misconceptions.items() if holds), otherwise))


def cases(text: str) -> dict[str, tuple[str, ...]]:
    """Wrong answers by hint, from a text in which a line `#: hint` stands above each of them.

    >>> cases("#: adds_one\\nf = 1\\n#: adds_two\\nf = 2\\n#: adds_one\\nf = 3")
    {'adds_one': ('f = 1', 'f = 3'), 'adds_two': ('f = 2',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for case in re.split(r"^#: ", text, flags=re.MULTILINE)[1:]:
        hint, _, code = case.partition("\n")
        found[hint] = (*found.get(hint, ()), code.strip())
    return found
