"""Shapes and dtypes worked out before there is data agree with what NumPy does to data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tutorlib as tl
from tutorlib.core.aval import AVal, broadcast_shapes, check_dtype, in_range, python_scalar_aval

quick = settings(max_examples=60, deadline=None, derandomize=True)
dims = st.integers(0, 3)
shapes = st.lists(dims, max_size=4).map(tuple)
FLOATS = ("float16", "float32", "float64")


def outcome(shapes):
    """What NumPy makes of these shapes: the broadcast one, or None."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


@quick
@given(st.lists(shapes, min_size=1, max_size=3))
def test_known_shapes_broadcast_as_numpy_broadcasts(many):
    expected = outcome(many)
    if expected is None:
        with pytest.raises(tl.ShapeError):
            broadcast_shapes(many)
    else:
        assert broadcast_shapes(many) == expected


@quick
@given(st.lists(shapes, min_size=1, max_size=3), st.data())
def test_a_shape_with_unknown_dims_claims_only_what_holds_whatever_they_turn_out_to_be(many, data):
    hidden = [tuple(None if data.draw(st.booleans()) else d for d in shape) for shape in many]
    real = outcome(many)
    try:
        claimed = broadcast_shapes(hidden)
    except tl.ShapeError:
        assert real is None, f"{hidden} was refused, yet {many} broadcasts"
        return
    if real is not None:
        assert len(claimed) == len(real)
        assert all(c in (None, r) for c, r in zip(claimed, real, strict=True))


def test_an_unknown_dim_against_a_known_one():
    assert broadcast_shapes([(None,), (1,)]) == (None,)
    assert broadcast_shapes([(None,), (3,)]) == (3,)
    assert broadcast_shapes([(None,), (0,)]) == (0,)
    assert broadcast_shapes([(None,), (None,)]) == (None,)
    assert broadcast_shapes([(None,), ()]) == (None,)


def test_a_known_clash_is_found_past_an_unknown_dim():
    with pytest.raises(tl.ShapeError, match="3 against 4"):
        broadcast_shapes([(3,), (None,), (4,)])


def test_only_exactly_pythons_own_scalars_are_weak():
    assert python_scalar_aval(True) == AVal((), np.dtype("bool"), weak=True)
    assert python_scalar_aval(1) == AVal((), np.dtype("int64"), weak=True)
    assert python_scalar_aval(1.0) == AVal((), np.dtype("float64"), weak=True)
    assert python_scalar_aval(np.float64(1.0)) is None
    assert python_scalar_aval("1") is None


def test_an_aval_writes_itself_readably():
    assert repr(AVal((None, 3), np.dtype("float32"))) == "AVal(? x 3, float32)"
    assert repr(AVal((), np.dtype("int64"), weak=True)) == "AVal(scalar, int64, weak)"


@pytest.mark.parametrize("dtype", ["complex128", "U3", "O", "datetime64[s]", "S1"])
def test_dtypes_that_hold_no_real_numbers_are_refused(dtype):
    with pytest.raises(tl.DTypeError, match="not supported"):
        check_dtype(dtype)


def test_whole_numbers_outside_a_dtype_are_refused_not_wrapped():
    assert in_range(np.array([127, -128]), np.dtype("int8"), "x").dtype == "int8"
    with pytest.raises(tl.DTypeError, match="-128 to 127: 128 does not fit"):
        in_range(np.array([1, 128]), np.dtype("int8"), "x")
    with pytest.raises(tl.DTypeError, match="0 to 255: -1 does not fit"):
        in_range(np.array([1, -1]), np.dtype("uint8"), "x")


# ---- Python scalars never widen ----

BINARY = "add sub mul div pow maximum minimum mod floordiv".split()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scalar", [2, 2.0, True])
@pytest.mark.parametrize("name", BINARY)
def test_a_python_scalar_never_widens_a_float_in_either_mode_or_order(name, scalar, dtype):
    op = getattr(tl, name)
    x, s = tl.tensor(np.array([1.0, 2.0], dtype)), tl.symbol("s", shape=(None,), dtype=dtype)
    for first, second in ((x, scalar), (scalar, x)):
        assert op(first, second).dtype == dtype
    for first, second in ((s, scalar), (scalar, s)):
        built = op(first, second)
        assert built.dtype == dtype
        assert built.eval({s: np.array([1.0, 2.0], dtype)}).dtype == dtype


@pytest.mark.parametrize("name", BINARY)
def test_gradients_beside_python_scalars_stay_narrow_too(name):
    op = getattr(tl, name)
    x = tl.tensor(np.array([1.5, 2.5], "float32"), requires_grad=True)
    op(x, 2.0).sum().backward()
    assert x.grad.dtype == "float32"
    s = tl.vector("s", dtype="float32")
    slope = tl.grad(op(s, 2.0).sum(), s)
    assert slope.dtype == "float32"
    assert slope.eval({s: np.array([1.5, 2.5], "float32")}).dtype == "float32"


def test_where_and_clip_take_python_scalars_without_widening():
    x = tl.tensor(np.array([-1.0, 2.0], "float32"))
    assert tl.where(x > 0, x, 0.0).dtype == "float32"
    assert tl.clip(x, 0, 1).dtype == "float32"
    assert tl.clip(x, 0.0).dtype == "float32"


def test_a_numpy_scalar_is_strong_as_in_numpy():
    x = tl.tensor(np.array([1.0], "float32"))
    assert (x * np.float64(2)).dtype == "float64"
    assert (np.float64(2) * x).dtype == "float64"
    s = tl.vector("s", dtype="float32")
    assert (s * np.float64(2)).dtype == "float64"


def test_an_integer_beside_a_python_float_becomes_float_as_in_numpy():
    assert (tl.tensor([1, 2]) * 0.5).dtype == "float64"
    assert (tl.vector("n", dtype="int64") * 0.5).dtype == "float64"
    assert (tl.tensor([1, 2]) / 2).dtype == "float64"
    assert (tl.tensor([True]) + 1).dtype == "int64"


@pytest.mark.parametrize("other", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"])
def test_two_arrays_promote_in_both_modes_as_in_numpy(dtype, other):
    a, b = np.ones(2, dtype), np.ones(2, other)
    expected = (a * b).dtype
    assert (tl.tensor(a) * tl.tensor(b)).dtype == expected
    assert (tl.vector("a", dtype=dtype) * tl.vector("b", dtype=other)).dtype == expected
