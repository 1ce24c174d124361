"""The progress file is the learner's: appended to, never rewritten, and never a reason to fail."""

import json
import threading
from pathlib import Path

import pytest

from tutorlib.lessons import progress
from tutorlib.lessons.checker import evaluate, forget_attempts


@pytest.fixture
def file(monkeypatch, tmp_path):
    path = tmp_path / "progress.jsonl"
    monkeypatch.setenv("TUTORLIB_PROGRESS", str(path))
    forget_attempts()
    progress._warn_once.cache_clear()
    return path


def test_an_attempt_is_recorded_with_key_time_result_and_hint(file):
    evaluate("L04.ex1", 6.0)
    entry = json.loads(file.read_text(encoding="utf-8"))
    assert {name: entry[name] for name in ("key", "ok", "hint", "hint_level", "attempt")} == {
        "key": "L04.ex1",
        "ok": False,
        "hint": "not_a_function",
        "hint_level": 1,
        "attempt": 1,
    }
    assert entry["time"].endswith("+00:00")


def test_what_was_there_stays_there(file):
    file.write_text('{"key": "L00.ex1", "ok": true}\nnot JSON\n', encoding="utf-8")
    before = file.read_text(encoding="utf-8")
    progress.record({"key": "L04.ex1", "ok": False})
    assert file.read_text(encoding="utf-8").startswith(before)
    assert [entry["key"] for entry in progress.read_progress(file)] == ["L00.ex1", "L04.ex1"]


def test_a_line_cut_off_by_a_crash_spoils_no_other(file):
    file.write_text('{"key": "L00.ex1"}\n{"key": "L0', encoding="utf-8")
    progress.record({"key": "L04.ex1"})
    assert [entry["key"] for entry in progress.read_progress(file)] == ["L00.ex1", "L04.ex1"]


def test_writers_at_the_same_time_do_not_mix_their_lines(file):
    def write(number):
        for _ in range(50):
            progress.record({"key": f"L04.ex{number}", "padding": "x" * 200})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(progress.read_progress(file)) == 200


def test_a_place_that_cannot_be_written_warns_once(monkeypatch, tmp_path, file):
    blocked = tmp_path / "a-file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("TUTORLIB_PROGRESS", str(blocked / "progress.jsonl"))
    with pytest.warns(UserWarning, match="could not be saved") as caught:
        progress.record({"key": "L04.ex1"})
        progress.record({"key": "L04.ex1"})
    assert len(caught) == 1


def test_an_empty_variable_turns_recording_off(monkeypatch):
    monkeypatch.setenv("TUTORLIB_PROGRESS", "")
    assert progress.progress_path() is None
    progress.record({"key": "L04.ex1"})
    assert progress.read_progress() == []


def test_by_default_the_file_is_in_the_users_own_folder_and_not_in_the_package(monkeypatch):
    monkeypatch.delenv("TUTORLIB_PROGRESS", raising=False)
    path = progress.progress_path()
    assert path.name == "progress.jsonl" and path.parent.name == "tutorlib"
    assert Path.home() in path.parents or "XDG_DATA_HOME" in __import__("os").environ
    assert Path(progress.__file__).parents[1] not in path.parents
