"""The engine's formula table as the pictures use it: one rule forward, one for each input backward."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tutorlib.ops.formulas import formula
from tutorlib.viz.names import letters_of

__all__ = ["Rule", "backward_of", "forward_of", "passes_on", "rules_of"]

_GRADIENT = re.compile(r"∂L/∂([a-z])\s*=")


@dataclass(frozen=True)
class Rule:
    """A formula with the letters that it uses for the op's inputs, in their order, and for its output."""

    text: str
    inputs: tuple[str, ...]
    output: str

    def letters(self, inputs: list[Any], output: Any, name: Callable[[Any], str]) -> dict[str, str]:
        """Letter → what stands for it, by `name` of the thing in its place."""
        said = {letter: name(thing) for letter, thing in zip(self.inputs, inputs, strict=False) if letter}
        return said | {self.output: name(output)}

    def uses(self) -> list[str]:
        """The letters whose values the right side needs."""
        return letters_of(self.text)


@lru_cache(maxsize=512)
def rules_of(op: str) -> tuple[Rule | None, tuple[Rule, ...]]:
    """The forward rule of an op and a backward one for each input (its text "" where no gradient flows)."""
    entry = formula(op)
    if not entry:
        return None, ()
    backward = tuple(entry.get("backward") or ())
    forward = entry.get("forward") or ""
    output = forward[:1]
    named = [_GRADIENT.match(text) for text in backward]
    free = [letter for letter in letters_of(forward, shapes=True) if letter not in {m[1] for m in named if m}]
    inputs = [m[1] if m else free.pop(0) if free else "" for m in named]
    letters = (*inputs, *free)
    rules = tuple(Rule(text if m else "", letters, output) for text, m in zip(backward, named, strict=True))
    return (Rule(forward, letters, output) if forward else None), rules


def forward_of(op: str) -> Rule | None:
    """How the op computes, or None where the table has no formula."""
    return rules_of(op)[0]


def backward_of(op: str, port: int) -> Rule | None:
    """How the gradient of input `port` comes from that of the output, or None where the table has no formula."""
    rules = rules_of(op)[1]
    return rules[port] if port < len(rules) and rules[port].text else None


def passes_on(op: str, port: int) -> bool:
    """Whether the gradient of input `port` is that of the output, unchanged."""
    rule = backward_of(op, port)
    return rule is not None and rule.text.partition("=")[2].strip() == f"∂L/∂{rule.output}"
