"""Settings a learner may change, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tutorlib.core.errors import DTypeError


class Config:
    """Settings by name.

    ``floatX``: the dtype given to Python floats and to symbols made without a dtype ("float64" or "float32").

    ``keep_memory``: whether the first tensor, or graph to differentiate, of 1 MiB or more tells the C library (glibc
    only) to keep the memory of dropped arrays, up to 512 MiB, for the next ones. It holds for the whole process and
    cannot be taken back; set it to False before.

    >>> import tutorlib as tl
    >>> with tl.config.using(floatX="float32"):
    ...     tl.scalar("x").dtype.name
    'float32'
    """

    __slots__ = ("_floatX", "keep_memory")

    def __init__(self) -> None:
        self._floatX = "float64"
        self.keep_memory = True

    @property
    def floatX(self) -> str:
        return self._floatX

    @floatX.setter
    def floatX(self, value: str) -> None:
        if value not in ("float16", "float32", "float64"):
            raise DTypeError(f"floatX cannot be {value!r}", fix='tl.config.floatX = "float32" or "float64"')
        self._floatX = value

    @contextmanager
    def using(self, **settings: Any) -> Iterator[Config]:
        """Change settings inside a ``with`` block and put them back at its end."""
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)


config = Config()
