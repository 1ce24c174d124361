"""The values of chosen variables over updates, recorded in bounded memory. Records and thins; draws nothing.

An update is one write by the learner, or all the writes of one call of a compiled function. However long the run, at
most `limit` frames are kept: when there are more, every second one goes, then every second of the rest, never the
first, the last or a marked one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tutorlib.core.backend import to_host
from tutorlib.core.observe import Observer, add_observer, remove_observer
from tutorlib.core.tensor import Tensor

__all__ = ["Frame", "History", "Ring", "Write"]

LIMIT = 200


@dataclass
class Write:
    """One variable in one frame: what `reduce` kept of its value, its norm, and its change since the update before.

    `change` is ‖new − old‖ / ‖old‖ (‖new − old‖ where the old value is zero), None at the start and where shapes
    differ. `update` is the number of the update that wrote it: an earlier one for a variable that the frame's update
    left alone.
    """

    kept: Any
    norm: float
    change: float | None = None
    update: int = 0


@dataclass
class Frame:
    """The state after update number `update` (0: at the start), `by` whom, what the call `returned`, and `marks`.

    `number` counts the frames recorded, thinned out ones included.
    """

    update: int
    by: str
    values: dict[int, Write] = field(default_factory=dict)
    returned: Any = None
    marks: list[str] = field(default_factory=list)
    number: int = 0


class Ring:
    """A list of frames that stays short.

    >>> ring = Ring(limit=4)
    >>> for n in range(9):
    ...     ring.append(Frame(n, "test"))
    >>> [frame.update for frame in ring.frames], ring.stride
    ([0, 4, 8], 4)
    """

    def __init__(self, limit: int = LIMIT) -> None:
        if limit < 3:
            raise ValueError("a history keeps at least 3 frames")
        self.limit = limit
        self.stride = 1
        self.frames: list[Frame] = []
        self._count = 0

    def append(self, frame: Frame) -> None:
        """Add the newest frame; the one before it goes if it was only there for being the last."""
        if len(self.frames) > 1 and not self._stays(self.frames[-1]):
            self.frames.pop()
        frame.number = self._count
        self._count += 1
        self.frames.append(frame)
        while len(self.frames) > self.limit:
            self.stride *= 2
            self.frames = [self.frames[0], *filter(self._stays, self.frames[1:-1]), self.frames[-1]]
            self._drop_old_marks()

    def _stays(self, frame: Frame) -> bool:
        return frame.number % self.stride == 0 or bool(frame.marks)

    def _drop_old_marks(self) -> None:
        """Marks are kept as long as they fit; beyond half of the room the oldest marked frames go like any others."""
        marked = [f for f in self.frames[1:-1] if f.marks and f.number % self.stride]
        surplus = {id(f) for f in marked[: max(0, len(marked) - self.limit // 2)]}
        self.frames = [f for f in self.frames if id(f) not in surplus]


class History(Observer):
    """Watches variables and records a frame after each of their updates.

    Args:
        variables: shared variables, parameters or leaf tensors.
        every: record only each `every`-th update.
        limit: how many frames are kept.
        reduce: `reduce(value, change)` of NumPy arrays (`change` may be None) gives what a frame keeps;
            the value by default.
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
        variables: Sequence[Any],
        *,
        every: int = 1,
        limit: int = LIMIT,
        reduce: Callable[[np.ndarray, np.ndarray | None], Any] | None = None,
        on_frame: Callable[[], None] | None = None,
    ) -> None:
        self.variables = list(variables)
        self.every = max(1, int(every))
        self.updates = 0
        self._reduce = reduce or (lambda value, change: value)
        self._on_frame = on_frame
        self._ring = Ring(limit)
        self._place = {id(_storage(v)): i for i, v in enumerate(self.variables)}
        self._before: list[np.ndarray] = []
        self._pending: dict[int, dict[int, np.ndarray]] = {}
        self._open: set[int] = set()
        values = {i: _value(v) for i, v in enumerate(self.variables)}
        self._before = [values[i] for i in range(len(self.variables))]
        first = {i: Write(self._reduce(value, None), _norm(value)) for i, value in values.items()}
        self._ring.append(Frame(0, "start", first))
        add_observer(self)

    @property
    def frames(self) -> list[Frame]:
        """The frames kept, oldest first."""
        return self._ring.frames

    @property
    def stride(self) -> int:
        """Of how many recorded updates one is kept."""
        return self._ring.stride * self.every

    def stop(self) -> None:
        """Record no more; what was recorded stays."""
        remove_observer(self)

    def mark(self, text: str) -> None:
        """Put a word on the present frame; a marked frame is not thinned out."""
        self.frames[-1].marks.append(str(text))
        if self._on_frame is not None:
            self._on_frame()

    def on_write(self, storage: Any, by: Any) -> None:
        """A write by a function waits for the end of its call; any other is an update of its own."""
        place = self._place.get(id(storage))
        if place is None:
            return
        value = _value(self.variables[place])
        if not isinstance(by, str):
            self._pending.setdefault(id(by), {})[place] = value
            return
        if by == "in-place" and self._open and place not in self._open:
            self._open.add(place)
            self._complete({place: value})
            return
        self._record({place: value}, by, None)
        self._open = {place} if by == "in-place" else set()

    def on_call(self, function: Any, inputs: Any, outputs: Any) -> None:
        """All that one call wrote is one update."""
        written = self._pending.pop(id(function), None)
        if written:
            self._open = set()
            self._record(written, function.name or "function", list(outputs) or None)

    def _record(self, written: dict[int, np.ndarray], by: str, returned: Any) -> None:
        self.updates += 1
        frame = Frame(self.updates, by, dict(self.frames[-1].values), returned)
        for i, write in frame.values.items():
            if i not in written:
                frame.values[i] = Write(write.kept, write.norm, 0.0, write.update)
        wanted = self.updates % self.every == 0
        self._fill(frame, written, wanted)
        if wanted:
            self._ring.append(frame)
            if self._on_frame is not None:
                self._on_frame()

    def _complete(self, written: dict[int, np.ndarray]) -> None:
        """A further variable of the same step, as when an optimiser writes one parameter after the other."""
        if self.frames[-1].update == self.updates:
            self._fill(self.frames[-1], written, True)
            if self._on_frame is not None:
                self._on_frame()
        else:
            self._fill(Frame(self.updates, ""), written, False)

    def _fill(self, frame: Frame, written: dict[int, np.ndarray], keep: bool) -> None:
        for i, value in written.items():
            old, self._before[i] = self._before[i], value
            if not keep:
                continue
            with np.errstate(all="ignore"):
                delta = value - old if value.shape == old.shape and value.dtype.kind in "iuf" else None
                change = None if delta is None else _norm(delta) / (_norm(old) or 1.0)
            frame.values[i] = Write(self._reduce(value, delta), _norm(value), change, frame.update)


def _storage(variable: Any) -> Any:
    return getattr(variable, "storage", variable)


def _value(variable: Any) -> np.ndarray:
    """A copy of what the variable holds now: a borrowed array may be changed behind our back."""
    raw = variable.data if isinstance(variable, Tensor) else variable.storage.value
    return np.array(to_host(raw))


def _norm(value: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        return float(np.linalg.norm(value.astype(np.float64).reshape(-1)))
