"""The data contract of SharedView: a history as plain data, and the same in words. No pictures, no widget."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.messages import message
from tutorlib.tools.history import Frame, History
from tutorlib.viz.face import shorten
from tutorlib.viz.values import describe_value, number, numbers_text, plain_float

__all__ = ["Kept", "describe", "reducer", "shared_spec", "variable_names"]

FULL = 4096
ROWS = 12


class Kept:
    """What a frame keeps of a variable: a small array as it is, a large one only as the contract's entries.

    Most frames of a long run are thinned out before anybody looks, so entries of small arrays are made when asked for.
    """

    def __init__(self, value: np.ndarray, change: np.ndarray | None, side: int) -> None:
        self._side = side
        small = value.size <= FULL
        self.array = value if small else None
        self._delta = change if small else None
        self._entry = None if small else self._describe(value)
        self._change = None if small or change is None else self._describe(change)

    def _describe(self, array: np.ndarray) -> dict[str, Any]:
        return describe_value(array, side=self._side, table=8 if array.size <= 64 else 0)

    @property
    def entry(self) -> dict[str, Any]:
        """The contract's entry of the value."""
        if self._entry is None:
            assert self.array is not None
            self._entry = self._describe(self.array)
        return self._entry

    @property
    def change(self) -> dict[str, Any] | None:
        """The contract's entry of the change since the update before, if there is one."""
        if self._change is None and self._delta is not None:
            self._change = self._describe(self._delta)
        return self._change


def reducer(variables: int) -> Any:
    """How a recorder of so many variables reduces values: the more of them, the smaller the thumbnails."""
    side = 32 if variables == 1 else 16 if variables <= 4 else 8

    return lambda value, change: Kept(value, change, side)


def variable_names(variables: list[Any]) -> list[str]:
    """A name for each variable; those without one, or with the name of another, are numbered."""
    names: list[str] = []
    for i, variable in enumerate(variables):
        name = str(variable.name) if variable.name else message("widgets.kind_shared")
        names.append(name if variable.name and name not in names else f"{name} {i + 1}")
    return names


def shared_spec(history: History, names: list[str]) -> dict[str, Any]:
    """The whole spec for what has been recorded so far."""
    first = history.frames[0]
    ids = [f"s{i}" for i in range(len(names))]
    values: dict[str, Any] = {}
    keys: dict[int, str] = {}

    def put(entry: dict[str, Any]) -> str:
        key = keys.get(id(entry))
        if key is None:
            key = keys[id(entry)] = f"v{len(values)}"
            values[key] = entry
        return key

    frames = []
    before = None
    for frame in history.frames:
        shown: dict[str, Any] = {
            "update": frame.update,
            "by": by_text(frame),
            "marks": [shorten(m, 40) for m in frame.marks],
            "values": {},
            "delta": {},
            "norm": {},
            "change": {},
            "returned": returned_text(frame),
        }
        for i, write in frame.values.items():
            shown["values"][ids[i]] = put(write.kept.entry)
            shown["norm"][ids[i]] = plain_float(write.norm)
            if write.change is not None:
                shown["change"][ids[i]] = plain_float(write.change)
            # A change is shown only beside the value it started from.
            if write.update == frame.update and write.kept.change is not None and before == frame.update - 1:
                shown["delta"][ids[i]] = put(write.kept.change)
        frames.append(shown)
        before = frame.update
    entries = [first.values[i].kept.entry for i in range(len(names))]
    return {
        "version": 1,
        "variables": [
            {"id": key, "name": shorten(name, 40), "shape": entry["shape"], "dtype": entry["dtype"]}
            for key, name, entry in zip(ids, names, entries, strict=True)
        ],
        "frames": frames,
        "values": values,
        "thinned": history.stride,
        "text": text_table(history, names, ROWS),
        "summary": summary(history, names),
    }


def by_text(frame: Frame) -> str:
    """Who made an update, in the learner's words."""
    known = {
        "start": "widgets.shared_start",
        "set_value": "widgets.shared_set_value",
        "in-place": "widgets.shared_in_place",
    }
    return message(known[frame.by]) if frame.by in known else shorten(frame.by, 40)


def returned_text(frame: Frame) -> str | None:
    """What the call that made the update returned, on one line."""
    if not frame.returned:
        return None
    return ", ".join(numbers_text(np.asarray(value)) for value in frame.returned)


def summary(history: History, names: list[str]) -> str:
    """One line: which variables, how many updates, from where to where."""
    shown = ", ".join(shorten(name, 24) for name in names[:4]) + (", …" if len(names) > 4 else "")
    text = message("widgets.shared_summary", names=shown, updates=history.updates)
    if history.stride > 1:
        kept = message("widgets.shared_kept", n=len(history.frames) - 1, total=history.updates, stride=history.stride)
        text += f" {kept}"
    return text


def text_table(history: History, names: list[str], rows: int) -> str:
    """A table of at most `rows` updates, evenly spread: who, value or norm and change, returned."""
    frames = history.frames
    if len(frames) > rows:
        picks = sorted({round(i * (len(frames) - 1) / (rows - 1)) for i in range(rows)})
        frames = [frames[i] for i in picks]
    head = [message("widgets.shared_header"), message("widgets.shared_by"), *(shorten(n, 24) for n in names)]
    with_returned = any(frame.returned for frame in frames)
    head += [message("widgets.shared_returned")] if with_returned else []
    lines = [head]
    for frame in frames:
        marks = f" [{', '.join(shorten(m, 40) for m in frame.marks)}]" if frame.marks else ""
        line = [str(frame.update), by_text(frame) + marks]
        line += [_cell(frame.values[i]) for i in range(len(names))]
        lines.append(line + ([returned_text(frame) or ""] if with_returned else []))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def describe(history: History, names: list[str]) -> str:
    """Summary and table of all the updates kept."""
    return f"{summary(history, names)}\n\n{text_table(history, names, len(history.frames))}"


def _cell(write: Any) -> str:
    entry = write.kept.entry
    if entry["stats"]["size"] <= 6:
        return entry["text"]
    bad = [f"{entry['stats'][k]} {w}" for k, w in (("nan", "NaN"), ("inf", "inf")) if entry["stats"][k]]
    change = "" if write.change is None else f" ({number(100 * write.change)} %)"
    return ", ".join([f"‖·‖ {number(write.norm)}{change}", *bad])
