"""The loss over two numbers: where the level lines run, which way is drawn, what cannot be drawn; two runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import conforms
from tests.viz.test_record import X, Y, line_fit
from tutorlib.viz.contour import level_lines


def fitted(updates: int = 5, **more):
    _, _, step = line_fit()
    with tl.record(**more) as run:
        for _ in range(updates):
            step(X, Y)
    return run, step


def points(d: str) -> np.ndarray:
    return np.array([[float(v) for v in spot.split(" ")] for spot in re.split("[ML]", d)[1:]])


def test_the_run_of_a_function_with_two_numbers_has_a_contour_by_itself():
    run, _ = fitted()
    contour = conforms(tl.SharedView(run).spec)["contour"]
    assert contour["names"] == ["w", "b"]
    np.testing.assert_allclose(
        [p[:2] for p in contour["ways"][0]], [(f["values"]["w"], f["values"]["b"]) for f in run.frames]
    )


def test_level_lines_run_where_the_loss_has_that_value():
    """Along each line the loss, computed by hand, is the level, up to the straight pieces of the grid."""
    run, _ = fitted()
    contour = tl.SharedView(run).spec["contour"]
    (x0, x1), (y0, y1) = contour["x"], contour["y"]
    for level in contour["levels"]:
        spots = points(level["d"])
        w, b = x0 + (x1 - x0) * spots[:, 0] / 1000, y1 - (y1 - y0) * spots[:, 1] / 1000
        loss = ((w[:, None] * X + b[:, None] - Y) ** 2).mean(axis=1)
        np.testing.assert_allclose(loss, level["value"], atol=0.02 * float(contour["high"]))


def test_a_circle_is_found_whole():
    axis = np.linspace(-2, 2, 41)
    spots = points(level_lines(axis[:, None] ** 2 + axis[None, :] ** 2, 1.0))
    radius = np.hypot((spots[:, 0] - 500) / 250, (500 - spots[:, 1]) / 250)
    np.testing.assert_allclose(radius, 1.0, atol=0.01)
    assert level_lines(axis[:, None] ** 2 + axis[None, :] ** 2, 1.0).count("M") == 1


def test_a_saddle_is_cut_into_two_lines():
    assert level_lines(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.4).count("M") == 2
    assert level_lines(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.6).count("M") == 2


def test_drawing_a_contour_changes_no_value_and_draws_no_random_number():
    run, _ = fitted()
    tracks = [track.storage for track in run.recording.tracks]
    before = [(cell.value.copy(), cell.version) for cell in tracks]
    tl.SharedView(run)
    assert [(cell.value, cell.version) for cell in tracks] == before


def test_a_callable_gives_the_loss_of_a_vector_trained_in_place():
    w = tl.Parameter([2.0, 1.0], name="w")
    with tl.record() as run:
        for _ in range(3):
            w.zero_grad()
            (w * w).sum().backward()
            with tl.no_grad():
                w -= 0.1 * w.grad
    assert tl.SharedView(run).spec["contour"] is None
    contour = tl.SharedView(run, contour=lambda v: (v**2).sum()).spec["contour"]
    assert contour["names"] == ["w[0]", "w[1]"]
    assert float(contour["low"]) == pytest.approx(float(contour["x"][0]) ** 2 + float(contour["y"][0]) ** 2)


def test_two_of_many_variables_are_chosen_by_name():
    x, y = tl.vector("x"), tl.vector("y")
    w, b, c = (tl.shared(0.0, name=name) for name in "wbc")
    loss = ((w * x + b + c - y) ** 2).mean()
    step = tl.function([x, y], loss, updates=[(v, v - 0.1 * tl.grad(loss, v)) for v in (w, b, c)])
    with tl.record() as run:
        step(X, Y)
    assert tl.SharedView(run).spec["contour"] is None
    assert tl.SharedView(run, contour=(step, X, Y), over=["w", "c"]).spec["contour"]["names"] == ["w", "c"]
    with pytest.raises(ValueError, match="hold 3"):
        tl.SharedView(run, contour=(step, X, Y))
    with pytest.raises(ValueError, match="w, b, c"):
        tl.SharedView(run, contour=(step, X, Y), over=["w", "z"])
    with pytest.raises(ValueError, match="neither"):
        tl.SharedView(run, contour=3, over=["w", "b"])


def test_the_grid_is_drawn_anew_only_when_the_way_leaves_it():
    _, _, step = line_fit()
    calls = []

    def loss(w: float, b: float) -> float:
        calls.append((w, b))
        return w * w + b * b

    run = tl.record()
    step(X, Y)
    view = tl.SharedView(run, contour=loss, over=["w", "b"])
    once = len(calls)
    run.recording.tracks[0].storage.write(np.asarray(0.5), by="set_value")
    view.refresh()
    assert len(calls) == once and len(view.spec["contour"]["ways"][0]) == 3
    run.recording.tracks[0].storage.write(np.asarray(50.0), by="set_value")
    view.refresh()
    assert len(calls) == 2 * once


# ---- two runs, sums, rewinds in the view ----


def test_a_second_run_is_drawn_over_the_first():
    first, _ = fitted(5, name="first")
    second, _ = fitted(9, name="second")
    view = tl.SharedView(first, second)
    other = conforms(view.spec)["other"]
    assert other["name"] == "second" and other["updates"] == list(range(10))
    np.testing.assert_allclose(other["lines"]["s0"]["level"], [f["values"]["w"] for f in second.frames])
    assert len(view.spec["contour"]["ways"]) == 2
    assert "second, 9 updates" in view.describe()
    assert view.svg().count("stroke-dasharray") >= 3


def test_both_runs_are_followed_while_they_go_on():
    first, _ = fitted(2)
    _, _, step = line_fit()
    second = tl.record()
    step(X, Y)
    view = tl.SharedView(first, second)
    step(X, Y)
    view.refresh()
    assert view.spec["other"]["updates"] == [0, 1, 2]
    second.stop()


def test_more_than_two_runs_or_runs_among_variables_are_refused():
    run, _ = fitted(1)
    with pytest.raises(TypeError, match="at most 2"):
        tl.SharedView(run, run, run)
    with pytest.raises(TypeError, match="at most 1"):
        tl.GradientView(run, run)
    with pytest.raises(TypeError, match="at most 2"):
        tl.SharedView(run, tl.shared(1.0))


def test_the_arithmetic_of_an_update_is_in_the_spec():
    view = tl.SharedView(fitted(1)[0])
    assert conforms(view.spec)["frames"][1]["sums"]["s0"] == {
        "formula": "w ← w − 0.1 · ∂L/∂w", "rows": [["w", "0 − 0.1 · (-8.667)", "0.8667"]], "whole": True,
    }  # fmt: skip


def test_the_histogram_before_an_update_is_in_the_bins_of_the_one_after():
    w = tl.shared(np.arange(1.0, 41.0), name="w")
    with tl.record(w) as run:
        w.set_value(np.arange(1.0, 41.0) + 20)
    frame = tl.SharedView(run).spec["frames"][1]
    hist = tl.SharedView(run).spec["values"][frame["values"]["s0"]]["hist"]
    assert (hist["lo"], hist["hi"]) == (21.0, 60.0)
    assert sum(frame["outline"]["s0"]) == 40 and frame["outline"]["s0"][0] == 22


def test_the_page_may_ask_for_a_rewind_and_hears_what_came_of_it():
    w = tl.shared(1.0, name="w")
    view = tl.SharedView(w)
    w.set_value(2.0)
    w.set_value(3.0)
    view.refresh()
    assert view.spec["rewind"] == {"can": True, "why": ""}
    view.wanted = 1
    assert float(w.get_value()) == 2.0
    assert "back at update 1" in view.notice and view.wanted == -1
    assert view.frame == len(view.spec["frames"]) - 1 and view.spec["frames"][-1]["by"] == "rewind to 1"
    view.wanted = 77
    assert "not among" in view.notice


def test_a_view_of_a_run_that_cannot_go_back_says_why():
    w = tl.shared(np.zeros(5000), name="w")
    with tl.record(w) as run:
        w.set_value(np.ones(5000))
    state = tl.SharedView(run).spec["rewind"]
    assert not state["can"] and 'keep="full"' in state["why"]
