"""SharedView in a real browser: rows, the scrubbed update, arithmetic, keys, live updating."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.sample_specs import counter_and_weights, two_runs

pytestmark = pytest.mark.browser


def option(page: Page, name: str):
    return page.get_by_role("option").filter(has_text=name)


def focus_list(page: Page) -> None:
    page.get_by_role("listbox").focus()


def scrubber(page: Page):
    return page.get_by_role("slider", name="Update")


def test_each_variable_is_an_option_with_its_shape_and_number(widgets):
    page = widgets.shared(counter_and_weights(), frame=4)
    expect(page.get_by_role("option")).to_have_count(3)
    expect(option(page, "state")).to_contain_text("float64 ()")
    assert option(page, "state").inner_text().split() == ["state", "float64", "()", "value", "4", "change", "25", "%"]
    expect(option(page, "state")).to_have_attribute("aria-selected", "true")


def test_the_scrubber_speaks_the_update(widgets):
    page = widgets.shared(counter_and_weights(), frame=4)
    assert scrubber(page).get_attribute("aria-valuetext") == "update 4 of 12, state norm 4, change 25 %"
    scrubber(page).fill("2")
    expect(page.get_by_role("status")).to_contain_text("update 2 of 12")


def test_the_update_is_shown_as_arithmetic(widgets):
    page = widgets.shared(counter_and_weights(), frame=4)
    sums = page.locator(".tl-sums")
    assert re.sub(r"\s+", "", sums.inner_text()) == "state3+1→4"
    focus_list(page)
    page.keyboard.press("d")
    assert re.sub(r"\s+", "", sums.inner_text()) == "state3→4"
    page.keyboard.press("ArrowDown")
    expect(page.locator(".tl-line-sum")).to_have_count(2)


def test_what_the_call_returned_stands_beside_what_is_stored(widgets):
    page = widgets.shared(counter_and_weights(), frame=4)
    expect(page.locator(".tl-returned .tl-big")).to_have_text("3")
    expect(page.locator(".tl-stored .tl-big")).to_have_text("4")


def test_a_matrix_is_a_heatmap_with_its_change_beside_it(widgets):
    page = widgets.shared(counter_and_weights(), frame=4, selected="s2")
    expect(page.get_by_role("img", name=re.compile("Heatmap, 6 × 10"))).to_have_count(2)
    focus_list(page)
    page.keyboard.press("d")
    expect(page.get_by_role("img", name=re.compile("Heatmap, 6 × 10"))).to_have_count(1)


def test_keys_move_by_one_by_ten_to_events_and_to_the_ends(widgets):
    page = widgets.shared(counter_and_weights(), frame=0)
    focus_list(page)
    for key, frame in [
        ("ArrowRight", 1), ("PageDown", 4), ("Shift+ArrowLeft", 0), ("End", 12),
        ("ArrowLeft", 11), ("PageDown", 12), ("Home", 0),
    ]:  # fmt: skip
        page.keyboard.press(key)
        expect(scrubber(page)).to_have_value(str(frame))


def test_arrows_choose_the_variable_and_python_hears_of_it(widgets):
    page = widgets.shared(counter_and_weights())
    focus_list(page)
    page.keyboard.press("ArrowDown")
    expect(option(page, "float64 (2,)")).to_have_attribute("aria-selected", "true")
    page.wait_for_function("() => model.saved.length > 0")
    assert page.evaluate("() => model.saved.at(-1).selected") == "s1"


def test_nan_has_a_tick_and_is_counted(widgets):
    page = widgets.shared(counter_and_weights(), frame=12, selected="s2")
    expect(page.locator(".tl-tick-nan")).to_have_count(1)
    expect(page.locator(".tl-pair dl .tl-warning").first).to_contain_text("1")


def test_new_updates_appear_and_the_end_stays_the_end(widgets):
    page = widgets.shared(counter_and_weights(3), frame=3)
    more, yet_more = counter_and_weights(5), counter_and_weights(6)
    page.evaluate("(spec) => model.set('spec', spec)", more)
    expect(scrubber(page)).to_have_value("5")
    focus_list(page)
    page.keyboard.press("ArrowLeft")
    page.evaluate("(spec) => model.set('spec', spec)", yet_more)
    expect(scrubber(page)).to_have_value("4")
    expect(scrubber(page)).to_have_attribute("max", "6")


def test_new_updates_do_not_take_the_focus_away(widgets):
    page = widgets.shared(counter_and_weights(3), frame=3)
    focus_list(page)
    page.evaluate("(spec) => model.set('spec', spec)", counter_and_weights(4))
    expect(page.get_by_role("listbox")).to_be_focused()


def test_before_the_first_update_it_says_so(widgets):
    page = widgets.shared({"version": 1, "variables": [], "frames": [], "values": {}, "text": "", "summary": ""})
    expect(page.locator(".tl-root")).to_contain_text("No updates yet.")


def test_no_key_that_means_something_here_reaches_the_notebook(widgets):
    page = widgets.shared(counter_and_weights())
    focus_list(page)
    for key in ["ArrowDown", "ArrowRight", "d", "l", "b", "Home"]:
        page.keyboard.press(key)
    assert page.evaluate("() => window.notebookKeys") == []


def test_a_long_run_of_updates_leaves_no_listeners_behind(widgets):
    page = widgets.shared(counter_and_weights(2), frame=2)
    often = "(spec) => { for (let i = 0; i < 30; i += 1) model.set('spec', structuredClone(spec)); }"
    page.evaluate(often, counter_and_weights(3))
    focus_list(page)
    page.keyboard.press("ArrowLeft")
    expect(scrubber(page)).to_have_value("2")
    assert page.locator(".tl-list").count() == 1


def test_the_learners_expression_is_shown_with_its_numbers(widgets):
    page = widgets.shared(two_runs(), frame=1)
    expect(page.locator(".tl-rule-text")).to_have_text("w ← w − 0.25 · ∂L/∂w")
    assert re.sub(r"\s+", "", page.locator(".tl-rules").inner_text()) == "w4−0.25·8→2"
    expect(page.locator(".tl-loss")).to_have_text("loss 5")
    focus_list(page)
    page.keyboard.press("d")
    expect(page.locator(".tl-rule-text")).to_have_count(0)


def test_the_contour_shows_the_way_up_to_the_scrubbed_update(widgets):
    page = widgets.shared(two_runs(), frame=2)
    contour = page.get_by_role("img", name=re.compile("^Contour of the loss over w and b"))
    expect(contour.locator(".tl-level")).to_have_count(2)
    expect(contour.locator(".tl-way-second")).to_have_count(1)
    done = contour.locator(".tl-way:not(.tl-way-all):not(.tl-way-second)")
    assert done.get_attribute("d").count("L") == 2
    focus_list(page)
    page.keyboard.press("End")
    # Six frames in one line, and the rewind on its own.
    assert done.get_attribute("d").count("L") == 5 and done.get_attribute("d").count("M") == 2
    box = contour.bounding_box()
    contour.click(position={"x": box["width"] * (58 + 380 * 5 / 6) / 450, "y": box["width"] * (8 + 270 / 4) / 450})
    expect(scrubber(page)).to_have_value("0")


def test_a_second_run_is_dashed_on_the_same_axis_of_updates(widgets):
    page = widgets.shared(two_runs(), frame=0)
    # In the two charts, of the variable and of the loss.
    expect(page.locator(".tl-chart .tl-second")).to_have_count(2)
    # Two lines of each variable in the list.
    expect(page.locator(".tl-spark .tl-second")).to_have_count(4)


def test_a_rewind_is_asked_for_at_the_shown_update_and_its_answer_is_spoken(widgets):
    page = widgets.shared(two_runs(), frame=2)
    page.get_by_role("button", name="Put the model back to this update").click()
    page.wait_for_function("() => model.saved.length && model.saved.at(-1).wanted === 2")
    page.evaluate("() => model.set('notice', 'The model is back at update 2.')")
    expect(page.get_by_role("status")).to_have_text("The model is back at update 2.")
    expect(page.locator(".tl-tick-rewind")).to_have_text("rewind to 1")


def test_where_no_rewind_is_possible_the_button_says_why(widgets):
    page = widgets.shared({**two_runs(), "rewind": {"can": False, "why": "not kept whole"}}, frame=2)
    button = page.get_by_role("button", name="Put the model back to this update")
    expect(button).to_be_disabled()
    expect(button).to_have_attribute("title", "not kept whole")
    focus_list(page)
    page.keyboard.press("b")
    expect(page.get_by_role("status")).to_have_text("not kept whole")
    assert page.evaluate("() => model.get('wanted')") == -1
