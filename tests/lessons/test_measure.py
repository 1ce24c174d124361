"""A lesson over its time or its memory is told, with the cell to blame; so is a solution that does not pass."""

from pathlib import Path

import pytest

from tests.lessons.test_source import FRONT
from tutorlib.cli.main import main
from tutorlib.lessons.execute import CellFailed, Run, peak_bytes
from tutorlib.lessons.measure import answer_problems, budget_problems, measure_lesson
from tutorlib.lessons.paths import LessonFolders

BODY = """+++ {"key": "title"}

# A lesson

```{code-cell} ipython3
:key: little
numbers = [1.0]
```

```{code-cell} ipython3
:key: much
numbers = bytearray(100_000_000)
```

```{code-cell} ipython3
:key: ex1-check
:tags: [check, nbval-check-output]
print("L99.ex1: OK")
```
"""


def run_of(seconds=1.0, peak_bytes=10_000_000, said="L99.ex1: OK\n"):
    output = {"output_type": "stream", "name": "stdout", "text": [said]}
    check = {"id": "ex1-check", "cell_type": "code", "metadata": {"tags": ["check"]}, "outputs": [output]}
    return Run({"cells": [check]}, seconds, {"quick": 0.1, "slow": seconds - 0.2}, peak_bytes)


@pytest.fixture
def folders(tmp_path):
    """A checkout with one small lesson."""
    found = LessonFolders(tmp_path)
    (found.source / "L99_a_lesson").mkdir(parents=True)
    (found.source / "L99_a_lesson" / "lesson.md").write_text(FRONT + BODY, encoding="utf-8")
    return found


def test_a_lesson_within_its_budget_has_no_problem():
    assert list(budget_problems(run_of(seconds=60.0, peak_bytes=600_000_000))) == []


def test_too_much_time_names_the_slowest_cell():
    ((key, text),) = budget_problems(run_of(seconds=75.0))
    assert key == "slow" and "takes 75 s and may take 60" in text and "slow with 74.8 s" in text


def test_too_much_memory_is_told_and_an_unknown_one_is_not():
    ((_, text),) = budget_problems(run_of(peak_bytes=700_000_000))
    assert "takes 700 MB of memory and may take 600" in text
    assert list(budget_problems(run_of(peak_bytes=None))) == []


def test_a_solution_that_does_not_pass_its_check_is_told():
    assert list(answer_problems(run_of())) == []
    ((key, text),) = answer_problems(run_of(said="L99.ex1: not yet - hm.\n"))
    assert key == "ex1-check" and "not yet - hm." in text


def test_a_run_is_measured_in_the_kernel_and_leaves_no_trace(folders):
    run, problems = measure_lesson(*folders.sources(), folders)
    assert problems == []
    assert set(run.cells) == {"little", "much", "ex1-check"}
    assert all(0 <= seconds <= run.seconds for seconds in run.cells.values())
    assert run.peak_bytes > 100_000_000
    assert [cell["id"] for cell in run.notebook["cells"]] == ["title", "little", "much", "ex1-check"]


def test_check_runs_the_lesson_and_fails_over_its_budget(folders, monkeypatch, capsys):
    monkeypatch.chdir(folders.root)
    monkeypatch.setattr("tutorlib.lessons.measure.LESSON_BYTES", 50_000_000)
    assert main(["lessons", "build"]) == 0
    assert main(["lessons", "check", "--quick"]) == 0
    assert main(["lessons", "check"]) == 1
    printed = capsys.readouterr().out
    assert "L99: " in printed and "and may take 50\n" in printed
    assert printed.endswith("lessons checked: 1, problems: 1\n")


def test_a_cell_that_does_not_end_or_ends_the_kernel_is_named(folders, monkeypatch):
    monkeypatch.setattr("tutorlib.lessons.execute.CELL_SECONDS", 1)
    path = Path(*folders.sources())
    for code in ("while True: pass", "import os; os._exit(0)"):
        path.write_text((FRONT + BODY).replace("numbers = [1.0]", code), encoding="utf-8")
        with pytest.raises(CellFailed, match="L99, cell little"):
            measure_lesson(path, folders)


def test_this_process_knows_its_largest_memory():
    before = peak_bytes()
    held = bytearray(before + 100_000_000)
    assert peak_bytes() >= before + 50_000_000
    del held
