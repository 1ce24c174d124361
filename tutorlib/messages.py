"""Every sentence a learner reads in a widget, a check or a command, looked up by id. Nothing here computes or draws."""

from __future__ import annotations

import json
import os
from functools import cache
from importlib import resources

DEFAULT_LANGUAGE = "en"


def language() -> str:
    """The language of messages: the environment variable ``TUTORLIB_LANG``, else ``"en"``."""
    return os.environ.get("TUTORLIB_LANG") or DEFAULT_LANGUAGE


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
    return {**_load(name, DEFAULT_LANGUAGE), **_load(name, lang or language())}


def message(id: str, **fields: object) -> str:
    """The message ``id`` ("table.name") in the learner's language with its ``{fields}`` filled in.

    Raises KeyError, naming the id, when no table holds it.
    """
    name = id.partition(".")[0]
    try:
        template = table(name)[id]
    except KeyError:
        raise KeyError(f"no message {id!r} in locale/*/{name}.json") from None
    return template.format(**fields) if fields else template
