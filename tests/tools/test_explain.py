"""``tl.explain`` names the first cause of a gradient that is None, NaN, zero, tiny or huge."""

import numpy as np
import pytest

import tutorlib as tl


def leaf(value, name="x"):
    return tl.tensor(value, requires_grad=True, name=name)


def test_a_leaf_without_requires_grad():
    x = tl.tensor(1.0, name="x")
    found = tl.explain(x, cost=leaf(2.0) * 1)
    assert found.verdict == "none" and "requires_grad=True" in str(found)


def test_backward_has_not_run(monkeypatch):
    monkeypatch.setattr("tutorlib.core.autodiff._last_cost", None)
    assert "backward() first" in str(tl.explain(leaf(1.0)))


def test_the_cost_does_not_depend_on_it():
    x, y = leaf(1.0), leaf(2.0, "y")
    assert str(tl.explain(x, cost=y * 2)) == "The cost does not depend on x: no path leads from it to the cost."


def test_a_detached_copy_is_recognised():
    x, y = leaf(1.0), leaf(2.0, "y")
    found = tl.explain(x, cost=x.detach() * y)
    assert found.verdict == "none" and "detach()" in str(found)


def test_the_op_that_has_no_gradient_is_named_with_its_line():
    x, y = leaf(1.0), leaf(2.0, "y")
    mask = x > 0.5
    found = tl.explain(x, cost=mask * y)
    assert [n.op.name for n in found.causes] == ["gt"]
    assert "mask = x > 0.5" in str(found)


def test_the_op_whose_forward_value_is_not_finite_first():
    x = leaf([0.0, 1.0])
    y = tl.log(x)
    found = tl.explain(x, cost=(tl.exp(y) * y).sum())
    assert found.verdict == "nan"
    assert [n.op.name for n in found.causes] == ["log"]
    assert "−inf in 1 of 2 elements" in str(found) and "x = 0" in str(found)


def test_the_op_whose_slope_is_infinite():
    x = leaf(0.0)
    found = tl.explain(x, cost=tl.sqrt(x * x) * x.detach() + tl.sqrt(x))
    assert found.verdict == "nan" and found.causes[0].op.name == "sqrt"
    assert "Forward all values are finite" in str(found)


def test_a_leaf_that_is_nan_itself():
    x = leaf([1.0, float("nan")])
    assert "The value of x itself holds NaN in 1 of 2" in str(tl.explain(x, cost=(x * x).sum()))


@pytest.mark.parametrize(
    ("cost", "op", "words"),
    [
        (lambda x: tl.relu(x - 9.0), "relu", "units that are off: 2 of 2"),
        (lambda x: tl.tanh(x * 1e4), "tanh", "saturated"),
        (lambda x: x * np.zeros(2), "mul", "factor that is 0"),
        (lambda x: tl.where(np.array([False, False]), x, 1.0), "where", "takes the other branch"),
        (lambda x: tl.clip(x, 5.0, 6.0), "clip", "outside the range"),
        (lambda x: tl.sign(x), "sign", "flat"),
    ],
)
def test_what_makes_a_gradient_zero(cost, op, words):
    x = leaf([1.0, 2.0])
    found = tl.explain(x, cost=cost(x).sum())
    assert found.verdict == "zero"
    assert [n.op.name for n in found.causes] == [op]
    assert words in str(found)


def test_a_zero_that_comes_of_an_overflow_is_not_passed_off_as_the_truth():
    x = leaf([1000.0])
    found = tl.explain(x, cost=tl.log(1 + tl.exp(x)).sum())
    assert found.verdict == "zero"
    assert "exp" in [n.op.name for n in found.causes]
    assert "the true gradient is not 0" in str(found)


def test_parts_that_cancel():
    x = leaf(3.0)
    assert "cancel" in str(tl.explain(x, cost=x * 2 - x * 2))


def test_a_tiny_gradient_names_the_ops_that_shrink_it():
    x = leaf(1.0)
    y = x
    for _ in range(12):
        y = tl.sigmoid(y) * 1.0
    found = tl.explain(x, cost=y)
    # Each sigmoid has slope at most 1/4: twelve of them at most 4**-12 = 6e-8.
    assert found.verdict == "tiny"
    assert [s.op for s in found.path] == ["mul", "sigmoid"] * 12
    assert all(s.factor <= 0.25 for s in found.path if s.op == "sigmoid")


def test_a_huge_gradient_and_its_factors():
    x = leaf(1.0)
    found = tl.explain(x, cost=(x * 100.0) * 50.0)
    assert found.verdict == "huge"
    assert [(s.op, s.factor) for s in found.path] == [("mul", 50.0), ("mul", 100.0)]
    assert len(found.causes) == 2


def test_an_ordinary_gradient_is_called_so():
    x = leaf([3.0, 4.0])
    found = tl.explain(x, cost=(x * 1.0).sum())
    assert found.verdict == "ordinary" and "norm is 1.41" in str(found)


def test_after_backward_the_cost_need_not_be_named():
    x = leaf([-1.0])
    loss = tl.relu(x).sum()
    loss.backward()
    assert tl.explain(x).verdict == "zero"


def test_a_symbol_is_explained_at_given_values():
    a = tl.scalar("a")
    cost = tl.sqrt(a - a) * a
    found = tl.explain(a, cost, inputs={a: 2.0})
    assert found.verdict == "nan" and "tl.sqrt(a - a)" in str(found)


def test_what_is_found_points_into_the_learners_own_graph():
    a = tl.scalar("a")
    root = tl.sqrt(a - a)
    found = tl.explain(a, root * a, inputs={a: 2.0})
    assert found.causes[0] is root.node
    step = tl.tanh(a * 3.0)
    nodes = [s.node for s in tl.explain(a, step, inputs={a: 0.1}).path]
    assert nodes == [step.node, step.node.inputs[0].node]


def test_a_symbols_missing_value_is_asked_for():
    a, b = tl.scalar("a"), tl.scalar("b")
    with pytest.raises(tl.MissingInputError, match="b"):
        tl.explain(a, a * b, inputs={a: 1.0})


def test_a_result_is_told_that_its_gradient_is_not_kept():
    x = leaf(2.0)
    y = x * 3.0
    assert "retain_grad()" in str(tl.explain(y, cost=y * 2.0))
