"""Guesses of predict mode: read and judged in Python exactly as on the page; the table is what a teacher would say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.viz.guesses import judge, parse_guess

TABLE = json.loads(Path(__file__).with_name("guesses.json").read_text(encoding="utf-8"))


def array_of(case: dict) -> np.ndarray:
    if "shape" in case:
        return np.zeros(case["shape"], dtype=case["dtype"])
    value = float(case["value"]) if isinstance(case["value"], str) else case["value"]
    return np.array(value, dtype=case["dtype"])


@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case['guess']} for {case.get('value', case.get('shape'))}")
def test_a_guess_is_judged_as_a_teacher_would(case):
    assert judge(case["guess"], array_of(case)) == case["verdict"]


def test_a_division_by_zero_is_a_number_too():
    assert parse_guess("1/0") == [(float("inf"), float("inf"))]
    assert judge("0/0", np.array(float("nan"))) == "right"


def product():
    x = tl.tensor(1.0, requires_grad=True, name="x")
    y = tl.tensor(2.0, requires_grad=True, name="y")
    z = (x + y) * y
    z.backward()
    return x, tl.GraphView(z, predict=True)


def entry(view, step: int, guesses: list[str], outcome: str = "right", hints: int = 0) -> dict:
    node = view.spec["trace"][step - 1]["node"]
    return {"step": step, "node": node, "guesses": guesses, "hints": hints, "outcome": outcome}


def test_predict_starts_before_the_first_step():
    assert product()[1].step == 0


def test_the_kernel_confirms_what_is_right_and_only_that():
    """z = (x + y) · y at 1, 2: the sum is 3, z is 6."""
    _, view = product()
    view.predictions = [entry(view, 1, ["4", "3"]), entry(view, 2, ["7"], "right")]
    first, second = view.check_predictions()
    assert (first.right, first.guess, first.answer, first.tries) == (True, "3", "3", 2)
    assert (second.right, second.answer) == (False, "6")


def test_what_was_revealed_without_a_guess_is_neither_right_nor_wrong():
    _, view = product()
    view.predictions = [entry(view, 1, [], "revealed", hints=3)]
    (found,) = view.check_predictions()
    assert (found.right, found.revealed, found.hints) == (None, True, 3)


def test_the_arrays_are_those_that_were_drawn_whatever_happened_since():
    x, view = product()
    with tl.no_grad():
        x += 10.0
    view.predictions = [entry(view, 1, ["3"])]
    assert view.check_predictions()[0].right


def test_a_graph_drawn_again_starts_afresh():
    _, view = product()
    view.predictions = [entry(view, 1, ["3"])]
    x = tl.scalar("x")
    view.redraw(x * x, inputs={x: 2.0})
    assert view.check_predictions() == []
