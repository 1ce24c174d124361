"""Rewrites of graphs with whole numbers and booleans in them, and the check of rewrites for lengths that must fit."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile.rewrite import WrongRewriteError
from tutorlib.compile.verify import fitting_shapes

n = tl.symbol("n", (None,), "int64")


@pytest.mark.parametrize(
    "build, at, value",
    [
        (lambda n: tl.sqrt(n * n), [-3, 2], [3.0, 2.0]),
        (lambda n: tl.log(tl.exp(n)), [-3, 1000], [-3.0, 1000.0]),
        (lambda n: tl.log(1 + tl.exp(n)), [1000], [1000.0]),
        (lambda n: tl.log(tl.sum(tl.exp(n))), [1000], 1000.0),
        (lambda n: tl.exp(n) / (1 + tl.exp(n)), [1000], [1.0]),
        (lambda n: tl.exp(n) - 1, [0], [0.0]),
        (lambda n: tl.log(tl.sigmoid(n)), [0], [-np.log(2)]),
    ],
)
def test_rules_for_floating_point_leave_whole_numbers_right(build, at, value):
    for mode in (None, "check"):
        result = tl.function([n], build(n), mode=mode)(np.array(at))
        assert result.dtype == "float64"
        np.testing.assert_allclose(result, value, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["uint8", "bool"])
def test_the_logarithm_of_a_sigmoid_of_what_has_no_negative(dtype):
    v = tl.symbol("v", (None,), dtype)
    f = tl.function([v], [tl.log(tl.sigmoid(v)), 1 - tl.sigmoid(v)])
    log, rest = f(np.array([1, 0], dtype))
    np.testing.assert_allclose(log, np.log([1 / (1 + np.exp(-1)), 0.5]), rtol=1e-12)
    np.testing.assert_allclose(rest, [1 / (1 + np.e), 0.5], rtol=1e-12)


def test_a_negative_that_wraps_stays_where_it_was_written():
    small = tl.symbol("small", (None,), "uint8")
    x = tl.vector("x")
    f = tl.function([x, small], [x + (-small), x - (-small), (-small) * (-small) * x])
    for got, want in zip(f([0.0], np.array([1], "uint8")), [255.0, -255.0, 0.0], strict=True):
        assert got == want


def test_a_boolean_times_itself_and_its_square_keep_their_dtypes():
    b = tl.symbol("b", (None,), "bool")
    outputs = [b * b, b**2, b**3]
    for mode in ("plain", None):
        found = tl.function([b], outputs, mode=mode)(np.array([True, False]))
        assert [v.dtype for v in found] == [v.dtype for v in outputs] == ["bool", "int64", "int64"]
        assert all(v.tolist() == [1, 0] for v in found)
    assert (tl.tensor([True]) ** 2).dtype == "int64"


def test_lengths_for_checking_fit_the_whole_graph():
    x, y, w = tl.symbol("x", (None, 5)), tl.symbol("y", (2, None)), tl.shared(np.ones(5), name="w")
    (a, b), *_ = [tuple(shapes.values()) for shapes in fitting_shapes([(x @ w).sum() + (y @ x).sum()])]
    assert (a, b) == ((a[0], 5), (2, a[0]))


def test_a_rule_is_checked_where_no_one_length_fits():
    @tl.rule("sin", says="sin x = cos x")
    def wrong_sine(node):
        return tl.cos(node.inputs[0])

    x, y = tl.symbol("x", (None, 7)), tl.symbol("y", (6, None))
    try:
        with pytest.raises(WrongRewriteError, match="changed the value"):
            tl.function([x, y], tl.sin(y @ x), mode="check")
    finally:
        tl.remove_rule("wrong_sine")


def test_a_rewrite_that_fails_for_some_length_is_wrong():
    @tl.rule("sin", says="only where there are elements")
    def fails_on_nothing(node):
        return tl.cos(node.inputs[0] - np.pi / 2 + 0 * tl.max(node.inputs[0]))

    x = tl.vector("x")
    try:
        with pytest.raises(WrongRewriteError, match="cannot be computed for inputs of shape"):
            tl.function([x], tl.sin(x), mode="check")
    finally:
        tl.remove_rule("fails_on_nothing")


def test_check_mode_leaves_alone_what_does_not_fit_the_graph():
    known, any_length = tl.symbol("known", (2, 5)), tl.symbol("any", (None, 5))
    out = tl.maximum(known * 1, any_length) + 0
    f = tl.function([known, any_length], [out, tl.grad(out.sum(), known)], mode="check")
    assert f(np.ones((2, 5)), np.zeros((1, 5)))[0].shape == (2, 5)
