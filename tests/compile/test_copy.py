"""``Function.copy``: the same graph on other shared variables, or without its updates."""

import pytest

import tutorlib as tl


def counter(value, name):
    return tl.shared(value, name=name)


def test_a_swapped_variable_leaves_the_first_alone():
    a, b = counter(0.0, "a"), counter(100.0, "b")
    x = tl.scalar("x")
    add = tl.function([x], a, updates=[(a, a + x)], name="add")
    other = add.copy({a: b})
    assert other(5.0) == 100.0 and b.get_value() == 105.0 and a.get_value() == 0.0
    assert add(1.0) == 0.0 and a.get_value() == 1.0


def test_what_is_not_swapped_stays_shared():
    a, b, rate = counter(1.0, "a"), counter(2.0, "b"), counter(10.0, "rate")
    step = tl.function([], updates=[(a, a * rate)])
    other = step.copy({a: b})
    rate.set_value(3.0)
    step(), other()
    assert (a.get_value(), b.get_value()) == (3.0, 6.0)


def test_without_updates_it_only_reads():
    a = counter(1.0, "a")
    step = tl.function([], a + 1.0, updates=[(a, a + 1.0)])
    look = step.copy(updates=False)
    assert (look(), look(), a.get_value()) == (2.0, 2.0, 1.0)


def test_a_parameter_can_take_a_shared_variables_place():
    a, p = counter([1.0, 2.0], "a"), tl.Parameter([5.0, 6.0], name="p")
    double = tl.function([], updates=[(a, a * 2.0)]).copy({a: p})
    double()
    assert p.tolist() == [10.0, 12.0] and a.get_value().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("other", [tl.shared(1, name="whole"), tl.shared([1.0], name="vector")])
def test_another_dtype_or_shape_is_refused(other):
    a = counter(1.0, "a")
    with pytest.raises((tl.DTypeError, tl.ShapeError)):
        tl.function([], a).copy({a: other})


def test_a_variable_that_is_not_used_is_refused():
    a, b, c = counter(1.0, "a"), counter(1.0, "b"), counter(1.0, "c")
    with pytest.raises(tl.TutorlibError, match="does not use b"):
        tl.function([], a).copy({b: c})
