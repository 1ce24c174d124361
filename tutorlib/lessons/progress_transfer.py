"""Takes the record of attempts to another machine and back: two files become one, and neither loses a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tutorlib.lessons.progress import append_entries, progress_path, read_progress


class NoProgressFile(ValueError):
    """There is no file to read, or it holds no attempts, or recording is turned off."""


def export_progress(target: Path) -> int:
    """Add the attempts of this machine to the file `target`, which may hold others; how many were new there."""
    return _add(read_progress(), target)


def import_progress(source: Path) -> int:
    """Add the attempts in the file `source` to those of this machine; how many were new.

    Raises `NoProgressFile` for a file that is missing or holds no attempts, and where recording is turned off.
    """
    own = progress_path()
    entries = [entry for entry in read_progress(source) if isinstance(entry.get("key"), str)]
    if own is None or not entries:
        raise NoProgressFile(str(source))
    return _add(entries, own)


def _add(entries: list[dict[str, Any]], target: Path) -> int:
    """Append what `target` does not hold yet. Twice the same attempt in one file are two attempts."""
    there = Counter(map(_identity, read_progress(target)))
    seen: Counter[str] = Counter()
    new = []
    for entry in entries:
        identity = _identity(entry)
        seen[identity] += 1
        if seen[identity] > there[identity]:
            new.append(entry)
    append_entries(target, new)
    return len(new)


def _identity(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True)
