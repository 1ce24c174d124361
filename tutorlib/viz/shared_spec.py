"""The data contract of SharedView: a run as plain data, and the same in words. No pictures, no widget."""

from __future__ import annotations

from typing import Any

from tutorlib.messages import message
from tutorlib.tools.frames import Frame, Write
from tutorlib.viz.face import shorten
from tutorlib.viz.run import Run, returned_text
from tutorlib.viz.values import number, plain_float

__all__ = ["by_text", "describe", "shared_spec", "summary"]

ROWS = 12


def shared_spec(run: Run, other: Run | None = None, contour: dict[str, Any] | None = None) -> dict[str, Any]:
    """The whole spec for what has been recorded so far; `other` is a second run drawn over it."""
    names, recording = run.names, run.recording
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
    for frame in recording.frames:
        shown: dict[str, Any] = {
            "update": frame.update,
            "by": by_text(frame),
            "marks": [shorten(m, 40) for m in frame.marks],
            "event": frame.event,
            "branch": frame.branch,
            "loss": None if frame.loss is None else plain_float(frame.loss),
            "returned": returned_text(frame),
            **{field: {} for field in ("values", "delta", "outline", "norm", "change", "sums")},
        }
        for i, write in frame.values.items():
            key = ids[i]
            shown["values"][key] = put(write.kept.entry)
            shown["norm"][key] = plain_float(write.norm)
            if write.change is not None:
                shown["change"][key] = plain_float(write.change)
            if not write.moved:
                continue
            if write.rule is not None and write.rows:
                shown["sums"][key] = _sums(names[i], write)
            # A change is shown only beside the value it started from.
            if write.kept.change is not None and before == frame.update - 1:
                shown["delta"][key] = put(write.kept.change)
                if write.kept.outline is not None:
                    shown["outline"][key] = write.kept.outline
        frames.append(shown)
        before = frame.update
    entries = [recording.frames[-1].values[i].kept.entry for i in range(len(names))]
    return {
        "version": 1,
        "variables": [
            {"id": key, "name": shorten(name, 40), "shape": entry["shape"], "dtype": entry["dtype"]}
            for key, name, entry in zip(ids, names, entries, strict=True)
        ],
        "frames": frames,
        "values": values,
        "thinned": recording.stride,
        "name": shorten(run.name, 40),
        "other": None if other is None else _overlay(other, dict(zip(names, ids, strict=True))),
        "contour": contour,
        "rewind": rewind_state(run),
        "text": text_table(run, ROWS),
        "summary": summary(run) + ("" if other is None else " " + _compared(run, other)),
    }


def rewind_state(run: Run) -> dict[str, Any]:
    """Whether the model can be put back, and why not; the answer is the same for all frames."""
    reason = run.why_no_rewind(run.recording.frames[-1].update)
    return {"can": reason is None, "why": "" if reason is None else ": ".join(reason)}


def _sums(name: str, write: Write) -> dict[str, Any]:
    """The update as arithmetic: the expression, and it with the numbers of some elements, [place, numbers, result]."""
    rule = write.rule
    assert rule is not None
    rows = []
    for row in write.rows:
        place = f"{name}[{', '.join(map(str, row.index))}]" if row.index else name
        rows.append([place, rule.with_numbers(tuple(number(v) for v in row.operands)), number(row.after)])
    size = write.kept.entry["stats"]["size"]
    return {"formula": f"{name} ← {rule.text}", "rows": rows, "whole": size == len(rows)}


def _overlay(other: Run, ids: dict[str, str]) -> dict[str, Any]:
    """The lines of a second run, for the variables that have the name of one of the first: over its own updates."""
    frames = other.recording.frames
    lines: dict[str, Any] = {}
    for i, name in enumerate(other.names):
        if name in ids:
            writes = [frame.values[i] for frame in frames]
            lines[ids[name]] = {
                "level": [_level(write) for write in writes],
                "change": [None if w.change is None else plain_float(w.change) for w in writes],
                "numbers": _few_numbers(writes),
            }
    return {
        "name": shorten(other.name, 40) or message("widgets.shared_second"),
        "updates": [frame.update for frame in frames],
        "loss": [None if frame.loss is None else plain_float(frame.loss) for frame in frames],
        "lines": lines,
    }


def _level(write: Write) -> Any:
    stats = write.kept.entry["stats"]
    return stats["mean"] if stats["size"] == 1 and stats["mean"] is not None else plain_float(write.norm)


def _few_numbers(writes: list[Write]) -> list[list[Any]] | None:
    """Of a short vector each element over the frames, None for anything else."""
    arrays = [write.kept.array for write in writes]
    if any(a is None or not 1 < a.size <= 6 or a.size != arrays[0].size for a in arrays):
        return None
    return [[plain_float(a.reshape(-1)[i]) for a in arrays] for i in range(arrays[0].size)]


def by_text(frame: Frame) -> str:
    """Who made an update, in the learner's words."""
    known = {
        "start": "widgets.shared_start",
        "set_value": "widgets.shared_set_value",
        "in-place": "widgets.shared_in_place",
    }
    if frame.by == "rewind" and frame.back_to is not None:
        return message("widgets.shared_rewound", update=frame.back_to)
    return message(known[frame.by]) if frame.by in known else shorten(frame.by, 40)


def summary(run: Run) -> str:
    """One line: which variables, how many updates, from where to where."""
    names, recording = run.names, run.recording
    if not names:
        return message("widgets.shared_nothing_yet")
    shown = ", ".join(shorten(name, 24) for name in names[:4]) + (", …" if len(names) > 4 else "")
    one = "_one" if recording.updates == 1 else ""
    text = message(f"widgets.shared_summary{one}", names=shown, updates=recording.updates)
    if recording.stride > 1:
        kept = message(
            "widgets.shared_kept", n=len(recording.frames) - 1, total=recording.updates, stride=recording.stride
        )
        text += f" {kept}"
    return text


def _compared(run: Run, other: Run) -> str:
    both = [name for name in run.names if name in other.names]
    return message(
        "widgets.shared_compared",
        other=shorten(other.name, 40) or message("widgets.shared_second"),
        updates=other.updates,
        names=", ".join(shorten(name, 24) for name in both[:4]) or "–",
    )


def text_table(run: Run, rows: int) -> str:
    """A table of at most `rows` updates, evenly spread: who, value or norm and change, loss, returned."""
    names, frames = run.names, run.recording.frames
    if len(frames) > rows:
        picks = sorted({round(i * (len(frames) - 1) / (rows - 1)) for i in range(rows)})
        frames = [frames[i] for i in picks]
    head = [message("widgets.shared_header"), message("widgets.shared_by"), *(shorten(n, 24) for n in names)]
    with_returned = any(frame.returned for frame in frames)
    # What a call returned says the loss already.
    with_loss = any(frame.loss is not None and not frame.returned for frame in frames)
    head += [message("widgets.shared_loss")] if with_loss else []
    head += [message("widgets.shared_returned")] if with_returned else []
    lines = [head]
    for frame in frames:
        marks = f" [{', '.join(shorten(m, 40) for m in frame.marks)}]" if frame.marks else ""
        line = [str(frame.update), by_text(frame) + marks]
        line += [_cell(frame.values[i]) for i in range(len(names))]
        line += ["" if frame.loss is None else number(frame.loss)] if with_loss else []
        lines.append(line + ([returned_text(frame) or ""] if with_returned else []))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def describe(run: Run, other: Run | None = None) -> str:
    """Summary, table of all the updates kept, and the last update of each variable as arithmetic."""
    frame = run.recording.frames[-1]
    parts = [f"{summary(run)}\n\n{text_table(run, len(run.recording.frames))}"]
    lines = []
    for i, name in enumerate(run.names):
        write = frame.values[i]
        if write.moved and write.rule is not None and write.rows:
            sums = _sums(name, write)
            lines.append(sums["formula"])
            lines += [f"  {place} ← {numbers} = {result}" for place, numbers, result in sums["rows"]]
    if lines:
        parts.append("\n".join([message("widgets.shared_last_sums", update=frame.update), *lines]))
    if other is not None:
        parts.append(_compared(run, other))
    return "\n\n".join(parts)


def _cell(write: Any) -> str:
    entry = write.kept.entry
    if entry["stats"]["size"] <= 6:
        return entry["text"]
    bad = [f"{entry['stats'][k]} {w}" for k, w in (("nan", "NaN"), ("inf", "inf")) if entry["stats"][k]]
    change = "" if write.change is None else f" ({number(100 * write.change)} %)"
    return ", ".join([f"‖·‖ {number(write.norm)}{change}", *bad])
