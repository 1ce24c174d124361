"""What a widget says comes from the message table: the sources hold ids only, and each id exists.

Single words cannot be told from code here; `tests/browser/test_graph_view.py` looks at what is on the screen.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tutorlib.messages import table

SOURCES = Path(__file__).parents[2] / "tutorlib" / "viz" / "js"
FILES = sorted(path for path in SOURCES.glob("*.js"))
ID = re.compile(r"^(ui|kind|phase|edge|shared)_[a-z_]+$")
LITERAL = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)""")
COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'`\\])//[^\n]*", re.DOTALL)
# Words in these places are code: class names, selectors, media queries.
CODE_BEFORE = re.compile(r"""(\bclass:|\bstyle:|matchMedia\(|closest(\?\.)?\(|querySelectorAll\(|classes)\s*$""")
EXPRESSION = re.compile(r"\$\{[^{}]*\}")  # inside of a template
PROSE = re.compile(r"[^\W\d_]{2,}[,.:;!?]? [^\W\d_]{2,}")


def _literals(path: Path):
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    for found in LITERAL.finditer(text):
        yield text[max(0, found.start() - 40) : found.start()], found[0][1:-1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_sentence_stands_in_the_sources(path):
    prose = [
        literal
        for before, literal in _literals(path)
        if PROSE.search(EXPRESSION.sub("0", literal))
        and not CODE_BEFORE.search(before)
        and not literal.startswith(("tl-", ".tl-"))
    ]
    assert prose == []


def test_every_id_in_the_sources_is_in_the_table():
    known = table("widgets", "en")
    used = {literal for path in FILES for _, literal in _literals(path) if ID.match(literal)}
    assert len(used) > 50
    assert {f"widgets.{id}" for id in used} <= known.keys()


def test_every_message_of_the_front_end_is_used():
    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    built_up = tuple(
        f"widgets.ui_{start}_" for start in ("bar", "clock", "gradient_col", "gradient_is", "legend", "stat", "why")
    )
    mine = {id for id in table("widgets", "en") if id.startswith("widgets.ui_")}
    named = {id for id in mine if f'"{id.removeprefix("widgets.")}"' in text}
    unused = {id for id in mine - named if not id.startswith(built_up) and not re.match(r".*gradient_\w+_plot$", id)}
    assert unused == set()
