"""``tl.while_loop``: in both modes, with gradients where the steps are bounded."""

import os

import numpy as np
import pytest

import tutorlib as tl

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax

jax.config.update("jax_enable_x64", True)


@pytest.fixture
def x():
    return tl.scalar("x")


def squared(v, max_steps=None):
    return tl.while_loop(lambda v: v < 100.0, lambda v: v * v, v, max_steps)


def collatz(n):
    return tl.while_loop(
        lambda s: s["n"] > 1,
        lambda s: {"n": tl.where(s["n"] % 2 == 0, s["n"] // 2, 3 * s["n"] + 1), "steps": s["steps"] + 1},
        {"n": n, "steps": 0},
    )["steps"]


def test_it_goes_on_until_the_condition_is_false(x):
    assert tl.function([x], squared(x))(3.0) == 6561.0
    assert squared(tl.tensor(3.0)).item() == 6561.0


def test_no_step_gives_the_start_back(x):
    assert tl.function([x], squared(x))(300.0) == 300.0
    assert tl.function([x], squared(x, max_steps=5))(300.0) == 300.0


def test_the_state_may_be_nested_and_whole_numbers():
    n = tl.scalar("n", dtype="int64")
    assert tl.function([n], collatz(n))(27) == 111
    assert collatz(tl.tensor(27)).item() == 111


@pytest.mark.parametrize("max_steps", [0, 1, 2, 3, 4])
def test_max_steps_ends_it_in_any_case(x, max_steps):
    expected = [3.0, 9.0, 81.0, 6561.0, 6561.0][max_steps]
    assert tl.function([x], squared(x, max_steps))(3.0) == expected
    assert squared(tl.tensor(3.0), max_steps).item() == expected


def test_it_agrees_with_jax_on_newtons_method(x):
    def newton(loop, a):
        return loop(lambda s: abs(s * s - a) > 1e-12, lambda s: 0.5 * (s + a / s), a)

    expected = newton(jax.lax.while_loop, 7.0)
    assert tl.function([x], newton(tl.while_loop, x))(7.0) == pytest.approx(float(expected), rel=1e-15)


def test_the_gradient_of_a_bounded_loop(x):
    y = squared(x, max_steps=20)
    slope = tl.grad(y, x)
    f = tl.function([x], [slope, tl.grad(slope, x)])
    assert f(3.0) == [8 * 3.0**7, 56 * 3.0**6]
    assert f(300.0) == [1.0, 0.0]


def test_the_gradient_in_dynamic_mode_needs_no_bound():
    t = tl.tensor(3.0, requires_grad=True)
    squared(t).backward()
    assert t.grad.item() == 8 * 3.0**7


def test_steps_after_the_end_leak_no_nan(x):
    y = tl.while_loop(lambda v: v > 1.0, lambda v: tl.log(v), x, max_steps=50)
    f = tl.function([x], [y, tl.grad(y, x)])
    value, slope = f(10.0)
    assert value == pytest.approx(np.log(np.log(10.0)))
    assert slope == pytest.approx(1 / (10 * np.log(10.0)))


def test_gradients_reach_what_the_body_takes_from_around_it(x):
    w = tl.scalar("w")
    y = tl.while_loop(lambda v: v < 10.0, lambda v: v * w, x, max_steps=100)
    assert tl.function([x, w], tl.grad(y, [x, w]))(1.0, 3.0) == [27.0, 27.0]


def test_a_gradient_without_a_bound_names_the_loop_and_the_cure(x):
    y = tl.while_loop(lambda v: v < 100.0, lambda v: v * v, x)  # this loop
    with pytest.raises(tl.NotDifferentiableError, match="max_steps=") as caught:
        tl.grad(y, x)
    assert "this loop" in caught.value.source.text


def test_a_loop_beside_the_gradients_path_does_no_harm(x):
    steps = tl.while_loop(
        lambda s: s["v"] < 100.0, lambda s: {"v": s["v"] * 2, "n": s["n"] + 1}, {"v": 1.0, "n": x * 0}
    )
    assert tl.grad(x * x + tl.stop_gradient(steps["n"]), x).eval({x: 3.0}) == 6.0


def test_a_random_stream_draws_anew_in_every_step():
    stream, plain = tl.random.Stream(0, static=True), tl.random.Stream(0)

    def body(s):
        return {"sum": s["sum"] + stream.uniform(()), "n": s["n"] + 1}

    x = tl.scalar("x")
    last = tl.while_loop(lambda s: s["sum"] < 3.0, body, {"sum": x, "n": 0})
    f = tl.function([x], [last["sum"], last["n"]])
    for _ in range(2):
        total, n = 0.0, 0
        while total < 3.0:
            total, n = total + plain.uniform(()).item(), n + 1
        assert f(0.0) == [total, n]


def test_a_hundred_thousand_steps_need_no_deeper_stack():
    n = tl.scalar("n", dtype="int64")
    assert tl.function([n], tl.while_loop(lambda i: i < 100_000, lambda i: i + 1, n))(0) == 100_000


def test_inside_a_scan():
    x = tl.vector("x")
    _, ys = tl.scan(lambda c, v: (None, squared(v)), x)
    assert tl.function([x], ys)([3.0, 300.0, 10.0]).tolist() == [6561.0, 300.0, 100.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda v: tl.while_loop(lambda s: s > 0, lambda s: s, v), "single truth value"),
        (lambda v: tl.while_loop(lambda s: s.sum() > 0, lambda s: s.sum(), v), "another shape"),
        (lambda v: tl.while_loop(lambda s: s.sum() > 0, lambda s: (s, s), v), "state like"),
        (lambda v: tl.while_loop(lambda s: s.sum() > 0, lambda s: tl.cast(s, "float32"), v), "float64 before a step"),
        (lambda v: tl.while_loop(lambda s: s.sum() > 0, lambda s: s, v, max_steps=-1), "max_steps"),
    ],
)
def test_what_is_no_loop_is_refused(call, words):
    with pytest.raises(tl.TutorlibError, match=words) as caught:
        call(tl.vector("v"))
    assert "tl.while_loop" in caught.value.source.text or "s: " in caught.value.source.text
