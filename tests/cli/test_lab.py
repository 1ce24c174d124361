"""`tutorlib lab` brings the lessons, says what it did, and starts JupyterLab on the right page."""

import json
import os
import sys

import pytest

from tutorlib.cli import lab, main


@pytest.fixture
def started(monkeypatch):
    """The commands that would have been started instead of JupyterLab itself."""
    commands = []
    monkeypatch.setattr(lab, "_become", lambda command: commands.append(command) or 0)
    monkeypatch.setattr(lab, "trust", lambda notebooks: None)
    return commands


@pytest.fixture
def lessons(tmp_path, monkeypatch):
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "L04_shared_variables.ipynb").write_text("lesson")
    monkeypatch.setattr(lab, "lessons_dir", lambda: folder)
    return folder


def run(folder, *words):
    return main.main(["lab", "--dir", str(folder), *words])


def test_jupyterlab_serves_the_learners_folder_on_the_lesson(lessons, started, tmp_path):
    assert run(tmp_path / "mine") == 0
    (command,) = started
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in command
    assert "--LabApp.default_url=/lab/tree/L04_shared_variables.ipynb" in command
    assert "--no-browser" not in command


def test_no_browser_is_passed_on(lessons, started, tmp_path):
    run(tmp_path / "mine", "--no-browser")
    assert "--no-browser" in started[0]


def test_the_start_page_comes_before_the_lesson(lessons, started, tmp_path):
    (lessons / "L00_start_here.ipynb").write_text("start")
    run(tmp_path / "mine")
    assert "--LabApp.default_url=/lab/tree/L00_start_here.ipynb" in started[0]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there is no root here")
@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_only_root_is_let_in_as_root(tmp_path, monkeypatch, user, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("--allow-root" in lab.jupyterlab_command(tmp_path)) is allowed


def test_first_start_says_where_the_lessons_are(lessons, started, tmp_path, capsys):
    run(tmp_path / "mine")
    assert capsys.readouterr().out.splitlines() == [
        f"Your lessons are in {tmp_path / 'mine'}",
        "New files copied there: 1",
    ]


def test_a_newer_lesson_beside_an_edited_one_gets_a_line(lessons, started, tmp_path, capsys):
    run(tmp_path / "mine")
    (tmp_path / "mine" / "L04_shared_variables.ipynb").write_text("my answers")
    (lessons / "L04_shared_variables.ipynb").write_text("second edition")
    capsys.readouterr()
    run(tmp_path / "mine")
    (line,) = capsys.readouterr().out.splitlines()[1:]
    assert "the new one is L04_shared_variables_new.ipynb" in line


def test_an_edited_lesson_is_opened_rather_than_the_newer_one(lessons, started, tmp_path):
    run(tmp_path / "mine")
    (tmp_path / "mine" / "L04_shared_variables.ipynb").write_text("my answers")
    (lessons / "L04_shared_variables.ipynb").write_text("second edition")
    run(tmp_path / "mine")
    assert "--LabApp.default_url=/lab/tree/L04_shared_variables.ipynb" in started[1]


def test_a_folder_that_cannot_be_made_is_one_line_with_a_way_out(lessons, started, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert run(tmp_path / "file") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert str(tmp_path / "file") in line and "--dir DIR" in line
    assert not started


def test_without_jupyterlab_the_lessons_are_copied_and_one_line_says_what_to_install(
    lessons, started, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    assert run(tmp_path / "mine") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert 'pip install "tutorlib[lab]"' in line
    assert (tmp_path / "mine" / "L04_shared_variables.ipynb").exists()
    assert not started


def test_a_package_without_lessons_is_one_line(started, tmp_path, capsys, monkeypatch):
    def none():
        raise FileNotFoundError("no lessons here")

    monkeypatch.setattr(lab, "lessons_dir", none)
    assert run(tmp_path / "mine") == 1
    assert capsys.readouterr().err == "no lessons here\n"


def test_a_name_with_spaces_and_bengali_letters_makes_a_valid_address(tmp_path):
    (tmp_path / "L04_শেয়ার্ড a.ipynb").write_text("")
    (url,) = (word for word in lab.jupyterlab_command(tmp_path) if "default_url" in word)
    assert url.isascii() and " " not in url


def test_copied_lessons_are_trusted(tmp_path, monkeypatch):
    from nbformat import v4
    from nbformat.sign import NotebookNotary

    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    notebook = v4.new_notebook(cells=[v4.new_code_cell("1", outputs=[v4.new_output("execute_result")])])
    path = tmp_path / "L04.ipynb"
    path.write_text(json.dumps(notebook))
    assert not NotebookNotary().check_signature(notebook)
    lab.trust([path])
    assert NotebookNotary().check_signature(notebook)
