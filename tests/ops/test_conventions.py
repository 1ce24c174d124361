"""docs/conventions.md holds, row by row, in every mode: the table is the test."""

import math
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import MODES, slopes, value

TABLE = Path(__file__).parents[2] / "docs" / "conventions.md"
NAMES = {"inf": math.inf, "nan": math.nan, "log": math.log}
# What the table must speak of, by words of its rows.
TOPICS = [
    *("max shares", "maximum shares", "size of 0", "relu at 0", "clip passes", "0 to the power 0", "0 to a power"),
    *("norm at 0", "std of equal", "prod with one zero", "prod with two zeros", "nothing but -inf", "where masks"),
    *("xlogy at (0, 0)", "sum of nothing", "prod of nothing", "mean of nothing", "max of nothing", "whole number"),
    "argmax takes",
]


class Row(NamedTuple):
    what: str
    expression: str
    at: str
    value: str
    gradient: str
    second: str

    @property
    def point(self) -> dict[str, Any]:
        pairs = (part.split("=") for part in self.at.split(";"))
        return {name.strip(): np.asarray(number(text)) for name, text in pairs}

    def compute(self, *variables: Any) -> Any:
        return eval(self.expression, {"tl": tl, **NAMES, **dict(zip(self.point, variables, strict=True))})


def number(text: str) -> Any:
    return eval(text, NAMES)


def rows() -> list[Row]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [Row(*row) for row in cells if row[0] != "what" and not set(row[0]) <= {"-"}]


@pytest.fixture(autouse=True)
def no_warning():
    with warnings.catch_warnings(), np.errstate(over="raise", divide="raise", invalid="raise"):
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("row", rows(), ids=lambda row: row.what)
def test_row_holds(row, mode):
    arrays = row.point.values()
    check(row.value, lambda: [value(row.compute, *arrays, mode=mode)])
    if row.value.endswith("Error"):
        return
    check(row.gradient, lambda: gradients(row, arrays, mode, 1))
    check(row.second, lambda: gradients(row, arrays, mode, 2))


def gradients(row: Row, arrays: Any, mode: str, order: int) -> list[Any]:
    if row.gradient == "DTypeError":
        variable = tl.tensor(*arrays) if mode == "dynamic" else tl.vector("i", dtype="int64")
        return [tl.grad(row.compute(variable), variable)]
    return slopes(row.compute, *arrays, mode=mode, order=order)


def check(expected: str, compute: Any) -> None:
    if expected == "–":
        return
    if expected.endswith("Error"):
        with pytest.raises(getattr(tl, expected)):
            compute()
        return
    numbers = [np.asarray(number(text)) for text in expected.split(";")]
    for got, want in zip(compute(), numbers, strict=True):
        assert got.shape == want.shape
        assert got.size == 0 or got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


def test_backward_agrees_with_the_table():
    for row in rows():
        if row.gradient.startswith(("–", "DTypeError")):
            continue
        leaves = [tl.tensor(a, requires_grad=a.dtype.kind == "f") for a in row.point.values()]
        tl.sum(row.compute(*leaves)).backward()
        expected = [np.asarray(number(text)) for text in row.gradient.split(";")]
        for leaf, want in zip([v for v in leaves if v.requires_grad], expected, strict=True):
            got = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15, err_msg=row.what)


@pytest.mark.parametrize("topic", TOPICS)
def test_table_speaks_of(topic):
    assert any(topic in row.what for row in rows())
