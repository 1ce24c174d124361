"""Branches and loops on other devices: a second host device, and a GPU played by a strict double."""

import numpy as np
import pytest

import tutorlib as tl
from tests.doubles.strict_gpu import strict_gpu

X = np.linspace(-1, 1, 12).reshape(4, 3)


@pytest.fixture(params=["cpu:1", "gpu"])
def device(request):
    with strict_gpu():
        yield request.param


def both(build, device):
    """What a function of a shared vector and a matrix gives on the host and on ``device``."""
    found = []
    for where in ("cpu", device):
        w, x = tl.shared([1.0, 2.0, 3.0], device=where, name="w"), tl.matrix("x")
        f = tl.function([x], build(w, x))
        assert str(f.device) == where
        found.append(f(X))
    return found


def test_a_scan_and_its_gradient(device):
    def build(w, x):
        last, ys = tl.scan(lambda c, x: (tl.tanh(c * w + x + np.ones(3)), c), x, w * 0.0)
        return [last, ys, tl.grad(last.sum() + ys.sum(), w)]

    for here, there in zip(*both(build, device), strict=True):
        np.testing.assert_array_equal(here, there)


def test_a_scan_that_stops_early(device):
    def build(w, x):
        last, ys = tl.scan(lambda c, x: (c + x + w, c.sum()), x, w * 0.0, until=lambda carry, y: carry.sum() > 8.0)
        return [ys, tl.grad(last.sum(), x)]

    for here, there in zip(*both(build, device), strict=True):
        np.testing.assert_array_equal(here, there)


def test_a_choice_and_its_gradient(device):
    def build(w, x):
        y = tl.ifelse(x.sum() < 1.0, lambda: (w * w).sum(), lambda: w.sum())
        return [y, tl.grad(y, w)]

    for here, there in zip(*both(build, device), strict=True):
        np.testing.assert_array_equal(here, there)


def test_a_while_loop(device):
    def build(w, x):
        return [tl.while_loop(lambda v: v.sum() < 100.0, lambda v: v * 2 + x[0], w * 1)]

    for here, there in zip(*both(build, device), strict=True):
        np.testing.assert_array_equal(here, there)
