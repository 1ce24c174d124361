"""Slips in compiling and calling functions and in loops: each is named, with one way to mend it."""

import numpy as np
import pytest

import tutorlib as tl

x, s = tl.vector("x"), tl.scalar("s")


@pytest.mark.parametrize(
    "outputs, says",
    [
        ([x * 2, "y"], "'y', not an expression"),
        ([x * 2, None], "None, not an expression"),
        (lambda x: x, "the function <lambda>, not called"),
        ([tl.exp], "the function exp, not called"),
        ([[x * 2, x], x], "a list inside the outputs"),
        ({"a": {"b": x}}, "a dict inside the outputs"),
    ],
)
def test_outputs_that_are_no_expressions(outputs, says):
    with pytest.raises(tl.TutorlibError, match="an output is") as caught:
        tl.function([x], outputs)
    assert says in caught.value.says and caught.value.fix


def test_unknown_modes_are_refused():
    with pytest.raises(tl.TutorlibError, match="no mode is called 'fast'"):
        tl.function([x], x, mode="fast")


@pytest.mark.parametrize("value", [None, "hello", {}, len])
def test_what_is_no_data_is_no_input(value):
    with pytest.raises(tl.DTypeError, match="input x needs a value") as caught:
        tl.function([x], x * 2)(value)
    assert "astype" not in caught.value.fix


def test_a_whole_number_variable_with_a_floating_point_update():
    count = tl.shared(0, name="count")
    with pytest.raises(tl.UpdateTypeError, match="count holds int64") as caught:
        tl.function([], updates=[(count, count + 0.5)])
    assert caught.value.fix == 'make the variable floating-point: tl.shared(value, dtype="float64")'


@pytest.mark.parametrize(
    "build, op",
    [
        (lambda: tl.scan(lambda c: (c, None), x, 0.0), "scan"),
        (lambda: tl.scan(s, x, 0.0), "scan"),
        (lambda: tl.scan(lambda c, v: (c, v), x, 0.0, until=lambda c: c > 1), "scan"),
        (lambda: tl.while_loop(lambda: True, lambda c: c, s), "while_loop"),
        (lambda: tl.while_loop(lambda c: c > 0, s - 1, s), "while_loop"),
        (lambda: tl.ifelse(s > 0, lambda v: v, s), "ifelse"),
    ],
)
def test_a_body_that_cannot_be_called_as_it_will_be(build, op):
    with pytest.raises(tl.TutorlibError) as caught:
        build()
    assert caught.value.op == op and "function of" in caught.value.fix


def test_an_index_that_is_too_large_for_a_gradient_says_which_fit():
    i = tl.symbol("i", (), "int64")
    f = tl.function([x, i], tl.grad(x[i] ** 2, x))
    with pytest.raises(tl.OutOfBoundsError, match="index 7 is out of bounds") as caught:
        f(np.zeros(3), 7)
    assert caught.value.fix == "use an index from -3 to 2"


@pytest.mark.parametrize("mode", [None, "plain", "check"])
def test_a_number_stretched_to_an_unknown_length_can_be_added_up(mode):
    f = tl.function([s, x], [tl.sum(tl.broadcast_like(s, x)), tl.mean(tl.broadcast_like(s, x))], mode=mode)
    assert [v.item() for v in f(3.0, [1.0, 2.0])] == [6.0, 3.0]


@pytest.mark.parametrize("returned", ["almost", [1.0], object()])
def test_a_rule_that_returns_what_is_no_value(returned):
    @tl.rule("tanh", says="wrong")
    def wrong_value(node):
        return returned

    try:
        with pytest.raises(tl.TutorlibError, match="rule wrong_value returned"):
            tl.function([x], tl.tanh(x))
    finally:
        tl.remove_rule("wrong_value")


def test_a_rule_that_does_not_exist_is_named_at_the_learners_line():
    with pytest.raises(tl.TutorlibError, match="no rule is called 'nope'") as caught, tl.rules_off("nope"):
        pass
    assert 'tl.rules_off("nope")' in str(caught.value)
    with pytest.raises(tl.TutorlibError, match="no rule is called 'nope'"):
        tl.remove_rule("nope")
