"""The lessons are found in a wheel and in a checkout, in the learner's language where there is one."""

import pytest

from tutorlib.cli import lessons_dir as module
from tutorlib.cli.lessons_dir import lessons_dir


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "tutorlib"
    folder.mkdir()
    monkeypatch.setattr(module, "PACKAGE", folder)
    return folder


def fill(folder):
    folder.mkdir(parents=True)
    (folder / "L04.ipynb").write_text("")
    return folder


def test_a_checkouts_lessons_are_found(package):
    wanted = fill(package.parent / "notebooks" / "en")
    assert lessons_dir("en") == wanted


def test_a_wheels_own_lessons_come_first(package):
    fill(package.parent / "notebooks" / "en")
    wanted = fill(package / "_notebooks" / "en")
    assert lessons_dir("en") == wanted


def test_the_learners_language_is_taken(package, monkeypatch):
    fill(package / "_notebooks" / "en")
    wanted = fill(package / "_notebooks" / "bn")
    monkeypatch.setenv("TUTORLIB_LANG", "bn")
    assert lessons_dir() == wanted


def test_a_language_without_lessons_falls_back_to_english(package):
    wanted = fill(package / "_notebooks" / "en")
    assert lessons_dir("xx") == wanted


def test_no_lessons_at_all_is_an_error_that_says_what_to_do(package):
    with pytest.raises(FileNotFoundError, match="tutorlib lessons build"):
        lessons_dir()
