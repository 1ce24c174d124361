"""A page with one widget and a stand-in for the notebook's model: the built front-end without a notebook around it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Route

from tutorlib.messages import table

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "tutorlib" / "viz" / "static"
FIXTURES = ROOT / "tests" / "viz" / "fixtures"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A widget</title></head>
<body data-jp-theme-light="{light}" style="margin: 12px; background: {page}"><main>
<div class="jp-OutputArea">
<div class="jp-OutputArea-child" id="picture"><figure data-tutorlib="graph-1">picture</figure></div>
<div class="jp-OutputArea-child" id="host"></div></div></main></body></html>"""
MODEL = """
window.notebookKeys = [];
document.addEventListener("keydown", (event) => window.notebookKeys.push(event.key));
window.models = [];
window.mount = async (file, traits, host = "host") => {
  const listeners = {};
  const tell = (name) => (listeners["change:" + name] ?? []).forEach((listener) => listener());
  const model = {
    saved: [],
    get: (name) => traits[name],
    set(name, value) { if (traits[name] === value) return; traits[name] = value; tell(name); },
    save_changes() { this.saved.push({ step: traits.step, frame: traits.frame, selected: traits.selected,
      predictions: traits.predictions, wanted: traits.wanted, view: traits.view }); },
    on: (event, listener) => (listeners[event] ??= []).push(listener),
    off: (event, listener) => { listeners[event] = listeners[event].filter((other) => other !== listener); },
  };
  window.models.push(model);
  window.model ??= model;
  const widget = (await import("/" + file)).default();
  window.unmount = widget.render({ model, el: document.getElementById(host) });
};
"""


def fixture(name: str) -> dict[str, Any]:
    """A spec that Python wrote and that the tests of the Python half check."""
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


def _given(spec: dict, traits: dict) -> dict[str, Any]:
    return {
        "spec": spec, "messages": table("widgets", "en"), "lang": "en", "theme": "auto", "height": 420,
        "key": "graph-1", "selected": "", "step": 0, "frame": 0, "live": False,
        "view": "flow", "link": "", "wanted": -1, "notice": "", **traits,
    }  # fmt: skip


class Widgets:
    """Opens widgets in a browser; every script error on their pages is kept in `errors`."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.errors: list[str] = []
        self.pages: list[Page] = []

    def open(self, file: str, spec: dict, *, light: bool = True, size: tuple[int, int] = (1280, 720), **traits) -> Page:
        """A page that shows `spec` in the widget built as `file`, ready to use."""
        page = self.browser.new_page(viewport={"width": size[0], "height": size[1]})
        self.pages.append(page)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}"))
        html = PAGE.format(light=str(light).lower(), page="#fff" if light else "#111")

        def answer(route: Route) -> None:
            name = route.request.url.rsplit("/", 1)[-1]
            if name.endswith(".js"):
                route.fulfill(body=(STATIC / name).read_text(encoding="utf-8"), content_type="text/javascript")
            else:
                route.fulfill(body=html, content_type="text/html")

        page.route("**/*", answer)
        page.goto("http://widget.test/")
        page.add_script_tag(content=MODEL)
        page.evaluate("([file, traits]) => mount(file, traits)", [file, _given(spec, traits)])
        page.wait_for_selector('.tl-root[data-tl-ready="true"]')
        return page

    def beside(self, page: Page, file: str, spec: dict, **traits) -> None:
        """Put another widget below those that are on the page; its model is the last of `window.models`."""
        host = page.evaluate(
            """() => { const host = document.createElement("div"); host.id = `host${models.length}`;
            document.querySelector("main").append(host); return host.id; }"""
        )
        page.evaluate("([file, traits, host]) => mount(file, traits, host)", [file, _given(spec, traits), host])
        page.wait_for_selector(f'#{host} .tl-root[data-tl-ready="true"]')

    def graph(self, spec: dict | str, **more) -> Page:
        """A GraphView of a spec or of the fixture of that name."""
        return self.open("graph_view.js", fixture(spec) if isinstance(spec, str) else spec, **more)

    def gradient(self, spec: dict, **more) -> Page:
        """A GradientView of a spec."""
        return self.open("gradient_view.js", spec, **more)

    def shared(self, spec: dict, **more) -> Page:
        """A SharedView of a spec."""
        return self.open("shared_view.js", spec, **more)

    def compare(self, spec: dict, **more) -> Page:
        """A CompareView of a spec."""
        return self.open("compare_view.js", spec, **more)
