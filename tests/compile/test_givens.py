"""``givens``: something else in a variable's place, in one function only."""

import numpy as np
import pytest

import tutorlib as tl


@pytest.fixture
def ab():
    return tl.scalar("a"), tl.scalar("b")


def test_an_input_is_replaced_by_an_expression(ab):
    a, b = ab
    assert tl.function([a], a * b, givens=[(b, a + 1)])(3.0) == 12.0
    assert tl.function([a], a * b, givens={b: 10.0})(3.0) == 30.0


def test_a_shared_variable_is_replaced_and_its_state_untouched(ab):
    a, _ = ab
    s = tl.shared(100.0)
    assert tl.function([a], a * s, givens={s: a + 1})(3.0) == 12.0
    assert s.get_value() == 100.0
    assert s.storage.version == 0


def test_an_intermediate_is_replaced_everywhere_it_is_used(ab):
    a, _ = ab
    h = a * 2
    assert tl.function([], h * h + 1, givens={h: 10.0})() == 101.0


def test_the_output_itself_may_be_replaced(ab):
    a, _ = ab
    assert tl.function([], a, givens={a: 3.0})() == 3.0


def test_replacements_are_simultaneous(ab):
    a, b = ab
    swapped = tl.function([a, b], a - b, givens=[(a, b), (b, a)])
    assert swapped(5.0, 2.0) == -3.0


def test_what_stands_in_a_replacement_is_not_replaced_again(ab):
    a, b = ab
    assert tl.function([a], a - b, givens=[(b, a), (a, a * 10)])(2.0) == 18.0  # 20 − 2


def test_the_graph_itself_is_not_changed(ab):
    a, b = ab
    y = a * b
    tl.function([a], y, givens={b: 10.0})(1.0)
    assert tl.function([a, b], y)(3.0, 4.0) == 12.0


def test_updates_are_replaced_in_too(ab):
    _, b = ab
    s = tl.shared(1.0)
    tl.function([], updates=[(s, s + b)], givens={b: 10.0})()
    assert s.get_value() == 11.0


def test_a_gradient_is_replaced_in_consistently(ab):
    a, b = ab
    slope = tl.grad(a**2 * b, a)  # 2ab
    assert tl.function([a], slope, givens={b: 10.0})(3.0) == 60.0


def test_a_minibatch_by_index():
    data, i, x = tl.shared(np.arange(12.0).reshape(6, 2)), tl.scalar("i", dtype="int64"), tl.matrix("x")
    batch_sum = tl.function([i], x.sum(axis=0), givens={x: data[i * 2 + np.arange(2)]})
    assert batch_sum(1).tolist() == [10.0, 12.0]


def test_a_list_or_whole_number_takes_the_dtype_of_what_it_replaces():
    v, f = tl.vector("v"), tl.scalar("f", dtype="float32")
    assert tl.function([], v * 2, givens={v: [1, 2]})().dtype == "float64"
    assert tl.function([], f * 2, givens={f: 1.5})().dtype == "float32"


@pytest.mark.parametrize(
    "new, error, words",
    [
        (lambda: tl.scalar("i", dtype="int64"), tl.DTypeError, "int64"),
        (lambda: np.int64(2), tl.DTypeError, "int64"),
        (lambda: tl.vector("v"), tl.ShapeError, r"\(\?,\)"),
        (lambda: np.ones(3), tl.ShapeError, r"\(3,\)"),
    ],
)
def test_a_replacement_must_have_the_same_dtype_and_rank(ab, new, error, words):
    a, b = ab
    with pytest.raises(error, match=words):
        tl.function([a], a * b, givens={b: new()})


def test_only_symbols_can_be_replaced(ab):
    a, _ = ab
    with pytest.raises(tl.ModeMixError, match="not one"):
        tl.function([a], a * 2, givens=[(3.0, 4.0)])
    with pytest.raises(tl.TutorlibError, match="pairs"):
        tl.function([a], a * 2, givens=[a])


def test_a_replaced_known_dim_must_agree():
    three = tl.symbol("three", shape=(3,))
    with pytest.raises(tl.ShapeError):
        tl.function([], three * 2, givens={three: np.ones(4)})
