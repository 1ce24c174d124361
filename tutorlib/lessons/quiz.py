"""`tl.quiz`: questions about the values and gradients of any graph, as many as one likes, with hints from local rules.

The numbers are worked out in `quiz_graph.py`; the field to type in is in `quiz_widget.py`. Nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from tutorlib.lessons.quiz_graph import MOST_ELEMENTS, Worked, worked
from tutorlib.messages import message

CLOSE_ENOUGH = 0.005
SMALLEST = 0.05


@dataclass(frozen=True)
class Question:
    """One question: a variable's value or gradient, at one element where it has several."""

    kind: Literal["value", "gradient"]
    var: Any = field(repr=False)
    index: tuple[int, ...]
    text: str
    right: float = field(repr=False)


@dataclass(frozen=True)
class Reply:
    """What is said about an answer; true when it was right."""

    ok: bool
    text: str

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return self.text


class Quiz:
    """Questions about one graph, one after the other; after the last one it goes on with other numbers.

    Made by `quiz`. `question` is the one that is asked now, `seed` what the numbers come from.
    """

    def __init__(self, graph: Any, seed: int = 0, values: Mapping[Any, Any] | None = None):
        self._graph, self._values = graph, dict(values or {})
        self.right = self.asked = 0
        self.seed = seed
        self.reseed(seed)

    def reseed(self, seed: int | None = None) -> Quiz:
        """Put other numbers into the graph: those of `seed`, by default of the next one."""
        self.seed = self.seed + 1 if seed is None else seed
        rng = np.random.default_rng(self.seed)
        self._worked = worked(self._graph, rng, self._values)
        self._waiting = _questions(self._worked, rng)
        if not self._waiting:
            raise ValueError(message("lessons.quiz_no_values"))
        self._ask()
        return self

    def answer(self, given: Any) -> Reply:
        """Judge a number, or text such as "3/4"; a right answer brings up the next question.

        Two decimals are enough. The reply is true when it was right.
        """
        number = _number(given)
        if number is None:
            return Reply(False, message("lessons.quiz_no_number"))
        self._tries += 1
        if _close(number, self.question.right):
            self.right += self._tries == 1
            self.next()
            return Reply(True, message("lessons.quiz_right", next=self.question.text))
        said = message(f"lessons.quiz_{self._mistake(number)}")
        return Reply(False, f"{said} {self.hint()}")

    def hint(self) -> Reply:
        """The local rule that leads to the answer; the second time with numbers in it. Never the answer."""
        tell = self._worked.forward_hint if self.question.kind == "value" else self._worked.backward_hint
        rule = tell(self.question.var, self._hints > 0)
        # Where a gradient is only passed on, the numbers would be the answer.
        if _number(rule.partition(" = ")[2]) is not None:
            rule = tell(self.question.var, False)
        self._hints += 1
        uses = len(self._worked.parts[id(self.question.var)]) if self.question.kind == "gradient" else 1
        return Reply(False, message("lessons.quiz_hint_sum" if uses > 1 else "lessons.quiz_hint", rule=rule, n=uses))

    def next(self) -> Quiz:
        """Go on to the next question; after the last one, to other numbers."""
        if self._waiting:
            self._ask()
            return self
        return self.reseed()

    def show(self) -> Any:
        """A field to type in, where a notebook with widgets shows this; elsewhere the text."""
        from tutorlib.lessons.quiz_widget import quiz_widget
        from tutorlib.viz.display import is_live

        return quiz_widget(self) if is_live() else self

    @property
    def program(self) -> str:
        """The graph with its numbers, as lines."""
        return "\n".join(self._worked.lines())

    def __repr__(self) -> str:
        return f"{self.program}\n\n{self.question.text}"

    def _ask(self) -> None:
        self.question = self._waiting.pop()
        self.asked += 1
        self._tries = self._hints = 0

    def _mistake(self, number: float) -> str:
        """Which of the usual mistakes explains a wrong answer."""
        right, at = self.question.right, self.question.index
        if right and _close(number, -right):
            return "sign"
        if self.question.kind == "gradient":
            parts = [float(part.array[at]) for part in self._worked.parts[id(self.question.var)]]
            if len(parts) > 1 and any(_close(number, part) for part in parts):
                return "one_way"
            if _close(number, float(self._worked.arrays[id(self.question.var)][at])):
                return "is_value"
        return "wrong"


def quiz(graph: Any, seed: int = 0, values: Mapping[Any, Any] | None = None) -> Quiz:
    """Practise on a graph: what is this value, what is that gradient?

    Args:
        graph: a symbol or a recorded tensor, of any shape.
        seed: what the numbers for its inputs are drawn from; a dim that is not known yet becomes 2.
        values: numbers for some inputs, `{x: 2.0}`, in place of drawn ones.

    Raises:
        TypeError: for a leaf, or something that is no graph.
        ValueError: where no numbers were found that one can compute with.

    >>> import tutorlib as tl
    >>> x, y = tl.scalar("x"), tl.scalar("y")
    >>> q = tl.quiz(x * y, values={x: 2.0, y: 3.0})
    >>> print(q.program)
    x = 2
    y = 3
    t1 = x · y
    >>> bool(q.answer("not a number"))
    False
    """
    return Quiz(graph, seed, values)


def _questions(graph: Worked, rng: np.random.Generator) -> list[Question]:
    """All questions that the graph allows, in a random order."""
    values = [("value", var, graph.arrays[id(var)]) for var in graph.order]
    gradients = [
        ("gradient", var, graph.grads[id(var)]) for var in [*graph.leaves, *graph.order] if id(var) in graph.parts
    ]
    found = []
    for kind, var, array in [*values, *gradients]:
        if array.size == 0 or array.size > MOST_ELEMENTS or array.dtype.kind not in "fiu":
            continue
        index = tuple(int(rng.integers(length)) for length in array.shape)
        right = float(array[index])
        # A number that two decimals do not tell from 0 makes no question.
        if right == 0 or abs(right) >= SMALLEST:
            found.append(Question(kind, var, index, _text(graph, kind, var, index), right))  # type: ignore[arg-type]
    return [found[at] for at in rng.permutation(len(found))]


def _text(graph: Worked, kind: str, var: Any, index: tuple[int, ...]) -> str:
    name = graph.names[id(var)] if kind == "value" else graph.gradient_name(var)
    if index:
        return message("lessons.quiz_ask_element", name=name, index=", ".join(map(str, index)))
    return message("lessons.quiz_ask", name=name)


def _number(given: Any) -> float | None:
    """The number that was meant, also from text; None when there is none."""
    try:
        return float(Fraction(given.strip().replace("−", "-"))) if isinstance(given, str) else float(given)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError, RuntimeError):
        return None


def _close(number: float, right: float) -> bool:
    return abs(number - right) <= CLOSE_ENOUGH * max(1.0, abs(right))
