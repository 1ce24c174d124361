"""Progress bars over long work, where somebody sees them: on a terminal, and in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["waited_for"]

T = TypeVar("T")


def waited_for(things: Iterable[T], total: int, what: str) -> Iterator[T]:
    """``things`` one by one, with a bar that says ``what`` and how many of ``total`` are done.

    There is none where output goes to a file or a pipe, nor where tqdm is not installed.

    >>> list(waited_for([1, 2], 2, "lessons"))
    [1, 2]
    """
    in_notebook = "ipykernel" in sys.modules
    if not in_notebook and not sys.stderr.isatty():
        return iter(things)
    try:
        bars: Any = import_module("tqdm.auto")
    except ImportError:
        return iter(things)
    return iter(bars.tqdm(things, total=total, desc=what, leave=False, file=sys.stderr))


def say(line: str) -> None:
    """Print a line without breaking the bar that may be on the screen."""
    if "tqdm" in sys.modules:
        sys.modules["tqdm"].tqdm.write(line, file=sys.stdout)
        sys.stdout.flush()
    else:
        print(line, flush=True)
