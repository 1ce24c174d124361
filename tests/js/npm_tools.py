"""Gets the npm packages that tests need and learners do not: bundler, minifier, accessibility checker."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "tutorlib" / "viz" / "js"
COMMAND = ("install", "--no-package-lock", "--no-audit", "--no-fund")


def _fetched(folder: Path) -> bool:
    npm = shutil.which("npm")
    if npm is None:
        return False
    shutil.copy(SOURCES / "package.json", folder)
    try:
        done = subprocess.run([npm, *COMMAND], cwd=folder, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `node_modules` with what package.json names: installed or fetched, else the test is skipped."""
    installed = SOURCES / "node_modules"
    if all((installed / name).is_dir() for name in ("axe-core", "esbuild", "terser")):
        return installed
    folder = tmp_path_factory.mktemp("npm")
    if not _fetched(folder):
        pytest.skip("npm or its registry is not reachable: esbuild, terser and axe-core are missing")
    return folder / "node_modules"
