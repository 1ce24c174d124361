"""Named scopes that fold: what is folded at first, what is seen then, and what loops and repeats become."""

from __future__ import annotations

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import conforms
from tutorlib.viz.folding import likely_views, shown
from tutorlib.viz.graph_spec import graph_spec
from tutorlib.viz.scopes import common_scope


def layers(count: int, *, backward: bool = True, odd: int | None = None):
    """`count` dense layers of 4 → 4, each in a scope of its own; `odd` names one that has another activation."""
    x = tl.tensor(np.ones((2, 4)), name="x")
    for i in range(count):
        weights, bias = tl.Parameter(np.eye(4), name=f"W{i}"), tl.Parameter(np.zeros(4), name=f"b{i}")
        with tl.scope(f"layer{i}"):
            x = (tl.relu if i == odd else tl.tanh)(x @ weights + bias)
    loss = x.mean()
    if backward:
        loss.backward()
    return loss


def seen(spec: dict) -> dict[str, dict]:
    """What is seen, by label."""
    return {node["label"]: node for node in shown(spec["graph"], spec["collapsed"])["nodes"]}


def test_scopes_are_listed_with_their_parents():
    x = tl.scalar("x")
    with tl.scope("net"), tl.scope("layer1"):
        y = tl.tanh(x)
    found = [(s["id"], s["title"], s["parent"]) for s in tl.GraphView(y).spec["graph"]["scopes"]]
    assert found == [("net", "net", ""), ("net/layer1", "layer1", "net")]


def test_nothing_is_folded_in_a_small_graph():
    assert graph_spec(layers(2))["collapsed"] == []


def test_a_folded_scope_is_one_pill_that_counts_what_it_holds():
    """A layer holds matmul, add, tanh, W and b; it takes x of (2, 4) and gives (2, 4)."""
    spec = conforms(graph_spec(layers(2), collapse="all"))
    pill = seen(spec)["layer0 · 3 ops · 2 params"]
    assert (pill["kind"], pill["type"]) == ("scope", "(2, 4) → (2, 4)")


def test_the_gradients_of_a_folded_scope_are_a_pill_beside_it():
    """Layer 0 has the gradients of matmul, add, tanh, W0 and b0."""
    spec = graph_spec(layers(2), collapse=["layer0"])
    forward, back = seen(spec)["layer0 · 3 ops · 2 params"], seen(spec)["∂ layer0 · 5 gradients"]
    assert (back["kind"], back["grad_of"]) == ("gradient", forward["id"])
    boxes = spec["layout"]["nodes"]
    assert boxes[back["id"]][0] > boxes[forward["id"]][0] + boxes[forward["id"]][2]


def test_an_update_folds_with_its_variable_and_its_arithmetic_with_the_gradients():
    x, w = tl.scalar("x"), tl.shared(3.0, name="w")
    with tl.scope("model"):
        out = w * x
    loss = out**2
    step = tl.function([x], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))])
    spec = conforms(graph_spec(step, collapse="all"))
    assert {"new w", "w", "0.1", "sub"}.isdisjoint(seen(spec))
    assert {"x", "model · 1 op · 1 param", "2", "loss = pow"} <= set(seen(spec))


@pytest.mark.parametrize(
    ("collapse", "folded"),
    [
        (None, []),
        ("all", ["net", "net/a", "net/b"]),
        (1, ["net", "net/a", "net/b"]),
        (2, ["net/a", "net/b"]),
        (3, []),
        (["a"], ["net/a"]),
        ("net/b", ["net/b"]),
        (lambda name: name.endswith("b"), ["net/b"]),
    ],
)
def test_the_learner_says_what_is_folded(collapse, folded):
    x = tl.scalar("x")
    with tl.scope("net"):
        with tl.scope("a"):
            y = tl.exp(x)
        with tl.scope("b"):
            y = y * 2 + 1
    assert tl.GraphView(y, collapse=collapse).spec["collapsed"] == folded


def test_a_scope_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(ValueError, match=r"'layer9'.*layer0"):
        graph_spec(layers(1), collapse=["layer9"])


def test_equal_neighbours_are_counted_together():
    spec = conforms(graph_spec(layers(4), collapse="all"))
    assert "layer0 … layer3 · 12 ops · 8 params × 4" in seen(spec)
    assert not any(label.startswith("layer1") for label in seen(spec))


def test_a_layer_that_differs_is_not_counted_with_its_neighbours():
    spec = graph_spec(layers(4, odd=2), collapse="all")
    assert not any("×" in label for label in seen(spec))


def test_a_large_graph_folds_the_deepest_scopes_first():
    """40 layers of 3 ops, 2 parameters and 5 gradients: over 300 nodes; folded they are one pill with 40 in it."""
    spec = conforms(graph_spec(layers(40)))
    assert len(spec["layout"]["nodes"]) <= 300
    assert "layer0 … layer39 · 120 ops · 80 params × 40" in seen(spec)
    assert any("folded" in note for note in spec["notes"])


def test_more_than_a_thousand_nodes_are_never_seen():
    spec = conforms(graph_spec(layers(120), collapse=[]))
    assert len(spec["layout"]["nodes"]) <= 1000


def test_the_target_of_a_loss_stands_inside_the_frame_of_the_loss_that_alone_reads_it():
    x, y = tl.tensor(np.ones((4, 2)), name="x"), tl.tensor(np.ones((4, 1)), name="y")
    with tl.scope("layer"):
        h = tl.tanh(x @ tl.Parameter(np.ones((2, 2)), name="W"))
    with tl.scope("loss"):
        loss = ((h @ tl.Parameter(np.ones((2, 1)), name="V") - y) ** 2).mean()
    loss.backward()
    spec = graph_spec(loss)
    places = {node["label"]: spec["layout"]["nodes"][node["id"]] for node in spec["graph"]["nodes"]}
    boxes = {frame["title"].removeprefix("▾ "): frame["box"] for frame in spec["frames"]}

    def holds(frame, node):
        (a, b, c, d), (x, y, w, h) = boxes[frame], places[node]
        return a < x and b < y and x + w < a + c and y + h < b + d

    assert holds("loss", "y") and not holds("layer", "x")


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_a_loop_of_ten_thousand_turns_folds_to_one_pill(mode):
    x = tl.scalar("x") if mode == "static" else tl.tensor(1.0, requires_grad=True, name="x")
    y = x
    for _ in range(10_000):
        y = y * 1.0001
    spec = graph_spec(y)
    assert any(label.endswith("10000 ops × 10000") for label in seen(spec))
    assert len(spec["layout"]["nodes"]) <= 5
    assert len(spec["text"].splitlines()) <= 10


def test_a_loop_of_many_calls_stays_one_loop_when_the_interpreter_speeds_it_up():
    x = tl.tensor(np.ones((2, 4)), requires_grad=True, name="x")
    h = x
    for _ in range(40):
        z = h @ np.eye(4)
        i, f, g, o = tl.sigmoid(z[:, :2]), tl.sigmoid(z[:, 2:]), tl.tanh(z[:, :2]), tl.tanh(z[:, 2:])
        h = tl.concatenate([i * g, f * o], axis=1)
    pills = [label for label, node in seen(graph_spec(h, wrt=[])).items() if node["kind"] == "scope"]
    assert len(pills) == 1 and pills[0].endswith("ops × 40")


def test_the_turns_of_a_loop_stand_together_whatever_they_read_first():
    """Each turn is x_t @ U, h @ W, their sum and tanh: four ops of one turn in each scope."""
    W, U = tl.Parameter(np.eye(2), name="W"), tl.Parameter(np.eye(2), name="U")
    h = tl.tensor(np.zeros((1, 2)))
    for t in range(80):
        read = tl.tensor(np.ones((1, 2)), name=f"x{t}") @ U
        h = tl.tanh(read + h @ W)
    spec = graph_spec(h)
    turns: dict[str, list[str]] = {}
    for node in spec["graph"]["nodes"]:
        if node["kind"] in ("op", "output"):
            turns.setdefault(node["scope"], []).append(node["op"])
    assert len(turns) == 80
    assert all(sorted(ops) == ["add", "matmul", "matmul", "tanh"] for ops in turns.values())


def test_ops_of_no_loop_are_cut_into_stretches():
    x = tl.scalar("x")
    source = "y = x\n" + "\n".join(f"y = y + {i}" for i in range(900))
    names = {"x": x}
    exec(compile(source, "<cell>", "exec"), names)
    spec = conforms(graph_spec(names["y"]))
    assert len(spec["layout"]["nodes"]) <= 300


def test_a_variable_that_two_inner_scopes_read_belongs_to_the_one_around_them():
    x, w = tl.scalar("x"), tl.shared(1.0, name="w")
    with tl.scope("net"):
        with tl.scope("a"):
            y = x * w
        with tl.scope("b"):
            y = tl.tanh(y + w)
    found = next(n for n in graph_spec(y)["graph"]["nodes"] if n["label"] == "w")
    assert found["scope"] == "net" == common_scope(["net/a", "net/b"])


def test_other_foldings_are_laid_out_ahead():
    spec = graph_spec(layers(2))
    ahead = [view["collapsed"] for view in likely_views(spec)]
    assert ahead == [["layer0", "layer1"], ["layer0"], ["layer1"]]
    for view in likely_views(spec):
        conforms({**spec, **view})


def test_a_view_that_is_folded_says_so_in_text_picture_and_dot():
    view = tl.GraphView(layers(2), collapse=["layer1"])
    for text in (view.describe(), view.svg(), view.to_dot().source):
        assert "layer1 · 3 ops · 2 params" in text
        assert "layer0 · 3 ops" not in text


def test_folding_can_be_changed_later():
    view = tl.GraphView(layers(2))
    view.collapsed = ["layer0"]
    assert "layer0 · 3 ops · 2 params" in view.describe()
    assert view.view["collapsed"] == ["layer0"]
    view.collapsed = []
    assert "layer0 · 3 ops" not in view.describe()


def test_a_name_with_markup_stays_text_in_a_pill():
    x = tl.scalar("x")
    with tl.scope("<b>&"):
        y = tl.exp(x)
    svg = tl.GraphView(y, collapse="all").svg()
    assert "&lt;b&gt;&amp;" in svg and "<b>" not in svg
