"""The data contract of GradientView: the gradients of a run as plain data, and the same in words."""

from __future__ import annotations

import math
from typing import Any

from tutorlib.messages import message
from tutorlib.tools.explain import HUGE, TINY
from tutorlib.tools.frames import Frame, Write
from tutorlib.tools.gradient_stats import GradientStats, coarse_bins
from tutorlib.viz.face import shorten
from tutorlib.viz.run import Run
from tutorlib.viz.shared_spec import by_text
from tutorlib.viz.values import number, plain_float

__all__ = ["GUIDE", "gradient_spec"]

# ‖Δw‖ / ‖w‖ of an update that neither crawls nor jumps.
GUIDE = 1e-3
MOST_CELLS = 3000
DIGITS = 5


def gradient_spec(run: Run) -> dict[str, Any]:
    """The whole spec for what has been recorded so far: a cell for each layer and each step."""
    recording = run.recording
    frames = [frame for frame in recording.frames if frame.update and frame.event != "rewind"]
    places = _layers(run, frames)
    room = max(2, MOST_CELLS // max(1, len(places)))
    if len(frames) > room:
        # Never without the last, nor where a value became NaN.
        kept = {round(i * (len(frames) - 1) / (room - 1)) for i in range(room)}
        frames = [f for i, f in enumerate(frames) if i in kept or f.event]
    layers, cells = [], {}
    for place in places:
        key = f"s{place}"
        stats = [_gradient(frame, place) for frame in frames]
        edges, counts = coarse_bins([s for s in stats if s is not None])
        by_step = iter(counts)
        layers.append(
            {
                "id": key,
                "name": shorten(run.names[place], 40),
                "edges": [_digits(e) for e in edges],
                **_size(recording.frames[-1].values[place]),
            }
        )
        cells[key] = [
            _cell(frame, place, s, next(by_step) if s is not None else None)
            for frame, s in zip(frames, stats, strict=True)
        ]
    steps = [
        {
            "update": frame.update,
            "by": by_text(frame),
            "marks": [shorten(m, 40) for m in frame.marks],
            "loss": None if frame.loss is None else plain_float(frame.loss),
        }
        for frame in frames
    ]
    spec = {
        "version": 1,
        "layers": layers,
        "steps": steps,
        "cells": cells,
        "bands": {"tiny": TINY, "huge": HUGE, "guide": GUIDE},
    }
    return {**spec, "text": text_table(spec), "summary": summary(spec)}


def _layers(run: Run, frames: list[Frame]) -> list[int]:
    """The variables to show: those asked for, and of the others those that ever had a gradient (all, if none had)."""
    tracks = run.recording.tracks
    having = [i for i in range(len(tracks)) if tracks[i].asked or any(_gradient(f, i) is not None for f in frames)]
    return having or list(range(len(tracks)))


def _gradient(frame: Frame, place: int) -> GradientStats | None:
    write = frame.values[place]
    return write.kept.gradient if write.moved else None


def _size(write: Write) -> dict[str, Any]:
    entry = write.kept.entry
    return {"shape": entry["shape"], "dtype": entry["dtype"]}


def _cell(frame: Frame, place: int, stats: GradientStats | None, counts: list[int] | None) -> dict[str, Any]:
    if stats is None:
        why = frame.why.get(place) or message("widgets.gradient_not_used")
        return {"norm": None, "why": why}
    change = frame.values[place].change
    return {
        "norm": _digits(stats.norm),
        "q": [_digits(q) for q in stats.quantiles],
        "counts": counts,
        "size": stats.size,
        "zero": stats.zero,
        "nan": stats.nan,
        "pos_inf": stats.plus_inf,
        "neg_inf": stats.minus_inf,
        "ratio": None if change is None else _digits(change),
    }


def _digits(value: float) -> float | str:
    """Five digits are more than a plot can show."""
    return plain_float(float(f"{value:.{DIGITS}g}")) if math.isfinite(value) else plain_float(value)


def verdict(cell: dict[str, Any]) -> str:
    """ "missing", "nan", "zero", "tiny", "huge" or "" for a cell, by the bands that the plot draws."""
    if cell["norm"] is None:
        return "missing"
    if cell["nan"] or cell["pos_inf"] or cell["neg_inf"]:
        return "nan"
    if not cell["q"]:
        return "zero"
    median = float(cell["q"][2])
    return "tiny" if median < TINY else "huge" if median > HUGE else ""


def summary(spec: dict[str, Any]) -> str:
    """One line: how many layers and steps, and what is wrong with which at the last step."""
    if not spec["steps"]:
        return message("widgets.gradient_nothing_yet")
    text = message(
        "widgets.gradient_summary",
        layers=len(spec["layers"]),
        steps=len(spec["steps"]),
        update=spec["steps"][-1]["update"],
    )
    for kind in ("nan", "missing", "zero", "tiny", "huge"):
        names = [layer["name"] for layer in spec["layers"] if verdict(spec["cells"][layer["id"]][-1]) == kind]
        if names:
            shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
            text += " " + message(f"widgets.gradient_{kind}", names=shown)
    return text


def text_table(spec: dict[str, Any], at: int = -1) -> str:
    """A table of one step: a line for each layer."""
    if not spec["steps"]:
        return message("widgets.gradient_nothing_yet")
    head = [message(f"widgets.gradient_{word}") for word in ("layer", "norm", "median", "ratio", "zeros")]
    head += ["NaN", "inf"]
    lines = [head]
    for layer in spec["layers"]:
        cell = spec["cells"][layer["id"]][at]
        if cell["norm"] is None:
            lines.append([layer["name"], f"– {cell['why']}"])
            continue
        median = number(float(cell["q"][2])) if cell["q"] else "–"
        ratio = "–" if cell["ratio"] is None else number(float(cell["ratio"]))
        infinite = cell["pos_inf"] + cell["neg_inf"]
        counts = [str(cell["zero"]), str(cell["nan"]), str(infinite)]
        lines.append([layer["name"], number(float(cell["norm"])), median, ratio, *counts])
    whole = [line for line in lines if len(line) == len(head)]
    widths = [max(len(line[i]) for line in (lines if i == 0 else whole)) for i in range(len(head))]
    rows = ["  ".join(part.ljust(width) for part, width in zip(line, widths, strict=False)).rstrip() for line in lines]
    return "\n".join([message("widgets.gradient_at", update=spec["steps"][at]["update"]), *rows])


def describe(spec: dict[str, Any]) -> str:
    """Summary, the table of the last step, and the norms over at most a dozen steps."""
    parts = [spec["summary"], "", spec["text"]]
    total = len(spec["steps"])
    if total > 1:
        picks = sorted({round(i * (total - 1) / 11) for i in range(12)}) if total > 12 else list(range(total))
        lines = [[message("widgets.shared_header"), *(layer["name"] for layer in spec["layers"])]]
        for at in picks:
            norms = [spec["cells"][layer["id"]][at]["norm"] for layer in spec["layers"]]
            lines.append([str(spec["steps"][at]["update"]), *("–" if n is None else number(float(n)) for n in norms)])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        parts += ["", message("widgets.gradient_norms")]
        parts += ["  ".join(p.ljust(w) for p, w in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join(parts)
