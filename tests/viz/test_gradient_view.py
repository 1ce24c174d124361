"""GradientView: what it says of gradients in data, words, pictures and figures; linked views."""

from __future__ import annotations

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import conforms
from tutorlib.viz.gradient_spec import verdict
from tutorlib.viz.gradient_svg import decades


def trained(updates: int = 3, spoil: int | None = None):
    """A weight of four numbers whose gradient is itself, one that is never reached, one that is frozen."""
    w = tl.Parameter([0.0, 1.0, -2.0, 4.0], name="w")
    unused = tl.Parameter([1.0], name="unused")
    frozen = tl.Parameter([1.0], requires_grad=False, name="frozen")
    with tl.record([w, unused, frozen]) as run:
        for n in range(updates):
            w.zero_grad()
            cost = (w * w * frozen).sum() / 2
            (cost * float("inf") if n == spoil else cost).backward()
            with tl.no_grad():
                w -= 0.5 * w.grad
    return run


def test_each_layer_has_a_cell_for_each_step():
    view = tl.GradientView(trained(2))
    spec = conforms(view.spec)
    assert [step["update"] for step in spec["steps"]] == [1, 2]
    first, second = spec["cells"]["s0"]
    assert first["norm"] == pytest.approx(21**0.5, rel=1e-4) and first["zero"] == 1 and first["size"] == 4
    np.testing.assert_allclose(first["q"], np.quantile([1, 2, 4], [0, 0.25, 0.5, 0.75, 1]))
    assert second["norm"] == pytest.approx(21**0.5 / 2, rel=1e-4)
    assert first["ratio"] == 0.5


def test_the_histogram_has_positive_and_negative_numbers_and_keeps_its_bins():
    spec = tl.GradientView(trained(2)).spec
    first, second = spec["cells"]["s0"]
    assert sum(first["counts"][:12]) == 1 and sum(first["counts"][12:]) == 2
    edges = spec["layers"][0]["edges"]
    assert len(edges) == 13 and edges[0] <= 0.5 and edges[-1] > 4
    assert sum(second["counts"]) == 3


def test_a_layer_without_a_gradient_says_why():
    view = tl.GradientView(trained(1))
    cells = {layer["name"]: view.spec["cells"][layer["id"]][0] for layer in view.spec["layers"]}
    assert "unused" in cells["unused"]["why"] and "requires_grad" in cells["frozen"]["why"]
    assert "None for unused, frozen." in view.spec["summary"]
    assert "unused" in view.describe()


def test_nan_and_infinities_are_counted_and_named():
    view = tl.GradientView(trained(3, spoil=1))
    spec = conforms(view.spec)
    cell = spec["cells"]["s0"][1]
    assert (cell["nan"], cell["pos_inf"], cell["neg_inf"]) == (1, 2, 1)
    assert verdict(cell) == "nan" and cell["norm"] in ("NaN", "Infinity")


def test_the_verdicts_follow_the_bands():
    def cell(median: float) -> dict:
        return {"norm": 1.0, "q": [median] * 5, "nan": 0, "pos_inf": 0, "neg_inf": 0}

    assert [verdict(cell(m)) for m in (1e-8, 1.0, 1e4)] == ["tiny", "", "huge"]
    assert verdict({"norm": None, "why": ""}) == "missing"
    assert verdict({"norm": 0.0, "q": [], "nan": 0, "pos_inf": 0, "neg_inf": 0}) == "zero"


def test_of_what_was_found_only_variables_with_gradients_are_layers():
    x = tl.scalar("x")
    w, steps = tl.shared(1.0, name="w"), tl.shared(0, name="steps")
    loss = (w * x) ** 2
    step = tl.function([x], loss, updates=[(w, w - 0.1 * tl.grad(loss, w)), (steps, steps + 1)])
    with tl.record() as run:
        step(1.0)
    assert run.names == ["w", "steps"]
    assert [layer["name"] for layer in tl.GradientView(run).spec["layers"]] == ["w"]


def test_layers_stand_in_forward_order():
    first, second = tl.Parameter(np.ones((2, 2)), name="first"), tl.Parameter(np.ones(2), name="second")
    with tl.record() as run:
        (tl.tensor(np.ones(2)) @ first * second).sum().backward()
        with tl.no_grad():
            second -= 0.1 * second.grad
            first -= 0.1 * first.grad
    assert [layer["name"] for layer in tl.GradientView(run).spec["layers"]] == ["first", "second"]


def test_a_long_run_of_many_layers_sends_few_cells():
    weights = [tl.shared(1.0, name=f"w{i}") for i in range(40)]
    loss = sum(w * w for w in weights)
    step = tl.function([], loss, updates=[(w, w - 0.01 * tl.grad(loss, w)) for w in weights])
    with tl.record() as run:
        for _ in range(120):
            step()
    spec = tl.GradientView(run).spec
    assert len(spec["layers"]) * len(spec["steps"]) <= 3000
    assert spec["steps"][0]["update"] == 1 and spec["steps"][-1]["update"] == 120


def test_the_picture_names_layers_reasons_and_nan():
    view = tl.GradientView(trained(3, spoil=2))
    svg = view.svg()
    assert ">w<" in svg and "NaN" in svg and "The cost does not depend on" in svg
    assert "style=" not in svg and "class=" not in svg
    view.theme = "dark"
    assert view.svg() != svg
    assert view.static().text == view.spec["text"]


def test_decades_hold_every_size():
    assert decades(tl.GradientView(trained(2)).spec) == (-3, 1)


def test_the_figure_has_flow_map_and_ratio():
    pytest.importorskip("matplotlib")
    figure = tl.GradientView(trained(3, spoil=2)).figure(step=1)
    flow, heat, ratio = figure.axes[:3]
    assert [label.get_text() for label in flow.get_yticklabels()] == ["w", "unused", "frozen"]
    assert "update 2" in flow.get_title()
    assert ratio.get_yscale() == "log"
    (line, *_) = ratio.get_lines()
    assert line.get_ydata()[0] == 0.5
    assert len(heat.collections) == 2


def test_a_view_made_before_training_follows_it():
    w = tl.Parameter([1.0, 2.0], name="w")
    view = tl.GradientView(w)
    assert "No gradients recorded yet." in repr(view)
    (w * w).sum().backward()
    with tl.no_grad():
        w -= 0.1 * w.grad
    view.refresh()
    assert len(conforms(view.spec)["steps"]) == 1 and view.step == 0
    view.close()


def test_linked_views_share_a_name_and_bring_their_partners():
    w = tl.shared(1.0, name="w")
    graph, shared, plot = tl.GraphView(w * 2), tl.SharedView(w), tl.GradientView(w)
    tl.link(graph, shared)
    assert graph.link == shared.link != ""
    tl.link(plot, tl.SharedView(w))
    tl.link(shared, plot)
    assert graph.link == shared.link == plot.link


def test_only_views_can_be_linked():
    w = tl.shared(1.0, name="w")
    with pytest.raises(TypeError, match="int cannot be linked"):
        tl.link(tl.SharedView(w), 3)
    with pytest.raises(TypeError, match="at least two"):
        tl.link(tl.SharedView(w))
