"""The exercises of L06, *Static vs dynamic, head to head*: a lazy choice, a scan, tracing, and what a trace leaves.

The oracles use an answer in both modes and look at what was computed, not at how it is written. The wrong answers stand
in `l06_wrong.py`.
"""

import contextlib
import io
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.lessons.choice import choice
from tutorlib.lessons.exercise import Exercise, Miss, close, diagnose
from tutorlib.lessons.exercises import l06_wrong
from tutorlib.lessons.oracle import graph_or_miss, one_value, op_counts

COMMUTE = {"add", "mul"}


def judge_choose(choose: Any, rng: np.random.Generator) -> None:
    """The value of one branch, and not a node of the other computed, for symbols and for tensors."""
    first, second = (round(rng.uniform(2, 9), 2) for _ in range(2))
    positive = lambda x: tl.print_(x * first + second, "positive")
    negative = lambda x: tl.print_(second - x * x, "negative")
    x = tl.scalar("x")
    try:
        built = choose(x, positive, negative)
    except tl.ModeMixError:
        raise Miss("decides_while_building") from None
    f = tl.function([x], graph_or_miss(built))
    numbers = [round(sign * rng.uniform(1, 5), 2) for sign in (1, -1, 1, -1)]
    rights = [n * first + second if n > 0 else second - n * n for n in numbers]
    others = [second - n * n if n > 0 else n * first + second for n in numbers]
    static, ran_static = _printed(f, numbers)
    dynamic, ran_dynamic = _printed(lambda n: choose(tl.tensor(n), positive, negative), numbers)
    for values in (static, dynamic):
        diagnose(close(values, rights), swapped=close(values, others), otherwise="wrong_value")
    wanted = ["positive" if n > 0 else "negative" for n in numbers]
    diagnose(
        ran_static == ran_dynamic == wanted,
        computes_both=len(ran_static) > len(wanted),
        otherwise="computes_both_dynamic",
    )


def _printed(call: Any, numbers: list[float]) -> tuple[list[np.ndarray], list[str]]:
    """What the calls give, and the first words of what is printed meanwhile."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        values = [one_value(call(n)) for n in numbers]
    return values, [line.split(":")[0] for line in said.getvalue().splitlines()]


def judge_horner(horner: Any, rng: np.random.Generator) -> None:
    """The value of polynomials of many lengths from one function, and of tensors, with a loop in the graph."""
    coefficients, x = tl.vector("coefficients"), tl.scalar("x")
    try:
        built = horner(coefficients, x)
    except tl.ModeMixError:
        raise Miss("loops_in_python") from None
    if isinstance(built, tuple | list):
        raise Miss("returned_pair")
    f = tl.function([coefficients, x], graph_or_miss(built), on_unused_input="ignore")
    asked = [(rng.uniform(1, 5, size=n).round(1), round(rng.uniform(1.5, 3), 1)) for n in (2, 3, 5, 1)]
    given = [one_value(f(c, at)) for c, at in asked]
    rights = [np.polyval(c, at) for c, at in asked]
    diagnose(
        close(given, rights) if all(v.shape == () for v in given) else False,
        all_rounds=any(value.shape == c.shape for value, (c, _) in zip(given, asked, strict=True)),
        lowest_first=close(given, [np.polyval(c[::-1], at) for c, at in asked]),
        multiplies_last=close(given, [np.polyval(c, at) * at for c, at in asked]),
        starts_at_one=close(given, [np.polyval(c, at) + at ** len(c) for c, at in asked]),
        otherwise="wrong_value",
    )
    if not op_counts(built).keys() & {"scan", "while_loop"}:
        raise Miss("no_loop")
    on_tensors = [one_value(horner(tl.tensor(c), tl.tensor(at))) for c, at in asked]
    diagnose(close(on_tensors, rights), otherwise="only_static")


def judge_record(record: Any, rng: np.random.Generator) -> None:
    """Python runs for each new shape and for no other call; the notes are in order, and taken of a traced program."""
    sizes = [[2, 2, 3, 2, 4, 3], [int(n) for n in rng.integers(1, 4, size=5)]]
    for pattern in sizes:
        inputs = [rng.normal(size=n) for n in pattern]
        runs: list[Any] = []

        def program(x: Any, runs: list[Any] = runs) -> Any:
            runs.append(x)
            return (x * x).sum()

        given = record(program, inputs)
        if given is None:
            raise Miss("returned_none")
        if not isinstance(given, list | tuple):
            raise Miss("not_a_list")
        known: set[int] = set()
        wanted: list[str] = []
        for n in pattern:
            wanted += ["call"] if n in known else ["python", "call"]
            known.add(n)
        given = list(given)
        diagnose(
            given == wanted,
            nothing_noted=not given,
            every_call=given == ["python", "call"] * len(pattern),
            forgets_shapes=given == ["python"] + ["call"] * len(pattern),
            no_calls=given == ["python"] * len(known),
            no_python=given == ["call"] * len(pattern),
            call_first=given == _call_first(pattern),
            otherwise="wrong_events",
        )
        diagnose(len(runs) == len(known), otherwise="not_observed")


def _call_first(pattern: list[int]) -> list[str]:
    """The events if each call is noted before it is made."""
    known: set[int] = set()
    events: list[str] = []
    for n in pattern:
        events += ["call"] if n in known else ["call", "python"]
        known.add(n)
    return events


SHIFT = 0.5


def program(x: Any) -> Any:
    """The function of the lesson, with a loop, a choice and a name from around it."""
    total = x
    for k in range(4):
        total = total * x if k % 2 == 0 else total + SHIFT
    return tl.tanh(total)


def judge_by_hand(by_hand: Any, rng: np.random.Generator) -> None:
    """The answer's graph and that of a trace have the same operations on the same things."""
    traced = tl.trace(program)
    x = rng.uniform(0.1, 0.9, size=4).round(2)
    traced(x)
    symbol = tl.symbol("x", shape=(4,))
    built = graph_or_miss(by_hand(symbol))
    if op_counts(built).keys() & {"scan", "while_loop", "ifelse", "where"}:
        raise Miss("keeps_control_flow")
    value = one_value(built.eval({symbol: x}))
    diagnose(
        close(value, traced(x)),
        no_tanh=close(value, (x * x + SHIFT) * x + SHIFT),
        one_pass=close(value, np.tanh(x * x + SHIFT)),
        all_products=close(value, np.tanh(x**5)),
        all_sums=close(value, np.tanh(x + 4 * SHIFT)),
        wrong_order=close(value, np.tanh((x + SHIFT) * (x + SHIFT) * x)) or close(value, np.tanh(x * x * x + SHIFT)),
        otherwise="wrong_value",
    )
    diagnose(_shape_of(built) == _shape_of(traced.graph), otherwise="other_operations")


def _shape_of(symbol: Any) -> Any:
    """A graph as nested tuples that are equal for equal graphs; the operands of sums and products in any order."""
    if symbol.node is None:
        return ("constant", float(symbol.value)) if isinstance(symbol, tl.Constant) else ("input",)
    name = symbol.node.op.name
    parts = [_shape_of(part) for part in symbol.node.inputs]
    return (name, *(sorted(parts, key=repr) if name in COMMUTE else parts))


TRACES = {
    "840b46b7066b": "when_defined",
    "a3229f681787": "holds",
    "b5ee24c56ffc": "one_each_call",
    "faa85f7065cb": "one_for_all",
}

EXERCISES = (
    Exercise(
        key="L06.ex1",
        answer="choose",
        judge=judge_choose,
        wrong_answers=l06_wrong.CHOOSE,
    ),
    Exercise(
        key="L06.ex2",
        answer="horner",
        judge=judge_horner,
        wrong_answers=l06_wrong.HORNER,
    ),
    Exercise(
        key="L06.ex3",
        answer="prediction",
        judge=choice("L06.ex3 how many traces?", tuple("abcd"), TRACES),
        options=tuple("abcd"),
        wrong_answers=l06_wrong.TRACES,
    ),
    Exercise(
        key="L06.ex4",
        answer="record",
        judge=judge_record,
        wrong_answers=l06_wrong.RECORD,
    ),
    Exercise(
        key="L06.ex5",
        answer="by_hand",
        judge=judge_by_hand,
        wrong_answers=l06_wrong.BY_HAND,
    ),
)
