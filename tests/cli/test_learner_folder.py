"""A learner's folder is kept current, and nothing that the learner made is ever lost."""

import os

import pytest

from tutorlib.cli.learner_folder import MANIFEST, Change, update_folder, write_atomically

LESSON = "L04.ipynb"


@pytest.fixture
def lessons(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / LESSON).write_text("first edition")
    return folder


@pytest.fixture
def mine(tmp_path, lessons):
    """A learner's folder that holds the first edition."""
    folder = tmp_path / "mine"
    update_folder(lessons, folder)
    return folder


def test_first_time_everything_is_copied(lessons, tmp_path):
    (lessons / "data").mkdir()
    (lessons / "data" / "points.csv").write_text("1,2")
    folder = tmp_path / "new" / "deep"
    changes = update_folder(lessons, folder)
    assert [change.kind for change in changes] == ["copied", "copied"]
    assert (folder / LESSON).read_text() == "first edition"
    assert (folder / "data" / "points.csv").read_text() == "1,2"


def test_second_time_nothing_happens(lessons, mine):
    before = {path: path.stat().st_mtime_ns for path in mine.glob("*.ipynb")}
    assert update_folder(lessons, mine) == []
    assert {path: path.stat().st_mtime_ns for path in mine.glob("*.ipynb")} == before


def test_edited_lesson_is_kept_while_the_packaged_one_is_the_same(lessons, mine):
    (mine / LESSON).write_text("my answers")
    assert update_folder(lessons, mine) == []
    assert (mine / LESSON).read_text() == "my answers"


def test_untouched_lesson_is_refreshed_when_a_new_edition_comes(lessons, mine):
    (lessons / LESSON).write_text("second edition")
    assert update_folder(lessons, mine) == [Change("refreshed", LESSON, LESSON)]
    assert (mine / LESSON).read_text() == "second edition"


def test_untouched_lesson_is_refreshed_again_and_again(lessons, mine):
    for edition in ("second", "third"):
        (lessons / LESSON).write_text(edition)
        update_folder(lessons, mine)
    assert (mine / LESSON).read_text() == "third"


def test_when_both_changed_the_new_edition_lands_beside(lessons, mine):
    (mine / LESSON).write_text("my answers")
    (lessons / LESSON).write_text("second edition")
    assert update_folder(lessons, mine) == [Change("beside", "L04_new.ipynb", LESSON)]
    assert (mine / LESSON).read_text() == "my answers"
    assert (mine / "L04_new.ipynb").read_text() == "second edition"


def test_an_edition_lands_beside_only_once(lessons, mine):
    (mine / LESSON).write_text("my answers")
    (lessons / LESSON).write_text("second edition")
    update_folder(lessons, mine)
    assert update_folder(lessons, mine) == []


def test_the_next_edition_does_not_overwrite_the_one_beside(lessons, mine):
    (mine / LESSON).write_text("my answers")
    for edition in ("second", "third"):
        (lessons / LESSON).write_text(edition)
        update_folder(lessons, mine)
    assert (mine / "L04_new.ipynb").read_text() == "second"
    assert (mine / "L04_new2.ipynb").read_text() == "third"


def test_a_file_that_was_there_before_is_kept(lessons, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / LESSON).write_text("something of mine")
    assert update_folder(lessons, folder) == []
    assert (folder / LESSON).read_text() == "something of mine"


def test_deleted_lesson_comes_back_fresh(lessons, mine):
    (mine / LESSON).unlink()
    assert update_folder(lessons, mine) == [Change("copied", LESSON, LESSON)]
    assert (mine / LESSON).read_text() == "first edition"


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"files": 3}', '{"files": {"L04.ipynb": 3}}', "\x00"])
def test_with_a_damaged_manifest_the_learners_work_is_kept(lessons, mine, damage):
    (mine / LESSON).write_text("my answers")
    (mine / MANIFEST).write_text(damage)
    (lessons / LESSON).write_text("second edition")
    update_folder(lessons, mine)
    assert (mine / LESSON).read_text() == "my answers"


def test_caches_and_hidden_files_are_not_copied(lessons, tmp_path):
    (lessons / ".ipynb_checkpoints").mkdir()
    (lessons / ".ipynb_checkpoints" / "L04-checkpoint.ipynb").write_text("old")
    (lessons / "__pycache__").mkdir()
    (lessons / "__pycache__" / "x.pyc").write_text("old")
    update_folder(lessons, tmp_path / "mine")
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == [".tutorlib", LESSON]


def test_a_write_that_fails_leaves_the_old_content_and_no_fragment(tmp_path, monkeypatch):
    path = tmp_path / "lesson"
    path.write_text("old")

    def full_disk(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="no space left"):
        write_atomically(path, b"new")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["lesson"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_copied_lesson_has_the_usual_permissions(mine):
    usual = mine / "usual"
    usual.touch()
    assert (mine / LESSON).stat().st_mode == usual.stat().st_mode
