"""The progress report as a notebook shows it: the table, and buttons to take the record home and to bring it in."""

from __future__ import annotations

import base64
import html
import tempfile
from pathlib import Path
from typing import Any

from tutorlib.lessons.progress import read_progress
from tutorlib.lessons.progress_report import progress
from tutorlib.lessons.progress_transfer import NoProgressFile, export_progress, import_progress
from tutorlib.messages import message

FILE = "progress.jsonl"


def progress_widget() -> Any:
    """A widget with today's report; needs ipywidgets."""
    import ipywidgets as w

    table, link, said = w.HTML(), w.HTML(), w.HTML()
    again = w.Button(description=message("lessons.progress_refresh"))
    bring = w.FileUpload(accept=".jsonl", description=message("lessons.progress_upload"))
    bring.layout.width = "auto"

    def refresh(reply: str = "") -> None:
        table.value = progress()._repr_html_()
        link.value = _link()
        said.value = f'<div role="status">{html.escape(reply)}</div>'

    def brought(change: Any) -> None:
        if change.new:
            replies = [_bring_in(file["name"], bytes(file["content"])) for file in change.new]
            bring.value = ()
            refresh(" ".join(replies))

    again.on_click(lambda _: refresh())
    bring.observe(brought, "value")
    refresh()
    return w.VBox([table, w.HBox([again, bring, link]), said])


def _link() -> str:
    """A link by which the browser saves the record; nothing where there is none."""
    if not read_progress():
        return ""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        export_progress(file)
        data = base64.b64encode(file.read_bytes()).decode()
    text = html.escape(message("lessons.progress_download"))
    href = f"data:application/octet-stream;base64,{data}"
    return f'<a download="{FILE}" href="{href}" style="text-decoration: underline">{text}</a>'


def _bring_in(name: str, content: bytes) -> str:
    """Add the attempts in an uploaded file to the learner's own; what came of it, in words."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        file.write_bytes(content)
        try:
            return message("lessons.progress_imported", file=name, n=import_progress(file))
        except NoProgressFile:
            return message("lessons.progress_nothing_there", file=name)
        except OSError as problem:
            return message("lessons.progress_no_access", file=problem.filename, why=problem.strerror)
