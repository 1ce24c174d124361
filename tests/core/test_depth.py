"""No recursion anywhere: a chain of 100,000 ops builds, runs, differentiates, prints and is let go."""

import gc

import numpy as np
import pytest

import tutorlib as tl

DEPTH = 100_000


@pytest.fixture(autouse=True, scope="module")
def out_of_the_collectors_way():
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_a_long_dynamic_chain():
    x = tl.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(DEPTH // 2):
        y = y + x
        y = y * 1.0
    y.backward(retain_graph=True)
    assert x.grad.item() == DEPTH // 2 + 1
    assert len(tl.toposort([y])) == DEPTH
    text = tl.debugprint(y, limit=50)
    assert text.count("\n") == 50
    assert text.endswith("more lines")
    repr(y)
    del y
    gc.collect()


def static_chain(x, depth):
    y = x
    for _ in range(depth // 2):
        y = y + x
        y = y * 1.0
    return y


def test_a_long_static_chain():
    x = tl.scalar("x")
    y = static_chain(x, DEPTH)
    slope = tl.grad(y, x)
    assert y.eval({x: 2.0}) == 2.0 * (DEPTH // 2 + 1)
    assert slope.eval({x: 2.0}) == DEPTH // 2 + 1
    assert tl.debugprint(slope, limit=50).endswith("more lines")
    del slope, y
    gc.collect()


def test_a_long_chain_of_vectors_of_unknown_length_is_differentiated_in_one_pass():
    x = tl.vector("x")
    y = x
    for _ in range(3_000):  # finding out shapes anew from every node would take minutes
        y = tl.tanh(y) * 1.0
    np.testing.assert_array_equal(tl.grad(y.sum(), x).eval({x: [0.0, 0.0]}), [1.0, 1.0])


def test_a_long_chain_is_compiled_with_and_without_givens():
    x = tl.scalar("x")
    y = static_chain(x, 2_000)
    assert tl.function([x], y)(2.0) == 2.0 * 1_001
    assert tl.function([], y, givens=[(x, 3.0)])() == 3.0 * 1_001


def test_higher_order_through_a_long_chain():
    x = tl.tensor(1.0, requires_grad=True)
    y = x * x
    for _ in range(2_000):
        y = y * 1.0
    assert tl.grad(tl.grad(y, x), x).item() == 2.0


def test_a_wide_graph_of_many_arms():
    x = tl.tensor(np.ones(3), requires_grad=True)
    total = tl.stack([x * float(i) for i in range(2_000)]).sum()
    total.backward()
    assert x.grad.tolist() == [sum(range(2_000))] * 3
