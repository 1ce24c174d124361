"""The one place where state is written: a versioned cell that tells observers of every write."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core import observe
from tutorlib.core.backend import Array, device_of, is_array, put, to_host


class Storage:
    """Holds one array.

    ``value`` is the raw array on its device, ``version`` counts writes, ``name`` may be None. ``lent`` says that
    somebody else may hold the array: it was borrowed, or (``recorded``) recorded graphs refer to it. A write then
    always puts another array in its place, so that an earlier value stays intact; otherwise a compiled function may
    overwrite it.
    """

    __slots__ = ("__weakref__", "lent", "name", "recorded", "value", "version")

    def __init__(
        self, value: Array, name: str | None = None, *, borrowed: bool = False, recorded: bool = False
    ) -> None:
        self.value = value
        self.version = 0
        self.name = name
        self.recorded = recorded
        self.lent = borrowed or recorded

    def read(self, borrow: bool = False) -> np.ndarray:
        """The value as a NumPy array: a copy of your own, or with ``borrow`` the array itself where it is on the
        host."""
        self.lent = self.lent or borrow
        host = to_host(self.value)
        return host if borrow and is_array(self.value) else host.copy()

    def write(self, value: Array, by: Any, borrowed: bool = False) -> None:
        """Replace the value (an array of the same dtype; moved to this storage's device) and tell observers.

        ``borrowed`` says that the caller keeps ``value`` too.
        """
        if observe.observers and isinstance(by, str):
            observe.tell("before_write", self, by)
        self.value = put(value, device_of(self.value))
        self.lent = borrowed or self.recorded
        self.version += 1
        if observe.observers:
            observe.tell("on_write", self, by)

    def overwritten(self, by: Any) -> None:
        """Say that the array itself was given a new content, by a compiled function that found it not lent."""
        self.version += 1
        if observe.observers:
            observe.tell("on_write", self, by)

    def __repr__(self) -> str:
        return f"<Storage {self.name or ''} version {self.version}>"
