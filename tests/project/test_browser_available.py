"""Without a browser the browser tests are skipped, loudly and once; in CI that is a failure."""

import os
import subprocess
import sys

import pytest

from tests.browser_available import NO_BROWSER
from tests.project.tree import ROOT

USES_A_BROWSER = """
def test_one(chromium_path): assert chromium_path
def test_two(chromium_path): assert chromium_path
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "test_it.py").write_text(USES_A_BROWSER)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(path, **more):
        """Run two browser tests where only `path` holds programs and Playwright can fetch nothing."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CI"))} | {
            "PATH": str(path),
            "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "browsers"),
            "PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:9",
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        command = [sys.executable, "-m", "pytest", "-p", "tests.browser_available", "-p", "xdist.plugin", "-n2"]
        return subprocess.run(
            command, cwd=tmp_path, env=environment | more, capture_output=True, text=True, timeout=120, check=False
        )

    return run


def test_an_installed_browser_is_used(run, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "chromium").write_text("#!/bin/sh\n")
    (programs / "chromium").chmod(0o755)
    said = run(programs)
    assert "2 passed" in said.stdout
    assert NO_BROWSER not in said.stdout


def test_without_one_the_tests_are_skipped_and_one_line_says_so(run, tmp_path):
    said = run(tmp_path / "empty")
    assert said.returncode == 0
    assert "2 skipped" in said.stdout
    assert said.stdout.splitlines().count(NO_BROWSER) == 1


def test_without_one_the_tests_fail_in_ci(run, tmp_path):
    said = run(tmp_path / "empty", CI="true")
    assert said.returncode == 1
    assert "2 errors" in said.stdout
    assert NO_BROWSER in said.stdout
