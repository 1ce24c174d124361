"""Settings a learner may change, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tutorlib.core.errors import DTypeError


class Config:
    """``floatX``: the dtype given to Python floats and to symbols made without a dtype ("float64" or "float32").

    >>> import tutorlib as tl
    >>> with tl.config.using(floatX="float32"):
    ...     tl.scalar("x").dtype.name
    'float32'
    """

    __slots__ = ("_floatX",)

    def __init__(self) -> None:
        self._floatX = "float64"

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
