"""Every spec, of either mode, keeps to the data contract that the front-end draws from."""

from __future__ import annotations

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import FIXTURES, conforms, fixture
from tests.viz.make_fixtures import FIXTURES as MAKERS
from tutorlib.viz.graph_spec import graph_spec


def perceptron():
    rng = np.random.default_rng(3)
    X, Y = tl.matrix("X"), tl.matrix("Y")
    W, b = tl.shared(rng.normal(size=(3, 8)), name="W"), tl.shared(np.zeros(8), name="b")
    with tl.scope("layer"):
        hidden = tl.tanh(X @ W + b)
    loss = ((hidden.sum(axis=1, keepdims=True) - Y) ** 2).mean()
    updates = [(p, p - 0.1 * g) for p, g in zip((W, b), tl.grad(loss, [W, b]), strict=True)]
    step = tl.function([X, Y], loss, updates=updates, name="step")
    return step, {X: rng.normal(size=(5, 3)), Y: rng.normal(size=(5, 1))}


def recorded(backward: bool):
    x = tl.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True, name="x")
    w = tl.Parameter([[1.0], [2.0]], name="w")
    loss = (tl.relu(x @ w) ** 2).mean()
    if backward:
        loss.backward()
    return loss


def specs():
    step, inputs = perceptron()
    x, y = tl.scalar("x"), tl.scalar("y")
    bad = tl.log(tl.tensor([0.0, -1.0, 1.0], requires_grad=True))
    yield "a function with its inputs", lambda: graph_spec(step, inputs=inputs)
    yield "a function without values", lambda: graph_spec(step)
    yield "some inputs given", lambda: graph_spec([x * y, x + 1], inputs={x: 1.0})
    yield "gradients of an expression", lambda: graph_spec(x * y, wrt=[x, y], inputs={x: 1.0, "y": 2.0})
    yield "before backward", lambda: graph_spec(recorded(False))
    yield "after backward", lambda: graph_spec(recorded(True))
    yield "left to right", lambda: graph_spec(recorded(True), direction="LR")
    yield "values that are not finite", lambda: graph_spec(bad)
    yield "a lone input", lambda: graph_spec(tl.vector("v"))
    yield "a lone tensor", lambda: graph_spec(tl.tensor([1, 2, 3]))
    yield "an empty array", lambda: graph_spec(tl.tensor(np.zeros((0, 3)), requires_grad=True) * 2)
    yield (
        "an op that fails",
        lambda: graph_spec(tl.matrix("a") @ tl.vector("b"), inputs={"a": np.ones((2, 3)), "b": np.ones(2)}),
    )
    yield "a graph that is cut", lambda: graph_spec(chain(tl.scalar("s"), 900))


def chain(x, length: int):
    for _ in range(length):
        x = x * 1.01
    return x


@pytest.mark.parametrize(("what", "make"), list(specs()), ids=[what for what, _ in specs()])
def test_real_graphs_conform(what, make):
    conforms(make())


@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures_conform(name):
    conforms(fixture(name))


@pytest.mark.parametrize("name", MAKERS)
def test_fixtures_are_what_their_script_makes(name):
    assert fixture(name) == MAKERS[name]()


def test_the_same_graph_always_gives_the_same_spec():
    step, inputs = perceptron()
    assert graph_spec(step, inputs=inputs) == graph_spec(step, inputs=inputs)


def test_a_history_conforms():
    w, n = tl.shared(np.ones((9, 9)), name="w"), tl.shared(0, name="n")
    view = tl.SharedView(w, n)
    step = tl.function([], n, updates=[(w, w * 0.5), (n, n + 1)])
    for _ in range(450):
        step()
    view.mark("end")
    view.refresh()
    spec = conforms(view.spec)
    assert spec["thinned"] == 4
    assert spec["frames"][0]["update"] == 0 and spec["frames"][-1]["update"] == 450
