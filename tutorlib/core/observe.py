"""What widgets, profilers and recorders subscribe to. The engine calls these; nothing here changes a value."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tutorlib.core.building import WATCHED, unusual


class Observer:
    """Base of everything that watches the engine: override what you need.

    >>> import tutorlib as tl
    >>> class Count(tl.Observer):
    ...     n = 0
    ...     def on_node(self, node):
    ...         self.n += 1
    >>> with tl.observe(Count()) as count:
    ...     x = tl.tensor(2.0, requires_grad=True)
    ...     y = x * x + x
    >>> count.n
    2
    """

    def on_node(self, node: Any) -> None:
        """A node was recorded (dynamic) or built (static)."""

    def on_vjp(self, node: Any, cotangent: Any, grads: Any) -> None:
        """The gradient walk passed a node: ``cotangent`` arrived, ``grads`` go to its inputs (None: no gradient)."""

    def on_gradient(self, cost: Any, gradients: Any) -> None:
        """A gradient walk over tensors has ended, and its graph is still there.

        ``gradients`` are pairs (variable, gradient as an array or a tensor): of the leaves for ``cost.backward()``, of
        what was asked for with ``grad``.
        """

    def before_call(self, function: Any, inputs: Any) -> None:
        """A compiled function is about to run on the arrays ``inputs``; what it updates still has the old values."""

    def before_write(self, storage: Any, by: Any) -> None:
        """A storage still holds the value that it is about to lose. Not told of a function's updates: see
        ``before_call``."""

    def on_write(self, storage: Any, by: Any) -> None:
        """A storage got a new value; ``by`` is "set_value", "in-place" or the compiled function."""

    def on_call(self, function: Any, inputs: Any, outputs: Any) -> None:
        """A compiled function has returned and written all its updates."""

    def on_value(self, node: Any, inputs: Any, value: Any) -> None:
        """A node of a compiled function was computed. While somebody overrides this, functions run node by node."""

    def on_inner_value(self, node: Any, inputs: Any, value: Any) -> None:
        """A node inside a loop or a branch of a compiled function was computed. While somebody overrides this, these
        run node by node, too."""

    def on_rewrite(self, step: Any) -> None:
        """A rewrite changed a graph."""


# Held weakly: a widget that is gone must not be kept alive, nor called, by the engine.
observers: list[weakref.ref[Observer]] = []


def _tell_ops() -> None:
    """Have ops ask for observers while there are any."""
    if (observers != []) != (WATCHED in unusual):
        (unusual.append if observers else unusual.remove)(WATCHED)


def add_observer(observer: Observer) -> None:
    """Call ``observer`` from now on, for as long as somebody else keeps it alive."""
    if all(ref() is not observer for ref in observers):
        observers.append(weakref.ref(observer, _forget))
        _tell_ops()


def _forget(ref: weakref.ref[Observer]) -> None:
    if ref in observers:
        observers.remove(ref)
        _tell_ops()


def remove_observer(observer: Observer) -> None:
    """Stop calling ``observer``; nothing happens if it is not subscribed."""
    observers[:] = [ref for ref in observers if ref() is not observer]
    _tell_ops()


@contextmanager
def observe(observer: Observer) -> Iterator[Observer]:
    """Subscribe inside a ``with`` block."""
    add_observer(observer)
    try:
        yield observer
    finally:
        remove_observer(observer)


def watching(event: str) -> bool:
    """Whether some observer overrides ``event``: what nobody listens to need not be looked up."""
    default = getattr(Observer, event)
    alive = [ref() for ref in observers]
    return any(getattr(type(o), event) is not default for o in alive if o is not None)


def watching_values() -> bool:
    """Whether some observer wants the value of every node of compiled functions."""
    return watching("on_value")


def tell(event: str, *args: Any) -> None:
    """Call method ``event`` of every observer. Callers test ``if observers:`` first, which costs nothing."""
    for ref in tuple(observers):
        observer = ref()
        if observer is not None:
            getattr(observer, event)(*args)
