"""``tl.profile`` counts what each node computes and stores, names its line, and leaves no trace."""

import numpy as np
import pytest

import tutorlib as tl

x = tl.symbol("x", (None, None), "float32")


def test_bytes_and_flops_by_hand():
    w = tl.shared(np.ones((3, 5), "float32"), name="w")
    product = x @ w  # the product
    f = tl.function([x], tl.exp(product).sum(), mode="plain")
    found = {n.op: n for n in tl.profile(f, np.ones((2, 3), "float32")).nodes}
    assert (found["matmul"].bytes, found["matmul"].flops) == (2 * 5 * 4, 2 * 2 * 3 * 5)
    assert (found["exp"].bytes, found["exp"].flops) == (40, 10)
    assert (found["sum"].bytes, found["sum"].flops) == (4, 10)
    assert found["matmul"].text == "product = x @ w  # the product"


def test_totals_are_sums_and_the_costliest_stands_first():
    f = tl.function([x], tl.tanh(x @ x) + 1.0)
    found = tl.profile(f, np.ones((4, 4), "float32"), repeat=3)
    assert found.seconds == pytest.approx(sum(n.seconds for n in found.nodes))
    assert [n.seconds for n in found.nodes] == sorted((n.seconds for n in found.nodes), reverse=True)
    assert "in total" in str(found) and "matmul" in str(found)


def test_updates_are_undone_also_when_a_call_fails():
    v, s = tl.vector("v"), tl.shared([1.0, 2.0], name="s")
    f = tl.function([v], s.sum(), updates=[(s, s + v)])
    tl.profile(f, [1.0, 1.0])
    assert s.get_value().tolist() == [1.0, 2.0]
    with pytest.raises(tl.TutorlibError):
        tl.profile(f, [1.0, 1.0, 1.0])
    assert s.get_value().tolist() == [1.0, 2.0]


def test_only_functions_can_be_profiled():
    with pytest.raises(tl.TutorlibError, match="compiled function"):
        tl.profile(np.sin, 1.0)


def test_a_function_profiles_itself():
    x = tl.matrix("x")
    f = tl.function([x], tl.tanh(x @ x), name="f")
    found = f.profile([[1.0, 2.0], [3.0, 4.0]], repeat=2)
    assert sorted(n.op for n in found.nodes) == ["matmul", "tanh"] and found.flops == 20
