"""A whole class is graded on merit, whatever its members wrote; what the teacher gets says so."""

import contextlib
import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lessons.class_of_learners import ALL, CLASS, hand_in
from tutorlib.cli.main import main
from tutorlib.lessons.execute import environment
from tutorlib.lessons.grading import process
from tutorlib.lessons.paths import LessonFolders

FOLDERS = LessonFolders(Path(__file__).parents[2])
SECONDS = "6"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="hostile answers need a system with limits")]


def grade(folder, *options):
    with contextlib.chdir(FOLDERS.root):
        return main(["grade", str(folder), "--cell-timeout", SECONDS, *options])


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The folder with the results of the whole class."""
    submissions = tmp_path_factory.mktemp("class") / "L04"
    hand_in(submissions, CLASS, FOLDERS)
    (submissions / "broken.ipynb").write_text("{", encoding="utf-8")
    assert grade(submissions, "--similar") == 0
    return submissions.with_name("L04-grades")


@pytest.fixture(scope="module")
def results(graded):
    rows = json.loads((graded / "grades.json").read_text(encoding="utf-8"))["grades"]
    return {row["submission"]: row for row in rows}


@pytest.mark.parametrize("learner", CLASS)
def test_a_learner_gets_what_the_answers_are_worth(learner, results):
    right = {key for key, entry in results[learner]["exercises"].items() if entry["ok"]}
    assert right == CLASS[learner][1]
    assert results[learner]["points"] == len(right) and results[learner]["out_of"] == len(ALL)


@pytest.mark.parametrize("learner", [learner for learner in CLASS if CLASS[learner][2]])
def test_what_is_odd_about_a_notebook_is_noted(learner, results):
    assert CLASS[learner][2] in "; ".join(results[learner]["notes"])


@pytest.mark.parametrize("learner", ["correct", "blank", "sign-error", "talkative"])
def test_nothing_is_noted_about_an_ordinary_notebook(learner, results):
    assert results[learner]["notes"] == []


@pytest.mark.parametrize(
    ("learner", "hint"),
    [
        ("blank", "not_started"),
        ("sign-error", "wrong_total"),
        ("loop-in-cell", "timeout"),
        ("leaves", "died"),
        ("patched-late", "meddled"),
        ("eats-memory", "wrong_total"),
    ],
)
def test_the_hint_says_what_went_wrong(learner, hint, results):
    assert results[learner]["exercises"]["L04.ex1"]["hint"] == hint


def test_a_file_that_is_no_notebook_is_reported_and_stops_nobody(results):
    assert results["broken"]["problem"] == "the file is not a notebook"
    assert results["broken"]["points"] == 0


def test_the_table_has_a_row_a_submission_and_a_column_an_exercise(graded):
    rows = list(csv.DictReader((graded / "grades.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["submission"] for row in rows} == {*CLASS, "broken"}
    (wrong,) = (row for row in rows if row["submission"] == "sign-error")
    assert [wrong[f"L04.ex{n}"] for n in range(1, 6)] == ["0", "1", "1", "1", "1"]
    assert (wrong["points"], wrong["out_of"]) == ("4", "5")


def test_feedback_has_the_learners_code_and_hints_and_no_reference_values(graded):
    graded_text = (graded / "graded" / "sign-error.ipynb").read_text(encoding="utf-8")
    said = [cell["outputs"][0]["text"][1] for cell in json.loads(graded_text)["cells"] if cell["id"] == "ex1-check"]
    values = said[0].partition("[")[2].strip("]\n").split(", ")
    text = (graded / "feedback" / "sign-error.ipynb").read_text(encoding="utf-8")
    assert "updates={total: total - a}" in text and "not the start plus all amounts" in text
    assert len(values) == 4 and not any(value in text for value in values)


@pytest.mark.parametrize("kind", ["feedback", "graded"])
def test_every_notebook_written_is_a_valid_one(kind, graded):
    import nbformat

    paths = list((graded / kind).glob("*.ipynb"))
    assert len(paths) >= len(CLASS)
    for path in paths:
        nbformat.validate(nbformat.read(path, as_version=4))


def test_nbval_comes_to_the_same_verdicts(graded):
    learners = ["correct", "patched-late", "loop-in-cell"]
    seed = json.loads((graded / "run.json").read_text(encoding="utf-8"))["seed"]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-n2", "--dist=loadscope", "-p", "no:cacheprovider"]
    command += ["-c", os.devnull, "-o", "xfail_strict=true", "--nbval-lax", "--nbval-current-env"]
    done = subprocess.run(
        [*command, *(f"graded/{learner}.ipynb" for learner in learners)],
        cwd=graded,
        env={**environment(), "TUTORLIB_SEED": str(seed)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    failed = [line.split("/")[1].split(".")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert sorted(failed) == ["loop-in-cell", "patched-late"], done.stdout[-2000:]


def test_a_second_run_grades_nothing_again_and_keeps_an_edited_table(graded, monkeypatch, capsys):
    table = graded / "grades.csv"
    written = table.read_bytes()
    table.write_text("my own marks\n", encoding="utf-8")
    started = []
    monkeypatch.setattr(process.Worker, "__enter__", counting(started, process.Worker.__enter__))
    assert grade(graded.with_name("L04")) == 0
    assert len(started) == 1, "only the reference is computed again"
    assert table.read_bytes() == written
    assert (graded / "grades.kept-1.csv").read_text(encoding="utf-8") == "my own marks\n"


@pytest.mark.parametrize("options", [["--lesson", "L99"], ["--out", "{}/class/L04/out"]], ids=["lesson", "out"])
def test_a_command_that_makes_no_sense_says_so_and_writes_nothing(options, tmp_path, capsys):
    folder = tmp_path / "class" / "L04"
    hand_in(folder, ["correct"], FOLDERS)
    assert grade(folder, *(option.format(tmp_path) for option in options)) == 1
    assert capsys.readouterr().err.count("\n") <= 2
    assert [path.name for path in folder.parent.rglob("*") if path.is_file()] == ["correct.ipynb"]


def test_a_folder_without_notebooks_is_named(tmp_path, capsys):
    assert grade(tmp_path) == 1
    assert str(tmp_path) in capsys.readouterr().err


def counting(calls, function):
    def count(self):
        calls.append(self)
        return function(self)

    return count


def test_answers_with_one_structure_are_reported_together(graded):
    groups = json.loads((graded / "similar.json").read_text(encoding="utf-8"))
    first = [set(group["submissions"]) for group in groups if group["exercise"] == "L04.ex1"]
    assert any({"sign-error", "skip-comment"} <= names for names in first)
    assert not any("blank" in names for names in first)
