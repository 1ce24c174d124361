"""What a forward op leaves for its gradient, in one schedule: softmax of cross-entropy, windows of a convolution.

An op takes up only what was computed before it in the same call, from the same variables. Which ops do is decided when
they are bound first, in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutorlib.compile.bound import Bound, Scratch, empty
from tutorlib.compile.lower import lowered
from tutorlib.compile.lower_images import lower_conv_weight
from tutorlib.compile.lower_rows import Shares, cross_entropy_back_after
from tutorlib.core.graph import Node

# Windows of so many bytes at most are kept until the gradient comes.
MOST = 1 << 25


class LeftOver:
    """Binds the ops of a schedule that leave or take up something, and all others as ``lowered`` does."""

    def __init__(self, nodes: Sequence[Node], in_c: bool) -> None:
        """``in_c``: whether cross-entropy may be computed by C, which leaves nothing."""
        self._in_c = in_c
        self._of_weights = {id(n.inputs[0]) for n in nodes if n.op.name == "conv_weight"}
        self._shares: dict[Any, Shares] = {}
        self._windows: dict[Any, np.ndarray] = {}
        self._takes: dict[int, bool] = {}

    def calls(self, node: Node, operands: Sequence[Any], out: np.ndarray, scratch: Scratch) -> list[Bound]:
        """The calls that compute ``node`` from ``operands`` into ``out``."""
        found: list[Bound] | None = None
        name = node.op.name
        if name == "cross_entropy_back":
            key = _scores_and_labels(node)
            if self._may_take(node, key in self._shares):
                found = cross_entropy_back_after(operands, out, self._shares[key])
        elif name == "conv_weight":
            key = _windows(node, operands[2])
            if self._may_take(node, key in self._windows):
                found = lower_conv_weight(node, operands, out, scratch, self._windows[key])
        elif name == "conv" and id(node.inputs[0]) in self._of_weights:
            key = _windows(node, operands[1])

            def kept(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
                if np.prod(shape) * np.dtype(dtype).itemsize > MOST:
                    return scratch(shape, dtype)
                if key not in self._windows:
                    self._windows[key] = empty(shape, dtype)
                return self._windows[key]

            found = lowered(node, operands, out, kept)
        found = found if found is not None else lowered(node, operands, out, scratch)
        if name == "cross_entropy" and found[0].kept is not None and not self._in_c:
            self._shares[_scores_and_labels(node)] = found[0].kept
        return found

    def _may_take(self, node: Node, is_there: bool) -> bool:
        return self._takes.setdefault(id(node), is_there)


def _scores_and_labels(node: Node) -> Any:
    """Of cross-entropy and its gradient: which scores and labels, along which axis."""
    scores, labels = node.inputs[-2:]
    return id(scores), id(labels), node.attrs["axis"]


def _windows(node: Node, kernel: np.ndarray) -> Any:
    """Of a convolution and the gradient of its weights: the windows of which images."""
    geometry = (node.attrs[k] for k in ("stride", "padding", "dilation"))
    return id(node.inputs[0]), kernel.shape[2:], *geometry
