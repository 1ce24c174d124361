"""What GraphView shows of real graphs: names, values, gradients with their parts, updates, steps. Numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest

import tutorlib as tl


def node_of(view, label: str) -> dict:
    found = [n for n in view.spec["graph"]["nodes"] if n["label"] == label]
    assert len(found) == 1, [n["label"] for n in view.spec["graph"]["nodes"]]
    return found[0]


def text_of(view, key: str) -> str | None:
    return None if key is None else view.spec["values"][key]["text"]


def steps(view) -> list[tuple[str, str, str]]:
    return [(event["phase"], event["formula"], event["numbers"]) for event in view.spec["trace"]]


def product_of_sum():
    """z = (x + y) · y at x = 1, y = 2: z = 6, ∂z/∂q = 2, ∂z/∂x = 2, ∂z/∂y = 2 + 3 = 5."""
    x = tl.tensor(1.0, requires_grad=True, name="x")
    y = tl.tensor(2.0, requires_grad=True, name="y")
    q = x + y
    z = q * y
    return x, y, z


def test_a_recorded_graph_is_stepped_through_forward_and_backward():
    *_, z = product_of_sum()
    z.backward()
    assert steps(tl.GraphView(z)) == [
        ("forward", "q = x + y", "3 = 1 + 2"),
        ("forward", "z = q · y", "6 = 3 · 2"),
        ("backward", "∂z/∂z = 1", ""),
        ("backward", "∂z/∂q = ∂z/∂z · y", "2 = 1 · 2"),
        ("backward", "∂z/∂x = ∂z/∂q", "2 = 2"),
        ("backward", "∂z/∂y = ∂z/∂q + ∂z/∂z · q", "5 = 2 + 3"),
    ]


def test_what_describe_says_of_it():
    *_, z = product_of_sum()
    z.backward()
    said = tl.GraphView(z).describe().splitlines()
    assert said[0] == "Computation graph of z: operations 2, inputs 2, gradients 4. Steps: 6."
    assert said[2].startswith("out z = mul [n3] float64 () = 6 ∂ 1")
    assert "  in y [n2] float64 () = 2 ∂ 5" in said
    assert "step 6 of 6, backward, ∂z/∂y: ∂z/∂y = ∂z/∂q + ∂z/∂z · q, 5 = 2 + 3" in said


def test_names_come_from_the_learners_own_lines():
    *_, z = product_of_sum()
    labels = [n["label"] for n in tl.GraphView(z, wrt=[]).spec["graph"]["nodes"]]
    assert sorted(labels) == ["q = add", "x", "y", "z = mul"]


def test_a_part_of_a_line_does_not_get_the_lines_name():
    x = tl.tensor(2.0, requires_grad=True, name="x")
    total = tl.exp(x) + x
    labels = sorted(n["label"] for n in tl.GraphView(total, wrt=[]).spec["graph"]["nodes"])
    assert labels == ["exp", "total = add", "x"]


def test_the_source_line_is_there_with_its_context():
    *_, z = product_of_sum()
    src = node_of(tl.GraphView(z), "z = mul")["src"]
    assert src["text"] == "z = q * y"
    assert src["context"][src["at"]].strip() == "z = q * y"
    assert src["where"].startswith("test_graph_view.py:")


def test_before_backward_gradients_are_not_computed_and_never_zero():
    *_, z = product_of_sum()
    view = tl.GraphView(z)
    gradients = [n for n in view.spec["graph"]["nodes"] if n["kind"] == "gradient"]
    assert len(gradients) == 4
    for node in gradients:
        assert node["value"] is None and node["note"] == "not computed"
    assert {event["phase"] for event in view.spec["trace"]} == {"forward"}
    assert "∂z/∂x [n6] float64 () = not computed" in view.describe()


def test_each_gradient_names_its_forward_node():
    *_, z = product_of_sum()
    view = tl.GraphView(z)
    assert node_of(view, "∂z/∂q")["grad_of"] == node_of(view, "q = add")["id"]
    assert node_of(view, "∂z/∂y")["grad_of"] == node_of(view, "y")["id"]


def test_saved_values_are_those_that_the_local_derivative_uses():
    """∂z/∂q = ∂z/∂z · y needs y; ∂z/∂x = ∂z/∂q needs nothing."""
    *_, z = product_of_sum()
    view = tl.GraphView(z)
    saved = {(e["s"], e["t"]) for e in view.spec["graph"]["edges"] if e["kind"] == "saved"}
    ids = {label: node_of(view, label)["id"] for label in ("y", "q = add", "∂z/∂q", "∂z/∂y")}
    assert saved == {(ids["y"], ids["∂z/∂q"]), (ids["q = add"], ids["∂z/∂y"])}


def test_a_gradient_of_two_uses_shows_its_parts_and_their_sum():
    *_, z = product_of_sum()
    z.backward()
    view = tl.GraphView(z)
    event = view.spec["trace"][-1]
    assert [text_of(view, key) for key in event["parts"]] == ["2", "3"]
    assert text_of(view, event["value"]) == "5"


def test_both_uses_in_one_op_are_parts_too():
    x = tl.tensor(3.0, requires_grad=True, name="x")
    y = x * x
    y.backward()
    assert steps(tl.GraphView(y))[-1] == ("backward", "∂y/∂x = ∂y/∂y · x + ∂y/∂y · x", "6 = 3 + 3")


def test_an_earlier_gradient_is_one_of_the_parts():
    """3 x and then x²  at x = 2: the gradient holds 3 + 2 + 2 = 7."""
    x = tl.tensor(2.0, requires_grad=True, name="x")
    (x * 3).backward()
    y = x * x
    y.backward()
    assert steps(tl.GraphView(y))[-1][2] == "7 = 2 + 2 + 3"
    assert "earlier gradient" in steps(tl.GraphView(y))[-1][1]


def test_parts_are_not_invented_when_the_variable_has_changed_since():
    x = tl.tensor(2.0, requires_grad=True, name="x")
    y = x * x
    y.backward()
    with tl.no_grad():
        x -= 1.0
    assert "parts" not in tl.GraphView(y).spec["trace"][-1]
    assert text_of(tl.GraphView(y), tl.GraphView(y).spec["trace"][-1]["value"]) == "4"


def test_a_bias_gets_the_sum_of_what_comes_back():
    b = tl.tensor([1.0, 2.0], requires_grad=True, name="b")
    loss = (np.ones((3, 2)) + b).sum()
    loss.backward()
    view = tl.GraphView(loss)
    assert ("backward", "∂loss/∂b = Σ ∂loss/∂add", "(2,) = Σ (3, 2)") in steps(view)
    assert text_of(view, node_of(view, "b")["grad"]) == "[3, 3]"


def test_wrt_limits_the_gradients_shown():
    x, _, z = product_of_sum()
    gradients = [n["label"] for n in tl.GraphView(z, wrt=x).spec["graph"]["nodes"] if n["kind"] == "gradient"]
    assert sorted(gradients) == ["∂z/∂q", "∂z/∂x", "∂z/∂z"]
    assert not any(n["kind"] == "gradient" for n in tl.GraphView(z, wrt=[]).spec["graph"]["nodes"])


def test_a_static_expression_has_values_once_inputs_are_given():
    x, y = tl.scalar("x"), tl.scalar("y")
    z = (x + y) * y
    view = tl.GraphView(z, inputs={x: 1.0, "y": 2.0})
    assert steps(view) == [("forward", "add = x + y", "3 = 1 + 2"), ("forward", "z = add · y", "6 = 3 · 2")]
    assert text_of(view, node_of(view, "z = mul")["value"]) == "6"


def test_without_inputs_there_are_no_steps_and_a_note_says_how_to_get_them():
    x = tl.scalar("x")
    view = tl.GraphView(x * x)
    assert view.spec["trace"] == []
    assert any("inputs={x: 2.0}" in note for note in view.spec["notes"])


def test_missing_inputs_are_named():
    x, y = tl.scalar("x"), tl.scalar("why")
    view = tl.GraphView(x * y, inputs={x: 1.0})
    assert any("why" in note for note in view.spec["notes"])


def test_an_input_that_the_graph_does_not_have_is_refused():
    x = tl.scalar("x")
    with pytest.raises(ValueError, match=r"'q'.*x"):
        tl.GraphView(x * x, inputs={"q": 1.0})


def test_shared_variables_count_with_their_present_value():
    s = tl.shared(5.0, name="s")
    double = s * 2
    assert steps(tl.GraphView(double)) == [("forward", "double = s · 2", "10 = 5 · 2")]


def test_static_gradients_stand_beside_the_op_they_came_from():
    x = tl.scalar("x")
    y = tl.exp(x)
    view = tl.GraphView(y, wrt=x, inputs={x: 0.0})
    beside = {n["name"]: n["grad_of"] for n in view.spec["graph"]["nodes"] if n["kind"] == "gradient"}
    assert beside == {"∂y/∂y": node_of(view, "y = exp")["id"], "∂y/∂x": node_of(view, "x")["id"]}
    assert text_of(view, node_of(view, "x")["grad"]) == "1"


def training_step():
    """w = 3, x = 2, target 4: error 2, loss 4, ∂L/∂w = 2 · 2 · 2 = 8, new w = 3 − 0.1 · 8 = 2.2."""
    x, t = tl.scalar("x"), tl.scalar("t")
    w = tl.shared(3.0, name="w")
    loss = (w * x - t) ** 2
    step = tl.function([x, t], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))], name="step")
    return w, step


def test_a_function_shows_its_update_as_arithmetic():
    _, step = training_step()
    view = tl.GraphView(step, inputs={"x": 2.0, "t": 4.0})
    phases = [phase for phase, *_ in steps(view)]
    assert phases == sorted(phases, key=["forward", "backward", "update"].index)
    assert steps(view)[-1] == ("update", "w ← w − 0.1 · ∂L/∂w", "3 → 2.2")


def test_a_function_shows_the_gradient_of_the_variable_that_it_updates():
    _, step = training_step()
    view = tl.GraphView(step, inputs={"x": 2.0, "t": 4.0})
    w = node_of(view, "w")
    (gradient,) = [n for n in view.spec["graph"]["nodes"] if n.get("target") == w["id"]]
    assert gradient["name"] == "∂L/∂w"
    assert text_of(view, w["grad"]) == "8"


def test_phases_follow_each_other_however_many_variables_are_updated():
    x, a, b = tl.scalar("x"), tl.shared(1.0, name="a"), tl.shared(2.0, name="b")
    cost = (a * x + b) ** 2
    ga, gb = tl.grad(cost, [a, b])
    step = tl.function([x], cost, updates=[(a, a - 0.1 * ga), (b, b - 0.1 * gb)])
    view = tl.GraphView(step, inputs={x: 3.0})
    phases = [phase for phase, *_ in steps(view)]
    assert phases == sorted(phases, key=["forward", "backward", "update"].index)
    assert {"forward", "backward", "update"} == set(phases)
    assert [formula for *_, formula, _ in steps(view)[-2:]] == ["a ← a − 0.1 · ∂L/∂a", "b ← b − 0.1 · ∂L/∂b"]


def test_the_picture_agrees_with_the_call():
    w, step = training_step()
    view = tl.GraphView(step, inputs={"x": 2.0, "t": 4.0})
    assert text_of(view, node_of(view, "new w")["value"]) == "2.2"
    assert step(2.0, 4.0) == 4.0
    assert w.get_value() == pytest.approx(2.2)


def test_an_update_hexagon_belongs_to_its_shared_variable():
    _, step = training_step()
    view = tl.GraphView(step)
    update, shared = node_of(view, "new w"), node_of(view, "w")
    assert (update["kind"], update["letter"], update["update_of"]) == ("update", "Δ", shared["id"])
    flows = [(e["s"], e["t"]) for e in view.spec["graph"]["edges"] if e["kind"] == "update"]
    assert (update["id"], shared["id"]) in flows and len(flows) == 2


def test_drawing_a_function_changes_no_shared_variable():
    w, step = training_step()
    tl.GraphView(step, inputs={"x": 2.0, "t": 4.0})
    assert w.get_value() == 3.0


def test_an_op_that_fails_is_drawn_as_an_error_with_its_reason():
    a, b = tl.matrix("a"), tl.vector("b")
    view = tl.GraphView((a @ b).sum(), inputs={a: np.ones((2, 3)), b: np.ones(2)})
    failed = next(n for n in view.spec["graph"]["nodes"] if n["kind"] == "error")
    assert failed["op"] == "matmul" and failed["note"]
    assert any("matmul" in note for note in view.spec["notes"])


def test_stretched_axes_are_marked_on_the_edge():
    a, b = tl.tensor(np.ones((3, 4)), requires_grad=True), tl.tensor(np.ones((1, 4)), name="b")
    view = tl.GraphView(a * b, wrt=[])
    edge = next(e for e in view.spec["graph"]["edges"] if e["s"] == node_of(view, "b")["id"])
    assert (edge["label"], edge["broadcast"]) == ("(1, 4)", [0])


def test_a_graph_used_up_without_a_trace_says_so():
    x = tl.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(6000):
        y = y * 1.0
    y.backward()
    assert any("backward()" in note for note in tl.GraphView(y).spec["notes"])


@pytest.mark.parametrize("nothing", [3, "x", None, np.ones(3), [1, 2]])
def test_what_has_no_graph_is_refused_in_words(nothing):
    with pytest.raises(TypeError, match="has no graph"):
        tl.GraphView(nothing)


def test_the_first_step_can_be_chosen():
    *_, z = product_of_sum()
    assert tl.GraphView(z, step=1).step == 1
    assert tl.GraphView(z).step == 2
    assert tl.GraphView(z, step=99).step == 2


def test_a_file_is_never_overwritten_unasked(tmp_path):
    *_, z = product_of_sum()
    view, path = tl.GraphView(z), tmp_path / "graph.svg"
    view.save_svg(path)
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        view.save_svg(path)
    assert path.read_text() == "mine"
    view.save_svg(path, overwrite=True)
    assert path.read_text().startswith("<svg")


def test_dot_ranks_by_forward_edges_only_and_keeps_gradients_level():
    *_, z = product_of_sum()
    view = tl.GraphView(z)
    source = view.to_dot().source
    assert source.count("rank=same") == 4
    for line in source.splitlines():
        if "->" in line and "style=dashed" in line:
            assert "constraint=false" in line


def test_values_beyond_the_budget_keep_their_statistics():
    from tutorlib.viz.trace import Values

    values = Values(budget=2000)
    keys = [values.add(np.arange(1000.0), step) for step in range(20)]
    kept = [values.entries[key] for key in keys if key]
    thumbs = [entry["thumb"] is not None for entry in kept]
    assert thumbs == sorted(thumbs, reverse=True) and set(thumbs) == {True, False}
    assert kept[-1]["stats"]["max"] == 999.0
    assert values.thinned_from == thumbs.index(False)
    assert keys[-1] is None
    assert values.entries[values.add(np.array([np.nan]))]["stats"]["nan"] == 1


def test_a_view_drawn_again_stays_at_its_step_and_a_finished_one_stays_finished():
    x = tl.scalar("x")
    finished = tl.GraphView(x * x, inputs={x: 3.0})
    finished.redraw((x * x + 1) * x, inputs={x: 2.0})
    assert (finished.step, steps(finished)[-1][2]) == (3, "10 = 5 · 2")
    halfway = tl.GraphView((x * x + 1) * x, inputs={x: 2.0}, step=2)
    halfway.redraw((x * x + 1) * x, inputs={x: 3.0})
    assert (halfway.step, steps(halfway)[1][2]) == (2, "10 = 9 + 1")
    halfway.redraw(x * x, inputs={x: 3.0})
    assert halfway.step == 1
