"""Histograms: every number is in exactly one bar, and what is not an ordinary number stands apart, never dropped."""

from __future__ import annotations

import numpy as np
import pytest

from tutorlib.viz.histogram import histogram
from tutorlib.viz.values import describe_value

NAN, INF = float("nan"), float("inf")


def total(hist: dict) -> int:
    return sum(hist["counts"]) + hist["zero"] + hist["nan"] + hist["neg_inf"] + hist["pos_inf"]


def test_zeros_nan_and_both_infinities_are_counted_apart():
    hist = histogram(np.array([0.0, 0.0, NAN, INF, -INF, -INF, 1.0, 5.0]))
    assert (hist["zero"], hist["nan"], hist["neg_inf"], hist["pos_inf"]) == (2, 1, 2, 1)
    assert (hist["lo"], hist["hi"], sum(hist["counts"])) == (1.0, 5.0, 2)


def test_the_bins_are_those_of_numpy():
    rng = np.random.default_rng(0)
    array = rng.normal(size=1000)
    assert histogram(array)["counts"] == np.histogram(array, bins=24)[0].tolist()


@pytest.mark.parametrize(
    "array",
    [
        np.array([3.0, 3.0, 3.0]),
        np.array([-1e308, 1e308, 1.5e308]),
        np.array([5e-324, 1e-323]),
        np.array([NAN, INF]),
        np.zeros((4, 4)),
        np.array([True, False, True]),
        np.array([2, -7, 9], dtype=np.int64),
    ],
    ids=["equal", "huge", "tiny", "not finite", "zeros", "booleans", "integers"],
)
def test_every_number_is_in_one_bar(array):
    assert total(histogram(array)) == array.size


def test_equal_numbers_stand_in_one_bar():
    hist = histogram(np.full(9, 0.5))
    assert (hist["lo"], hist["hi"], max(hist["counts"])) == (0.5, 0.5, 9)


def test_an_empty_array_has_none():
    assert histogram(np.zeros((0, 3))) is None


def test_a_short_array_has_its_numbers_and_a_long_one_its_histogram():
    short, long = describe_value(np.array([1 / 3, NAN])), describe_value(np.arange(7.0))
    assert short["numbers"] == [1 / 3, "NaN"] and short["hist"] is None
    assert long["numbers"] is None and total(long["hist"]) == 7


def test_complex_numbers_are_spread_by_their_size():
    hist = describe_value(np.full(8, 3.0 + 4.0j))["hist"]
    assert (hist["lo"], hist["hi"]) == (5.0, 5.0)
