"""Progress bars are where somebody sees them, and nowhere else."""

import io
import sys

from tutorlib.lessons.waiting import say, waited_for


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """A terminal in the place of stderr; to be put there inside the test, since pytest takes stderr before each."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    return screen


def test_on_a_terminal_a_bar_says_what_is_done_and_how_much(monkeypatch):
    screen = terminal(monkeypatch)
    for _ in waited_for("abc", 3, "grading"):
        assert "grading" in screen.getvalue() and "/3" in screen.getvalue()


def test_lines_stand_above_the_bar(monkeypatch, capsys):
    screen = terminal(monkeypatch)
    for letter in waited_for("ab", 2, "grading"):
        say(f"done {letter}")
    assert "grading" in screen.getvalue()
    assert capsys.readouterr().out.splitlines() == ["done a", "done b"]


def test_in_a_pipe_there_is_none(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert list(waited_for("abc", 3, "grading")) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")
