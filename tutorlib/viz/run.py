"""`tl.record`: the updates of a run, in bounded memory, for SharedView and GradientView, and for you as numbers."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Shared
from tutorlib.core.tensor import Tensor
from tutorlib.messages import message
from tutorlib.tools.frames import LIMIT, Frame, Frames
from tutorlib.tools.history import History
from tutorlib.viz.face import shorten
from tutorlib.viz.kept import KEEP, reducer
from tutorlib.viz.values import numbers_text

__all__ = ["Run", "record", "variable_names", "variables_in"]


class Run:
    """A recording: what `tl.record` gives, and what SharedView and GradientView show.

    Attributes: `frames` (the numbers, see there), `name`, `names` (of the variables), `updates` (how many there were),
    `keep`, `live` (whether it still records).
    """

    def __init__(self, recording: Frames, keep: str, name: str = "") -> None:
        self.recording, self.keep, self.name = recording, keep, name
        self.live = isinstance(recording, History)
        self._followers: weakref.WeakSet[Any] = weakref.WeakSet()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def names(self) -> list[str]:
        """The names of the variables, each another."""
        return variable_names(self.recording.tracks)

    @property
    def updates(self) -> int:
        return self.recording.updates

    @property
    def frames(self) -> list[dict[str, Any]]:
        """The frames kept, oldest first: `update`, `by`, `marks`, `event`, `loss`, `returned`, and by name `values`,
        `norm`, `change`, and `gradient`.

        A value is a NumPy array where it was kept whole, else a dict of its statistics; a gradient (where the update
        used one) is a `GradientStats`.
        """
        return [self._numbers(frame) for frame in self.recording.frames]

    def _numbers(self, frame: Frame) -> dict[str, Any]:
        named = {name: frame.values[i] for i, name in enumerate(self.names)}
        return {
            "update": frame.update,
            "by": frame.by,
            "marks": list(frame.marks),
            "event": frame.event,
            "loss": frame.loss,
            "returned": frame.returned,
            "values": {
                n: w.kept.entry["stats"] if w.kept.array is None else w.kept.array.copy() for n, w in named.items()
            },
            "norm": {n: w.norm for n, w in named.items()},
            "change": {n: w.change for n, w in named.items()},
            "gradient": {n: w.kept.gradient for n, w in named.items() if w.moved and w.kept.gradient is not None},
        }

    def mark(self, text: str) -> Run:
        """Put a word on the present update, such as "epoch 2": it is not thinned out. Returns the run itself."""
        self.recording.mark(text)
        return self

    def stop(self) -> None:
        """Record no more; what was recorded stays."""
        if isinstance(self.recording, History):
            self.recording.stop()
        self.live = False
        self._tell()

    def rewind(self, update: int) -> None:
        """Put the variables back to what they were after update number `update` (0: the start), and go on from there.

        No frame is lost: the rewind is a frame of its own, and what follows it is a new branch. Raises TutorlibError
        for an update that is not among the frames, for values that were not kept whole (`keep="full"` keeps them), and
        for a run read from a file, which has no model.

        >>> import tutorlib as tl
        >>> w = tl.shared([1.0, 2.0], name="w")
        >>> with tl.record(w) as run:
        ...     w.set_value([5.0, 5.0])
        ...     run.rewind(0)
        >>> w.get_value(), [frame["by"] for frame in run.frames]
        (array([1., 2.]), ['start', 'set_value', 'rewind'])
        """
        reason = self.why_no_rewind(update)
        if reason is not None:
            raise TutorlibError(reason[0], fix=reason[1])
        frame = self._frame(update)
        assert frame is not None and isinstance(self.recording, History)
        self.recording.put_back({i: write.kept.array for i, write in frame.values.items()}, update)

    def why_no_rewind(self, update: int) -> tuple[str, str] | None:
        """What stands in the way of a rewind, and what to do about it; None when nothing does."""
        if not isinstance(self.recording, History):
            return message("widgets.rewind_no_model"), message("widgets.rewind_no_model_fix")
        frame = self._frame(update)
        if frame is None:
            numbers = [f.update for f in self.recording.frames]
            nearest = min(numbers, key=lambda n: abs(n - update))
            return message("widgets.rewind_no_frame", update=update), message(
                "widgets.rewind_no_frame_fix", near=nearest
            )
        missing = [name for i, name in enumerate(self.names) if frame.values[i].kept.array is None]
        if missing:
            names = ", ".join(missing[:3])
            return message("widgets.rewind_not_whole", names=names), message("widgets.rewind_not_whole_fix")
        return None

    def _frame(self, update: int) -> Frame | None:
        return next((f for f in self.recording.frames if f.update == update), None)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the run to a file for `tl.load_run`: JSON and arrays, no pickle. `.npz` is added to the name.

        Raises FileExistsError for a file that exists, unless `overwrite`.
        """
        from tutorlib.viz.run_file import save_run

        return save_run(self, path, overwrite=overwrite)

    def describe(self) -> str:
        """All the updates kept, as a table of text."""
        from tutorlib.viz.shared_spec import describe

        return describe(self)

    def follow(self, view: Any) -> None:
        """Call `view.run_changed()` after every new frame, for as long as somebody else holds the view."""
        self._followers.add(view)

    def _tell(self) -> None:
        for view in list(self._followers):
            view.run_changed()

    def __repr__(self) -> str:
        state = "recording" if self.live else "stopped"
        names = ", ".join(shorten(name) for name in self.names[:4]) + (", …" if len(self.names) > 4 else "")
        return f"<Run {self.name + ': ' if self.name else ''}{names or 'nothing yet'}, {self.updates} updates, {state}>"


def record(*what: Any, every: int = 1, keep: str = "thumb", limit: int = LIMIT, name: str = "") -> Run:
    """Record updates from now on: of shared variables by functions, of parameters by training in place.

    Args:
        what: shared variables, parameters, leaf tensors, lists or dicts of them, or models (anything with
            `named_parameters()`). Nothing: every variable that an update or a `backward()` concerns, from then on.
        every: record only each `every`-th update.
        keep: "stats" (numbers about each value), "thumb" (small pictures too; up to 4,096 elements whole), "full"
            (every value whole, so that `run.rewind(k)` can put any model back).
        limit: how many frames are kept: of a longer run every 2nd, 4th, 8th … update, never without the first, the
            last, those with a mark and those where a value became NaN.
        name: for legends, where two runs are compared.

    Ends with the `with` block, with `run.stop()`, or when nobody holds the run any more. Raises TypeError for something
    that keeps no value, ValueError for another `keep`.

    >>> import tutorlib as tl
    >>> w = tl.shared(3.0, name="w")
    >>> step = tl.function([], w ** 2, updates=[(w, w - 0.25 * tl.grad(w ** 2, w))], name="step")
    >>> with tl.record() as run:
    ...     for _ in range(2):
    ...         _ = step()
    >>> print(run.describe())
    w: 2 updates.
    <BLANKLINE>
    update  by     w     returned
    0       start  3
    1       step   1.5   9
    2       step   0.75  2.25
    <BLANKLINE>
    Update 2:
    w ← w − 0.25 · ∂L/∂w
      w ← 1.5 − 0.25 · 3 = 0.75
    """
    if keep not in KEEP:
        raise ValueError(message("widgets.error_keep", keep=keep, known=", ".join(KEEP)))
    found = list(variables_in(what)) if what else None
    if found is not None and not found:
        raise TypeError(message("widgets.error_nothing_to_watch"))
    run: list[weakref.ref[Run]] = []

    def on_frame() -> None:
        held = run[0]() if run else None
        if held is not None:
            held._tell()

    def count() -> int:
        held = run[0]() if run else None
        return max(1, len(held.recording.tracks)) if held is not None else 1

    # The history holds these two and must not hold the run.
    history = History(
        None if found is None else [v for _, v in found], every=every, limit=limit, on_frame=on_frame,
        reduce=reducer(keep, count),
    )  # fmt: skip
    for track, (given, _) in zip(history.tracks, found or (), strict=True):
        track.name = given or track.name
    made = Run(history, keep, name)
    run.append(weakref.ref(made))
    return made


def variables_in(what: Any) -> Iterator[tuple[str | None, Any]]:
    """Every variable in `what`, with the name it has there (None: only its own). Raises TypeError for anything else."""
    if isinstance(what, Shared) or (isinstance(what, Tensor) and what.op is None):
        yield None, what
    elif isinstance(what, Mapping):
        for name, inner in what.items():
            yield from ((str(name), v) for _, v in variables_in(inner))
    elif isinstance(what, list | tuple):
        for inner in what:
            yield from variables_in(inner)
    elif hasattr(what, "named_parameters"):
        yield from ((str(name), v) for name, v in what.named_parameters())
    else:
        raise TypeError(message("widgets.error_not_shared", what=f"{what!r:.60}"))


def variable_names(variables: Any) -> list[str]:
    """A name for each variable; those without one, or with the name of another, are numbered."""
    names: list[str] = []
    for i, variable in enumerate(variables):
        name = str(variable.name) if variable.name else message("widgets.kind_shared")
        names.append(name if variable.name and name not in names else f"{name} {i + 1}")
    return names


def returned_text(frame: Frame) -> str | None:
    """What the call that made the update returned, on one line."""
    if not frame.returned:
        return None
    return ", ".join(v if isinstance(v, str) else numbers_text(np.asarray(v)) for v in frame.returned)
