"""Large arrays make the C library keep memory, once, unless told not to."""

import ctypes

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core import memory

LARGE = np.zeros(1 << 17)
SETTINGS = [(-3, 32 << 20), (-1, 512 << 20)]


@pytest.fixture
def calls(monkeypatch):
    """The calls of mallopt, on a machine that would make them."""

    class Library:
        def __init__(self, name):
            self.mallopt = lambda *setting: found.append(setting)

    found = []
    monkeypatch.setattr(ctypes, "CDLL", Library)
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.os, "environ", {})
    monkeypatch.setattr(memory, "_done", False)
    return found


@pytest.mark.parametrize("make", [tl.tensor, tl.Parameter])
def test_the_first_large_tensor_sets_it_and_no_other(calls, make):
    make([1.0, 2.0])
    assert calls == []
    make(LARGE)
    make(LARGE)
    assert calls == SETTINGS


def test_so_does_a_large_graph_of_small_arrays(calls):
    x = tl.tensor(np.zeros(1 << 14), requires_grad=True)
    (((x + 1.0) * 2.0 - 1.0) * x).sum().backward()
    assert calls == []
    y = x
    for _ in range(8):
        y = y * 2.0
    y.sum().backward()
    assert calls == SETTINGS


def test_not_when_told_not_to(calls):
    with tl.config.using(keep_memory=False):
        tl.tensor(LARGE)
    assert calls == []


def test_not_against_the_environment(calls, monkeypatch):
    monkeypatch.setattr(memory.os, "environ", {"MALLOC_TRIM_THRESHOLD_": "1"})
    tl.tensor(LARGE)
    assert calls == []


def test_not_on_other_systems(calls, monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    tl.tensor(LARGE)
    assert calls == []


def test_a_c_library_without_the_setting_is_left_alone(calls, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert tl.tensor(LARGE).shape == LARGE.shape
