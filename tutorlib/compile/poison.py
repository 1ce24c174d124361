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
    axpy gemm add_each sub_each mul_each safe_mul safe_div
    abs exp expm1 log log1p sqrt tanh sin cos sigmoid relu cumsum""".split()
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
    finite: dict[int, bool] = {}  # what is known of constants, by id
    tried = [n for n in protected if not _harmless(n, finite)]
    factors = {id(n.inputs[1]): n.inputs[1] for n in tried}
    if len(factors) <= max(1, len(updates)) and all(v.node is None for v in factors.values()):
        return {id(n) for n in protected if n.op.name == "safe_div"}, list(factors.values()), True
    hides = _hiding(nodes)
    strict = {id(n) for n in protected if id(n.outputs[0]) in hides}
    starts = {id(n) for n in tried if id(n) not in strict}
    reached: set[int] = set()
    for node in nodes if starts else ():
        for v in node.inputs:
            if id(v) in reached or id(node) in starts:
                reached.update([id(out) for out in node.outputs])
                break
    checked: dict[int, Symbol] = {}
    makers = {id(v): node for node in nodes for v in node.outputs}
    for var in (*outputs, *(new for _, new in updates)):
        if id(var) not in reached:
            continue
        # An update computed in place of the old value is looked at before, through its operands.
        looked_at = [v for v in makers[id(var)].inputs if id(v) in reached] if id(var) in direct else [var]
        checked.update((id(v), v) for v in looked_at)
    return strict, list(checked.values()), False


def _hiding(nodes: Sequence[Node]) -> set[int]:
    """Ids of variables whose NaN could get lost on its way to the results."""
    hides: set[int] = set()
    for node in reversed(nodes):
        if node.op.name not in _HAND_ON or node.outputs[0].aval.dtype.kind != "f":
            lost = True
        else:
            lost = bool(hides) and any([id(v) in hides for v in node.outputs])
        if lost:
            hides.update([id(v) for v in node.inputs])
    return hides


def _harmless(node: Node, finite: dict[int, bool]) -> bool:
    """Whether a protected product is the plain one anyway: a number as second factor, or none of the first is 0."""
    first, second = node.inputs
    if node.op.name == "safe_mul" and isinstance(second, Constant):
        known = finite.get(id(second))
        if known is None:
            known = finite[id(second)] = bool(np.isfinite(second.value).all())
        if known:
            return True
    return isinstance(first, Constant) and bool(np.all(np.asarray(first.value) != 0))
