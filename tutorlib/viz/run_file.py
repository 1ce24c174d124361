"""Runs on disk: one `.npz` archive with a JSON text and the arrays that were kept whole. Never a pickle, never code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from tutorlib.core.errors import TutorlibError
from tutorlib.messages import message
from tutorlib.tools import gradient_stats
from tutorlib.tools.frames import Frame, Frames, Held, Row, Rule, Track, Write
from tutorlib.tools.serialize import archive_path, read_archive, write_archive
from tutorlib.viz.kept import Kept
from tutorlib.viz.run import Run

__all__ = ["load_run", "save_run"]

KIND, VERSION = "tutorlib run", 1
FRAME_FIELDS = ("update", "by", "marks", "number", "event", "branch", "back_to")


def save_run(run: Run, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """What `Run.save` documents."""
    target = archive_path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(message("widgets.error_file_exists", name=target.name))
    arrays: dict[str, np.ndarray] = {}
    held: dict[int, int] = {}
    entries: list[dict[str, Any]] = []
    frames = []
    for frame in run.recording.frames:
        values = {}
        for place, write in frame.values.items():
            if id(write.held) not in held:
                held[id(write.held)] = len(entries)
                entries.append(_held_json(write.held, arrays))
            values[str(place)] = [held[id(write.held)], write.update, write.moved, write.anew]
        shown = {field: getattr(frame, field) for field in FRAME_FIELDS}
        returned = None if frame.returned is None else [_text(v) for v in frame.returned]
        why = {str(place): text for place, text in frame.why.items()}
        loss = None if frame.loss is None else repr(frame.loss)
        frames.append({**shown, "values": values, "returned": returned, "why": why, "loss": loss})
    recording = run.recording
    tracks = [[name, track.asked] for name, track in zip(run.names, recording.tracks, strict=True)]
    text = {
        "kind": KIND, "version": VERSION, "name": run.name, "keep": run.keep, "every": recording.every,
        "updates": recording.updates, "stride": recording.ring.stride, "count": recording.ring.count,
        "limit": recording.ring.limit, "tracks": tracks, "held": entries, "frames": frames,
    }  # fmt: skip
    return write_archive(path, {"run": np.frombuffer(json.dumps(text).encode(), np.uint8), **arrays})


def load_run(path: str | os.PathLike[str]) -> Run:
    """Read what `run.save` wrote, to look at it again or to compare with another run.

    Raises TutorlibError for a file that is none, is damaged, or was written by a later tutorlib.

    >>> import tempfile, tutorlib as tl
    >>> w = tl.shared([1.0, 2.0], name="w")
    >>> with tl.record(w) as run:
    ...     w.set_value([3.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = tl.load_run(run.save(f"{folder}/first"))
    >>> again.frames[-1]["values"]["w"]
    array([3., 4.])
    """
    name = Path(path).name
    with read_archive(path, "run.save") as archive:
        if "run" not in archive:
            raise TutorlibError(message("widgets.run_other_file", name=name), fix=message("widgets.run_other_file_fix"))
        try:
            text = json.loads(archive["run"].tobytes().decode())
            kind, version = text["kind"], text["version"]
        except (ValueError, KeyError, TypeError, BadZipFile):
            kind, version = "", 0
        if kind != KIND:
            raise TutorlibError(message("widgets.run_other_file", name=name), fix=message("widgets.run_other_file_fix"))
        if version != VERSION:
            says = message("widgets.run_other_version", name=name, version=version)
            raise TutorlibError(says, fix=message("widgets.run_other_version_fix"))
        try:
            return _run(text, archive)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, BadZipFile) as error:
            says = message("widgets.run_damaged", name=name, error=f"{type(error).__name__}: {error}")
            raise TutorlibError(says, fix=message("widgets.run_damaged_fix")) from None


def _held_json(held: Held, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    kept, rule = held.kept, held.rule
    data: dict[str, Any] = {
        "norm": repr(held.norm), "change": None if held.change is None else repr(held.change),
        "entry": kept.entry, "delta": kept.change, "outline": kept.outline,
        "gradient": None if kept.gradient is None else gradient_stats.as_json(kept.gradient),
        "rule": None if rule is None else [rule.template, list(rule.names)],
        "rows": [[list(r.index), repr(r.before), [repr(v) for v in r.operands], repr(r.after)] for r in held.rows],
    }  # fmt: skip
    if kept.array is not None:
        data["array"] = f"array{len(arrays)}"
        arrays[data["array"]] = kept.array
    return data


def _run(text: dict[str, Any], archive: Any) -> Run:
    recording = Frames(int(text["every"]), int(text["limit"]))
    recording.updates = int(text["updates"])
    recording.ring.stride, recording.ring.count = int(text["stride"]), int(text["count"])
    recording.tracks = [Track(str(name), asked=bool(asked)) for name, asked in text["tracks"]]
    held = [_held(entry, archive) for entry in text["held"]]
    for shown in text["frames"]:
        frame = Frame(**{field: shown[field] for field in FRAME_FIELDS})
        frame.returned, frame.loss = shown["returned"], None if shown["loss"] is None else float(shown["loss"])
        frame.why = {int(place): str(why) for place, why in shown["why"].items()}
        for place, (at, update, moved, anew) in shown["values"].items():
            frame.values[int(place)] = Write(held[at], int(update), bool(moved), bool(anew))
        if set(frame.values) != set(range(len(recording.tracks))):
            raise ValueError("a frame lacks a variable")
        recording.ring.frames.append(frame)
    if not recording.frames:
        raise ValueError("no frames")
    return Run(recording, str(text["keep"]), str(text["name"]))


def _held(data: dict[str, Any], archive: Any) -> Held:
    gradient = None if data["gradient"] is None else gradient_stats.from_json(data["gradient"])
    array = archive[data["array"]] if "array" in data else None
    parts = {field: data[source] for field, source in (("entry", "entry"), ("change", "delta"), ("outline", "outline"))}
    kept = Kept.known({"array": array, "gradient": gradient, **parts})
    rule = None if data["rule"] is None else Rule(str(data["rule"][0]), tuple(map(str, data["rule"][1])))
    rows = [
        Row(tuple(index), float(before), tuple(map(float, operands)), float(after))
        for index, before, operands, after in data["rows"]
    ]
    change = None if data["change"] is None else float(data["change"])
    return Held.known(kept, float(data["norm"]), change, rule, rows)


def _text(value: Any) -> str:
    from tutorlib.viz.values import numbers_text

    return value if isinstance(value, str) else numbers_text(np.asarray(value))
