"""Constant folding: what depends on constants only is computed once, when the function is compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tutorlib.compile.rule_table import rule
from tutorlib.core.dispatch import run
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Constant, Node
from tutorlib.ops.define import normalized_axes


@rule("count", tier="fold", says="the number of elements is a constant where the shape is known")
def count_known(node: Node) -> Any:
    x = node.inputs[0]
    if not x.aval.known:
        return None
    axes = normalized_axes(node.attrs["axis"], x.ndim, "count")
    return Constant(np.asarray(math.prod(x.shape[a] for a in axes), node.outputs[0].dtype))  # type: ignore[misc]


# A bigger result is left to be computed: a stretched constant may fit in no memory.
LARGEST = 1 << 16


@rule("*", tier="fold", says="constants in, constant out", every="number array")
def fold_constants(node: Node) -> Any:
    if not node.inputs or not all(isinstance(v, Constant) for v in node.inputs) or "random" in node.op.flags:
        return None
    out = node.outputs[0]
    if "effect" in node.op.flags or math.prod(d if d is not None else LARGEST + 1 for d in out.shape) > LARGEST:
        return None
    try:
        value = run(node.op, [v.value for v in node.inputs if isinstance(v, Constant)], node.attrs)
    except TutorlibError:
        return None  # the learner meets the error when the function runs, at their line
    return Constant(value if out.aval.weak else np.asarray(value, out.dtype))
