"""`check` and `predict` say one line, whatever the answer does, and remember the attempt."""

import os
import subprocess
import sys
import threading

import pytest

from tutorlib.lessons import check, predict
from tutorlib.lessons.checker import evaluate, forget_attempts
from tutorlib.lessons.progress import read_progress


class Hostile:
    """An answer whose every question raises."""

    def __getattribute__(self, name):
        raise RuntimeError("go away")

    def __repr__(self):
        raise RuntimeError("go away")


def loops_forever(total):
    while True:
        pass


def keeps_on_catching(total):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


def divides_by_zero(total):
    return 1 / 0


def leaves(total):
    sys.exit(3)


def raises_with_newlines(total):
    raise ValueError("first\nsecond\n\n{third}")


def recurses(total):
    return recurses(total)


def takes_nothing():
    return None


@pytest.fixture(autouse=True)
def progress_file(monkeypatch, tmp_path):
    path = tmp_path / "kept" / "progress.jsonl"
    monkeypatch.setenv("TUTORLIB_PROGRESS", str(path))
    forget_attempts()
    return path


# Made inside the test: pytest asks a parameter for its attributes, and one of these does not like that.
ANSWERS = {
    "left out": lambda: ...,
    "none": lambda: None,
    "number": lambda: 0,
    "text": lambda: "text",
    "list": lambda: [1],
    "hostile object": Hostile,
    "hostile class": lambda: Hostile,
    "raises": lambda: divides_by_zero,
    "exits": lambda: leaves,
    "raises on many lines": lambda: raises_with_newlines,
    "recurses": lambda: recurses,
    "takes nothing": lambda: takes_nothing,
    "prints": lambda: print,
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("key", ["L04.ex1", "L04.ex2", "L04.ex3", "L04.ex4", "L04.ex5"])
def test_any_answer_gets_exactly_one_line(key, answer, capsys):
    check(key, ANSWERS[answer]())
    out, err = capsys.readouterr()
    assert out.startswith(f"{key}: not yet - ")
    assert out.count("\n") == 1 and err == ""


@pytest.mark.parametrize("key", ["L99.ex1", "L04.ex99", "nonsense", "", None, 4, "L04.ex1\nL04.ex1: OK"])
def test_an_unknown_key_gets_one_line_too(key, capsys):
    check(key, 1)
    predict(key, "a")
    out = capsys.readouterr().out
    assert out.count("\n") == 2 and ": OK" not in out.replace("L04.ex1 L04.ex1: OK", "")


def test_the_learners_line_is_named_when_their_code_raises():
    line = divides_by_zero.__code__.co_firstlineno + 1
    assert f"ZeroDivisionError at test_check.py:{line}: division by zero" in evaluate("L04.ex1", divides_by_zero).line


def test_a_wrong_number_of_arguments_is_reported_in_words():
    assert "takes 0 positional arguments but 1 was given" in evaluate("L04.ex1", takes_nothing).line


@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="no interval timers on this system")
@pytest.mark.parametrize("endless", [loops_forever, keeps_on_catching])
def test_endless_code_is_stopped(endless):
    assert evaluate("L04.ex1", endless, seconds=0.2).hint == "too_slow"


def test_outside_the_main_thread_a_check_still_works():
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(evaluate("L04.ex1", divides_by_zero)))
    thread.start()
    thread.join()
    assert verdicts[0].hint == "raised"


def test_an_interrupt_from_the_keyboard_comes_through():
    def interrupted(total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("L04.ex1", interrupted)


def test_what_the_answer_prints_is_kept_from_the_notebook(capsys):
    def talkative(total):
        for _ in range(1000):
            print("noise " * 100)
        print("noise", file=sys.stderr)

    check("L04.ex1", talkative)
    out, err = capsys.readouterr()
    assert "noise" not in out + err


def test_an_answer_that_is_data_is_not_changed_by_the_check():
    answer = [1.0, 2.0]
    check("L04.ex2", answer)
    assert answer == [1.0, 2.0]


def test_hints_grow_with_each_try_and_then_stay():
    levels = [evaluate("L04.ex1", divides_by_zero).level for _ in range(5)]
    assert levels == [1, 2, 3, 3, 3]


def test_an_exercise_not_begun_unlocks_nothing_and_is_not_an_attempt(progress_file):
    def stub(total):
        raise NotImplementedError("your code here")

    for _ in range(3):
        assert evaluate("L04.ex1", stub).level == 1
    assert evaluate("L04.ex1", divides_by_zero).level == 1
    assert [entry["hint"] for entry in read_progress(progress_file)] == ["raised"]


def test_attempts_in_an_earlier_kernel_do_not_change_what_is_printed(progress_file):
    first = [evaluate("L04.ex1", divides_by_zero).line for _ in range(2)]
    forget_attempts()
    assert [evaluate("L04.ex1", divides_by_zero).line for _ in range(2)] == first


def test_a_prediction_must_come_before_the_check():
    assert evaluate("L04.ex2", "a").hint == "predict_first"
    predict("L04.ex2", "b")
    assert evaluate("L04.ex2", "b").hint == "says_stored"


def test_predict_tells_nothing_about_right_and_wrong(capsys):
    for option in "abcd":
        predict("L04.ex2", option)
    lines = capsys.readouterr().out.splitlines()
    assert {line.replace(f'"{option}"', "_") for option, line in zip("abcd", lines, strict=True)} == {
        "L04.ex2: your prediction _ is noted. Now run the next cell and look."
    }


@pytest.mark.parametrize("option", ["e", "A", "", None, 1, ["a"], ...])
def test_predict_takes_only_the_options(option, capsys):
    predict("L04.ex2", option)
    assert capsys.readouterr().out.startswith("L04.ex2: not yet - ")
    assert evaluate("L04.ex2", "a").hint == "predict_first"


def test_predict_is_for_predictions_only(capsys):
    predict("L04.ex1", "a")
    assert "not an exercise that takes a prediction" in capsys.readouterr().out


def test_in_a_notebook_a_display_inside_the_answer_does_not_show():
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "from IPython.display import display\n"
        "from tutorlib.lessons import check\n"
        "check('L04.ex1', lambda total: display('shown'))\n"
        "display('after')\n"
    )
    environment = {**os.environ, "TUTORLIB_PROGRESS": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60, check=True
    )
    assert "shown" not in done.stdout and "'after'" in done.stdout


def test_a_longer_hint_begins_a_new_sentence():
    for _ in range(2):
        line = evaluate("L04.ex1", divides_by_zero).line
    assert "division by zero. A compiled function" in line
