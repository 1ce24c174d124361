"""Finds the lessons that came with this copy of tutorlib. Copying and opening them is done elsewhere."""

from __future__ import annotations

from pathlib import Path

import tutorlib
from tutorlib.messages import DEFAULT_LANGUAGE, language, message

PACKAGE = Path(tutorlib.__file__).resolve().parent


def lessons_dir(lang: str | None = None) -> Path:
    """The folder of the lessons in a language: the wheel's own, or else the checkout's `notebooks/`.

    Args:
        lang: a language such as "en"; the learner's (`TUTORLIB_LANG`) when None. English where there is no other.

    Raises:
        FileNotFoundError: this copy of tutorlib carries no lessons.

    >>> lessons_dir("en").name
    'en'
    """
    for wanted in dict.fromkeys((lang or language(), DEFAULT_LANGUAGE)):
        for root in (PACKAGE / "_notebooks", PACKAGE.parent / "notebooks"):
            if any((root / wanted).glob("*.ipynb")):
                return root / wanted
    raise FileNotFoundError(message("cli.lab.no_lessons"))
