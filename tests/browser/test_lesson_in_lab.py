"""The lesson on shared variables as a learner meets it: JupyterLab, Run All, the live views, an exercise, reopening."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.jupyter_server import Server, jupyter_lab
from tests.browser.lab_page import LONG, LabPage

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
LESSON = next((ROOT / "notebooks" / "en").glob("L04_*.ipynb"))
IMAGES = ROOT / "docs" / "images"
SCREEN = {"width": 1280, "height": 860}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A JupyterLab over a folder with a copy of the lesson."""
    with jupyter_lab(tmp_path_factory.mktemp("lab")) as running:
        shutil.copy(LESSON, running.folder)
        yield running


@pytest.fixture(scope="module")
def lab(server: Server, browser) -> Iterator[LabPage]:
    """The lesson, run from the first cell to the last."""
    page = browser.new_page(viewport=SCREEN)
    page.set_default_timeout(LONG)
    opened = LabPage.open(page, server.page_of(LESSON.name), LESSON.read_text(encoding="utf-8"))
    opened.run_all()
    opened.hide_sidebar()
    yield opened
    page.close()


def live_view(lab: LabPage, key: str) -> Locator:
    """The ready widget below a cell, in view."""
    view = lab.cell(key).locator(".tl-root")
    expect(view).to_have_attribute("data-tl-ready", "true", timeout=LONG)
    view.scroll_into_view_if_needed()
    return view


def picture(page: Page, name: str, tmp_path: Path) -> None:
    """Keep a screenshot; with TUTORLIB_SAVE_IMAGES=1 it becomes the one in the documentation."""
    keep = os.environ.get("TUTORLIB_SAVE_IMAGES") == "1"
    folder = IMAGES if keep else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / name, animations="disabled")


def test_the_whole_lesson_runs_without_an_error(lab):
    errors = lab.page.locator(
        '[data-mime-type="application/vnd.jupyter.stderr"], [data-mime-type="application/vnd.jupyter.error"]'
    )
    assert errors.all_inner_texts() == []


def test_the_graph_of_increment_is_live_and_steps_by_key_and_by_button(lab):
    view = live_view(lab, "graph")
    expect(lab.cell("graph").locator("figure[data-tutorlib]")).to_be_hidden()
    view.get_by_role("tree").focus()
    lab.page.keyboard.press("Home")
    expect(view.locator(".tl-strip")).to_contain_text("Press . or Play")
    lab.page.keyboard.press(".")
    expect(view.locator(".tl-strip")).to_contain_text("shared_var + 1")
    expect(view.locator(".tl-current .tl-name")).to_have_text("add")
    view.get_by_role("button", name="Step forward").click()
    expect(view.locator(".tl-phase")).to_have_text("update")
    expect(view.locator(".tl-k-shared .tl-value")).to_have_text("[2, 3, 4]")


def test_a_click_on_a_node_names_the_learners_own_line(lab):
    view = live_view(lab, "graph")
    view.locator(".tl-k-op").first.click()
    expect(view.locator(".tl-panel-body .tl-here")).to_contain_text("shared_var + 1")


def test_letters_typed_in_a_view_change_no_cell(lab):
    cells = lab.page.locator(".jp-Notebook .jp-Cell")
    before = cells.count()
    live_view(lab, "graph").get_by_role("tree").focus()
    for key in ["ArrowDown", "b", "a", "x", "m", "ArrowUp"]:
        lab.page.keyboard.press(key)
    assert cells.count() == before
    assert lab.page.locator(".jp-CodeCell").count() == sum(kind == "code" for kind in _kinds())


def test_escape_gives_the_keyboard_back_to_the_notebook(lab):
    view = live_view(lab, "graph")
    view.get_by_role("tree").focus()
    for _ in range(3):
        lab.page.keyboard.press("Escape")
    assert lab.page.evaluate("() => document.activeElement.closest('.tl-root') === null")
    assert lab.page.evaluate("() => document.activeElement.closest('.jp-Notebook') !== null")


def test_each_press_of_the_button_adds_an_update_that_is_seen_at_once(lab):
    view = live_view(lab, "watch")
    slider = view.get_by_role("slider", name="Update")
    before = int(slider.get_attribute("max"))
    for presses in (1, 2):
        lab.cell("watch").get_by_role("button", name="increment()").click()
        expect(slider).to_have_attribute("max", str(before + presses))
        expect(slider).to_have_value(str(before + presses))
    expect(view.locator(".tl-by")).to_contain_text("· increment")
    returned, stored = view.locator(".tl-returned .tl-big"), view.locator(".tl-stored .tl-big")
    old, new = (json.loads(card.inner_text().replace(" ", "")) for card in (returned, stored))
    assert [b - a for a, b in zip(old, new, strict=True)] == [1, 1, 1]


def test_the_scrubber_goes_back_to_an_earlier_value(lab):
    view = live_view(lab, "training-path")
    slider = view.get_by_role("slider", name="Update")
    slider.fill("0")
    expect(view.get_by_role("status")).to_contain_text(re.compile("^update 0 of "))
    slider.focus()
    lab.page.keyboard.press("ArrowRight")
    expect(view.get_by_role("status")).to_contain_text(re.compile("^update 1 of "))
    expect(view.locator(".tl-rule-text")).to_have_text("w ← w − 0.1 · ∂L/∂w")
    expect(view.locator(".tl-rule-line")).to_have_count(2)
    expect(view.get_by_role("img", name=re.compile("^Contour of the loss"))).to_be_visible()


def test_an_exercise_not_yet_done_gets_a_friendly_line(lab):
    expect(lab.output("ex1-check").first).to_contain_text("not yet")


WRONG = """def make_accumulator(total):
    amount = tl.scalar("amount")
    return tl.function([amount], total + amount)"""
RIGHT = """def make_accumulator(total):
    amount = tl.scalar("amount")
    return tl.function([amount], total, updates=[(total, total + amount)])"""


def test_a_wrong_answer_gets_a_hint_and_a_right_one_is_told_so(lab):
    verdict = lab.output("ex1-check").first
    _answer(lab, "ex1", WRONG)
    expect(verdict).to_contain_text("L04.ex1: not yet")
    expect(verdict).not_to_contain_text("write your answer")
    _answer(lab, "ex1", RIGHT)
    expect(verdict).to_contain_text("L04.ex1: OK")


def _answer(lab: LabPage, key: str, code: str) -> None:
    """Type an answer into an exercise's cell, run it and its check."""
    editor = lab.cell(key).locator(".cm-content")
    editor.click()
    lab.page.keyboard.press("Control+A")
    lab.page.keyboard.insert_text(code)
    lab.page.keyboard.press("Shift+Enter")
    lab.cell(f"{key}-check").locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("Shift+Enter")
    lab.wait_until_quiet()


def _kinds() -> list[str]:
    return [cell["cell_type"] for cell in json.loads(LESSON.read_text(encoding="utf-8"))["cells"]]


def show_the_update(lab: LabPage, view: Locator) -> None:
    """The last step, with the details of the op before it, which a learner's line made."""
    view.get_by_role("tree").focus()
    lab.page.keyboard.press("End")
    view.locator(".tl-svg .tl-k-op").click()
    expect(view.locator(".tl-panel-body h3")).to_be_visible()
    view.get_by_role("button", name="Show the whole graph").click()
    lab.page.mouse.move(0, 0)


@pytest.mark.parametrize("theme, name", [("dark", "_dark"), ("light", "")])
def test_the_views_follow_the_theme_of_jupyterlab(lab, tmp_path, theme, name):
    lab.use_theme(f"JupyterLab {theme.title()}")
    for key, file in [("watch", "shared_view"), ("graph", "lesson_l04")]:
        view = live_view(lab, key)
        expect(view).to_have_attribute("data-tl-theme", theme)
        if key == "graph":
            show_the_update(lab, view)
            lab.to_top(key)
        else:
            view.evaluate("(element) => element.scrollIntoView({ block: 'end' })")
        picture(lab.page, f"{file}{name}.png", tmp_path)


def test_a_fresh_download_shows_its_pictures_before_anything_is_run(server, browser):
    shutil.copy(LESSON, server.folder / "fresh.ipynb")
    page = browser.new_page(viewport=SCREEN)
    page.set_default_timeout(LONG)
    try:
        fresh = LabPage.open(page, server.page_of("fresh.ipynb"), LESSON.read_text(encoding="utf-8"))
        expect(fresh.cell("graph").locator("figure img")).to_be_visible()
    finally:
        page.close()


def test_reopened_with_a_new_kernel_the_pictures_are_there(lab, server, browser, tmp_path):
    lab.save()
    saved = (server.folder / LESSON.name).read_text(encoding="utf-8")
    assert "widgets" not in json.loads(saved)["metadata"]
    server.shut_kernels_down()
    page = browser.new_page(viewport=SCREEN)
    page.set_default_timeout(LONG)
    try:
        again = LabPage.open(page, server.page_of(LESSON.name), saved)
        for key in ("graph", "watch", "training-path"):
            shown = again.cell(key).locator("figure[data-tutorlib] img")
            shown.scroll_into_view_if_needed()
            expect(shown).to_be_visible()
            assert shown.evaluate("(image) => image.naturalWidth") > 100
        page.screenshot(path=tmp_path / "reopened.png")
    finally:
        page.close()
