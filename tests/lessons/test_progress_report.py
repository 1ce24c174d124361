"""The progress report counts what is done, the minutes, what comes next; a record can be taken home and back again."""

import base64
import json
import re
from datetime import UTC, datetime

import pytest

import tutorlib as tl
from tutorlib.cli.main import main
from tutorlib.lessons.progress import append_entries, read_progress
from tutorlib.lessons.progress_report import known_exercises, report
from tutorlib.lessons.progress_transfer import NoProgressFile, export_progress, import_progress

KNOWN = {"L00": ("L00.ex1", "L00.ex2"), "L01": ("L01.ex1",), "L02": ("L02.ex1", "L02.ex2")}


def tried(key, minute, ok=False, second=0):
    return {"time": f"2026-01-01T10:{minute:02}:{second:02}+00:00", "key": key, "ok": ok}


@pytest.fixture
def own(monkeypatch, tmp_path):
    path = tmp_path / "own" / "progress.jsonl"
    monkeypatch.setenv("TUTORLIB_PROGRESS", str(path))
    return path


def test_an_exercise_that_was_right_once_is_done_whatever_came_later():
    found = report([tried("L00.ex1", 0, True), tried("L00.ex1", 1, False)], KNOWN)
    assert found.lessons[0].done == {"L00.ex1"}
    assert found.lessons[0].dots == "●○"


def test_minutes_are_those_between_attempts_and_a_long_pause_counts_as_five():
    entries = [tried("L00.ex1", 0), tried("L00.ex1", 3), tried("L00.ex2", 4), tried("L02.ex1", 50)]
    assert [lesson.minutes for lesson in report(entries, KNOWN).lessons] == [4, 0, 5]


def test_lines_in_another_order_mean_the_same():
    entries = [tried("L00.ex1", 0, True), tried("L00.ex2", 3), tried("L02.ex1", 7)]
    assert report(entries[::-1], KNOWN) == report(entries, KNOWN)


@pytest.mark.parametrize(
    ("entries", "following"),
    [
        ([], "L00.ex1"),
        ([tried("L00.ex1", 0, True)], "L00.ex2"),
        ([tried("L01.ex1", 0, True)], "L02.ex1"),
        ([tried("L02.ex1", 0, True), tried("L02.ex2", 1, True)], "L00.ex1"),
        ([tried(key, 0, True) for keys in KNOWN.values() for key in keys], None),
    ],
    ids=["nothing", "same-lesson", "next-lesson", "earlier-lesson", "all-done"],
)
def test_next_is_the_first_open_exercise_from_where_the_learner_is(entries, following):
    assert report(entries, KNOWN).next == following


def test_a_prediction_noted_is_not_yet_an_exercise_done():
    assert report([{**tried("L01.ex1", 0), "predicted": "a"}], KNOWN).lessons[1].done == frozenset()


def test_an_exercise_of_another_version_is_not_forgotten():
    found = report([tried("L00.ex9", 0, True), tried("L55.ex1", 1)], KNOWN)
    assert found.lessons[0].exercises == ("L00.ex1", "L00.ex2", "L00.ex9")
    assert found.lessons[-1].lesson == "L55"


@pytest.mark.parametrize("odd", [{}, {"key": 4}, {"key": "L00.ex1"}, {"key": "L00.ex1", "time": "yesterday"}])
def test_a_line_that_is_no_attempt_changes_nothing(odd):
    assert report([odd], KNOWN) == report([], KNOWN)


def test_every_lesson_of_this_version_is_known():
    known = known_exercises()
    assert known["L04"] == tuple(f"L04.ex{n}" for n in range(1, 6))


def test_a_notebook_shows_a_table_and_says_what_comes_next(own):
    append_entries(own, [tried("L00.ex1", 0, True)])
    table = tl.progress()._repr_html_()
    assert table.count("<tr>") == len(known_exercises()) + 1
    assert "1/2" in table and "Next: L00.ex2" in table


def test_the_command_reports_as_text_and_as_data(own, capsys):
    append_entries(own, [tried("L00.ex1", 0, True)])
    assert main(["progress"]) == 0
    assert "L00  ●○" in capsys.readouterr().out
    assert main(["progress", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["lessons"][0]["exercises"] == {"L00.ex1": True, "L00.ex2": False}
    assert data["next"] == "L00.ex2"


def test_a_record_taken_home_joins_the_one_there_and_coming_twice_adds_nothing(own, tmp_path):
    bag = tmp_path / "bag.jsonl"
    append_entries(own, [tried("L00.ex1", 0, True), tried("L00.ex2", 1)])
    assert export_progress(bag) == 2
    own.unlink()
    append_entries(own, [tried("L00.ex2", 1), tried("L02.ex1", 2)])
    assert import_progress(bag) == 1
    assert import_progress(bag) == 0
    assert sorted(entry["key"] for entry in read_progress(own)) == ["L00.ex1", "L00.ex2", "L02.ex1"]


def test_two_attempts_in_the_same_second_stay_two(own, tmp_path):
    bag = tmp_path / "bag.jsonl"
    append_entries(own, [tried("L00.ex1", 0)] * 2)
    export_progress(bag)
    export_progress(bag)
    assert len(read_progress(bag)) == 2


def test_an_export_leaves_what_the_file_held(own, tmp_path):
    bag = tmp_path / "bag.jsonl"
    bag.write_text('{"key": "L77.ex1"}\nnot JSON', encoding="utf-8")
    append_entries(own, [tried("L00.ex1", 0)])
    export_progress(bag)
    assert bag.read_text(encoding="utf-8").startswith('{"key": "L77.ex1"}\nnot JSON\n')


def test_a_file_without_attempts_is_refused_and_nothing_changes(own, tmp_path, capsys):
    append_entries(own, [tried("L00.ex1", 0)])
    before = own.read_bytes()
    (tmp_path / "letter.txt").write_text("Dear Ada,\n", encoding="utf-8")
    for name in ("letter.txt", "missing.jsonl"):
        with pytest.raises(NoProgressFile):
            import_progress(tmp_path / name)
        assert main(["progress", "--import", str(tmp_path / name)]) == 1
        assert name in capsys.readouterr().err
    assert own.read_bytes() == before


def test_a_place_that_cannot_be_written_is_named(own, tmp_path, capsys):
    append_entries(own, [tried("L00.ex1", 0)])
    assert main(["progress", "--export", str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err


def buttons(view):
    table, row, said = view.children
    return table, *row.children, said


def test_in_a_notebook_the_record_can_be_taken_home_and_brought_back(own, monkeypatch, tmp_path):
    pytest.importorskip("ipywidgets")
    from tutorlib.viz import display

    monkeypatch.setattr(display, "is_live", lambda: True)
    append_entries(own, [tried("L00.ex1", 0, True)])
    table, _, _, link, _ = buttons(tl.progress().show())
    assert "1/2" in table.value and 'download="progress.jsonl"' in link.value
    taken = base64.b64decode(re.search('base64,([^"]*)', link.value)[1])

    own.unlink()
    table, refresh, bring, link, said = buttons(tl.progress().show())
    assert link.value == "" and "1/2" not in table.value
    file = {"name": "mine.jsonl", "type": "", "size": len(taken), "content": memoryview(taken)}
    file["last_modified"] = datetime(2026, 1, 1, tzinfo=UTC)
    bring.value = (file,)
    assert "1/2" in table.value and "New attempts from mine.jsonl: 1" in said.value and link.value
    assert read_progress(own) == [tried("L00.ex1", 0, True)]
    append_entries(own, [tried("L00.ex2", 1, True)])
    refresh.click()
    assert "2/2" in table.value


def test_a_file_without_attempts_is_told_and_nothing_is_lost(own, monkeypatch):
    pytest.importorskip("ipywidgets")
    from tutorlib.viz import display

    monkeypatch.setattr(display, "is_live", lambda: True)
    append_entries(own, [tried("L00.ex1", 0, True)])
    _, _, bring, _, said = buttons(tl.progress().show())
    file = {"name": "<b>.jsonl", "type": "", "size": 5, "content": memoryview(b"hello")}
    bring.value = ({**file, "last_modified": datetime(2026, 1, 1, tzinfo=UTC)},)
    assert "no attempts to take from &lt;b&gt;.jsonl" in said.value
    assert read_progress(own) == [tried("L00.ex1", 0, True)]


def test_without_widgets_the_report_shows_itself(own):
    found = tl.progress()
    assert found.show() is found
