"""``tl.nan_guard`` stops at the op and line where finite numbers become NaN or infinite."""

import numpy as np
import pytest

import tutorlib as tl


def test_a_recorded_op():
    x = tl.tensor([1.0, 0.0], requires_grad=True, name="x")
    with tl.nan_guard(), pytest.raises(tl.NonFiniteError, match="log: −inf in 1 of 2") as error:
        tl.exp(tl.log(x))  # guarded
    assert "# guarded" in str(error.value) and "x from 0 to 1" in str(error.value)


def test_a_node_of_a_compiled_function_names_the_line_that_built_it():
    v, s = tl.vector("v"), tl.shared(1.0, name="s")
    ratio = v / v.sum()  # built here
    f = tl.function([v], ratio, updates=[(s, s + 1.0)])
    with tl.nan_guard():
        f([1.0, 2.0])
        with pytest.raises(tl.NonFiniteError, match="built here"):
            f([1.0, -1.0])
    assert s.get_value() == 2.0, "the call that failed has written nothing"
    assert not np.isfinite(f([1.0, -1.0])).all(), "outside the guard nothing is raised"


def test_a_gradient_on_the_way_back():
    x = tl.tensor(0.0, requires_grad=True, name="x")
    y = tl.sqrt(x)  # slope infinite
    with tl.nan_guard(), pytest.raises(tl.NonFiniteError, match="the gradient of sqrt gave inf") as error:
        y.backward()
    assert "slope infinite" in str(error.value)


def test_what_was_not_finite_before_is_passed_over():
    x = tl.tensor([np.nan, 1.0], requires_grad=True)
    with tl.nan_guard():
        (x * 2.0).sum().backward()


def test_a_compiled_function_gives_the_same_inside():
    v = tl.vector("v")
    f = tl.function([v], tl.tanh(v * 2.0) + 1.0)
    outside = f([0.1, 0.2])
    with tl.nan_guard():
        np.testing.assert_allclose(f([0.1, 0.2]), outside, rtol=1e-15)


def test_an_op_inside_a_loop_or_a_branch_is_named_with_its_own_line():
    z, q = tl.vector("z"), tl.scalar("q")

    def step(h, r):
        inner = tl.log(h)  # inside a step
        return inner + r, h

    last, _ = tl.scan(step, z, q)
    chosen = tl.ifelse(
        q > 0,
        lambda: tl.sqrt(q - 5.0),  # inside a branch
        lambda: q,
    )
    square = tl.while_loop(
        lambda v: v < 1e300,
        lambda v: tl.exp(v * v),  # inside a loop
        q,
    )
    for result, op, line in ((last, "log", "a step"), (chosen, "sqrt", "a branch"), (square, "exp", "a loop")):
        f = tl.function([z, q], result, on_unused_input="ignore")
        f(np.zeros(4), 0.5)
        with tl.nan_guard(), pytest.raises(tl.NonFiniteError, match=f"inside {line}") as error:
            f(np.zeros(4), 0.5)
        assert error.value.op == op


def test_a_loop_under_guard_gives_what_it_gives_without():
    xs, h0 = tl.vector("xs"), tl.scalar("h0")
    last, ys = tl.scan(lambda h, x: (tl.tanh(h + x), h * x), xs, h0)
    f = tl.function([xs, h0], [last, ys, tl.grad(last + ys.sum(), xs)])
    with tl.nan_guard():
        guarded = f([0.5, -1.0, 2.0], 0.1)
    for got, want in zip(guarded, f([0.5, -1.0, 2.0], 0.1), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
