"""A child process is a copy: what it changes stays in it, and whatever it does the parent goes on."""

import os

import pytest

from tutorlib.lessons import run_in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot copy a process")


def test_the_child_changes_only_its_copy():
    numbers = [1, 2, 3]

    def add():
        numbers.append(4)
        return numbers

    assert run_in_child(add) == [1, 2, 3, 4]
    assert numbers == [1, 2, 3]


def test_a_large_answer_comes_through():
    assert len(run_in_child(lambda: "x" * 1_000_000)) == 1_000_000


def test_an_error_in_the_child_is_told(capsys):
    assert run_in_child(lambda: 1 / 0) is None
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_a_child_that_dies_is_told(capsys):
    assert run_in_child(lambda: os._exit(1)) is None
    assert "ended without an answer" in capsys.readouterr().out


def test_without_fork_one_line_says_so(monkeypatch, capsys):
    monkeypatch.delattr(os, "fork")
    assert run_in_child(lambda: 1) is None
    assert "cannot copy a running process" in capsys.readouterr().out
