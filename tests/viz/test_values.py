"""Arrays as the pictures know them: statistics worked out by hand, NaN and infinities counted apart, never dropped."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.viz.values import describe_value, number, numbers_text, to_host

NAN, INF = float("nan"), float("inf")


def test_statistics_by_hand():
    """3 and 4: mean 3.5, standard deviation 0.5, norm 5."""
    stats = describe_value(np.array([3.0, 4.0]))["stats"]
    assert stats == {
        "min": 3.0,
        "max": 4.0,
        "mean": 3.5,
        "std": 0.5,
        "norm": 5.0,
        "nan": 0,
        "inf": 0,
        "zero": 0,
        "size": 2,
    }


def test_what_is_not_finite_is_counted_and_left_out_of_the_rest():
    stats = describe_value(np.array([1.0, NAN, INF, -INF, 0.0, 3.0]))["stats"]
    assert (stats["nan"], stats["inf"], stats["zero"], stats["size"]) == (1, 2, 1, 6)
    assert (stats["min"], stats["max"], stats["mean"]) == (0.0, 3.0, pytest.approx(4 / 3))


def test_nothing_finite_leaves_no_statistics():
    stats = describe_value(np.array([NAN, INF]))["stats"]
    assert stats["mean"] is None and stats["norm"] is None
    assert (stats["nan"], stats["inf"]) == (1, 1)


def test_an_empty_array_has_no_picture():
    entry = describe_value(np.zeros((0, 3)))
    assert entry["shape"] == [0, 3] and entry["stats"]["size"] == 0
    assert entry["thumb"] is None and entry["table"] is None


def pixels(entry: dict) -> list[int]:
    return list(base64.b64decode(entry["thumb"]["data"]))


def test_a_thumbnail_is_symmetric_about_zero():
    entry = describe_value(np.array([[-2.0, 0.0], [1.0, 2.0]]))
    assert (entry["thumb"]["lo"], entry["thumb"]["hi"]) == (-2.0, 2.0)
    assert pixels(entry) == [0, 127, round((1 / 2 + 1) * 127), 254]


def test_nan_and_inf_are_255_in_a_thumbnail():
    assert pixels(describe_value(np.array([NAN, 1.0, INF]))) == [255, 254, 255]


def test_all_zeros_are_the_middle():
    assert set(pixels(describe_value(np.zeros((3, 3))))) == {127}


def test_large_arrays_are_pooled_to_means():
    entry = describe_value(np.repeat(np.arange(64.0), 2).reshape(1, 128), side=64)
    assert (entry["thumb"]["rows"], entry["thumb"]["cols"]) == (1, 64)
    assert pixels(entry)[-1] == 254 and pixels(entry)[0] == 127


def test_one_nan_in_a_pool_is_not_averaged_away():
    array = np.zeros((64, 64))
    array[40, 40] = NAN
    entry = describe_value(array)
    assert (entry["thumb"]["rows"], entry["thumb"]["cols"]) == (32, 32)
    assert pixels(entry).count(255) == 1


def test_a_table_holds_at_most_eight_by_eight():
    entry = describe_value(np.arange(400.0).reshape(20, 20))
    assert len(entry["table"]) == 8 and entry["table"][1][:2] == ["20", "21"]


def test_a_scalar_is_its_number():
    entry = describe_value(6.0)
    assert (entry["text"], entry["thumb"], entry["table"], entry["shape"]) == ("6", None, None, [])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1e-12, "1e-12"), (123456.0, "1.235e+05"), (NAN, "nan"), (-INF, "-inf"),
        (np.int64(12345678), "12345678"), (np.bool_(True), "True"), (np.float32(0.1), "0.1"),
    ],
)  # fmt: skip
def test_numbers_have_four_digits(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.5, -2.0]), "[1.5, -2]"),
        (np.array([True, False]), "[True, False]"),
        (np.arange(7.0), "μ 3 σ 2 min 0 max 6"),
        (np.full(9, NAN), "NaN"),
        (np.zeros((0,)), "[]"),
    ],
)
def test_arrays_on_one_line(array, text):
    assert numbers_text(array) == text


def test_engine_values_come_to_the_host():
    assert to_host(tl.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert to_host(3).tolist() == 3


def test_booleans_and_integers_have_statistics_too():
    assert describe_value(np.array([True, False, True]))["stats"]["mean"] == pytest.approx(2 / 3)
    assert describe_value(np.array([2, 4], dtype=np.int8))["stats"]["norm"] == pytest.approx(20**0.5)


def test_values_too_large_to_square_give_infinite_statistics_without_a_warning():
    stats = describe_value(np.array([1e200, 1e200]))["stats"]
    assert stats["norm"] in ("Infinity", pytest.approx(1e200 * 2**0.5))
