"""Updates of scheduled functions: simultaneous, in place only where nobody else looks, seen by observers."""

import numpy as np
import pytest

import tutorlib as tl
from tests.compile.test_schedule import scheduled


def test_an_output_that_is_a_shared_variable_has_its_old_value():
    s = tl.shared([1.0, 2.0])
    step = tl.function([], [s, s[::-1]], updates=[(s, s * 10)])
    for power in (1, 10, 100):
        now, backwards = step()
        assert now.tolist() == [power, 2 * power] and backwards.tolist() == [2 * power, power]


def test_swaps_and_rotations_are_simultaneous():
    a, b, c = (tl.shared([float(n), n + 0.5]) for n in range(3))
    swap = tl.function([], updates=[(a, b), (b, a)])
    turn = tl.function([], updates=[(a, b + 0), (b, c * 1), (c, a[::-1])])
    for _ in range(2):
        swap()
    assert (a.get_value().tolist(), b.get_value().tolist()) == ([0.0, 0.5], [1.0, 1.5])
    turn()
    assert [v.get_value().tolist() for v in (a, b, c)] == [[1.0, 1.5], [2.0, 2.5], [0.5, 0.0]]
    scheduled(turn)


def test_updates_that_read_each_other_see_old_values():
    a, b = tl.shared([1.0, 2.0]), tl.shared([10.0, 20.0])
    step = tl.function([], updates=[(a, a + b), (b, b - a)])
    step()
    step()
    assert (a.get_value().tolist(), b.get_value().tolist()) == ([20.0, 40.0], [-2.0, -4.0])


def test_momentum():
    w, m = tl.shared([1.0, -2.0]), tl.shared([0.0, 0.0])
    new_m = 0.5 * m + 2 * w
    step = tl.function([], updates=[(m, new_m), (w, w - 0.1 * new_m)])
    expected_w, expected_m = np.array([1.0, -2.0]), np.zeros(2)
    for _ in range(5):
        step()
        expected_m = 0.5 * expected_m + 2 * expected_w
        expected_w = expected_w - 0.1 * expected_m
        np.testing.assert_allclose(w.get_value(), expected_w)
        np.testing.assert_allclose(m.get_value(), expected_m)


def test_an_update_to_a_constant_an_input_or_its_own_transpose():
    x, s, t, u = tl.matrix("x"), tl.shared(np.eye(2)), tl.shared(np.arange(4.0).reshape(2, 2)), tl.shared(np.eye(2))
    step = tl.function([x], x + s, updates=[(s, x), (t, t.T), (u, np.ones((2, 2)))])
    data = np.array([[1.0, 2.0], [3.0, 4.0]])
    step(data)
    data[...] = 0.0
    assert s.get_value().tolist() == [[1, 2], [3, 4]]
    assert t.get_value().tolist() == [[0, 2], [1, 3]]
    step(data)
    assert t.get_value().tolist() == [[0, 1], [2, 3]] and u.get_value().tolist() == [[1, 1], [1, 1]]


def test_a_sum_of_a_matrix_and_its_transpose_in_place_reads_before_it_writes():
    s = tl.shared(np.arange(9.0).reshape(3, 3))
    x = tl.matrix("x")
    step = tl.function([x], tl.exp(x) + tl.exp(x).T, updates=[(s, s + s.T)])
    a = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(step(a), np.exp(a) + np.exp(a).T)
    assert s.get_value().tolist() == (a + a.T).tolist()


def test_a_value_read_by_borrowing_stays_as_it_was():
    s = tl.shared([1.0])
    step = tl.function([], updates=[(s, s * 2)])
    kept = []
    for _ in range(4):
        kept.append(s.get_value(borrow=True))
        step()
    assert [k.tolist() for k in kept] == [[1.0], [2.0], [4.0], [8.0]]
    scheduled(step)


def test_the_callers_own_borrowed_array_is_never_written():
    mine = np.array([1.0, 2.0])
    s = tl.shared(mine, borrow=True)
    step = tl.function([], updates=[(s, s + 1)])
    step()
    step()
    assert mine.tolist() == [1.0, 2.0] and s.get_value().tolist() == [3.0, 4.0]


def test_set_value_between_calls_counts_and_leaves_the_given_array_alone():
    s = tl.shared([1.0, 2.0])
    step = tl.function([], s.sum(), updates=[(s, s + 1)])
    step()
    given = np.array([10.0, 20.0])
    s.set_value(given)
    assert step() == 30.0 and step() == 32.0
    assert given.tolist() == [10.0, 20.0]
    assert len(step._fast._known) == 1


def test_a_variable_may_change_its_shape():
    s = tl.shared([1.0, 2.0], shape=(None,))
    step = tl.function([], s.sum(), updates=[(s, tl.concatenate([s, s]))])
    assert [step().item() for _ in range(4)] == [3.0, 6.0, 12.0, 24.0]
    s.set_value([1.0])
    assert [step().item() for _ in range(2)] == [1.0, 2.0]


def test_two_functions_share_a_variable():
    s = tl.shared([1.0, 2.0])
    x = tl.vector("x")
    train = tl.function([x], updates=[(s, s + x)])
    test = tl.function([x], s * x)
    for n in range(1, 4):
        train([1.0, 1.0])
        assert test([2.0, 2.0]).tolist() == [2 * (1.0 + n), 2 * (2.0 + n)]
        s.set_value(s.get_value())


def test_recorded_graphs_over_parameters_keep_their_values():
    p = tl.Parameter([1.0, 2.0], name="p")
    recorded = (p * p).sum()
    step = tl.function([], (p.symbol * 1).sum(), updates=[(p, p.symbol * 10)])
    step()
    step()
    recorded.backward()
    assert p.grad.tolist() == [2.0, 4.0] and p.tolist() == [100.0, 200.0]
    scheduled(step)


def test_observers_see_every_updates_value():
    s, seen = tl.shared([1.0], name="s"), []

    class Watch(tl.Observer):
        def on_write(self, storage, by):
            seen.append((storage.value.tolist(), storage.version, by))

    step = tl.function([], updates=[(s, s * 2)])
    with tl.observe(Watch()):
        for _ in range(3):
            step()
    assert [(v, n) for v, n, _ in seen] == [([2.0], 1), ([4.0], 2), ([8.0], 3)]
    assert all(by is step for _, _, by in seen)


# ---- when it must be plain ----


def test_shapes_that_do_not_fit_are_found_before_anything_is_written():
    v = tl.vector("v")
    a, b = tl.shared(1.0, name="a"), tl.shared([1.0, 2.0], name="b")
    step = tl.function([v], updates=[(a, a + 1), (b, b + v)])
    for _ in range(2):
        with pytest.raises(tl.ShapeError):
            step([1.0, 2.0, 3.0])
        assert a.get_value() == 1.0
    step([1.0, 1.0])
    assert a.get_value() == 2.0
    np.testing.assert_array_equal(b.get_value(), [2.0, 3.0])


def test_a_call_like_the_one_before_notices_what_is_different():
    x, w = tl.matrix("x", dtype="float32"), tl.shared(np.ones((2, 3), np.float32), name="w")
    f = tl.function([x], tl.sum(x * w), updates=[(w, w + 1)])
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert [float(f(a)) for _ in range(3)] == [15, 30, 45]
    assert w.storage.version == 3
    assert float(f(np.arange(6).reshape(2, 3))) == 60 and float(f([[1, 1, 1], [0, 0, 0]])) == 15
    assert float(f(np.asfortranarray(a))) == 90 and w.storage.version == 6
    kept = w.get_value(borrow=True)
    assert float(f(a)) == 105 and (kept == 7).all() and (w.get_value() == 8).all()
    w.set_value(np.zeros((2, 3), np.float32))
    assert float(f(a)) == 0
    with pytest.raises(tl.ShapeError):
        f(np.ones((2, 4), np.float32))
    with pytest.raises(tl.ShapeError):
        f(np.ones(6, np.float32))
