"""Recording runs: what is found by itself, gradients and arithmetic of updates, rewinds, events, bounded memory."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core.observe import observers
from tutorlib.tools.frames import Frame, Ring


def line_fit(momentum: bool = False):
    """w x + b to points on 2 x + 1, by gradient descent; returns the variables and the compiled step."""
    x, y = tl.vector("x"), tl.vector("y")
    w, b = tl.shared(0.0, name="w"), tl.shared(0.0, name="b")
    loss = ((w * x + b - y) ** 2).mean()
    gw, gb = tl.grad(loss, [w, b])
    updates = [(w, w - 0.1 * gw), (b, b - 0.1 * gb)]
    if momentum:
        v = tl.shared(0.0, name="v")
        updates = [(v, 0.9 * v + gw), (w, w - 0.1 * (0.9 * v + gw)), (b, b - 0.1 * gb)]
    return w, b, tl.function([x, y], loss, updates=updates, name="step")


X = np.array([0.0, 1.0, 2.0])
Y = 2 * X + 1


def numpy_fit(updates: int) -> list[tuple[float, float, float, float, float]]:
    """(loss, ∂L/∂w, ∂L/∂b, w after, b after) of each update, by hand."""
    w = b = 0.0
    rows = []
    for _ in range(updates):
        e = w * X + b - Y
        gw, gb = float(2 * (e * X).mean()), float(2 * e.mean())
        w, b = w - 0.1 * gw, b - 0.1 * gb
        rows.append((float((e**2).mean()), gw, gb, w, b))
    return rows


def sums(run, name: str) -> list[str]:
    """The arithmetic of the newest update of a variable, as text."""
    write = run.recording.frames[-1].values[run.names.index(name)]
    return [write.rule.with_numbers(tuple(f"{v:.6g}" for v in row.operands)) for row in write.rows]


# ---- static ----


def test_a_run_finds_the_variables_that_a_function_updates():
    _, _, step = line_fit()
    with tl.record() as run:
        for _ in range(3):
            step(X, Y)
    assert run.names == ["w", "b"] and run.updates == 3
    expected = numpy_fit(3)
    for frame, (loss, gw, gb, after_w, after_b) in zip(run.frames[1:], expected, strict=True):
        assert frame["loss"] == pytest.approx(loss)
        assert frame["values"]["w"] == pytest.approx(after_w) and frame["values"]["b"] == pytest.approx(after_b)
        assert frame["gradient"]["w"].norm == pytest.approx(abs(gw))
        assert frame["gradient"]["b"].norm == pytest.approx(abs(gb))
    assert float(run.frames[0]["values"]["w"]) == 0.0


def test_nothing_is_recorded_after_the_with_block():
    _, _, step = line_fit()
    before = len(observers)
    with tl.record() as run:
        step(X, Y)
    step(X, Y)
    assert run.updates == 1 and not run.live and len(observers) == before


def test_a_run_that_is_forgotten_records_no_more():
    _, _, step = line_fit()
    before = len(observers)
    run = tl.record()
    step(X, Y)
    gone = weakref.ref(run)
    del run
    gc.collect()
    assert gone() is None and len(observers) == before


def test_an_update_is_the_learners_expression_with_its_numbers():
    """The first step from w = 0, b = 0: ∂L/∂w = −2 · mean(x y) = −2 · (0 + 3 + 10) / 3 = −26/3."""
    _, _, step = line_fit()
    with tl.record() as run:
        step(X, Y)
    write = run.recording.frames[-1].values[0]
    assert write.rule.text == "w − 0.1 · ∂L/∂w"
    assert sums(run, "w") == ["0 − 0.1 · (-8.66667)"]
    assert write.rows[0].after == pytest.approx(26 / 30)


def test_momentum_is_shown_as_the_whole_expression():
    _, _, step = line_fit(momentum=True)
    with tl.record() as run:
        step(X, Y)
        step(X, Y)
    texts = {name: run.recording.frames[-1].values[i].rule.text for i, name in enumerate(run.names)}
    assert texts == {"v": "0.9 · v + ∂L/∂w", "w": "w − 0.1 · (0.9 · v + ∂L/∂w)", "b": "b − 0.1 · ∂L/∂b"}
    (row,) = run.recording.frames[-1].values[run.names.index("w")].rows
    w, v, g = row.operands
    assert w - 0.1 * (0.9 * v + g) == pytest.approx(row.after)


@pytest.mark.parametrize(
    "new, text",
    [
        (lambda w, g: w - 0.1 * g**2, "w − 0.1 · (∂L/∂w)^2"),
        (lambda w, g: w - 0.1 * (g / (g + 1)), "w − 0.1 · ∂L/∂w / (∂L/∂w + 1)"),
        (lambda w, g: w - (w - g), "w − (w − ∂L/∂w)"),
        (lambda w, g: w - tl.minimum(1.0, 2.0 / tl.sqrt(g)) * g, "w − min(1, 2 / √(∂L/∂w)) · ∂L/∂w"),
        (lambda w, g: -w * -0.5, "(−w) · (-0.5)"),
        (lambda w, g: tl.tanh(w), "tanh(…)"),
    ],
)
def test_brackets_stand_where_the_expression_needs_them(new, text):
    w = tl.shared(2.0, name="w")
    loss = w * w
    step = tl.function([], loss, updates=[(w, new(w, tl.grad(loss, w)))])
    with tl.record(w) as run:
        step()
    assert run.recording.frames[-1].values[0].rule.text == text


def test_the_numbers_are_those_of_minibatches_taken_with_givens():
    data = tl.shared(np.arange(6.0), name="data")
    i, x = tl.symbol("i", dtype="int64", shape=()), tl.scalar("x")
    w = tl.shared(1.0, name="w")
    loss = (w * x) ** 2
    step = tl.function([i], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))], givens={x: data[i]})
    with tl.record() as run:
        step(2)
    assert run.names == ["w"]
    assert run.frames[-1]["gradient"]["w"].norm == pytest.approx(8.0)
    assert sums(run, "w") == ["1 − 0.1 · 8"]


def test_recording_does_not_move_random_streams_on():
    def drawn(recorded: bool) -> list[float]:
        noise = tl.random.Stream(3, static=True)
        w = tl.shared(1.0, name="w")
        n = noise.normal(())
        loss = (w + n) ** 2
        step = tl.function([], n, updates=[(w, w - 0.1 * tl.grad(loss, w))])
        run = tl.record() if recorded else None
        found = [float(step()) for _ in range(4)]
        if run is not None:
            run.stop()
            assert run.names == ["w"] and len([f.values[0].rule for f in run.recording.frames]) == 5
        return found

    assert drawn(True) == drawn(False)


def test_of_a_large_variable_the_elements_that_moved_most_are_shown():
    w = tl.shared(np.zeros((4, 5)), name="W")
    target = np.zeros((4, 5))
    target[2, 3], target[0, 1], target[1, 1] = 9.0, -5.0, 1.0
    loss = ((w - target) ** 2).sum()
    step = tl.function([], loss, updates=[(w, w - 0.5 * tl.grad(loss, w))])
    with tl.record() as run:
        step()
    rows = run.recording.frames[-1].values[0].rows
    assert [(row.index, row.after) for row in rows] == [((0, 1), -5.0), ((1, 1), 1.0), ((2, 3), 9.0)]


def test_a_float_that_a_function_returns_is_no_loss_where_nothing_is_trained():
    total = tl.shared(0.0, name="total")
    add = tl.function([], total, updates=[(total, total + 1.0)])
    with tl.record() as run:
        add()
    assert run.frames[-1]["loss"] is None


def test_why_a_shared_variable_has_no_gradient():
    x = tl.vector("x")
    w, frozen, other = tl.shared(1.0, name="w"), tl.shared(2.0, name="frozen"), tl.shared(3.0, name="other")
    count = tl.shared(0.0, name="count")
    loss = ((w * frozen * x) ** 2).sum()
    step = tl.function([x], loss, updates=[(w, w - 0.1 * tl.grad(loss, w)), (count, count + 1)], name="step")
    with tl.record(w, frozen, other, count) as run:
        step([1.0])
    assert run.recording.frames[-1].why == {
        1: "frozen: step computes with it and does not update it",
        2: "not reached: step computes without it",
        3: "its update uses no gradient of its own",
    }


# ---- dynamic ----


def trained(updates: int, rate: float = 0.1, **more):
    """W to zero by descent on (W²).sum() / 2, whose gradient is W."""
    w = tl.Parameter(np.array([[1.0, -2.0], [3.0, 4.0]]), name="W")
    with tl.record(**more) as run:
        for _ in range(updates):
            w.zero_grad()
            ((w * w).sum() / 2).backward()
            with tl.no_grad():
                w -= rate * w.grad
    return w, run


def test_training_in_place_is_found_by_its_gradients():
    _, run = trained(2)
    assert run.names == ["W"] and run.updates == 2
    first, last = run.frames[0]["values"]["W"], run.frames[-1]
    np.testing.assert_array_equal(first, [[1.0, -2.0], [3.0, 4.0]])
    np.testing.assert_allclose(last["values"]["W"], 0.81 * first)
    assert last["loss"] == pytest.approx(0.81 * 15)
    assert last["gradient"]["W"].norm == pytest.approx(0.9 * 30**0.5)


def test_a_step_of_descent_is_read_off_the_values_and_the_gradient():
    _, run = trained(1)
    write = run.recording.frames[-1].values[0]
    assert write.rule.text == "W − 0.1 · ∂L/∂W"
    assert sums(run, "W") == ["1 − 0.1 · 1", "-2 − 0.1 · (-2)", "3 − 0.1 · 3", "4 − 0.1 · 4"]


def test_a_step_that_is_no_multiple_of_the_gradient_claims_no_rule():
    w = tl.Parameter([1.0, 2.0], name="w")
    with tl.record() as run:
        (w * w).sum().backward()
        with tl.no_grad():
            w -= np.array([0.5, 0.1])
    write = run.recording.frames[-1].values[0]
    assert write.rule is None and write.rows == []
    assert write.kept.gradient.norm == pytest.approx(20**0.5)


def test_gradients_of_tl_grad_are_recorded_too():
    w = tl.Parameter([1.0, 2.0], name="w")
    with tl.record() as run:
        g = tl.grad((w * w).sum(), w)
        with tl.no_grad():
            w -= 0.25 * g
    assert run.recording.frames[-1].values[0].rule.text == "w − 0.25 · ∂L/∂w"


def test_a_backward_pass_ends_an_update():
    """Two parameters trained in turn are two updates, not one of both."""
    a, b = tl.Parameter(1.0, name="a"), tl.Parameter(1.0, name="b")
    with tl.record(a, b) as run:
        for p in (a, b):
            (p * p).backward()
            with tl.no_grad():
                p -= 0.1 * p.grad
    assert [(float(f["values"]["a"]), float(f["values"]["b"])) for f in run.frames] == [(1, 1), (0.8, 1), (0.8, 0.8)]


def test_why_a_parameter_has_no_gradient():
    used, unused = tl.Parameter(1.0, name="used"), tl.Parameter(1.0, name="unused")
    frozen, cut = tl.Parameter(1.0, requires_grad=False, name="frozen"), tl.Parameter(1.0, name="cut")
    with tl.record([used, unused, frozen, cut]) as run:
        (used * frozen * cut.detach()).backward()
        with tl.no_grad():
            used -= 0.1 * used.grad
    why = run.recording.frames[-1].why
    assert set(why) == {1, 2, 3}
    assert "unused" in why[1] and "requires_grad" in why[2] and "detach" in why[3]


def test_a_model_is_recorded_under_its_own_names():
    class Model:
        def __init__(self):
            self.weight = tl.Parameter([1.0])

        def named_parameters(self):
            yield "layer.weight", self.weight

    model = Model()
    with tl.record(model) as run, tl.no_grad():
        model.weight += 1.0
    assert run.names == ["layer.weight"]
    assert tl.record({"first": model.weight}).names == ["first"]


def test_a_plain_tensor_that_is_counted_up_is_no_parameter():
    total = tl.tensor(0.0, name="total")
    w = tl.shared(1.0, name="w")
    with tl.record() as run:
        total += 1
        w.set_value(2.0)
    assert run.names == [] and run.updates == 0


# ---- frames: events, marks, thinning ----


def test_the_update_that_made_a_nan_is_kept_whatever_the_length():
    w = tl.shared(1.0, name="w")
    with tl.record(w, limit=8) as run:
        for n in range(100):
            w.set_value(float("nan") if 37 <= n < 60 else float(n))
    events = [(f["update"], f["event"]) for f in run.frames if f["event"]]
    assert events == [(38, "nan")]


def test_marks_and_events_share_the_room():
    ring = Ring(limit=20)
    for n in range(2000):
        ring.append(Frame(n, "test", marks=["here"] if n % 3 == 0 else [], event="nan" if n % 5 == 1 else ""))
    assert len(ring.frames) <= 20 and ring.frames[-1].update == 1999
    assert any(f.event for f in ring.frames[1:-1]) and ring.frames[0].update == 0


def test_a_value_changed_in_updates_that_were_passed_over_is_seen_anew():
    a, b = tl.shared(0.0, name="a"), tl.shared(0.0, name="b")
    with tl.record(a, b, every=2) as run:
        a.set_value(1.0)
        b.set_value(5.0)
        a.set_value(2.0)
        b.set_value(6.0)
    assert [(f["update"], float(f["values"]["a"]), float(f["values"]["b"])) for f in run.frames] == [
        (0, 0, 0), (2, 1, 5), (4, 2, 6),
    ]  # fmt: skip
    assert run.frames[-1]["change"]["a"] is None


def test_keep_says_what_is_kept():
    big = np.arange(5000.0)
    for keep, whole in (("stats", False), ("thumb", False), ("full", True)):
        w = tl.shared(big, name="w")
        with tl.record(w, keep=keep) as run:
            w.set_value(big + 1)
        kept = run.recording.frames[-1].values[0].kept
        assert (kept.array is not None) == whole
        assert (kept.entry["thumb"] is None) == (keep == "stats")
        assert kept.change["stats"]["mean"] == 1.0
    with pytest.raises(ValueError, match="not one of stats, thumb, full"):
        tl.record(keep="everything")


def test_gradients_of_another_model_are_not_looked_at():
    w, other = tl.Parameter([1.0, 2.0], name="w"), tl.Parameter([3.0], name="other")
    with tl.record([w]) as run:
        (w * w).sum().backward()
        (other * other).sum().backward()
        with tl.no_grad():
            w -= 0.5 * w.grad
    (frame,) = [f for f in run.frames if f["update"] == 1]
    assert frame["loss"] == 5.0
