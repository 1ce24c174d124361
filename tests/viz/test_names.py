"""Names from the learner's code, and formulas with names or numbers put in."""

from __future__ import annotations

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.ops.formulas import FORMULAS
from tutorlib.viz.face import shorten, text_width
from tutorlib.viz.formulas import backward_of, forward_of
from tutorlib.viz.mathml import markup, math_of, with_names
from tutorlib.viz.names import in_words, name_of, put_in


def test_a_given_name_wins_over_the_line():
    x = tl.tensor(1.0, requires_grad=True)
    y = x * 2
    y.name = "given"
    assert name_of(y, y) == "given"


def test_an_assigned_expression_is_called_by_its_target():
    x = tl.tensor(1.0, requires_grad=True)
    answer = (x + 1).sum()
    assert name_of(answer, answer.node) == "answer"
    assert name_of(answer.node.inputs[0], answer.node.inputs[0]) is None


def test_letters_that_are_not_ascii_do_not_shift_columns():
    উত্তর = tl.tensor(1.0, requires_grad=True) * 2.0
    assert name_of(উত্তর, উত্তর.node) == "উত্তর"


def test_two_assignments_on_a_line_each_name_their_own():
    x = tl.tensor(1.0, requires_grad=True)
    # fmt: off
    a = x * 2; b = x * 3  # noqa: E702
    # fmt: on
    assert (name_of(a, a.node), name_of(b, b.node)) == ("a", "b")


def test_unpacking_and_augmented_assignment_give_no_name():
    x = tl.tensor(1.0, requires_grad=True)
    a, b = x * 2, x * 3
    x2 = x
    x2 = x2 + 1
    assert name_of(a, a.node) is None and name_of(b, b.node) is None
    assert name_of(x2, x2.node) == "x2"


@pytest.mark.parametrize(
    ("formula", "names", "said"),
    [
        ("z = x − y", {"z": "5", "x": "3", "y": "-2"}, "5 = 3 − (-2)"),
        ("z = x²", {"z": "9", "x": "-3"}, "9 = (-3)²"),
        ("z = xʸ", {"z": "8", "x": "2", "y": "3"}, "8 = 2^3"),
        ("∂L/∂x = ∂L/∂z · 2x", {"∂L/∂x": "6", "∂L/∂z": "1", "x": "3"}, "6 = 1 · 2 · 3"),
        ("z = 1 / (1 + e⁻ˣ)", {"z": "s", "x": "score"}, "s = 1 / (1 + exp(−score))"),
        ("z = max(x, 0)", {"z": "h", "x": "a"}, "h = max(a, 0)"),
        ("∂L/∂x = ∂L/∂z where x > 0", {"∂L/∂x": "∂L/∂a", "∂L/∂z": "∂L/∂h", "x": "a"}, "∂L/∂a = ∂L/∂h where a > 0"),
    ],
)  # fmt: skip
def test_names_and_numbers_are_put_into_formulas(formula, names, said):
    assert put_in(formula, names) == said


def test_a_name_put_in_is_not_replaced_again():
    assert put_in("z = x + y", {"z": "x", "x": "y", "y": "z"}) == "x = y + z"


@pytest.mark.parametrize("op", FORMULAS)
def test_every_formula_of_the_engine_can_be_read(op):
    """The output has a letter of its own, and each input the letter of its gradient's equation."""
    entry = FORMULAS[op]
    forward = forward_of(op)
    for port in range(len(entry["backward"])):
        rule = backward_of(op, port)
        if rule is not None:
            assert rule.text == entry["backward"][port]
            assert rule.text.startswith(f"∂L/∂{rule.inputs[port]} =")
    assert forward is None or (forward.output == "z" and forward.text == entry["forward"])
    letters = [letter for letter in forward.inputs if letter] if forward else []
    assert len(set(letters)) == len(letters)


@pytest.mark.parametrize(
    ("make", "numbers"),
    [
        (lambda x: tl.exp(x), lambda v: np.exp(v)),
        (lambda x: x * x * x, lambda v: v**3),
        (lambda x: tl.sigmoid(x), lambda v: 1 / (1 + np.exp(-v))),
    ],
)
def test_the_numbers_in_a_formula_are_those_of_the_op(make, numbers):
    x = tl.tensor(0.5, requires_grad=True, name="x")
    y = make(x)
    left = tl.GraphView(y).spec["trace"][-1]["numbers"].partition(" = ")[0]
    assert float(left) == pytest.approx(numbers(0.5), rel=1e-3)


@pytest.mark.parametrize(("text", "short"), [("x" * 24, "x" * 24), ("a\r\n\tb", "a b"), ("", ""), ("‮abc", "abc")])
def test_labels_are_one_line_without_control_characters(text, short):
    assert shorten(text) == short


def test_ten_thousand_characters_are_cut_in_the_middle():
    short = shorten("start" + "-" * 10_000 + "end")
    assert len(short) == 24 and short.startswith("start") and short.endswith("end")


def test_wider_text_is_estimated_wider():
    assert text_width("iiii", 12) < text_width("aaaa", 12) < text_width("WWWW", 12)


@pytest.fixture
def bengali(monkeypatch):
    monkeypatch.setenv("TUTORLIB_LANG", "bn")


def test_words_in_formulas_are_in_the_language_of_the_learner_and_letters_stay(bengali):
    assert put_in("∂L/∂x = ∂L/∂z where x > 0, else 0", {"x": "score"}) == "∂L/∂x = ∂L/∂z যেখানে score > 0, নইলে 0"
    assert put_in("∂L/∂x = ∂L/∂z, stretched to the shape of x", {"x": "W"}).endswith(", W-এর আকারে প্রসারিত")
    assert put_in("z = x @ y", {"x": "a"}) == "z = a @ y"


def test_an_ending_stays_with_the_letter_in_mathematics(bengali):
    tree = math_of(in_words("z = x in the shape of y"))
    assert tree[3:] == ["x", "y", ["mtext", "-এর\N{NO-BREAK SPACE}আকারে\N{NO-BREAK SPACE}"]]


def test_every_op_of_the_table_can_be_said_and_drawn_in_each_language(bengali):
    for row in FORMULAS.values():
        for text in (row["forward"], *row["backward"]):
            said = in_words(text)
            assert "=" not in text or said.partition("=")[0] == text.partition("=")[0]
            assert markup(with_names(math_of(said), {})).startswith("<math")
