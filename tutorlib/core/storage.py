"""The one place where state is written: a versioned cell that tells observers of every write."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutorlib.core import observe
from tutorlib.core.backend import Array, device_of, is_array, put, to_host


class Storage:
    """Holds one array.

    ``value`` is the raw array on its device, ``version`` counts writes, ``name`` may be None. Arrays are replaced,
    never changed in place, so whoever still holds an earlier value (a recorded graph, a history) keeps it intact.
    """

    __slots__ = ("__weakref__", "name", "value", "version")

    def __init__(self, value: Array, name: str | None = None) -> None:
        self.value = value
        self.version = 0
        self.name = name

    def read(self, borrow: bool = False) -> np.ndarray:
        """The value as a NumPy array: a copy of your own, or with ``borrow`` the array itself where it is on the
        host."""
        host = to_host(self.value)
        return host if borrow and is_array(self.value) else host.copy()

    def write(self, value: Array, by: Any) -> None:
        """Replace the value (an array of the same dtype; moved to this storage's device) and tell observers."""
        self.value = put(value, device_of(self.value))
        self.version += 1
        if observe.observers:
            observe.tell("on_write", self, by)

    def __repr__(self) -> str:
        return f"<Storage {self.name or ''} version {self.version}>"
