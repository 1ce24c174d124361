"""Nested tuples, lists and dicts of variables: taken apart into leaves, and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


class Form:
    """The structure of a nested value without its leaves. Equal forms hold as many leaves in the same places."""

    __slots__ = ("children", "keys", "kind")

    def __init__(self, kind: type | None, keys: tuple[Any, ...] = (), children: tuple[Form, ...] = ()) -> None:
        self.kind = kind  # None: a leaf; NoneType: nothing
        self.keys = keys
        self.children = children

    def build(self, leaves: Sequence[Any]) -> Any:
        """The value of this form with the given leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        if self.kind is type(None):
            return None
        parts = [child._build(leaves) for child in self.children]
        if self.kind is dict:
            return dict(zip(self.keys, parts, strict=True))
        return self.kind(*parts) if hasattr(self.kind, "_fields") else self.kind(parts)

    def paths(self, start: str) -> list[str]:
        """A name for every leaf, as one would write it: ``carry["h"][0]``."""
        if self.kind is None:
            return [start]
        if self.kind is dict:
            steps = [f"[{key!r}]" for key in self.keys]
        elif hasattr(self.kind, "_fields"):
            steps = [f".{field}" for field in self.kind._fields]
        else:
            steps = [f"[{i}]" for i in range(len(self.children))]
        return [
            path for step, child in zip(steps, self.children, strict=True) for path in child.paths(f"{start}{step}")
        ]

    def _key(self) -> tuple[Any, ...]:
        return (self.kind, self.keys, self.children)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return repr(self.build(["·"] * len(self.paths(""))))


LEAF = Form(None)


def flatten(value: Any) -> tuple[list[Any], Form]:
    """The leaves of ``value`` in order, and its form. Tuples, named tuples, lists, dicts and None are structure.

    >>> leaves, form = flatten((1, {"a": [2, None]}))
    >>> leaves, form.paths("x")
    ([1, 2], ['x[0]', "x[1]['a'][0]"])
    >>> form.build([10, 20])
    (10, {'a': [20, None]})
    """
    if value is None:
        return [], Form(type(None))
    if isinstance(value, dict):
        parts = [flatten(part) for part in value.values()]
        form = Form(dict, tuple(value), tuple(child for _, child in parts))
    elif isinstance(value, tuple | list):
        parts = [flatten(part) for part in value]
        form = Form(type(value), (), tuple(child for _, child in parts))
    else:
        return [value], LEAF
    return [leaf for leaves, _ in parts for leaf in leaves], form
