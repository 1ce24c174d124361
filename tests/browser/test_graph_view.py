"""GraphView in a real browser: what it shows, how it steps, its keys, and that names are only ever text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

import tutorlib as tl
from tests.browser.harness import fixture
from tests.browser.sample_specs import wide_graph
from tutorlib.messages import table
from tutorlib.viz.graph_spec import graph_spec

pytestmark = pytest.mark.browser


def node(page: Page, name: str):
    return page.locator(f'[data-node="{name}"]')


def item(page: Page, name: str):
    return node(page, name).get_by_role("treeitem")


def focus_graph(page: Page) -> None:
    page.locator('[role="tree"]').focus()


def test_every_node_is_a_tree_item_with_its_place_and_its_words(widgets):
    page = widgets.graph("tiny")
    items = page.locator('[role="tree"] [role="treeitem"]')
    expect(items).to_have_count(8)
    first = item(page, "n0")
    assert first.get_attribute("aria-label").startswith("x, input, shape ()")
    assert first.get_attribute("aria-level") == "6"
    assert (first.get_attribute("aria-posinset"), first.get_attribute("aria-setsize")) == ("1", "2")


def test_a_gradient_before_backward_is_called_not_computed_never_zero(widgets):
    x = tl.tensor(2.0, requires_grad=True, name="x")
    spec = graph_spec(x * x)
    waiting = [n["id"] for n in spec["graph"]["nodes"] if n.get("note")]
    assert waiting
    page = widgets.graph(spec)
    for name in waiting:
        expect(node(page, name).locator(".tl-value")).to_have_text(table("widgets")["widgets.not_computed"])
    node(page, waiting[0]).click()
    expect(page.locator(".tl-panel")).to_contain_text(table("widgets")["widgets.not_computed"])


def test_the_whole_graph_is_in_the_window_at_first(widgets):
    page = widgets.graph("tiny", step=8)
    window = page.locator(".tl-canvas").bounding_box()
    page.wait_for_function("() => document.querySelector('.tl-svg').style.transform")
    for i in range(8):
        box = node(page, f"n{i}").bounding_box()
        assert window["x"] <= box["x"] and box["x"] + box["width"] <= window["x"] + window["width"]
        assert window["y"] <= box["y"] and box["y"] + box["height"] <= window["y"] + window["height"]


def test_a_step_shows_its_formula_its_numbers_and_its_value(widgets):
    page = widgets.graph("tiny", step=2)
    focus_graph(page)
    expect(node(page, "n2")).to_have_class(re.compile("tl-future"))
    page.keyboard.press(".")
    expect(node(page, "n2")).to_have_class(re.compile("tl-current"))
    expect(node(page, "n2").locator(".tl-value")).to_have_text("3")
    strip = page.locator(".tl-strip")
    expect(strip).to_contain_text("3 = 1 + 2")
    expect(page.get_by_role("status").last).to_contain_text("step 3 of 8, forward")
    page.keyboard.press(",")
    expect(node(page, "n2").locator(".tl-value")).to_have_count(0)


def test_a_gradient_that_adds_up_shows_its_parts_and_their_sum(widgets):
    page = widgets.graph("tiny", step=8)
    expect(page.locator(".tl-sum .tl-part")).to_have_text(["3", "2", "5"])


def test_slider_buttons_and_keys_move_the_same_step(widgets):
    page = widgets.graph("tiny")
    slider = page.get_by_role("slider", name="Step")
    slider.fill("5")
    assert slider.get_attribute("aria-valuetext").startswith("step 5 of 8, backward")
    page.get_by_role("button", name="Step forward").click()
    expect(slider).to_have_value("6")
    focus_graph(page)
    page.keyboard.press("End")
    expect(slider).to_have_value("8")
    page.keyboard.press("Home")
    expect(slider).to_have_value("0")


def test_phase_keys_jump_to_the_first_event_of_a_phase(widgets):
    page = widgets.graph("tiny")
    focus_graph(page)
    page.keyboard.press("b")
    expect(page.locator(".tl-phase")).to_have_text("backward")
    expect(page.get_by_role("slider", name="Step")).to_have_value("5")
    page.keyboard.press("u")
    expect(page.get_by_role("status").last).to_contain_text("no update phase")


def test_play_runs_to_the_end_and_stops(widgets):
    page = widgets.graph("tiny", step=5)
    for _ in range(2):
        page.locator(".tl-speed").click()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("slider", name="Step")).to_have_value("8")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_python_hears_of_the_last_step_once_it_is_quiet(widgets):
    page = widgets.graph("tiny")
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    focus_graph(page)
    for _ in range(4):
        page.keyboard.press(".")
    assert page.evaluate("() => model.saved.length") == 0
    page.clock.run_for(100)
    assert page.evaluate("() => model.saved.map((saved) => saved.step)") == [4]


def test_python_can_move_the_step_and_the_selection(widgets):
    page = widgets.graph("tiny")
    page.evaluate("() => { model.set('step', 2); model.set('selected', 'n3'); }")
    expect(page.get_by_role("slider", name="Step")).to_have_value("2")
    expect(item(page, "n3")).to_have_attribute("aria-selected", "true")


def test_a_click_opens_the_details_with_value_formula_and_source(widgets):
    page = widgets.graph("tiny", step=8)
    node(page, "n3").click()
    details = page.locator(".tl-panel-body")
    expect(details.locator("h3")).to_have_text("z")
    for text in ("6", "z = x · y", "∂L/∂x = ∂L/∂z · y", "cell, line 4", "float64", "cpu"):
        expect(details).to_contain_text(text)
    expect(details.locator(".tl-here")).to_have_text("z = q * y")


def test_a_gradient_that_has_not_been_reached_is_not_a_number(widgets):
    page = widgets.graph("tiny", step=2)
    node(page, "n0").click()
    details = page.locator(".tl-panel-body")
    expect(details).to_contain_text("Not computed at this step.")
    page.locator('[role="tree"]').focus()
    page.keyboard.press("End")
    expect(details).not_to_contain_text("Not computed at this step.")


def test_links_in_the_details_lead_to_producers_and_consumers(widgets):
    page = widgets.graph("tiny", step=8)
    node(page, "n3").click()
    page.locator(".tl-link", has_text="q").first.click()
    expect(item(page, "n2")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".tl-panel-body h3")).to_have_text("q")


def test_arrows_walk_and_enter_opens(widgets):
    page = widgets.graph("tiny")
    node(page, "n0").click()
    focus_graph(page)
    page.keyboard.press("ArrowDown")
    expect(item(page, "n2")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    expect(item(page, "n1")).to_have_attribute("aria-selected", "true")
    active = page.locator('[role="tree"]').get_attribute("aria-activedescendant")
    assert active == item(page, "n1").get_attribute("id")
    page.keyboard.press("Enter")
    expect(page.locator(".tl-panel-body h3")).to_have_text("y")


def test_search_marks_the_hits_and_escape_ends_it(widgets):
    page = widgets.graph("tiny")
    focus_graph(page)
    page.keyboard.press("/")
    field = page.get_by_role("searchbox")
    expect(field).to_be_focused()
    field.press_sequentially("mul")
    expect(page.locator(".tl-found")).to_have_count(1)
    expect(item(page, "n3")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("search")).to_contain_text("1 of 1")
    field.press("Escape")
    expect(page.locator(".tl-found")).to_have_count(0)
    expect(page.locator('[role="tree"]')).to_be_focused()


def test_the_outline_takes_the_place_of_the_picture(widgets):
    page = widgets.graph("tiny")
    focus_graph(page)
    page.keyboard.press("t")
    expect(page.locator(".tl-outline")).to_contain_text("mul")
    expect(page.locator('[role="tree"]')).to_be_hidden()
    page.keyboard.press("t")
    expect(page.locator('[role="tree"]')).to_be_visible()


def test_help_lists_the_keys(widgets):
    page = widgets.graph("tiny")
    focus_graph(page)
    page.keyboard.press("?")
    expect(page.locator(".tl-keys kbd", has_text="Space")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".tl-panel")).to_be_hidden()


def test_no_key_that_means_something_here_reaches_the_notebook(widgets):
    page = widgets.graph("tiny")
    assert page.locator(".tl-root").get_attribute("data-lm-suppress-shortcuts") == "true"
    focus_graph(page)
    for key in ["ArrowDown", "b", "a", "d", "m", ".", "Enter", "x", "z"]:
        page.keyboard.press(key)
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => window.notebookKeys") == []


@pytest.mark.parametrize("light", [True, False])
def test_hostile_names_are_text(widgets, light):
    page = widgets.graph("hostile", light=light, step=2)
    for drawn in page.locator("[data-node]").all():
        drawn.click()
        expect(page.locator(".tl-panel-body h3")).to_be_visible()
    assert page.locator(".tl-root script, .tl-root img, .tl-root b script").count() == 0
    expect(page.locator(".tl-strip")).to_contain_text("</script><script>")


def test_nan_is_marked_and_the_key_n_goes_there(widgets):
    page = widgets.graph("hostile", step=2)
    focus_graph(page)
    page.keyboard.press("n")
    expect(page.locator('.tl-bad [aria-selected="true"]')).to_have_count(1)
    expect(page.locator(".tl-panel-body")).to_contain_text("Holds NaN or inf.")


def test_dragging_pans_and_ctrl_wheel_zooms_around_the_pointer(widgets):
    page = widgets.graph("tiny")
    before = node(page, "n2").bounding_box()
    x, y = before["x"] + before["width"] / 2, before["y"] + before["height"] / 2
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function(
        "(w) => document.querySelector('[data-node=n2]').getBoundingClientRect().width > w", arg=before["width"] * 1.2
    )
    zoomed = node(page, "n2").bounding_box()
    assert abs(zoomed["x"] + zoomed["width"] / 2 - x) < 3 and abs(zoomed["y"] + zoomed["height"] / 2 - y) < 3
    window = page.locator(".tl-canvas").bounding_box()
    page.mouse.move(window["x"] + 8, window["y"] + 8)
    page.mouse.down()
    page.mouse.move(window["x"] + 68, window["y"] + 38, steps=4)
    page.mouse.up()
    page.wait_for_function(
        "(x) => document.querySelector('[data-node=n2]').getBoundingClientRect().x > x + 40", arg=zoomed["x"]
    )
    assert item(page, "n2").get_attribute("aria-selected") == "false"


def test_a_plain_wheel_scrolls_the_page_not_the_graph(widgets):
    page = widgets.graph("tiny", size=(1280, 320))
    page.wait_for_function("() => document.querySelector('.tl-svg').style.transform")
    before = page.locator(".tl-svg").get_attribute("style")
    window = page.locator(".tl-canvas").bounding_box()
    page.mouse.move(window["x"] + 100, window["y"] + 50)
    page.mouse.wheel(0, 200)
    page.wait_for_function("() => window.scrollY > 0")
    assert page.locator(".tl-svg").get_attribute("style") == before


def test_the_theme_follows_the_page_until_the_trait_says_otherwise(widgets):
    page = widgets.graph("tiny", light=False)
    root = page.locator(".tl-root")
    expect(root).to_have_attribute("data-tl-theme", "dark")
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'true'; }")
    expect(root).to_have_attribute("data-tl-theme", "light")
    page.evaluate("() => model.set('theme', 'dark')")
    expect(root).to_have_attribute("data-tl-theme", "dark")


def test_notes_about_the_graph_are_shown(widgets):
    page = widgets.graph(fixture("tiny") | {"notes": ["Only the first <b>steps</b> are kept."]})
    expect(page.locator(".tl-spec-note:not(.tl-deaf)")).to_have_text("Only the first <b>steps</b> are kept.")


def test_the_static_picture_is_hidden_while_the_view_lives(widgets):
    page = widgets.graph("tiny")
    expect(page.locator("#picture")).to_be_hidden()
    page.evaluate("() => window.unmount()")
    expect(page.locator("#picture")).to_be_visible()
    expect(page.locator(".tl-root")).to_have_count(0)


def test_with_less_motion_nothing_moves_by_itself(widgets):
    page = widgets.graph("tiny", step=1)
    page.emulate_media(reduced_motion="reduce")
    moving = "(element) => getComputedStyle(element).animationName !== 'none'"
    assert page.evaluate(f"() => [...document.querySelectorAll('.tl-root *')].filter({moving}).length") == 0


def test_a_step_in_a_large_graph_rebuilds_nothing(widgets):
    page = widgets.graph(wide_graph(1000), step=1)
    page.evaluate(
        """() => {
          window.added = 0;
          new MutationObserver((changes) => changes.forEach((change) => { window.added += change.addedNodes.length; }))
            .observe(document.querySelector('.tl-svg'), { childList: true, subtree: true });
        }"""
    )
    focus_graph(page)
    for _ in range(5):
        page.keyboard.press(".")
    expect(node(page, "n5")).to_have_class(re.compile("tl-current"))
    assert page.evaluate("() => window.added") <= 10


SEEN = """() => {
  const words = [];
  const root = document.querySelector('.tl-root');
  for (const element of [root, ...root.querySelectorAll('*')]) {
    if (element.tagName === 'STYLE') continue;
    for (const name of ['aria-label', 'title', 'placeholder', 'aria-valuetext', 'alt'])
      if (element.hasAttribute(name)) words.push(element.getAttribute(name));
    for (const child of element.childNodes) if (child.nodeType === 3) words.push(child.textContent);
  }
  return words;
}"""


def marked_messages() -> dict[str, str]:
    """Every message in brackets, so that what a widget says by itself stands out."""
    return {id: f"⟦{text}⟧" for id, text in table("widgets", "en").items()}


def strings(data) -> list[str]:
    """Every string anywhere in a spec."""
    if isinstance(data, dict):
        return [text for part in data.values() for text in strings(part)]
    if isinstance(data, list):
        return [text for part in data for text in strings(part)]
    return [data] if isinstance(data, str) else []


def foreign(page: Page, spec: dict, known: set[str]) -> list[str]:
    """Words on the screen that come neither from a message nor from the spec."""
    data = "\n".join(strings(spec))
    seen = [text.strip() for text in page.evaluate(SEEN)]
    words = [text for text in seen if re.search(r"[^\W\d_]{2,}", text) and text not in known]
    return [text for text in words if "⟦" not in text and text not in data]


@pytest.mark.parametrize("key", ["Enter", "?", "l", "/", "t", "s", "p"])
def test_every_word_on_the_screen_is_a_message_or_the_learners(widgets, key):
    page = widgets.graph("tiny", step=8, messages=marked_messages())
    node(page, "n3").click()
    focus_graph(page)
    page.keyboard.press(key)
    keys = {"Space", "Home", "End", "Enter", "Shift+Enter", "Esc"}
    derived = {"z · mul", "q · add", "out"}
    assert foreign(page, fixture("tiny"), keys | derived) == []
