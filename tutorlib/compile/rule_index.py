"""Which rules to ask about a node: found once for each kind of node, which is its op and what its operands are.

Most nodes of a large graph are of few kinds, and most rules fit few kinds, so that asking costs a look into a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tutorlib.compile.matching import scalar_value
from tutorlib.compile.rule_table import REWRITING, Rule, active_rules
from tutorlib.core.graph import Constant, Node, Symbol

# Of so many kinds of nodes the answer is remembered.
REMEMBERED = 10_000
Kinds = tuple[str, ...]
ByTier = dict[str, tuple[Rule, ...]]


class RuleIndex:
    """The rules of the tiers that rewrite, by what they ask for."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        rules = [r for r in rules if r.tier in REWRITING]
        self.of_the_library = all(r.of_the_library for r in rules)
        self._of_op: dict[str, list[Rule]] = {}
        for r in rules:
            for op in r.ops:
                self._of_op.setdefault(op, []).append(r)
        self._of_all = self._of_op.pop("*", [])
        self._known: dict[Kinds, ByTier] = {}

    def of(self, kinds: Kinds) -> ByTier:
        """The rules for nodes of these kinds, by tier; tiers without one are left out.

        ``kinds``: the name of the op, then what each operand is: the name of the op that made it, or see ``kind_of``.
        """
        found = self._known.get(kinds)
        if found is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            found = self._known[kinds] = self._found(*kinds)
        return found

    def _found(self, op: str, *operands: str) -> ByTier:
        fits: dict[str, list[Rule]] = {}
        for r in (*self._of_op.get(op, ()), *self._of_all):
            if r.fits(operands):
                fits.setdefault(r.tier, []).append(r)
        return {tier: tuple(fits[tier]) for tier in REWRITING if tier in fits}


@lru_cache(maxsize=8)
def _index_of(rules: tuple[Rule, ...]) -> RuleIndex:
    return RuleIndex(rules)


def index_of_rules(allow: Sequence[str]) -> RuleIndex:
    """The index of the rules that may run now. What one function has found out serves the next."""
    return _index_of(tuple(active_rules(tuple(allow))))


class Asking:
    """The rules for the nodes of one graph, each node's found once and again when it has changed."""

    def __init__(self, index: RuleIndex) -> None:
        self._index = index
        self._leaves: dict[int, tuple[str, Symbol]] = {}  # the leaf is held, so that its id stays its own
        self._known: dict[int, ByTier] = {}

    def rules_of(self, node: Node) -> ByTier:
        known = self._known.get(id(node))
        if known is None:
            leaves, kinds = self._leaves, [node.op.name]
            for var in node.inputs:
                made = var.node
                if made is not None:
                    kinds.append(made.op.name)
                    continue
                leaf = leaves.get(id(var))
                if leaf is None:
                    leaf = leaves[id(var)] = (kind_of(var), var)
                kinds.append(leaf[0])
            known = self._known[id(node)] = self._index.of(tuple(kinds))
        return known

    def changed(self, node: Node) -> None:
        """Its operands are others now."""
        self._known.pop(id(node), None)


def kind_of(leaf: Symbol) -> str:
    """What an operand that no op made is to a rule: "number" or "array" for a constant ("array same" where one number
    is in every element), else "leaf"."""
    if not isinstance(leaf, Constant):
        return "leaf"
    if not leaf.ndim:
        return "number"
    return "array" if scalar_value(leaf) is None else "array same"
