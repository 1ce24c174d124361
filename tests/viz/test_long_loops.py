"""Very long loops and very deep networks: the middle is left out, and what is drawn still tells the whole story."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import conforms
from tutorlib.viz.graph_spec import graph_spec


@pytest.fixture(scope="module")
def chain() -> dict:
    """Ten thousand products, forward and backward."""
    x = tl.tensor(1.0, requires_grad=True, name="x")
    h = x
    for _ in range(10_000):
        h = h * 1.0001
    h.backward(retain_graph=True)
    return conforms(graph_spec(h))


def between(spec: dict) -> list[dict]:
    return [node for node in spec["graph"]["nodes"] if "holds" in node]


def test_what_is_sent_of_a_long_chain_is_small(chain):
    assert len(json.dumps(chain)) < 300_000
    assert len(chain["graph"]["nodes"]) < 100


def test_the_counts_are_those_of_the_whole_chain(chain):
    assert "operations 10000" in chain["summary"] and "gradients 10001" in chain["summary"]
    (pill,) = [scope for scope in chain["graph"]["scopes"] if scope["times"] > 1]
    assert pill["times"] == 10_000 and "10000 ops" in pill["label"] and "10001 gradients" in pill["back_label"]


def test_the_turns_between_the_first_and_the_last_are_one_node_with_its_gradient_beside_it(chain):
    forward, backward = between(chain)
    assert forward["label"] == "⋯ 9976 turns" and forward["holds"] == {"op": 9976, "constant": 9976}
    assert backward["grad_of"] == forward["id"] and backward["holds"] == {"gradient": 9976}
    for node in (forward, backward):
        ends = [[edge["t"], edge["s"]].count(node["id"]) for edge in chain["graph"]["edges"] if edge["kind"] != "saved"]
        assert sum(ends) == 2


def test_the_first_and_the_last_turns_are_stepped_through_with_their_numbers(chain):
    """(1.0001)^10000 ≈ 2.718 at the end; the gradient that arrives at x is the same number."""
    assert chain["trace"][0]["formula"].endswith("= x · 1")
    (shown,) = [node for node in chain["graph"]["nodes"] if node["label"] == "∂h/∂x"]
    assert chain["trace"][-1]["node"] == shown["id"]
    assert chain["values"][chain["trace"][-1]["value"]]["text"] == "2.718"


def test_a_long_static_chain_is_drawn_with_its_gradients_though_the_engine_makes_many_nodes_for_each():
    x = tl.scalar("x")
    h = x
    for _ in range(1_800):
        h = tl.tanh(h * 1.01)
    spec = conforms(graph_spec(h, wrt=[x], inputs={x: 0.5}))
    assert "operations 3600" in spec["summary"] and "gradients 3601" in spec["summary"]
    assert "nearest" not in spec["summary"] and spec["trace"][-1]["phase"] == "backward"


def test_nan_that_begins_in_the_middle_of_a_long_loop_is_drawn_and_traced():
    x = tl.tensor(4.0, requires_grad=True, name="x")
    h = x
    for turn in range(2_000):
        h = tl.log(h if turn != 1_000 else h * 0.0) * 0.0 + 1.0
    spec = conforms(graph_spec(h, wrt=[]))
    nodes = {node["id"]: node for node in spec["graph"]["nodes"]}
    bad = [node for node in nodes.values() if "fault" in node]
    (origin,) = {node["fault"]["origin"] for node in bad}
    assert nodes[origin]["op"] == "log" and "log 0" in nodes[origin]["fault"]["text"]
    last = max(bad, key=lambda node: int(node["id"][1:]))
    for _ in range(len(bad)):
        if last["fault"]["back"] is None:
            break
        last = nodes[last["fault"]["back"]]
    assert last["id"] == origin


def test_the_middle_of_a_very_deep_network_of_named_layers_is_left_out():
    x = tl.tensor(np.ones((1, 2)), name="x")
    h = x
    for i in range(400):
        with tl.scope(f"layer{i}"):
            h = tl.tanh(h @ tl.Parameter(np.eye(2), name=f"W{i}") + tl.Parameter(np.zeros(2), name=f"b{i}"))
    (loss := h.sum()).backward()
    spec = conforms(graph_spec(loss))
    forward, backward = between(spec)
    assert forward["holds"] == {"op": 3 * 376, "shared": 2 * 376} and backward["holds"] == {"gradient": 5 * 376}
    assert "operations 1201" in spec["summary"] and "shared variables 800" in spec["summary"]
    (row,) = [scope for scope in spec["graph"]["scopes"] if scope["times"] > 1]
    assert row["label"] == "layer0 … layer399 · 1200 ops · 800 params × 400"
    assert spec["collapsed"] and row["id"] in spec["collapsed"]


def test_a_number_that_several_ops_use_is_kept_for_each_gradient_at_its_own_op():
    x = tl.tensor(2.0, requires_grad=True, name="x")
    y = x
    for _ in range(3):
        y = y * 1.5
    y.backward()
    spec = graph_spec(y)
    kept = {(edge["s"], edge["t"]) for edge in spec["graph"]["edges"] if edge["kind"] == "saved"}
    constants = {node["id"] for node in spec["graph"]["nodes"] if node["kind"] == "constant"}
    assert len(constants) == 3 and {source for source, _ in kept} == constants
