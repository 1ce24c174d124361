"""``tl.gradcheck`` passes right gradients of any order and catches wrong ones."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core.graph import Op


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_smooth_function_passes_at_every_order(order):
    check = tl.gradcheck(lambda x, y: tl.sin(x) * tl.exp(y * x), [[0.3, -0.7], 0.4], order=order)
    assert check.ok, check


def test_a_wrong_rule_is_caught():
    base = tl.sin.op.on_numpy
    wrong = Op("wrong_sine", lambda xp, x: base(x), lambda x: x, (lambda g, out, x: g * tl.sin(x),))
    check = tl.gradcheck(lambda x: wrong(x), [[0.3, 1.2]])
    assert not check.ok
    assert check.errors[0] > 0.1


def test_differences_are_central_differences():
    check = tl.gradcheck(lambda x: x * x * 1.0, [np.array([2.0])])
    assert np.allclose(check.gradients[0], check.differences[0], rtol=1e-8)


def test_float32_is_refused_with_a_fix():
    with pytest.raises(tl.DTypeError, match="float64"):
        tl.gradcheck(lambda x: x, [np.ones(2, "float32")])
