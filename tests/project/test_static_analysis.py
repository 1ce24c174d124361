"""The linter, the formatter's line length and the type checker have nothing to say."""

import subprocess
import sys

from tests.project.tree import ROOT


def run(*words: str) -> None:
    said = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert said.returncode == 0, said.stdout + said.stderr


def test_ruff_finds_nothing():
    run("ruff", "check", "--quiet", ".")


def test_mypy_finds_nothing():
    run("mypy")
