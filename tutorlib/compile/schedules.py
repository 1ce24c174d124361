"""Which schedule a call uses: one a set of input shapes, made on first sight; none where it would not be right."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.compile.executor import Plan
from tutorlib.compile.regions import Region
from tutorlib.compile.rewrite import RewriteLog
from tutorlib.compile.schedule import Schedule
from tutorlib.core.aval import AVal
from tutorlib.core.backend import quiet
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Node, Shared, Symbol, aval_of

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

    def latest(self) -> Schedule | None:
        """The schedule of the shapes seen last, if there is one."""
        return next(reversed(self._known.values()), None)

    def run(self, arrays: Sequence[Any]) -> list[np.ndarray] | None:
        """The outputs, updates written; or None when this call must be run plainly."""
        if not self._possible or not self._lock.acquire(blocking=bool(self._updates)):
            return None
        try:
            key = tuple(array.shape for array in arrays)
            schedule = self._known.get(key)
            if schedule is None or not schedule.bind(arrays):
                if key in self._known and schedule is None:
                    return None
                schedule = self._make(key, arrays)
                if schedule is None or not schedule.bind(arrays):
                    return None
            try:
                return schedule.run(arrays)
            except Exception:
                return None  # nothing is written yet: the plain run meets the same error and names the learner's line
        finally:
            self._lock.release()

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
        likes: dict[int, Any] = {}
        try:
            self._plan.run(arrays, likes)
        except TutorlibError:
            return None
        likes |= {id(v): (a.shape, a.dtype) for v, a in zip(self._inputs, arrays, strict=True)}
        if not self._shapes_follow(likes):
            return None
        for variable, new in self._updates:
            shape = likes[id(new)][0] if id(new) in likes else np.shape(_present(new))
            if shape != variable.storage.value.shape:
                return None
        with quiet():
            return Schedule(
                self._plan.nodes, self._inputs, self._outputs, self._updates, likes, self._regions, self._in_c
            )

    def _shapes_follow(self, likes: dict[int, Any]) -> bool:
        """Whether every shape follows from those of the inputs: a mask's result, say, has another length every time."""
        avals: dict[int, AVal] = {id(v): AVal(*likes[id(v)]) for v in self._inputs}
        for node in self._plan.nodes:
            known = [avals.get(id(v)) or aval_of(getattr(v, "value", v)) for v in node.inputs]
            for i, v in enumerate(node.inputs):
                if isinstance(v, Shared):
                    known[i] = AVal(v.storage.value.shape, v.storage.value.dtype)
            found = node.op.infer(*known, **node.attrs)  # type: ignore[misc]
            for var, aval in zip(node.outputs, (found,) if node.op.nout == 1 else found, strict=True):
                shape, dtype = likes[id(var)]
                if aval.shape != shape or dtype is None or aval.dtype != dtype:
                    return False
                avals[id(var)] = AVal(shape, dtype)
        return True


def _present(leaf: Symbol) -> Any:
    return leaf.storage.value if isinstance(leaf, Shared) else getattr(leaf, "value", None)


def _can_be_scheduled(node: Node) -> bool:
    return "effect" not in node.op.flags
