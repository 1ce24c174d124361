"""A lesson as one page to read from top to bottom."""

from typing import Any

from tutorlib.lessons.pages.cells import renderer, whole_page, words


def html_page(notebook: dict[str, Any]) -> str:
    """The built notebook as a complete HTML document that needs no other file and no network."""
    render = renderer(notebook, ".html")
    note = f'<p class="note">{words(notebook, "read_only")}</p>'
    body = "\n".join(["<main>", *map(render, notebook["cells"]), "</main>", f"<footer>{note}</footer>"])
    return whole_page(notebook, body, ("cells.css", "page.css"))
