"""The storyboard: which steps it shows, what each frame holds, that the same graph always gives the same bytes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

import tutorlib as tl
from tutorlib.viz.storyboard import key_steps


def events(**phases: int) -> list[dict]:
    return [{"phase": phase} for phase, count in phases.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("phases", "steps"),
    [
        ({"forward": 4, "backward": 6, "update": 2}, [0, 4, 10, 12]),
        ({"forward": 4, "backward": 6}, [0, 4, 7, 10]),
        ({"forward": 4}, [0, 2, 4]),
        ({"forward": 1}, [0, 1]),
        ({}, [0]),
    ],
)
def test_the_steps_that_tell_the_story(phases, steps):
    assert key_steps(events(**phases)) == steps


def training_step() -> tl.GraphView:
    """w = 3, x = 2, target 4: loss (6 − 4)² = 4, ∂L/∂w = 8, new w = 2.2."""
    x, t = tl.scalar("x"), tl.scalar("t")
    w = tl.shared(3.0, name="w")
    loss = (w * x - t) ** 2
    step = tl.function([x, t], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))], name="step")
    return tl.GraphView(step, inputs={"x": 2.0, "t": 4.0}, storyboard=True)


def frames_of(svg: str) -> list[str]:
    root = ET.fromstring(svg)
    drawn = [g for g in root.iter("{http://www.w3.org/2000/svg}g") if "scale" in g.get("transform", "")]
    return ["|".join(part for part in g.itertext() if part.strip()) for g in drawn]


def test_a_value_appears_in_the_frame_of_its_step_and_the_shared_variable_changes_in_the_last():
    frames = frames_of(training_step().static().svg)
    assert len(frames) == 4
    assert "cost" not in frames[0] and "|4|" in f"|{frames[1]}|"
    assert "|2.2" not in frames[2] and frames[3].count("2.2") >= 2
    start, end = (re.search(r"w\|S\|w\|float64 \(\)\|([\d.]+)", frame)[1] for frame in (frames[0], frames[3]))
    assert (start, end) == ("3", "2.2")


def test_each_frame_says_its_formula_with_the_numbers():
    svg = training_step().static().svg
    assert "w ← w − 0.1 · ∂L/∂w, 3 → 2.2" in svg
    assert svg.count("/ 10</text>") == 4


def test_the_text_beside_it_tells_the_same_steps():
    lines = training_step().static().text.splitlines()
    assert lines[0] == "Before the first step"
    assert lines[-1] == "step 10 of 10, update, new w: w ← w − 0.1 · ∂L/∂w, 3 → 2.2"


def test_the_same_graph_gives_the_same_bytes_and_nothing_a_sanitiser_removes():
    first, second = training_step().static().svg, training_step().static().svg
    assert first == second
    assert not re.search(r"<style|style=|class=|<script|id=|href", first)


def test_steps_can_be_chosen_and_wrong_ones_are_refused():
    view = training_step()
    assert len(frames_of(view.storyboard(steps=[1, 10]).svg)) == 2
    for wrong in ([], [11], [-1]):
        with pytest.raises(ValueError, match="from 0 to 10"):
            view.storyboard(steps=wrong)


def test_a_graph_without_values_has_one_frame():
    x = tl.scalar("x")
    assert len(frames_of(tl.GraphView(x * x).storyboard().svg)) == 1
