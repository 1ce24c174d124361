"""The graph that a compiled function runs, to be drawn like the function itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tutorlib.compile.function import Function

__all__ = ["Rewritten", "rewritten"]


@dataclass(frozen=True)
class Rewritten:
    """A function with the outputs and updates as they stand after the last step of its log."""

    inputs: list[Any]
    outputs: list[Any]
    updates: list[tuple[Any, Any]]


@contextmanager
def rewritten(function: Function) -> Iterator[Rewritten]:
    """What a function runs; it may be looked at inside the block, then its log stands where it stood."""
    at = function.log.at
    ends = function.log.goto(len(function.log))
    count = len(function.outputs)
    pairs = [(shared, new) for (shared, _), new in zip(function.updates, ends[count:], strict=True)]
    try:
        yield Rewritten(function.inputs, ends[:count], pairs)
    finally:
        function.log.goto(at)
