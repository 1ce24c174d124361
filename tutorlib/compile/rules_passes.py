"""Which ops may run together as one pass over their data. These rules join ops where the others replace them: for each
node they say whether it may be part of a pass, and ``regions`` finds the passes."""

from __future__ import annotations

from typing import Any

from tutorlib.compile.lower import one_ufunc
from tutorlib.compile.regions import STRETCH
from tutorlib.compile.rule_table import rule
from tutorlib.core.graph import Node

# Ops of several calls that keep up with NumPy's own on a part of an array.
IN_PARTS = frozenset({"relu", "sigmoid", "softplus", "log1p", "safe_mul", "safe_div", "where"})


@rule("*", tier="fuse", says="elementwise ops on one shape run as one pass, part by part")
def fuse_elementwise(node: Node) -> Any:
    if node.op.name == STRETCH:
        return node.inputs[0].ndim == 0
    return node.op.nout == 1 and (one_ufunc(node) is not None or node.op.name in IN_PARTS)


@rule("sum", "mean", tier="fuse", safety="reassociates", says="Σ f(x): what is summed is added up part by part")
def fuse_sums(node: Node) -> Any:
    x, out = node.inputs[0], node.outputs[0]
    return x.dtype == out.dtype and x.dtype.kind == "f" and x.dtype.itemsize >= 4
