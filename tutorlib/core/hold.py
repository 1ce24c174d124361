"""Arrays of the learner's own that a recorded graph still needs: made read-only for as long as it does.

A graph keeps no copy of an array passed to an op. If the learner changed it before ``backward()``, gradients would be
silently wrong; so NumPy refuses the change, at the guilty line. The array is writable again once the graph is gone.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any

import numpy as np

# How many recorded nodes need an array, by the array's id; only arrays that were writable before are entered.
_needed: dict[int, int] = {}
# By the id of a node: what it needs, and a reference that tells when the node is gone.
_holds: dict[int, tuple[weakref.ref[Any], list[np.ndarray]]] = {}
# Views that nobody needs any more, by the id of the array they view, which a graph still needs.
_waiting: dict[int, list[np.ndarray]] = {}


def _own_arrays(array: np.ndarray) -> list[np.ndarray]:
    """The array and the arrays that it is a view of: a change to any of them changes it."""
    chain = [array]
    base: Any = array.base
    while isinstance(base, np.ndarray):
        chain.append(base)
        base = base.base
    return chain


def hold(node: Any, arrays: list[np.ndarray]) -> None:
    """Make ``arrays`` read-only until ``node`` is gone or ``release(node)`` is called."""
    held = []
    for array in arrays:
        for one in _own_arrays(array):
            if one.flags.writeable:
                one.setflags(write=False)
                _needed[id(one)] = 1
            elif id(one) in _needed:
                _needed[id(one)] += 1
            else:
                continue
            held.append(one)
    if held:
        key = id(node)
        _holds[key] = weakref.ref(node, lambda _: _let_go(key)), held


def _let_go(key: int) -> None:
    _, held = _holds.pop(key, (None, ()))
    # A view can be made writable only after what it views: the chain was entered view first.
    for array in reversed(held):
        left = _needed.get(id(array), 0) - 1
        if left > 0:
            _needed[id(array)] = left
        else:
            _needed.pop(id(array), None)
            _give_back(array)


def _give_back(array: np.ndarray) -> None:
    """Make an array writable again, or wait with it until what it views is."""
    if array.flags.owndata:
        array.setflags(write=True)
    elif id(array.base) in _needed:
        _waiting.setdefault(id(array.base), []).append(array)
        return
    else:
        # NumPy refuses when the learner has made the viewed array read-only meanwhile; then the view stays so too.
        with suppress(ValueError):
            array.setflags(write=True)
    if not _waiting:
        return
    for view in _waiting.pop(id(array), ()):
        if id(view) not in _needed:
            _give_back(view)


def release(mark: Any) -> None:
    """Give the learner's arrays back: the nodes with this ``mark`` need them no more."""
    for key, (reference, _) in list(_holds.items()):
        node = reference()
        if node is not None and node.mark is mark:
            _let_go(key)
