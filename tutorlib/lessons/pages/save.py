"""Writes a page to a file, and never over one that somebody else wrote or edited."""

import hashlib
import re
from pathlib import Path

from tutorlib.lessons.build import EditedByHand

MARK = re.compile(r"\n<!-- built by tutorlib, ([0-9a-f]{16}) -->\n\Z")


def write_page(page: str, path: Path, *, overwrite: bool = False) -> None:
    """Write the HTML to `path`, with a mark at its end by which the next build knows it as untouched.

    Raises `EditedByHand` when there is a file that no build wrote or that was edited since, unless `overwrite`.
    """
    if path.exists() and not overwrite and not _untouched(path.read_text(encoding="utf-8")):
        raise EditedByHand(f"{path.name} was not built, or edited since; move it away, or build with --overwrite")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{page.rstrip()}\n<!-- built by tutorlib, {_digest(page)} -->\n", encoding="utf-8", newline="\n")


def _untouched(text: str) -> bool:
    mark = MARK.search(text)
    return mark is not None and mark[1] == _digest(text[: mark.start()])


def _digest(page: str) -> str:
    return hashlib.sha256(page.rstrip().encode()).hexdigest()[:16]
