"""What a learner guesses, compared with the actual arrays: the kernel's word on the predictions made in a GraphView.

A page compares by `js/guess.js` with the numbers that it was given; both are tested on the same table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.viz.values import SHORT, numbers_text, to_host

__all__ = ["Prediction", "check", "judge", "parse_guess"]

_NAMED = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "true": 1.0, "false": 0.0}
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)
_BENGALI = {ord("০") + i: str(i) for i in range(10)}
_PRECISION = {"float64": 2.3e-16, "float32": 1.2e-7, "float16": 9.8e-4}


@dataclass(frozen=True)
class Prediction:
    """One guess as the kernel sees it: `right` is None where nothing was guessed; `answer` is the value in words."""

    step: int
    name: str
    guess: str
    right: bool | None
    answer: str
    tries: int
    hints: int
    revealed: bool


def parse_guess(text: str) -> list[tuple[float, float]] | None:
    """(value, significant digits typed) for each number; None for what is no list of numbers.

    >>> parse_guess("3/4, -0.50"), parse_guess("১২"), parse_guess("three")
    ([(0.75, inf), (-0.5, 2)], [(12.0, 2)], None)
    """
    plain = text.lower().translate(_BENGALI).replace("−", "-").replace("∞", "inf")
    plain = re.sub(r"([+-])\s+", r"\1", re.sub(r"\s*/\s*", "/", plain))
    words = [word for word in re.split(r"[\s,;]+", re.sub(r"[\[\]()]", " ", plain)) if word]
    numbers = [_number(word) for word in words]
    return None if any(number is None for number in numbers) else [n for n in numbers if n is not None]


def _number(word: str) -> tuple[float, float] | None:
    sign = -1.0 if word.startswith("-") else 1.0
    body = word[1:] if word[:1] in ("+", "-") else word
    if body in _NAMED:
        return sign * _NAMED[body], math.inf
    parts = body.split("/")
    if len(parts) > 2 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    if len(parts) == 2:
        with np.errstate(all="ignore"):
            return sign * float(np.float64(parts[0]) / np.float64(parts[1])), math.inf
    digits = len(re.sub(r"^0+(?=\d)", "", body.partition("e")[0].replace(".", "")))
    return sign * float(body), digits


def judge(text: str, value: Any) -> str:
    """Compare a guess with an array: "right", "close", "wrong", "count" or "unreadable".

    An array of more than six numbers is asked for its shape. Floats may be off by a thousandth (half precision: by a
    hundredth), by rounding of their dtype, or be rounded to two digits or more; integers and booleans are exact.
    "close" is right, but given with one digit only.

    >>> judge("1/3", np.array(0.3333)), judge("0.3", np.array(1 / 3)), judge("[2, 3]", np.zeros((2, 3, 4)))
    ('right', 'close', 'count')
    """
    array = to_host(value)
    short = array.size <= SHORT
    truth = [float(v) for v in (array.ravel() if short else array.shape)]
    guess = parse_guess(text)
    if guess is None or (not guess and (bool(short and truth) or not re.search(r"[(\[]", text))):
        return "unreadable"
    if len(guess) != len(truth):
        return "count"
    dtype = str(array.dtype) if short else "int64"
    found = [_compare(*one, true, dtype) for one, true in zip(guess, truth, strict=True)]
    return next((verdict for verdict in ("wrong", "close") if verdict in found), "right")


def _compare(value: float, digits: float, truth: float, dtype: str) -> str:
    if math.isnan(truth) or math.isnan(value):
        return "right" if math.isnan(truth) and math.isnan(value) else "wrong"
    if value == truth:
        return "right"
    if math.isinf(truth) or math.isinf(value) or not dtype.startswith("float"):
        return "wrong"
    gap = abs(value - truth)
    fine = _PRECISION.get(dtype, _PRECISION["float32"])
    if gap <= (1e-2 if dtype == "float16" else 1e-3) * abs(truth) + 16 * fine:
        return "right"
    power = int(f"{truth:.17e}".partition("e")[2])
    if math.isinf(digits) or gap > 0.5 * 10.0 ** (power - digits + 1) * (1 + 1e-9):
        return "wrong"
    return "right" if digits >= 2 else "close"


def check(
    predictions: Sequence[Mapping[str, Any]], names: Mapping[str, str], arrays: Mapping[str, Any]
) -> list[Prediction]:
    """The entries that a page wrote, judged on the actual `arrays` (by node id); `names` are those of the nodes."""
    found = []
    for entry in predictions:
        node, guesses = str(entry["node"]), [str(guess) for guess in entry["guesses"]]
        if node not in arrays:
            continue
        array = to_host(arrays[node])
        answer = numbers_text(array) if array.size <= SHORT else str(tuple(array.shape))
        guess = guesses[-1] if guesses else ""
        right = judge(guess, array) == "right" if guesses else None
        found.append(
            Prediction(
                int(entry["step"]), names[node], guess, right, answer, len(guesses), int(entry["hints"]),
                entry["outcome"] == "revealed",
            )
        )  # fmt: skip
    return found
