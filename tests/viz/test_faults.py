"""NaN and inf traced back to the op and the numbers that made them; gradients explained with the way to the cause."""

from __future__ import annotations

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import conforms


def by_label(view) -> dict[str, dict]:
    return {node["label"]: node for node in view.spec["graph"]["nodes"]}


def log_of_zero(mode: str):
    if mode == "recorded":
        x = tl.tensor([0.0, 1.0], requires_grad=True, name="x")
        y = tl.log(x)
        total = (y * 2.0).sum()
        return tl.GraphView(total, wrt=[])
    x = tl.vector("x")
    y = tl.log(x)
    total = (y * 2.0).sum()
    return tl.GraphView(total, inputs={x: [0.0, 1.0]})


@pytest.mark.parametrize("mode", ["recorded", "symbolic"])
def test_the_first_op_that_made_it_is_named_with_the_number_that_made_it(mode):
    view = log_of_zero(mode)
    nodes = by_label(view)
    fault = nodes["y = log"]["fault"]
    assert fault["origin"] == nodes["y = log"]["id"] and fault["back"] is None
    assert fault["inputs"] == [nodes["x"]["id"]]
    assert "-inf = log 0 at [0]" in fault["text"] and "1 of 2" in fault["text"]
    assert "fault" not in nodes["x"]


@pytest.mark.parametrize("mode", ["recorded", "symbolic"])
def test_what_came_of_it_points_back_step_by_step(mode):
    nodes = by_label(log_of_zero(mode))
    origin = nodes["y = log"]["id"]
    assert nodes["mul"]["fault"] == {"origin": origin, "back": origin}
    assert nodes["total = sum"]["fault"] == {"origin": origin, "back": nodes["mul"]["id"]}


def test_the_text_says_it_too():
    said = log_of_zero("recorded").describe()
    assert "NaN and inf:" in said and "-inf = log 0" in said


def test_data_that_holds_nan_is_the_origin_itself():
    x = tl.tensor([1.0, float("nan")], requires_grad=True, name="x")
    double = x * 2
    nodes = by_label(tl.GraphView(double, wrt=[]))
    assert nodes["x"]["fault"]["text"] == "x was given with NaN in 1 of 2 numbers."
    assert nodes["double = mul"]["fault"]["origin"] == nodes["x"]["id"]


def test_an_infinite_slope_on_the_way_back_is_found_though_all_values_are_finite():
    """√w at 0: value 0, slope 1 / (2 · 0)."""
    w = tl.tensor(0.0, requires_grad=True, name="w")
    root = tl.sqrt(w)
    root.backward()
    nodes = by_label(tl.GraphView(root))
    assert "inf = 1 / (2 · 0)" in nodes["∂root/∂w"]["fault"]["text"]
    assert "fault" not in nodes["root = sqrt"]


def test_a_product_that_overflows_tells_the_range_of_its_operands():
    m = tl.tensor(np.full((2, 2), 1e200), requires_grad=True, name="m")
    product = m @ m
    text = by_label(tl.GraphView(product, wrt=[]))["product = matmul"]["fault"]["text"]
    assert "4 of 4" in text and "m from 1e+200 to 1e+200" in text


def test_a_graph_without_any_is_left_alone():
    x = tl.tensor(1.0, requires_grad=True, name="x")
    y = x * x
    y.backward()
    view = tl.GraphView(y)
    assert not any("fault" in node or "why" in node for node in view.spec["graph"]["nodes"])
    assert "NaN and inf" not in view.describe()


def units_off(mode: str):
    if mode == "recorded":
        u = tl.tensor([-1.0, -2.0], requires_grad=True, name="u")
        on = tl.relu(u)
        cost = on.sum()
        cost.backward()
        return tl.GraphView(cost)
    u = tl.vector("u")
    on = tl.relu(u)
    cost = on.sum()
    return tl.GraphView(cost, wrt=u, inputs={u: [-1.0, -2.0]})


@pytest.mark.parametrize("mode", ["recorded", "symbolic"])
def test_a_zero_gradient_is_explained_by_the_units_that_are_off(mode):
    view = units_off(mode)
    conforms(view.spec)
    nodes = by_label(view)
    why = nodes["u"]["why"]
    assert why["verdict"] == "zero" and "2 of 2 inputs are at or below 0" in " ".join(why["text"])
    assert why["causes"] == [nodes["on = relu"]["id"]]
    assert why["path"][:2] == [nodes["u"]["id"], nodes["on = relu"]["id"]]
    assert "The gradient of u is 0 everywhere." in view.describe()


def test_before_backward_the_answer_is_that_nobody_has_run_it():
    u = tl.tensor([1.0], requires_grad=True, name="u")
    cost = (u * u).sum()
    why = by_label(tl.GraphView(cost))["u"]["why"]
    assert why["verdict"] == "wait" and "cost.backward()" in why["text"][0]


def test_a_tensor_made_without_requires_grad_is_told_so_but_not_in_the_summary_of_faults():
    u = tl.tensor([1.0, 2.0], requires_grad=True, name="u")
    k = tl.tensor([3.0, 4.0], name="k")
    cost = (u * k).sum()
    cost.backward()
    view = tl.GraphView(cost)
    assert "requires_grad=True" in by_label(view)["k"]["why"]["text"][0]
    assert "requires_grad" not in view.describe()


def test_a_symbol_behind_a_stop_is_explained():
    x, y = tl.scalar("x"), tl.scalar("y")
    cost = tl.stop_gradient(x) * y
    why = by_label(tl.GraphView(cost, wrt=[x, y], inputs={x: 2.0, y: 3.0}))["x"]["why"]
    assert why["verdict"] == "none" and "stop_gradient" in " ".join(why["text"])


def test_a_symbol_that_the_cost_does_not_depend_on_is_told_in_a_note():
    x, y = tl.scalar("x"), tl.scalar("why")
    notes = tl.GraphView(x * x, wrt=[x, y], inputs={x: 2.0}).spec["notes"]
    assert any("does not depend on why" in note for note in notes)


def test_a_nan_gradient_names_the_forward_op_at_fault():
    x = tl.tensor([0.0, 1.0], requires_grad=True, name="x")
    y = tl.log(x)
    cost = y.sum()
    cost.backward()
    nodes = by_label(tl.GraphView(cost))
    assert nodes["x"]["why"]["verdict"] == "nan"
    assert nodes["x"]["why"]["causes"] == [nodes["y = log"]["id"]]


@pytest.mark.parametrize("mode", ["recorded", "symbolic"])
def test_the_parts_of_a_variable_used_three_times_and_their_sum(mode):
    """x² + x at 2, written x · x + x: parts 2, 2 and 1 in some order, sum 5."""
    if mode == "recorded":
        x = tl.tensor(2.0, requires_grad=True, name="x")
        cost = x * x + x
        cost.backward()
        view = tl.GraphView(cost)
    else:
        x = tl.scalar("x")
        cost = x * x + x
        view = tl.GraphView(cost, wrt=x, inputs={x: 2.0})
    event = view.spec["trace"][-1]
    texts = [view.spec["values"][key]["text"] for key in event["parts"]]
    assert sorted(texts) == ["1", "2", "2"]
    assert event["numbers"] == f"5 = {' + '.join(texts)}"
    assert view.spec["values"][event["value"]]["text"] == "5"


def test_an_addition_inside_a_rule_is_not_taken_for_a_sum_over_uses():
    """tan' = 1 + tan²: the addition is part of one derivative, and x is used once."""
    x = tl.scalar("x")
    view = tl.GraphView(tl.tan(x), wrt=x, inputs={x: 1.0})
    assert not any("parts" in event for event in view.spec["trace"])
