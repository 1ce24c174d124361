"""Recording without end: memory stays bounded, nothing is left behind; rewinds; the numbers that gradients become."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.test_record import X, Y, line_fit
from tutorlib.tools.frames import Rule, norm_of
from tutorlib.tools.gradient_stats import coarse_bins, gradient_stats


def test_memory_does_not_grow_with_the_run():
    w = tl.shared(np.zeros(200), name="w")
    loss = ((w - 1.0) ** 2).sum()
    step = tl.function([], loss, updates=[(w, w - 0.001 * tl.grad(loss, w))])
    run = tl.record(limit=16)
    for _ in range(300):
        step()
    gc.collect()
    tracemalloc.start()
    for _ in range(300):
        step()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(800):
        step()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert run.updates == 1400
    # 800 vectors of 1,600 bytes would be 1.3 MB.
    assert grown < 100_000


def test_five_thousand_updates_leave_no_objects_behind():
    count = tl.shared(0.0, name="count")
    add = tl.function([], updates=[(count, count + 1.0)])
    view = tl.SharedView(count)
    plot = tl.GradientView(view.run)
    for _ in range(1000):
        add()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(4000):
        add()
    view.refresh()
    plot.refresh()
    gc.collect()
    assert view.run.updates == 5000
    # 4,000 frames of even one object each would show.
    assert len(gc.get_objects()) - before < 3000


# ---- rewind ----


def test_a_rewind_puts_exact_values_back_and_keeps_every_frame():
    w, _, step = line_fit()
    with tl.record(keep="full") as run:
        for _ in range(5):
            step(X, Y)
        then = [f["values"]["w"] for f in run.frames]
        run.rewind(2)
        assert float(w.get_value()) == then[2]
        step(X, Y)
    assert [f["by"] for f in run.frames] == ["start", *["step"] * 5, "rewind", "step"]
    assert [float(f["values"]["w"]) for f in run.frames[:6]] == [float(v) for v in then]
    assert float(run.frames[-1]["values"]["w"]) == float(then[3])
    assert [f.branch for f in run.recording.frames] == [0] * 6 + [1] * 2


def test_a_rewind_of_a_dynamic_model_goes_on_training_from_there():
    w2 = tl.Parameter(np.ones(2), name="w")
    with tl.record(w2) as run:
        with tl.no_grad():
            w2 *= 2
            w2 *= 2
        run.rewind(1)
        np.testing.assert_array_equal(w2.numpy(), [2.0, 2.0])
        with tl.no_grad():
            w2 += 1
    np.testing.assert_array_equal(run.frames[-1]["values"]["w"], [3.0, 3.0])


def test_a_rewind_says_what_stands_in_its_way():
    w = tl.shared(np.zeros(5000), name="w")
    with tl.record(w) as run:
        w.set_value(np.ones(5000))
        with pytest.raises(tl.TutorlibError, match="not kept whole") as caught:
            run.rewind(0)
        assert 'keep="full"' in str(caught.value)
        with pytest.raises(tl.TutorlibError, match="update 7 is not among"):
            run.rewind(7)
    np.testing.assert_array_equal(w.get_value(), np.ones(5000))


# ---- numbers ----


def test_a_rule_puts_negative_numbers_in_brackets_and_runs_no_format_string():
    rule = Rule("{0} − 0.1 · {1}", ("w", "∂L/∂w"))
    assert rule.with_numbers(("-1", "-2")) == "-1 − 0.1 · (-2)"
    assert Rule("{0.__class__}", ("w",)).text == "{0.__class__}"


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_a_norm_neither_overflows_nor_vanishes(scale):
    assert norm_of(np.array([3.0, 4.0]) * scale) == pytest.approx(5.0 * scale)
    assert norm_of(np.array([np.inf, 1.0])) == np.inf and np.isnan(norm_of(np.array([np.nan])))


def test_gradient_statistics_count_what_is_no_ordinary_number():
    g = np.array([0.0, 0.0, np.nan, np.inf, -np.inf, 1e-3, -1e-3, 10.0])
    stats = gradient_stats(g)
    assert (stats.size, stats.zero, stats.nan, stats.plus_inf, stats.minus_inf) == (8, 2, 1, 1, 1)
    np.testing.assert_allclose(stats.quantiles, np.quantile([1e-3, 1e-3, 10.0], [0, 0.25, 0.5, 0.75, 1]))
    edges, (counts,) = coarse_bins([stats])
    assert sum(counts) == 3 and sum(counts[:12]) == 1
    assert edges[0] <= 1e-3 and edges[-1] > 10.0 and len(counts) == 24


def test_coarse_bins_count_as_numpy_does():
    rng = np.random.default_rng(0)
    g = rng.normal(size=400) * 10.0 ** rng.uniform(-5, 0, size=400)
    edges, (counts,) = coarse_bins([gradient_stats(g)])
    np.testing.assert_array_equal(counts[12:], np.histogram(g[g > 0], bins=edges)[0])
    np.testing.assert_array_equal(counts[:12][::-1], np.histogram(-g[g < 0], bins=edges)[0])
