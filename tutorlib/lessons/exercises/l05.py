"""The exercises of L05, *Dynamic graphs*: loops on the tape, what is recorded, and what stays in memory.

The oracles run small programs of their own, in which the values decide what happens, and watch with observers.
"""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.lessons.choice import choice
from tutorlib.lessons.exercise import Exercise, Miss, close, diagnose
from tutorlib.lessons.exercises import l05_wrong
from tutorlib.lessons.oracle import one_value

Program = Callable[[Any], Any]


def judge_slope(slope_past: Any, rng: np.random.Generator) -> None:
    """n rounds give xⁿ and the slope n · xⁿ⁻¹, with n as this start and this limit make it."""
    asked = [(round(rng.uniform(1.4, 3.2), 2), round(rng.uniform(20, 60), 1)) for _ in range(4)] + [(7.5, 2.0)]
    slopes = np.array([one_value(slope_past(start, limit)) for start, limit in asked])
    rounds = np.array([_rounds(start, limit) for start, limit in asked])
    x = np.array([start for start, _ in asked])
    diagnose(
        close(slopes, rounds * x ** (rounds - 1)),
        returns_value=close(slopes, x**rounds),
        one_factor_only=close(slopes, x ** (rounds - 1)),
        one_round_more=close(slopes, (rounds + 1) * x**rounds),
        one_round_less=close(slopes[:-1], ((rounds - 1) * x ** (rounds - 2.0))[:-1]),
        always_as_many=any(close(slopes, n * x ** (n - 1.0)) for n in range(1, 12)),
        otherwise="wrong_slope",
    )


def _rounds(start: float, limit: float) -> int:
    """How many factors there are when the product is past the limit."""
    factors, product = 1, start
    while product <= limit:
        factors, product = factors + 1, product * start
    return factors


def _programs(rng: np.random.Generator) -> list[tuple[Program, float]]:
    """Programs whose values decide what is recorded, each with a start value."""
    down, low = round(rng.uniform(0.5, 0.8), 2), round(rng.uniform(1.0, 3.0), 2)

    def shrink(x: Any) -> Any:
        y = x
        while y > low:
            y = y * down if y > 4 * low else y - 0.5
        return y * y

    def branch(x: Any) -> Any:
        y = tl.sin(x)
        unused = tl.exp(y)
        return tl.square(y) + y if unused > 1 else tl.tanh(y)

    starts = rng.uniform(10, 40, size=2).round(2).tolist()
    return [*((shrink, start) for start in starts), (branch, 1.0), (branch, -1.0)]


class _Watch(tl.Observer):
    """Events of both directions, and weak references to all that was recorded."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.nodes: list[weakref.ref[Any]] = []

    def on_node(self, node: Any) -> None:
        self.events.append(("forward", node.op.name))
        self.nodes.append(weakref.ref(node))

    def on_vjp(self, node: Any, cotangent: Any, grads: Any) -> None:
        self.events.append(("backward", node.op.name))

    def alive(self) -> int:
        return sum(node() is not None for node in self.nodes)


def judge_count(count_nodes: Any, rng: np.random.Generator) -> None:
    """The nodes that a result depends on, for programs that also record what they do not need."""
    given, needed, leaves, recorded, paths = [], [], [], [], []
    for program, start in _programs(rng):
        given.append(count_nodes(program, start))
        if given[-1] is None:
            raise Miss("returned_none")
        watch = _Watch()
        with tl.observe(watch):
            result = program(tl.tensor(start, requires_grad=True))
        needed.append(len(tl.toposort([result])))
        leaves.append(needed[-1] + 1)
        recorded.append(len(watch.nodes))
        paths.append(_ways(result))
    diagnose(
        close(given, needed),
        counts_leaves=close(given, leaves),
        counts_unused=close(given, recorded),
        counts_paths=close(given, paths),
        nothing_recorded=close(given, [0] * len(needed)),
        always_as_many=len(set(map(str, given))) == 1,
        otherwise="wrong_count",
    )


def _ways(tensor: Any) -> int:
    """How many nodes the graph would have as a tree."""
    below = [v for v in tensor.inputs if isinstance(v, tl.Tensor)] if tensor.node is not None else []
    return (tensor.node is not None) + sum(map(_ways, below))


def judge_losses(losses_of: Any, rng: np.random.Generator) -> None:
    """The right losses, no graph left afterwards, at most one during the loop, and no gradient touched."""
    w = tl.tensor(rng.uniform(1, 3, size=3).round(2), requires_grad=True, name="w")
    batches = rng.uniform(-2, 2, size=(6, 3)).round(2)
    watch, living = _Watch(), []

    def model(batch: Any) -> Any:
        living.append(watch.alive())
        return ((w * batch - 1.0) ** 2).mean()

    with tl.no_grad():
        expected = [model(batch).item() for batch in batches]
    living.clear()
    with tl.observe(watch):
        losses = losses_of(model, batches)
    gc.collect()
    if losses is None:
        raise Miss("returned_none")
    if not isinstance(losses, list | tuple | np.ndarray):
        raise Miss("not_a_list")
    values = [one_value(loss) for loss in losses]
    diagnose(
        close(values, expected),
        only_one=len(values) < len(expected),
        otherwise="wrong_losses",
    )
    diagnose(w.grad is None, otherwise="went_backward")
    diagnose(watch.alive() == 0, otherwise="keeps_graphs")
    diagnose(max(living) <= len(watch.nodes) / len(batches), otherwise="frees_late")


def judge_events(record_events: Any, rng: np.random.Generator) -> None:
    """What an observer sees of a run and of its backward pass, in the order in which it happens."""
    programs = [*_programs(rng), (lambda x: tl.exp(x) * tl.sin(x) + x, 0.5)]
    for program, start in programs:
        watch = _Watch()
        with tl.observe(watch):
            result = program(tl.tensor(start, requires_grad=True))
            graph = [node.op.name for node in tl.toposort([result])]
            result.backward()
        given = record_events(program, start)
        if given is None:
            raise Miss("returned_none")
        if not isinstance(given, list | tuple):
            raise Miss("not_a_list")
        given = [tuple(event) if isinstance(event, list | tuple) else event for event in given]
        ahead = [event for event in watch.events if event[0] == "forward"]
        back = [event for event in watch.events if event[0] == "backward"]
        diagnose(
            given == watch.events,
            nothing_seen=not given,
            only_forward=given == ahead,
            only_backward=given == back,
            same_direction=given == ahead + back[::-1],
            from_the_graph=given == [*(("forward", op) for op in graph), *(("backward", op) for op in graph[::-1])],
            otherwise="wrong_events",
        )


LEFT = {
    "4b67bbe852d0": "says_one_graph",
    "562175e8a246": "holds",
    "a8453a12bb52": "says_loop_kept",
    "b1f408701737": "says_all_branches",
}

EXERCISES = (
    Exercise(
        key="L05.ex1",
        answer="slope_past",
        judge=judge_slope,
        wrong_answers=l05_wrong.SLOPE,
    ),
    Exercise(
        key="L05.ex2",
        answer="count_nodes",
        judge=judge_count,
        wrong_answers=l05_wrong.COUNT,
    ),
    Exercise(
        key="L05.ex3",
        answer="losses_of",
        judge=judge_losses,
        wrong_answers=l05_wrong.LOSSES,
    ),
    Exercise(
        key="L05.ex4",
        answer="record_events",
        judge=judge_events,
        wrong_answers=l05_wrong.EVENTS,
    ),
    Exercise(
        key="L05.ex5",
        answer="choice",
        judge=choice("L05.ex5 what is left of the loop?", tuple("abcd"), LEFT),
        options=tuple("abcd"),
        quiz=True,
        wrong_answers=l05_wrong.LEFT_BEHIND,
    ),
)
