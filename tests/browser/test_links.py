"""Linked views on one page, without a kernel; and five thousand updates that leave nothing behind."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tutorlib as tl
from tests.browser.sample_gradients import gradients
from tests.browser.sample_specs import counter_and_weights

pytestmark = pytest.mark.browser


def views():
    """A graph, the run of its variables and their gradients, as Python makes them."""
    x, y = tl.vector("x"), tl.vector("y")
    w, b = tl.shared(0.5, name="w"), tl.shared(0.1, name="b")
    loss = ((w * x + b - y) ** 2).mean()
    gw, gb = tl.grad(loss, [w, b])
    step = tl.function([x, y], loss, updates=[(w, w - 0.1 * gw), (b, b - 0.1 * gb)], name="step")
    with tl.record(keep="full") as run:
        for _ in range(6):
            step(np.arange(3.0), np.ones(3))
    graph = tl.GraphView(step, inputs={"x": np.arange(3.0), "y": np.ones(3)})
    shared, plot = tl.SharedView(run), tl.GradientView(run)
    tl.link(graph, shared, plot)
    return graph, shared, plot


LOOKS_WITHOUT_THE_OTHERS = """(root) => {
  const looks = () => [...root.querySelectorAll("*")].map((node) => {
    const look = getComputedStyle(node);
    return [node.getAttribute("class"), look.backgroundColor, look.color, look.fill, look.stroke, look.strokeWidth,
      look.display, look.position, look.fontSize, look.paddingLeft].join(" ");
  });
  const others = [...document.querySelectorAll(".tl-root > style")].filter((style) => !root.contains(style));
  const together = looks();
  for (const style of others) style.sheet.disabled = true;
  const alone = looks();
  for (const style of others) style.sheet.disabled = false;
  return [together, alone];
}"""


def test_the_styles_of_one_view_do_not_reach_into_another(widgets):
    graph, shared, plot = views()
    page = widgets.graph(graph.spec, step=graph.step)
    # A transition would hide what a style sheet changes.
    page.add_style_tag(content="* { transition: none !important; }")
    widgets.beside(page, "shared_view.js", shared.spec, frame=6, selected="s1")
    widgets.beside(page, "gradient_view.js", plot.spec, step=5, selected="s1")
    for root in page.locator(".tl-root").all():
        together, alone = root.evaluate(LOOKS_WITHOUT_THE_OTHERS)
        assert len(together) > 30
        # The colours of the theme reach the root, which is inside its own scope.
        assert root.evaluate("(root) => getComputedStyle(root).getPropertyValue('--tl-accent')")
        expect(root.locator("button").first).to_have_css("border-top-width", "0px")
        assert together == alone


def test_a_browser_that_cannot_scope_styles_shows_a_dressed_view(widgets):
    graph, shared, _ = views()
    page = widgets.graph(graph.spec)
    page.evaluate("() => { delete globalThis.CSSScopeRule; }")
    widgets.beside(page, "shared_view.js", shared.spec, frame=6)
    root = page.locator("#host1 .tl-root")
    assert not root.locator("style").inner_text().startswith("@scope")
    assert root.evaluate("(root) => getComputedStyle(root).getPropertyValue('--tl-accent')")
    expect(root.locator("button").first).to_have_css("border-top-width", "0px")


def test_what_is_selected_in_one_view_is_selected_in_the_others(widgets):
    graph, shared, plot = views()
    assert graph.link == shared.link == plot.link != ""
    page = widgets.graph(graph.spec, link=graph.link, step=graph.step)
    widgets.beside(page, "shared_view.js", shared.spec, link=shared.link, frame=6)
    widgets.beside(page, "gradient_view.js", plot.spec, link=plot.link, step=5)
    option = page.get_by_role("option")
    chosen = page.locator(".tl-picked .tl-layer-name")
    # From the list of variables to graph and plot.
    option.filter(has_text="b").last.click()
    expect(chosen).to_contain_text("b")
    selected = page.locator('[role="treeitem"][aria-selected="true"]')
    expect(selected).to_have_count(1)
    expect(selected).to_have_attribute("aria-label", re.compile("^b, shared variable"))
    # From the graph: the new value of w belongs to w.
    page.get_by_role("treeitem", name=re.compile("^new w, update")).dispatch_event("click")
    expect(option.filter(has_text="w").first).to_have_attribute("aria-selected", "true")
    expect(chosen).to_contain_text("w")
    # A step in the plot is an update of the run.
    page.locator(".tl-plot").focus()
    page.keyboard.press("Home")
    expect(page.locator("#host1").get_by_role("slider")).to_have_value("1")
    page.locator("#host1").get_by_role("listbox").focus()
    page.keyboard.press("End")
    expect(page.locator("#host2").get_by_role("slider")).to_have_value("5")


def test_views_of_another_link_hear_nothing(widgets):
    _, shared, plot = views()
    page = widgets.shared(shared.spec, link="link-a")
    widgets.beside(page, "gradient_view.js", plot.spec, link="link-b")
    page.get_by_role("option").filter(has_text="b").last.click()
    expect(page.get_by_role("option").last).to_have_attribute("aria-selected", "true")
    expect(page.locator(".tl-picked .tl-layer-name")).to_contain_text("w")
    # A link made later joins what is on the page already.
    page.evaluate("() => models.forEach((model) => model.set('link', 'link-c'))")
    page.get_by_role("option").first.click()
    page.get_by_role("option").last.click()
    expect(page.locator(".tl-picked .tl-layer-name")).to_contain_text("b")


def _first_alone(spec: dict) -> dict:
    """With one variable: what is left behind shows as well, and five thousand drawings take seconds, not minutes."""
    field = "variables" if "variables" in spec else "layers"
    return {**spec, field: spec[field][:1]}


SEND = """([first, second]) => {
  for (let i = 0; i < %d; i += 1) model.set("spec", structuredClone(i %% 2 ? first : second));
}"""


def counts(page: Page) -> dict[str, float]:
    """DOM nodes and event listeners alive after a collection, as the browser counts them."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    found = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return {name: found[name] for name in ("Nodes", "JSEventListeners")}


@pytest.mark.parametrize("kind", ["shared", "gradient"])
def test_five_thousand_updates_leave_no_node_and_no_listener_behind(widgets, kind):
    make = counter_and_weights if kind == "shared" else gradients
    specs = [_first_alone(make(2)), _first_alone(make(3))]
    page = (widgets.shared if kind == "shared" else widgets.gradient)(specs[0])
    page.evaluate(SEND % 40, specs)
    before = counts(page)
    page.evaluate(SEND % 5000, specs)
    after = counts(page)
    assert after["JSEventListeners"] <= before["JSEventListeners"] + 5
    assert after["Nodes"] <= before["Nodes"] + 50
