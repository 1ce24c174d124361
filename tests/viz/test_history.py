"""Recording shared variables: what counts as one update, and which frames are left of a long run."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core.observe import observers
from tutorlib.tools.frames import Frame, Ring
from tutorlib.tools.history import History


def updates(history) -> list[int]:
    return [frame.update for frame in history.frames]


def filled(limit: int, count: int, marked=()) -> Ring:
    ring = Ring(limit)
    for n in range(count):
        ring.append(Frame(n, "test", marks=["here"] if n in marked else []))
    return ring


def test_up_to_the_limit_every_frame_stays():
    assert updates(filled(5, 5)) == [0, 1, 2, 3, 4]


def test_beyond_the_limit_every_second_frame_stays_and_the_last():
    """The sixth frame makes 0 1 2 3 4 5 too many: 0 2 4 stay, and 5 because it is the last; then 6 replaces 5."""
    assert updates(filled(5, 6)) == [0, 2, 4, 5]
    assert updates(filled(5, 7)) == [0, 2, 4, 6]


def test_the_stride_doubles_again_and_again():
    ring = filled(5, 100)
    assert updates(ring) == [0, 32, 64, 96, 99]
    assert ring.stride == 32


@pytest.mark.parametrize("count", [1, 2, 7, 199, 200, 201, 1234, 10_000])
def test_first_and_last_are_always_there_and_the_limit_holds(count):
    ring = filled(200, count)
    assert updates(ring)[0] == 0 and updates(ring)[-1] == count - 1
    assert len(ring.frames) <= 200


def test_marked_frames_stay():
    assert {3, 57} <= set(updates(filled(8, 100, marked={3, 57})))


def test_marks_without_end_do_not_break_the_limit():
    ring = filled(10, 1000, marked=set(range(1000)))
    assert len(ring.frames) <= 10
    assert updates(ring)[-1] == 999


def counter():
    count = tl.shared(0, name="count")
    return count, tl.function([], count, updates=[(count, count + 1)], name="increment")


def test_a_call_that_updates_two_variables_is_one_update():
    a, b = tl.shared(1.0, name="a"), tl.shared(10.0, name="b")
    history = History([a, b])
    tl.function([], updates=[(a, a + 1), (b, b + 1)])()
    assert [(f.update, float(f.values[0].kept), float(f.values[1].kept)) for f in history.frames] == [
        (0, 1, 10),
        (1, 2, 11),
    ]


def test_a_call_returns_the_old_value_beside_the_new_one_stored():
    count, increment = counter()
    history = History([count])
    increment()
    frame = history.frames[-1]
    assert (frame.by, int(frame.returned[0]), int(frame.values[0].kept)) == ("increment", 0, 1)


def test_a_call_that_updates_nothing_watched_is_no_update():
    count, _ = counter()
    other = tl.shared(0.0)
    history = History([count])
    tl.function([], count, updates=[(other, other + 1)])()
    assert updates(history) == [0]


def test_set_value_is_an_update_of_its_own():
    count, increment = counter()
    history = History([count])
    increment()
    count.set_value(40)
    increment()
    assert [(f.by, int(f.values[0].kept)) for f in history.frames] == [
        ("start", 0), ("increment", 1), ("set_value", 40), ("increment", 41),
    ]  # fmt: skip


def test_parameters_updated_one_after_the_other_are_one_update():
    w, b = tl.Parameter([1.0, 2.0], name="w"), tl.Parameter(0.0, name="b")
    history = History([w, b])
    for _ in range(2):
        with tl.no_grad():
            w -= 0.5
            b -= 1.0
    assert [(f.values[0].kept.tolist(), float(f.values[1].kept)) for f in history.frames] == [
        ([1.0, 2.0], 0.0), ([0.5, 1.5], -1.0), ([0.0, 1.0], -2.0),
    ]  # fmt: skip


def test_leaf_tensors_are_watched_too():
    x = tl.tensor([1.0], name="x")
    history = History([x])
    x += 1
    assert history.frames[-1].values[0].kept.tolist() == [2.0]


def test_the_relative_change_is_the_norm_of_the_change_over_that_of_the_old_value():
    """From (3, 4), norm 5, to (3, 3): a change of norm 1, one fifth."""
    w = tl.shared([3.0, 4.0], name="w")
    history = History([w])
    w.set_value([3.0, 3.0])
    write = history.frames[-1].values[0]
    assert write.change == pytest.approx(0.2)
    assert write.norm == pytest.approx(18**0.5)


def test_a_change_of_shape_has_no_relative_change():
    w = tl.shared([1.0], shape=(None,), name="w")
    history = History([w])
    w.set_value([1.0, 2.0])
    assert history.frames[-1].values[0].change is None


def test_every_k_th_update_is_recorded():
    count, increment = counter()
    history = History([count], every=3)
    for _ in range(8):
        increment()
    assert updates(history) == [0, 3, 6]
    assert history.updates == 8


def test_thinning_counts_recorded_frames_not_updates():
    count, increment = counter()
    history = History([count], every=3, limit=3)
    for _ in range(15):
        increment()
    assert updates(history) == [0, 12, 15]
    assert history.stride == 12


def test_values_are_copies():
    array = np.array([1.0, 2.0])
    w = tl.shared(array, name="w", borrow=True)
    history = History([w])
    array[0] = 99.0
    assert history.frames[0].values[0].kept.tolist() == [1.0, 2.0]


def test_a_stopped_history_keeps_what_it_has():
    count, increment = counter()
    history = History([count])
    increment()
    history.stop()
    increment()
    assert updates(history) == [0, 1]


def test_a_forgotten_history_is_no_longer_called():
    count, _ = counter()
    before = len(observers)
    history = History([count])
    assert len(observers) == before + 1
    del history
    gc.collect()
    assert len(observers) == before
