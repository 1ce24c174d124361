"""Shared variables and updates: who holds which array, simultaneity, and what is refused."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile.bound import empty

# ---- whose array is it ----


def test_the_value_is_copied_in_unless_borrowed():
    data = np.array([1.0, 2.0])
    own, borrowed = tl.shared(data), tl.shared(data, borrow=True)
    data[0] = 100.0
    assert own.get_value().tolist() == [1.0, 2.0]
    assert borrowed.get_value().tolist() == [100.0, 2.0]


def test_the_value_is_copied_out_unless_borrowed():
    s = tl.shared([1.0, 2.0])
    s.get_value()[0] = 100.0
    assert s.get_value().tolist() == [1.0, 2.0]
    s.get_value(borrow=True)[0] = 100.0
    assert s.get_value().tolist() == [100.0, 2.0]


def test_set_value_copies_unless_borrowed():
    s, data = tl.shared([1.0, 2.0]), np.array([3.0, 4.0])
    s.set_value(data)
    data[0] = 100.0
    assert s.get_value().tolist() == [3.0, 4.0]
    s.set_value(data, borrow=True)
    data[0] = 200.0
    assert s.get_value().tolist() == [200.0, 4.0]


def test_a_value_read_before_an_update_stays_as_it_was_even_borrowed():
    s = tl.shared([1.0, 2.0])
    before = s.get_value(borrow=True)
    tl.function([], updates=[(s, s + 1)])()
    assert before.tolist() == [1.0, 2.0]


def test_a_number_given_to_set_value_takes_the_variables_dtype():
    s = tl.shared(np.float32(1.0))
    s.set_value(2)
    assert s.get_value().dtype == "float32"
    s.set_value(2.5)
    assert s.get_value() == 2.5
    u = tl.shared(np.uint8(1))
    u.set_value(255)
    assert (u.get_value(), u.get_value().dtype) == (255, "uint8")


@pytest.mark.parametrize(
    "make, value, error",
    [
        (lambda: tl.shared([1, 2], name="n"), [1.5, 2.0], tl.UpdateTypeError),
        (lambda: tl.shared(np.float32([1, 2]), name="n"), np.array([1.0, 2.0]), tl.UpdateTypeError),
        (lambda: tl.shared(np.int8([1, 2]), name="n"), [1, 300], tl.DTypeError),
        (lambda: tl.shared([1.0, 2.0], name="n"), [1.0, 2.0, 3.0], tl.ShapeError),
        (lambda: tl.shared([1.0, 2.0], name="n"), 1.0, tl.ShapeError),
        (lambda: tl.shared([1.0, 2.0], name="n"), [[1.0], [1.0, 2.0]], tl.ShapeError),
        (lambda: tl.shared([1.0, 2.0], name="n"), "ab", tl.UpdateTypeError),
        (lambda: tl.shared([1.0, 2.0], name="n"), None, tl.UpdateTypeError),
        (lambda: tl.shared([1.0, 2.0], name="n"), 1j, tl.UpdateTypeError),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name_and_nothing_is_written(make, value, error):
    s = make()
    with pytest.raises(error, match="n"):
        s.set_value(value)
    assert s.storage.version == 0


def test_a_shape_with_none_lets_the_length_change():
    s = tl.shared([1.0, 2.0], shape=(None,))
    s.set_value([1.0, 2.0, 3.0])
    assert tl.function([], s.sum())() == 6.0
    grow = tl.function([], updates=[(s, tl.concatenate([s, s]))])
    grow()
    assert s.get_value().shape == (6,)
    with pytest.raises(tl.ShapeError):
        s.set_value([[1.0]])


def test_a_shape_that_the_value_does_not_have_is_refused():
    with pytest.raises(tl.ShapeError):
        tl.shared([1.0, 2.0], shape=(3,))
    with pytest.raises(tl.ShapeError):
        tl.shared([1.0, 2.0], shape=(None, None))


def test_two_functions_see_one_variable():
    s = tl.shared(0.0)
    add, read = tl.function([], updates=[(s, s + 1)]), tl.function([], s * 10)
    add()
    assert read() == 10.0
    add()
    assert read() == 20.0


# ---- updates ----


def test_outputs_see_the_values_from_before():
    s = tl.shared(0, name="count")
    count = tl.function([], s, updates=[(s, s + 1)])
    assert [count().item() for _ in range(3)] == [0, 1, 2]
    assert s.get_value() == 3


def test_updates_are_simultaneous_a_swap():
    a, b = tl.shared(1.0), tl.shared(2.0)
    swap = tl.function([], updates=[(a, b), (b, a)])
    swap()
    assert (a.get_value(), b.get_value()) == (2.0, 1.0)
    swap()
    assert (a.get_value(), b.get_value()) == (1.0, 2.0)


def test_updates_are_simultaneous_a_rotation_of_arrays():
    ring = [tl.shared([float(i), 10.0 * i]) for i in range(4)]
    rotate = tl.function([], updates=[(ring[i], ring[i - 1]) for i in range(4)])
    rotate()
    assert [s.get_value().tolist() for s in ring] == [[3.0, 30.0], [0.0, 0.0], [1.0, 10.0], [2.0, 20.0]]
    arrays = [s.get_value(borrow=True) for s in ring]
    assert not any(np.shares_memory(x, y) for i, x in enumerate(arrays) for y in arrays[:i])


def test_updates_that_use_each_other_use_old_values():
    # Fibonacci: (a, b) ← (b, a + b)
    a, b = tl.shared(0), tl.shared(1)
    step = tl.function([], a, updates={a: b, b: a + b})
    assert [step().item() for _ in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]


def test_two_variables_updated_to_the_same_expression_get_arrays_of_their_own():
    a, b = tl.shared([1.0]), tl.shared([2.0])
    new = a + b
    tl.function([], updates=[(a, new), (b, new)])()
    a.get_value(borrow=True)[0] = 100.0
    assert b.get_value().tolist() == [3.0]


def test_a_variable_updated_to_an_input_does_not_share_the_callers_array():
    v, s, data = tl.vector("v"), tl.shared([0.0, 0.0]), np.array([1.0, 2.0])
    tl.function([v], updates=[(s, v)])(data)
    data[0] = 100.0
    assert s.get_value().tolist() == [1.0, 2.0]


def test_an_output_does_not_share_the_array_that_an_update_stores():
    s = tl.shared([1.0, 2.0])
    new = s * 2
    result = tl.function([], new, updates=[(s, new)])()
    result[...] = -1.0
    assert s.get_value().tolist() == [2.0, 4.0]


def test_an_update_may_be_a_number_a_list_an_array_or_a_tensor():
    for value in (5.0, 5, True):
        s = tl.shared(0.0)
        tl.function([], updates=[(s, value)])()
        assert (s.get_value(), s.get_value().dtype) == (float(value), "float64")
    for value in ([5.0, 6.0], [5, 6], np.array([5.0, 6.0]), tl.tensor([5.0, 6.0])):
        v = tl.shared([0.0, 0.0])
        tl.function([], updates=[(v, value)])()
        assert v.get_value().tolist() == [5.0, 6.0]


def test_a_weak_update_never_widens():
    s = tl.shared(np.float32(1.0))
    tl.function([], updates=[(s, s * 2 + 1)])()
    assert s.get_value().dtype == "float32"
    tl.function([], updates=[(s, 7)])()
    assert s.get_value().dtype == "float32"


def test_a_narrower_update_is_converted():
    s = tl.shared(1.0)
    tl.function([], updates=[(s, tl.cast(s, "float32"))])()
    assert s.get_value().dtype == "float64"


@pytest.mark.parametrize(
    "updates, error, words",
    [
        (lambda s, n, a: [(n, n * 0.5)], tl.UpdateTypeError, "n holds int64, its update is float64"),
        (lambda s, n, a: [(n, 0.5)], tl.UpdateTypeError, "n holds int64"),
        (lambda s, n, a: [(s, s), (s, s + 1)], tl.UpdateTypeError, "s has two updates"),
        (lambda s, n, a: [(a, s)], tl.UpdateTypeError, "a is not one"),
        (lambda s, n, a: [(s + 1, s)], tl.UpdateTypeError, "only shared variables"),
        (lambda s, n, a: [(3.0, s)], tl.UpdateTypeError, "3.0 is not one"),
        (lambda s, n, a: (s, s + 1), tl.TutorlibError, "pairs"),
        (lambda s, n, a: [(s, s, s)], tl.TutorlibError, "pairs"),
        (lambda s, n, a: [(s, tl.stack([s, s]))], tl.ShapeError, "another shape"),
        (lambda s, n, a: [(tl.shared(np.int8(0), name="i8"), 300)], tl.DTypeError, "i8 is int8"),
    ],
)
def test_updates_that_cannot_be(updates, error, words):
    s, n, a = tl.shared(1.0, name="s"), tl.shared(1, name="n"), tl.scalar("a")
    with pytest.raises(error, match=words):
        tl.function([], updates=updates(s, n, a))


def test_a_wrong_update_dtype_names_the_line_that_made_it():
    n = tl.shared(1, name="n")
    half = n * 0.5  # made here
    with pytest.raises(tl.UpdateTypeError, match=r"half = n \* 0\.5  # made here"):
        tl.function([], updates=[(n, half)])


def test_an_update_of_the_wrong_length_is_found_when_it_runs_and_nothing_is_written():
    v, s, count = tl.vector("v"), tl.shared([1.0, 2.0], name="s"), tl.shared(0)
    step = tl.function([v], updates=[(count, count + 1), (s, v)])
    with pytest.raises(tl.ShapeError, match="update of s"):
        step([1.0, 2.0, 3.0])
    assert count.get_value() == 0
    assert s.get_value().tolist() == [1.0, 2.0]
    step([8.0, 9.0])
    assert count.get_value() == 1


# ---- default updates ----


def test_a_default_update_comes_along_unless_an_update_is_given():
    s, other = tl.shared(1.0), tl.shared(0.0)
    s.default_update = s + 1
    read = tl.function([], s * 10)
    assert read() == 10.0
    assert read() == 20.0
    tl.function([], s, updates=[(s, s * 100)])()
    assert s.get_value() == 300.0
    tl.function([], other)()
    assert s.get_value() == 300.0
    tl.function([], updates=[(other, s)])()
    assert (other.get_value(), s.get_value()) == (300.0, 301.0)


def test_a_default_update_may_bring_along_another():
    a, b = tl.shared(1.0), tl.shared(10.0)
    a.default_update = a + b
    b.default_update = b * 2
    f = tl.function([], a)
    assert [f().item() for _ in range(3)] == [1.0, 11.0, 31.0]


def test_values_handed_out_between_many_calls_all_stay_as_they_were():
    s = tl.shared([0.0, 0.0])
    step = tl.function([], s, updates=[(s, s + 1)])
    borrowed, outputs = [], []
    for _ in range(6):
        borrowed.append(s.get_value(borrow=True))
        outputs.append(step())
    assert [b.tolist() for b in borrowed] == [[float(i)] * 2 for i in range(6)]
    assert [o.tolist() for o in outputs] == [[float(i)] * 2 for i in range(6)]


def test_two_functions_that_update_one_variable_in_turn():
    s = tl.shared([1.0, 2.0])
    double, add = tl.function([], updates=[(s, s * 2)]), tl.function([], updates=[(s, s + 1)])
    for _ in range(3):
        double()
        add()
    assert s.get_value().tolist() == [15.0, 23.0]


def test_set_value_between_calls_is_seen_by_the_next_call():
    s = tl.shared([1.0, 2.0])
    step = tl.function([], s * 1, updates=[(s, s * 2)])
    step()
    step()
    s.set_value([10.0, 20.0])
    assert step().tolist() == [10.0, 20.0]
    assert step().tolist() == [20.0, 40.0]


def test_an_observer_that_keeps_values_sees_each_as_it_was():
    s, kept = tl.shared([1.0]), []

    class Keep(tl.Observer):
        def on_write(self, storage, by):
            kept.append(storage.read(borrow=True))

    step = tl.function([], updates=[(s, s * 2)])
    with tl.observe(Keep()):
        for _ in range(4):
            step()
    assert [k.tolist() for k in kept] == [[2.0], [4.0], [8.0], [16.0]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
def test_a_large_value_starts_at_a_cache_line_and_stays_the_callers_own(dtype):
    given = np.arange(5001)[1:].astype(dtype)
    for k in range(3):
        s = tl.shared(given[k:])
        held = s.storage.value
        assert held.ctypes.data % 64 == 0 and held.dtype == dtype
        np.testing.assert_array_equal(s.get_value(), given[k:])
        assert not np.may_share_memory(held, given)
    assert tl.shared(given, borrow=True).storage.value is given


def test_arrays_of_megabytes_start_at_a_huge_page_where_little_of_the_last_one_is_lost():
    for count, page in ((1_000_000, 2 << 20), (600_000, 64), (5_000_000, 2 << 20)):
        array = empty((count,), "float32")
        assert array.shape == (count,) and array.ctypes.data % page == 0 and array.flags.writeable
