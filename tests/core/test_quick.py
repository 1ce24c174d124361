"""The short way of the commonest calls gives what the long way gives."""

import math
import threading

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core.quick import constant


def test_a_node_keeps_the_number_as_it_was_written():
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    assert (x * 3).inputs == (x, 3)
    assert (3.0 - x).inputs == (3.0, x)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
@pytest.mark.parametrize("number", [0, 3, -2, True])
def test_numbers_never_change_the_dtype(dtype, number):
    x = np.array([1, 2], dtype)
    for result, expected in ((tl.tensor(x) + number, x + number), (number - tl.tensor(x), number - x)):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.numpy(), expected)


def test_the_two_zeros_are_told_apart():
    x = tl.tensor([1.0], dtype="float32")
    assert (x / 0.0).item() == math.inf
    assert (x / -0.0).item() == -math.inf


@pytest.mark.parametrize("number", [10**40, 1e300, math.inf])
def test_numbers_too_large_for_the_dtype_are_infinite(number):
    assert (tl.tensor([1.0], dtype="float32") * number).item() == math.inf


def test_a_whole_number_that_no_float_holds_is_an_error():
    with pytest.raises((OverflowError, tl.TutorlibError)):
        tl.tensor([1.0]) * 10**400


def test_constants_are_shared_and_read_only():
    half = constant(0.5, np.dtype("float32"))
    assert constant(0.5, np.dtype("float32")) is half
    with pytest.raises(ValueError, match="read-only"):
        half[...] = 1.0


def test_results_without_axes_are_arrays_too():
    x = tl.tensor(2.0, requires_grad=True)
    for result in (x * x, x + 1, 1 - x, -x, tl.exp(x), x.sum(), tl.tensor(np.float32(2.0))):
        assert type(result.data) is np.ndarray


def test_overflow_in_an_op_warns_nobody_and_outside_still_does():
    large = tl.tensor([1e308])
    assert (large * 10).item() == math.inf
    with pytest.warns(RuntimeWarning, match="overflow"):
        np.array([1e308]) * 10


def test_threads_that_compute_at_once_get_what_each_alone_would():
    data = np.linspace(-1, 1, 1 << 15)
    expected = 2 * data * np.cosh(data * data)
    wrong = []

    def work():
        for _ in range(20):
            x = tl.tensor(data, requires_grad=True)
            y = x * x
            ((tl.exp(y) - tl.exp(-y)) * 0.5).sum().backward()
            if not np.allclose(x.grad.numpy(), expected, rtol=1e-12):
                wrong.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_one_thread_switches_off_another_has_on():
    recorded = []
    x = tl.tensor([1.0], requires_grad=True)
    with tl.no_grad():
        thread = threading.Thread(target=lambda: recorded.append((x * 2.0).requires_grad))
        thread.start()
        thread.join()
        assert not (x * 2.0).requires_grad
    assert recorded == [True]
    assert (x * 2.0).requires_grad


def test_no_grad_decorates_a_function_that_calls_itself():
    x = tl.tensor([1.0], requires_grad=True)

    @tl.no_grad()
    def powers(n):
        return [*powers(n - 1), (x * n).requires_grad] if n else []

    assert powers(3) == [False, False, False]
    assert (x * 1.0).requires_grad
