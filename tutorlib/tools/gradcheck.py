"""Is a gradient right? Compared with central differences, which know nothing of our rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.core.autodiff import grad
from tutorlib.core.create import tensor
from tutorlib.core.errors import DTypeError, TutorlibError
from tutorlib.core.operators import OPS
from tutorlib.core.tensor import Tensor


@dataclass(frozen=True)
class GradientCheck:
    """What ``gradcheck`` found: ``ok``, and for each input the gradient, the differences and the largest error."""

    ok: bool
    gradients: tuple[np.ndarray, ...]
    differences: tuple[np.ndarray, ...]
    errors: tuple[float, ...]

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        worst = ", ".join(f"{error:.1e}" for error in self.errors)
        return f"<gradient check {'passed' if self.ok else 'failed'}: largest relative error an input {worst}>"


def gradcheck(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    order: int = 1,
    step: float = 1e-6,
    tolerance: float = 1e-5,
) -> GradientCheck:
    """Compare the gradients of ``function`` with central differences.

    Args:
        function: takes tensors, returns one tensor of any shape (its elements are weighed by fixed random numbers).
        inputs: float64 numbers or arrays, one an argument.
        order: 1 checks gradients, 2 the gradients of gradients, and so on.
        step: of the differences; the error of a central difference falls with its square.
        tolerance: largest error that passes, relative to 1 + the size of the gradient.

    Raises DTypeError for inputs that are not float64: smaller types drown the differences in rounding.

    >>> import tutorlib as tl
    >>> tl.gradcheck(lambda x, y: x * tl.sin(y), [[1.0, 2.0], 0.5]).ok
    True
    """
    arrays = [np.array(x._data if isinstance(x, Tensor) else x) for x in inputs]
    arrays = [a.astype(np.float64) if a.dtype.kind in "iu" else a for a in arrays]
    for array in arrays:
        if array.dtype != np.float64:
            raise DTypeError(f"a check needs float64 inputs, one is {array.dtype}", fix='use array.astype("float64")')
    if order < 1:
        raise TutorlibError("the order of a check is at least 1", fix="leave order out")

    def scalar(*values: Any) -> Any:
        out = function(*values)
        for lower in range(order - 1):
            parts = grad(_weighed(out, lower), list(values), disconnected="zero")
            out = OPS.concatenate([OPS.flatten(p) for p in parts])
        return _weighed(out, order)

    tensors = [tensor(a, requires_grad=True) for a in arrays]
    cost = scalar(*tensors)
    gradients = tuple(g.numpy().copy() for g in grad(cost, tensors, disconnected="zero", create_graph=False))
    differences = tuple(_central(scalar, arrays, i, step) for i in range(len(arrays)))
    errors = tuple(
        float(np.max(np.abs(g - d) / (1 + np.abs(d)), initial=0.0)) for g, d in zip(gradients, differences, strict=True)
    )
    return GradientCheck(all(e <= tolerance for e in errors), gradients, differences, errors)


def _weighed(out: Any, seed: int) -> Any:
    """All elements of ``out`` in one number, each counting differently so that no error can cancel another."""
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, out.shape)
    return OPS.sum(out * weights)


def _central(scalar: Callable[..., Any], arrays: list[np.ndarray], which: int, step: float) -> np.ndarray:
    result = np.zeros_like(arrays[which])
    for position in np.ndindex(arrays[which].shape):
        ends = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[which][position] += sign * step
            ends.append(float(scalar(*(tensor(a, requires_grad=True) for a in moved)).item()))
        result[position] = (ends[0] - ends[1]) / (2 * step)
    return result
