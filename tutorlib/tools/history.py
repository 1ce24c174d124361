"""Watches variables and records their updates: by compiled functions, by `set_value`, by training in place.

An update is one call of a compiled function, however many variables it writes; or one `set_value`; or one pass over
parameters changed in place, as an optimiser makes it. What a frame costs is paid when it turns out to stay: of a long
run most updates are only copied, and forgotten. Draws nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.function import Function
from tutorlib.core.backend import device_of, put, to_host
from tutorlib.core.errors import TutorlibError, shape_text
from tutorlib.core.graph import Shared
from tutorlib.core.observe import Observer, add_observer, remove_observer
from tutorlib.core.storage import Storage
from tutorlib.core.tensor import Tensor
from tutorlib.messages import message
from tutorlib.tools.explain import explain
from tutorlib.tools.frames import LIMIT, Frame, Frames, Held, Reduce, Rule, Track, Write
from tutorlib.tools.update_parts import UpdateParts

__all__ = ["History"]

# Writes that make one update together when several variables are written one after the other.
PASSES = ("in-place", "rewind")
LONGEST_RESULT = 64


class History(Frames, Observer):
    """Records a frame after each update of variables.

    Args:
        variables: shared variables, parameters or leaf tensors; None for every one that a function updates, a gradient
            walk reaches or an in-place step changes, from then on.
        every: record only each `every`-th update.
        limit: how many frames are kept.
        reduce: `reduce(value, change, gradient)` of NumPy arrays (`change` and `gradient` may be None) gives what a
            frame keeps; the value by default.
        on_frame: called after each new or completed frame.

    Recording goes on until `stop()`, or until nobody holds the history any more.

    >>> import tutorlib as tl
    >>> s = tl.shared(1.0, name="s")
    >>> history = History([s])
    >>> s.set_value(2.0)
    >>> [(frame.update, frame.by, float(frame.values[0].kept)) for frame in history.frames]
    [(0, 'start', 1.0), (1, 'set_value', 2.0)]
    """

    def __init__(
        self,
        variables: Sequence[Any] | None = None,
        *,
        every: int = 1,
        limit: int = LIMIT,
        reduce: Reduce | None = None,
        on_frame: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(every, limit)
        self._reduce: Reduce = reduce or (lambda value, change, gradient: value)
        self._on_frame = on_frame
        self._discovers = variables is None
        self._place: dict[int, int] = {}
        # Of each variable the last copy taken, with what tells whether it is still the value.
        self._copies: dict[int, tuple[Any, int, np.ndarray]] = {}
        self._seen: dict[int, tuple[Any, int]] = {}
        self._parts: weakref.WeakKeyDictionary[Function, UpdateParts] = weakref.WeakKeyDictionary()
        self._calls: dict[int, _Call] = {}
        self._olds: dict[int, np.ndarray] = {}
        self._open: set[int] = set()
        self._open_by = ""
        self._fresh: dict[int, Any] = {}
        self._why: dict[int, str] = {}
        self._explained: set[int] = set()
        self._loss: float | None = None
        # The function that trains, with the inputs of its latest recorded call: its loss can be drawn.
        self.latest: tuple[Any, ...] | None = None
        self._putting_back = False
        self.ring.append(Frame(0, "start"))
        for variable in variables or ():
            self.tracks[self._add(variable)].asked = True
        add_observer(self)

    def stop(self) -> None:
        """Record no more; what was recorded stays."""
        remove_observer(self)
        self._calls.clear()
        self._fresh.clear()
        for frame in self.frames:
            frame.settle()

    def mark(self, text: str) -> None:
        super().mark(text)
        self._tell()

    def put_back(self, values: dict[int, np.ndarray], update: int) -> None:
        """Write these values (by place in `tracks`) into the variables, and record that as a rewind to `update`."""
        self._putting_back = True
        try:
            for place, value in values.items():
                cell = self.tracks[place].storage
                array = put(np.array(value), device_of(cell._data if isinstance(cell, Tensor) else cell.value))
                if isinstance(cell, Tensor):
                    cell._write(array)
                else:
                    cell.write(array, by="rewind")
        finally:
            self._putting_back = False
        self.updates += 1
        self._open = set()
        frame = self._next("rewind", ())
        frame.event, frame.back_to, frame.branch = "rewind", update, frame.branch + 1
        self._enter(frame)

    # ---- what the engine tells ----

    def before_call(self, function: Any, inputs: Any) -> None:
        if (self.updates + 1) % self.every or not self._updated_by(function, self._discovers):
            return
        parts = self._parts.get(function)
        if parts is None:
            parts = self._parts[function] = UpdateParts(function)
        updated = {id(shared.storage) for shared, _ in function.updates}
        before = {id(shared): self._reading(shared, id(shared.storage) in updated) for shared in parts.needs}
        copies = [array.copy() if isinstance(array, np.ndarray) else array for array in inputs]
        olds = {place: self._copy(place) for place in self._updated_by(function)}
        self._calls[id(function)] = _Call(parts, copies, before, olds)
        if parts.loss is not None:
            self.latest = (function, *copies)

    def on_call(self, function: Any, inputs: Any, outputs: Any) -> None:
        places = self._updated_by(function)
        call = self._calls.pop(id(function), None)
        if not places:
            return
        self._open = set()
        self.updates += 1
        if self.updates % self.every:
            return
        call = call or _Call(None, [], {}, {})
        frame = self._next(function.name or "function", places)
        frame.values.update(
            {place: self._written(place, call.olds.get(place), call.of(i)) for place, i in places.items()}
        )
        frame.returned = [_short(output) for output in outputs] or None
        if call.parts is not None:
            frame.loss = None if call.parts.loss is None else float(outputs[call.parts.loss])
            frame.why = self._without_gradient(call.parts)
        self._enter(frame)

    def on_gradient(self, cost: Any, gradients: Any) -> None:
        self._open = set()
        mine = False
        for var, gradient in gradients:
            if var.op is not None:
                continue
            place = self._place.get(id(_cell(var)))
            if place is None and self._discovers and var.requires_grad:
                place = self._add(var)
            if place is not None:
                mine = True
                self.tracks[place].tensor = var
                self._fresh[place] = gradient
                self._why.pop(place, None)
        if not mine:  # of somebody else's model: nothing of it is to be read, least of all from a GPU
            return
        if cost is not None and cost.size == 1:
            self._loss = float(to_host(cost._data).item())
        for place, track in enumerate(self.tracks):
            if track.tensor is not None and place not in self._fresh and place not in self._explained:
                self._explained.add(place)
                found = explain(track.tensor, cost)
                if found.verdict == "none":
                    self._why[place] = found.sentences[0]

    def before_write(self, storage: Any, by: Any) -> None:
        place = self._place.get(id(storage))
        if place is None and self._discovers and by == "in-place" and _trains(storage):
            place = self._add(storage)
        if place is not None and (self._joins(place, by) or not (self.updates + 1) % self.every):
            self._olds[place] = self._copy(place)

    def on_write(self, storage: Any, by: Any) -> None:
        """A write by a function waits for the end of its call; any other is an update of its own."""
        place = self._place.get(id(storage))
        if place is None or not isinstance(by, str) or self._putting_back:
            return
        joins = self._joins(place, by)
        if not joins:
            self.updates += 1
            self._open, self._open_by = set(), by
        if by in PASSES:
            self._open.add(place)
        if self.updates % self.every:
            return
        terms = self._trained(place) if by == "in-place" else None
        write = self._written(place, self._olds.pop(place, None), terms)
        if joins and self.frames[-1].update == self.updates:
            frame = self.frames[-1]
            frame.values[place] = write
            self._judge(frame)
            self._tell()
            return
        frame = self._next(by, (place,))
        frame.values[place] = write
        if by == "in-place":
            frame.loss, self._loss = self._loss, None
            frame.why = dict(self._why)
        self._enter(frame)

    # ---- frames ----

    def _next(self, by: str, written: Container[int]) -> Frame:
        """A new frame with everything as it is now; the variables in `written` will be put in by the caller."""
        last = self.frames[-1]
        frame = Frame(self.updates, by, branch=last.branch)
        for place, write in last.values.items():
            raw, version = _state(self.tracks[place].storage)
            seen = self._seen[place]
            if place in written or (raw is seen[0] and version == seen[1]):
                frame.values[place] = Write(write.held, write.update)
            else:
                # It changed in an update that was passed over.
                frame.values[place] = Write(self._hold(place), self.updates, anew=True)
        return frame

    def _hold(self, place: int, before: np.ndarray | None = None, terms: Any = None) -> Held:
        self._seen[place] = _state(self.tracks[place].storage)
        return Held(self._copy(place), before, self._reduce, terms)

    def _written(self, place: int, before: np.ndarray | None, terms: Any) -> Write:
        return Write(self._hold(place, before, terms), self.updates, moved=True)

    def _enter(self, frame: Frame) -> None:
        self._judge(frame)
        self.ring.append(frame)
        self._tell()

    def _judge(self, frame: Frame) -> None:
        """Whether this is where a value stopped being a number."""
        if frame.event:
            return
        at = self.frames.index(frame) - 1 if frame is self.frames[-1] else len(self.frames) - 1
        earlier = self.frames[at].values if at >= 0 else {}
        for place, write in frame.values.items():
            if not np.isfinite(write.norm) and (place not in earlier or np.isfinite(earlier[place].norm)):
                frame.event = "nan"

    def _tell(self) -> None:
        if self._on_frame is not None:
            self._on_frame()

    # ---- variables ----

    def _add(self, variable: Any) -> int:
        """Watch a variable from now on. It was not written since the start, so earlier frames held the same value."""
        cell, place = _cell(variable), len(self.tracks)
        self.tracks.append(Track(variable.name, cell, variable if isinstance(variable, Tensor) else None))
        self._place[id(cell)] = place
        held = self._hold(place)
        for frame in self.frames:
            frame.values[place] = Write(held, anew=frame.update == 0)
        return place

    def _updated_by(self, function: Any, discover: bool = False) -> dict[int, int]:
        """Place → number of the function's update, for the variables watched."""
        found = {}
        for i, (shared, _) in enumerate(function.updates):
            place = self._place.get(id(shared.storage))
            if place is None and discover and shared.default_update is None:
                place = self._add(shared)
            if place is not None:
                found[place] = i
        return found

    def _copy(self, place: int) -> np.ndarray:
        """A copy of what the variable holds now: a borrowed array may be changed behind our back."""
        cell = self.tracks[place].storage
        raw, version = _state(cell)
        known = self._copies.get(place)
        if known is None or known[0] is not raw or known[1] != version:
            known = self._copies[place] = (raw, version, np.array(to_host(raw)))
        return known[2]

    def _reading(self, shared: Shared, changes: bool) -> Any:
        """The value that a call reads: a copy where the call overwrites it."""
        place = self._place.get(id(shared.storage))
        if place is not None:
            return self._copy(place)
        if changes:
            return np.array(to_host(shared.storage.value))
        shared.storage.lent = True
        return shared.storage.value

    def _joins(self, place: int, by: Any) -> bool:
        """Whether a write belongs to the update before it: an optimiser writes one parameter after the other."""
        return by in PASSES and by == self._open_by and bool(self._open) and place not in self._open

    # ---- gradients ----

    def _trained(self, place: int) -> Any:
        """What an in-place step did, as far as the values and the gradient tell."""
        track = self.tracks[place]
        gradient = track.tensor._grad if track.tensor is not None else None
        gradient = self._fresh.get(place) if gradient is None else gradient
        if gradient is None:
            return None
        array = to_host(gradient._data if isinstance(gradient, Tensor) else gradient)
        name = track.name or message("widgets.kind_shared")
        return lambda before, value: _descent(before, value, np.asarray(array), name)

    def _without_gradient(self, parts: UpdateParts) -> dict[int, str]:
        reasons = {place: parts.why(track.storage) for place, track in enumerate(self.tracks)}
        return {place: reason for place, reason in reasons.items() if reason is not None}


class _Call:
    """One call of a function, kept until it is clear whether its frame stays: then the arithmetic is computed."""

    def __init__(self, parts: UpdateParts | None, inputs: list[Any], before: dict[int, Any], olds: Any) -> None:
        self.parts, self.olds = parts, olds
        self._inputs, self._before = inputs, before
        self._numbers: list[Any] | None = None

    def of(self, update: int) -> Callable[[Any, Any], Any] | None:
        """The terms of one of the updates, computed when asked for."""
        return None if self.parts is None else lambda before, value: self._all()[update]

    def _all(self) -> list[Any]:
        if self._numbers is None:
            assert self.parts is not None
            try:
                self._numbers = self.parts.numbers(self._inputs, self._before)
            except TutorlibError:
                # A graph that cannot run a second time costs its arithmetic, never the learner's run.
                self._numbers = [(None, None, [])] * len(self.parts.updates)
            self._inputs, self._before = [], {}
        return self._numbers


def _short(output: np.ndarray) -> Any:
    """A result as a frame keeps it: a large one would fill the memory."""
    return output if output.size <= LONGEST_RESULT else f"{output.dtype} {shape_text(output.shape)}"


def _cell(variable: Any) -> Any:
    """What is written when the variable changes: its storage, or the leaf tensor itself."""
    return getattr(variable, "storage", variable)


def _state(cell: Any) -> tuple[Any, int]:
    return (cell._data, 0) if isinstance(cell, Tensor) else (cell.value, cell.version)


def _trains(cell: Any) -> bool:
    """Whether an in-place write is a step of training: to a parameter, or to a leaf that takes a gradient."""
    return cell.requires_grad if isinstance(cell, Tensor) else isinstance(cell, Storage) and cell.recorded


def _descent(before: Any, value: np.ndarray, gradient: np.ndarray, name: str) -> tuple[Any, Rule | None, list[Any]]:
    """`w − η · g`, if one number η explains the step; else only the gradient is known."""
    if before is None or gradient.shape != value.shape or before.shape != value.shape or value.dtype.kind != "f":
        return gradient, None, []
    with np.errstate(all="ignore"):
        g = gradient.astype(np.float64)
        step = before.astype(np.float64) - value
        square = float((g * g).sum())
        rate = float((step * g).sum()) / square if square > 0 else 0.0
        room = 64 * np.finfo(value.dtype).eps * max(float(np.abs(before).max(initial=0)), float(np.abs(step).max()))
        if not np.isfinite(rate) or rate == 0 or not float(np.abs(step - rate * g).max()) <= room:
            return gradient, None, []
    sign = "−" if rate > 0 else "+"
    return gradient, Rule(f"{{0}} {sign} {abs(rate):.6g} · {{1}}", (name, f"∂L/∂{name}")), [before, gradient]
