"""What a schedule does once it is made: taking the arrays of a call, making the bound calls, handing out results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import call as call_it
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.compile.bound import COPYTO, DOT, Bound, Call, alike, empty
from tutorlib.compile.quick import Bindings
from tutorlib.compile.scalars import Numbers
from tutorlib.compile.tiles import Tiles
from tutorlib.core.backend import silence, unsilence
from tutorlib.core.graph import Node, Shared, Symbol
from tutorlib.core.storage import Storage

if TYPE_CHECKING:
    from tutorlib.compile.c_segments import Segments

_INFINITY = float("inf")
# An input that was another array so often is copied if it has so many bytes at most: to bind calls again costs more.
OFTEN, COPY_AT_MOST = 3, 1 << 22


class Step:
    """One node of the schedule: the buffers of its results (none for a view), the calls that fill them, and the scratch
    array that these use."""

    __slots__ = ("calls", "node", "outs", "tmp")

    def __init__(self, node: Node, outs: list[np.ndarray]) -> None:
        self.node = node
        self.outs = outs
        self.calls: list[Bound] = []
        self.tmp: np.ndarray | None = None


class Running:
    """The part of a schedule that runs; see ``Schedule`` for its attributes."""

    inputs: list[Symbol]
    outputs: list[Symbol]
    updates: list[tuple[Shared, Symbol]]
    direct: dict[int, Shared]
    array: dict[int, Any]
    steps: list[Step | Tiles]
    checked: list[Symbol]
    finite_factors: bool
    segments: Segments | None
    bindings = 0
    protecting = False
    _strict: set[int]
    _numbers: dict[int, Numbers]
    _copied_inputs: list[tuple[int, np.ndarray]]
    _bound_inputs: list[tuple[int, Symbol]]
    _others: dict[int, int]  # by number of an input: how often it was another array
    _bound_shared: list[tuple[int, Storage, bool]]
    _own: list[tuple[Shared, np.ndarray]]
    _moved: dict[int, Shared]

    def _operand(self, var: Symbol) -> Any:
        raise NotImplementedError

    def _bind(self, step: Step) -> None:
        raise NotImplementedError

    def _view(self, node: Node) -> np.ndarray | None:
        raise NotImplementedError

    def protects(self, node: Node) -> bool:
        """Whether the latest call computed a product of this node in its strict form: 0 where the first factor is 0."""
        return self.protecting or id(node) in self._strict

    def _find_ends(self) -> None:
        self.output_arrays = [self._operand(v) for v in self.outputs]
        own = {id(s): array for s, array in self._own}
        moves = [(s, self._operand(new)) for s, new in self.updates if id(new) not in self.direct]
        self._moves = [move for move in moves if id(move[0]) not in own]
        self._lent_moves = [move for move in moves if id(move[0]) in own]
        self._all_moves = [*self._moves, *self._lent_moves]
        self._lent_in_place = [(s, own[id(s)]) for s in self.direct.values() if id(s) in own]

    def _flatten(self) -> None:
        calls: list[Call] = []
        strictly: list[Call] = []  # the same, with every protected product in its strict form
        last: list[Call] = []
        done, tried = 0, False
        for position, step in enumerate(self.steps):
            if position < done:
                continue
            if (numbers := self._numbers.get(position)) is not None:
                done = position + numbers.steps
                found = [*numbers.before(), numbers.call(self._operand)]
                calls += found
                strictly += found
                continue
            if isinstance(step, Tiles):
                each: Iterable[bool] = step.strict
            elif self.segments is not None and position in self.segments:
                found = self.segments.calls_at(position)
                (last if self._is_direct(step) else calls).extend(found)
                if not self._is_direct(step):
                    strictly += found
                continue
            elif self._is_direct(step):
                last += [bound.call for bound in step.calls]
                continue
            else:
                each = repeat(id(step.node) in self._strict)
            for bound, strict in zip(step.calls, each, strict=False):
                call, protected = bound.call, bound.strict
                if protected is None:
                    protected = call
                else:
                    tried = tried or not strict
                calls.append(protected if strict else call)
                strictly.append(protected)
        self._calls, self._strict_calls, self._last_calls = calls, strictly, last
        self._checks = [_sum_of_squares(self.array[id(v)]) for v in self.checked] if tried else []
        self.bindings += 1

    def _is_direct(self, step: Step) -> bool:
        """Whether it writes a shared variable's new value into that variable's array, after everything else."""
        return bool(step.outs) and id(step.node.outputs[0]) in self.direct

    def _copied_in_c(self) -> bool:
        """Whether a C call copies new values into the shared variables, as the last thing it does."""
        return self.segments is not None and self.segments.copies

    def bound_to(self) -> Bindings | None:
        """What it is bound to, for the quick way through a call (see ``quick``); None where there is none."""
        if self._own or (self._moves and not self._copied_in_c()):
            return None
        steps = [s for s in self.steps if isinstance(s, Step)]
        in_c = self.segments is not None and self.segments.hold_all(steps)
        return Bindings(
            [(self.array[id(v)].dtype, self.array[id(v)].shape) for v in self.inputs],
            self._copied_inputs,
            [(i, self.array[id(v)]) for i, v in self._bound_inputs],
            [(storage, self.array[key], updated) for key, storage, updated in self._bound_shared]
            + [(s.storage, self.array[key], True) for key, s in self._moved.items()],
            self.output_arrays,
            [*self._calls, *self._last_calls] if in_c else None,
        )

    def bind(self, arrays: Sequence[np.ndarray]) -> bool:
        """Take these inputs and the shared variables as they are now; False when they need another schedule."""
        changed: dict[int, np.ndarray] = {}
        for key, storage, written in self._bound_shared:
            value = storage.value
            if value is not self.array[key]:
                changed[key] = value
            if written and storage.lent:
                return False
        for variable, own in self._own:
            if not alike(variable.storage.value, own):
                return False
        for key, variable in self._moved.items():
            value, place = variable.storage.value, self.array[key]
            if value is not place:
                if variable.storage.lent or not alike(value, place):
                    return False
                # A new value goes to where the variable lies.
                COPYTO(place, value)
                variable.storage.value = place
            elif variable.storage.lent:
                return False
        for i, var in tuple(self._bound_inputs):
            array = arrays[i]
            if array is not self.array[id(var)]:
                changed[id(var)] = self._taken(i, var, array)
        return not changed or self._rebind(changed)

    def _taken(self, i: int, var: Symbol, array: np.ndarray) -> np.ndarray:
        """What stands for an input that is another array than before: that array, or where there is another one again
        and again, a buffer to copy it into."""
        self._others[i] = self._others.get(i, 0) + 1
        if self._others[i] < OFTEN or array.nbytes > COPY_AT_MOST:
            return array if array.flags.c_contiguous else np.ascontiguousarray(array)
        buffer = empty(array.shape, array.dtype)
        self._bound_inputs.remove((i, var))
        self._copied_inputs.append((i, buffer))
        return buffer

    def _rebind(self, changed: Mapping[int, np.ndarray]) -> bool:
        if not all(alike(array, self.array[key]) for key, array in changed.items()):
            return False
        self.array.update(changed)
        stale = set(changed)
        for position, step in enumerate(self.steps):
            if isinstance(step, Tiles):
                if any(id(v) in stale for v in step.reads()) and not step.bind(self._strict):
                    return False
                continue
            node = step.node
            written = self.direct.get(id(node.outputs[0])) if step.outs else None
            if written is not None and id(written) in stale:
                step.outs = [self.array[id(written)]]
                self.array[id(node.outputs[0])] = step.outs[0]
            elif not any(id(v) in stale for v in node.inputs):
                continue
            if step.outs:
                if self.segments is None or position not in self.segments:
                    self._bind(step)
                continue
            view = self._view(node)
            if view is None:
                return False
            self.array[id(node.outputs[0])] = view
            stale.add(id(node.outputs[0]))
        self._find_ends()
        self._flatten()
        return self.segments is None or self.segments.bind(self.array)

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs, as arrays of the caller's own; the updates are in the shared variables afterwards.

        Call ``bind`` first. Nothing is written before everything is computed.
        """
        for i, buffer in self._copied_inputs:
            COPYTO(buffer, arrays[i])
        for variable, own in self._own:
            COPYTO(own, variable.storage.value)
        token = silence()
        try:
            for call in self._calls:
                call()
            for check, total in self._checks:
                check()
                found = total()
                if found != found or (self.finite_factors and not found < _INFINITY):
                    for call in self._strict_calls:
                        call()
                    self.protecting = True
                    break
                self.protecting = False
            results = [np.array(value) for value in self.output_arrays]
            # A new value may be the present value of another variable, so all are taken before one is written.
            copied = not self._all_moves or self._copied_in_c()
            new = [] if copied else [np.array(value) for _, value in self._all_moves]
            # Each in one C call, which no interrupt can stop half-way.
            deque(map(call_it, self._last_calls), 0)
            if not copied:
                deque(map(COPYTO, [s.storage.value for s, _ in self._moves], new), 0)
        finally:
            unsilence(token)
        if self._own:
            for (variable, _), value in zip(self._lent_moves, new[len(self._moves) :], strict=True):
                variable.storage.value = value
            for variable, own in self._lent_in_place:
                variable.storage.value = own.copy()
        return results


def _sum_of_squares(array: np.ndarray) -> tuple[Call, Callable[[], Any]]:
    """A call that adds up the squares of an array, NaN if one of its elements is, and what tells the sum."""
    total = np.empty((), array.dtype)
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        return partial(DOT, flat, flat, total), total.item
    return lambda: COPYTO(total, np.vdot(array, array)), total.item
