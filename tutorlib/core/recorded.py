"""What a result of the dynamic mode keeps of its making: the part of a Tensor that is a node of the graph.

One object holds it all, without tuples of its own: millions of nodes may live, and the garbage collector would have to
look through every tuple again and again. ``inputs``, ``arrays`` and ``place`` are put together when somebody asks.
"""

from __future__ import annotations

from typing import Any

from tutorlib.core.building import FORWARD, Meta
from tutorlib.core.graph import NodeView, Op
from tutorlib.core.source import Mark, SourceLine

# In ``right``: the inputs are more than two, and ``left`` holds them all.
SEVERAL: Any = object()
# ``route``: where a cotangent of this result goes, see ``array_walk``. Nowhere; to the left or the right input alone by
# its rule on arrays; to an input that is left and right; to the right or the left, fitted to it after its rule; to both
# inputs, or all, fitted; poured into the first input's; or wherever the op's general rules say. (The odd ones up to
# BOTH_FITTED go left.)
NOWHERE, LEFT, RIGHT, TWICE, RIGHT_FITTED, LEFT_FITTED, BOTH_FITTED = 0, 1, 2, 3, 4, 5, 7
ALL_FITTED, POURED, GENERAL = 8, 9, 10


class Extra:
    """What few results have: a ``name``, a ``meta`` other than FORWARD, ``hooks``, a gradient of their own (``grad``),
    something ``kept`` by the op's forward pass for its rule."""

    __slots__ = ("grad", "hooks", "kept", "meta", "name")

    def __init__(self, name: str | None = None, meta: Meta = FORWARD, kept: Any = None) -> None:
        self.name = name
        self.meta = meta
        self.kept = kept
        self.grad: Any = None
        self.hooks: dict[object, Any] | None = None


def _rare(field: str, default: Any) -> Any:
    """An attribute that is in ``extra``, where there is any."""

    def get(self: Recorded) -> Any:
        return default if self.extra is None else getattr(self.extra, field)

    def put(self: Recorded, value: Any) -> None:
        if self.extra is None:
            self.extra = Extra()
        setattr(self.extra, field, value)

    return property(get, put)


class Recorded(NodeView):
    """Attributes: ``op`` (None for a leaf), ``attrs``; the inputs as ``left`` and ``right``, and the arrays they held
    when the op ran; ``seq``, a number that grows with every result; ``mark``, the last walk that met it; ``cotangent``,
    its gradient in the last backward pass; ``extra``. A leaf has no ``left`` … ``mark``, which nobody asks it for."""

    __slots__ = (
        "attrs",
        "code",
        "cotangent",
        "extra",
        "instruction",
        "left",
        "left_array",
        "mark",
        "op",
        "right",
        "right_array",
        "route",
        "seq",
    )

    op: Op | None
    attrs: dict[str, Any]
    code: Any
    cotangent: Any
    extra: Extra | None
    instruction: int
    left: Any
    left_array: Any
    mark: Any
    right: Any
    right_array: Any
    route: int
    seq: int

    name = _rare("name", None)
    meta = _rare("meta", FORWARD)
    hooks = _rare("hooks", None)
    kept = _rare("kept", None)
    _grad = _rare("grad", None)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The operands of the op that made this result; none for a leaf, or where the graph was let go."""
        if self.op is None:
            return ()
        if self.right is None:
            return () if self.left is None else (self.left,)
        return self.left if self.right is SEVERAL else (self.left, self.right)

    @property
    def arrays(self) -> Any:
        """The values of ``inputs`` when the op ran; None once a backward pass has used them up."""
        if self.op is None:
            return ()
        if self.left_array is None or (self.mark is not None and self.mark.used_up):
            return None
        if self.right is None:
            return (self.left_array,)
        return self.left_array if self.right is SEVERAL else (self.left_array, self.right_array)

    @property
    def place(self) -> Mark | SourceLine | None:
        """Where the learner made this result: a code object and the offset of an instruction, or a line of a file."""
        if self.op is None:
            return None
        if self.code is None or type(self.code) is SourceLine:
            return self.code
        return self.code, self.instruction

    @place.setter
    def place(self, value: Mark | SourceLine | None) -> None:
        self.code, self.instruction = value if type(value) is tuple else (value, 0)
