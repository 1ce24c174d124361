"""What a traced function reads from around it is looked up at every call, and the report tells what it froze."""

import functools
import random
import time
from types import SimpleNamespace

import numpy as np
import pytest

import tutorlib as tl

RATE = 2.0
settings = SimpleNamespace(size=3.0)
x = np.array([1.0, 2.0])


def helper(v):
    return v * RATE


class Model:
    bias = 10.0

    def __init__(self):
        self.rate = 2.0
        self.weights = tl.Parameter(np.ones(2), name="weights")

    def scaled(self, v):
        return v * self.rate

    @property
    def half(self):
        return self.rate / 2

    @tl.trace
    def loss(self, v):
        return self.scaled(v) * self.weights + self.bias


def test_a_method_and_the_attributes_it_reads(monkeypatch):
    model, other = Model(), Model()
    assert model.loss(x).tolist() == [12.0, 14.0]
    model.rate = 5.0
    assert model.loss(x).tolist() == [15.0, 20.0], "read by a method that the traced one calls"
    monkeypatch.setattr(Model, "bias", 0.0)
    assert model.loss(x).tolist() == [5.0, 10.0]
    model.weights.data = np.zeros(2)
    count = len(Model.loss.traces)
    assert model.loss(x).tolist() == [0.0, 0.0] and len(Model.loss.traces) == count, "parameters are read at every call"
    assert other.loss(x).tolist() == [2.0, 4.0]
    assert "self.rate in scaled (from around it): 2.0 → 5.0" in repr(model.loss.report())


def test_what_a_function_that_is_called_reads(monkeypatch):
    f = tl.trace(lambda v: helper(v) + 1)
    assert f(x).tolist() == [3.0, 5.0]
    monkeypatch.setitem(globals(), "RATE", 4.0)
    assert f(x).tolist() == [5.0, 9.0]
    assert f.traces[1].baked["RATE in helper (from around it)"] == "4.0"


def test_attributes_of_a_global(monkeypatch):
    f = tl.trace(lambda v: v * settings.size)
    assert f(x).tolist() == [3.0, 6.0]
    monkeypatch.setattr(settings, "size", 1.0)
    assert f(x).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("wrap", [lambda m: m.scaled, lambda m: functools.partial(m.scaled)])
def test_a_bound_method_and_a_partial_of_one(wrap):
    model = Model()
    f = tl.trace(wrap(model))
    assert f(x).tolist() == [2.0, 4.0]
    model.rate = 3.0
    assert f(x).tolist() == [3.0, 6.0]


def test_a_local_name_is_no_global_of_that_name(monkeypatch):
    def f(v):
        RATE = v + 1
        return RATE * 2

    traced = tl.trace(f)
    traced(x)
    monkeypatch.setitem(globals(), "RATE", 7.0)
    traced(x)
    assert len(traced.traces) == 1 and not traced.traces[0].baked


def test_nothing_is_run_to_look_a_value_up():
    class Counting:
        asked = 0

        @property
        def rate(self):
            Counting.asked += 1
            return 2.0

    owner = Counting()
    f = tl.trace(lambda v: v * owner.rate)
    f(x)
    f(x)
    assert Counting.asked == 1


def test_draws_and_clocks_are_told():
    def f(v):
        return v + np.random.normal() + time.time() * 0 + random.random() + np.random.default_rng(0).normal() + abs(-1)

    traced = tl.trace(f)
    assert traced(x).tolist() == traced(x).tolist()
    told = [d.text for d in traced.traces[0].branches]
    assert sorted(told) == sorted(
        ["np.random.normal()", "time.time()", "random.random()", "np.random.default_rng(0).normal()"]
    )


def test_what_the_function_changes_itself_is_told():
    seen = []

    def f(v):
        seen.append(len(seen))
        return v * len(seen)

    traced = tl.trace(f)
    assert traced(x).tolist() == traced(x).tolist() == [1.0, 2.0]
    assert "the function itself changes" in traced.traces[0].baked["seen (from around it)"]


def test_an_array_too_large_to_compare_is_told():
    large = np.zeros(20_000)
    traced = tl.trace(lambda v: v + large[:2])
    traced(x)
    assert "too large to see a change inside it" in traced.traces[0].baked["large (from around it)"]
