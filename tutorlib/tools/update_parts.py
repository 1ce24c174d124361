"""The updates of a compiled function as arithmetic: the learner's expression with a place for each operand, and the
numbers of one call.

The numbers are computed by a second function from the values before the call, only for calls that a recording keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.compile.arguments import In
from tutorlib.compile.fgraph import clone
from tutorlib.compile.function import Function
from tutorlib.core.backend import to_host
from tutorlib.core.graph import Constant, Input, Shared, Symbol, label
from tutorlib.core.toposort import leaves_of, toposort
from tutorlib.messages import message
from tutorlib.tools.frames import Rule

__all__ = ["UpdateParts", "expression"]

SUM, PRODUCT, POWER, ATOM = range(4)
# How an op reads: template, how tightly it binds, how tightly its operands must. Other ops stand as one operand.
_SHOWN: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "add": ("{} + {}", SUM, (SUM, SUM)),
    "sub": ("{} − {}", SUM, (SUM, PRODUCT)),
    "mul": ("{} · {}", PRODUCT, (PRODUCT, PRODUCT)),
    "safe_mul": ("{} · {}", PRODUCT, (PRODUCT, PRODUCT)),
    "div": ("{} / {}", PRODUCT, (PRODUCT, POWER)),
    "safe_div": ("{} / {}", PRODUCT, (PRODUCT, POWER)),
    "neg": ("−{}", SUM, (PRODUCT,)),
    "square": ("{}²", POWER, (ATOM,)),
    "sqrt": ("√{}", POWER, (ATOM,)),
    "pow": ("{}^{}", POWER, (ATOM, ATOM)),
    "maximum": ("max({}, {})", ATOM, (SUM, SUM)),
    "minimum": ("min({}, {})", ATOM, (SUM, SUM)),
    "abs": ("|{}|", ATOM, (SUM,)),
    "sign": ("sign({})", ATOM, (SUM,)),
    "exp": ("exp({})", ATOM, (SUM,)),
    "log": ("log({})", ATOM, (SUM,)),
    "cast": ("{}", SUM, (SUM,)),
    "identity": ("{}", SUM, (SUM,)),
}
MOST_OPERANDS, LONGEST, DEEPEST = 8, 110, 6


def expression(new: Symbol, of: Shared) -> tuple[Rule, list[Symbol]]:
    """The right side of an update of `of`, and its operands: as much of it written out as can be read in a line.

    >>> import tutorlib as tl
    >>> w, v = tl.shared(1.0, name="w"), tl.shared(0.0, name="v")
    >>> expression(w - 0.1 * (0.9 * v + w), w)[0].text
    'w − 0.1 · (0.9 · v + w)'
    """
    for depth in range(DEEPEST, 0, -1):
        operands: list[Symbol] = []
        template, _ = _text(new, operands, depth, root=True)
        rule = Rule(template, tuple(_name(v, of) for v in operands))
        if len(operands) <= MOST_OPERANDS and len(rule.text) <= LONGEST:
            break
    return rule, operands


def _text(var: Symbol, operands: list[Symbol], depth: int, root: bool = False) -> tuple[str, int]:
    if isinstance(var, Constant) and np.ndim(var.value) == 0:
        value = to_host(np.asarray(var.value)).item()
        said = f"{value:.6g}" if isinstance(value, float) else str(value)
        return said, SUM if said.startswith("-") else ATOM
    shown = _SHOWN.get(var.node.op.name) if var.node is not None else None
    if shown is None or depth == 0 or var.derivative_of or (var.name and not root):
        if not any(v is var for v in operands):
            operands.append(var)
        # The sign of a derivative holds a stroke: it must not be read into a power or a quotient.
        return f"{{{next(i for i, v in enumerate(operands) if v is var)}}}", PRODUCT if var.derivative_of else ATOM
    assert var.node is not None
    template, level, needed = shown
    inner = depth if template == "{}" else depth - 1
    parts = []
    for operand, at_least in zip(var.node.inputs, needed, strict=True):
        said, binds = _text(operand, operands, inner, root and template == "{}")
        parts.append(said if binds >= at_least else f"({said})")
        level = binds if template == "{}" else level
    return template.format(*parts), level


def _name(var: Symbol, of: Shared) -> str:
    """What an operand is called: a gradient after its variable, everything else as messages call it."""
    wrt = [v for _, v in var.derivative_of]
    if wrt:
        chosen = of if any(v is of for v in wrt) else wrt[0]
        return f"∂L/∂{chosen.name or message('widgets.kind_shared')}"
    if var.node is None and not var.name:
        return message(f"widgets.kind_{var.kind}")
    return label(var)


@dataclass(frozen=True)
class _Update:
    shared: Shared
    rule: Rule
    operands: list[Symbol]
    gradient: Symbol | None


class UpdateParts:
    """The arithmetic of all updates of one function.

    `loss` is the number of the output that is the cost (the first scalar, where the cost itself is none of them), None
    where no update uses a gradient.
    `needs` are the shared variables whose values before a call the arithmetic is computed from.
    """

    def __init__(self, function: Function) -> None:
        self.updates = [_part(shared, new) for shared, new in function.updates]
        self._inputs = list(function.inputs)
        wanted = [v for u in self.updates for v in (*u.operands, *([u.gradient] if u.gradient is not None else []))]
        self._computed = list({id(v): v for v in wanted if v.node is not None}.values())
        reached = leaves_of(self._computed) if self._computed else []
        leaves = [*reached, *(v for v in wanted if v.node is None)]
        self.needs = [v for v in {id(v): v for v in leaves}.values() if isinstance(v, Shared)]
        costs = [cost for u in self.updates if u.gradient is not None for cost, _ in u.gradient.derivative_of]
        self._read = {id(v.storage) for v in leaves_of(costs) if isinstance(v, Shared)}
        self._trains = bool(costs)
        numbers = [i for i, v in enumerate(function.outputs) if v.ndim == 0 and v.dtype.kind == "f"]
        is_cost = [i for i in numbers if any(function.outputs[i] is cost for cost in costs)]
        self.loss = next(iter(is_cost or numbers), None) if costs else None
        self._name = function.name
        self._evaluate: Function | None = None

    def numbers(
        self, inputs: Sequence[Any], before: Mapping[int, Any]
    ) -> list[tuple[np.ndarray | None, Rule, list[np.ndarray]]]:
        """Of each update: its gradient (or None), its rule, and the operands of the rule.

        `inputs`: the arrays of the call; `before`: the value of each variable in `needs` before it, by its id.
        """
        known: dict[int, Any] = {id(v): array for v, array in zip(self._inputs, inputs, strict=True)}
        known.update(before)
        if self._computed:
            if self._evaluate is None:
                self._evaluate = self._function()
            results = self._evaluate(*inputs, *(before[id(v)] for v in self.needs))
            known.update((id(v), array) for v, array in zip(self._computed, results, strict=True))
        found = []
        for update in self.updates:
            operands = [
                to_host(np.asarray(v.value)) if isinstance(v, Constant) else to_host(known[id(v)])
                for v in update.operands
            ]
            gradient = to_host(known[id(update.gradient)]) if update.gradient is not None else None
            found.append((gradient, update.rule, operands))
        return found

    def _function(self) -> Function:
        # Not through tl.function, which would let random streams move on.
        proxies = [Input(v.aval, name=v.name) for v in self.needs]
        roots = clone(self._computed, dict(zip(self.needs, proxies, strict=True)))
        ins = [In(v) for v in [*self._inputs, *proxies]]
        return Function(ins, roots, [], list, "ignore", None, self._name)

    def why(self, storage: Any) -> str | None:
        """Why the variable with this storage gets no gradient in this function; None where it does, or where the
        function trains nothing."""
        for update in self.updates:
            if update.shared.storage is storage:
                return None if update.gradient is not None else message("widgets.why_no_gradient")
        if not self._trains:
            return None
        name = self._name or message("widgets.why_the_function")
        return message("widgets.why_frozen" if id(storage) in self._read else "widgets.why_unreached", name=name)


def _part(shared: Shared, new: Symbol) -> _Update:
    rule, operands = expression(new, shared)
    own = [v for v in operands if any(of is shared for _, of in v.derivative_of)]
    if not own:
        made = toposort([new], stop=lambda v: bool(v.derivative_of))
        below = [new, *(v for node in made for v in node.inputs)]
        own = [v for v in below if any(of is shared for _, of in v.derivative_of)]
    return _Update(shared, rule, operands, own[0] if own else None)
