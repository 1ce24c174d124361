"""Every check says the right thing about right answers, known wrong answers, stubs and hard-coded values."""

from pathlib import Path

import numpy as np
import pytest

import tutorlib as tl
from tests.lessons.answers import RIGHT
from tutorlib.lessons import predict
from tutorlib.lessons.checker import evaluate, find_miss, forget_attempts
from tutorlib.lessons.exercises import lesson_exercises
from tutorlib.lessons.hints import LEVELS, hint_text
from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.solution_regions import has_solution, solutions, with_stubs, without_markers
from tutorlib.lessons.source import read_lesson
from tutorlib.messages import table

FOLDERS = LessonFolders(Path(__file__).parents[2])
LESSONS = [read_lesson(path) for path in FOLDERS.sources()]
EXERCISES = [exercise for lesson in LESSONS for exercise in lesson_exercises(lesson.id)]
CELLS = {f"{lesson.id}.{cell.key}": cell.text for lesson in LESSONS for cell in lesson.cells if has_solution(cell.text)}
WRONG = [
    pytest.param(exercise, hint, code, id=f"{exercise.key}-{hint}-{number}")
    for exercise in EXERCISES
    for hint, codes in exercise.wrong_answers.items()
    for number, code in enumerate(codes)
]
HARD_CODED = [
    6.0,
    [1.0, 2.0, 3.0],
    np.array([2.0, 3.0, 4.0]),
    lambda *arguments: 6.0,
    lambda *arguments: lambda *more: 6.0,
]

each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.key)


@pytest.fixture(autouse=True)
def fresh_attempts(monkeypatch):
    monkeypatch.setenv("TUTORLIB_PROGRESS", "")
    monkeypatch.delenv("TUTORLIB_SEED", raising=False)
    forget_attempts()


def answer_of(exercise, code):
    """What a learner's cell leaves under the exercise's name; a prediction is noted first, as the lesson asks."""
    names = {"np": np, "tl": tl}
    exec(compile(code, "<cell>", "exec"), names)
    answer = names[exercise.answer]
    if exercise.is_prediction:
        predict(exercise.key, answer if answer in exercise.options else exercise.options[-1])
    return answer


@each_exercise
def test_the_lessons_solution_is_right(exercise):
    verdict = evaluate(exercise.key, answer_of(exercise, without_markers(CELLS[exercise.key])))
    assert verdict.line == f"{exercise.key}: OK"


@each_exercise
def test_another_right_solution_is_right(exercise):
    assert evaluate(exercise.key, answer_of(exercise, RIGHT[exercise.key])).ok


@each_exercise
@pytest.mark.parametrize("seed", [1, 2, 3, 20261201])
def test_a_right_solution_is_right_with_a_graders_seed(exercise, seed, monkeypatch):
    monkeypatch.setenv("TUTORLIB_SEED", str(seed))
    assert evaluate(exercise.key, answer_of(exercise, RIGHT[exercise.key])).ok


@pytest.mark.parametrize(("exercise", "hint", "code"), WRONG)
def test_a_known_wrong_answer_gets_its_hint(exercise, hint, code):
    verdict = evaluate(exercise.key, answer_of(exercise, code))
    assert (verdict.ok, verdict.hint) == (False, hint)


@pytest.mark.parametrize(("exercise", "hint", "code"), WRONG)
def test_a_known_wrong_answer_is_wrong_with_a_graders_seed(exercise, hint, code, monkeypatch):
    monkeypatch.setenv("TUTORLIB_SEED", "77")
    assert evaluate(exercise.key, answer_of(exercise, code)).hint == hint


@each_exercise
def test_the_stub_has_not_been_started(exercise):
    assert evaluate(exercise.key, answer_of(exercise, with_stubs(CELLS[exercise.key]))).hint == "not_started"


@each_exercise
@pytest.mark.parametrize("answer", HARD_CODED, ids=["number", "list", "array", "constant", "constant-function"])
def test_a_hard_coded_value_is_not_right(exercise, answer):
    if exercise.is_prediction:
        predict(exercise.key, exercise.options[0])
    assert not evaluate(exercise.key, answer).ok


@pytest.mark.parametrize(("exercise", "hint", "code"), WRONG)
def test_the_hints_become_longer_lessons_and_never_the_answer(exercise, hint, code):
    answer = answer_of(exercise, code)
    lines = [evaluate(exercise.key, answer).line for _ in range(LEVELS)]
    told = {line.strip() for text in solutions(CELLS[exercise.key]) for line in text.splitlines() if line.strip()}
    assert len(set(lines)) > 1 or hint == "unknown_option"
    assert not any(answer_line in line for line in lines for answer_line in told)


def test_every_hint_in_the_table_belongs_to_an_exercise_and_is_reached():
    reached = {(exercise.key, hint) for exercise in EXERCISES for hint in exercise.wrong_answers}
    for id in table("lessons"):
        parts = id.split(".")
        if len(parts) == 5 and parts[3] != "more":
            assert (f"{parts[1]}.{parts[2]}", parts[3]) in reached, id


@each_exercise
def test_every_level_of_every_hint_is_one_line(exercise):
    fields = {"type": "a float", "error": "E", "text": "t", "where": "cell, line 1", "options": "a, b", "count": 2}
    fields |= {"name": "x", "shape": (3, 1), "got": (3, 4), "sum": (3, 4)}
    for hint in exercise.wrong_answers:
        for level in range(1, LEVELS + 1):
            text = hint_text(exercise.key, hint, level, fields)
            assert text and "\n" not in text and "{" not in text


def test_a_lesson_that_counts_has_four_exercises_or_more():
    assert all(len(lesson_exercises(lesson.id)) >= 4 for lesson in LESSONS if lesson.id != "L00")


def test_the_exercises_are_numbered_as_the_lesson_has_them():
    for lesson in LESSONS:
        cells = [f"{lesson.id}.{cell.key}" for cell in lesson.cells if "exercise" in cell.tags]
        assert cells == [exercise.key for exercise in lesson_exercises(lesson.id)]


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.options], ids=lambda exercise: exercise.key)
def test_exactly_one_option_of_a_choice_is_right_and_each_other_has_words_of_its_own(exercise):
    found = [find_miss(exercise, answer_of(exercise, f'{exercise.answer} = "{o}"')) for o in exercise.options]
    hints = [miss.hint for miss in found if miss is not None]
    assert len(set(hints)) == len(hints) == len(exercise.options) - 1
