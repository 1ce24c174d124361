"""The table of rewrite rules: what a rule is, how one is written, how one is switched off.

A rule is one short function that looks at a node and returns what may stand in its output's place, or None::

    @rule("mul", tier="basic", safety="exact", says="x · 1 = x")
    def times_one(node):
        x, y = node.inputs
        return x if is_scalar(y, 1) else y if is_scalar(x, 1) else None

The rules themselves are in the modules ``rules_…``; ``tl.rules()`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Node

# The last tier joins ops that run together; its rules say of a node whether it may be joined.
REWRITING = ("basic", "stable", "fold", "algebra")
TIERS = (*REWRITING, "fuse")
SAFETIES = ("exact", "reassociates", "nan_unsafe", "shape_unsafe")


class Rule:
    """A rewrite rule.

    ``name``; ``ops``: names of the ops it looks at; ``tier``: when it runs; ``safety``: "exact" (same value, or one
    nearer the truth), "reassociates" (same up to rounding), "nan_unsafe" (differs where NaN or inf occur),
    "shape_unsafe" (assumes shapes that are not proved); ``says``: its equation; ``apply(node)``: the replacement of the
    node's output or None; in tier "fuse" whether the node may run together with others. ``of``: what some operands must
    be for it to be asked at all, ``every``: what all must be. ``absorbs``: names of ops that the replacement does over
    again, so that the rule holds only where nothing else uses such an operand.
    """

    __slots__ = ("absorbs", "apply", "every", "name", "of", "ops", "safety", "says", "tier")

    def __init__(
        self,
        name: str,
        ops: tuple[str, ...],
        tier: str,
        safety: str,
        says: str,
        apply: Callable[[Node], Any],
        of: tuple[str, ...] = (),
        absorbs: tuple[str, ...] = (),
        every: str = "",
    ) -> None:
        self.name, self.ops, self.tier, self.safety, self.says, self.apply = name, ops, tier, safety, says, apply
        self.of, self.absorbs, self.every = of, absorbs, every

    @property
    def of_the_library(self) -> bool:
        """Whether it came with tutorlib; a learner's own did not."""
        return str(getattr(self.apply, "__module__", "")).startswith("tutorlib.compile.")

    def fits(self, kinds: Sequence[str]) -> bool:
        """Whether operands of these kinds (see ``rule``) are what it asks for."""
        words = [kind.split() for kind in kinds]
        if self.every and not all(any(word in self.every.split() for word in said) for said in words):
            return False
        return all(any(word in wanted.split() for said in words for word in said) for wanted in self.of)

    def __repr__(self) -> str:
        return f"<rule {self.name}: {self.says} ({self.tier}, {self.safety})>"


_RULES: dict[str, Rule] = {}
_off: set[str] = set()
# Rules that can change a result are there to be looked at and switched on, not to surprise.
ON_BY_DEFAULT = ("exact", "reassociates")


def rule(
    *ops: str,
    says: str,
    tier: str = "basic",
    safety: str = "exact",
    of: Sequence[str] = (),
    absorbs: Sequence[str] = (),
    every: str = "",
) -> Callable[[Callable[[Node], Any]], Callable[[Node], Any]]:
    """Make a function a rewrite rule for nodes of the given ops.

    Args:
        ops: names of ops; "*" for all.
        says: its equation.
        tier: when it runs; safety: what it may change (see ``Rule``).
        of: saves time, nothing more: the rule is asked only about nodes some operand of which was made by the op named;
            "number" and "array" stand for constants, "same" for arrays that hold one number in every element, "exp log"
            for either. Of several entries each must hold.
        absorbs: ops of operands that the replacement does over again: the rule holds where nothing else uses these.
        every: as an entry of ``of``, for all operands.

    Raises TutorlibError for an unknown tier or safety, or a name that is taken by another module's rule.

    >>> import tutorlib as tl
    >>> @tl.rule("sin", says="sin(x) = cos(x), which is wrong", safety="nan_unsafe")
    ... def wrong_sine(node):
    ...     return tl.cos(node.inputs[0])
    >>> tl.rules()["wrong_sine"].says
    'sin(x) = cos(x), which is wrong'
    >>> tl.remove_rule("wrong_sine")
    """
    if tier not in TIERS or safety not in SAFETIES:
        raise TutorlibError(
            f"a rule's tier is one of {TIERS}, its safety one of {SAFETIES}", fix="correct the decorator"
        )

    def register(function: Callable[[Node], Any]) -> Callable[[Node], Any]:
        name = function.__name__
        before = _RULES.get(name)
        if before is not None and before.apply.__module__ != function.__module__:
            raise TutorlibError(f"a rule called {name!r} exists already", fix="give the function another name")
        _RULES[name] = Rule(name, ops, tier, safety, says, function, tuple(of), tuple(absorbs), every)
        return function

    return register


def rules() -> dict[str, Rule]:
    """All rules by name, in the order they were defined."""
    return dict(_RULES)


def remove_rule(name: str) -> None:
    """Forget a rule. Raises TutorlibError for a name that none has."""
    if name not in _RULES:
        raise TutorlibError(f"no rule is called {name!r}", fix="tl.rules() lists their names")
    del _RULES[name]


@contextmanager
def rules_off(*names: str) -> Iterator[None]:
    """Compile without the named rules inside a ``with`` block."""
    unknown = [name for name in names if name not in _RULES]
    if unknown:
        raise TutorlibError(f"no rule is called {unknown[0]!r}", fix="tl.rules() lists their names")
    added = set(names) - _off
    _off.update(added)
    try:
        yield
    finally:
        _off.difference_update(added)


class Near(str):
    """What a rule may return instead of None where it nearly holds: why it does not. ``f.log.near`` lists these."""


def active_rules(allow: tuple[str, ...] = ON_BY_DEFAULT) -> list[Rule]:
    """The rules that may run: of an allowed safety, and not switched off."""
    return [r for r in _RULES.values() if r.safety in allow and r.name not in _off]
