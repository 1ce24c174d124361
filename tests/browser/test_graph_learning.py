"""What GraphView explains and asks in a real browser: derivatives, reasons, NaN traced back, predict-then-reveal."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tutorlib as tl
from tutorlib.messages import table
from tutorlib.viz.graph_spec import graph_spec

pytestmark = pytest.mark.browser


def ids_of(spec: dict) -> dict[str, str]:
    return {node["label"]: node["id"] for node in spec["graph"]["nodes"]}


def log_of_zero() -> dict:
    x = tl.tensor([0.0, 1.0], requires_grad=True, name="x")
    W1 = tl.tensor([3.0, 4.0], requires_grad=True, name="W1")
    y = tl.log(x)
    loss = (y * W1).sum()
    loss.backward()
    return graph_spec(loss)


def product() -> dict:
    """q = x + y = 3, z = q · y = 6 at x = 1, y = 2; then ∂z/∂q = 2 and so on."""
    x = tl.tensor(1.0, requires_grad=True, name="x")
    y = tl.tensor(2.0, requires_grad=True, name="y")
    q = x + y
    z = q * y
    z.backward()
    return graph_spec(z)


def press(page: Page, *keys: str) -> None:
    page.locator('[role="tree"]').focus()
    for key in keys:
        page.keyboard.press(key)


def test_n_goes_to_the_origin_tells_it_and_marks_the_way(widgets):
    spec = log_of_zero()
    ids = ids_of(spec)
    page = widgets.graph(spec, step=99)
    press(page, "n")
    expect(page.locator(f'[data-node="{ids["y = log"]}"] [aria-selected="true"]')).to_have_count(1)
    panel = page.locator(".tl-panel-body")
    expect(panel).to_contain_text("Here it began")
    expect(panel).to_contain_text("-inf = log 0 at [0]")
    expect(page.locator(".tl-status")).to_contain_text("-inf = log 0 at [0]")
    expect(page.locator(".tl-canvas")).to_have_class("tl-canvas tl-tracing")
    for label, opacity in [("x", "1"), ("mul", "1"), ("loss = sum", "1"), ("W1", "0.22")]:
        expect(page.locator(f'[data-node="{ids[label]}"]')).to_have_css("opacity", opacity)
    press(page, "n")
    expect(panel).to_contain_text("On the way back")
    press(page, "n")
    expect(panel).to_contain_text("Where it comes from")
    panel.get_by_role("button", name="y · log").first.click()
    expect(panel.locator("h3")).to_have_text("y")
    press(page, "Escape")
    expect(page.locator(".tl-tracing")).to_have_count(0)


def test_the_panel_shows_the_local_derivative_as_mathematics_and_as_text(widgets):
    spec = log_of_zero()
    page = widgets.graph(spec, step=99)
    page.locator(f'[data-node="{ids_of(spec)["mul"]}"]').click()
    panel = page.locator(".tl-panel-body")
    expect(panel).to_contain_text("mul = y · W1")
    found = panel.locator(".tl-backward math")
    expect(found).to_have_count(2)
    assert found.first.get_attribute("alttext") == "∂loss/∂y = ∂loss/∂mul · W1"
    expect(found.first.locator("msub")).to_have_text("W1")
    assert found.first.locator("mfrac").count() == 2
    assert page.evaluate("() => document.querySelector('math').namespaceURI") == "http://www.w3.org/1998/Math/MathML"


def test_a_gradient_says_why_it_is_what_it_is_and_a_sum_shows_its_parts(widgets):
    u = tl.tensor([-1.0, -2.0], requires_grad=True, name="u")
    cost = (tl.relu(u) + tl.relu(u * 2.0)).sum()
    cost.backward()
    spec = graph_spec(cost)
    page = widgets.graph(spec, step=99)
    page.locator(f'[data-node="{ids_of(spec)["u"]}"]').click()
    panel = page.locator(".tl-panel-body")
    expect(panel).to_contain_text("Why is this gradient zero?")
    expect(panel).to_contain_text("2 of 2 inputs are at or below 0")
    expect(panel.locator(".tl-sum .tl-part")).to_have_count(3)
    way = panel.get_by_role("button", name="Show the way")
    way.click()
    expect(way).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".tl-tracing")).to_have_count(1)
    way.click()
    expect(page.locator(".tl-tracing")).to_have_count(0)


def test_a_large_value_has_a_heatmap_and_a_histogram_with_its_own_bars(widgets):
    array = np.arange(8000.0).reshape(80, 100)
    array[0, 0], array[1, :3] = np.nan, np.inf
    double = tl.tensor(array, requires_grad=True, name="big") * 2.0
    spec = graph_spec(double, wrt=[])
    page = widgets.graph(spec, step=1)
    page.locator(f'[data-node="{ids_of(spec)["double = mul"]}"]').click()
    panel = page.locator(".tl-panel-body")
    assert "64 × 64" in panel.get_by_role("img", name="Heatmap").get_attribute("aria-label")
    chart = panel.get_by_role("img", name="Histogram")
    assert "NaN 1, −inf 0, +inf 3" in chart.get_attribute("aria-label")
    expect(chart.locator("text.tl-warning")).to_have_text(["1", "NaN", "3", "+∞"])


def test_predicting_by_keyboard_hides_the_answer_hints_in_three_levels_and_keeps_what_was_guessed(widgets):
    spec = product()
    ids = ids_of(spec)
    page = widgets.graph(spec, predict=True, predictions=[])
    group = page.get_by_role("group", name="Predict, then reveal")
    press(page, ".")
    field = group.get_by_role("textbox", name="Your guess for q")
    expect(field).to_be_focused()
    q = page.locator(f'[data-node="{ids["q = add"]}"]')
    expect(q.locator(".tl-value")).to_have_text("?")
    expect(page.locator(".tl-strip")).to_have_text("forwardq = ?")
    assert q.get_by_role("treeitem").get_attribute("aria-label") == "q = add, operation, (), value ?"
    verdict = group.get_by_role("status")
    hints = ["Its shape is (). The rule: z = x + y", "Here that is q = x + y", "With the numbers: 1 + 2"]
    for hint in hints:
        field.fill("7")
        page.keyboard.press("Enter")
        expect(verdict).to_have_text(f"Not yet. {hint}")
    field.fill("seven")
    page.keyboard.press("Enter")
    expect(verdict).to_contain_text("That is no number.")
    field.fill("৬/২")
    page.keyboard.press("Enter")
    expect(verdict).to_have_text("Right: 3.")
    expect(q.locator(".tl-value")).to_have_text("3")
    expect(page.locator(".tl-strip")).to_contain_text("3 = 1 + 2")
    expect(q.get_by_role("treeitem")).to_have_attribute("aria-label", "q = add, operation, (), value 3")


def test_the_next_value_is_a_step_away_and_no_key_leads_past_it(widgets):
    spec = product()
    page = widgets.graph(spec, predict=True, predictions=[])
    press(page, "End")
    expect(page.get_by_role("slider", name="Step")).to_have_value("1")
    page.get_by_role("button", name="Reveal", exact=True).click()
    expect(page.locator(".tl-verdict")).to_have_text("It is 3.")
    press(page, "t")
    expect(page.locator(".tl-outline")).to_be_hidden()
    expect(page.locator(".tl-status")).to_contain_text("holds the answers")
    page.get_by_role("button", name="Next step").click()
    expect(page.get_by_role("textbox", name="Your guess for z")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator('[role="tree"]')).to_be_focused()
    press(page, "p")
    expect(page.locator(".tl-predict")).to_be_hidden()
    press(page, "End")
    expect(page.get_by_role("slider", name="Step")).to_have_value("6")
    page.wait_for_function("() => model.saved.at(-1)?.predictions?.length === 2")
    kept = page.evaluate("() => model.saved.at(-1).predictions")
    assert [(one["step"], one["outcome"]) for one in kept] == [(1, "revealed"), (2, "open")]


def test_hostile_names_stay_text_in_mathematics_reasons_and_questions(widgets):
    name = "<img src=x onerror=alert(1)>"
    x = tl.tensor(0.0, requires_grad=True, name=name)
    y = tl.log(x)
    y.name = "</math><script>alert(2)</script>"
    cost = y * 2.0
    cost.backward()
    spec = graph_spec(cost)
    page = widgets.graph(spec, step=99)
    press(page, "n")
    for drawn in page.locator("[data-node]").all():
        drawn.click()
        expect(page.locator(".tl-panel-body h3")).to_be_visible()
        assert page.locator(".tl-root :is(script, img)").count() == 0
    press(page, "p", "Home", "p", "p", ".", "s")
    assert page.locator(".tl-root :is(script, img)").count() == 0


def test_a_large_value_is_asked_for_its_shape_and_folded_scopes_do_not_get_in_the_way(widgets):
    x = tl.tensor(np.ones((4, 3)), name="x")
    h = x
    for i in range(3):
        with tl.scope(f"layer{i}"):
            h = tl.tanh(h @ tl.Parameter(np.ones((3, 3)), name=f"W{i}"))
    loss = h.mean()
    loss.backward()
    page = widgets.graph(graph_spec(loss), step=0, predict=True, predictions=[])
    press(page, "c", ".")
    field = page.get_by_role("textbox", name="Your guess for the shape of matmul")
    field.fill("(4, 3)")
    page.keyboard.press("Enter")
    expect(page.locator(".tl-verdict")).to_have_text("Right: (4, 3).")
    press(page, "c", "ArrowDown", "e", "ArrowDown", ".")
    expect(page.get_by_role("textbox", name="Your guess for the shape of h")).to_be_visible()


def test_no_hint_tells_the_answer_even_where_a_formula_is_the_answer(widgets):
    """∂z/∂z = 1 is formula and answer in one; ∂z/∂x = ∂z/∂q has the answer for its numbers."""
    page = widgets.graph(product(), step=2, predict=True, predictions=[])
    press(page, ".")
    verdict = page.locator(".tl-verdict")
    for _ in range(3):
        page.get_by_role("button", name="Hint").click()
        expect(verdict).to_contain_text(re.compile("exactly as much as itself|Read these"))
        expect(verdict).not_to_contain_text("= 1")
    page.get_by_role("textbox").fill("1")
    page.keyboard.press("Enter")
    expect(verdict).to_have_text("Right: 1.")


def test_bengali_labels_with_english_where_a_text_is_missing_and_numbers_as_they_are(widgets, monkeypatch):
    monkeypatch.setenv("TUTORLIB_LANG", "bn")
    messages = {**table("widgets"), "widgets.ui_zoom_in": table("widgets", "en")["widgets.ui_zoom_in"]}
    page = widgets.graph(product(), step=1, lang="bn", messages=messages)
    expect(page.locator(".tl-root")).to_have_attribute("lang", "bn")
    expect(page.locator(".tl-phase")).to_have_text("সম্মুখমুখী")
    expect(page.locator(".tl-strip")).to_contain_text("3 = 1 + 2")
    expect(page.locator(".tl-status")).to_contain_text("ধাপ 1, মোট 6")
    page.get_by_role("button", name="Zoom in").wait_for()
    press(page, "p", ".")
    expect(page.get_by_role("textbox", name="z-এর মান আপনার অনুমানে")).to_be_focused()
