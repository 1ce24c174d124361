"""Which schedule a call uses: one a set of input shapes, made on first sight; none where it would not be right.

A few values may have shapes that the inputs' do not tell (a minibatch cut out between symbols): these are computed
first, and the schedule is one for their shapes too.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.compile.executor import Plan
from tutorlib.compile.quick import Quick, quick_call
from tutorlib.compile.regions import Region
from tutorlib.compile.rewrite_log import RewriteLog
from tutorlib.compile.schedule import Schedule
from tutorlib.core.aval import AVal
from tutorlib.core.backend import quiet
from tutorlib.core.collecting import collector_at_rest
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Node, Shared, Symbol, aval_of

if TYPE_CHECKING:
    from tutorlib.compile.late import Late

# So many shapes are remembered; the oldest goes.
REMEMBERED = 4


class Schedules:
    """The schedules of one function."""

    def __init__(
        self,
        plan: Plan,
        inputs: list[Symbol],
        outputs: list[Symbol],
        updates: list[tuple[Shared, Symbol]],
        regions: list[Region],
        log: RewriteLog,
        in_c: bool = False,
    ) -> None:
        """``regions``: what may run as one pass; ``log``: which shows other states of the same graph when asked to."""
        self._plan, self._in_c = plan, in_c
        self._regions, self._log = regions, log
        self._inputs, self._outputs, self._updates = inputs, outputs, updates
        self._known: dict[tuple[Any, ...], Schedule | None] = {}
        # Two threads in one function must not share its buffers. Updates take turns; what only computes need not wait
        # and runs plainly.
        self._lock = threading.Lock()
        self._storages = [s.storage for s in [*plan.shared, *(s for s, _ in updates)]]
        self._possible = bool(plan.nodes) and all(_can_be_scheduled(node) for node in plan.nodes)
        self._late: Late | None = None
        # Of a function's call: see ``quick``; for which schedule, as bound when; and what the latest other call ran.
        self.quick: Quick | None = None
        self._quick_for: tuple[Schedule, int] | None = None
        self._ran: tuple[Schedule, int] | None = None

    def latest(self) -> Schedule | None:
        """The schedule of the shapes seen last, if there is one."""
        return next(reversed(self._known.values()), None)

    def run(self, arrays: Sequence[Any]) -> list[np.ndarray] | None:
        """The outputs, updates written; or None when this call must be run plainly."""
        if not self._possible or not self._lock.acquire(blocking=bool(self._updates)):
            return None
        try:
            if self._late is not None:
                self._log.rest()
                arrays = self._late.run(arrays)
            key = tuple(array.shape for array in arrays)
            schedule = self._known.get(key)
            if schedule is None or not schedule.bind(arrays):
                if key in self._known and schedule is None:
                    return None
                schedule = self._make(key, arrays)
                if schedule is None or not schedule.bind(arrays):
                    return None
            try:
                outputs = schedule.run(arrays)
                self._find_quick(schedule)
                return outputs
            except Exception:
                return None  # nothing is written yet: the plain run meets the same error and names the learner's line
        finally:
            self._lock.release()

    def _find_quick(self, schedule: Schedule) -> None:
        """Prepare the quick way, if the call before this one ran the same schedule with the same arrays."""
        now = (schedule, schedule.bindings)
        if self._ran != now:
            self._ran = now
        elif self._quick_for != now and self._late is None:
            self._quick_for = now
            bindings = schedule.bound_to()
            if bindings is not None:
                self.quick = quick_call(schedule, bindings, self._lock)

    def _make(self, key: tuple[Any, ...], arrays: Sequence[Any]) -> Schedule | None:
        schedule = self._made(arrays)
        self._known.pop(key, None)
        if len(self._known) >= REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = schedule
        return schedule

    def _made(self, arrays: Sequence[Any]) -> Schedule | None:
        if any(type(a) is not np.ndarray for a in [*arrays, *(s.value for s in self._storages)]):
            return None
        self._log.rest()
        nodes, inputs, plan = self._plan.nodes, self._inputs, self._plan
        if self._late is not None:
            nodes, inputs, plan = self._late.rest, self._late.inputs, self._late.plan
        try:
            likes = _foreseen(nodes, inputs, arrays)
        except TutorlibError:
            return None
        if likes is None:
            likes = self._met(nodes, inputs, plan, arrays)
        if likes is None:
            return None
        for variable, new in self._updates:
            shape = likes[id(new)][0] if id(new) in likes else np.shape(_present(new))
            if shape != variable.storage.value.shape:
                return None
        try:
            with quiet(), collector_at_rest():
                made = Schedule(nodes, inputs, self._outputs, self._updates, likes, self._regions, self._in_c)
        except TutorlibError:
            return None  # the plain run meets the same error
        except Exception as error:  # a slip here must not cost a learner the program
            slip = f"no plan could be made ({type(error).__name__}: {error})"
            warnings.warn(f"{slip}. The function runs node by node; this is an error of tutorlib", stacklevel=2)
            return None
        made.before = self._late.first if self._late is not None else ()
        return made

    def _met(
        self, nodes: Sequence[Node], inputs: Sequence[Symbol], plan: Plan, arrays: Sequence[Any]
    ) -> dict[int, Any] | None:
        """The shapes and dtypes as a run meets them; None where they may differ at the next one, and there the graph is
        cut in two."""
        likes: dict[int, Any] = {}
        try:
            plan.run(arrays, likes)
        except TutorlibError:
            return None
        likes |= {id(v): (a.shape, a.dtype) for v, a in zip(inputs, arrays, strict=True)}
        unforeseen = _unforeseen(nodes, inputs, likes)
        if unforeseen and self._late is None:
            ends = [*self._outputs, *(new for _, new in self._updates)]
            from tutorlib.compile.late import Late

            self._late = Late.of(nodes, inputs, ends, unforeseen, [s.storage for s, _ in self._updates])
        return None if unforeseen else likes


def _foreseen(nodes: Sequence[Node], inputs: Sequence[Symbol], arrays: Sequence[Any]) -> dict[int, Any] | None:
    """By id of variable: the shape and dtype of every value, where all follow from those of the inputs; else None."""
    likes: dict[int, Any] = {id(v): (a.shape, a.dtype) for v, a in zip(inputs, arrays, strict=True)}
    # What is inferred now, by id of variable, for those that had an unknown dim when they were built.
    now: dict[int, AVal] = {id(v): AVal(a.shape, a.dtype) for v, a in zip(inputs, arrays, strict=True)}
    like_of = _Likes()
    ready = like_of.ready
    for node in nodes:
        # With lengths that were not known when the node was built, its operands may not even fit each other.
        known = True
        for var in node.inputs:
            if (ready.get(id(var.aval)) or like_of.entered(var.aval))[0] is None:
                known = False
        for var in node.outputs:
            aval = var.aval
            like = likes[id(var)] = (ready.get(id(aval)) or like_of.entered(aval))[0]
            if like is None:
                known = False
            elif aval.weak:
                return None
        if known:
            continue
        operands = [now.get(id(v)) or (_aval_now(v) if v.node is None else v.aval) for v in node.inputs]
        inferred: Any = node.op.infer(*operands, **node.attrs)  # type: ignore[misc]
        for var, aval in zip(node.outputs, (inferred,) if node.op.nout == 1 else inferred, strict=True):
            like = likes[id(var)] = like_of.entered(aval)[0]
            if like is None or aval.weak:
                return None
            now[id(var)] = aval
    return likes


class _Likes:
    """Shape and dtype of abstract values, None where a dim is unknown. Many are alike: they share one entry.

    ``ready``: by id of an abstract value, (entry, the value itself, held so that its id is its own).
    """

    def __init__(self) -> None:
        self._entries: dict[AVal, tuple[Any, Any] | None] = {}
        self.ready: dict[int, tuple[tuple[Any, Any] | None, AVal]] = {}

    def entered(self, aval: AVal) -> tuple[tuple[Any, Any] | None, AVal]:
        entry = self._entries.setdefault(aval, None if None in aval.shape else (aval.shape, aval.dtype))
        self.ready[id(aval)] = found = (entry, aval)
        return found


def _aval_now(leaf: Symbol) -> AVal:
    if isinstance(leaf, Shared):
        return AVal(leaf.storage.value.shape, leaf.storage.value.dtype)
    return aval_of(getattr(leaf, "value", leaf))


def _unforeseen(nodes: Sequence[Node], inputs: Sequence[Symbol], likes: Mapping[int, Any]) -> list[Node]:
    """The nodes whose shapes do not follow from what they read: a mask's result, say, has another length every time."""
    avals: dict[int, AVal] = {id(v): AVal(*likes[id(v)]) for v in inputs}
    found = []
    for node in nodes:
        known = [avals.get(id(v)) or _aval_now(v) for v in node.inputs]
        inferred = node.op.infer(*known, **node.attrs)  # type: ignore[misc]
        for var, aval in zip(node.outputs, (inferred,) if node.op.nout == 1 else inferred, strict=True):
            shape, dtype = likes[id(var)]
            if dtype is None or aval.dtype != dtype or aval.shape != shape:
                found.append(node)
            avals[id(var)] = AVal(shape, dtype or aval.dtype)
    return found


def _present(leaf: Symbol) -> Any:
    return leaf.storage.value if isinstance(leaf, Shared) else getattr(leaf, "value", None)


def _can_be_scheduled(node: Node) -> bool:
    return "effect" not in node.op.flags
