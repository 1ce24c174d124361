"""Builds notebooks from a lesson: the learner's, with open exercises, and the solution, which only tests use.

Building is deterministic: cell ids come from the keys, and what a run adds by chance (times, widget ids, stream pieces)
is taken out again. Reading the source lives in `source.py`, running a notebook in `execute.py`.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Literal

from tutorlib.lessons.front import render_placeholders
from tutorlib.lessons.solution_regions import RegionError, has_solution, with_stubs, without_markers
from tutorlib.lessons.source import Cell, Lesson, SourceError

Role = Literal["learner", "solution"]

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"}


class EditedByHand(ValueError):
    """A built notebook holds cells that no build wrote; building again would lose them."""


def build_notebook(lesson: Lesson, role: Role, glossary: dict[str, Any] | None = None) -> dict[str, Any]:
    """The lesson's notebook as nbformat 4.5 JSON, not yet executed.

    `role` is `"learner"` (solutions replaced by stubs) or `"solution"` (markers removed); `glossary` holds the terms
    that the front matter names. Raises `SourceError` for a solution region that cannot be replaced.
    """
    cells = [_notebook_cell(lesson, cell, role, glossary or {}) for cell in lesson.cells]
    origin = {"digest": digest(cells), "language": lesson.language, "lesson": lesson.id, "role": role}
    metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE, "tutorlib": origin}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def digest(cells: list[dict[str, Any]]) -> str:
    """A short hash of the cells' ids and texts: it changes when a person edits a built notebook."""
    written = json.dumps([[cell.get("id"), cell["cell_type"], joined(cell["source"])] for cell in cells])
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def joined(source: str | list[str]) -> str:
    """A cell's text, which files hold as one string or as a list of lines."""
    return source if isinstance(source, str) else "".join(source)


def learner_code(lesson: Lesson, cell: Cell, role: Role) -> str:
    """A code cell's text for this kind of notebook."""
    if not has_solution(cell.text):
        return cell.text
    try:
        return with_stubs(cell.text) if role == "learner" else without_markers(cell.text)
    except RegionError as problem:
        raise SourceError(lesson.path, cell.line + problem.line - 1, str(problem)) from None


def write_notebook(notebook: dict[str, Any], path: Path, *, overwrite: bool = False) -> bool:
    """Write a built notebook unless the file already says the same; True when it was written.

    Raises `EditedByHand` when the file there holds edited cells, unless `overwrite`.
    """
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    if path.exists():
        there = path.read_text(encoding="utf-8")
        if there == text:
            return False
        if not overwrite and _edited(there):
            raise EditedByHand(f"{path.name} was edited by hand; move it away, or build with --overwrite")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    Path(temporary).chmod(0o644)
    os.replace(temporary, path)
    return True


def _notebook_cell(lesson: Lesson, cell: Cell, role: Role, glossary: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"key": cell.key}
    if cell.kind == "prose":
        text = render_placeholders(cell, lesson, glossary)
        return {"cell_type": "markdown", "id": cell.key, "metadata": metadata, "source": text.splitlines(keepends=True)}
    if cell.tags:
        metadata["tags"] = list(cell.tags)
    if cell.alt is not None:
        metadata["alt"] = cell.alt
    if "check" in cell.tags:
        metadata |= {"deletable": False, "editable": False}
    code = learner_code(lesson, cell, role)
    lines = code.splitlines(keepends=True)
    unrun: dict[str, Any] = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "id": cell.key, "metadata": metadata, "source": lines, **unrun}


def _edited(text: str) -> bool:
    """Whether a notebook file differs from what the build that wrote it recorded; unknown files count as edited."""
    try:
        notebook = json.loads(text)
        return notebook["metadata"]["tutorlib"]["digest"] != digest(notebook["cells"])
    except (ValueError, KeyError, TypeError):
        return True
