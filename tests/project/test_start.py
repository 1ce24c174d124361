"""`start.py` explains itself in one line when it cannot go on, and deletes nothing."""

import shutil
import subprocess
import sys

import pytest

from tests.project.tree import ROOT


@pytest.fixture
def start(tmp_path):
    for name in ("start.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)

    def run(*words):
        command = [sys.executable, str(tmp_path / "start.py"), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return run


@pytest.mark.parametrize("words", [(), ("nonsense",)])
def test_without_a_known_command_it_names_the_two(start, words):
    said = start(*words)
    assert said.returncode == 2
    assert len(said.stderr.splitlines()) == 1
    assert "start.py lab" in said.stderr and "start.py test" in said.stderr


def test_a_folder_that_is_no_environment_is_left_as_it_is(start, tmp_path):
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "mine.txt").write_text("mine")
    said = start("lab")
    assert said.returncode == 2
    assert "Remove it" in said.stderr
    assert [path.name for path in (tmp_path / ".venv").iterdir()] == ["mine.txt"]


def test_a_failing_installation_ends_with_its_status_and_one_line_of_advice(start, tmp_path):
    (tmp_path / "pyproject.toml").write_text("this is no TOML")
    said = start("lab")
    assert said.returncode != 0
    assert "run this again" in said.stderr.splitlines()[-1]
    assert not list((tmp_path / ".venv").glob("*.stamp"))
