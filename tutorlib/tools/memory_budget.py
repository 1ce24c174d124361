"""Stops at the op whose result would be one array too many: a limit on the memory that a graph's arrays hold."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tutorlib.core.backend import is_array
from tutorlib.core.errors import MemoryBudgetError, TutorlibError, shape_text
from tutorlib.core.observe import Observer, observe
from tutorlib.core.tensor import Tensor

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class Holder(NamedTuple):
    """An array that is held: its ``bytes``, ``shape``, the ``op`` that made it and the learner's line, ``where``."""

    bytes: int
    shape: tuple[int, ...]
    op: str
    where: str

    def __str__(self) -> str:
        return f"{self.op} {shape_text(self.shape)} {size_text(self.bytes)}{f' at {self.where}' if self.where else ''}"


class Memory(Observer):
    """What is held at the moment: ``live`` bytes, ``peak`` so far, ``budget``; ``largest()`` lists the arrays."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.live = self.peak = 0
        self._held: dict[int, Holder] = {}

    def largest(self, count: int = 5) -> list[Holder]:
        """The largest arrays that are held, at most ``count``."""
        return sorted(self._held.values(), key=lambda holder: -holder.bytes)[:count]

    def on_node(self, node: Any) -> None:
        if isinstance(node, Tensor):
            self._enter(node, node.arrays, node._data, "")

    def on_value(self, node: Any, inputs: Any, value: Any) -> None:
        for part in value if node.op.nout > 1 else (value,):
            self._enter(node, inputs, part, "")

    def on_vjp(self, node: Any, cotangent: Any, grads: Any) -> None:
        for _, grad in grads:
            self._enter(node, (), grad._data if isinstance(grad, Tensor) else grad, "gradient of ")

    def _enter(self, node: Any, operands: Any, result: Any, what: str) -> None:
        if not is_array(result) or isinstance(result, np.generic):
            return
        array = _owner(result)
        key = id(array)
        # A view of an operand holds what was counted, or was there, before.
        if key in self._held or any(_owner(a) is array for a in operands or () if is_array(a)):
            return
        source = node.source
        self._held[key] = Holder(array.nbytes, array.shape, what + node.op.name, source.where if source else "")
        self.live += array.nbytes
        weakref.finalize(array, self._leave, key).atexit = False
        self.peak = max(self.peak, self.live)
        if self.live > self.budget:
            largest = "\n".join(f"  {holder}" for holder in self.largest())
            raise MemoryBudgetError(
                f"{size_text(self.live)} are held by {len(self._held)} arrays, the budget is "
                f"{size_text(self.budget)}; the largest are\n{largest}",
                op=node.op.name,
                fix="use smaller batches, del what you no longer need, or compute under tl.no_grad()",
                source=source,
            )

    def _leave(self, key: int) -> None:
        holder = self._held.pop(key, None)
        self.live -= holder.bytes if holder is not None else 0

    def __repr__(self) -> str:
        return f"<memory: {size_text(self.live)} held, peak {size_text(self.peak)}, budget {size_text(self.budget)}>"


@contextmanager
def memory_budget(limit: int | float | str) -> Iterator[Memory]:
    """Raise MemoryBudgetError, naming op, line and the largest arrays, as soon as more than ``limit`` is held.

    Args:
        limit: bytes, or a text such as ``"64 MB"`` or ``"1 GiB"``.

    Counted are the arrays that ops and gradients make inside the block and that something still holds: a recorded
    graph, a name, a compiled function that still needs the value. Compiled functions run node by node inside (slower;
    in their own plan of buffers, ``f.schedule``, they need less). Arrays from before are not counted.

    >>> import tutorlib as tl
    >>> x = tl.tensor([0.0] * 1000, requires_grad=True)
    >>> with tl.memory_budget("20 kB") as memory:
    ...     try:
    ...         y = tl.exp(tl.exp(tl.exp(x)))
    ...     except tl.MemoryBudgetError as error:
    ...         print(error.says.partition(";")[0])
    24.0 kB are held by 3 arrays, the budget is 20.0 kB
    >>> memory.peak
    24000
    """
    memory = Memory(_bytes(limit))
    with observe(memory):
        yield memory


def _owner(array: Any) -> Any:
    """The array whose memory this one looks into, through any number of views."""
    while is_array(getattr(array, "base", None)):
        array = array.base
    return array


def _bytes(limit: int | float | str) -> int:
    found = re.fullmatch(r"\s*([\d.]+(?:e\d+)?)\s*([a-zA-Z]*)\s*", str(limit))
    try:
        if found is not None:
            return int(float(found[1]) * _UNITS[found[2].upper()])
    except (KeyError, ValueError):
        pass
    raise TutorlibError(f"{limit!r} is no amount of memory", fix='write bytes, or a text such as "64 MB"')


def size_text(size: int) -> str:
    """Bytes as people write them: 24000 → "24.0 kB"."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
