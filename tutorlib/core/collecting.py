"""Rest for Python's collector of reference cycles while a graph is built, differentiated or planned at one go.

The collector starts again and again as objects are made, and looks through them, though all of them stay: on a large
graph that takes a fourth of the time. What has become garbage meanwhile is found right after.
"""

from __future__ import annotations

import gc


class _AtRest:
    """A block in which the collector does not start by itself. Blocks nest."""

    def __init__(self) -> None:
        self._started: list[bool] = []  # of several threads in one block the last to leave starts it again

    def __enter__(self) -> None:
        self._started.append(gc.isenabled())
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._started.pop():
            gc.enable()


def collector_at_rest() -> _AtRest:
    """For a ``with`` block; not made a decorator, whose frame would pass for the learner's line.

    >>> with collector_at_rest():
    ...     gc.isenabled()
    False
    """
    return _AtRest()
