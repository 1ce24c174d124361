"""Functional updates: ``x.at[index]`` and put_along_axis give new arrays, and gradients go to what is left of each."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import check, data, derivatives, quick, value

INDICES = [
    1,
    -1,
    (0, 2),
    slice(None, None, -2),
    (..., 1),
    (slice(1), None, slice(1, 3)),
    np.array([2, 0]),
    (np.array([0, 1]), np.array([2, 0])),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("method", ["set", "add", "mul"])
def test_an_update_is_jaxs(method, index):
    x = data((3, 4))
    shape = x[index].shape

    def like(x, v):
        place = x.at[index]
        # JAX has no gradient for mul where an index might repeat.
        return (place.set(x[index] * v) if method == "mul" else getattr(place, method)(v)) ** 2

    check(lambda x, v: getattr(x.at[index], method)(v) ** 2, x, data(shape, seed=1), like=like, float32=False)


@pytest.mark.parametrize("shape", [(), (4,), (1, 1)])
@pytest.mark.parametrize("method", ["set", "add"])
def test_values_broadcast_to_the_place(method, shape):
    x, v = data((3, 4)), data(shape, seed=1)
    check(lambda x, v: getattr(x.at[1:], method)(v) ** 2, x, v, like=lambda x, v: getattr(x.at[1:], method)(v) ** 2)


def test_of_a_repeated_index_the_last_value_stays_and_gets_the_gradient():
    x = tl.tensor([0.0, 0.0, 0.0], requires_grad=True)
    v = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.at[[2, 0, 2]].set(v)
    assert y.tolist() == [2.0, 0.0, 3.0]
    (y * tl.tensor([10.0, 20.0, 30.0])).sum().backward()
    assert v.grad.tolist() == [0.0, 10.0, 30.0]
    assert x.grad.tolist() == [0.0, 20.0, 0.0]


@given(st.lists(st.integers(-3, 2), min_size=0, max_size=6), st.integers(0, 9))
@quick
def test_a_repeated_set_equals_setting_one_by_one(indices, seed):
    x, v = data((3, 2)), data((len(indices), 2), seed=seed)
    expected = x.copy()
    for i, row in zip(indices, v, strict=True):
        expected[i] = row
    last = {i % 3: place for place, i in enumerate(indices)}
    weights = np.cos(1.7 * np.arange(6) + 0.3).reshape(3, 2)
    gx, gv = weights.copy(), np.zeros_like(v)
    for i, place in last.items():
        gx[i], gv[place] = 0, weights[i]
    for mode in ("dynamic", "static"):
        np.testing.assert_array_equal(value(lambda x, v: x.at[indices].set(v), x, v, mode=mode), expected)
        got = derivatives(lambda x, v: x.at[indices].set(v), x, v, mode=mode)[0]
        np.testing.assert_array_equal(got[0], gx)
        np.testing.assert_array_equal(got[1], gv)


def test_a_repeated_set_of_index_arrays_laid_out_by_columns():
    indices = np.asfortranarray([[0, 1], [1, 0]])
    assert tl.tensor([0.0, 0.0]).at[indices].set([[1.0, 2.0], [3.0, 4.0]]).tolist() == [4.0, 3.0]


def test_a_repeated_set_differentiates_to_second_order():
    x, v = data((3,)), data((4,), seed=1)
    same = np.array([2, 3])
    check(
        lambda x, v: x.at[[0, 1, 1, 0]].set(v) ** 3,
        x,
        v,
        like=lambda x, v: x.at[np.array([1, 0])].set(v[same]) ** 3,
    )


def test_every_value_added_to_a_repeated_index_counts():
    x, v = data((3,)), data((4,), seed=1)
    i = np.array([0, 1, 1, 0])
    check(lambda x, v: x.at[i].add(v) ** 2, x, v, like=lambda x, v: x.at[i].add(v) ** 2)


def test_of_a_repeated_index_the_last_factor_counts():
    expected = np.array([2.0, 3.0])
    expected[[0, 0]] *= [5.0, 7.0]
    assert tl.tensor([2.0, 3.0]).at[[0, 0]].mul([5.0, 7.0]).tolist() == expected.tolist()


def test_the_index_may_be_a_mask():
    x = data((2, 3))
    mask = x > 0
    check(lambda x, v: x.at[mask].set(v) ** 2, x, data(()), like=lambda x, v: jnp.where(mask, v, x) ** 2)
    check(lambda x, v: x.at[mask].add(v), x, data((mask.sum(),)), like=lambda x, v: x.at[np.nonzero(mask)].add(v))


def test_an_update_leaves_x_as_it_was():
    x = tl.tensor([1.0, 2.0])
    assert x.at[0].set(5.0).tolist() == [5.0, 2.0]
    assert x.tolist() == [1.0, 2.0]


def test_get_reads_the_place():
    assert tl.tensor([1.0, 2.0]).at[1].get().item() == 2.0


def test_plain_arrays_and_lists_can_be_updated():
    assert tl.at([1, 2, 3])[[0, 0]].add([10, 100]).tolist() == [111, 2, 3]


def test_an_update_keeps_the_dtype_of_x():
    x = tl.tensor(np.zeros(2, np.float32))
    assert x.at[0].set(np.float64(1.5)).dtype == np.float32
    assert x.at[[0, 0]].add(np.ones(2)).dtype == np.float32


def test_values_that_would_be_cut_off_are_an_error():
    with pytest.raises(tl.DTypeError, match="float64"):
        tl.tensor([1, 2]).at[0].set(1.5)


def test_values_that_do_not_fit_the_place_are_an_error():
    with pytest.raises(tl.ShapeError):
        tl.tensor(data((3, 2))).at[0].set([1.0, 2.0, 3.0])
    with pytest.raises(tl.ShapeError):
        tl.symbol("x", shape=(3, 2)).at[0].add(np.ones((2, 2)))


def test_an_update_outside_is_an_error():
    with pytest.raises(tl.OutOfBoundsError):
        tl.tensor([1.0]).at[1].set(0.0)


# ---- along an axis ----


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take_along_axis_is_numpys(axis):
    x = data((3, 2, 4))
    indices = np.random.default_rng(0).integers(-2, 2, (3, 2, 4))
    check(
        lambda x, i: tl.take_along_axis(x, i, axis) ** 2,
        x,
        indices,
        like=lambda x, i: jnp.take_along_axis(x, i, axis) ** 2,
    )


def test_take_along_axis_broadcasts_the_other_axes():
    x, indices = data((3, 1)), np.array([[0, 2, 1, 1]])
    check(lambda x, i: tl.take_along_axis(x, i, 0), x, indices, like=lambda x, i: jnp.take_along_axis(x, i, 0))


def test_take_along_no_axis_sees_vectors():
    x, indices = data((2, 2)), np.array([3, 0])
    check(lambda x, i: tl.take_along_axis(x, i, None), x, indices, like=lambda x, i: jnp.take_along_axis(x, i, None))


def test_gather_is_take_along_axis_in_pytorchs_order():
    assert tl.gather(tl.tensor([[1, 2], [3, 4]]), 1, tl.tensor([[0, 0], [1, 0]])).tolist() == [[1, 1], [4, 3]]


@pytest.mark.parametrize("axis", [0, 1, None])
def test_put_along_axis_is_numpys(axis):
    x, values = data((3, 3)), data((3, 3), seed=1)
    indices = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    if axis is None:
        indices, values = np.array([5, 0, 8]), values[0]
    expected = x.copy()
    np.put_along_axis(expected, indices, values, axis)
    for mode in ("dynamic", "static"):
        got = value(lambda x, v, i: tl.put_along_axis(x, i, v, axis), x, values, indices, mode=mode)
        np.testing.assert_array_equal(got, expected)


def test_put_along_axis_may_add():
    x, v, i = data((2, 3)), data((2, 2), seed=1), np.array([[0, 0], [2, 1]])
    rows = np.arange(2)[:, None]
    check(
        lambda x, v: tl.put_along_axis(x, i, v, 1, mode="add") ** 2, x, v, like=lambda x, v: x.at[rows, i].add(v) ** 2
    )


def test_indices_of_another_rank_are_an_error():
    with pytest.raises(tl.ShapeError, match="as many axes"):
        tl.take_along_axis(tl.tensor(data((2, 2))), [0, 1], 1)


# ---- one_hot ----


def test_one_hot_is_one_at_the_index():
    for mode in ("dynamic", "static"):
        got = value(lambda i: tl.one_hot(i, 3, "float32"), np.array([[2, 0]]), mode=mode)
        assert got.dtype == np.float32
        assert got.tolist() == [[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]]


def test_one_hot_has_floatx_by_default():
    with tl.config.using(floatX="float32"):
        assert tl.one_hot([0], 2).dtype == np.float32
    assert tl.one_hot([], 2).shape == (0, 2)


@pytest.mark.parametrize("index", [-1, 3])
def test_a_class_out_of_range_is_an_error(index):
    with pytest.raises(tl.OutOfBoundsError, match=f"class {index}"):
        tl.one_hot([0, index], 3)


def test_classes_must_be_integers():
    with pytest.raises(tl.DTypeError):
        tl.one_hot([0.5], 3)
