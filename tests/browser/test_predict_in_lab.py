"""Predict mode with a kernel behind it: JupyterLab, a guess typed on the page, the kernel's own verdict beneath it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.jupyter_server import jupyter_lab
from tests.browser.lab_page import LONG, LabPage

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

CELL = """import ipywidgets
import tutorlib as tl
from IPython.display import display

x = tl.scalar("x")
third = x / 3
view = tl.GraphView(third, inputs={x: 1.0}, predict=True)
said = ipywidgets.Label("nothing yet")
view.observe(lambda change: setattr(said, "value", repr(view.check_predictions())), "predictions")
display(view, said)"""


def test_the_kernel_judges_what_was_typed_and_the_view_saves_itself_as_a_page(
    browser, tmp_path_factory, tmp_path: Path
):
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)], metadata=kernel)
    with jupyter_lab(tmp_path_factory.mktemp("lab")) as server:
        text = nbformat.writes(notebook)
        (server.folder / "predict.ipynb").write_text(text, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 860}, accept_downloads=True)
        page.set_default_timeout(LONG)
        try:
            lab = LabPage.open(page, server.page_of("predict.ipynb"), text)
            lab.run_all()
            view = page.locator(".tl-root")
            expect(view).to_have_attribute("data-tl-ready", "true", timeout=LONG)
            view.get_by_role("tree").focus()
            page.keyboard.press(".")
            field = view.get_by_role("textbox", name="Your guess for third")
            expect(field).to_be_focused()
            for guess in ("0.5", "0.33"):
                field.fill(guess)
                page.keyboard.press("Enter")
            verdict = page.locator(".widget-label")
            expect(verdict).to_contain_text("guess='0.33', right=True, answer='0.3333', tries=2, hints=1")
            view.get_by_role("tree").focus()
            page.keyboard.press("s")
            with page.expect_download() as download:
                view.get_by_role("button", name="(HTML)").click()
            download.value.save_as(tmp_path / "page.html")
        finally:
            page.close()
    opened = browser.new_page()
    opened.goto((tmp_path / "page.html").as_uri())
    expect(opened.locator(".tl-root")).to_have_attribute("data-tl-ready", "true")
    expect(opened.locator(".tl-strip")).to_contain_text("0.3333 = 1 / 3")
    opened.close()
