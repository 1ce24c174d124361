"""What grading is made of: reading notebooks, processes with limits, verdicts outside, results that outlive a kill."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tutorlib as tl
from tests.lessons.answers import RIGHT
from tutorlib.lessons.exercise import Exercise, cases, close, diagnose
from tutorlib.lessons.grading import witness
from tutorlib.lessons.grading.files import ResultFolder
from tutorlib.lessons.grading.process import Limits, Stopped, Worker, sandbox
from tutorlib.lessons.grading.report import grades_csv
from tutorlib.lessons.grading.run import run_settings, slug
from tutorlib.lessons.grading.run_one import Grader
from tutorlib.lessons.grading.submission import find_submissions, lesson_of, read_answers
from tutorlib.lessons.grading.template import read_template
from tutorlib.lessons.grading.verdict import checked, outcome, reference_of
from tutorlib.lessons.paths import LessonFolders

FOLDERS = LessonFolders(Path(__file__).parents[2])
LESSONS = [path.parent.name.split("_")[0] for path in FOLDERS.sources()]
SEED = 20261201
STUBS = {"L04.ex1": "def f():\n    raise NotImplementedError", "L04.ex2": "prediction = ..."}

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at limits as Linux has them")


@pytest.fixture(scope="module", params=LESSONS)
def grader(request):
    prepared = Grader(read_template(request.param, FOLDERS), SEED)
    prepared.prepare()
    return prepared


def test_another_right_solution_gets_all_points(grader):
    results = grader.grade({exercise.key: RIGHT[exercise.key] for exercise in grader.template.exercises})
    assert {key: entry["hint"] for key, entry in results.items()} == dict.fromkeys(results)


def test_a_verdict_forged_in_the_process_does_not_help_where_values_are_compared(grader):
    """Every comparison answered with yes and every complaint swallowed: what is sent out is still not right."""
    for exercise in grader.template.exercises:
        reference = grader.references[exercise.key]
        code = [code for hint, codes in exercise.wrong_answers.items() if hint.startswith("wrong_") for code in codes]
        for text in code if reference.expected else []:
            names = {"np": np, "tl": tl}
            exec(text, names)
            _, seen = witness.judge(exercise, names[exercise.answer], SEED, 5.0, always=True)
            forged = checked({"hint": None, "seen": seen})
            assert outcome(exercise, reference, forged, SEED).hint == "not_shown", exercise.key


def judge_inverse(pair, rng):
    """A property: the second function undoes the first, whichever they are."""
    x = rng.uniform(1, 2, size=3)
    forth, back = pair()
    diagnose(close(back(forth(x)), x), otherwise="wrong_inverse")
    diagnose(close(2 * np.asarray(forth(x)), forth(x) + forth(x)), otherwise="wrong_double")


INVERSE = Exercise(
    "L98.ex1",
    "pair",
    judge_inverse,
    cases("#: wrong_inverse\ndef pair():\n    return (lambda x: x + 1), (lambda x: x)"),
)


def test_where_a_value_depends_on_the_answer_it_must_agree_with_itself(monkeypatch):
    monkeypatch.setitem(sys.modules, "tutorlib.lessons.exercises.watched", sys.modules[__name__])
    _, seen = witness.judge(INVERSE, lambda: (np.exp, np.log), SEED, 5.0)
    reference = reference_of(INVERSE, {"seen": seen}, SEED)
    assert (len(reference.expected), len(reference.own)) == (2, 1)
    _, seen = witness.judge(INVERSE, lambda: (np.square, np.sqrt), SEED, 5.0)
    assert outcome(INVERSE, reference, checked({"hint": None, "seen": seen}), SEED) is None


@pytest.mark.parametrize(
    "forged",
    [
        {},
        {"seen": 3},
        {"hint": 4, "fields": 5},
        {"hint": None, "seen": [[1]]},
        {"hint": None, "seen": [["x", 1, 2, 3]]},
    ],
)
def test_an_answer_of_another_form_stops_nobody_and_is_not_right_where_values_are_compared(forged, grader):
    for exercise in grader.template.exercises:
        found = checked({"mark": "m", **forged})
        reference = grader.references[exercise.key]
        miss = outcome(exercise, reference, found, SEED)
        if miss is None:
            assert not exercise.options and not reference.expected and found["hint"] is None
            continue
        assert Grader.words(exercise.key, miss).startswith(f"{exercise.key}: not yet - ")


def cell(text, **names):
    return {"cell_type": "code", "metadata": {}, "source": text, **names}


def answers_in(*cells):
    return read_answers({"cells": list(cells)}, "L04", STUBS, {"ex1", "ex2", "demo"})


@pytest.mark.parametrize(
    "names",
    [
        {"metadata": {"key": "ex1"}},
        {"id": "ex1"},
        {"metadata": {"nbgrader": {"grade_id": "ex1", "solution": True}}},
        {"metadata": {"nbgrader": {"grade_id": "L04-ex1"}}},
        {"metadata": {"nbgrader": {"grade_id": "L04_ex1"}}},
    ],
    ids=["key", "id", "nbgrader", "nbgrader-dash", "nbgrader-underscore"],
)
def test_a_cell_is_found_by_its_key_its_id_or_nbgraders(names):
    text = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION"
    assert answers_in(cell(text, **names)).code == {"L04.ex1": text}


def test_a_copy_counts_only_where_the_original_is_as_it_was_handed_out():
    original = {"id": "ex1", "metadata": {"key": "ex1"}}
    copy = {"id": "b", "metadata": {"key": "ex1"}}
    assert answers_in(cell("mine", **original), cell("other", **copy)).code["L04.ex1"] == "mine"
    assert answers_in(cell(STUBS["L04.ex1"], **original), cell("other", **copy)).code["L04.ex1"] == "other"


def test_comments_to_nbval_are_removed_and_other_cells_are_counted():
    found = answers_in(cell("# NBVAL_SKIP\nx = 1", id="ex1"), cell("2 + 2", id="zz"), cell("demo()", id="demo"))
    assert found.code["L04.ex1"].strip() == "x = 1"
    assert found.notes[-1].endswith(": 1")


@pytest.mark.parametrize("junk", [None, 3, [], {"cell_type": "code"}, {"cell_type": "code", "source": [1, None]}])
def test_cells_that_are_none_do_not_stop_the_reading(junk):
    assert answers_in(junk, cell("x", id="ex1")).code == {"L04.ex1": "x"}


def test_the_lesson_comes_from_the_metadata_else_from_the_name():
    assert lesson_of({"metadata": {"tutorlib": {"lesson": "L04"}}}, "ada/L01") == "L04"
    assert lesson_of({"metadata": None}, "ada/L01_expression_graph") == "L01"


def test_a_learner_is_named_by_the_folder_else_by_the_file(tmp_path):
    for name in ("ada.ipynb", "ben/L04/L04.ipynb", "ben/.ipynb_checkpoints/L04.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert [(s.student, s.name) for s in find_submissions(tmp_path)] == [("ada", "ada"), ("ben", "ben/L04/L04")]


def test_two_names_never_share_a_file():
    assert len({slug(name) for name in ("a/b", "a-b", "a b", "../a/b", "অ", "আ")}) == 6
    assert not any("/" in slug(name) or slug(name).startswith(".") for name in ("../x", "/etc/x", ".."))


def test_a_name_that_a_spreadsheet_would_compute_is_made_text():
    result = {"student": "=1+1", "name": "a", "lesson": None, "points": 0, "out_of": 0, "exercises": {}, "notes": []}
    assert "\n'=1+1," in grades_csv([{**result, "problem": None}])


def said_by(code, limits=None, **more):
    """What a cell in a worker says: the text of the error that it raises."""
    with Worker("L00", limits or Limits(), 1, **more) as worker:
        return worker.ask({"do": "run", "code": code}, 60)["raised"]["text"]


def test_a_worker_sees_nothing_of_the_teachers_surroundings(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "secret")
    monkeypatch.setenv("TUTORLIB_SEED", "5")
    code = "import os, pathlib\nraise ValueError([os.environ.get('MY_TOKEN'), os.environ.get('TUTORLIB_SEED'), "
    code += "str(pathlib.Path.home()) == os.getcwd() == os.environ['TMPDIR'], os.listdir('.')])"
    assert said_by(code).startswith("[None, None, True, ")


@on_linux
def test_memory_is_limited():
    assert said_by("x = bytearray(3 << 30)\nraise ValueError('had it')", Limits(memory=2 << 30)) == ""


@on_linux
def test_the_size_of_a_file_is_limited():
    assert "File too large" in said_by("open('x', 'wb').write(bytes(2 << 20))", Limits(file_size=1 << 20))


@on_linux
def test_processes_left_behind_are_ended_and_the_folder_is_gone():
    code = "import os, subprocess\np = subprocess.Popen(['sleep', '600'])\nraise ValueError(f'{p.pid} {os.getcwd()}')"
    pid, folder = said_by(code).split()
    stat = Path(f"/proc/{pid}/stat")
    assert not stat.exists() or stat.read_text(encoding="utf-8").split()[2] in "ZX"
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("code", "why"), [("import time\ntime.sleep(600)", "timeout"), ("import os\nos._exit(0)", "died")]
)
def test_a_worker_that_gives_no_answer_is_stopped(code, why):
    with Worker("L00", Limits(), 1) as worker, pytest.raises(Stopped) as stop:
        worker.ask({"do": "run", "code": code}, 1)
    assert stop.value.why == why


def test_a_worker_can_be_wrapped_in_another_command():
    code = "import os\nraise ValueError(os.environ.get('WRAPPED'))"
    assert said_by(code, wrap=["env", "WRAPPED=yes"]) == "yes"


isolated = pytest.mark.skipif(not sandbox(), reason="this system has no user namespaces")


@isolated
def test_in_a_sandbox_the_grader_cannot_be_ended():
    assert said_by("import os\nraise ValueError(os.getppid())", wrap=sandbox()) == "0"


@isolated
def test_in_a_sandbox_there_is_no_network():
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)"
        assert "unreachable" in said_by(code, wrap=sandbox())


@isolated
def test_in_a_sandbox_a_process_that_left_its_group_ends_too():
    code = "import subprocess\nsubprocess.Popen(['setsid', 'sleep', '600.5150'])\nraise ValueError('started')"
    assert said_by(code, wrap=sandbox()) == "started"
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(b"600.5150" in command for command in commands)


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path):
    script = """
import os, signal, sys
from pathlib import Path
from tutorlib.lessons.grading.run import Work, grade_class
from tutorlib.lessons.grading.submission import Submission
folder = Path(sys.argv[1])
def grade(lesson, code):
    with (folder / "graded").open("a") as file:
        file.write(code["x"])
    if code["x"] == "c" and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
    return {"x": {"ok": True, "counts": True}}
works = [Work(Submission(Path(n), n, n), "L04", {"x": n}) for n in "abcde"]
results = grade_class(works, grade, folder / "results", {"seed": 1}, workers=1)
print(sum(result["reused"] for result in results), sum(result["points"] for result in results))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", script, str(tmp_path)]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100) for _ in range(2)
    )
    assert first.returncode != 0
    assert (tmp_path / "graded").read_text(encoding="utf-8") == "abc" + "cde"
    assert second.stdout.split() == ["2", "5"], second.stderr


def test_another_seed_or_another_answer_is_graded_anew(tmp_path):
    limits = Limits()
    first = run_settings(tmp_path, None, limits)
    assert run_settings(tmp_path, None, limits) == first
    assert run_settings(tmp_path, 7, limits)["seed"] == 7
    if os.name != "nt":
        assert (tmp_path / "run.json").stat().st_mode & 0o077 == 0


def test_what_a_person_edited_among_the_results_is_kept(tmp_path):
    for text, mine in (("one", "my comment"), ("two", "my other comment"), ("three", None)):
        folder = ResultFolder(tmp_path)
        folder.write("feedback/ada.ipynb", text)
        folder.finish()
        if mine:
            (tmp_path / "feedback" / "ada.ipynb").write_text(mine, encoding="utf-8")
    kept = sorted(path.read_text(encoding="utf-8") for path in (tmp_path / "feedback").iterdir())
    assert kept == ["my comment", "my other comment", "three"]
    assert json.loads((tmp_path / ".written.json").read_text(encoding="utf-8"))
