"""The exercises of L07, *Train one network twice*: optimisers in both modes, and a network that must learn.

Rules of descent are compared with the same rules written down in plain NumPy, on losses whose gradients are known; the
wrong rules that learners write stand beside the right one, so that a wrong path can be named. The optimiser of dynamic
mode is compared with static training itself. The wrong answers stand in `l07_wrong_updates.py` and
`l07_wrong_training.py`, what is *said* about a misconception in the message table.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.core.observe import Observer
from tutorlib.lessons.choice import choice
from tutorlib.lessons.descent import CALLS, Bowl, Rule, all_close, rules_of_momentum
from tutorlib.lessons.exercise import Exercise, Miss, cases, close, diagnose
from tutorlib.lessons.exercises import l07_wrong_training, l07_wrong_updates
from tutorlib.lessons.moons import draw_start, loss_of, score, trained_static, two_moons
from tutorlib.lessons.oracle import callable_or_miss, one_value

STEPS = 200
ENOUGH = 0.95
PRECISE = 1e-10


def judge_sgd(sgd_updates: Any, rng: np.random.Generator) -> None:
    """Four calls take the steps of gradient descent, and the stored rate fades by `keep` at each of them."""
    bowl = Bowl(rng)
    first_rate, keep = round(rng.uniform(0.1, 0.3), 3), round(rng.uniform(0.5, 0.8), 2)
    rate = tl.shared(first_rate, name="rate")
    step = bowl.compiled(sgd_updates(bowl.loss, list(bowl.weights), rate, keep))
    if not close(rate.get_value(), first_rate):
        raise Miss("changed_at_once")
    places, rates = [], []
    for _ in range(CALLS):
        step()
        places.append(bowl.values())
        rates.append(rate.get_value())
    seen = [np.array(place) for place in zip(*places, strict=True)]
    stuck = [np.array([start] * CALLS) for start in bowl.start]
    fading = [first_rate * keep**n for n in range(CALLS + 1)]

    def descent(rate_at: Callable[[int], float]) -> list[np.ndarray]:
        return bowl.path(lambda n, w, v, g: (v, w - rate_at(n) * g))

    expected, steady = descent(lambda n: fading[n]), descent(lambda n: first_rate)
    rate_fades = close(rates, fading[1:])
    diagnose(
        all_close(seen, expected) and rate_fades,
        nothing_stored=all_close(seen, stuck),
        only_one=close(seen[0], stuck[0]) != close(seen[1], stuck[1]),
        climbs=all_close(seen, descent(lambda n: -fading[n])) or all_close(seen, descent(lambda n: -first_rate)),
        rate_frozen=all_close(seen, steady) and not close(rates, [first_rate] * CALLS),
        rate_stays=all_close(seen, steady),
        fades_too_early=all_close(seen, descent(lambda n: fading[n + 1])),
        own_rate=all_close(seen, expected),
        otherwise="wrong_step",
    )


def judge_momentum(momentum_updates: Any, rng: np.random.Generator) -> None:
    """Four calls take the steps of momentum, each weight with a velocity of its own."""
    bowl = Bowl(rng)
    rate, keep = round(rng.uniform(0.1, 0.2), 3), round(rng.uniform(0.6, 0.9), 2)
    step = bowl.compiled(momentum_updates(bowl.loss, list(bowl.weights), rate, keep))
    places = []
    for _ in range(CALLS):
        step()
        places.append(bowl.values())
    seen = [np.array(place) for place in zip(*places, strict=True)]
    stuck = [np.array([start] * CALLS) for start in bowl.start]

    def along(rule: Rule) -> bool:
        def step(n: int, w: np.ndarray, v: Any, g: np.ndarray) -> tuple[Any, np.ndarray]:
            faster, move = rule(v, g)
            return faster, w + move

        return all_close(seen, bowl.path(step))

    taken = {hint: along(rule) for hint, rule in rules_of_momentum(rate, keep).items()}
    diagnose(
        taken.pop("right"),
        nothing_stored=all_close(seen, stuck),
        only_one=close(seen[0], stuck[0]) != close(seen[1], stuck[1]),
        **taken,
        otherwise="wrong_step",
    )


class MostWrites(Observer):
    """The most often that one storage was written since the last look."""

    def __init__(self) -> None:
        self.writes: dict[int, int] = {}

    def on_write(self, storage: Any, by: Any) -> None:
        self.writes[id(storage)] = self.writes.get(id(storage), 0) + 1

    def look(self) -> int:
        most, self.writes = max(self.writes.values(), default=0), {}
        return most


def judge_trainer(make_trainer: Any, rng: np.random.Generator) -> None:
    """After 200 calls of `step`, 95 of 100 points that it never saw are on the right side."""
    points, labels = two_moons(200, rng)
    unseen, truth = two_moons(400, rng)
    made = make_trainer(score, loss_of, draw_start(rng))
    if made is None:
        raise Miss("returned_none")
    if not isinstance(made, list | tuple) or len(made) != 2 or not all(map(callable, made)):
        raise Miss("not_a_pair")
    step, scores = made
    before = _scores(scores(unseen), len(unseen))
    writes = MostWrites()
    with tl.observe(writes):
        for _ in range(STEPS):
            step(points, labels)
            if writes.look() > 1:
                raise Miss("several_steps")
    after = _scores(scores(unseen), len(unseen))
    if not np.isfinite(after).all():
        raise Miss("diverged")
    right = np.mean((after > 0) == (truth == 1))
    enough = right >= ENOUGH
    untouched = close(before, after)
    diagnose(
        enough and not untouched,
        all_alike=close(after, np.full(after.shape, after[0])),
        untouched=untouched,
        probabilities=bool((after >= 0).all() and (after <= 1).all() and np.mean((after > 0.5) == truth) > 0.7),
        upside_down=right < 0.1,
        straight=right > 0.8,
        otherwise="too_few",
    )


def _scores(returned: Any, n: int) -> np.ndarray:
    """What `scores` returned, a column as the network's is."""
    if isinstance(returned, tl.Tensor):
        returned = returned.numpy()
    values = one_value(returned)
    if values.shape != (n, 1):
        raise Miss("wrong_shape")
    return values


def judge_optimizer(make_optimizer: Any, rng: np.random.Generator) -> None:
    """Twenty steps in dynamic mode end where static training with the same rule ends, to 1e-10."""
    points, labels = two_moons(40, rng)
    start = draw_start(rng, width=4)
    rate, keep = round(rng.uniform(0.1, 0.2), 3), round(rng.uniform(0.6, 0.9), 2)
    tensors = {name: tl.tensor(value, requires_grad=True, name=name) for name, value in start.items()}
    step = callable_or_miss(make_optimizer(list(tensors.values()), rate, keep))
    for _ in range(20):
        loss_of(points, labels, tensors).backward()
        step()
        if any(w.grad is not None and np.any(w.grad.numpy()) for w in tensors.values()):
            raise Miss("grad_left")
    seen = [w.numpy() for w in tensors.values()]
    if all_close(seen, list(start.values())):
        raise Miss("did_not_move")
    rules = rules_of_momentum(rate, keep)
    gap = _largest_gap(seen, trained_static(start, points, labels, rules.pop("right")))
    if gap <= PRECISE:
        return
    if gap < 1e-5:
        raise Miss("imprecise")
    for hint, rule in rules.items():
        if _largest_gap(seen, trained_static(start, points, labels, rule)) <= PRECISE:
            raise Miss(hint)
    raise Miss("wrong_step")


def _largest_gap(observed: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    return max(float(np.abs(one - other).max()) for one, other in zip(observed, expected, strict=True))


WRONG_ROW = {
    "15df7a05c3f2": "is_right_c",
    "28ab01516094": "is_right_b",
    "2fc0f4701243": "holds",
    "8603c0488a9f": "is_right_a",
}

EXERCISES = (
    Exercise(
        key="L07.ex1",
        answer="sgd_updates",
        judge=judge_sgd,
        wrong_answers=l07_wrong_updates.SGD,
    ),
    Exercise(
        key="L07.ex2",
        answer="momentum_updates",
        judge=judge_momentum,
        wrong_answers=l07_wrong_updates.MOMENTUM,
    ),
    Exercise(
        key="L07.ex3",
        answer="make_trainer",
        judge=judge_trainer,
        wrong_answers=l07_wrong_training.TRAINER,
    ),
    Exercise(
        key="L07.ex4",
        answer="make_optimizer",
        judge=judge_optimizer,
        wrong_answers=l07_wrong_training.OPTIMIZER,
    ),
    Exercise(
        key="L07.ex5",
        answer="letter",
        judge=choice("L07.ex5 which row is wrong?", tuple("abcd"), WRONG_ROW),
        options=tuple("abcd"),
        quiz=True,
        wrong_answers=cases("""
#: is_right_a
letter = "a"
#: is_right_b
letter = "b"
#: is_right_c
letter = "c"
#: unknown_option
letter = "model.train()"
"""),
    ),
)
