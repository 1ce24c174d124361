"""``mode="c"``: each update happens once, whatever kinds of variables are updated side by side."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile import c_compiler

pytestmark = pytest.mark.skipif(c_compiler.compiler() is None, reason="no C compiler on this machine")


def test_a_parameter_beside_a_variable_that_gets_a_copy_is_updated_once():
    p, w = tl.Parameter([1.0, 2.0], name="p"), tl.shared([3.0, 4.0], name="w")
    with tl.static():
        grown = tl.add(p, p) + tl.mean(w)
    f = tl.function([], [grown], updates=[(p, p), (w, p)], mode="c")
    plain = tl.function([], [grown], mode="plain")
    for _ in range(3):
        (expected,) = plain()
        (got,) = f()
        np.testing.assert_allclose(got, expected, rtol=1e-15)
        assert p.symbol.get_value().tolist() == w.get_value().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "new",
    [
        lambda w: tl.tanh(w) + w[::-1],
        lambda w: tl.tanh(w) + w.T,
        lambda w: tl.exp(w[::-1]) * 0.5 + w,
        lambda w: w - 0.1 * tl.tanh(w).T,
    ],
)
def test_an_update_that_reads_its_variable_in_another_order(new):
    start = np.arange(16.0).reshape(4, 4) / 7
    w = tl.shared(start, name="w")
    tl.function([], updates=[(w, new(w))], mode="c")()
    np.testing.assert_allclose(w.get_value(), new(start), rtol=1e-12)
