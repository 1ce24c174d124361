"""The built notebooks run: the learner's to its end with open exercises, the solution with every check saying OK.

The committed learner notebooks are also compared output by output; pytest collects them from `notebooks/en` itself.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tutorlib.lessons.build import build_notebook, joined
from tutorlib.lessons.execute import CellFailed, environment, execute_notebook
from tutorlib.lessons.front import read_glossary
from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.produce import build_lesson
from tutorlib.lessons.source import parse_lesson, read_lesson

FOLDERS = LessonFolders(Path(__file__).parents[2])
SOURCES = FOLDERS.sources()

each_lesson = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parent.name)


@pytest.fixture(scope="module", params=SOURCES, ids=lambda path: path.parent.name)
def solution(request, tmp_path_factory):
    """A solution notebook, built and run as the command does it."""
    return build_lesson(request.param, FOLDERS, kind="solution", out=tmp_path_factory.mktemp("solutions"))


def printed(notebook, tag):
    """What the cells with this tag printed or showed as text, by cell id."""
    texts = {}
    for cell in notebook["cells"]:
        if tag in cell["metadata"].get("tags", []):
            (output,) = cell["outputs"]
            texts[cell["id"]] = joined(output["text"] if "text" in output else output["data"]["text/plain"])
    return texts


def test_every_check_of_a_solution_says_ok(solution):
    lines = printed(json.loads(solution.read_text(encoding="utf-8")), "check")
    assert len(lines) >= 1
    assert {key: line.split(": ", 1)[1] for key, line in lines.items()} == dict.fromkeys(lines, "OK\n")


def test_the_outputs_of_a_solution_come_out_the_same_again(solution):
    root = FOLDERS.root
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        f"--rootdir={root}",
        f"-c{root / 'pyproject.toml'}",
    ]
    done = subprocess.run(
        [*command, str(solution)], cwd=root, env=environment(), capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@each_lesson
def test_the_learners_notebook_runs_to_its_end_and_comes_out_as_committed(source):
    lesson = read_lesson(source)
    fresh = execute_notebook(build_notebook(lesson, "learner", read_glossary(FOLDERS.glossary)))
    committed = json.loads(FOLDERS.notebook(lesson.name).read_text(encoding="utf-8"))
    assert printed(fresh, "nbval-check-output") == printed(committed, "nbval-check-output")
    assert all(": not yet - " in line and line.count("\n") == 1 for line in printed(fresh, "check").values())


def test_a_cell_that_raises_stops_the_build_and_is_named():
    (source,) = FOLDERS.sources(["L04"])
    text = source.read_text(encoding="utf-8").replace("import numpy as np\n", "import numpy as np\n1 / 0\n", 1)
    with pytest.raises(CellFailed, match=r"L04, cell setup: (.|\n)*ZeroDivisionError"):
        execute_notebook(build_notebook(parse_lesson(text, source), "learner", read_glossary(FOLDERS.glossary)))


def test_a_kernel_gets_this_package_and_a_quiet_environment(monkeypatch):
    monkeypatch.setenv("TUTORLIB_SEED", "5")
    settings = environment()
    assert settings["PYTHONPATH"].split(os.pathsep)[0] == str(FOLDERS.root)
    assert (settings["TUTORLIB_DISPLAY"], settings["TUTORLIB_PROGRESS"]) == ("static", "")
    assert "TUTORLIB_SEED" not in settings
