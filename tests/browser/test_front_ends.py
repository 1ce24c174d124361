"""The views in JupyterLab and Notebook 7: live, while the kernel is busy, without one, reopened, exported, printed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.jupyter_server import Server, jupyter_lab
from tests.browser.lab_page import LONG, LabPage, NotebookPage

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

CELLS = {
    "setup": "import os, time\nimport tutorlib as tl\n%load_ext tutorlib",
    "graph": "%%graph\nx = tl.tensor(1.0, requires_grad=True, name='x')\ny = x * x\nz = y + x",
    "compare": "%%modes x=2.0\nh = x * x\nh + x",
    "predict": """import ipywidgets
from IPython.display import display

s = tl.scalar("s")
third = s / 3
guessed = tl.GraphView(third, inputs={s: 1.0}, predict=True)
said = ipywidgets.Label("nothing yet")
guessed.observe(lambda change: setattr(said, "value", repr(guessed.check_predictions())), "predictions")
display(guessed, said)""",
    "linked": """w, b = tl.Parameter([1.0, 2.0], name="w"), tl.Parameter([0.5, 0.5], name="b")
with tl.record([w, b]) as run:
    for _ in range(3):
        with tl.scope("layer"):
            h = tl.tanh(w * w + b)
        (loss := h.sum()).backward()
        with tl.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.zero_grad()
layers, plot = tl.GraphView(loss), tl.GradientView(run)
tl.link(layers, plot)
display(layers, plot)""",
    "busy": "while not os.path.exists('stop'):\n    time.sleep(0.02)",
}
FRONT_ENDS = {"lab": (LabPage, Server.page_of), "notebook": (NotebookPage, Server.notebook_page_of)}


def notebook() -> dict:
    """The notebook of these tests, as its file holds it."""
    cells = [
        {"cell_type": "code", "id": key, "metadata": {}, "execution_count": None, "outputs": [], "source": text}
        for key, text in CELLS.items()
    ]
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for both front-ends."""
    with jupyter_lab(tmp_path_factory.mktemp("front_ends")) as running:
        yield running


@pytest.fixture(scope="module", params=FRONT_ENDS)
def opened(server: Server, browser, request) -> Iterator[LabPage]:
    """A notebook in one front-end, run but for its last cell."""
    kind, address_of = FRONT_ENDS[request.param]
    file = server.folder / f"{request.param}.ipynb"
    file.write_text(json.dumps(notebook()), encoding="utf-8")
    (server.folder / "stop").write_text("", encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 860}, accept_downloads=True)
    page.set_default_timeout(LONG)
    shown = kind.open(page, address_of(server, file.name), file.read_text(encoding="utf-8"))
    shown.run_all()
    yield shown
    page.close()


# How many pictures stand below the cells.
PICTURES = 5


def live_view(opened: LabPage, key: str, number: int = 0) -> Locator:
    view = opened.cell(key).locator(".tl-root").nth(number)
    expect(view).to_have_attribute("data-tl-ready", "true", timeout=LONG)
    view.scroll_into_view_if_needed()
    return view


def enter(view: Locator) -> None:
    """Click the empty corner of a view's (first) graph, as a person does who wants to use its keys."""
    graph = view.get_by_role("tree").first
    graph.click(position={"x": 6, "y": 6})
    expect(graph).to_be_focused()


def test_the_views_are_live_and_step_by_keys_that_reach_no_cell(opened):
    view = live_view(opened, "graph")
    expect(opened.cell("graph").locator("figure[data-tutorlib]")).to_be_hidden()
    cells = opened.page.locator(".jp-Notebook .jp-Cell")
    expect(cells).to_have_count(len(CELLS))
    enter(view)
    for key in ("b", "a", "Home", "."):
        opened.page.keyboard.press(key)
    expect(view.locator(".tl-strip")).to_contain_text("y = x · x")
    both = live_view(opened, "compare")
    enter(both)
    opened.page.keyboard.press("Home")
    expect(both.get_by_role("slider")).to_have_value("0")
    opened.page.keyboard.press(".")
    expect(both.locator(".tl-strip")).to_contain_text("h = x * x")
    expect(both.locator(".tl-pane-right .tl-pane-head")).to_contain_text("records h = 4")
    expect(cells).to_have_count(len(CELLS))


def test_a_view_steps_while_the_kernel_is_busy(opened, server):
    (server.folder / "stop").unlink()
    prompt = opened.cell("busy").locator(".jp-InputPrompt")
    try:
        opened.run_cell("busy")
        expect(prompt).to_contain_text("*")
        view = live_view(opened, "graph")
        enter(view)
        opened.page.keyboard.press("Home")
        expect(view.locator(".tl-strip")).to_contain_text("Press . or Play")
        view.get_by_role("button", name="Step forward").click()
        expect(view.locator(".tl-strip")).to_contain_text("y = x · x")
        expect(prompt).to_contain_text("*")
    finally:
        (server.folder / "stop").write_text("", encoding="utf-8")
    opened.wait_until_quiet()


def test_the_kernel_judges_what_was_guessed_and_the_view_saves_itself_as_a_page(opened, browser, tmp_path):
    view = live_view(opened, "predict")
    view.get_by_role("tree").focus()
    opened.page.keyboard.press(".")
    field = view.get_by_role("textbox", name="Your guess for third")
    expect(field).to_be_focused()
    for guess in ("0.5", "0.33"):
        field.fill(guess)
        opened.page.keyboard.press("Enter")
    verdict = opened.cell("predict").locator(".widget-label")
    expect(verdict).to_contain_text("guess='0.33', right=True, answer='0.3333', tries=2, hints=1")
    view.get_by_role("tree").focus()
    opened.page.keyboard.press("s")
    with opened.page.expect_download() as download:
        view.get_by_role("button", name="(HTML)").click()
    download.value.save_as(tmp_path / "page.html")
    alone = browser.new_page()
    alone.goto((tmp_path / "page.html").as_uri())
    expect(alone.locator(".tl-root")).to_have_attribute("data-tl-ready", "true")
    expect(alone.locator(".tl-strip")).to_contain_text("0.3333 = 1 / 3")
    alone.close()


def test_scopes_fold_and_a_linked_view_follows_the_selection(opened):
    graph, plot = live_view(opened, "linked"), live_view(opened, "linked", 1)
    graph.scroll_into_view_if_needed()
    enter(graph)
    layer = graph.get_by_role("treeitem", name=re.compile("^scope, layer"))
    for key, is_open in (("c", "false"), ("e", "true")):
        opened.page.keyboard.press(key)
        expect(layer).to_have_attribute("aria-expanded", is_open)
    for name in ("b", "w"):
        graph.get_by_role("treeitem", name=re.compile(f"^{name}, shared variable")).dispatch_event("click")
        expect(plot.locator(".tl-picked .tl-layer-name")).to_contain_text(name)


def test_without_a_kernel_a_view_steps_and_says_that_python_does_not_hear(opened):
    view = live_view(opened, "graph")
    gone = view.locator(".tl-deaf")
    expect(gone).to_be_hidden()
    opened.save()
    opened.shut_kernel_down()
    expect(gone).to_be_visible()
    expect(gone).to_contain_text("Python hears nothing")
    enter(view)
    opened.page.keyboard.press("Home")
    opened.page.keyboard.press(".")
    expect(view.locator(".tl-strip")).to_contain_text("y = x · x")


def assert_pictures(place: Page | Locator, count: int = PICTURES) -> None:
    """The pictures are there, drawn, and none of them is empty."""
    pictures = place.locator("figure img")
    expect(pictures).to_have_count(count)
    for i in range(count):
        pictures.nth(i).scroll_into_view_if_needed()
        expect(pictures.nth(i)).to_be_visible()
        assert pictures.nth(i).evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 100


@pytest.fixture
def saved(server) -> dict:
    """The notebook as Notebook 7 has saved it, outputs included."""
    file = server.folder / "notebook.ipynb"
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if not any(cell.get("outputs") for cell in found.get("cells", ())):
        pytest.skip("the notebook has not been run: run the tests before this one, too")
    assert "widgets" not in found["metadata"]
    return found


def test_a_notebook_nobody_trusts_shows_its_pictures(server, browser, saved):
    # A changed cell has no signature of this machine, as in any notebook that somebody else has sent.
    saved["cells"][0]["source"] = "# from somebody else"
    file = server.folder / "foreign.ipynb"
    file.write_text(json.dumps(saved), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    try:
        page.goto(server.notebook_page_of(file.name), timeout=LONG)
        expect(page.get_by_text("Not Trusted")).to_be_visible()
        assert_pictures(page)
    finally:
        page.close()


def test_reopened_in_notebook_7_with_a_new_kernel_the_pictures_are_there(server, browser, saved):
    server.shut_kernels_down()
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    try:
        page.goto(server.notebook_page_of("notebook.ipynb"), timeout=LONG)
        assert_pictures(page)
    finally:
        page.close()


def test_exported_to_html_and_printed_the_pictures_are_there(browser, saved, tmp_path: Path):
    import nbformat
    from nbconvert import HTMLExporter

    with pytest.warns(UserWarning, match="widget-view"):  # the widget itself is left out: the picture stands for it
        html, _ = HTMLExporter().from_notebook_node(nbformat.reads(json.dumps(saved), as_version=4))
    file = tmp_path / "exported.html"
    file.write_text(html, encoding="utf-8")
    page = browser.new_page()
    try:
        # Nothing from outside: the page's own scripts would ask a network for fonts and mathematics.
        page.route("http*://**", lambda route: route.abort())
        page.goto(file.as_uri(), wait_until="domcontentloaded")
        assert_pictures(page)
        page.emulate_media(media="print")
        assert_pictures(page)
        printed = page.pdf()
        page.locator("figure").evaluate_all("(figures) => figures.forEach((figure) => figure.remove())")
        assert printed.startswith(b"%PDF") and len(printed) > len(page.pdf()) + 4_000
    finally:
        page.close()
