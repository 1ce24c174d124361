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
