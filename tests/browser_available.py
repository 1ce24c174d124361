"""Finds a Chromium for the tests which drive a real browser.

Only the finding lives here; what the tests do with the browser is in `tests/browser/`.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NO_BROWSER = "NO BROWSER: the browser tests did not run. Install Chromium, or: python -m playwright install chromium"
INSTALLED_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def installed_chromium() -> str | None:
    """The path of a Chromium on PATH, or None."""
    return next(filter(None, map(shutil.which, INSTALLED_NAMES)), None)


def playwrights_chromium() -> str | None:
    """The path of the Chromium that Playwright keeps for itself, or None."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def get_chromium() -> None:
    """Ask Playwright for its Chromium; a machine without network simply stays without."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "playwright", "install", "chromium"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=240,
            check=False,
        )


def _found_or_fetched(attempted: Path) -> str | None:
    path = installed_chromium() or playwrights_chromium()
    if path is None:
        with contextlib.suppress(FileExistsError):
            attempted.touch(exist_ok=False)
            get_chromium()
        path = playwrights_chromium()
    return path


@pytest.fixture(scope="session")
def chromium_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a Chromium to drive, as a string: give it to Playwright as `executable_path`.

    An installed browser is taken first, then Playwright's own, which is fetched once a run when there is neither.
    Without any the test is skipped, and the run's last lines say so; under `CI` the test fails instead.
    """
    shared_by_workers = tmp_path_factory.getbasetemp().parent
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    path = _found_or_fetched(shared_by_workers / f"chromium-attempt-{run}")
    if path is not None:
        return path
    if os.environ.get("CI"):
        pytest.fail(NO_BROWSER, pytrace=False)
    pytest.skip(NO_BROWSER)


def pytest_terminal_summary(terminalreporter) -> None:
    """Say once, loudly, that the browser tests were skipped."""
    if any(NO_BROWSER in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(NO_BROWSER, red=True, bold=True)
