"""Updates of many small variables in one call: the values of NumPy, whoever else reads or writes the variables."""

import numpy as np
import pytest

import tutorlib as tl


def normal(seed, *shape, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def joined(function):
    """How many variables each joined update of a function's schedule takes."""
    steps = function._fast.latest().steps
    return [len(s.node.outputs) for s in steps if s.node.op.name in ("add_each", "sub_each")]


class Regression:
    """y = x w + b by least squares with weight decay, by tutorlib and by hand."""

    def __init__(self, dtype="float32", decay=0.25):
        self.decay = decay
        self.x, self.y = normal(0, 6, 3, dtype=dtype), normal(1, 6, 2, dtype=dtype)
        self.start = {"w": normal(2, 3, 2, dtype=dtype), "b": normal(3, 2, dtype=dtype), "s": normal(4, 1, dtype=dtype)}
        self.shared = {name: tl.shared(value, name=name) for name, value in self.start.items()}
        self.by_hand = {name: value.copy() for name, value in self.start.items()}
        w, b, s = self.shared.values()
        loss = tl.sum((self.x @ w + b) * s - self.y) + decay * (tl.sum(w * w) + tl.sum(s * s))
        slopes = tl.grad(loss, [w, b, s])
        self.step = tl.function([], loss, updates=[(v, v - 0.5 * g) for v, g in zip((w, b, s), slopes, strict=True)])

    def by_numpy(self):
        w, b, s = self.by_hand.values()
        z = self.x @ w + b
        loss = (z * s - self.y).sum() + self.decay * ((w * w).sum() + (s * s).sum())
        ones = np.ones_like(z) * s
        slopes = self.x.T @ ones + 2 * self.decay * w, ones.sum(0), z.sum() + 2 * self.decay * s
        self.by_hand = {name: v - 0.5 * g for (name, v), g in zip(self.by_hand.items(), slopes, strict=True)}
        return loss

    def check(self, calls=1):
        for _ in range(calls):
            np.testing.assert_allclose(self.step(), self.by_numpy(), rtol=1e-3)
        for name, value in self.by_hand.items():
            np.testing.assert_allclose(self.shared[name].get_value(), value, rtol=1e-3, atol=1e-3)
            assert self.shared[name].get_value().shape == value.shape


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_with_decay_and_without_are_updated_in_one_call(dtype):
    model = Regression(dtype)
    model.check(calls=3)
    assert joined(model.step) == [3]


def test_a_value_that_is_set_goes_to_where_the_variable_lies():
    model = Regression()
    model.check(calls=2)
    new = normal(9, 3, 2)
    given = new.copy()
    model.shared["w"].set_value(given)
    model.by_hand["w"] = new
    model.check(calls=2)
    assert (given == new).all()
    assert joined(model.step) == [3]


def test_a_borrowed_value_stays_as_it_was():
    model = Regression()
    model.check(calls=2)
    kept = model.shared["b"].get_value(borrow=True)
    before = kept.copy()
    model.check(calls=2)
    assert (kept == before).all()


def test_other_functions_read_and_write_the_same_variables():
    model = Regression()
    w, b, s = model.shared.values()
    total = tl.function([], tl.sum(w) + tl.sum(b) + tl.sum(s))
    shift = tl.function([], updates=[(w, w + tl.exp(0.0 * w)), (s, s + tl.exp(0.0 * s))])
    for _ in range(3):
        np.testing.assert_allclose(total(), sum(v.sum() for v in model.by_hand.values()), rtol=1e-3, atol=1e-3)
        model.check()
        shift()
        model.by_hand["w"] = model.by_hand["w"] + 1
        model.by_hand["s"] = model.by_hand["s"] + 1


def test_batches_of_two_sizes_take_turns():
    x, rows = tl.matrix("x", dtype="float32"), [normal(0, 4, 2), normal(1, 3, 2)]
    w, b = tl.shared(normal(2, 2)), tl.shared(normal(3, 2))
    at = w.get_value(), b.get_value()
    slopes = tl.grad(tl.sum((x * w + b) ** 2), [w, b])
    step = tl.function([x], updates=[(v, v - 0.125 * g) for v, g in zip((w, b), slopes, strict=True)])
    for batch in rows * 3:
        step(batch)
        e = batch * at[0] + at[1]
        at = at[0] - 0.25 * (e * batch).sum(0), at[1] - 0.25 * e.sum(0)
        np.testing.assert_allclose(w.get_value(), at[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(b.get_value(), at[1], rtol=1e-4, atol=1e-4)
    assert joined(step) == [2]


def test_one_change_for_two_variables_and_a_change_that_is_shown():
    a, b, x = tl.shared(np.ones(3)), tl.shared(np.zeros(3)), tl.vector("x")
    change = tl.exp(x)
    step = tl.function([x], change, updates=[(a, a + change), (b, b + change)])
    for _ in range(2):
        shown = step([0.0, 1.0, 2.0])
    np.testing.assert_allclose(shown, np.exp([0, 1, 2]))
    np.testing.assert_allclose(a.get_value(), 1 + 2 * np.exp([0, 1, 2]))
    np.testing.assert_allclose(b.get_value(), 2 * np.exp([0, 1, 2]))
    assert joined(step) == [2]


def test_the_printed_program_updates_each_variable():
    model = Regression()
    model.check()
    values = {name: v.get_value() for name, v in model.shared.items()}
    program = dict(model.step.source.arrays)
    exec(str(model.step.source), program)
    np.testing.assert_allclose(program["run"](**values)[0], model.by_numpy(), rtol=1e-3)
    for name, value in model.by_hand.items():
        np.testing.assert_allclose(values[name], value, rtol=1e-3, atol=1e-3)


def test_variables_of_a_thousand_bytes_lie_side_by_side_in_the_first_function_that_updates_them():
    a, b, c = (tl.shared(normal(seed, 20, 20), name=name) for seed, name in enumerate("abc"))
    before = [v.get_value() for v in (a, b, c)]
    x = tl.scalar("x", dtype="float32")
    first = tl.function([x], updates=[(v, v + tl.exp(v * x)) for v in (a, b)])
    second = tl.function([x], updates=[(v, v - tl.exp(v * x)) for v in (b, c)])
    for _ in range(2):
        first(0.0)
        second(0.0)
    assert joined(first) == [2] and joined(second) == []
    for v, start, change in zip((a, b, c), before, (2, 0, -2), strict=True):
        np.testing.assert_allclose(v.get_value(), start + change, rtol=1e-5, atol=1e-5)
