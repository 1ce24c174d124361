"""GradientView in a real browser: three plots, keys, missing gradients with their reason, the table, live updating."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.sample_gradients import WHY, gradients

pytestmark = pytest.mark.browser


def plot(page: Page):
    return page.locator(".tl-plot")


def scrubber(page: Page):
    return page.get_by_role("slider", name="Update")


def test_the_flow_has_a_box_for_each_gradient_and_a_reason_where_there_is_none(widgets):
    page = widgets.gradient(gradients(), step=3)
    expect(page.locator(".tl-box")).to_have_count(2)
    expect(page.locator(".tl-box-tiny")).to_have_count(1)
    expect(page.locator(".tl-missing")).to_have_count(1)
    expect(page.locator(".tl-why")).to_contain_text(WHY)
    expect(plot(page)).to_contain_text("vanishing < 1e-7")
    expect(page.locator(".tl-ratio-dot")).to_have_count(2)


def test_a_nan_is_written_into_the_flow(widgets):
    page = widgets.gradient(gradients(), step=9)
    expect(page.locator(".tl-alarm")).to_have_text("! 10 NaN, 0 inf")


def test_the_picture_speaks_a_sentence(widgets):
    page = widgets.gradient(gradients(), step=3, selected="s1")
    label = plot(page).get_attribute("aria-label")
    assert plot(page).get_attribute("role") == "img"
    assert "layers 3" in label and "Update 4, b: norm 1e-08" in label and "Vanishing." in label
    assert scrubber(page).get_attribute("aria-valuetext").startswith("Update 4, b:")


def test_keys_choose_plot_step_and_layer(widgets):
    page = widgets.gradient(gradients(), step=3)
    plot(page).focus()
    page.keyboard.press("r")
    expect(plot(page).locator(".tl-column-now")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(scrubber(page)).to_have_value("4")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tl-picked .tl-layer-name")).to_contain_text("b")
    page.keyboard.press("h")
    expect(page.get_by_role("img", name=re.compile("^Histogram of a layer"))).to_be_visible()
    expect(plot(page).locator(".tl-hist .tl-bar")).to_have_count(3)
    page.keyboard.press("f")
    expect(page.locator(".tl-box")).to_have_count(2)
    page.wait_for_function("() => model.saved.length > 0 && model.saved.at(-1).selected === 's1'")
    assert page.evaluate("() => notebookKeys") == []


def test_n_finds_the_next_nan_and_says_when_there_is_none(widgets):
    page = widgets.gradient(gradients(), step=3)
    plot(page).focus()
    page.keyboard.press("n")
    expect(scrubber(page)).to_have_value("9")
    expect(page.locator(".tl-picked .tl-layer-name")).to_contain_text("b")
    page.evaluate("(spec) => model.set('spec', spec)", gradients(8))
    plot(page).focus()
    page.keyboard.press("n")
    expect(page.get_by_role("status")).to_have_text("No NaN or inf in any gradient.")


def test_l_changes_the_axis_between_logarithmic_and_linear(widgets):
    page = widgets.gradient(gradients(), step=3)
    plot(page).focus()
    expect(plot(page)).to_contain_text("1e-8")
    page.keyboard.press("l")
    expect(plot(page)).not_to_contain_text("vanishing")
    expect(page.get_by_role("button", name="Logarithmic scale")).to_have_attribute("aria-pressed", "false")


def test_a_layer_without_a_gradient_has_its_reason_in_place_of_a_histogram(widgets):
    page = widgets.gradient(gradients(), step=3, selected="s2", view="histogram")
    expect(page.locator(".tl-missing-note")).to_have_text(WHY)


def test_zeros_stand_beside_the_bins_of_the_histogram(widgets):
    page = widgets.gradient(gradients(), step=3, selected="s0", view="histogram")
    spoken = plot(page).locator(".tl-hist").get_attribute("aria-label")
    assert "2 zeros" in spoken or "zeros 2" in spoken
    expect(plot(page).locator(".tl-before")).to_have_count(1)


def test_the_table_holds_every_number_and_the_reason(widgets):
    page = widgets.gradient(gradients(), step=9)
    page.get_by_role("button", name="Table").click()
    table = page.get_by_role("table", name="The gradients of update 10")
    expect(table.get_by_role("row")).to_have_count(4)
    expect(table.get_by_role("row", name=re.compile("^u "))).to_contain_text(WHY)
    expect(table.locator("td.tl-warning")).to_have_text("10")
    page.keyboard.press("Escape")
    expect(plot(page)).to_be_focused()


@pytest.mark.parametrize("view", ["flow", "heat", "histogram"])
def test_a_plot_fills_its_view_and_follows_its_width(widgets, view):
    page = widgets.gradient(gradients(), step=3, view=view, size=(400, 700))
    fits = "() => { const box = document.querySelector('.tl-plot'); return box.scrollWidth <= box.clientWidth; }"
    svg = plot(page).locator("svg").first
    assert page.evaluate(fits)
    narrow = int(svg.get_attribute("width"))
    page.set_viewport_size({"width": 900, "height": 700})
    expect(svg).not_to_have_attribute("width", str(narrow))
    assert int(svg.get_attribute("width")) > 2 * narrow - 20
    page.wait_for_function(fits)


def test_a_click_in_the_map_goes_to_that_layer_and_step(widgets):
    page = widgets.gradient(gradients(), step=0, view="heat")
    svg = plot(page).locator("svg")
    box = svg.bounding_box()
    svg.click(position={"x": 150 + (box["width"] - 150 - 26) * 6.5 / 12, "y": 30 + 28 * 1.5})
    expect(scrubber(page)).to_have_value("6")
    expect(page.locator(".tl-picked .tl-layer-name")).to_contain_text("b")


def test_new_steps_appear_and_the_end_stays_the_end(widgets):
    page = widgets.gradient(gradients(5), step=4)
    page.evaluate("(spec) => model.set('spec', spec)", gradients(7))
    expect(scrubber(page)).to_have_value("6")


def test_before_the_first_gradient_it_says_so(widgets):
    spec = {**gradients(), "layers": [], "steps": [], "cells": {}, "summary": "No gradients recorded yet."}
    page = widgets.gradient(spec)
    expect(page.locator(".tl-root")).to_contain_text("No gradients recorded yet.")
