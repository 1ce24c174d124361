"""A lesson in another language: its prose replaced, block by block, where there is a translation.

A translation is a file `prose.bn.md` beside the lesson's `lesson.md`: front matter with the entries that people read,
then prose blocks with the keys of the original. A block with the key of a code cell translates its alt text. Code is
never translated, and what has no translation stays English.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tutorlib.lessons.source import TRANSLATED, Cell, Lesson, read_lesson, read_translation
from tutorlib.messages import DEFAULT_LANGUAGE, message


def translation_file(lesson: Path, language: str) -> Path:
    """The file that translates the lesson with this source."""
    return lesson.with_name(f"prose.{language}.md")


def read_lesson_in(path: Path, language: str) -> Lesson:
    """The lesson whose source is `path`, in this language as far as it is translated.

    Raises `SourceError` for a mistake in either file.
    """
    lesson = read_lesson(path)
    if language == DEFAULT_LANGUAGE:
        return lesson
    return Translation.of(lesson, language).apply(lesson)


@dataclass(frozen=True)
class Translation:
    """What is translated of one lesson: entries of the front matter, and texts by key."""

    path: Path
    language: str
    front: dict[str, Any]
    texts: dict[str, Cell]

    @classmethod
    def of(cls, lesson: Lesson, language: str) -> "Translation":
        """The lesson's translation; empty when there is no file. Raises `SourceError` for a mistake in it."""
        path = translation_file(lesson.path, language)
        front, texts = read_translation(path) if path.exists() else ({}, {})
        return cls(path, language, front, texts)

    def apply(self, lesson: Lesson) -> Lesson:
        """The lesson with all that is translated put in place of the English."""
        front = {**lesson.front, **{name: self.front[name] for name in TRANSLATED & self.front.keys()}}
        return replace(lesson, front=front, language=self.language, cells=tuple(map(self._cell, lesson.cells)))

    def _cell(self, cell: Cell) -> Cell:
        translated = self.texts.get(cell.key)
        if translated is None:
            return cell
        return replace(cell, text=translated.text) if cell.kind == "prose" else replace(cell, alt=translated.text)


def translation_problems(lesson: Lesson, translation: Translation) -> Iterator[tuple[int | None, str]]:
    """What the English `lesson` has and the translation lacks, what was changed since, what belongs to nothing."""
    english = {cell.key: text for cell in lesson.cells if (text := _text(cell)) is not None}
    missing = [name for name in sorted(TRANSLATED) if lesson.front[name] and name not in translation.front]
    missing += [key for key in english if key not in translation.texts]
    if missing:
        yield None, message("lessons.lint.untranslated", n=len(missing), keys=", ".join(missing))
    for key, cell in translation.texts.items():
        if key not in english:
            yield cell.line, message("lessons.lint.translates_nothing", key=key)
        elif str(cell.of) != (now := digest(english[key])):
            yield cell.line, message("lessons.lint.outdated", key=key, now=now)
    if translation.front and str(translation.front.get("of")) != (now := front_digest(lesson)):
        yield 1, message("lessons.lint.outdated_front", now=now)


def digest(text: str) -> str:
    """A short hash of an English text, by which a translation says what it translates.

    >>> digest("Because.")
    '8e18bd2e'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def front_digest(lesson: Lesson) -> str:
    """The digest of the front matter's entries that people read."""
    return digest(str([lesson.front[name] for name in sorted(TRANSLATED)]))


def _text(cell: Cell) -> str | None:
    """What of a cell is to be translated."""
    return cell.text if cell.kind == "prose" else cell.alt
