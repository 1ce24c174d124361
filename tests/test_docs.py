"""Every example on a page of the documentation prints what the page says."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = sorted(page.relative_to(DOCS) for page in DOCS.rglob("*.md") if ">>> " in page.read_text(encoding="utf-8"))


def test_there_are_pages_with_examples():
    assert Path("engine.md") in PAGES


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_examples_of_page_hold(page, capsys):
    failed, _ = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert failed == 0, capsys.readouterr().out
