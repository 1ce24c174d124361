"""Exercises whose answer is one of several options: predictions and quiz questions, with words for each wrong one.

Which option is right is kept as a fingerprint, so that a glance at the exercises does not tell it. Nothing here prints.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tutorlib.lessons.exercise import Judge, Miss

HOLDS = "holds"


def fingerprint(question: str, option: str) -> str:
    """What stands for an option in a table of verdicts; authors make their tables with it.

    >>> fingerprint("L04.ex2 old or new?", "d")
    '7ff8674ef268'
    """
    return hashlib.sha256(f"{question} {option}".encode()).hexdigest()[:12]


def choice(question: str, options: tuple[str, ...], verdicts: Mapping[str, str]) -> Judge:
    """The judge of a question: `verdicts` maps each option's fingerprint to its hint, the right one's to "holds"."""

    def judge(option: Any, rng: np.random.Generator) -> None:
        if not isinstance(option, str) or option not in options:
            raise Miss("unknown_option", options=", ".join(options))
        hint = verdicts[fingerprint(question, option)]
        if hint != HOLDS:
            raise Miss(hint)

    return judge
