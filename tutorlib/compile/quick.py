"""The shortest way through a call: where everything is as it was at the last one, nothing is done but the work.

For a plan of a few microseconds, asking at every call what may have changed costs more than the plan. What is asked
here is what the careful way asks (``Schedules.run``), once; where anything is new, that way is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from tutorlib.compile.bound import COPYTO
from tutorlib.core.storage import Storage

# From the arguments of a call to its outputs, the updates written; None where a call needs more, and nothing is done.
Quick = Callable[[tuple[Any, ...]], "list[np.ndarray] | None"]


class Lock(Protocol):
    """What ``threading.Lock`` makes."""

    def acquire(self, blocking: bool = True) -> bool: ...
    def release(self) -> None: ...


class Plan(Protocol):
    """A schedule, as far as it matters here: ``bindings`` is another number whenever it was bound to other arrays."""

    bindings: int

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]: ...


class Bindings(NamedTuple):
    """What a plan is bound to.

    Attributes: ``wanted``, dtype and shape of each argument; ``copied`` and ``bound``, the arguments (by number) that
    are copied into a buffer, and those that are read where they are; ``shared``, of each shared variable where its
    value is expected, which array that is, and whether it is updated; ``outputs``; ``calls``, if they are all of C.
    """

    wanted: Sequence[tuple[np.dtype[Any], tuple[int, ...]]]
    copied: Sequence[tuple[int, np.ndarray]]
    bound: Sequence[tuple[int, np.ndarray]]
    shared: Sequence[tuple[Storage, np.ndarray, bool]]
    outputs: Sequence[np.ndarray]
    calls: Sequence[Callable[[], Any]] | None


def quick_call(plan: Plan, to: Bindings, lock: Lock) -> Quick:
    """The quick way through ``plan``, bound ``to`` what it is bound to now; ``lock`` is held while it runs."""
    # Local names and no keywords: they would cost what the rest costs.
    wanted, copied, bound, calls = to.wanted, to.copied, to.bound, to.calls
    read = [(storage, array) for storage, array, updated in to.shared if not updated]
    written = [(storage, array) for storage, array, updated in to.shared if updated]
    results = [partial(np.ndarray.copy, array, "K") for array in to.outputs]
    count, waits, made_for, ndarray = len(wanted), bool(written), plan.bindings, np.ndarray
    acquire, release = lock.acquire, lock.release

    def quick(arguments: tuple[Any, ...]) -> list[np.ndarray] | None:
        if len(arguments) != count:
            return None
        for array, (dtype, shape) in zip(arguments, wanted):  # noqa: B905
            if type(array) is not ndarray or array.shape != shape:
                return None
            if (found := array.dtype) is not dtype and found != dtype:  # loaded arrays have dtypes of their own
                return None
        if not acquire(waits):
            return None
        try:
            if plan.bindings != made_for:
                return None
            for storage, array in read:
                if storage.value is not array:
                    return None
            for storage, array in written:
                if storage.value is not array or storage.lent:
                    return None
            for i, array in bound:
                if arguments[i] is not array:
                    return None
            if calls is None:
                return plan.run(arguments)
            for i, buffer in copied:
                COPYTO(buffer, arguments[i])
            for call in calls:
                call()
            return [result() for result in results]
        except Exception:
            return None  # nothing is written: the careful way meets the same error
        finally:
            release()

    return quick
