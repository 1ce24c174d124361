"""A saved page opened by a double click, and copies saved with the view's own buttons: in a real browser, from disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import tutorlib as tl

pytestmark = pytest.mark.browser


def product() -> tl.GraphView:
    x = tl.tensor(1.0, requires_grad=True, name="x")
    y = tl.tensor(2.0, requires_grad=True, name="y")
    q = x + y
    z = q * y
    z.backward()
    return tl.GraphView(z)


@pytest.fixture
def opened(browser: Browser):
    """Opens a file as a double click does; the test fails on a script error and on a request that leaves the disk."""
    pages, wrong = [], []

    def open_file(path: Path) -> Page:
        page = browser.new_page(viewport={"width": 1200, "height": 700}, accept_downloads=True)
        pages.append(page)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith(("file:", "blob:", "data:")) else wrong.append(r.url))
        page.goto(path.as_uri())
        page.wait_for_selector('.tl-root[data-tl-ready="true"]')
        return page

    yield open_file
    for page in pages:
        page.close()
    assert wrong == []


def step_once(page: Page) -> None:
    page.locator('[role="tree"]').focus()
    page.keyboard.press("Home")
    page.keyboard.press(".")
    expect(page.locator(".tl-strip")).to_contain_text("3 = 1 + 2")


def test_a_page_sent_to_somebody_opens_and_steps_from_disk_and_saves_copies_of_itself(opened, tmp_path):
    page = opened(product().save_html(tmp_path / "graph.html"))
    step_once(page)
    page.keyboard.press("s")
    saved = {}
    for kind in ("SVG", "PNG", "HTML"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"({kind})").click()
        saved[kind] = tmp_path / f"copy.{kind.lower()}"
        download.value.save_as(saved[kind])
    assert saved["PNG"].read_bytes().startswith(b"\x89PNG")
    svg = saved["SVG"].read_text(encoding="utf-8")
    assert "<style" not in svg and "class=" not in svg and ">q = add</" in svg
    step_once(opened(saved["HTML"]))


def test_python_writes_a_png_with_the_browser_that_is_there(tmp_path, chromium_path, monkeypatch):
    monkeypatch.setattr("tutorlib.viz.raster.find_browser", lambda: chromium_path)
    view = product()
    data = view.save_png(tmp_path / "graph.png", scale=1).read_bytes()
    assert data.startswith(b"\x89PNG")
    width = int.from_bytes(data[16:20], "big")
    assert abs(width - float(view.svg().split('width="')[1].split('"')[0])) <= 1.5
