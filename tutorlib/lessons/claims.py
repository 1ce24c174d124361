"""The ledger of claims: what the texts that this project answers say, what is true of it, and where that is shown.

It is data, `notebooks/source/claims.yml`; `docs/authoring_lessons.md` explains its entries.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from tutorlib.lessons.paths import LessonFolders
from tutorlib.lessons.source import Lesson, SourceError
from tutorlib.messages import message

VERDICTS = ("right", "wrong", "qualified")
REQUIRED = {"id", "claim", "verdict", "truth", "source", "checked", "lessons", "planned"}
OPTIONAL = {"docs", "never", "told_in"}


@dataclass(frozen=True)
class Claim:
    """One claim of the sources.

    `verdict` is one of `VERDICTS`; `truth` what lessons teach; `source` where to read it; `checked` the day on which
    somebody last did, None if nobody could; `lessons` maps a lesson to the cells that show it or tell it; `planned`
    names lessons that are still to use it; `docs` are files with evidence; `never` holds patterns of the claim as
    nobody may assert it, and `told_in` the cells (`"L04#not-text"`) that quote it to refute it.
    """

    id: int
    claim: str
    verdict: str
    truth: str
    source: str
    checked: date | None
    lessons: dict[str, list[str]]
    planned: list[str]
    docs: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    told_in: tuple[str, ...] = ()


def read_claims(path: Path) -> list[Claim]:
    """The ledger in this file, in order; empty where there is none.

    Raises `SourceError` for an entry that lacks something or says more than it may.
    """
    import yaml

    if not path.exists():
        return []
    return [_claim(entry, path) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]


def claim_problems(lesson: Lesson, folders: LessonFolders) -> Iterator[tuple[int, str]]:
    """The lesson has the evidence of each claim that it uses, and asserts none that does not hold."""
    keys = {cell.key for cell in lesson.cells}
    for claim in read_claims(folders.claims):
        if lesson.id in claim.planned:
            yield 1, message("lessons.lint.claim_planned", claim=claim.id, lesson=lesson.id)
        cells = claim.lessons.get(lesson.id)
        if cells is not None and not cells:
            yield 1, message("lessons.lint.claim_bare", claim=claim.id, lesson=lesson.id)
        for key in cells or []:
            if key not in keys:
                yield 1, message("lessons.lint.claim_evidence", claim=claim.id, key=key)
        yield from _assertions(claim, lesson)


def ledger_problems(folders: LessonFolders) -> Iterator[str]:
    """Every claim is used or planned, what it names is there, and each that does not hold is looked for."""
    lessons = {path.parent.name.split("_")[0] for path in folders.sources()}
    for claim in read_claims(folders.claims):
        gone = [name for name in claim.lessons if name not in lessons]
        gone += [file for file in claim.docs if not (folders.root / file).exists()]
        for name in gone:
            yield message("lessons.lint.claim_gone", claim=claim.id, name=name)
        if not claim.lessons and not claim.planned and not claim.docs:
            yield message("lessons.lint.claim_unused", claim=claim.id)
        if claim.verdict == "wrong" and not claim.never:
            yield message("lessons.lint.claim_never", claim=claim.id)


def _assertions(claim: Claim, lesson: Lesson) -> Iterator[tuple[int, str]]:
    """Prose that says what does not hold, outside the cells that quote it."""
    for cell in lesson.cells:
        if cell.kind != "prose" or f"{lesson.id}#{cell.key}" in claim.told_in:
            continue
        prose = " ".join(cell.text.split())
        for pattern in claim.never:
            if match := re.search(pattern, prose, re.IGNORECASE):
                yield cell.line, message("lessons.lint.claim_asserted", claim=claim.id, key=cell.key, words=match[0])


def _claim(entry: dict[str, Any], path: Path) -> Claim:
    name = f"claim {entry.get('id', '?')}"
    if missing := sorted(REQUIRED - entry.keys()):
        raise SourceError(path, 1, f"{name} lacks {', '.join(missing)}")
    if unknown := sorted(entry.keys() - REQUIRED - OPTIONAL):
        raise SourceError(path, 1, f"{name} has an unknown entry: {', '.join(unknown)}")
    if entry["verdict"] not in VERDICTS:
        raise SourceError(path, 1, f"{name} is {entry['verdict']!r}; a verdict is one of {', '.join(VERDICTS)}")
    return Claim(**entry | {name: tuple(entry[name]) for name in OPTIONAL & entry.keys()})
