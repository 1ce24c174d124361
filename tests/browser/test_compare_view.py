"""CompareView in a real browser: the clock, the marks, mirrored selection and zoom, its keys, names as text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

import tutorlib as tl

pytestmark = pytest.mark.browser


def branching(x):
    total = x.sum()
    return tl.ifelse(total > 0, lambda: total * 2, lambda: total - 1)


def softplus_spec() -> dict:
    x = tl.vector("x")
    return tl.CompareView(tl.function([x], tl.log(1 + tl.exp(x)) * 1).log).spec


def tree(page: Page, side: str):
    return page.locator(f".tl-pane-{side} [role=tree]")


def op(page: Page, side: str, name: str):
    """The node in a pane with this op's name on its face."""
    words = re.compile(rf"(^|\W){name}$")
    return page.locator(f".tl-pane-{side} .tl-node").filter(has=page.locator(".tl-name", has_text=words))


def test_the_graph_is_there_before_the_values_and_the_trace_grows_line_by_line(widgets):
    page = widgets.compare(tl.CompareView.modes(branching, [1.0, 2.0]).spec, step=5)
    tree(page, "left").focus()
    page.keyboard.press("Home")
    expect(page.get_by_role("status").last).to_contain_text("Before the first line")
    branch = page.locator(".tl-pane-left .tl-scope-head", has_text="if false")
    expect(branch).to_have_class(re.compile("tl-absent"))
    for side in ("left", "right"):
        expect(op(page, side, "sum")).to_have_class(re.compile("tl-absent"))
    page.keyboard.press(".")
    expect(op(page, "left", "sum")).not_to_have_class(re.compile("tl-absent"))
    expect(op(page, "left", "sum").locator(".tl-value")).to_have_count(0)
    expect(op(page, "right", "sum").locator(".tl-value")).to_have_text("3")
    expect(op(page, "right", "mul")).to_have_class(re.compile("tl-absent"))
    page.keyboard.press(".")
    expect(op(page, "right", "mul")).not_to_have_class(re.compile("tl-absent"))
    expect(op(page, "left", "sub")).to_have_class(re.compile("tl-m-left"))
    expect(branch).not_to_have_class(re.compile("tl-absent"))
    expect(op(page, "right", "sub")).to_have_count(0)
    page.keyboard.press("End")
    expect(op(page, "left", "sub")).to_have_class(re.compile("tl-future|tl-m-left"))
    expect(op(page, "left", "ifelse").locator(".tl-value")).to_have_text("6")
    lanes = page.locator(".tl-clock .tl-lane")
    expect(lanes.nth(0)).to_contain_text("build graph")
    expect(lanes.nth(1)).to_contain_text("each line runs and records")


def test_selection_keys_and_words_are_mirrored(widgets):
    page = widgets.compare(tl.CompareView.modes(branching, [1.0, 2.0]).spec, step=5)
    op(page, "left", "sum").locator(".tl-name").click()
    status = page.locator(".tl-status")
    expect(status).to_contain_text("matched with total = sum on the right")
    right = tree(page, "right")
    expect(right.locator("[role=treeitem][aria-selected=true]")).to_have_attribute(
        "aria-label", re.compile("^total = sum")
    )
    tree(page, "left").focus()
    page.keyboard.press("F6")
    expect(right).to_be_focused()
    assert right.get_attribute("aria-label").startswith("dynamic trace")
    page.keyboard.press("ArrowDown")
    expect(status).to_contain_text(re.compile("^(mul|gt), "))
    page.keyboard.press("m")
    expect(status).to_contain_text("without a match on the right")
    chosen = page.locator(".tl-pane-left .tl-node").filter(has=page.locator("[aria-selected=true]"))
    name = chosen.get_attribute("data-node")
    page.wait_for_function("(name) => model.saved.at(-1)?.selected === `left ${name}`", arg=name)
    page.evaluate("() => model.set('selected', 'right n0')")
    expect(right.locator("[role=treeitem][aria-selected=true]")).to_have_count(1)
    assert page.evaluate("() => window.notebookKeys") == []


def test_zooming_one_picture_zooms_the_other(widgets):
    page = widgets.compare(softplus_spec(), step=1)
    moves = "() => [...document.querySelectorAll('.tl-svg')].map((svg) => svg.style.transform)"
    page.wait_for_function(f"() => ({moves})().every(Boolean)")
    before = page.evaluate(moves)
    tree(page, "left").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_function(f"(before) => ({moves})().every((now, at) => now !== before[at])", arg=before)


def test_a_log_is_stepped_through_and_chosen_from_the_list(widgets):
    page = widgets.compare(softplus_spec())
    expect(page.locator(".tl-rewrite[aria-current]")).to_contain_text("the whole log")
    page.locator(".tl-rewrite", has_text="log_of_one_plus_exp").click()
    expect(page.locator(".tl-strip")).to_contain_text("log(1 + eˣ) = softplus(x)")
    expect(page.locator(".tl-strip")).to_contain_text("Neither overflows nor cancels digits.")
    expect(op(page, "left", "exp")).to_have_class(re.compile("tl-m-left"))
    expect(op(page, "left", "log")).to_have_class(re.compile("tl-m-changed"))
    op(page, "right", "softplus").locator(".tl-name").click()
    expect(page.locator(".tl-pane-left .tl-with")).to_have_count(3)
    tree(page, "right").focus()
    page.keyboard.press(",")
    expect(page.locator(".tl-strip")).to_contain_text("x · 1 = x")
    page.keyboard.press("t")
    expect(page.locator(".tl-outline")).to_contain_text("--- graph before")


def test_an_answer_beside_its_reference_names_what_was_forgotten(widgets):
    w, x, b = (tl.scalar(name) for name in "wxb")
    page = widgets.compare(tl.CompareView(w * x + w, w * x + b).spec, size=(800, 900))
    expect(page.locator(".tl-told li").first).to_contain_text("you forgot the edge b → add")
    left, right = (page.locator(f".tl-pane-{side}").bounding_box() for side in ("left", "right"))
    assert right["y"] >= left["y"] + left["height"]
    expect(page.get_by_role("button", name="Play")).to_have_count(0)


def test_hostile_names_are_shown_as_text_and_never_run(widgets):
    names = ["<img src=x onerror=alert(1)>", "\"a\" & 'b'", "two\nlines", "مرحبا \u202eabc", "long " * 2000]
    total = sum(tl.scalar(name) for name in names)
    page = widgets.compare(tl.CompareView(total, total * tl.scalar("</script><script>alert(2)</script>")).spec)
    expect(page.locator(".tl-pane-right [role=treeitem]")).to_have_count(13)
    expect(page.locator(".tl-root img, .tl-root script")).to_have_count(0)
    expect(page.locator(".tl-told")).to_contain_text("</script><script>alert(2)</script>")
    labels = page.locator("[role=treeitem]").evaluate_all("(items) => items.map((i) => i.getAttribute('aria-label'))")
    assert any("<img src=x" in text for text in labels)


def test_python_may_replace_what_is_shown(widgets):
    page = widgets.compare(softplus_spec(), step=2)
    x = tl.scalar("x")
    page.evaluate("(spec) => model.set('spec', spec)", tl.CompareView(x * 2, x + 2).spec)
    expect(page.locator(".tl-pane-left h3")).to_have_text("your graph")
    page.evaluate("() => unmount()")
    expect(page.locator(".tl-root")).to_have_count(0)


def test_a_rewrite_in_a_graph_too_large_to_read_is_brought_near_and_the_whole_log_shows_all(widgets):
    x = tl.vector("x")
    h = x
    for _ in range(14):
        h = tl.tanh(h * 2.5)
    page = widgets.compare(tl.CompareView(tl.function([x], tl.log(1 + tl.exp(h)).sum()).log).spec)
    near = """() => [...document.querySelectorAll(".tl-pane")].every((pane) => {
      const node = pane.querySelector(".tl-now"), window = pane.querySelector(".tl-canvas").getBoundingClientRect();
      const box = node?.getBoundingClientRect();
      return box && box.height > 30 && box.top >= window.top && box.bottom <= window.bottom;
    })"""
    page.locator(".tl-rewrite", has_text="log_of_one_plus_exp").click()
    page.wait_for_function(near)
    tree(page, "left").focus()
    page.keyboard.press("Home")
    page.wait_for_function("() => document.querySelector('.tl-pane-left .tl-node').getBoundingClientRect().height < 30")


def test_in_a_narrow_window_the_clock_stays_inside_the_view(widgets):
    page = widgets.compare(tl.CompareView.modes(branching, [1.0, 2.0]).spec, size=(400, 900))
    clock = page.locator(".tl-clock")
    expect(clock).to_be_visible()
    right = clock.bounding_box()["x"] + clock.bounding_box()["width"]
    for span in page.locator(".tl-span").all():
        box = span.bounding_box()
        assert box is None or box["x"] + box["width"] <= right
