"""Indexing means what NumPy means by it, in both modes, and its gradient adds up at the elements taken."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import backward, check, data, derivatives, quick, symbols_for, value


@st.composite
def arrays_and_indices(draw, masks=True):
    """A shape, and an index for it that mixes numbers, slices, integer arrays, masks, None and an ellipsis."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    block = draw(st.sampled_from([(2,), (3,), (0,), (2, 3), (1, 2)]))
    items = []
    axis = 0
    while axis < len(shape):
        n = shape[axis]
        kinds = ["slice", "slice", "ints"] + (["number", "zero-d"] if n else []) + (["mask", "mask2"] if masks else [])
        kind = draw(st.sampled_from(kinds))
        seed = draw(st.integers(0, 99))
        rng = np.random.default_rng(seed)
        if kind == "slice":
            items.append(draw(st.slices(n)))
        elif kind == "number":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "zero-d":
            items.append(np.array(draw(st.integers(-n, n - 1))))
        elif kind == "ints":
            sides = block if n else (0,)
            ones = [1 if draw(st.booleans()) and n else side for side in sides]
            items.append(rng.integers(-n, max(n, 1), ones))
        elif kind == "mask" or axis + 1 == len(shape):
            items.append(rng.random(n) < 0.6)
        else:
            items.append(rng.random((n, shape[axis + 1])) < 0.6)
            axis += 1
        axis += 1
    if draw(st.booleans()) and items:
        items = items[: draw(st.integers(0, len(items)))]
    for extra in draw(st.lists(st.sampled_from([None, None, ...]), max_size=2, unique_by=lambda e: e is ...)):
        items.insert(draw(st.integers(0, len(items))), extra)
    return shape, tuple(items)


@given(arrays_and_indices())
@quick
def test_any_index_means_what_numpy_means(case):
    shape, index = case
    x = data(shape)
    try:
        expected = x[index]
    except IndexError:
        with pytest.raises((tl.OutOfBoundsError, tl.ShapeError)):
            tl.tensor(x)[index]
        return
    for mode in ("dynamic", "static"):
        np.testing.assert_array_equal(value(lambda x: x[index], x, mode=mode), expected)


@given(arrays_and_indices())
@quick
def test_the_gradient_adds_up_where_the_elements_came_from(case):
    shape, index = case
    x = data(shape)
    try:
        taken = x[index]
    except IndexError:
        assume(False)
    weights = np.cos(1.7 * np.arange(taken.size) + 0.3).reshape(taken.shape)
    expected = np.zeros(shape)
    np.add.at(expected, index, weights)
    for mode in ("dynamic", "static"):
        ((got,),) = derivatives(lambda x: x[index], x, mode=mode)
        np.testing.assert_allclose(got, expected, atol=1e-14)
    np.testing.assert_allclose(backward(lambda x: x[index], x)[0], expected, atol=1e-14)


@given(arrays_and_indices())
@quick
def test_the_shape_is_known_before_the_values(case):
    shape, index = case
    x = data(shape)
    try:
        expected = x[index].shape
    except IndexError:
        assume(False)
    (known,) = symbols_for([x], known=True)
    (unknown,) = symbols_for([x])
    has_mask = any(isinstance(item, np.ndarray) and item.dtype.kind == "b" for item in index)
    if has_mask:
        assert len(known[index].shape) == len(expected)
    else:
        assert known[index].shape == expected
    for dim, real in zip(unknown[index].shape, expected, strict=True):
        assert dim is None or dim == real


@given(arrays_and_indices(masks=False), st.booleans())
@quick
def test_index_arrays_may_be_variables(case, as_lists):
    shape, index = case
    x = data(shape)
    try:
        expected = x[index]
    except IndexError:
        assume(False)
    arrays = [item for item in index if isinstance(item, np.ndarray)]

    def indexed(x, *variables):
        given_arrays = iter(variables)
        return x[tuple(next(given_arrays) if isinstance(item, np.ndarray) else item for item in index)]

    for mode in ("dynamic", "static"):
        np.testing.assert_array_equal(value(indexed, x, *arrays, mode=mode), expected)
    if as_lists:
        lists = tuple(item.tolist() if isinstance(item, np.ndarray) and item.size else item for item in index)
        np.testing.assert_array_equal(tl.tensor(x)[lists].numpy(), expected)


def test_an_index_differentiates_to_any_order():
    x = data((3, 4))
    check(lambda x: x[[0, 0, 2], 1:] ** 3, x, like=lambda x: x[np.array([0, 0, 2]), 1:] ** 3, order=3)


def test_an_element_taken_twice_gets_both_gradients():
    x = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x[[0, 0, 2]] * tl.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [11.0, 0.0, 100.0]


def test_a_mask_is_an_index_in_dynamic_mode():
    x = tl.tensor([-1.0, 2.0, 3.0], requires_grad=True)
    picked = x[x > 0]
    picked.sum().backward()
    assert picked.tolist() == [2.0, 3.0]
    assert x.grad.tolist() == [0.0, 1.0, 1.0]


def test_a_mask_of_symbols_gives_a_length_known_when_it_runs():
    x = tl.vector("x")
    assert x[x > 0].shape == (None,)
    assert tl.grad(x[x > 0].sum(), x).eval({x: [-1.0, 2.0]}).tolist() == [0.0, 1.0]


def test_a_true_or_false_index_keeps_or_drops_all():
    x = data((2, 3))
    assert tl.tensor(x)[True].shape == (1, 2, 3)
    assert tl.tensor(x)[False].shape == (0, 2, 3)


def test_a_list_of_variables_is_an_index():
    x, i, j = tl.tensor([10.0, 20.0, 30.0]), tl.tensor(2), tl.tensor(0)
    assert x[[i, j]].tolist() == [30.0, 10.0]


def test_a_symbolic_number_is_an_index():
    x, i = tl.matrix("x"), tl.symbol("i", shape=(), dtype="int64")
    assert x[i].eval({x: [[1.0, 2.0], [3.0, 4.0]], i: -1}).tolist() == [3.0, 4.0]


@pytest.mark.parametrize("index", [3, -4, (0, 2), [0, 5], (slice(None), 7)])
def test_an_index_that_is_not_there_is_an_error(index):
    with pytest.raises(tl.OutOfBoundsError):
        tl.tensor(data((3, 2)))[index]


def test_the_error_names_axis_length_and_the_range_allowed():
    with pytest.raises(tl.OutOfBoundsError) as error:
        tl.tensor(data((3, 2)))[0, 5]
    assert "index 5 is out of bounds for axis 1 of length 2" in str(error.value)
    assert "from -2 to 1" in error.value.fix


def test_an_out_of_bounds_number_is_found_while_the_graph_is_built():
    with pytest.raises(tl.OutOfBoundsError):
        tl.symbol("x", shape=(3,))[3]


def test_too_many_indices_are_an_error():
    with pytest.raises(tl.OutOfBoundsError, match="2 indices for 1 axes"):
        tl.tensor([1.0])[0, 0]


def test_two_ellipses_are_an_error():
    with pytest.raises(tl.OutOfBoundsError, match="one"):
        tl.tensor(data((2, 2)))[..., 0, ...]


@pytest.mark.parametrize("index", [1.5, [0.5], "a", slice(0.5, None)])
def test_an_index_that_is_no_whole_number_is_an_error(index):
    with pytest.raises(tl.DTypeError):
        tl.tensor([1.0, 2.0])[index]


ENDS = [(0, 2), (1, 4), (3, 3), (4, 99), (-3, -1), (5, 2)]


@pytest.mark.parametrize(("start", "stop"), ENDS)
def test_a_slice_between_symbols_is_numpys_and_so_is_its_gradient(start, stop):
    x, (a, b) = data((5, 3)), (tl.symbol(n, (), "int64") for n in "ab")
    v = tl.symbol("v", (5, 3))
    piece = v[a:b, 1:]
    assert piece.shape == (None, 2)
    outputs = [piece, v[a:], v[:b], v[b:a:-1], tl.grad(tl.sum(piece * piece), v)]
    want = [x[start:stop, 1:], x[start:], x[:stop], x[stop:start:-1], np.zeros_like(x)]
    want[4][start:stop, 1:] = 2 * x[start:stop, 1:]
    for mode in (None, "plain"):
        f = tl.function([v, a, b], outputs, mode=mode)
        for got, expected in zip(f(x, start, stop), want, strict=True):
            np.testing.assert_array_equal(got, expected)
    namespace = dict(f.source.arrays)
    exec(f.source, namespace)
    np.testing.assert_array_equal(namespace["run"](x, np.array(start), np.array(stop))[0], want[0])


def test_the_minibatch_of_a_step_number():
    rows, i, x = tl.shared(data((7, 2)), name="rows"), tl.symbol("i", (), "int64"), tl.matrix("x")
    f = tl.function([i], tl.sum(x, axis=0), givens={x: rows[i * 3 : (i + 1) * 3]})
    for k in range(3):
        np.testing.assert_allclose(f(k), rows.get_value()[3 * k : 3 * k + 3].sum(axis=0))


def test_an_update_of_a_slice_between_symbols():
    v, n = tl.vector("v"), tl.symbol("n", (), "int64")
    f = tl.function([v, n], [v.at[:n].set(0.0), v.at[n:].add(1.0)])
    got = f([1.0, 2.0, 3.0], 2)
    assert [a.tolist() for a in got] == [[0.0, 0.0, 3.0], [1.0, 2.0, 4.0]]


@pytest.mark.parametrize(
    ("bound", "error", "fix"),
    [(tl.scalar("n"), tl.DTypeError, "astype"), (tl.symbol("n", (2,), "int64"), tl.ShapeError, "pick one")],
)
def test_what_a_slice_cannot_go_to_is_named(bound, error, fix):
    with pytest.raises(error) as raised:
        tl.vector("x")[:bound]
    assert fix in raised.value.fix


def test_a_slice_between_tensors_takes_their_values():
    assert tl.tensor([1.0, 2.0, 3.0])[: tl.tensor(2)].tolist() == [1.0, 2.0]


def test_a_mask_of_another_length_is_an_error_that_shows_both():
    with pytest.raises(tl.OutOfBoundsError) as error:
        tl.tensor(data((3, 2)))[np.array([True, False])]
    assert error.value.shapes == ((3, 2), (2,))


def test_an_empty_mask_that_picks_from_nothing_is_as_in_numpy():
    index = (np.array([False]), ..., np.array([], bool))
    x = np.zeros((1, 0, 0, 1))
    assert tl.tensor(x)[index].shape == x[index].shape
    assert tl.symbol("x", (1, 0, 0, 1))[index].ndim == x[index].ndim


def test_index_arrays_that_do_not_broadcast_are_shown_aligned():
    with pytest.raises(tl.ShapeError) as error:
        tl.tensor(data((3, 3)))[[0, 1], [0, 1, 2]]
    assert error.value.shapes == ((2,), (3,))


def test_plain_arrays_and_lists_can_be_indexed_too():
    assert tl.getitem([1, 2, 3], 0) == 1
    assert tl.getitem(np.arange(6).reshape(2, 3), (..., [2, 0])).tolist() == [[2, 0], [5, 3]]


# ---- take ----


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_take_is_numpys(mode, axis):
    x = data((3, 4))
    indices = np.array([[0, 2], [-1, 1]]) if mode == "raise" else np.array([[0, 7], [-5, 3]])
    expected = np.take(x, indices, axis, mode=mode)
    for run in ("dynamic", "static"):
        np.testing.assert_array_equal(value(lambda x, i: tl.take(x, i, axis, mode), x, indices, mode=run), expected)


def test_the_gradient_of_take_adds_up():
    x = data((3, 4))
    check(lambda x: tl.take(x, [1, 1, 0], 0), x, like=lambda x: x[np.array([1, 1, 0])])


def test_take_by_a_number_drops_the_axis():
    assert tl.take(tl.tensor(data((3, 4))), 1, axis=0).shape == (4,)


def test_take_by_nothing_is_empty():
    assert tl.take(tl.tensor([1.0, 2.0]), []).shape == (0,)


def test_take_raises_outside():
    with pytest.raises(tl.OutOfBoundsError):
        tl.take(tl.tensor([1.0, 2.0]), [2])


def test_an_unknown_mode_of_take_is_an_error():
    with pytest.raises(ValueError, match="mode"):
        tl.take(tl.tensor([1.0]), [0], mode="bounce")


def test_embedding_gives_rows_and_adds_their_gradients():
    table = data((4, 2))
    check(lambda t, i: tl.embedding(t, i), table, np.array([[3, 0], [3, 3]]), like=lambda t, i: t[i])
