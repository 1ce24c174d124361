"""New tensors by NumPy's names, and arrays in the likeness of a variable."""

import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import MODES, value


@pytest.mark.parametrize(
    "made, expected",
    [
        (lambda: tl.zeros((2, 3)), np.zeros((2, 3))),
        (lambda: tl.zeros(2), np.zeros(2)),
        (lambda: tl.ones((2,)), np.ones(2)),
        (lambda: tl.full((2,), 0.5), np.full(2, 0.5)),
        (lambda: tl.full((2,), 5), np.full(2, 5)),
        (lambda: tl.arange(4), np.arange(4)),
        (lambda: tl.arange(1, 2, 0.25), np.arange(1, 2, 0.25)),
        (lambda: tl.linspace(0, 1, 5), np.linspace(0, 1, 5)),
        (lambda: tl.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, endpoint=False)),
        (lambda: tl.eye(2, 3, 1), np.eye(2, 3, 1)),
    ],
)
def test_creator_gives_a_tensor_with_numpys_values(made, expected):
    result = made()
    assert isinstance(result, tl.Tensor)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result.numpy(), expected)


def test_floats_follow_floatX():
    with tl.config.using(floatX="float32"):
        for result in (tl.zeros(2), tl.ones(2), tl.full(2, 0.5), tl.linspace(0, 1, 3), tl.eye(2), tl.arange(2.0)):
            assert result.dtype == np.float32
        assert tl.arange(2).dtype == np.int64


def test_dtype_and_requires_grad_may_be_named():
    assert tl.ones(2, dtype="int32").dtype == np.int32
    assert tl.zeros(2, requires_grad=True).requires_grad


def test_created_tensors_are_constants_beside_symbols():
    x = tl.vector("x")
    assert (x + tl.ones(2)).eval({x: np.zeros(2)}).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_likenesses_have_shape_and_dtype(dtype, mode):
    x = np.ones((2, 0, 3), dtype)
    for op in (tl.zeros_like, tl.ones_like, lambda v: tl.full_like(v, 1)):
        result = value(op, x, mode=mode)
        assert (result.shape, result.dtype) == (x.shape, x.dtype)
    assert value(lambda v: tl.zeros_like(v, dtype="int8"), x, mode=mode).dtype == np.int8


@pytest.mark.parametrize("mode", MODES)
def test_full_like_is_filled_with_numbers_and_variables(mode):
    x = np.zeros((2, 2))
    assert value(lambda v: tl.full_like(v, 7), x, mode=mode).tolist() == [[7, 7], [7, 7]]
    assert value(lambda v, w: tl.full_like(v, w), x, np.array([1.0, 2.0]), mode=mode).tolist() == [[1, 2], [1, 2]]
