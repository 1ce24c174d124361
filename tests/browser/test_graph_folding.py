"""Folding in a real browser: pills and titles by mouse and keys, search that opens scopes, the mini-map, no kernel."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tutorlib as tl
from tests.browser.sample_specs import wide_graph
from tests.browser.test_accessibility import violations  # noqa: F401 - a fixture
from tests.js.npm_tools import node_modules  # noqa: F401 - a fixture
from tutorlib.viz.folding import likely_views, view_of
from tutorlib.viz.graph_spec import graph_spec

pytestmark = pytest.mark.browser


def layered(collapse=None) -> dict:
    """Two dense layers in scopes of their own, run forward and backward; the second one holds `deep`."""
    x = tl.tensor(np.ones((2, 3)), name="x")
    for name in ("first", "second"):
        weights = tl.Parameter(np.eye(3), name=f"W_{name}")
        with tl.scope(name):
            x = tl.tanh(x @ weights)
    loss = x.sum()
    loss.backward()
    return graph_spec(loss, collapse=collapse)


def opened(widgets, spec: dict, *, ahead: bool, **more) -> Page:
    views = likely_views(spec) if ahead else []
    page = widgets.graph(spec, collapsed=spec["collapsed"], views=views, view={}, **more)
    page.locator('[role="tree"]').focus()
    return page


def scope(page: Page, key: str):
    return page.locator(f'[data-node="{key}"]').get_by_role("treeitem")


def test_scopes_open_and_fold_by_click_and_keys_and_python_hears_of_it(widgets, violations):
    page = opened(widgets, layered("all"), ahead=True, step=3)
    expect(scope(page, "s0")).to_have_attribute("aria-expanded", "false")
    assert scope(page, "s0").get_attribute("aria-label").startswith("scope, first · 2 ops · 1 param")
    page.locator('[data-node="s0"]').click()
    expect(scope(page, "s0")).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("status").last).to_have_text("first opened")
    assert page.evaluate("() => model.get('collapsed')") == ["second"]
    page.keyboard.press("Enter")
    expect(scope(page, "s0")).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("e")
    expect(scope(page, "s1")).to_have_attribute("aria-expanded", "true")
    page.locator('[data-node="n0"]').click()
    page.keyboard.press("Escape")
    page.locator('[role="tree"]').focus()
    assert violations(page) == []
    page.keyboard.press("Shift+Enter")
    expect(scope(page, "s0")).to_have_attribute("aria-expanded", "false")
    expect(scope(page, "s0")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("c")
    expect(page.locator('[data-node="s1g"]')).to_have_count(1)
    expect(page.get_by_role("slider", name="Step")).to_have_value("3")
    assert violations(page) == []


def test_what_is_folded_still_steps(widgets):
    page = opened(widgets, layered("all"), ahead=True, step=0)
    expect(page.locator('[data-node="s0"]')).to_have_class("tl-node tl-k-scope tl-future")
    page.keyboard.press(".")
    expect(page.locator('[data-node="s0"]')).to_have_class("tl-node tl-k-scope tl-current")
    expect(page.locator(".tl-strip")).to_contain_text("matmul = x @ W_first")


def test_search_counts_what_is_folded_and_enter_opens_it(widgets):
    page = opened(widgets, layered("all"), ahead=True)
    page.keyboard.press("/")
    page.get_by_role("searchbox").press_sequentially("W_second")
    expect(page.get_by_role("search")).to_contain_text("of")
    expect(page.locator('.tl-found[data-node="s1"]')).to_have_count(1)
    page.get_by_role("searchbox").press("Enter")
    expect(scope(page, "s1")).to_have_attribute("aria-expanded", "true")
    expect(page.locator('.tl-found [aria-selected="true"]')).to_have_count(1)


def test_without_a_view_python_is_asked_and_a_silent_kernel_is_named(widgets):
    spec = layered("all")
    page = opened(widgets, spec, ahead=False)
    page.clock.install()
    page.locator('[data-node="s0"]').click()
    expect(page.get_by_role("status").last).to_contain_text("Asking Python")
    page.clock.run_for(3000)
    expect(page.get_by_role("status").last).to_contain_text("the kernel is busy or not running")
    page.evaluate("(view) => model.set('view', view)", view_of(spec, ["second"]))
    expect(scope(page, "s0")).to_have_attribute("aria-expanded", "true")


def test_a_large_graph_has_a_map_that_moves_the_window(widgets):
    page = opened(widgets, wide_graph(1000), ahead=False)
    frame, chart = page.locator(".tl-map-frame"), page.locator(".tl-map")
    expect(chart).to_be_visible()
    page.keyboard.press("+")
    page.keyboard.press("+")
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] - 10)
    page.mouse.down()
    page.mouse.up()
    low = "(element) => parseFloat(element.style.top) > element.parentElement.clientHeight / 3"
    page.wait_for_function(low, arg=frame.element_handle())
    assert page.locator(".tl-panel h3").first.inner_text() == "Legend"


def test_a_small_graph_has_no_map(widgets):
    expect(widgets.graph("tiny").locator(".tl-map")).to_have_count(0)
