"""Reads a lesson's text source, or a translation of it: front matter, keyed prose blocks, keyed code cells.

The format is the part of MyST's notebook markdown that a lesson needs, read strictly: every mistake is reported with
the file and the line. How a notebook is made of the cells stands in `build.py`, the rules for a lesson in `lint.py`.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tutorlib.messages import DEFAULT_LANGUAGE

KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
PROSE = re.compile(r"\+\+\+(.*)")
CODE = re.compile(r"(`{3,})\{code-cell\}(.*)")
OPTION = re.compile(r":([a-z]+):(?:\s+(.*))?")
FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")

REQUIRED = {"id", "title", "minutes", "prerequisites", "objectives", "questions", "keypoints", "seed", "needs"}
OPTIONAL = {"terms"}
LISTS = {"prerequisites", "objectives", "questions", "keypoints", "needs", "terms"}
OPTIONS = {"key", "tags", "alt"}
# What a translation's front matter may hold; `of` is the digest of the English entries that it was made from.
TRANSLATED = {"title", "prerequisites", "objectives", "questions", "keypoints"}


class SourceError(ValueError):
    """A mistake in a lesson's source; the message begins with the file and the line."""

    def __init__(self, path: Path, line: int, problem: str):
        super().__init__(f"{path.parent.name}/{path.name}:{line}: {problem}")
        self.path, self.line, self.problem = path, line, problem


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson: its kind (`"prose"` or `"code"`), its text, and the line its text begins on.

    `of` is, in a translation, the digest of the English text that it was made from.
    """

    key: str
    kind: str
    text: str
    line: int
    tags: tuple[str, ...] = ()
    alt: str | None = None
    of: str | None = None


@dataclass(frozen=True)
class Lesson:
    """A lesson as its author wrote it, or in another language: the front matter and the cells in order."""

    path: Path
    front: dict[str, Any]
    cells: tuple[Cell, ...] = field(repr=False)
    language: str = DEFAULT_LANGUAGE

    @property
    def id(self) -> str:
        """The lesson's number, `"L04"`."""
        return self.front["id"]

    @property
    def name(self) -> str:
        """The name of its folder and of its notebook, `"L04_shared_variables"`."""
        return self.path.parent.name


def read_lesson(path: Path) -> Lesson:
    """Read the lesson whose source is the file `path`.

    Raises `SourceError` for anything the format does not allow: unknown or missing front matter, a block without a key,
    a key used twice, text outside a block, a code cell that does not end.
    """
    return parse_lesson(path.read_text(encoding="utf-8"), path)


def parse_lesson(text: str, path: Path) -> Lesson:
    """The lesson written in `text`; `path` is the file it came from and is used in errors.

    >>> front = "---\\n" + chr(10).join(f"{name}: []" for name in sorted(REQUIRED - {"minutes"}))
    >>> front += "\\nminutes: {teach: 1, exercises: 0}\\n---\\n"
    >>> parse_lesson(front + '+++ {"key": "why"}\\n\\nBecause.\\n', Path("L00/lesson.md")).cells[0].text
    'Because.'
    """
    return _Reader(text, path).lesson()


def read_translation(path: Path) -> tuple[dict[str, Any], dict[str, Cell]]:
    """The front matter and the prose blocks by key of a translation, `prose.bn.md` beside a `lesson.md`.

    Raises `SourceError` as `read_lesson` does, and for a code cell: code is the same in every language.
    """
    reader = _Reader(path.read_text(encoding="utf-8"), path, required=set(), optional=TRANSLATED | {"of"})
    lesson = reader.lesson()
    for cell in lesson.cells:
        if cell.kind == "code":
            raise SourceError(path, cell.line, f"a translation has no code; cell {cell.key} stays as it is")
    return lesson.front, {cell.key: cell for cell in lesson.cells}


class _Reader:
    """Walks the lines once, from the front matter to the last block."""

    def __init__(self, text: str, path: Path, required: set[str] = REQUIRED, optional: set[str] = OPTIONAL):
        self.lines = text.splitlines()
        self.path = path
        self.required, self.optional = required, optional
        self.at = 0

    def error(self, line: int, problem: str) -> SourceError:
        return SourceError(self.path, line + 1, problem)

    def lesson(self) -> Lesson:
        front = self.front_matter()
        cells: list[Cell] = []
        first_line: dict[str, int] = {}
        while (cell := self.next_cell()) is not None:
            if cell.key in first_line:
                raise self.error(cell.line - 1, f'the key "{cell.key}" was already used on line {first_line[cell.key]}')
            first_line[cell.key] = cell.line
            cells.append(cell)
        if not cells and self.required:
            raise self.error(len(self.lines) - 1, "the lesson has no cells")
        return Lesson(self.path, front, tuple(cells))

    def front_matter(self) -> dict[str, Any]:
        import yaml

        if not self.lines or self.lines[0] != "---":
            raise self.error(0, 'a lesson begins with front matter between two lines "---"')
        try:
            end = self.lines.index("---", 1)
        except ValueError:
            raise self.error(0, 'the front matter has no closing line "---"') from None
        try:
            front = yaml.safe_load("\n".join(self.lines[1:end]))
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            raise self.error(1 + mark.line if mark else 0, f"the front matter is not YAML: {problem}") from None
        if not isinstance(front, dict):
            raise self.error(0, 'the front matter must be lines of the form "name: value"')
        if missing := sorted(self.required - front.keys()):
            raise self.error(0, f"the front matter lacks {', '.join(missing)}")
        if unknown := sorted(front.keys() - self.required - self.optional):
            raise self.error(0, f"the front matter has an unknown entry: {', '.join(map(str, unknown))}")
        self.check_values(front)
        self.at = end + 1
        return front

    def check_values(self, front: dict[str, Any]) -> None:
        """The values have the form that the rest of the machine counts on."""
        minutes = front.get("minutes", {"teach": 0, "exercises": 0})
        if not isinstance(minutes, dict) or set(minutes) != {"teach", "exercises"}:
            raise self.error(self.line_of("minutes"), "minutes are written {teach: …, exercises: …}")
        for name in LISTS & front.keys():
            if not isinstance(front[name], list):
                raise self.error(self.line_of(name), f"{name} must be a list")

    def line_of(self, entry: str) -> int:
        return next(number for number, line in enumerate(self.lines) if line.startswith(f"{entry}:"))

    def next_cell(self) -> Cell | None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if match := CODE.fullmatch(line):
                return self.code_cell(match[1])
            if match := PROSE.fullmatch(line):
                return self.prose_block(match[1])
            if line.strip():
                raise self.error(self.at, 'text outside a block: put a line +++ {"key": "…"} above it')
            self.at += 1
        return None

    def prose_block(self, written: str) -> Cell:
        start = self.at
        try:
            options = json.loads(written)
        except json.JSONDecodeError as problem:
            raise self.error(start, f'after +++ comes one JSON object, +++ {{"key": "…"}}: {problem.msg}') from None
        allowed = {"key"} if self.required else {"key", "of"}
        if not isinstance(options, dict) or not {"key"} <= set(options) <= allowed:
            raise self.error(start, 'after +++ comes {"key": "…"} and nothing else')
        self.at += 1
        body = self.at
        inner_fence: str | None = None
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if inner_fence is None and (CODE.fullmatch(line) or PROSE.fullmatch(line)):
                break
            if match := FENCE.match(line):
                inner_fence = self.after_fence(inner_fence, match[1], line)
            self.at += 1
        if inner_fence is not None:
            raise self.error(start, "a fence opened in this block is never closed")
        text = "\n".join(self.lines[body : self.at]).strip()
        if not text:
            raise self.error(start, "a prose block without prose")
        return Cell(self.key(options["key"], start), "prose", text, start + 1, of=options.get("of"))

    @staticmethod
    def after_fence(open_fence: str | None, fence: str, line: str) -> str | None:
        """The fence that is open after this fence line, None when it closed the open one."""
        if open_fence is None:
            return fence
        closes = fence[0] == open_fence[0] and len(fence) >= len(open_fence) and not line.strip().strip(fence[0])
        return None if closes else open_fence

    def code_cell(self, fence: str) -> Cell:
        start = self.at
        self.at += 1
        options: dict[str, str] = {}
        while self.at < len(self.lines) and (match := OPTION.fullmatch(self.lines[self.at])):
            name, value = match[1], match[2] or ""
            if name not in OPTIONS:
                raise self.error(self.at, f'unknown option ":{name}:"; a code cell has {", ".join(sorted(OPTIONS))}')
            if name in options:
                raise self.error(self.at, f'the option ":{name}:" is given twice')
            options[name] = value.strip()
            self.at += 1
        body = self.at
        while self.at < len(self.lines) and self.lines[self.at].rstrip() != fence:
            if CODE.fullmatch(self.lines[self.at]) or PROSE.fullmatch(self.lines[self.at]):
                raise self.error(start, f"this code cell is not closed before line {self.at + 1}")
            self.at += 1
        if self.at == len(self.lines):
            raise self.error(start, "this code cell is never closed")
        text = "\n".join(self.lines[body : self.at]).strip("\n")
        self.at += 1
        if "key" not in options:
            raise self.error(start, "a code cell needs a line :key: name")
        if not text.strip():
            raise self.error(start, "a code cell without code")
        key = self.key(options["key"], start)
        return Cell(key, "code", text, body + 1, self.tags(options.get("tags"), start), options.get("alt"))

    def key(self, written: Any, line: int) -> str:
        if not isinstance(written, str) or not KEY.fullmatch(written):
            raise self.error(line, f"the key {written!r} must be lower-case letters, digits and hyphens")
        return written

    def tags(self, written: str | None, line: int) -> tuple[str, ...]:
        if written is None:
            return ()
        if not re.fullmatch(r"\[[a-z0-9, -]*\]", written):
            raise self.error(line, f"tags are written [first, second], not {written}")
        return tuple(tag for tag in (part.strip() for part in written[1:-1].split(",")) if tag)
