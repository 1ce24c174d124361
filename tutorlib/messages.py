"""Every sentence a learner reads in a widget, a check or a command, looked up by id. Nothing here computes or draws."""

from __future__ import annotations

import json
import os
from functools import cache
from importlib import resources

DEFAULT_LANGUAGE = "en"


def language(code: str | None = None) -> str:
    """The language of messages, such as ``"en"``: what was last chosen here, else ``TUTORLIB_LANG``, else English.

    ``code`` chooses another one, from now on and for processes started later. Raises ValueError, naming the languages
    there are, when nothing is written in it.
    """
    if code is not None:
        if code not in languages():
            raise ValueError(message("widgets.error_language", code=code, known=", ".join(languages())))
        os.environ["TUTORLIB_LANG"] = code
    return os.environ.get("TUTORLIB_LANG") or DEFAULT_LANGUAGE


def languages() -> tuple[str, ...]:
    """The languages in which there are messages, wholly or in part."""
    folders = (resources.files("tutorlib") / "locale").iterdir()
    return tuple(sorted(folder.name for folder in folders if folder.is_dir()))


@cache
def _load(name: str, lang: str) -> dict[str, str]:
    file = resources.files("tutorlib") / "locale" / lang / f"{name}.json"
    if not file.is_file():
        return {}
    return json.loads(file.read_text(encoding="utf-8"))


def table(name: str, lang: str | None = None) -> dict[str, str]:
    """All messages of one table (``"widgets"``, ``"lessons"``, ``"cli"``), English where a translation is missing.

    >>> isinstance(table("widgets"), dict)
    True
    """
    return dict(_merged(name, lang or language()))


@cache
def _merged(name: str, lang: str) -> dict[str, str]:
    return {**_load(name, DEFAULT_LANGUAGE), **_load(name, lang)}


def message(id: str, **fields: object) -> str:
    """The message ``id`` ("table.name") in the learner's language with its ``{fields}`` filled in.

    Raises KeyError, naming the id, when no table holds it.
    """
    return message_in(language(), id, **fields)


def message_in(lang: str, id: str, **fields: object) -> str:
    """The message ``id`` in the language ``lang``, English where it has none; else as `message`.

    >>> message_in("en", "lessons.ok", key="L04.ex1")
    'L04.ex1: OK'
    """
    name = id.partition(".")[0]
    try:
        template = _merged(name, lang or language())[id]
    except KeyError:
        raise KeyError(f"no message {id!r} in locale/*/{name}.json") from None
    return template.format(**fields) if fields else template
