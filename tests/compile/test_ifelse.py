"""``tl.ifelse``: only the branch taken is computed, forward and backward, in both modes."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile.ifelse import BRANCHES


@pytest.fixture
def x():
    return tl.scalar("x")


def lines(capsys):
    return capsys.readouterr().out.split()


# ---- values ----


def test_the_condition_chooses(x):
    f = tl.function([x], tl.ifelse(x > 0, lambda: x * 2, lambda: x - 1))
    assert f(3.0) == 6.0
    assert f(-3.0) == -4.0


def test_a_dynamic_choice_is_pythons_own():
    t = tl.tensor(3.0, requires_grad=True)
    y = tl.ifelse(t > 0, lambda: t * t, lambda: 1 / 0)
    y.backward()
    assert (y.item(), t.grad.item()) == (9.0, 6.0)


def test_branches_may_be_variables(x):
    f = tl.function([x], tl.ifelse(x > 0, x * 2, -x))
    assert (f(3.0), f(-3.0)) == (6.0, 3.0)


def test_several_results_keep_their_structure(x):
    out = tl.ifelse(x > 0, lambda: {"a": x, "b": (x * 2, x * 3)}, lambda: {"a": -x, "b": (0.0, 1.0)})
    f = tl.function([x], [out["a"], *out["b"]])
    assert f(2.0) == [2.0, 4.0, 6.0]
    assert f(-2.0) == [2.0, 0.0, 1.0]


def test_a_number_in_one_branch_does_not_widen_float32():
    v = tl.vector("v", dtype="float32")
    y = tl.ifelse(v.sum() > 0, lambda: v.sum(), lambda: 0.5)
    assert y.dtype == "float32"
    assert tl.function([v], y)(np.float32([-1, -2])) == np.float32(0.5)


def test_a_number_may_be_the_condition(x):
    n = tl.scalar("n", dtype="int64")
    f = tl.function([n, x], tl.ifelse(n, x, -x))
    assert (f(2, 1.0), f(0, 1.0)) == (1.0, -1.0)


def test_choices_nest(x):
    sign = tl.ifelse(x > 0, lambda: 1.0, lambda: tl.ifelse(x < 0, lambda: -1.0, lambda: 0.0))
    f = tl.function([x], sign)
    assert [float(f(v)) for v in (5.0, -5.0, 0.0)] == [1.0, -1.0, 0.0]


def test_shared_variables_are_read_when_the_function_runs(x):
    w = tl.shared(1.0, name="w")
    f = tl.function([x], tl.ifelse(x > 0, lambda: w * 2, lambda: w))
    w.set_value(10.0)
    assert (f(1.0), f(-1.0)) == (20.0, 10.0)


# ---- laziness ----


@pytest.mark.parametrize("mode", [None, "plain", "check"])
def test_only_the_branch_taken_runs(x, capsys, mode):
    y = tl.ifelse(x > 0, lambda: tl.print_(x * 2, "then"), lambda: tl.print_(x * 3, "otherwise"))
    f = tl.function([x], y, mode=mode)
    capsys.readouterr()
    f(1.0)
    assert lines(capsys) == ["then:", "2.0"]
    f(-1.0)
    assert lines(capsys) == ["otherwise:", "-3.0"]


def test_a_branch_that_would_fail_is_harmless_until_it_is_taken():
    v, i = tl.vector("v"), tl.scalar("i", dtype="int64")
    f = tl.function([v, i], tl.ifelse(i < 3, lambda: v[i], lambda: 0.0))
    assert f([1.0, 2.0, 3.0], 7) == 0.0
    with pytest.raises(IndexError):
        f([1.0], 2)


def test_an_error_in_a_branch_names_the_line_in_the_branch():
    v, i = tl.vector("v"), tl.scalar("i", dtype="int64")

    def then():
        return v[i]  # this line

    f = tl.function([v, i], tl.ifelse(i > 0, then, lambda: 0.0))
    with pytest.raises(tl.TutorlibError) as caught:
        f([1.0], 5)
    assert "this line" in caught.value.source.text


@pytest.mark.parametrize("run", [lambda f, x, y: tl.function([x], y)(f), lambda f, x, y: y.eval({x: f})])
def test_what_only_one_variable_branch_needs_is_left_out(x, capsys, run):
    y = tl.ifelse(x > 0, tl.print_(x * 2, "then") + 1, tl.print_(x * 3, "otherwise") + 1)
    run(1.0, x, y)
    assert lines(capsys) == ["then:", "2.0"]


def test_what_is_needed_elsewhere_too_is_computed_once(x, capsys):
    shared = tl.print_(x * 2, "once")
    f = tl.function([x], [tl.ifelse(x > 0, shared + 1, x), shared])
    f(1.0)
    assert lines(capsys) == ["once:", "2.0"]
    f(-1.0)
    assert lines(capsys) == ["once:", "-2.0"]


def test_where_computes_both_sides_and_ifelse_one(x, capsys):
    both = tl.function([x], tl.where(x > 0, tl.print_(x, "a"), tl.print_(-x, "b")))
    both(1.0)
    assert sorted(lines(capsys)) == ["-1.0", "1.0", "a:", "b:"]


# ---- gradients ----


def test_the_gradient_is_that_of_the_branch_taken(x):
    y = tl.ifelse(x > 0, lambda: x**3, lambda: x * 5)
    f = tl.function([x], [tl.grad(y, x), tl.grad(tl.grad(y, x), x)])
    assert f(2.0) == [12.0, 12.0]
    assert f(-2.0) == [5.0, 0.0]


def test_the_gradient_is_lazy_too(x, capsys):
    y = tl.ifelse(x > 0, lambda: tl.exp(tl.print_(x, "then")), lambda: tl.print_(x, "otherwise") * 2)
    f = tl.function([x], tl.grad(y, x))
    f(0.0)
    assert "then:" not in lines(capsys)


@pytest.mark.parametrize("as_variables", [False, True])
def test_the_branch_not_taken_leaks_no_nan(x, as_variables):
    y = tl.ifelse(x > 0, tl.log(x), x * 2) if as_variables else tl.ifelse(x > 0, lambda: tl.log(x), lambda: x * 2)
    f = tl.function([x], [y, tl.grad(y, x)])
    assert f(0.0) == [0.0, 2.0]
    assert f(-1.0) == [-2.0, 2.0]


def test_gradients_reach_what_a_branch_takes_from_around_it():
    x, w = tl.vector("x"), tl.vector("w")
    y = tl.ifelse(x.sum() > 0, lambda: (x * w).sum(), lambda: (w * w).sum())
    f = tl.function([x, w], tl.grad(y, [x, w]))
    gx, gw = f([1.0, 2.0], [3.0, 4.0])
    assert gx.tolist() == [3.0, 4.0]
    assert gw.tolist() == [1.0, 2.0]
    gx, gw = f([-1.0, -2.0], [3.0, 4.0])
    assert gx.tolist() == [0.0, 0.0]
    assert gw.tolist() == [6.0, 8.0]


@pytest.mark.parametrize("length", [4, None])
def test_the_gradient_computes_nothing_costly_of_a_branch_again(length):
    """The slopes of tanh(e^x) and of its square root are made from values that the branches gave on the way."""
    v = tl.symbol("v", (length,))
    then, otherwise = lambda: tl.tanh(tl.exp(v)).sum(), lambda: (tl.sqrt(v * v + 1) * 3).sum()
    y = tl.ifelse(v.sum() > 0, then, otherwise)
    f = tl.function([v], [y, tl.grad(y, v), tl.grad(tl.sum(tl.grad(y, v)), v)])
    graphs = [node.attrs[branch] for node in f._plan.nodes if node.op.name == "ifelse" for branch in BRANCHES]
    ops = [node.op.name for graph in graphs for node in graph.nodes]
    if length is not None:
        assert ops.count("exp") == ops.count("tanh") == ops.count("sqrt") == 1
    up, down = np.array([0.5, -0.25, 1.0, 0.0]), np.array([-0.5, 0.25, -1.0, 0.0])
    e, t = np.exp(up), np.tanh(np.exp(up))
    value, slope, second = f(up)
    np.testing.assert_allclose(value, t.sum())
    np.testing.assert_allclose(slope, e * (1 - t**2))
    np.testing.assert_allclose(second, e * (1 - t**2) - 2 * t * (1 - t**2) * e**2)
    root = np.sqrt(down**2 + 1)
    value, slope, second = f(down)
    np.testing.assert_allclose(value, 3 * root.sum())
    np.testing.assert_allclose(slope, 3 * down / root)
    np.testing.assert_allclose(second, 3 / root - 3 * down**2 / root**3)


# ---- random streams ----


def test_a_draw_in_a_branch_moves_the_counter_whichever_branch_is_taken(x):
    stream = tl.random.Stream(0, static=True)
    f = tl.function([x], tl.ifelse(x > 0, lambda: stream.normal(()), lambda: 0.0))
    draws = [float(f(v)) for v in (1.0, -1.0, 1.0)]
    plain = tl.random.Stream(0)
    first, _, third = (plain.normal(()).item() for _ in range(3))
    assert draws == [first, 0.0, third]


# ---- refusals ----


def test_a_condition_with_several_values_is_refused():
    v = tl.vector("v")
    with pytest.raises(tl.ShapeError, match=r"tl\.where"):
        tl.ifelse(v > 0, v, -v)
    with pytest.raises(tl.ShapeError, match=r"tl\.where"):
        tl.ifelse(tl.tensor([1.0, 2.0]) > 0, 1, 2)


def test_branches_of_different_dtypes_are_refused_with_both_lines(x):
    def then():
        return tl.cast(x, "float32")  # line of then

    def otherwise():
        return x * 2  # line of otherwise

    with pytest.raises(tl.DTypeError, match=r"(?s)line of then.*line of otherwise"):
        tl.ifelse(x > 0, then, otherwise)


def test_branches_of_different_shapes_are_refused(x):
    v = tl.vector("v")
    with pytest.raises(tl.ShapeError, match="different shapes"):
        tl.ifelse(x > 0, lambda: v, lambda: x)
    with pytest.raises(tl.ShapeError, match="different shapes"):
        tl.ifelse(x > 0, np.ones(2), np.ones(3))


def test_branches_of_different_structures_are_refused(x):
    with pytest.raises(tl.TutorlibError, match="different structures"):
        tl.ifelse(x > 0, lambda: (x, x), lambda: x)


# ---- as part of a graph ----


def test_equal_choices_become_one(x):
    def choice():
        return tl.ifelse(x > 0, lambda: tl.exp(x), lambda: x)

    f = tl.function([x], choice() * choice())
    assert [node.op.name for node in f._plan.nodes].count("ifelse") == 1
    assert f(-3.0) == 9.0


def test_givens_reach_into_a_branch(x):
    w = tl.shared(2.0, name="w")
    f = tl.function([], tl.ifelse(x > 0, lambda: x * w, lambda: x), givens=[(x, w + 1)])
    assert f() == 6.0


def test_a_branch_may_be_as_long_as_it_likes(x):
    def long():
        y = x
        for _ in range(20_000):
            y = y + 1
        return y

    assert tl.function([x], tl.ifelse(x > 0, long, lambda: x), mode="plain")(1.0) == 20_001.0
