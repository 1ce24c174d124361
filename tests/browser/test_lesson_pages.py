"""A lesson's page and slides in a browser without a network, and the slides from the keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.produce import build_lesson

pytestmark = pytest.mark.browser
FOLDERS = LessonFolders(Path(__file__).parents[2])
PICTURES = "[...document.images].map((image) => [image.alt.length > 5, image.complete && image.naturalWidth > 0])"
LETTERS = "parseFloat(getComputedStyle(document.querySelector('section.shown .prose p')).fontSize)"


@pytest.fixture
def open_offline(browser, tmp_path):
    """Builds L04 as this kind of page and opens it without a network; a request or a script error fails the test."""
    contexts = []
    seen: list[str] = []

    def open_page(kind, **options):
        (source,) = FOLDERS.sources(["L04"])
        file = build_lesson(source, FOLDERS, kind=kind, out=tmp_path)
        contexts.append(browser.new_context(offline=True, viewport={"width": 1280, "height": 720}, **options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: seen.append(str(error)))
        page.on("request", lambda request: seen.append(request.url))
        page.goto(file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [what for what in seen if not what.startswith(("file:", "data:"))] == []


def test_slides_go_on_with_the_right_arrow_and_back_with_the_left(open_offline):
    page = open_offline("slides")
    shown = page.locator("section.shown")
    expect(page.get_by_role("heading", name="Shared variables", level=1)).to_be_in_viewport(ratio=1)
    expect(page.locator("#place")).to_have_text(re.compile(r"^1 of \d+$"))
    assert page.evaluate(LETTERS) >= 14
    page.keyboard.press("ArrowRight")
    expect(shown).to_contain_text("A reminder of static graphs")
    expect(page.get_by_role("heading", name="Shared variables", level=1)).to_be_hidden()
    expect(page).to_have_url(re.compile("#slide-2$"))
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#place")).to_have_text(re.compile("^1 of"))
    page.keyboard.press("End")
    expect(shown).to_contain_text("What next")
    expect(page.get_by_role("button", name="Next slide")).to_be_disabled()
    page.get_by_role("button", name="Previous slide").click()
    expect(shown).to_contain_text("Words of this lesson")


def test_pictures_on_slides_are_there_and_described(open_offline):
    page = open_offline("slides")
    found = page.evaluate(PICTURES)
    assert len(found) >= 3 and all(described and drawn for described, drawn in found)
    details = page.locator("section:has(details)").first
    page.evaluate("(id) => { location.hash = id; }", details.get_attribute("id"))
    expect(details).to_have_class(re.compile("shown"))
    details.get_by_text("In words", exact=True).click()
    expect(details.locator("details .output_area")).to_be_visible()


def test_slides_can_be_read_without_scripts(open_offline):
    page = open_offline("slides", java_script_enabled=False)
    expect(page.get_by_text("A reminder of static graphs")).to_be_visible()
    expect(page.get_by_role("heading", name="What next")).to_be_visible()


def test_the_page_shows_its_pictures_and_fits_a_phone(open_offline):
    page = open_offline("html")
    found = page.evaluate(PICTURES)
    assert len(found) >= 3 and all(described and drawn for described, drawn in found)
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
