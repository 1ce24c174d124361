"""What a recording consists of: frames in bounded memory, each with what was written. Plain data; watches nothing.

However long the run, at most `limit` frames are kept: when there are more, every second one goes, then every second of
the rest; never the first, the last, or one with a mark or an event (a value that became NaN, a rewind).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tutorlib.core.backend import quiet

__all__ = ["LIMIT", "Frame", "Frames", "Held", "Ring", "Row", "Rule", "Track", "Write", "norm_of"]

LIMIT = 200
ROWS = 6
ROWS_OF_MANY = 3
_PLACE = re.compile(r"\{(\d+)\}")
Reduce = Callable[[np.ndarray, np.ndarray | None, np.ndarray | None], Any]
# From the values before and after an update: its gradient (or None), its rule (or None), the operands of the rule.
Terms = Callable[[Any, np.ndarray], tuple[np.ndarray | None, "Rule | None", list[np.ndarray]]]


@dataclass(frozen=True)
class Rule:
    """How an update computes the new value: a template with a place for each operand, and the operands' names.

    >>> Rule("{0} − 0.1 · {1}", ("w", "∂L/∂w")).text
    'w − 0.1 · ∂L/∂w'
    """

    template: str
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """The right side with the names in it."""
        return self._filled(self.names)

    def with_numbers(self, numbers: tuple[str, ...]) -> str:
        """The right side with numbers in it; a negative one gets brackets unless it comes first."""
        first = self.template.partition("}")[0]
        said = [f"({n})" if n.startswith("-") and first != f"{{{i}" else n for i, n in enumerate(numbers)]
        return self._filled(said)

    def _filled(self, words: Sequence[str]) -> str:
        # Not by str.format: a template may come from a file, and a format string can ask for more than its words.
        return _PLACE.sub(lambda found: words[int(found[1])], self.template)


@dataclass(frozen=True)
class Row:
    """The arithmetic of one element: its `index`, the value `before`, the `operands` of the rule, the value `after`."""

    index: tuple[int, ...]
    before: float
    operands: tuple[float, ...]
    after: float


class Held:
    """One value of one variable, measured when it was written, reduced when somebody looks or when it is to stay.

    `norm` is known at once. `change` is ‖new − old‖ / ‖old‖ (‖new − old‖ where the old value is zero; None at the start
    and where shapes differ); `kept` is what the recording's `reduce(value, change, gradient)` gives; `rule` and `rows`
    are the update as arithmetic where it can be told.
    """

    def __init__(
        self, value: np.ndarray, before: np.ndarray | None, reduce: Reduce, terms: Terms | None = None
    ) -> None:
        self.norm = norm_of(value)
        self._change: float | None = None
        self._raw: Any = (value, before, reduce, terms)
        self._kept: Any = None
        self._rule: Rule | None = None
        self._rows: list[Row] = []

    def __repr__(self) -> str:
        return f"<Held, norm {self.norm:.4g}>"

    @classmethod
    def known(cls, kept: Any, norm: float, change: float | None, rule: Rule | None, rows: list[Row]) -> Held:
        """One that was read from a file."""
        held = cls.__new__(cls)
        held.norm, held._change, held._kept, held._rule, held._rows = norm, change, kept, rule, rows
        held._raw = None
        return held

    def settle(self) -> None:
        """Reduce the value now and let go of what it was reduced from."""
        if self._raw is None:
            return
        value, before, reduce, terms = self._raw
        self._raw = None
        delta = _difference(value, before)
        if before is not None and delta is not None:
            self._change = _share(norm_of(delta), norm_of(before))
        gradient, self._rule, operands = terms(before, value) if terms is not None else (None, None, ())
        self._kept = reduce(value, delta, gradient)
        if self._rule is not None and before is not None and before.shape == value.shape:
            self._rows = _rows(before, value, delta, operands)

    @property
    def change(self) -> float | None:
        self.settle()
        return self._change

    @property
    def kept(self) -> Any:
        self.settle()
        return self._kept

    @property
    def rule(self) -> Rule | None:
        self.settle()
        return self._rule

    @property
    def rows(self) -> list[Row]:
        self.settle()
        return self._rows


@dataclass(frozen=True)
class Write:
    """One variable in one frame: the value `held` and the number of the `update` that wrote it.

    `moved`: whether that is the frame's own update. `anew`: the value is not the one before, and no update says why
    (the start, a rewind, updates that were passed over).
    """

    held: Held
    update: int = 0
    moved: bool = False
    anew: bool = False

    @property
    def kept(self) -> Any:
        return self.held.kept

    @property
    def norm(self) -> float:
        return self.held.norm

    @property
    def rule(self) -> Rule | None:
        return self.held.rule

    @property
    def rows(self) -> list[Row]:
        return self.held.rows

    @property
    def change(self) -> float | None:
        """How far the frame's update moved the variable, relative to its size; None where nobody knows."""
        return self.held.change if self.moved else None if self.anew else 0.0


@dataclass
class Frame:
    """The state after update number `update` (0: at the start), `by` whom, what the call `returned`, and `marks`.

    `loss` is the cost of the step where one is known; `event` is "nan" where a value became NaN or infinite, "rewind"
    where the model was put back to update `back_to`, else ""; `branch` counts the rewinds so far; `why` says for
    variables without a gradient why they have none. `number` counts the frames recorded, thinned out ones included.
    """

    update: int
    by: str
    values: dict[int, Write] = field(default_factory=dict)
    returned: Any = None
    marks: list[str] = field(default_factory=list)
    number: int = 0
    loss: float | None = None
    event: str = ""
    branch: int = 0
    back_to: int | None = None
    why: dict[int, str] = field(default_factory=dict)

    def settle(self) -> None:
        """Reduce all values: the frame is here to stay."""
        for write in self.values.values():
            write.held.settle()


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
        self.count = 0

    def append(self, frame: Frame) -> None:
        """Add the newest frame; the one before it goes if it was only there for being the last."""
        if len(self.frames) > 1 and not self._stays(self.frames[-1]):
            self.frames.pop()
        elif self.frames:
            self.frames[-1].settle()
        frame.number = self.count
        self.count += 1
        self.frames.append(frame)
        while len(self.frames) > self.limit:
            self.stride *= 2
            self.frames = [self.frames[0], *filter(self._stays, self.frames[1:-1]), self.frames[-1]]
            self._drop_old_events()

    def _stays(self, frame: Frame) -> bool:
        return frame.number % self.stride == 0 or bool(frame.marks or frame.event)

    def _drop_old_events(self) -> None:
        """Marks and events are kept as long as they fit; beyond half of the room the oldest marks go like any others,
        and the newest events."""
        extra = [f for f in self.frames[1:-1] if (f.marks or f.event) and f.number % self.stride]
        marked = [f for f in extra if not f.event]
        events = [f for f in extra if f.event]
        room = self.limit // 2
        surplus = {id(f) for f in events[room // 2 :]} if len(events) > room // 2 else set()
        left = room - min(len(events), room // 2)
        surplus |= {id(f) for f in marked[: max(0, len(marked) - left)]}
        self.frames = [f for f in self.frames if id(f) not in surplus]


@dataclass
class Track:
    """A variable that is recorded: `name` (may be None), and in a live recording what holds its value.

    `storage` is the cell that is written (a leaf tensor is its own), `tensor` the tensor that gets the gradients of
    dynamic mode, if it has shown itself. `asked`: it was named when the recording began.
    """

    name: str | None
    storage: Any = None
    tensor: Any = None
    asked: bool = False


class Frames:
    """A recording as data: `tracks` (the variables), `frames`, how many `updates` there were, and the `stride`."""

    def __init__(self, every: int = 1, limit: int = LIMIT) -> None:
        self.every = max(1, int(every))
        self.updates = 0
        self.tracks: list[Track] = []
        self.ring = Ring(limit)

    @property
    def frames(self) -> list[Frame]:
        """The frames kept, oldest first."""
        return self.ring.frames

    @property
    def stride(self) -> int:
        """Of how many updates one is kept."""
        return self.ring.stride * self.every

    def mark(self, text: str) -> None:
        """Put a word on the present frame; a marked frame is not thinned out."""
        self.frames[-1].marks.append(str(text))


def norm_of(value: np.ndarray) -> float:
    """The Euclidean norm of all elements, inf or NaN where one of them is."""
    flat = value.reshape(-1).astype(np.float64, copy=False)
    with quiet():
        squares = float(np.dot(flat, flat))
        # Squares of large numbers overflow, of small ones vanish: then the careful way.
        return squares**0.5 if 1e-280 < squares < 1e280 else _careful_norm(flat)


def _careful_norm(flat: np.ndarray) -> float:
    largest = float(np.abs(flat).max(initial=0.0))
    if not largest or not np.isfinite(largest):
        return largest
    return largest * float(np.linalg.norm(flat / largest))


def _share(moved: float, size: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(moved) / (size or 1.0))


def _difference(value: np.ndarray, before: np.ndarray | None) -> np.ndarray | None:
    if before is None or value.shape != before.shape or value.dtype.kind not in "iuf":
        return None
    with quiet():
        return value - before


def _rows(before: np.ndarray, after: np.ndarray, delta: np.ndarray | None, operands: Any) -> list[Row]:
    """All elements of a small array, of a larger one the few that moved most."""
    if after.dtype.kind not in "iufb" or not after.size:
        return []
    shaped = []
    for operand in operands:
        try:
            shaped.append(np.broadcast_to(operand, after.shape))
        except ValueError:
            return []
    if after.size <= ROWS or delta is None:
        places = list(range(min(after.size, ROWS)))
    else:
        with np.errstate(all="ignore"):
            size = np.nan_to_num(np.abs(delta.reshape(-1)), nan=np.inf, posinf=np.inf)
        most = np.argpartition(size, -ROWS_OF_MANY)[-ROWS_OF_MANY:]
        places = sorted(int(i) for i in most[np.argsort(-size[most], kind="stable")])
    rows = []
    for place in places:
        index = tuple(int(i) for i in np.unravel_index(place, after.shape))
        numbers = tuple(array[index].item() for array in shaped)
        rows.append(Row(index, before[index].item(), numbers, after[index].item()))
    return rows
