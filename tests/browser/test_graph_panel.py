"""The panel beside the graph in a real browser: when its legend is open, and where it stands in a narrow window."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import fixture

pytestmark = pytest.mark.browser


def test_the_legend_opens_on_the_first_graph_of_a_page_only_and_stays_closed_when_python_redraws(widgets):
    page = widgets.graph("tiny")
    widgets.beside(page, "graph_view.js", fixture("mlp"))
    expect(page.locator(".tl-legend")).to_have_count(1)
    page.locator("#host [role=tree]").focus()
    page.keyboard.press("l")
    expect(page.locator(".tl-legend")).to_be_hidden()
    page.evaluate("(spec) => model.set('spec', spec)", fixture("mlp"))
    expect(page.locator("#host .tl-name", has_text="loss").first).to_be_visible()
    expect(page.locator("#host .tl-panel")).to_be_hidden()


def test_in_a_narrow_window_the_graph_comes_first_and_the_legend_waits(widgets):
    page = widgets.graph("tiny", size=(400, 800))
    expect(page.locator(".tl-panel")).to_be_hidden()
    page.get_by_role("button", name="Legend").click()
    expect(page.locator(".tl-legend")).to_be_visible()


def test_the_legend_is_open_at_first_and_names_only_what_occurs(widgets):
    page = widgets.graph("tiny")
    legend = page.locator(".tl-legend")
    expect(legend).to_contain_text("gradient")
    expect(legend).not_to_contain_text("shared variable")
    page.get_by_role("tree").focus()
    page.keyboard.press("l")
    expect(page.locator(".tl-panel")).to_be_hidden()
    page.keyboard.press("L")
    expect(page.locator(".tl-panel")).to_be_visible()


def test_in_a_narrow_column_the_panel_stands_below(widgets):
    page = widgets.graph("tiny", size=(480, 900))
    page.get_by_role("button", name="Legend").click()
    canvas, panel = page.locator(".tl-canvas").bounding_box(), page.locator(".tl-panel").bounding_box()
    assert panel["y"] >= canvas["y"] + canvas["height"] - 1
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
