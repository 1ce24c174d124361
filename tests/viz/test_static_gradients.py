"""The gradients of a static graph are drawn as those of a recorded one: one node for each variable."""

import numpy as np
import pytest

import tutorlib as tl

X = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 2.0]])
W = np.array([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]])
B = np.array([0.05, -0.1])


def product_used_twice(a, b):
    p = a * b
    return p * p + p


def dense(x, w, b):
    h = tl.tanh(x @ w + b)
    return ((h - 0.5) ** 2).mean()


def used_in_two_places(x, w):
    h = x @ w
    return (h * h).sum() + (w * w).sum()


def passed_on(a, b):
    s = a + b
    return s * a


def sum_squared(a, b):
    return (a + b) ** 2


def sum_of_product(a, b):
    return a + a * b


MODELS = [
    (product_used_twice, {"a": np.array(3.0), "b": np.array(2.0)}),
    (dense, {"x": X, "w": W, "b": B}),
    (used_in_two_places, {"x": X, "w": W}),
    (passed_on, {"a": np.array(3.0), "b": np.array(2.0)}),
    (sum_squared, {"a": np.array(3.0), "b": np.array(2.0)}),
    (sum_of_product, {"a": np.array(3.0), "b": np.array(2.0)}),
]


def static_and_recorded(model, values):
    symbols = {name: tl.symbol(name, shape=value.shape, dtype="float64") for name, value in values.items()}
    static = tl.GraphView(model(**symbols), wrt=list(symbols.values()), inputs=values)
    tensors = {name: tl.tensor(value, requires_grad=True, name=name) for name, value in values.items()}
    cost = model(**tensors)
    cost.backward()
    return static.spec, tl.GraphView(cost).spec


def gradients(spec):
    """Name → (numbers of the whole and of its parts, label of the forward node, labels of the producers)."""
    nodes = {node["id"]: node for node in spec["graph"]["nodes"]}
    parts = {event["node"]: event.get("parts", []) for event in spec["trace"]}
    sources = {}
    for edge in spec["graph"]["edges"]:
        if edge["kind"] in ("gradient", "saved"):
            sources.setdefault(edge["t"], []).append((edge["kind"], nodes[edge["s"]]["label"]))
    return [
        (
            node["name"],
            node["label"],
            spec["values"][node["value"]]["table"],
            [spec["values"][key]["table"] for key in parts[node["id"]]],
            nodes[node["grad_of"]]["label"],
            sorted(sources[node["id"]]),
        )
        for node in nodes.values()
        if node["kind"] == "gradient"
    ]


def backward_steps(spec):
    nodes = {node["id"]: node for node in spec["graph"]["nodes"]}
    return [
        (nodes[e["node"]]["label"], e["formula"], e["numbers"], e["rule"])
        for e in spec["trace"]
        if e["phase"] == "backward"
    ]


@pytest.mark.parametrize(("model", "values"), MODELS, ids=[model.__name__ for model, _ in MODELS])
def test_a_static_graph_shows_the_gradients_of_the_recorded_graph(model, values):
    static, recorded = static_and_recorded(model, values)
    assert gradients(static) == gradients(recorded)
    assert backward_steps(static) == backward_steps(recorded)
    kinds = [[node["kind"] for node in spec["graph"]["nodes"]] for spec in (static, recorded)]
    assert sorted(kinds[0]) == sorted(kinds[1])


def test_every_variable_has_one_gradient_node():
    static, _ = static_and_recorded(dense, {"x": X, "w": W, "b": B})
    kinds = [node["kind"] for node in static["graph"]["nodes"]]
    # matmul, add, tanh, sub, pow, mean; x, w, b.
    assert kinds.count("gradient") == 6 + 3
    assert kinds.count("op") + kinds.count("output") == 6


def test_a_gradient_knows_the_ops_that_compute_it():
    a, b = tl.vector("a"), tl.scalar("b")
    view = tl.GraphView((a * b).sum(), wrt=[a, b])
    inside = {node["label"]: node["inside"] for node in view.spec["graph"]["nodes"] if node["kind"] == "gradient"}
    assert inside["∂L/∂sum"] == []
    assert inside["∂L/∂b"][-1] == "unbroadcast"
    assert inside["∂L/∂a"]
    assert f"∂L/∂b: {', '.join(inside['∂L/∂b'])}" in view.describe()


def two_updates():
    x, w, b = tl.scalar("x"), tl.shared(3.0, name="w"), tl.shared(1.0, name="b")
    loss = (w * x + b) ** 2
    return x, w, b, loss


@pytest.mark.parametrize("together", [True, False])
def test_gradients_taken_one_by_one_are_drawn_once(together):
    x, w, b, loss = two_updates()
    found = tl.grad(loss, [w, b]) if together else [tl.grad(loss, w), tl.grad(loss, b)]
    step = tl.function([x], loss, updates=[(v, v - 0.1 * g) for v, g in zip((w, b), found, strict=True)])
    view = tl.GraphView(step, inputs={x: 2.0})
    names = [node["name"] for node in view.spec["graph"]["nodes"] if node["kind"] == "gradient"]
    # One each for loss, w·x + b, b, w·x and w.
    assert sorted(names) == ["∂L/∂add", "∂L/∂b", "∂L/∂loss", "∂L/∂mul", "∂L/∂w"]
    steps = [(e["formula"], e["numbers"]) for e in view.spec["trace"] if e["formula"][0] in "wb"]
    # w x + b = 7, so ∂L/∂b = 14 and ∂L/∂w = 28.
    assert steps == [("w ← w − 0.1 · ∂L/∂w", "3 → 0.2"), ("b ← b − 0.1 · ∂L/∂b", "1 → -0.4")]


def test_only_gradients_that_are_used_are_drawn():
    x, w, b, loss = two_updates()
    gw, _ = tl.grad(loss, [w, b])
    view = tl.GraphView(tl.function([x], loss, updates=[(w, w - 0.1 * gw)]))
    assert not any(node["name"] == "∂L/∂b" for node in view.spec["graph"]["nodes"])


def test_second_derivatives_are_drawn_op_by_op():
    s = tl.scalar("s")
    first = tl.grad(s**3, s)
    view = tl.GraphView(first, wrt=s, inputs={s: 2.0})
    nodes = view.spec["graph"]["nodes"]
    assert not any("inside" in node for node in nodes)
    assert all(node["op"] for node in nodes if node["kind"] == "gradient")
    (second,) = [node for node in nodes if node.get("target")]
    assert view.spec["values"][second["value"]]["text"] == "12"


def test_what_a_learner_computes_from_a_gradient_stays():
    x, w, b, loss = two_updates()
    gw, gb = tl.grad(loss, [w, b])
    norm = tl.sqrt(gw * gw + gb * gb)
    view = tl.GraphView(tl.function([x], [loss, norm]), inputs={x: 2.0})
    ops = [node["op"] for node in view.spec["graph"]["nodes"] if node["op"]]
    assert sorted(ops) == sorted(["mul", "add", "pow", "mul", "mul", "add", "sqrt"])
    (root,) = [node for node in view.spec["graph"]["nodes"] if node["op"] == "sqrt"]
    assert float(view.spec["values"][root["value"]]["text"]) == pytest.approx(np.hypot(28, 14), rel=1e-3)


def test_a_penalty_on_a_gradient_is_drawn_op_by_op():
    x, w, _, loss = two_updates()
    penalty = tl.grad(loss, w) ** 2
    view = tl.GraphView(penalty, wrt=x)
    assert not any("inside" in node for node in view.spec["graph"]["nodes"])


def test_a_gradient_of_two_variables_at_once_is_not_given_to_one_of_them():
    a, b = tl.shared(1.0, name="a"), tl.shared(2.0, name="b")
    loss = (a + b) ** 2
    step = tl.function([], loss, updates=[(v, v - 0.1 * tl.grad(loss, v)) for v in (a, b)])
    assert [e["numbers"] for e in tl.GraphView(step).spec["trace"][-2:]] == ["1 → 0.4", "2 → 1.4"]


def test_a_graph_that_was_rewritten_is_drawn_as_it_runs():
    from tutorlib.viz.graph_spec import graph_spec
    from tutorlib.viz.rewritten import rewritten

    x, w, _, loss = two_updates()
    step = tl.function([x], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))])
    with rewritten(step) as graph:
        nodes = graph_spec(graph)["graph"]["nodes"]
    assert not any("inside" in node for node in nodes)


def two_costs(named: bool = True):
    """A generator and a critic, two numbers g and d: the two costs pull at them in turn."""
    z, g, d = tl.scalar("z"), tl.shared(0.5, name="g"), tl.shared(2.0, name="d")
    fake = z * g
    score = fake * d
    if named:
        critic = score**2
        maker = -score
    else:
        critic, maker = (score**2, -score)
    pairs = [(d, d - 0.1 * tl.grad(critic, d)), (g, g - 0.1 * tl.grad(maker, g))]
    return tl.GraphView(tl.function([z], [critic, maker], updates=pairs), inputs={"z": 3.0})


def test_the_gradients_of_two_costs_are_drawn_like_those_of_one_and_named_after_each():
    """score = 3 · 0.5 · 2 = 3: ∂critic/∂d = 2 · 3 · 1.5 = 9 and ∂maker/∂g = −2 · 3 = −6."""
    spec = two_costs().spec
    found = {node["name"]: node for node in spec["graph"]["nodes"] if node["kind"] == "gradient"}
    assert {name for name in found if name.startswith("∂critic")} == {f"∂critic/∂{v}" for v in ("critic", "score", "d")}
    assert {name for name in found if name.startswith("∂maker")} == {
        f"∂maker/∂{v}" for v in ("maker", "score", "fake", "g")
    }
    assert len(found) == 7
    assert [spec["values"][found[name]["value"]]["text"] for name in ("∂critic/∂d", "∂maker/∂g")] == ["9", "-6"]
    said = [event["formula"] for event in spec["trace"]]
    assert "∂critic/∂d = ∂critic/∂score · fake" in said and "∂maker/∂fake = ∂maker/∂score · d" in said
    assert said[-2:] == ["d ← d − 0.1 · ∂critic/∂d", "g ← g − 0.1 · ∂maker/∂g"]


def test_costs_without_names_are_told_apart_by_numbers():
    names = {node["name"] for node in two_costs(named=False).spec["graph"]["nodes"] if node["kind"] == "gradient"}
    assert {"∂L₁/∂d", "∂L₂/∂g"} <= names
