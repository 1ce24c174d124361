"""Formulas as MathML: what the eye expects of a textbook, and never markup out of a name."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

import tutorlib as tl
from tutorlib.ops.formulas import FORMULAS
from tutorlib.viz.mathml import markup, math_of, name_tree, with_names

EVERY = sorted({text for row in FORMULAS.values() for text in (row["forward"], *row["backward"]) if text})


def flat(tree) -> str:
    return tree if isinstance(tree, str) else "".join(map(flat, tree[1:]))


@pytest.mark.parametrize("text", EVERY)
def test_no_letter_of_any_formula_is_lost(text):
    """What is left out is what the picture says by position: fraction bars, root signs' and exponents' brackets."""
    kept = "".join(c for c in text if c.isalpha() and c not in "ˣʸᶻᵀₖ")
    said = flat(math_of(text))
    for letter in set(kept):
        assert letter in said


@pytest.mark.parametrize("text", EVERY)
def test_every_formula_is_well_formed(text):
    root = ET.fromstring(markup(with_names(math_of(text), {})))
    assert {node.tag for node in root.iter()} <= set("math mrow mi mn mo mtext mfrac msup msub msqrt".split())


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("z = x²", ["mrow", "z", ["mo", "="], ["msup", "x", ["mn", "2"]]]),
        ("z = xᵀ", ["mrow", "z", ["mo", "="], ["msup", "x", ["mo", "⊤"]]]),
        ("z = x / (1 + y)", ["mrow", "z", ["mo", "="], ["mfrac", "x", ["mrow", ["mn", "1"], ["mo", "+"], "y"]]]),
        ("z = √x", ["mrow", "z", ["mo", "="], ["msqrt", "x"]]),
        ("z = e⁻ˣ", ["mrow", "z", ["mo", "="], ["msup", ["mi", "e"], ["mrow", ["mo", "−"], "x"]]]),
    ],
)
def test_formulas_by_hand(text, tree):
    assert math_of(text) == tree


def test_the_local_derivative_stands_as_a_factor_of_its_own():
    """∂L/∂x = ∂L/∂z · 1/x, not (∂L/∂z)/x."""
    assert math_of("∂L/∂x = ∂L/∂z / x")[-3:] == ["∂L/∂z", ["mo", "·"], ["mfrac", ["mn", "1"], "x"]]


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("x", ["mi", "x"]), ("W1", ["msub", ["mi", "W"], ["mn", "1"]]), ("w_in", ["msub", ["mi", "w"], ["mi", "in"]]),
        ("sigma", ["mi", "σ"]), ("loss", ["mi", "loss"]), ("-0.5", ["mn", "-0.5"]), ("x = add", ["mtext", "x = add"]),
        ("ওজন", ["mi", "ওজন"]),
    ],
)  # fmt: skip
def test_names(name, tree):
    assert name_tree(name) == tree


def test_a_name_is_never_markup():
    tree = with_names(math_of("z = x"), {"x": name_tree("</math><script>alert(1)</script>"), "z": ["mi", "z"]})
    assert "<script" not in markup(tree)
    ET.fromstring(markup(tree))


def formula_of(view, label: str) -> dict:
    return next(n["formula"] for n in view.spec["graph"]["nodes"] if n["label"] == label)


@pytest.mark.parametrize("mode", ["recorded", "symbolic"])
def test_the_local_derivative_is_in_the_learners_names(mode):
    if mode == "recorded":
        score = tl.tensor(2.0, requires_grad=True, name="score")
        p = tl.log(score)
        p.backward()
        view = tl.GraphView(p)
    else:
        score = tl.scalar("score")
        p = tl.log(score)
        view = tl.GraphView(p, wrt=score, inputs={score: 2.0})
    formula = formula_of(view, "p = log")
    assert formula["forward"] == "p = log score"
    assert formula["backward"] == ["∂p/∂score = ∂p/∂p / score"]
    assert formula["names"] == {"x": ["mi", "score"], "z": ["mi", "p"], "L": ["mi", "p"]}
    assert view.spec["math"]["log"]["forward"][0] == "mrow"
