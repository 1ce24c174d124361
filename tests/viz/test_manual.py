"""The manual of the widgets: its examples run and say what it says they say."""

from __future__ import annotations

import doctest
from pathlib import Path

MANUAL = Path(__file__).parents[2] / "docs" / "widgets.md"


def test_the_examples_of_the_manual_run():
    outcome = doctest.testfile(str(MANUAL), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 20
    assert outcome.failed == 0
