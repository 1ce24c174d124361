"""Where in the learner's program a node was made: taken in a fraction of a microsecond, resolved to text on demand."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
from functools import lru_cache
from types import CodeType, FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# By name of file, whether it is of this package: the hash of a text is kept, that of a code object is worked out anew
# each time. A caller may look here, and at ``theirs``, before it calls ``mark``.
# Python's own frame of a ``with`` statement is nobody's line.
ours: dict[str, bool] = {contextlib.__file__: True}
# The code last found not to be ours: most often the next is the same.
theirs: list[CodeType | None] = [None]
_getframe = sys._getframe

Mark = tuple[CodeType, int]


def _is_ours(filename: str) -> bool:
    answer = ours[filename] = filename.startswith(_PACKAGE)
    return answer


def of_library(filename: str) -> bool:
    """Whether a file is one of this package."""
    known = ours.get(filename)
    return _is_ours(filename) if known is None else known


def mark(depth: int = 1) -> Mark | None:
    """The innermost frame outside this package, as (code object, instruction offset)."""
    frame: FrameType | None = _getframe(depth)
    while frame is not None:
        code = frame.f_code
        known = ours.get(code.co_filename)
        if not (_is_ours(code.co_filename) if known is None else known):
            theirs[0] = code
            return code, frame.f_lasti
        frame = frame.f_back
    return None


class SourceLine:
    """A line of the learner's program.

    Attributes: ``filename``; ``line`` and ``end_line`` (from 1); ``column`` and ``end_column`` (from 0, or None);
    ``text``, the line without indentation; ``where``, a short stable name of the place ("cell, line 2", "train.py:12").
    """

    __slots__ = ("column", "end_column", "end_line", "filename", "line")

    def __init__(self, filename: str, line: int, end_line: int, column: int | None, end_column: int | None) -> None:
        self.filename = filename
        self.line = line
        self.end_line = end_line
        self.column = column
        self.end_column = end_column

    @property
    def text(self) -> str:
        return linecache.getline(self.filename, self.line).strip()

    @property
    def in_cell(self) -> bool:
        """Whether the line belongs to a notebook cell or an interactive prompt, not to a file."""
        return self.filename.startswith("<") or "ipykernel_" in self.filename

    @property
    def where(self) -> str:
        return f"cell, line {self.line}" if self.in_cell else f"{os.path.basename(self.filename)}:{self.line}"

    def context(self, around: int = 2) -> tuple[list[str], int]:
        """Up to ``around`` lines on each side, and the index of this line among them."""
        lines = linecache.getlines(self.filename)
        first = max(0, self.line - 1 - around)
        return [text.rstrip("\n") for text in lines[first : self.line + around]], self.line - 1 - first

    def pointer(self) -> str:
        """The line with the expression underlined, as errors show it."""
        raw = linecache.getline(self.filename, self.line).rstrip("\n")
        text = raw.strip()
        if not text or self.column is None or self.end_line != self.line:
            return text
        # Positions count UTF-8 bytes; a learner's line may hold Bengali.
        start = len(raw.encode()[: self.column].decode(errors="ignore"))
        end = len(raw.encode()[: self.end_column].decode(errors="ignore"))
        indent = len(raw) - len(raw.lstrip())
        return f"{text}\n{' ' * (start - indent)}{'~' * max(1, end - start)}"

    def __repr__(self) -> str:
        return f"<SourceLine {self.where}: {self.text}>"


@lru_cache(maxsize=4096)
def resolve(place: Mark | SourceLine | None) -> SourceLine | None:
    """The SourceLine of a mark; None when the node was not made by a learner's line. One read from a file is itself."""
    if place is None or isinstance(place, SourceLine):
        return place
    code, offset = place
    for index, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        if index == offset // 2:
            if line is None:
                break
            return SourceLine(code.co_filename, line, end_line or line, column, end_column)
    return SourceLine(code.co_filename, code.co_firstlineno, code.co_firstlineno, None, None)
