"""How a compiled segment is called from Python: in as little time as can be.

ctypes takes longer to pass one argument than a small segment runs, so functions without arguments are made beside the
segments: in each library a few places where the address of a table of pointers is kept, and of every segment one
function a place. Whoever finds no place free, and programs of many segments, pass the address. Short segments keep the
interpreter's lock: letting others have it for a microsecond costs more than that.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tutorlib.compile.c_program import Table

PLACES = 4
# A library of more segments has no places: compiling the functions would take long.
_MOST_SEGMENTS = 4
# Operations of a program up to which it keeps the lock: some ten microseconds.
_BRIEF = 20_000


def entries(segments: Sequence[str]) -> str:
    """C text: of each segment, one function without arguments for each place."""
    if len(segments) > _MOST_SEGMENTS:
        return ""
    lines = [f"static void **tl_tables[{PLACES}];", "void tl_keep(int place, void **a) { tl_tables[place] = a; }"]
    for segment in segments:
        lines += [f"void {segment}_at_{k}(void) {{ {segment}(tl_tables[{k}]); }}" for k in range(PLACES)]
    return "\n".join([*lines, ""])


_free: weakref.WeakKeyDictionary[ctypes.CDLL, list[int]] = weakref.WeakKeyDictionary()


def calls_of(loaded: ctypes.CDLL, segments: Sequence[str], table: Table, work: int) -> list[Callable[[], Any]]:
    """What runs each segment on ``table``. ``work``: about how many operations all take."""
    source = ctypes.PyDLL(loaded._name, handle=loaded._handle) if work <= _BRIEF else loaded
    free = _free.setdefault(loaded, list(range(PLACES if len(segments) <= _MOST_SEGMENTS else 0)))
    if not free:
        return [partial(_function(source[name], [ctypes.c_void_p], table), table.address) for name in segments]
    place = free.pop()
    _function(loaded["tl_keep"], [ctypes.c_int, ctypes.c_void_p], table)(place, table.address)
    # Nobody can call it any more when the table is gone, which the functions hold.
    weakref.finalize(table, free.append, place).atexit = False
    return [_function(source[f"{name}_at_{place}"], [], table) for name in segments]


def _function(function: Any, arguments: list[Any], table: Table) -> Any:
    function.argtypes, function.restype, function.table = arguments, None, table
    return function
