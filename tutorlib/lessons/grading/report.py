"""What the teacher gets: a table, data, a feedback notebook for each learner, notebooks that nbval can run again."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tutorlib.lessons.build import KERNEL, LANGUAGE
from tutorlib.lessons.grading import verdict
from tutorlib.lessons.grading.run_one import Grader
from tutorlib.messages import message

STATEMENT = "from tutorlib.lessons.grading.witness import statement"


def grades_csv(results: Sequence[Mapping[str, Any]]) -> str:
    """One row a submission, one column an exercise: 1, 0, or nothing where the lesson has no such exercise."""
    keys = exercise_keys(results)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["student", "submission", "lesson", "points", "out_of", *keys, "notes"])
    for result in results:
        marks = [_mark(result["exercises"].get(key)) for key in keys]
        notes = "; ".join(filter(None, [result["problem"], *all_notes(result)]))
        row = [result["student"], result["name"], result["lesson"] or "", result["points"], result["out_of"]]
        table.writerow([_plain(value) for value in [*row, *marks, notes]])
    return text.getvalue()


def grades_json(results: Sequence[Mapping[str, Any]]) -> str:
    """All results, for a program that keeps a gradebook."""
    rows = [
        {
            "student": result["student"],
            "submission": result["name"],
            "lesson": result["lesson"],
            "score": result["points"] / result["out_of"] if result["out_of"] else 0.0,
            "points": result["points"],
            "out_of": result["out_of"],
            "exercises": {
                key: {"ok": entry["ok"], "hint": entry["hint"], "counts": entry["counts"]}
                for key, entry in result["exercises"].items()
            },
            "notes": all_notes(result),
            "problem": result["problem"],
        }
        for result in results
    ]
    return json.dumps({"format": 1, "grades": rows}, indent=1, ensure_ascii=False) + "\n"


def feedback(result: Mapping[str, Any], title: str, code: Mapping[str, str]) -> str:
    """The notebook for the learner: each answer as it was handed in, and what is said about it. It holds no values."""
    score = message("lessons.grade_score", points=result["points"], out_of=result["out_of"])
    cells = [_prose(f"# {title}\n\n{result['problem'] or score}", "title")]
    for key, entry in result["exercises"].items():
        lines = [f"### {key}", entry["line"]]
        if not entry["counts"]:
            lines.append(message("lessons.grade_does_not_count"))
        cells.append(_prose("\n\n".join(lines), key.replace(".", "-")))
        if key in code:
            cells.append(_code(code[key], f"{key.replace('.', '-')}-answer", []))
    if result["notes"]:
        cells.append(_prose("\n".join(f"- {note}" for note in result["notes"]), "notes"))
    return _notebook(cells)


def graded_notebook(grader: Grader, result: Mapping[str, Any], code: Mapping[str, str]) -> str:
    """The lesson with this submission's answers, as nbval runs it again: the stored outputs are the reference's."""
    cells = []
    for step in grader.template.steps:
        exercise = step.exercise
        if exercise is None:
            cells.append(_code(step.code, step.key, ["nbval-ignore-output"]))
        elif step.kind == "exercise":
            stopped = result["exercises"][exercise.key]["hint"] in ("timeout", "died")
            text = step.code if stopped else code.get(exercise.key, step.code)
            cells.append(_code(text, step.key, ["nbval-ignore-output", "raises-exception"]))
        else:
            reference = grader.references[exercise.key]
            sites = verdict.places(exercise, reference)
            call = f"print(statement({exercise.key!r}, globals().get({exercise.answer!r}, ...), {list(sites)!r}))"
            said = f"{verdict.statement(exercise, reference)}\n"
            cells.append(_code(f"{STATEMENT}\n\n{call}", step.key, ["nbval-check-output"], said))
    for number, cell in enumerate(cells, 1):
        cell["execution_count"] = number
    return _notebook(cells)


def exercise_keys(results: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted({key for result in results for key in result["exercises"]}, key=_by_number)


def all_notes(result: Mapping[str, Any]) -> list[str]:
    own = [f"{key}: {note}" for key, entry in result["exercises"].items() for note in entry["notes"]]
    return [*result["notes"], *own]


def _by_number(key: str) -> tuple[str, int, str]:
    lesson, _, number = key.partition(".ex")
    return lesson, int(number) if number.isdigit() else 0, key


def _mark(entry: Mapping[str, Any] | None) -> str:
    return "" if entry is None else str(int(entry["ok"]))


def _plain(value: Any) -> str:
    """A cell's text. A spreadsheet takes one that begins with = for a formula, and learners choose file names."""
    text = str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text


def _prose(text: str, id: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str, id: str, tags: list[str], said: str | None = None) -> dict[str, Any]:
    outputs = [] if said is None else [{"name": "stdout", "output_type": "stream", "text": said.splitlines(True)}]
    metadata: dict[str, Any] = {"key": id, "tags": tags} if tags else {}
    lines = text.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "id": id,
        "metadata": metadata,
        "source": lines,
        "execution_count": None,
        "outputs": outputs,
    }


def _notebook(cells: list[dict[str, Any]]) -> str:
    metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
