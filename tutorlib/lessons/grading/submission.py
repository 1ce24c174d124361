"""Reads what a learner handed in, whatever they did to the notebook: the exercises' cells by key, and what is odd.

Nothing of it is run here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tutorlib.lessons.build import joined
from tutorlib.messages import message

LARGEST = 20 << 20
NBVAL = re.compile(r"^[ \t]*#[ \t]*NBVAL_\w+[^\n]*$", re.MULTILINE)
LESSON = re.compile(r"(?<![A-Za-z0-9])L\d\d(?!\d)")


@dataclass(frozen=True)
class Submission:
    """One handed-in notebook: `name` is its path in the class's folder without the ending, `student` whose it is."""

    path: Path = field(repr=False)
    name: str
    student: str


@dataclass(frozen=True)
class Answers:
    """The learner's text for each exercise, and notes for the teacher. An exercise without a cell is not in `code`."""

    code: dict[str, str]
    notes: tuple[str, ...] = ()


class Unreadable(ValueError):
    """A file that is no notebook, or one of no known lesson."""


def find_submissions(folder: Path) -> list[Submission]:
    """The notebooks in a class's folder: `NAME.ipynb`, or with a folder for each learner `NAME/…/L04.ipynb`."""
    found = []
    for path in sorted(folder.rglob("*.ipynb")):
        inside = path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts) or not path.is_file():
            continue
        student = inside.parts[0] if len(inside.parts) > 1 else path.stem
        found.append(Submission(path, inside.with_suffix("").as_posix(), student))
    return found


def read_notebook(path: Path) -> dict[str, Any]:
    """The notebook as JSON; raises `Unreadable`."""
    try:
        if path.stat().st_size > LARGEST:
            raise Unreadable(message("lessons.grade_too_large", megabytes=LARGEST >> 20))
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        if isinstance(problem, Unreadable):
            raise
        raise Unreadable(message("lessons.grade_no_notebook")) from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable(message("lessons.grade_no_notebook"))
    return notebook


def lesson_of(notebook: Mapping[str, Any], name: str) -> str:
    """The id of the lesson, from the notebook's metadata, else from its name; raises `Unreadable`."""
    written = _entry(notebook, "metadata", "tutorlib", "lesson")
    if isinstance(written, str) and LESSON.fullmatch(written):
        return written
    if match := LESSON.search(name.replace("_", " ")):
        return match[0]
    raise Unreadable(message("lessons.grade_no_lesson"))


def read_answers(notebook: Mapping[str, Any], lesson: str, stubs: Mapping[str, str], known: set[str]) -> Answers:
    """The cells of a notebook that answer the exercises in `stubs`.

    `known` holds the keys of all cells of the lesson: other code cells are the learner's own and are only counted. A
    cell counts by its key, its id, or nbgrader's `grade_id`. Of two cells with one key the original counts, unless it
    is as it was handed out.
    """
    candidates: dict[str, list[tuple[bool, str]]] = {}
    own = 0
    notes = []
    for cell in notebook["cells"]:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        key = _exercise_key(cell, lesson, stubs)
        if key is not None:
            text, removed = NBVAL.subn("", _text(cell))
            if removed:
                notes.append(message("lessons.grade_nbval_removed", key=key))
            candidates.setdefault(key, []).append((cell.get("id") == key.partition(".")[2], text))
        elif not known & set(map(str, _names(cell))) and _text(cell).strip():
            own += 1
    code = {}
    for key, texts in candidates.items():
        texts.sort(key=lambda candidate: (_same(candidate[1], stubs[key]), not candidate[0]))
        code[key] = texts[0][1]
        if len(texts) > 1:
            notes.append(message("lessons.grade_duplicated", key=key, n=len(texts)))
    notes += [message("lessons.grade_missing", key=key) for key in stubs if key not in code]
    if own:
        notes.append(message("lessons.grade_own_cells", n=own))
    return Answers(code, tuple(notes))


def _exercise_key(cell: dict[str, Any], lesson: str, stubs: Mapping[str, str]) -> str | None:
    for name in _names(cell):
        written = str(name).replace("-", ".").replace("_", ".")
        for key in (written, f"{lesson}.{written}"):
            if key in stubs:
                return key
    return None


def _names(cell: dict[str, Any]) -> list[Any]:
    """What may name a cell, the most reliable first."""
    names = [_entry(cell, "metadata", "key"), cell.get("id"), _entry(cell, "metadata", "nbgrader", "grade_id")]
    return [name for name in names if isinstance(name, str)]


def _entry(data: Any, *path: str) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _text(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = [line for line in source if isinstance(line, str)]
    return joined(source) if isinstance(source, str | list) else ""


def _same(text: str, stub: str) -> bool:
    return text.split() == stub.split()
