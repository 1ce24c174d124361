"""Stops at the first op that turns finite numbers into NaN or infinity, forward or on the way back, in both modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tutorlib.core.backend import is_array, to_host
from tutorlib.core.errors import NonFiniteError
from tutorlib.core.graph import label
from tutorlib.core.observe import Observer, observe
from tutorlib.core.tensor import Tensor


@contextmanager
def nan_guard() -> Iterator[None]:
    """Raise NonFiniteError, naming op, operands and line, as soon as NaN or infinity comes out of finite numbers.

    Watches recorded ops, backward passes and compiled functions, which run node by node inside (slower).

    >>> import tutorlib as tl
    >>> x = tl.tensor([1.0, 0.0], requires_grad=True, name="x")
    >>> with tl.nan_guard():
    ...     try:
    ...         y = tl.log(x)
    ...     except tl.NonFiniteError as error:
    ...         print(error.says)
    −inf in 1 of 2 elements, from finite operands: x from 0 to 1
    """
    with observe(_Guard()):
        yield


class _Guard(Observer):
    def on_node(self, node: Any) -> None:
        if isinstance(node, Tensor):
            _look(node, node.arrays, node._data, "")

    def on_value(self, node: Any, inputs: Any, value: Any) -> None:
        for part in value if node.op.nout > 1 else (value,):
            _look(node, inputs, part, "")

    on_inner_value = on_value

    def on_vjp(self, node: Any, cotangent: Any, grads: Any) -> None:
        arrays = [g._data if isinstance(g, Tensor) else g for g in (cotangent, *(grad for _, grad in grads))]
        if all(is_array(a) for a in arrays):
            for part in arrays[1:]:
                _look(node, [arrays[0]], part, "the gradient of ")


def _look(node: Any, operands: Sequence[Any], value: Any, what: str) -> None:
    host = np.asarray(to_host(value)) if is_array(value) else np.asarray(value)
    if host.dtype.kind != "f" or np.isfinite(host).all() or not all(map(_finite, operands)):
        return
    bad = ~np.isfinite(host)
    kind = "NaN" if np.isnan(host).any() else "inf" if (host[bad] > 0).any() else "−inf"
    described = ", ".join(map(_described, node.inputs, operands))
    shown = "" if what else f": {described}"
    error = NonFiniteError(
        f"{what and what + node.op.name + ' gave '}{kind} in {int(bad.sum())} of {host.size} elements, from finite "
        f"{'cotangents' if what else 'operands'}{shown}",
        op=node.op.name,
        fix="keep its operand where the op is defined, for example with tl.maximum(x, 1e-12)",
        source=node.source,
    )
    error.placed = True
    raise error


def _finite(value: Any) -> bool:
    host = np.asarray(to_host(value)) if is_array(value) else np.asarray(value)
    return host.dtype.kind != "f" or bool(np.isfinite(host).all())


def _described(var: Any, array: Any) -> str:
    host = np.asarray(to_host(array)) if is_array(array) else np.asarray(array)
    name = label(var) if getattr(var, "name", None) else "an operand"
    if host.size == 0 or host.dtype.kind not in "biuf":
        return name
    low, high = float(host.min()), float(host.max())
    return f"{name} = {low:g}" if low == high else f"{name} from {low:g} to {high:g}"
