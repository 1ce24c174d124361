"""What a person does in JupyterLab or in Notebook 7, as functions over a page: run all, find a cell, wait for quiet."""

from __future__ import annotations

import json

from playwright.sync_api import Locator, Page, expect

LONG = 120_000


class LabPage:
    """A notebook open in JupyterLab. `notebook` is its parsed file, by which cells are found by their keys."""

    def __init__(self, page: Page, notebook: dict) -> None:
        self.page = page
        self.keys = [cell["metadata"].get("key", cell.get("id", "")) for cell in notebook["cells"]]

    @classmethod
    def open(cls, page: Page, address: str, text: str) -> LabPage:
        """Open the notebook and wait until its kernel is idle."""
        page.goto(address, timeout=LONG)
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=LONG)
        lab = cls(page, json.loads(text))
        lab.wait_until_idle()
        return lab

    def cell(self, key: str) -> Locator:
        """The cell with a key, in the notebook whose tab is in front."""
        in_front = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook")
        return in_front.locator(".jp-Cell").nth(self.keys.index(key))

    def output(self, key: str) -> Locator:
        """The output below a code cell."""
        return self.cell(key).locator(".jp-OutputArea-output")

    def run_all(self) -> None:
        """Run > Run All Cells, and wait for the end."""
        self._menu("Run", "Run All Cells")
        self.wait_until_quiet()

    def shut_kernel_down(self) -> None:
        """Kernel > Shut Down Kernel."""
        self._menu("Kernel", "Shut Down Kernel")

    def run_cell(self, key: str) -> None:
        """Run one cell, without waiting for it."""
        self.cell(key).locator(".jp-InputPrompt").click()
        self.page.keyboard.press("Shift+Enter")

    def save(self) -> None:
        """File > Save Notebook, and wait until it is on disk."""
        self._menu("File", "Save Notebook")
        expect(self.page.locator(".jp-mod-dirty")).to_have_count(0, timeout=LONG)

    def wait_until_quiet(self) -> None:
        """Wait until no cell waits for the kernel."""
        self.page.wait_for_function(
            """() => {
              const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map((p) => p.textContent);
              return prompts.some((text) => /\\d/.test(text)) && !prompts.some((text) => text.includes('*'));
            }""",
            timeout=LONG,
        )
        self.wait_until_idle()

    def wait_until_idle(self) -> None:
        """Wait until the status bar says that the kernel is there and has nothing to do."""
        expect(self.page.locator(".jp-StatusBar-Left")).to_contain_text("| Idle", timeout=LONG)

    def hide_sidebar(self) -> None:
        """Give the notebook the whole width."""
        self.page.locator(".jp-SideBar.jp-mod-left .lm-TabBar-tab.lm-mod-current").click()

    def use_theme(self, theme: str) -> None:
        """Settings > Theme > `theme`."""
        self._menu("Settings", "Theme", theme)

    def to_top(self, key: str) -> None:
        """Scroll until a cell stands at the top of the notebook."""
        self.cell(key).evaluate("(cell) => cell.scrollIntoView({ block: 'start' })")

    def _menu(self, menu: str, *entries: str) -> None:
        self.page.locator(".lm-MenuBar-item", has_text=menu).first.click()
        for entry in entries:
            self.page.locator(".lm-Menu-itemLabel").get_by_text(entry, exact=True).click()


class NotebookPage(LabPage):
    """A notebook open in Notebook 7, which has the same cells and menus and another sign for the kernel."""

    def wait_until_idle(self) -> None:
        # Idle is also what the sign says before there is a kernel.
        expect(self.page.locator(".jp-KernelName")).to_contain_text("Python 3", timeout=LONG)
        sign = self.page.locator(".jp-Notebook-ExecutionIndicator")
        expect(sign).to_have_attribute("data-status", "idle", timeout=LONG)
