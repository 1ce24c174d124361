"""The browser of these tests and the widgets opened in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.harness import Widgets

# A browser on a learner's machine may phone home; one in a test must not.
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    """One headless Chromium for all tests of a worker."""
    from playwright.sync_api import expect, sync_playwright

    # Far longer than any wait takes: on a busy machine a slow page is no failure.
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path, args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.fixture
def widgets(browser: Browser) -> Iterator[Widgets]:
    """Opens widgets on pages of their own; the test fails if one of them threw an error."""
    from tests.browser.harness import Widgets

    opened = Widgets(browser)
    yield opened
    for page in opened.pages:
        page.close()
    assert opened.errors == []
