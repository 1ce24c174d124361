"""Lets the C library keep the memory of large arrays, where it would give every one back and ask for it anew.

Dynamic mode makes a new array for each result. glibc hands large ones back to the system as soon as they are dropped,
and the system clears every page before it gives it out again: on arrays of megabytes that takes longer than computing.
"""

from __future__ import annotations

import os
import sys

from tutorlib.core.config import config

# A tensor, or a graph, of so many bytes shows that a program works on large arrays.
LARGE = 1 << 20
# What mallopt sets, by glibc's numbers: blocks up to 32 MiB come from memory that is kept; 512 MiB of it may lie ready.
_SETTINGS = ((-3, 32 << 20), (-1, 512 << 20))
_done = False


def keep() -> None:
    """Make the settings, once, on Linux with glibc; nothing elsewhere, where ``config.keep_memory`` is False, or where
    the environment has settings of its own (``MALLOC_...``)."""
    global _done
    if _done or not config.keep_memory:
        return
    _done = True
    if not sys.platform.startswith("linux") or any(name.startswith("MALLOC_") for name in os.environ):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in _SETTINGS:
            mallopt(parameter, value)
