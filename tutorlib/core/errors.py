"""Every error tutorlib raises for a learner: what happened, on which of their lines, and one way to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutorlib.core.source import SourceLine, mark, resolve

__all__ = [
    "DTypeError",
    "DeviceMismatchError",
    "DisconnectedError",
    "FreedGraphError",
    "MemoryBudgetError",
    "MissingInputError",
    "ModeMixError",
    "NonFiniteError",
    "NotDifferentiableError",
    "OutOfBoundsError",
    "ShapeError",
    "StaleValueError",
    "TutorlibError",
    "UnusedInputError",
    "UpdateTypeError",
]

Shape = Sequence[int | None]


class TutorlibError(Exception):
    """Base of all our errors.

    Attributes: ``says`` (what happened), ``op`` (name or None), ``shapes`` (of the operands), ``source`` (the
    learner's SourceLine or None), ``fix`` (one suggestion, or "") and ``inputs`` (the operands of the op, or ()):
    with them ``tl.show(error)`` draws the graph up to the op that failed.
    """

    def __init__(
        self,
        says: str,
        *,
        op: str | None = None,
        shapes: Sequence[Shape] = (),
        wrong_dims: Sequence[int | None] = (),
        fix: str = "",
        source: SourceLine | None = None,
    ) -> None:
        self.says = says
        self.op = op
        self.shapes = tuple(tuple(s) for s in shapes)
        self.wrong_dims = tuple(wrong_dims)
        self.fix = fix
        self.source = source if source is not None else resolve(mark(2))
        self.inputs: tuple[Any, ...] = ()
        self.placed = False  # whether the line is known to be that of the failing node
        super().__init__(says)

    def __str__(self) -> str:
        parts = [f"{self.op}: {self.says}" if self.op else self.says]
        if self.shapes:
            parts.append(aligned(self.shapes, self.wrong_dims))
        if self.source is not None:
            parts.append(_indented(f"{self.source.where}:\n{self.source.pointer()}"))
        if self.fix:
            parts.append(f"  Fix: {self.fix}")
        return "\n".join(parts)

    def of(self, inputs: Sequence[Any]) -> TutorlibError:
        """This error, knowing the operands of its op; those that were known first stay."""
        self.inputs = self.inputs or tuple(inputs)
        return self


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([f"  at {first}", *(f"     {line}" for line in rest if line)])


def aligned(shapes: Sequence[Shape], wrong_dims: Sequence[int | None] = ()) -> str:
    """Shapes one under the other, aligned on the right as broadcasting does, the offending dim of each marked.

    ``wrong_dims`` gives for each shape the index of its offending dim, or None.

    >>> print(aligned([(2, 3), (4,)], [1, 0]))
      (2, 3)
          ^
        (4,)
         ^
    """
    texts = [shape_text(shape) for shape in shapes]
    width = max(map(len, texts))
    lines = []
    for index, (shape, text) in enumerate(zip(shapes, texts, strict=True)):
        lines.append("  " + text.rjust(width))
        dim = wrong_dims[index] if index < len(wrong_dims) else None
        if dim is not None and -len(shape) <= dim < len(shape):
            words = [dim_text(d) for d in shape]
            dim %= len(shape)
            start = 1 + sum(len(w) + 2 for w in words[:dim])
            lines.append("  " + " " * (width - len(text) + start) + "^" * len(words[dim]))
    return "\n".join(lines)


def dim_text(dim: int | None) -> str:
    return "?" if dim is None else str(dim)


def shape_text(shape: Shape) -> str:
    """A shape as Python writes it, with ``?`` for a dim that is not known yet."""
    return "(" + ", ".join(map(dim_text, shape)) + ("," if len(shape) == 1 else "") + ")"


class ShapeError(TutorlibError, ValueError):
    """Shapes that do not fit together, or a shape an op cannot take."""


class OutOfBoundsError(TutorlibError, IndexError):
    """An index beyond the end of an axis, or more indices than axes."""


class DTypeError(TutorlibError, TypeError):
    """A dtype an op or a variable cannot take."""


class DeviceMismatchError(TutorlibError, ValueError):
    """Operands that live on different devices."""


class MemoryBudgetError(TutorlibError, MemoryError):
    """More memory held than ``tl.memory_budget`` allows."""


class ModeMixError(TutorlibError, TypeError):
    """A recorded tensor in a symbolic graph, or a symbol where a value is needed."""


class DisconnectedError(TutorlibError, ValueError):
    """A gradient asked for a variable that the cost does not depend on."""


class NotDifferentiableError(TutorlibError, TypeError):
    """A gradient through something that has none (an integer, a comparison)."""


class UnusedInputError(TutorlibError, ValueError):
    """An input of a function that no output and no update needs."""


class MissingInputError(TutorlibError, TypeError):
    """A symbol without a value: not among a function's inputs, or left out of a call."""


class UpdateTypeError(TutorlibError, TypeError):
    """An update whose dtype or shape is not that of its shared variable."""


class NonFiniteError(TutorlibError, ArithmeticError):
    """NaN or infinity came out of an op whose operands were finite (raised inside ``tl.nan_guard()``)."""


class StaleValueError(TutorlibError, RuntimeError):
    """A value that a recorded graph needs has been replaced since."""


class FreedGraphError(TutorlibError, RuntimeError):
    """A second backward pass through a graph that the first one has used up."""


def note_source(error: Any, source: SourceLine | None) -> None:
    """Say on ``error`` that it belongs to ``source``, the line that made the failing node.

    The innermost node counts: in a loop's body that is the line in the body, not the loop's.
    """
    if isinstance(error, TutorlibError) and source is not None and not error.placed:
        error.source, error.placed = source, True
