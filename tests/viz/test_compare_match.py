"""Which node is which: learners' graphs beside references, with the differences in words."""

from __future__ import annotations

import pytest

import tutorlib as tl
from tests.viz.contract import conforms


def scalars():
    return (tl.scalar(name) for name in "wxb")


def told(answer, reference) -> list[str]:
    """The differences without the places, which depend on this file's lines."""
    view = tl.CompareView(answer, reference)
    conforms(view.spec)
    return [sentence.partition(" (test_")[0] for sentence in view.differences()]


def test_equal_graphs_have_no_differences():
    w, x, b = scalars()
    view = tl.CompareView(tl.tanh(w * x + b), tl.tanh(w * x + b))
    assert view.differences() == []
    assert "Both graphs are the same." in view.describe()


def test_the_order_of_a_sum_or_product_does_not_matter():
    w, x, b = scalars()
    assert told(w * x + b, b + x * w) == []


def test_a_forgotten_edge_is_named():
    w, x, b = scalars()
    assert told(w * x + w, w * x + b) == ["you forgot the edge b → add", "the edge w → add is not in the reference"]


def test_a_forgotten_op_is_named_once_and_not_its_edges_too():
    w, x, b = scalars()
    assert told(tl.tanh(w * x), tl.tanh(tl.relu(w * x + b))) == [
        "you forgot add: the reference computes it from mul, b",
        "you forgot relu: the reference computes it from add",
    ]


def test_an_op_too_many_is_named_with_the_learners_line():
    w, x, b = scalars()
    answer = tl.tanh(tl.relu(w * x) + b)
    (sentence,) = tl.CompareView(answer, tl.tanh(w * x + b)).differences()
    assert sentence.startswith("relu is not in the reference (test_compare_match.py:")
    assert sentence.endswith(": answer = tl.tanh(tl.relu(w * x) + b))")


def test_another_op_in_the_place_is_named():
    w, x, b = scalars()
    assert told(tl.exp(w * x - b), tl.exp(w * x + b)) == ["your graph has sub where the reference has add"]


def test_operands_in_another_order_are_named():
    w, _, b = scalars()
    assert told(w - b, b - w) == ["sub takes its operands in another order: you give w, b, the reference b, w"]


def test_another_attribute_is_named():
    m = tl.matrix("m")
    assert told(m.sum(axis=0), m.sum(axis=1)) == ["sum: you have axis=0, the reference axis=1"]


def test_another_constant_is_named():
    _, x, _ = scalars()
    assert told(x * 0.1, x * 0.01) == ["0.1: you have value=0.1, the reference value=0.01"]


def test_another_dtype_is_named_where_it_begins():
    one, other = tl.vector("v", dtype="float32"), tl.vector("v", dtype="float64")
    assert told(tl.exp(one) * one, tl.exp(other) * other) == ["v is float32, in the reference float64"]


def test_updates_of_functions_are_compared():
    w = tl.shared(1.0, name="w")
    down = tl.function([], [], updates=[(w, w - 0.1 * w)])
    up = tl.function([], [], updates=[(w, w + 0.1 * w)])
    assert told(up, down) == ["your graph has add where the reference has sub"]


def test_a_branch_inside_an_ifelse_is_compared():
    _, x, _ = scalars()

    def chosen(otherwise):
        return tl.ifelse(x > 0, lambda: x * 2, otherwise)

    assert told(chosen(lambda: x - 1), chosen(lambda: x + 1)) == ["your graph has sub where the reference has add"]


def test_tensors_are_compared_as_well():
    x = tl.tensor([1.0, 2.0], requires_grad=True, name="x")
    assert told(tl.relu(x).sum(), tl.tanh(x).sum()) == ["your graph has relu where the reference has tanh"]


def test_titles_of_ones_own_make_neutral_sentences():
    w, x, b = scalars()
    view = tl.CompareView(w * x, w * x + b, titles=("draft", "final"))
    assert view.differences() == ["add is only in the final, computed from mul, b"]


@pytest.mark.parametrize("pair", [(3,), (3, 4), ([], [])])
def test_what_has_no_graph_is_refused_in_words(pair):
    with pytest.raises(TypeError, match="graph"):
        tl.CompareView(*pair)


def test_large_graphs_that_differ_in_one_place_differ_in_one_place():
    def chain(swap):
        value = tl.scalar("s")
        for i in range(150):
            value = tl.sin(value) if i != swap else tl.cos(value)
        return value

    assert told(chain(75), chain(None)) == ["your graph has cos where the reference has sin"]


def test_hostile_names_stay_text():
    names = ["<script>alert(1)</script>", "\"a\" & 'b'", "two\nlines", "مرحبا \u202eabc", "long " * 2000]
    total = sum(tl.scalar(name) for name in names)
    view = tl.CompareView(total, total * tl.scalar("]]><img src=x onerror=alert(1)>"))
    conforms(view.spec)
    assert "<script" not in view.svg() and "<img" not in view.svg()
    assert all(len(sentence) < 400 for sentence in view.differences())
    assert "\n" not in "".join(view.differences())
