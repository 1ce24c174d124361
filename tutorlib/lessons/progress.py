"""The learner's own record of their attempts: one JSON line each, only ever appended.

It lies outside the package and outside the lesson folder, so neither an upgrade nor a deleted notebook loses it. What
an attempt is worth is decided in `checker.py`.
"""

import json
import os
import sys
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tutorlib.messages import message

VARIABLE = "TUTORLIB_PROGRESS"


def progress_path() -> Path | None:
    """The progress file: `TUTORLIB_PROGRESS`, else the data folder of this user; None when the variable is empty."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "tutorlib" / "progress.jsonl"


def record(entry: dict[str, Any]) -> None:
    """Append one attempt, stamped with the time, to the progress file.

    A place that cannot be written costs one warning a process and nothing else.
    """
    path = progress_path()
    if path is None:
        return
    stamped = {"time": datetime.now(UTC).isoformat(timespec="seconds"), **entry}
    try:
        append_entries(path, [stamped])
    except OSError as problem:
        _warn_once(str(path), problem.strerror or type(problem).__name__)


def read_progress(path: Path | None = None) -> list[dict[str, Any]]:
    """The attempts recorded so far, oldest first; a line cut off by a crash is passed over and stays in the file."""
    path = path or progress_path()
    if path is None or not path.exists():
        return []
    entries = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries


def append_entries(path: Path, entries: Iterable[dict[str, Any]]) -> None:
    """Add lines in a single write, so that kernels which write at the same time do not mix their lines."""
    lines = "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
    if not lines:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        start = "\n" if _ends_inside_a_line(handle) else ""
        left = f"{start}{lines}".encode()
        while left:
            left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


def _ends_inside_a_line(handle: int) -> bool:
    size = os.fstat(handle).st_size
    if size == 0:
        return False
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1) != b"\n"


@cache
def _warn_once(path: str, reason: str) -> None:
    warnings.warn(message("lessons.progress.unwritable", path=path, reason=reason, variable=VARIABLE), stacklevel=5)
