"""Graphs as a function sees them: substitution, and which leaves are needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tutorlib.core.building import Meta, building
from tutorlib.core.errors import DTypeError, ShapeError, shape_text
from tutorlib.core.graph import Node, Symbol, label
from tutorlib.core.toposort import toposort


def check_replacement(old: Symbol, new: Symbol) -> None:
    """Raise unless ``new`` may stand wherever ``old`` does: same dtype, same number of axes, no known dim that
    differs."""
    if new.dtype != old.dtype:
        raise DTypeError(
            f"givens replace {label(old)} ({old.dtype}) by a value of dtype {new.dtype}",
            fix=f"cast it: value.astype({old.dtype.name!r})",
        )
    if new.ndim != old.ndim or any(
        a is not None and b is not None and a != b for a, b in zip(old.shape, new.shape, strict=True)
    ):
        raise ShapeError(
            f"givens replace {label(old)} {shape_text(old.shape)} by a value of shape {shape_text(new.shape)}",
            shapes=[old.shape, new.shape],
            fix="give a value of the same shape",
        )


def clone(outputs: Iterable[Symbol], replace: Mapping[Symbol, Symbol]) -> list[Symbol]:
    """``outputs`` with variables exchanged, all at once: what stands in a replacement is not replaced again.

    Only nodes that depend on a replaced variable are made anew. The originals are untouched.
    """
    outputs = list(outputs)
    new: dict[int, Symbol] = {id(old): to for old, to in replace.items()}
    replaced = set(new)
    for node in toposort(outputs, stop=lambda v: id(v) in replaced):
        inputs = tuple(new.get(id(v), v) for v in node.inputs)
        if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
            continue
        copy = rebuilt(node, inputs)
        for old, made in zip(node.outputs, copy.outputs, strict=True):
            new.setdefault(id(old), made)
    return [new.get(id(v), v) for v in outputs]


def rebuilt(node: Node, inputs: tuple[Symbol, ...]) -> Node:
    """The same op on other inputs, with the line, role and names of ``node``."""
    avals = node.op.infer(*(v.aval for v in inputs), **node.attrs)  # type: ignore[misc]
    with building.using(Meta(node.role, node.origin, node.scope)):
        copy = Node(node.op, inputs, node.attrs, node.place)
    many = (avals,) if node.op.nout == 1 else avals
    copy.outputs = tuple(Symbol(a, copy, i, v.name) for i, (a, v) in enumerate(zip(many, node.outputs, strict=True)))
    for made, old in zip(copy.outputs, node.outputs, strict=True):
        made.derivative_of = old.derivative_of
    return copy
