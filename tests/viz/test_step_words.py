"""What a step says: shapes where they are the point of an op, and sums that can be read in a line."""

from __future__ import annotations

import numpy as np

import tutorlib as tl
from tutorlib.viz.graph_spec import graph_spec


def steps(root) -> dict[str, str]:
    return {event["formula"]: event["numbers"] for event in graph_spec(root)["trace"]}


def test_a_product_of_matrices_shows_what_becomes_of_the_shapes_forward_and_backward():
    X, W = tl.tensor(np.ones((16, 5)), name="X"), tl.Parameter(np.ones((5, 8)), name="W")
    with tl.scope("layer"):
        H = X @ W
    loss = H.sum()
    loss.backward()
    said = steps(loss)
    assert said["H = X @ W"] == "(16, 8) = (16, 5) @ (5, 8)"
    assert said["loss = Σ H"] == "() = Σ (16, 8)"
    assert said["∂loss/∂W = Xᵀ @ ∂loss/∂H"] == "(5, 8) = (16, 5)ᵀ @ (16, 8)"


def test_the_gradient_of_what_was_stretched_says_which_axis_is_summed_away():
    X, b = tl.tensor(np.ones((16, 8)), name="X"), tl.Parameter(np.zeros(8), name="b")
    H = X + b
    loss = H.sum()
    loss.backward()
    assert steps(loss)["∂loss/∂b = Σ ∂loss/∂H"] == "(8,) = Σ (16, 8)"


def test_where_all_shapes_are_alike_nothing_is_said_of_them():
    X = tl.tensor(np.ones((4, 4)), requires_grad=True, name="X")
    Y = tl.tanh(X)
    assert steps(Y)["Y = tanh X"] == ""


def test_a_sum_of_many_parts_names_the_first_ones_and_the_last():
    """w is used 9 times, each with the factor 2: 18 comes back."""
    w = tl.tensor(1.0, requires_grad=True, name="w")
    total = w * 2
    for _ in range(8):
        total = total + w * 2
    total.backward()
    (said,) = [event for event in graph_spec(total)["trace"] if event["formula"].startswith("∂total/∂w =")]
    assert said["formula"].count(" + ") == 5 and "… 4 more …" in said["formula"]
    assert said["numbers"] == "18 = 2 + 2 + 2 + 2 + … 4 more … + 2"
    assert len(said["parts"]) == 9
