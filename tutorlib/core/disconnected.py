"""Why a variable has no gradient: the error names the op at which it ends, or what was mixed up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutorlib.core.errors import DisconnectedError
from tutorlib.core.graph import label
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import toposort


def disconnected_error(costs: Sequence[Any], var: Any) -> DisconnectedError:
    """The error for a gradient of ``costs`` with respect to ``var``, to which none flows."""
    name = label(var)
    if isinstance(var, Tensor) and not var.requires_grad:
        says = f"{name} does not require a gradient, so nothing was recorded for it"
        return DisconnectedError(says, fix="make it with requires_grad=True")
    if any(v is cost for node in toposort([var]) for v in node.inputs for cost in costs):
        says = f"{name} is computed from the cost, not the other way round"
        return DisconnectedError(says, fix="the cost comes first: tl.grad(cost, x)")
    end = _where_it_ends(costs, var)
    if end is not None:
        says = f"the cost depends on {name} only through {end.op.name}, which passes no gradient on"
        fix = 'put something with a slope in its place, or pass disconnected="zero"'
        return DisconnectedError(says, fix=fix, source=end.source)
    return DisconnectedError(
        f"the cost does not depend on {name}", fix='use it in the cost, or pass disconnected="zero"'
    )


def _where_it_ends(costs: Sequence[Any], var: Any) -> Any:
    """The first node that ``var``, or something computed from it, goes into and nothing with a gradient comes out of;
    None if the costs do not depend on it at all."""
    reached, end = {id(var)}, None
    for node in toposort(costs):
        if not any(id(v) in reached for v in node.inputs):
            continue
        smooth = [v for v in node.outputs if v.dtype.kind == "f" and node.op.vjp is not None]
        if end is None and (not smooth or node.op.name == "stop_gradient"):
            end = node
        reached.update(id(v) for v in node.outputs)
    return end if end is not None and any(id(cost) in reached for cost in costs) else None
