"""Where products of cotangents may be tried without protection.

``safe_mul`` and ``safe_div`` keep a cotangent of zero zero against infinity. The plain product gives NaN there, and
nothing else differs. If that NaN cannot get lost on its way to the results, it is enough to look for NaN there, once,
and to run again with protection in the rare case. Between the two lie ops that hand NaN on; others could hide it. Where
the second factors are all given from outside it is cheaper to see that these are finite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tutorlib.core.graph import Constant, Node, Shared, Symbol

_PROTECTED = frozenset({"safe_mul", "safe_div"})
# Ops whose result is NaN wherever a floating-point operand is, or does not depend on that element of it.
_HAND_ON = frozenset(
    """add sub mul div neg square reciprocal matmul linear sum mean unbroadcast broadcast_like broadcast_to reshape
    reshape_like transpose expand_dims squeeze getitem part flip diagonal where cast concatenate stack scatter take
    safe_mul safe_div abs exp expm1 log log1p sqrt tanh sin cos sigmoid relu cumsum""".split()
)


def speculation(
    nodes: Sequence[Node],
    outputs: Sequence[Symbol],
    updates: Sequence[tuple[Shared, Symbol]],
    direct: Mapping[int, Any],
) -> tuple[set[int], list[Symbol], bool]:
    """(ids of nodes that must be protected always, variables to be looked at, whether these are factors).

    Results must not be NaN; factors must be finite.
    """
    protected = [n for n in nodes if n.op.name in _PROTECTED]
    if not protected:
        return set(), [], False
    hides: set[int] = set()  # ids of variables whose NaN could get lost
    for node in reversed(nodes):
        results = [id(v) for v in node.outputs]
        kept = node.op.name in _HAND_ON and node.outputs[0].dtype.kind == "f"
        if not kept or any(key in hides for key in results):
            hides.update(id(v) for v in node.inputs)
    factors = {id(n.inputs[1]): n.inputs[1] for n in protected if not _harmless(n)}
    if len(factors) <= max(1, len(updates)) and all(v.node is None for v in factors.values()):
        strict = {id(n) for n in protected if n.op.name == "safe_div"}
        return strict, [v for key, v in factors.items() if any(id(n.inputs[1]) == key for n in protected)], True
    strict = {id(n) for n in protected if id(n.outputs[0]) in hides}
    reached: set[int] = set()
    for node in nodes:
        tried = node.op.name in _PROTECTED and id(node) not in strict and not _harmless(node)
        if tried or any(id(v) in reached for v in node.inputs):
            reached.update(id(v) for v in node.outputs)
    checked: dict[int, Symbol] = {}
    for var in (*outputs, *(new for _, new in updates)):
        if id(var) not in reached:
            continue
        # An update computed in place of the old value is looked at before, through its operands.
        looked_at = [v for v in var.node.inputs if id(v) in reached] if id(var) in direct else [var]
        checked.update((id(v), v) for v in looked_at)
    return strict, list(checked.values()), False


def _harmless(node: Node) -> bool:
    """Whether a protected product is the plain one anyway: a number as second factor, or none of the first is 0."""
    first, second = (v.value if isinstance(v, Constant) else None for v in node.inputs)
    if node.op.name == "safe_mul" and second is not None and np.isfinite(second).all():
        return True
    return first is not None and bool(np.all(np.asarray(first) != 0))
