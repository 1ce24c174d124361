"""The lesson source is read strictly, and every mistake names its line."""

from pathlib import Path

import pytest

from tutorlib.lessons.source import SourceError, parse_lesson

FRONT = """---
id: L99
title: A lesson
minutes: {teach: 1, exercises: 1}
prerequisites: []
objectives: []
questions: []
keypoints: []
seed: 1
needs: [none]
---
"""
FIRST = 12  # the line after the front matter
PATH = Path("L99_a_lesson/lesson.md")


def parse(body):
    return parse_lesson(FRONT + body, PATH)


def test_prose_and_code_come_in_order_with_keys_tags_and_lines():
    lesson = parse(
        '+++ {"key": "why"}\n\nBecause.\n\n'
        "```{code-cell} ipython3\n:key: one\n:tags: [setup, check]\nx = 1\n\ny = 2\n```\n"
    )
    prose, code = lesson.cells
    assert (prose.key, prose.kind, prose.text, prose.line) == ("why", "prose", "Because.", FIRST)
    assert (code.key, code.kind, code.text, code.tags) == ("one", "code", "x = 1\n\ny = 2", ("setup", "check"))
    assert code.line == FIRST + 7


def test_the_front_matter_is_read_as_values():
    assert parse('+++ {"key": "a"}\ntext\n').front["minutes"] == {"teach": 1, "exercises": 1}


def test_an_ordinary_fence_in_prose_may_show_what_looks_like_a_cell():
    lesson = parse('+++ {"key": "format"}\nWrite:\n````\n+++ {"key": "x"}\n```{code-cell} ipython3\n```\n````\nDone.\n')
    assert len(lesson.cells) == 1
    assert lesson.cells[0].text.endswith("Done.")


def test_an_alt_text_is_kept():
    assert parse("```{code-cell} ipython3\n:key: a\n:alt: a rising line\n1\n```\n").cells[0].alt == "a rising line"


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        ("Loose text.\n", FIRST, "outside a block"),
        ('+++ {"key": "a"}\nx\n\n+++ {"key": "a"}\ny\n', FIRST + 3, "already used on line 12"),
        ('+++ {"key": "a"}\n\n+++ {"key": "b"}\ny\n', FIRST, "without prose"),
        ("+++ nothing\nx\n", FIRST, "one JSON object"),
        ('+++ {"name": "a"}\nx\n', FIRST, '{"key": "…"} and nothing else'),
        ('+++ {"key": "No Spaces"}\nx\n', FIRST, "lower-case"),
        ('+++ {"key": 4}\nx\n', FIRST, "lower-case"),
        ("```{code-cell} ipython3\nx = 1\n```\n", FIRST, ":key:"),
        ("```{code-cell} ipython3\n:key: a\n```\n", FIRST, "without code"),
        ("```{code-cell} ipython3\n:key: a\nx = 1\n", FIRST, "never closed"),
        ('```{code-cell} ipython3\n:key: a\nx = 1\n+++ {"key": "b"}\n', FIRST, "not closed before line 15"),
        ("```{code-cell} ipython3\n:kye: a\nx = 1\n```\n", FIRST + 1, 'unknown option ":kye:"'),
        ("```{code-cell} ipython3\n:key: a\n:key: b\nx = 1\n```\n", FIRST + 2, "twice"),
        ("```{code-cell} ipython3\n:key: a\n:tags: setup\nx = 1\n```\n", FIRST, "tags are written [first, second]"),
        ("```{code-cell} ipython3\n:key: a\nx = 1\n```\nLoose text.\n", FIRST + 4, "outside a block"),
        ('+++ {"key": "a"}\n```\nopen\n', FIRST, "never closed"),
        ("", FIRST - 1, "no cells"),
    ],
)
def test_a_mistake_names_the_file_and_the_line(body, line, says):
    with pytest.raises(SourceError) as caught:
        parse(body)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"L99_a_lesson/lesson.md:{line}: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("front", "says"),
    [
        ("# no front matter\n", "begins with front matter"),
        ("---\nid: L99\n", "no closing line"),
        ("---\nid: L99\n---\n", "lacks keypoints, minutes"),
        (FRONT.replace("seed: 1", "seed: 1\ncolour: red"), "unknown entry: colour"),
        (FRONT.replace("title: A lesson", "title: [A"), "not YAML"),
        (FRONT.replace("{teach: 1, exercises: 1}", "50"), r"lesson.md:4: minutes are written"),
        (FRONT.replace("needs: [none]", "needs: none"), r"lesson.md:10: needs must be a list"),
        ("---\n- a\n---\n", 'of the form "name: value"'),
    ],
)
def test_a_mistake_in_the_front_matter_is_named(front, says):
    with pytest.raises(SourceError, match=says.replace("[", r"\[")):
        parse_lesson(front + '+++ {"key": "a"}\nx\n', PATH)
