"""Every example in a docstring prints what it says."""

import doctest
import importlib

import pytest

from tests.project.test_layering import MODULES

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Running a module as a program is what `__main__` is for; importing it would end the tests.
IMPORTABLE = [name for name in MODULES if not name.endswith("__main__")]


@pytest.mark.parametrize("name", IMPORTABLE)
def test_docstring_examples_of_module_hold(name, capsys):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert failed == 0, capsys.readouterr().out


def test_docstrings_have_examples():
    finder = doctest.DocTestFinder()
    counts = [len(test.examples) for name in IMPORTABLE for test in finder.find(importlib.import_module(name))]
    assert sum(counts) > 20
