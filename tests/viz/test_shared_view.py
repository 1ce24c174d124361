"""SharedView: what it shows of updates, in data, in words and as a picture."""

from __future__ import annotations

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import conforms
from tutorlib.viz.run import variable_names
from tutorlib.viz.shared_svg import levels, moments


def counted(times: int):
    count = tl.shared(0, name="count")
    view = tl.SharedView(count)
    increment = tl.function([], count, updates=[(count, count + 1)], name="increment")
    for _ in range(times):
        increment()
    view.refresh()
    return count, view


def test_each_call_is_a_frame_with_the_returned_value_beside_the_stored_one():
    _, view = counted(2)
    spec = conforms(view.spec)
    stored = [spec["values"][frame["values"]["s0"]]["text"] for frame in spec["frames"]]
    assert stored == ["0", "1", "2"]
    assert [frame["returned"] for frame in spec["frames"]] == [None, "0", "1"]
    assert [frame["by"] for frame in spec["frames"]] == ["start", "increment", "increment"]


def test_what_describe_says():
    _, view = counted(2)
    assert [line.split() for line in view.describe().splitlines()] == [
        ["count:", "2", "updates."],
        [],
        ["update", "by", "count", "returned"],
        ["0", "start", "0"],
        ["1", "increment", "1", "0"],
        ["2", "increment", "2", "1"],
        [],
        ["Update", "2:"],
        ["count", "←", "count", "+", "1"],
        ["count", "←", "1", "+", "1", "=", "2"],
    ]


def test_the_change_is_shown_beside_the_value_it_started_from():
    w = tl.shared([1.0, 2.0], name="w")
    view = tl.SharedView(w)
    w.set_value([1.5, 1.0])
    view.refresh()
    delta = view.spec["frames"][1]["delta"]["s0"]
    assert view.spec["values"][delta]["text"] == "[0.5, -1]"


def test_a_variable_that_an_update_left_alone_has_no_change():
    a, b = tl.shared(1.0, name="a"), tl.shared(2.0, name="b")
    view = tl.SharedView(a, b)
    a.set_value(5.0)
    view.refresh()
    frame = view.spec["frames"][1]
    assert "s1" not in frame["delta"] and frame["change"]["s1"] == 0.0
    assert "s0" in frame["delta"]


def test_frames_give_the_numbers():
    w = tl.shared([3.0, 4.0], name="w")
    view = tl.SharedView(w)
    w.set_value([3.0, 3.0])
    frame = view.frames[1]
    assert frame["values"]["w"].tolist() == [3.0, 3.0]
    assert frame["change"]["w"] == pytest.approx(0.2)
    frame["values"]["w"][0] = 99.0
    assert view.frames[1]["values"]["w"].tolist() == [3.0, 3.0]


def test_large_arrays_are_kept_as_statistics():
    w = tl.shared(np.ones((100, 100)), name="w")
    view = tl.SharedView(w)
    assert view.frames[0]["values"]["w"]["mean"] == 1.0
    conforms(view.spec)


def test_marks_are_shown():
    _, view = counted(3)
    assert view.mark("epoch 1") is view
    assert view.frames[-1]["marks"] == ["epoch 1"]
    assert "epoch 1" in view.describe()
    assert "epoch 1" in view.svg()


def test_a_long_run_stays_short_and_says_so():
    _, view = counted(1000)
    assert len(view.spec["frames"]) <= 200
    assert view.spec["thinned"] == 8
    assert "1000 updates" in view.spec["summary"] and "every 8" in view.spec["summary"]
    assert len(view.spec["text"].splitlines()) <= 13


def test_the_table_holds_first_and_last_update():
    _, view = counted(50)
    lines = view.spec["text"].splitlines()
    assert lines[1].split()[:1] == ["0"] and lines[-1].split()[0] == "50"


def test_a_stopped_view_records_no_more():
    count, view = counted(1)
    view.stop()
    count.set_value(99)
    view.refresh()
    assert view.live is False
    assert len(view.spec["frames"]) == 2


def test_what_keeps_no_value_cannot_be_watched():
    x = tl.tensor(1.0, requires_grad=True)
    for wrong in (tl.scalar("x"), 3, x * 2):
        with pytest.raises(TypeError, match="keeps no value"):
            tl.SharedView(wrong)
    with pytest.raises(TypeError, match="at least one"):
        tl.SharedView()


def test_a_list_of_variables_is_as_good_as_several():
    a, b = tl.shared(1.0, name="a"), tl.shared(2.0, name="b")
    assert [v["name"] for v in tl.SharedView([a, b]).spec["variables"]] == ["a", "b"]


def test_equal_and_missing_names_are_told_apart():
    variables = [tl.shared(1.0, name="w"), tl.shared(1.0, name="w"), tl.shared(1.0)]
    assert variable_names(variables) == ["w", "w 2", "shared variable 3"]


def test_moments_of_the_picture():
    assert moments(5) == [0, 1, 2, 3, 4]
    assert moments(101) == [0, 25, 50, 75, 100]
    assert moments(2) == [0, 1]


def test_the_line_is_the_value_of_a_number_and_the_norm_of_an_array():
    n, w = tl.shared(-2.0, name="n"), tl.shared([3.0, 4.0], name="w")
    spec = tl.SharedView(n, w).spec
    assert levels(spec, spec["variables"][0]) == [-2.0]
    assert levels(spec, spec["variables"][1]) == [5.0]


def test_a_line_has_a_gap_where_a_value_is_not_finite():
    w = tl.shared(1.0, name="w")
    view = tl.SharedView(w)
    w.set_value(float("nan"))
    view.refresh()
    assert levels(view.spec, view.spec["variables"][0]) == [1.0, None]
    assert "nan" in view.describe()


def test_parameters_are_watched_as_shared_variables_are():
    w = tl.Parameter([1.0], name="w")
    view = tl.SharedView(w)
    tl.function([], updates=[(w, w.symbol * 2)])()
    with tl.no_grad():
        w += 1
    assert [frame["values"]["w"].tolist() for frame in view.frames] == [[1.0], [2.0], [3.0]]


def test_the_page_is_told_while_a_run_goes_on_but_not_at_every_update(monkeypatch):
    from tutorlib.viz import following

    now = [1000.0]
    monkeypatch.setattr(following.time, "monotonic", lambda: now[0])
    count = tl.shared(0, name="count")
    view = tl.SharedView(count)
    sent = []
    view.observe(lambda change: sent.append(len(change["new"]["frames"])), "spec")
    for n in range(1, 6):
        now[0] += 0.04
        count.set_value(n)
    assert sent == [2, 5]
    view.static()
    assert sent == [2, 5, 6]
