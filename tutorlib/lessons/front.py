"""Writes what the front matter says into the lesson's prose, where a line `{{ name }}` of the prose asks for it.

The texts around it come from the message table, so that they follow the language; the terms from `glossary.yml`.
"""

import re
from pathlib import Path
from typing import Any

from tutorlib.lessons.source import Cell, Lesson, SourceError
from tutorlib.messages import DEFAULT_LANGUAGE, message_in

PLACEHOLDER = re.compile(r"\{\{ ([a-z]+) \}\}")


def render_placeholders(cell: Cell, lesson: Lesson, glossary: dict[str, Any]) -> str:
    """The prose of a cell with every placeholder line replaced.

    Raises `SourceError` for an unknown placeholder, and for a term that the glossary does not hold.
    """
    writers = {
        "header": lambda: header(lesson),
        "keypoints": lambda: bullets(lesson.front["keypoints"]),
        "words": lambda: words(lesson, glossary),
    }
    lines = cell.text.splitlines()
    for number, line in enumerate(lines):
        if match := PLACEHOLDER.fullmatch(line):
            if match[1] not in writers:
                problem = f"unknown placeholder {line} in cell {cell.key}; there are {', '.join(sorted(writers))}"
                raise SourceError(lesson.path, cell.line, problem)
            lines[number] = writers[match[1]]()
    return "\n".join(lines)


def header(lesson: Lesson) -> str:
    """Time, what comes before, the questions of the lesson and what the learner will be able to do."""
    minutes: dict[str, int] = lesson.front["minutes"]
    language = lesson.language
    before = ", ".join(lesson.front["prerequisites"]) or message_in(language, "lessons.head.nothing_before")
    facts = message_in(language, "lessons.head.facts", total=sum(minutes.values()), before=before, **minutes)
    parts = [facts, message_in(language, "lessons.head.questions"), bullets(lesson.front["questions"])]
    parts += [message_in(language, "lessons.head.objectives"), bullets(lesson.front["objectives"])]
    return "\n\n".join(parts)


def words(lesson: Lesson, glossary: dict[str, Any]) -> str:
    """The lesson's terms with their definitions, as a table."""
    missing = [term for term in lesson.front.get("terms", []) if term not in glossary]
    if missing:
        raise SourceError(lesson.path, 1, f"the glossary has no term {', '.join(missing)}")
    rows = [word(glossary[term], lesson.language) for term in lesson.front.get("terms", [])]
    return "\n".join([message_in(lesson.language, "lessons.words.heading"), "|---|---|", *rows])


def word(entry: dict[str, Any], language: str) -> str:
    """A term's row: in another language also its English form, and the English meaning where there is no other."""
    term = f"**{entry.get(language, entry['en'])}**"
    if language != DEFAULT_LANGUAGE and language in entry:
        term += f" ({entry['en']})"
    return f"| {term} | {entry.get(f'means_{language}', entry['means'])} |"


def bullets(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def read_glossary(path: Path) -> dict[str, Any]:
    """The glossary by term id; empty where there is no file."""
    import yaml

    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
