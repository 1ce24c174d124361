"""How nodes are being made, per thread: what a new node is told beside its op and inputs, and whether to record."""

from __future__ import annotations

# ``threading.local``, without the rest of ``threading``: importing that takes a twentieth of our own import.
from _thread import _local as Local
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Meta:
    """What a node knows of its making beside its inputs: role, origin, scope. Shared by all nodes made alike.

    A node of a symbolic gradient also has the ``trail`` of the walk that made it, see ``walk``.
    """

    __slots__ = ("origin", "role", "scope", "trail")

    def __init__(
        self, role: str = "forward", origin: Any = None, scope: str = "", trail: list[Any] | None = None
    ) -> None:
        self.role = role
        self.origin = origin
        self.scope = scope
        self.trail = trail


FORWARD = Meta()


class Now:
    """How a thread makes nodes at the moment; the fields are explained in ``Building``.

    ``simple``: tensors' ops compute, and if they are recorded, it is as forward nodes.
    """

    __slots__ = ("body", "meta", "recording", "simple", "static")

    def __init__(self) -> None:
        self.meta = FORWARD
        self.recording = self.simple = True
        self.static = False
        self.body: Any = None

    def change(self, field: str, value: Any) -> None:
        """Give a field, of this thread's own, another value."""
        was_usual = self.simple and self.recording
        setattr(self, field, value)
        self.simple = self.meta is FORWARD and not self.static
        if was_usual != (self.simple and self.recording):
            (unusual.append if was_usual else unusual.remove)(self)


# A Now for each thread that does not simply record, and WATCHED while there are observers. Where it is empty nobody
# need look for either: asking for a thread's own Now takes a tenth of the time of an op.
unusual: list[Any] = []
WATCHED = "watched"


def _field(name: str) -> Any:
    def get(self: Building) -> Any:
        return getattr(self.now, name)

    def put(self: Building, value: Any) -> None:
        self.now.change(name, value)

    return property(get, put)


class Building(Local):
    """How nodes are made, per thread, as a ``with`` block is.

    ``meta`` is the Meta that new nodes get: the gradient walk, rewrites and scopes set it for a while. ``recording``
    says whether ops on tensors are recorded, ``static`` whether parameters build symbols; ``body`` is the body (of a
    loop) being traced, if any. ``now`` holds them all, to be read only.
    """

    meta = _field("meta")
    recording = _field("recording")
    static = _field("static")
    body = _field("body")

    def __init__(self) -> None:
        self.now = Now()

    @contextmanager
    def using(self, meta: Meta) -> Iterator[None]:
        before, self.meta = self.meta, meta
        try:
            yield
        finally:
            self.meta = before


building = Building()


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Name a part of the graph: nodes made inside belong to it, in drawings as one box. Scopes nest as ``a/b``.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> with tl.scope("layer1"):
    ...     y = x * 2
    >>> y.node.scope
    'layer1'
    """
    now = building.meta
    with building.using(Meta(now.role, now.origin, f"{now.scope}/{name}" if now.scope else name)):
        yield
