"""A static graph run once on tensors, node by node, so that what works on recorded graphs works on it too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tutorlib.compile.arguments import accepted
from tutorlib.core.dispatch import enable_grad
from tutorlib.core.errors import MissingInputError
from tutorlib.core.graph import Constant, Shared, Symbol, label
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import toposort


def replay(roots: list[Symbol], inputs: Mapping[Any, Any]) -> dict[int, Any]:
    """Values for every variable below ``roots``, by ``id`` of the symbol: recorded tensors, each with its learner's
    line.

    Floating-point leaves require gradients. Raises MissingInputError for an input without a value.
    """
    values: dict[int, Any] = {id(var): _leaf(var, value) for var, value in inputs.items()}
    with enable_grad():
        for node in toposort(roots, stop=lambda v: id(v) in values):
            operands = []
            for var in node.inputs:
                if id(var) not in values:
                    values[id(var)] = _known(var)
                operands.append(values[id(var)])
            results = node.op(*operands, **node.attrs)
            for var, result in zip(node.outputs, results if node.op.nout > 1 else (results,), strict=True):
                if isinstance(result, Tensor) and result.op is not None:
                    result.place = node.place
                    result.name = var.name
                values[id(var)] = result
    for var in roots:
        if id(var) not in values:
            values[id(var)] = _known(var)
    return values


def _leaf(var: Symbol, value: Any) -> Tensor:
    return Tensor(accepted(var, value), var.dtype.kind == "f", var.name)


def _known(var: Symbol) -> Any:
    if isinstance(var, Constant):
        return var.value
    if isinstance(var, Shared):
        return Tensor(var.storage.value, var.dtype.kind == "f", var.name)
    raise MissingInputError(f"no value was given for {label(var)}", fix="pass it: inputs={x: value}")
