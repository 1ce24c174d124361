"""A quiz as a notebook shows it: the graph, the question, a field, three buttons. It decides nothing: see `quiz.py`."""

from __future__ import annotations

import html
from typing import Any

from tutorlib.messages import message


def quiz_widget(quiz: Any) -> Any:
    """The widget for a `Quiz`; needs ipywidgets."""
    import ipywidgets as w

    program, question, said = w.HTML(), w.HTML(), w.HTML()
    field = w.Text(placeholder=message("lessons.quiz_field"), continuous_update=False)
    check, hint, other = (w.Button(description=message(f"lessons.quiz_{name}")) for name in ("check", "help", "other"))

    def refresh(reply: Any = "") -> None:
        program.value = f"<pre>{html.escape(quiz.program)}</pre>"
        question.value = f"<b>{html.escape(quiz.question.text)}</b>"
        said.value = f'<div role="status">{html.escape(str(reply))}</div>'

    def answered(_: Any) -> None:
        if not field.value.strip():
            return
        reply = quiz.answer(field.value)
        if reply:
            field.value = ""
        refresh(reply)

    def reseeded(_: Any) -> None:
        quiz.reseed()
        field.value = ""
        refresh()

    check.on_click(answered)
    hint.on_click(lambda _: refresh(quiz.hint()))
    other.on_click(reseeded)
    refresh()
    return w.VBox([program, question, w.HBox([field, check, hint, other]), said])
