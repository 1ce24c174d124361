"""Brings the lessons into a learner's folder and keeps them current there, without ever touching the learner's work.

A manifest remembers the digest of what was copied, which tells an untouched lesson from a changed one.
Nothing here knows about JupyterLab.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MANIFEST = Path(".tutorlib") / "lessons.json"


@dataclass(frozen=True)
class Change:
    """What happened to one lesson.

    Args:
        kind: "copied" (it was not there), "refreshed" (the learner had not changed theirs), or
            "beside" (both had changed: the learner's stays, the new one has another name).
        path: the file that was written, relative to the learner's folder.
        lesson: the lesson's own name, relative to the learner's folder.
    """

    kind: str
    path: str
    lesson: str


def update_folder(lessons: Path, folder: Path) -> list[Change]:
    """Copy new and changed lessons from `lessons` into `folder`; return what was done, in order of the names.

    A file that the learner has changed, or that was there before, is never written to. A lesson which the learner
    deleted comes back fresh.

    Raises:
        OSError: `folder` cannot be made or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    manifest = _read_manifest(folder)
    changes = []
    for name in _names(lessons):
        content = (lessons / name).read_bytes()
        change = _update_one(name, content, folder, manifest.setdefault(name, {}))
        if change:
            changes.append(change)
            # Written each time, so that an interruption forgets nothing of what was done.
            _write_manifest(folder, manifest)
    _write_manifest(folder, manifest)
    return changes


def _update_one(name: str, content: bytes, folder: Path, known: dict[str, str]) -> Change | None:
    target, new = folder / name, _digest(content)
    if not target.exists():
        known.update(copied=new)
        write_atomically(target, content)
        return Change("copied", name, name)
    theirs = _digest(target.read_bytes())
    if theirs == new or "copied" not in known:
        known.update(copied=new)
        return None
    if new in (known["copied"], known.get("beside")):
        return None
    if theirs == known["copied"]:
        known.update(copied=new)
        write_atomically(target, content)
        return Change("refreshed", name, name)
    known.update(beside=new)
    free = _free_name(target)
    write_atomically(free, content)
    return Change("beside", free.relative_to(folder).as_posix(), name)


def _names(lessons: Path) -> Iterator[str]:
    """The files of the lessons, without caches and other hidden things."""
    for path in sorted(lessons.rglob("*")):
        name = path.relative_to(lessons)
        if path.is_file() and not any(part.startswith((".", "__")) for part in name.parts):
            yield name.as_posix()


def _free_name(target: Path) -> Path:
    number = 1
    while True:
        suffix = "_new" if number == 1 else f"_new{number}"
        candidate = target.with_name(target.stem + suffix + target.suffix)
        if not candidate.exists():
            return candidate
        number += 1


def _read_manifest(folder: Path) -> dict[str, dict[str, str]]:
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {str(name): {str(key): str(value) for key, value in known.items()} for name, known in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Without it every file counts as the learner's own, which is the safe side.
        return {}


def _write_manifest(folder: Path, manifest: dict[str, dict[str, str]]) -> None:
    text = json.dumps({"version": 1, "files": manifest}, indent=1, sort_keys=True) + "\n"
    write_atomically(folder / MANIFEST, text.encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a power cut, meets the old content or the new one and nothing between.

    Raises:
        OSError: the file cannot be written; no partial file is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
