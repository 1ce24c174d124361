"""``tl.function``: what goes in, what comes out, and what is refused."""

import warnings

import numpy as np
import pytest

import tutorlib as tl


@pytest.fixture
def ab():
    return tl.scalar("a"), tl.scalar("b")


# ---- results ----


def test_the_result_has_the_form_of_the_outputs(ab):
    a, b = ab
    assert tl.function([a, b], a - b)(5.0, 2.0) == 3.0
    assert tl.function([a, b], [a - b, a])(5.0, 2.0) == [3.0, 5.0]
    assert tl.function([a, b], (a - b, a))(5.0, 2.0) == (3.0, 5.0)
    assert tl.function([a, b], {"d": a - b, "a": a})(5.0, 2.0) == {"d": 3.0, "a": 5.0}
    assert tl.function([a], [a])(5.0) == [5.0]
    assert tl.function([], [])() == []
    assert tl.function([])() is None


def test_results_are_numpy_arrays_of_the_graphs_dtype(ab):
    a, b = ab
    result = tl.function([a, b], [a + b, a > b, tl.cast(a, "int32")])(5.0, 2.0)
    assert all(type(r) is np.ndarray for r in result)
    assert [r.dtype for r in result] == ["float64", "bool", "int32"]
    assert [r.shape for r in result] == [(), (), ()]


def test_a_constant_an_input_and_a_shared_variable_may_be_outputs(ab):
    a, _ = ab
    s = tl.shared(7.0)
    assert tl.function([a], [a, 3.0, s, np.array([1.0])])(5.0) == [5.0, 3.0, 7.0, np.array([1.0])]


def test_one_expression_may_be_several_outputs(ab):
    a, _ = ab
    v = tl.vector("v")
    y, z = a * 2, v * 2
    first, second, third, fourth = tl.function([a, v], [y, y, z, z])(5.0, [1.0, 2.0])
    first[...] = third[...] = 0.0
    assert second == 10.0
    assert fourth.tolist() == [2.0, 4.0]


def test_a_result_never_shares_memory_with_an_input_a_constant_or_a_shared_variable():
    v, given, s = tl.vector("v"), np.array([1.0, 2.0]), tl.shared([5.0, 6.0])
    constant = tl.Constant(np.array([3.0, 4.0]))
    views = [v, constant, s, v[:], v.reshape(-1), s[::-1], constant.T, tl.expand_dims(s, 0), tl.broadcast_to(s, (2, 2))]
    run = tl.function([v], views)
    for result in run(given):
        assert result.flags.writeable
        result[...] = -100.0
    assert given.tolist() == [1.0, 2.0]
    assert s.get_value().tolist() == [5.0, 6.0]
    again = run(given)
    assert [r.ravel()[:2].tolist() for r in again[:3]] == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def test_results_of_two_calls_share_no_memory():
    v = tl.vector("v")
    run = tl.function([v], [v * 2, tl.exp(v), (v * 2).reshape(-1)])
    first = run([1.0, 2.0])
    kept = [r.copy() for r in first]
    run([8.0, 9.0])
    for now, before in zip(first, kept, strict=True):
        np.testing.assert_array_equal(now, before)


def test_a_function_may_be_called_again_with_another_length():
    v = tl.vector("v")
    total = tl.function([v], v.sum())
    assert [total(np.ones(n)) for n in (3, 0, 5, 1)] == [3.0, 0.0, 5.0, 1.0]


# ---- inputs ----


def test_inputs_by_position_by_keyword_and_mixed(ab):
    a, b = ab
    f = tl.function([a, b], a - b)
    assert f(5.0, 2.0) == f(a=5.0, b=2.0) == f(b=2.0, a=5.0) == f(5.0, b=2.0) == 3.0


def test_defaults(ab):
    a, b = ab
    f = tl.function([a, tl.In(b, value=2.0)], a - b)
    assert f(5.0) == 3.0
    assert f(5.0, 1.0) == 4.0
    assert f(a=5.0, b=0.0) == 5.0
    assert f(5.0) == 3.0


def test_a_default_may_be_zero_and_an_input_may_have_a_keyword_of_its_own(ab):
    a, _ = ab
    f = tl.function([tl.In(a, value=0.0, name="alpha")], a + 1)
    assert f() == 1.0
    assert f(alpha=2.0) == 3.0
    with pytest.raises(tl.MissingInputError, match="alpha"):
        f(a=2.0)


def test_a_shared_default_is_read_at_each_call(ab):
    a, _ = ab
    s = tl.shared(1.0)
    f = tl.function([tl.In(a, value=s)], a * 10)
    assert f() == 10.0
    s.set_value(2.0)
    assert f() == 20.0


def test_a_default_never_changes_through_a_result():
    v = tl.vector("v")
    f = tl.function([tl.In(v, value=np.array([1.0, 2.0]))], v)
    f()[...] = -1.0
    assert f().tolist() == [1.0, 2.0]


def test_an_intermediate_variable_may_be_an_input(ab):
    a, _ = ab
    h = a * 2
    assert tl.function([h], h + 1)(10.0) == 11.0


def test_inputs_without_a_name_go_by_position():
    x, y = tl.scalar(), tl.scalar()
    assert tl.function([x, y], x - y)(5.0, 2.0) == 3.0


def test_a_tensor_may_be_given(ab):
    a, _ = ab
    x = tl.tensor(3.0, requires_grad=True)
    assert tl.function([a], a * 2)(x * 2) == 12.0


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda f: f(1.0), "difference needs a value for input b"),
        (lambda f: f(b=1.0), "needs a value for input a"),
        (lambda f: f(1.0, 2.0, 3.0), r"takes 2 inputs \(a, b\), 3 were given"),
        (lambda f: f(1.0, 2.0, c=3.0), "no input called 'c'"),
        (lambda f: f(1.0, a=3.0), "'a' was given twice"),
    ],
    ids="second first many unknown twice".split(),
)
def test_a_wrong_call_names_the_input(ab, call, words):
    a, b = ab
    with pytest.raises(tl.MissingInputError, match=words):
        call(tl.function([a, b], a - b, name="difference"))


@pytest.mark.parametrize(
    "dtype, value, result",
    [
        ("float64", 1, 1.0),
        ("float64", True, 1.0),
        ("float64", np.float32(1.5), 1.5),
        ("float64", np.int8(3), 3.0),
        ("float32", 1.5, 1.5),
        ("float32", np.int64(3), 3.0),
        ("int64", True, 1),
        ("int64", np.int8(3), 3),
        ("int8", 100, 100),
        ("uint8", 255, 255),
        ("bool", True, True),
    ],
)
def test_values_that_fit_are_converted(dtype, value, result):
    x = tl.scalar("x", dtype=dtype)
    answer = tl.function([x], x)(value)
    assert answer.dtype == dtype
    assert answer == result


@pytest.mark.parametrize(
    "dtype, value",
    [
        ("int64", 1.5),
        ("int64", 1.0),
        ("float32", np.float64(1.5)),
        ("int8", np.int64(3)),
        ("int8", 300),
        ("uint8", -1),
        ("uint8", 256),
        ("bool", 2),
        ("float64", "1"),
        ("float64", None),
        ("float64", 1j),
    ],
)
def test_values_that_would_be_changed_are_refused_by_name(dtype, value):
    x = tl.scalar("x", dtype=dtype)
    with pytest.raises(tl.DTypeError, match="input x"):
        tl.function([x], x)(value)


def test_a_value_of_another_rank_or_length_is_refused():
    rows = tl.symbol("rows", shape=(None, 3))
    f = tl.function([rows], rows.sum())
    with pytest.raises(tl.ShapeError, match=r"rows has shape \(\?, 3\), the value given has \(2, 4\)") as caught:
        f(np.ones((2, 4)))
    assert "give axis 1 the length 3" in str(caught.value)
    with pytest.raises(tl.ShapeError, match="2 axes"):
        f(np.ones(3))
    with pytest.raises(tl.ShapeError, match="same length"):
        f([[1.0, 2.0, 3.0], [1.0]])
    assert f(np.ones((0, 3))) == 0.0


# ---- compiling ----


def test_a_missing_input_is_named_at_the_line_that_uses_it(ab):
    a, b = ab
    y = a * b  # uses b
    with pytest.raises(tl.MissingInputError, match="depend on b") as caught:
        tl.function([a], y)
    assert "y = a * b  # uses b" in str(caught.value)


def test_an_unused_input_is_refused_warned_about_or_ignored(ab):
    a, b = ab
    with pytest.raises(tl.UnusedInputError, match="input b"):
        tl.function([a, b], a)
    with pytest.warns(UserWarning, match="input b is not used") as caught:
        f = tl.function([a, b], a * 2, on_unused_input="warn")
    assert caught[0].filename == __file__
    assert f(2.0, 100.0) == 4.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tl.function([a, b], a * 2, on_unused_input="ignore")(2.0, 100.0) == 4.0
    with pytest.raises(tl.TutorlibError, match="on_unused_input"):
        tl.function([a], a, on_unused_input="igore")


def test_an_input_used_by_an_update_only_is_used(ab):
    a, _ = ab
    s = tl.shared(0.0)
    tl.function([a], updates=[(s, s + a)])(3.0)
    assert s.get_value() == 3.0


@pytest.mark.parametrize(
    "inputs, words",
    [
        (lambda a, s: a, "inputs are a list"),
        (lambda a, s: [a, a], "listed twice"),
        (lambda a, s: [s], "shared variable"),
        (lambda a, s: [3.0], "not a symbol"),
        (lambda a, s: [tl.tensor(1.0)], "not a symbol"),
    ],
    ids="bare twice shared number tensor".split(),
)
def test_what_cannot_be_an_input(ab, inputs, words):
    with pytest.raises(tl.TutorlibError, match=words):
        tl.function(inputs(ab[0], tl.shared(1.0)), ab[0] * 2)


def test_a_function_says_what_it_is(ab):
    a, b = ab
    s = tl.shared(1.0, name="s")
    assert repr(tl.function([a, b], a - b, name="difference")) == "<function difference(a, b) → sub>"
    assert repr(tl.function([a], updates=[(s, s + a)])) == "<function(a) → nothing, s ← add>"


# ---- eval ----


def test_eval_of_an_expression(ab):
    a, b = ab
    assert (a * b).eval({a: 3.0, b: 4.0}) == 12.0
    assert tl.shared(3.0).eval() == 3.0
    assert (tl.shared(3.0) * 2).eval() == 6.0


def test_eval_without_a_value_names_what_is_missing(ab):
    a, b = ab
    with pytest.raises(tl.MissingInputError, match="no value was given for b"):
        (a * b).eval({a: 3.0})
    with pytest.raises(tl.MissingInputError, match="'a' is not one"):
        (a * 2).eval({"a": 3.0})


def test_eval_of_an_intermediate_given_a_value(ab):
    a, _ = ab
    h = a * 2
    assert (h + 1).eval({h: 10.0}) == 11.0


def test_eval_never_hands_out_the_stored_array():
    s = tl.shared([1.0, 2.0])
    s.eval()[...] = -1.0
    assert s.get_value().tolist() == [1.0, 2.0]


def test_ten_thousand_training_steps_leave_nothing_behind():
    import gc

    x, w = tl.matrix("x"), tl.shared([0.1, 0.2, 0.3], name="w")
    loss = (tl.tanh(x @ w) ** 2).mean()
    step = tl.function([x], loss, updates=[(w, w - 0.01 * tl.grad(loss, w))])

    def objects_after(steps):
        for _ in range(steps):
            step(np.ones((4, 3)))
        gc.collect()
        return len(gc.get_objects())

    few = objects_after(20)
    assert objects_after(10_000) <= few + 20
