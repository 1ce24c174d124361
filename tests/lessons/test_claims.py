"""The ledger of claims is complete, what it calls evidence is there, and no lesson says what does not hold."""

from pathlib import Path

import pytest
import yaml

from tests.lessons.test_source import FRONT
from tutorlib.lessons.claims import claim_problems, ledger_problems, read_claims
from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.source import SourceError, parse_lesson

HERE = LessonFolders(Path(__file__).parents[2])
ENTRY = {
    "id": 1, "claim": "Snow is black.", "verdict": "wrong", "truth": "It is white.", "source": "a window",
    "checked": None, "lessons": {"L99": ["look"]}, "planned": [], "never": ["snow is (very )?black"],
}  # fmt: skip


@pytest.fixture
def folders(tmp_path):
    found = LessonFolders(tmp_path)
    (found.source / "L99_a_lesson").mkdir(parents=True)
    (found.source / "L99_a_lesson" / "lesson.md").write_text("", encoding="utf-8")
    return found


def ledger(folders, **changes):
    folders.claims.write_text(yaml.safe_dump([ENTRY | changes]), encoding="utf-8")


def problems(folders, prose="Look out.", key="look"):
    body = f'+++ {{"key": "why"}}\n{prose}\n```{{code-cell}} ipython3\n:key: {key}\nx = 1\n```\n'
    lesson = parse_lesson(FRONT + body, Path("L99_a_lesson/lesson.md"))
    return [text for _, text in claim_problems(lesson, folders)]


def test_every_claim_of_the_sources_is_in_the_ledger_and_the_ledger_is_in_order():
    claims = read_claims(HERE.claims)
    assert [claim.id for claim in claims] == list(range(1, 33))
    assert list(ledger_problems(HERE)) == []


def test_a_claim_with_its_evidence_is_in_order(folders):
    ledger(folders)
    assert problems(folders) == [] == list(ledger_problems(folders))


def test_a_lesson_without_a_ledger_has_no_problem(folders):
    assert problems(folders) == []


def test_evidence_that_is_gone_or_was_never_named_is_told(folders):
    ledger(folders)
    assert problems(folders, key="other") == ["the evidence for claim 1 should be in a cell look"]
    ledger(folders, lessons={"L99": []})
    assert problems(folders) == ["claim 1 is used in L99 and names no evidence cell"]


@pytest.mark.parametrize("prose", ["Snow is black.", "They say that\nsnow is\nvery black at night."])
def test_a_claim_that_does_not_hold_may_not_be_asserted(folders, prose):
    ledger(folders)
    assert ["which does not hold (claim 1)" in text for text in problems(folders, prose)] == [True]


def test_a_claim_may_be_quoted_where_the_ledger_says_that_it_is_refuted(folders):
    ledger(folders, told_in=["L99#why"])
    assert problems(folders, "Some say that snow is black. Look.") == []


def test_a_plan_that_has_become_a_lesson_is_told(folders):
    ledger(folders, lessons={}, planned=["L99"])
    assert ["is planned for L99, which is here now" in text for text in problems(folders)] == [True]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lessons": {"L77": ["look"]}}, "names L77, which is not there"),
        ({"docs": ["docs/nowhere.md"]}, "names docs/nowhere.md, which is not there"),
        ({"lessons": {}}, "has no lesson, no plan and no document"),
        ({"never": []}, "has no pattern under never"),
    ],
)
def test_a_ledger_that_cannot_be_kept_is_told(folders, changes, says):
    ledger(folders, **changes)
    assert any(says in text for text in ledger_problems(folders))


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"verdict": "maybe"}, "'maybe'; a verdict is one of"), ({"colour": "white"}, "unknown entry: colour")],
)
def test_an_entry_that_cannot_be_read_is_refused(folders, changes, says):
    ledger(folders, **changes)
    with pytest.raises(SourceError, match=says):
        read_claims(folders.claims)


def test_an_entry_that_lacks_something_is_refused(folders):
    folders.claims.write_text(yaml.safe_dump([{"id": 7, "claim": "x"}]), encoding="utf-8")
    with pytest.raises(SourceError, match="claim 7 lacks checked, lessons"):
        read_claims(folders.claims)
