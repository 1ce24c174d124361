"""Questions that the oracles of several exercises ask about what a learner's code made, each with its hint."""

from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.core.observe import Observer
from tutorlib.lessons.exercise import Miss


class WriteCounter(Observer):
    """Counts how often one storage was written."""

    def __init__(self, storage: Any):
        self.storage, self.writes = storage, 0

    def on_write(self, storage: Any, by: Any) -> None:
        self.writes += storage is self.storage


def callable_or_miss(made: Any) -> Any:
    """What the learner's function returned, if it can be called."""
    if made is None:
        raise Miss("returned_none")
    if not callable(made):
        raise Miss("not_callable", type=type(made).__name__)
    return made


def one_value(returned: Any) -> np.ndarray:
    """The value that a call returned, as an array."""
    if returned is None:
        raise Miss("call_returns_none")
    if isinstance(returned, list | tuple):
        raise Miss("call_returns_list")
    return np.asarray(returned, dtype=float)


def compiled_or_miss(made: Any) -> None:
    """Asked last: what an ordinary Python function gets wrong is better said by what it did."""
    if not isinstance(made, tl.Function):
        raise Miss("not_compiled")
