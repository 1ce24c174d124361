"""`tutorlib lessons check` finds each thing that a lesson must not have, and nothing in a lesson that is in order."""

import json
import shutil
from pathlib import Path

import pytest

from tutorlib.cli.main import main
from tutorlib.lessons.build import build_notebook, joined
from tutorlib.lessons.front import read_glossary
from tutorlib.lessons.lint import check_lesson, leak_problems, output_problems
from tutorlib.lessons.paths import LessonFolders, NoLessonsHere, find_folders
from tutorlib.lessons.source import read_lesson

HERE = LessonFolders(Path(__file__).parents[2])
NAME = "L04_shared_variables"


@pytest.fixture
def copy(tmp_path):
    """A small checkout with L04's source and its built notebook."""
    folders = LessonFolders(tmp_path)
    shutil.copytree(HERE.source / NAME, folders.source / NAME)
    shutil.copy(HERE.glossary, folders.glossary)
    folders.built().mkdir(parents=True)
    for notebook in HERE.built().glob("*.ipynb"):
        shutil.copy(notebook, folders.built())
    return folders


def source(folders):
    return folders.source / NAME / "lesson.md"


def problems(folders):
    return [str(problem) for problem in check_lesson(source(folders), folders)]


def change(folders, old, new):
    """Replace text in the source; the rules about the built notebook are then not what is looked at."""
    text = source(folders).read_text(encoding="utf-8")
    assert old in text
    source(folders).write_text(text.replace(old, new, 1), encoding="utf-8")


def edit_built(folders, edit):
    notebook = json.loads(folders.notebook(NAME).read_text(encoding="utf-8"))
    edit(notebook)
    folders.notebook(NAME).write_text(json.dumps(notebook), encoding="utf-8")


def cell(notebook, key):
    return next(cell for cell in notebook["cells"] if cell["id"] == key)


def test_the_committed_lessons_are_in_order():
    for path in HERE.sources():
        assert check_lesson(path, HERE) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("# Shared variables", "## Shared variables", "has level 2 after level 0"),
        ("### Not in step", "##### Not in step", "has level 5 after level 3"),
        ("id: L04", "id: L05", "should begin with L05_"),
        ("## What next", "![](picture.png)\n\n## What next", "has no alt text"),
        ("## What next", '<img src="picture.png">\n\n## What next', "has no alt text"),
        ("## What next", "[there](nowhere.ipynb)\n\n## What next", "links to nowhere.ipynb"),
        ("## What next", "[there](#Nowhere)\n\n## What next", "links to #Nowhere"),
        ("(L03_static_graphs.ipynb)", "(nowhere.ipynb)", "links to nowhere.ipynb"),
        ("## What next", "line\n" * 31 + "\n## What next", "has 41 lines"),
        ("import tutorlib as tl\n", f"import tutorlib as tl  # {'x' * 80}\n", "a line of 105 characters"),
        (":key: ex3\n:tags: [exercise]", ":key: ex3\n:tags: []", "not the tag exercise"),
        (":key: ex3\n", ":key: ex9\n", "there is no exercise L04.ex9"),
        (":key: ex3\n", ":key: ex9\n", "exercise L04.ex3 has no cell"),
        ("def swap_updates(a, b):", "def swapped(a, b):", "does not define swap_updates"),
        ('check("L04.ex3", swap_updates)', 'print("well done")', 'with check("L04.ex3", swap_updates)'),
        (":key: graph\n:tags: [widget, nbval-ignore-output]", ":key: graph\n:tags: [widget]", "nbval-ignore-output"),
        ("print(graph.describe())", "print(1)", "must be followed by a cell that prints its describe()"),
    ],
)
def test_a_broken_rule_of_the_source_is_named(copy, old, new, says):
    change(copy, old, new)
    assert any(says in problem for problem in problems(copy)), problems(copy)


def test_a_problem_in_the_source_names_its_line(copy):
    change(copy, "print(graph.describe())", "print(1)")
    lines = source(copy).read_text(encoding="utf-8").splitlines()
    expected = lines.index("graph = tl.GraphView(increment)")  # the cell's first line is the one above, counted from 1
    assert f"{NAME}/lesson.md:{expected}: " in problems(copy)[0]


def test_a_source_that_cannot_be_read_is_one_problem(copy):
    change(copy, ":key: setup\n", "")
    assert len(problems(copy)) == 1 and ":key:" in problems(copy)[0]


def test_a_notebook_older_than_its_source_is_stale(copy):
    change(copy, "Restart the kernel and", "Restart it and")
    assert problems(copy) == [f"{NAME}.ipynb: differs from its source; run: tutorlib lessons build L04"]


def test_a_notebook_that_is_missing_or_never_run_is_named(copy):
    edit_built(copy, lambda notebook: cell(notebook, "setup").update(execution_count=None))
    assert any("never run" in problem for problem in problems(copy))
    copy.notebook(NAME).unlink()
    assert any("not built yet" in problem for problem in problems(copy))


def test_a_solution_in_the_learners_copy_is_a_leak():
    lesson = read_lesson(HERE.source / NAME / "lesson.md")
    glossary = read_glossary(HERE.glossary)
    learner, solution = (build_notebook(lesson, role, glossary) for role in ("learner", "solution"))
    assert list(leak_problems(lesson, learner)) == []
    assert len(list(leak_problems(lesson, solution))) == 5


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ({"output_type": "error", "ename": "E", "evalue": "", "traceback": []}, "stored an error"),
        ({"output_type": "display_data", "data": {"text/html": ["<img src='x'>"]}, "metadata": {}}, "no alt text"),
        ({"output_type": "display_data", "data": {"image/png": "AAAA"}, "metadata": {}}, "no alt text"),
        ({"output_type": "display_data", "data": {"text/plain": "x" * 200_001}, "metadata": {}}, "stores 200 kB"),
        (
            {"output_type": "display_data", "data": {"application/vnd.jupyter.widget-view+json": {}}, "metadata": {}},
            "state of live widgets",
        ),
    ],
)
def test_an_output_that_must_not_be_stored_is_named(output, says):
    notebook = {"metadata": {}, "cells": [{"id": "a", "metadata": {}, "outputs": [output]}]}
    assert [says in problem for problem in output_problems(notebook)] == [True]


def test_a_picture_with_words_is_in_order():
    outputs = [
        {"output_type": "display_data", "data": {"text/html": '<img alt="a graph" src="x">'}, "metadata": {}},
        {"output_type": "display_data", "data": {"image/png": "AAAA"}, "metadata": {}},
    ]
    notebook = {"metadata": {}, "cells": [{"id": "a", "metadata": {"alt": "a line"}, "outputs": outputs}]}
    assert list(output_problems(notebook)) == []


def test_the_command_says_how_many_and_fails_when_there_are_problems(copy, monkeypatch, capsys):
    monkeypatch.chdir(copy.source)
    assert main(["lessons", "check", "--quick"]) == 0
    assert capsys.readouterr().out == "lessons checked: 1, problems: 0\n"
    change(copy, "Restart the kernel and", "Restart it and")
    assert main(["lessons", "check", "L04"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "lessons checked: 1, problems: 1"


def test_an_unknown_lesson_and_a_folder_without_lessons_are_told_in_one_line(
    copy, tmp_path_factory, monkeypatch, capsys
):
    monkeypatch.chdir(copy.root)
    assert main(["lessons", "check", "L77"]) == 1
    assert capsys.readouterr().err == f"no lesson L77; there are {NAME}\n"
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
    assert main(["lessons", "build"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_the_checkout_is_found_from_any_folder_in_it(copy):
    assert find_folders(copy.source / NAME).root == copy.root.resolve()
    with pytest.raises(NoLessonsHere):
        find_folders(Path(copy.root.anchor))


def test_the_learners_notebook_has_every_key_of_the_source_as_an_id():
    lesson = read_lesson(HERE.source / NAME / "lesson.md")
    notebook = json.loads(HERE.notebook(NAME).read_text(encoding="utf-8"))
    assert [cell["id"] for cell in notebook["cells"]] == [cell.key for cell in lesson.cells]
    assert joined(cell(notebook, "ex3")["source"]).endswith('raise NotImplementedError("your code here")')
