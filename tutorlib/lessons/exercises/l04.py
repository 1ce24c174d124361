"""The exercises of L04, *Shared variables*: what a right answer must do, and which misconception a wrong one shows.

Every oracle makes its own shared variables with random values, uses the learner's function, and looks at what the call
returned and at what was stored. What is *said* about a misconception is in the message table.
"""

from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.lessons.choice import choice
from tutorlib.lessons.exercise import Exercise, Miss, cases, close, diagnose
from tutorlib.lessons.oracle import WriteCounter, callable_or_miss, compiled_or_miss, one_value


def judge_accumulator(make_accumulator: Any, rng: np.random.Generator) -> None:
    """Each call adds its argument to the state that was handed over; what a call returns is free."""
    start, *amounts = rng.uniform(2, 9, size=5).round(2)
    total = tl.shared(start, name="total")
    add = callable_or_miss(make_accumulator(total))
    returned, stored = [], []
    for amount in amounts:
        returned.append(add(amount))
        stored.append(total.get_value())
    after = start + np.cumsum(amounts)
    stuck = close(stored, np.full(4, start))
    diagnose(
        close(stored, after),
        own_variable=stuck and (close(returned, after) or close(returned, [start, *after[:-1]])),
        nothing_stored=stuck,
        overwrites=close(stored, amounts),
        frozen=close(stored, start + np.array(amounts)),
        adds_one=close(stored, start + np.arange(1, 5)),
        otherwise="wrong_total",
    )
    compiled_or_miss(add)


PREDICTION = {
    "7ff8674ef268": "says_both",
    "534731878fd1": "says_stored",
    "c7e2bafe68c0": "holds",
    "a800b4291693": "says_nothing",
}


def judge_swap(swap_updates: Any, rng: np.random.Generator) -> None:
    """One call exchanges the two values, whatever they are by then; two calls restore them."""
    first, second, third = rng.uniform(-9, 9, size=(3, 3)).round(2)
    a, b = tl.shared(first, name="a"), tl.shared(second, name="b")
    updates = swap_updates(a, b)
    if not close([a.get_value(), b.get_value()], [first, second]):
        raise Miss("swapped_at_once")
    if updates is None:
        raise Miss("returned_none")
    swap = tl.function([], [], updates=updates)
    swap()
    seen = [a.get_value(), b.get_value()]
    diagnose(
        close(seen, [second, first]),
        only_one=close(seen, [second, second]) or close(seen, [first, first]),
        nothing_stored=close(seen, [first, second]),
        otherwise="wrong_swap",
    )
    a.set_value(third)
    swap()
    seen = [a.get_value(), b.get_value()]
    diagnose(close(seen, [first, third]), frozen=close(seen, [second, first]), otherwise="wrong_swap")


def judge_moving_average(make_moving_average: Any, rng: np.random.Generator) -> None:
    """Each call moves the state towards its argument by the share 1 - keep, and returns where it has arrived."""
    keep = round(rng.uniform(0.7, 0.9), 2)
    start, *seen = rng.uniform(-9, 9, size=(4, 2)).round(2)
    average = tl.shared(start, name="average")
    move = callable_or_miss(make_moving_average(average, keep))
    returned, stored = [], []
    for values in seen:
        returned.append(one_value(move(values)))
        stored.append(average.get_value())
    expected = _fading(start, seen, keep, 1 - keep)
    before = [start, *expected[:-1]]
    diagnose(
        close(stored, expected),
        nothing_stored=close(stored, [start] * 3),
        weights_exchanged=close(stored, _fading(start, seen, 1 - keep, keep)),
        does_not_fade=close(stored, _fading(start, seen, 1, 1 - keep)),
        not_weighted=close(stored, _fading(start, seen, keep, 1)),
        frozen=close(stored, [keep * start + (1 - keep) * values for values in seen]),
        otherwise="wrong_average",
    )
    diagnose(close(returned, expected), returns_old=close(returned, before), otherwise="wrong_return")
    compiled_or_miss(move)


def _fading(start: np.ndarray, seen: list[np.ndarray], old_share: float, new_share: float) -> list[np.ndarray]:
    """The states after each value, when a state is `old_share` of the one before and `new_share` of the value."""
    states = [start]
    for values in seen:
        states.append(old_share * states[-1] + new_share * values)
    return states[1:]


def judge_what_if(make_what_if: Any, rng: np.random.Generator) -> None:
    """A call gives the expression's value at the trial weights; the real ones are neither used nor written."""
    weights, other, *trials = rng.uniform(1, 5, size=(5, 3)).round(2)
    w = tl.shared(weights, name="w")
    loss = (w * w).sum()
    what_if = callable_or_miss(make_what_if(loss, w))
    real = [weights, other, other]
    answers, writes = [], WriteCounter(w.storage)
    for now, trial in zip(real, trials, strict=True):
        w.set_value(now)
        with tl.observe(writes):
            answers.append(one_value(what_if(trial)))
        if not close(w.get_value(), now):
            raise Miss("state_changed")
    diagnose(
        close(answers, [trial @ trial for trial in trials]),
        ignores_trial=close(answers, [now @ now for now in real]),
        otherwise="wrong_value",
    )
    if writes.writes:
        raise Miss("wrote_and_restored")
    compiled_or_miss(what_if)


EXERCISES = (
    Exercise(
        key="L04.ex1",
        answer="make_accumulator",
        judge=judge_accumulator,
        wrong_answers=cases("""
#: nothing_stored
def make_accumulator(total):
    amount = tl.scalar("amount")
    return tl.function([amount], total + amount)
#: own_variable
def make_accumulator(total):
    amount, mine = tl.scalar("amount"), tl.shared(total.get_value())
    return tl.function([amount], mine, updates=[(mine, mine + amount)])
#: overwrites
def make_accumulator(total):
    amount = tl.scalar("amount")
    return tl.function([amount], total, updates=[(total, amount)])
#: frozen
def make_accumulator(total):
    amount = tl.scalar("amount")
    return tl.function([amount], total, updates=[(total, float(total.get_value()) + amount)])
#: adds_one
def make_accumulator(total):
    amount = tl.scalar("amount")
    return tl.function([amount], total, updates=[(total, total + 1)], on_unused_input="ignore")
#: not_compiled
def make_accumulator(total):
    def add(amount):
        before = total.get_value()
        total.set_value(before + amount)
        return before
    return add
#: wrong_total
def make_accumulator(total):
    amount = tl.scalar("amount")
    return tl.function([amount], total, updates=[(total, 0 * total + 6.0)], on_unused_input="ignore")
#: returned_none
def make_accumulator(total):
    total + 1
#: not_callable
def make_accumulator(total):
    return [(total, total + 1)]
#: not_a_function
make_accumulator = 6.0
"""),
    ),
    Exercise(
        key="L04.ex2",
        answer="prediction",
        judge=choice("L04.ex2 old or new?", tuple("abcd"), PREDICTION),
        options=tuple("abcd"),
        wrong_answers=cases("""
#: says_stored
prediction = "b"
#: says_nothing
prediction = "c"
#: says_both
prediction = "d"
#: unknown_option
prediction = "[1, 2, 3]"
#: unknown_option
prediction = 1
"""),
    ),
    Exercise(
        key="L04.ex3",
        answer="swap_updates",
        judge=judge_swap,
        wrong_answers=cases("""
#: only_one
def swap_updates(a, b):
    return [(a, b)]
#: only_one
def swap_updates(a, b):
    return [(a, b), (b, b)]
#: only_one
def swap_updates(a, b):
    return [(b, a)]
#: nothing_stored
def swap_updates(a, b):
    a, b = b, a
    return []
#: nothing_stored
def swap_updates(a, b):
    return [(a, a), (b, b)]
#: swapped_at_once
def swap_updates(a, b):
    kept = a.get_value()
    a.set_value(b.get_value())
    b.set_value(kept)
    return []
#: frozen
def swap_updates(a, b):
    return [(a, b.get_value()), (b, a.get_value())]
#: wrong_swap
def swap_updates(a, b):
    return [(a, a + b), (b, a)]
#: wrong_swap
def swap_updates(a, b):
    return [(a, [1.0, 2.0, 3.0]), (b, [4.0, 5.0, 6.0])]
#: returned_none
def swap_updates(a, b):
    a, b = b, a
#: not_a_function
swap_updates = [(1, 2), (2, 1)]
"""),
    ),
    Exercise(
        key="L04.ex4",
        answer="make_moving_average",
        judge=judge_moving_average,
        wrong_answers=cases("""
#: returns_old
def make_moving_average(average, keep):
    x = tl.vector("x")
    return tl.function([x], average, updates=[(average, keep * average + (1 - keep) * x)])
#: nothing_stored
def make_moving_average(average, keep):
    x = tl.vector("x")
    return tl.function([x], keep * average + (1 - keep) * x)
#: weights_exchanged
def make_moving_average(average, keep):
    x = tl.vector("x")
    new = (1 - keep) * average + keep * x
    return tl.function([x], new, updates=[(average, new)])
#: does_not_fade
def make_moving_average(average, keep):
    x = tl.vector("x")
    new = average + (1 - keep) * x
    return tl.function([x], new, updates=[(average, new)])
#: not_weighted
def make_moving_average(average, keep):
    x = tl.vector("x")
    new = keep * average + x
    return tl.function([x], new, updates=[(average, new)])
#: frozen
def make_moving_average(average, keep):
    x = tl.vector("x")
    new = keep * average.get_value() + (1 - keep) * x
    return tl.function([x], new, updates=[(average, new)])
#: wrong_average
def make_moving_average(average, keep):
    x = tl.vector("x")
    new = (average + x) / 2
    return tl.function([x], new, updates=[(average, new)])
#: wrong_average
def make_moving_average(average, keep):
    x = tl.vector("x")
    new = 0 * x + 3.5
    return tl.function([x], new, updates=[(average, new)])
#: wrong_return
def make_moving_average(average, keep):
    x = tl.vector("x")
    return tl.function([x], x, updates=[(average, keep * average + (1 - keep) * x)])
#: call_returns_none
def make_moving_average(average, keep):
    x = tl.vector("x")
    return tl.function([x], None, updates=[(average, keep * average + (1 - keep) * x)])
#: call_returns_list
def make_moving_average(average, keep):
    x = tl.vector("x")
    new = keep * average + (1 - keep) * x
    return tl.function([x], [new], updates=[(average, new)])
#: not_compiled
def make_moving_average(average, keep):
    def move(x):
        average.set_value(keep * average.get_value() + (1 - keep) * np.asarray(x))
        return average.get_value()
    return move
#: returned_none
def make_moving_average(average, keep):
    keep * average
#: not_a_function
make_moving_average = 0.9
"""),
    ),
    Exercise(
        key="L04.ex5",
        answer="make_what_if",
        judge=judge_what_if,
        wrong_answers=cases("""
#: state_changed
def make_what_if(loss, w):
    trial = tl.vector("trial")
    return tl.function([trial], loss, updates=[(w, trial)])
#: state_changed
def make_what_if(loss, w):
    now = tl.function([], loss)
    def what_if(trial):
        w.set_value(trial)
        return now()
    return what_if
#: wrote_and_restored
def make_what_if(loss, w):
    now = tl.function([], loss)
    def what_if(trial):
        kept = w.get_value()
        w.set_value(trial)
        value = now()
        w.set_value(kept)
        return value
    return what_if
#: ignores_trial
def make_what_if(loss, w):
    trial = tl.vector("trial")
    return tl.function([trial], loss, on_unused_input="ignore")
#: ignores_trial
def make_what_if(loss, w):
    trial = tl.vector("trial")
    return tl.function([trial], loss, givens=[(w, w)], on_unused_input="ignore")
#: wrong_value
def make_what_if(loss, w):
    trial = tl.vector("trial")
    return tl.function([trial], trial.sum())
#: wrong_value
def make_what_if(loss, w):
    trial = tl.vector("trial")
    return tl.function([trial], loss, givens=[(w, 0 * trial + 2.0)])
#: raised
def make_what_if(loss, w):
    return tl.function([w], loss)
#: not_compiled
def make_what_if(loss, w):
    return lambda trial: float((np.asarray(trial) ** 2).sum())
#: not_callable
def make_what_if(loss, w):
    return 14.0
#: not_a_function
make_what_if = 14.0
"""),
    ),
)
