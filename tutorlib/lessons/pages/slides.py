"""A lesson as slides: the prose of one idea on the left, its code and what it printed on the right.

Each prose cell begins a slide. Left out are the setup and the cells that judge an answer, which are for those who type.
What `describe()` says of a picture stands beneath it, folded away.
"""

import html
import re
from dataclasses import dataclass, field
from typing import Any

from tutorlib.lessons.build import joined
from tutorlib.lessons.pages.cells import asset, renderer, tags_of, title_of, whole_page, words

LINES_ON_A_SLIDE = 26
LINES_OF_A_PICTURE = 14
JUDGES = re.compile(r"^(check|predict)\(", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.*)", re.MULTILINE)


@dataclass
class Slide:
    """One slide: the section it belongs to, its prose cell if it has one, its code cells."""

    section: str
    prose: dict[str, Any] | None = None
    code: list[dict[str, Any]] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return sum(map(_lines, self.code))


def slides_page(notebook: dict[str, Any]) -> str:
    """The built notebook as a complete HTML document of slides that needs no other file and no network."""
    render = renderer(notebook, ".slides.html")
    slides = slides_of(notebook)
    title = html.escape(title_of(notebook))
    sections = [_section(slide, number, title, render) for number, slide in enumerate(slides, start=1)]
    buttons = (
        f'<nav aria-label="{words(notebook, "slides")}">'
        f'<button id="back" aria-label="{words(notebook, "back")}">←</button>'
        f'<output id="place" data-words="{words(notebook, "place")}"></output>'
        f'<button id="on" aria-label="{words(notebook, "on")}">→</button></nav>'
    )
    keys = f'<p id="keys">{words(notebook, "keys")}</p>'
    body = "\n".join(["<main>", *sections, "</main>", buttons, keys, f"<script>\n{asset('slides.js')}</script>"])
    folded = body.replace("<summary></summary>", f"<summary>{words(notebook, 'in_words')}</summary>")
    return whole_page(notebook, folded, ("cells.css", "slides.css"))


def slides_of(notebook: dict[str, Any]) -> list[Slide]:
    """The cells dealt out to slides, in order."""
    slides: list[Slide] = []
    section = ""
    for cell in notebook["cells"]:
        text = joined(cell["source"])
        if cell["cell_type"] == "markdown":
            slides.append(Slide(section, cell))
            section = ([section, *HEADING.findall(text)])[-1]
        elif "setup" in tags_of(cell) or JUDGES.search(text):
            continue
        elif _is_words(cell) and slides[-1].code:
            slides[-1].code.append(cell)
        elif slides[-1].code and slides[-1].lines + _lines(cell) > LINES_ON_A_SLIDE:
            slides.append(Slide(section, code=[cell]))
        else:
            slides[-1].code.append(cell)
    return slides


def _section(slide: Slide, number: int, title: str, render) -> str:
    """One slide as a `<section>`; without prose the code has the whole width, without code the prose."""
    columns = []
    if slide.prose:
        columns.append(f'<div class="prose">{render(slide.prose)}</div>')
    if slide.code:
        columns.append(f'<div class="code">{"".join(_folded(cell, render(cell)) for cell in slide.code)}</div>')
    where = f'<p class="where">{title}<span>{html.escape(slide.section)}</span></p>'
    wide = " both" if len(columns) == 2 else ""
    body = f'<div class="columns{wide}">{"".join(columns)}</div>'
    return f'<section id="slide-{number}" tabindex="-1">{where}{body}</section>'


def _folded(cell: dict[str, Any], rendered: str) -> str:
    return f"<details><summary></summary>{rendered}</details>" if _is_words(cell) else rendered


def _is_words(cell: dict[str, Any]) -> bool:
    """Whether a cell only says in words what the view before it shows."""
    return bool(re.fullmatch(r"print\(\w+\.describe\(\)\)", joined(cell["source"]).strip()))


def _lines(cell: dict[str, Any]) -> int:
    """About how many lines a code cell and its outputs take; a folded one takes one."""
    if _is_words(cell):
        return 1
    lines = len(joined(cell["source"]).splitlines())
    for output in cell["outputs"]:
        data = output.get("data", {})
        picture = "image/png" in data or "text/html" in data
        text = joined(output.get("text", data.get("text/plain", "")))
        lines += LINES_OF_A_PICTURE if picture else len(text.splitlines())
    return lines
