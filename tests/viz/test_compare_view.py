"""CompareView of the two modes and of rewrite logs: what exists when, what each step shows. Numbers by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import conforms


def square_sum(x):
    y = x * x
    return y.sum()


def chosen(x):
    total = x.sum()
    return tl.ifelse(total > 0, lambda: total * 2, lambda: total - 1)


def phases(view, side: str) -> list[str]:
    return [step[side]["phase"] for step in view.spec["steps"]]


def existing(view, at: int, side: str) -> set[str]:
    """Ops that exist in a pane at a step."""
    state = view.spec["steps"][at][side]
    graph, born = view.spec["graphs"][state["graph"]], view.spec["born"][state["graph"]]
    return {n["op"] for n in graph["graph"]["nodes"] if n["op"] and born[n["id"]] <= state["born"]}


def test_the_static_graph_is_whole_before_any_value_and_the_tape_grows_by_lines():
    view = tl.CompareView.modes(square_sum, [1.0, 2.0])
    conforms(view.spec)
    assert phases(view, "left") == ["", "build", "build", "compile", "call", "call"]
    assert phases(view, "right") == ["", "run", "run", "done", "done", "done"]
    assert [existing(view, at, "right") for at in range(3)] == [set(), {"mul"}, {"mul", "sum"}]
    assert [existing(view, at, "left") for at in range(3)] == [set(), {"mul"}, {"mul", "sum"}]
    assert [step["left"]["step"] for step in view.spec["steps"]] == [0, 0, 0, 0, 1, 2]
    assert [step["right"]["step"] for step in view.spec["steps"]] == [0, 1, 2, 2, 2, 2]
    assert [step["left"]["valued"] for step in view.spec["steps"]] == [False] * 4 + [True] * 2


def test_each_moment_names_the_line_and_says_what_both_do():
    step = tl.CompareView.modes(square_sum, [1.0, 2.0]).spec["steps"][1]
    assert step["title"] == "y = x * x"
    assert step["where"].startswith("test_compare_view.py:")
    assert step["left"]["words"] == "builds y = mul, without a value"
    assert step["right"]["words"] == "computes and records y = [1, 4]"


def test_every_node_of_one_program_is_matched_by_its_place():
    (found,) = tl.CompareView.modes(square_sum, [1.0, 2.0]).spec["matches"]
    assert [mark for *_, mark in found["pairs"]] == ["="] * 3
    assert not found["left"] and not found["right"]


def test_an_ifelse_keeps_both_branches_in_the_graph_and_one_in_the_trace():
    view = tl.CompareView.modes(chosen, [1.0, 2.0])
    conforms(view.spec)
    end = len(view.spec["steps"]) - 1
    assert existing(view, end, "left") == {"sum", "gt", "mul", "sub", "ifelse"}
    assert existing(view, end, "right") == {"sum", "gt", "mul"}
    (found,) = view.spec["matches"]
    names = {n["id"]: n["op"] for n in view.spec["graphs"][0]["graph"]["nodes"]}
    assert {names[i] for i in found["left"]} == {"sub", "ifelse", None}


def test_a_call_computes_only_the_branch_that_is_taken():
    view = tl.CompareView.modes(chosen, [-1.0, -2.0])
    static = view.spec["graphs"][0]
    labels = {n["id"]: n["op"] for n in static["graph"]["nodes"]}
    assert [labels[event["node"]] for event in static["trace"]] == ["sum", "gt", "sub", "ifelse"]
    assert static["values"][static["trace"][-1]["value"]]["text"] == "-4"


def test_a_second_call_uses_the_graph_again_and_makes_a_new_tape():
    view = tl.CompareView.modes(chosen, [1.0, 2.0], again=[([-1.0, -2.0],)])
    conforms(view.spec)
    last = view.spec["steps"][-1]
    assert (last["left"]["phase"], last["right"]["phase"]) == ("call", "run")
    assert existing(view, len(view.spec["steps"]) - 1, "right") == {"sum", "gt", "sub"}
    assert last["right"]["words"].startswith("computes and records sub = -4")


def test_a_python_if_stops_the_building_and_says_why():
    def python_if(x):
        if x.sum() > 0:
            return x * 2
        return -x

    view = tl.CompareView.modes(python_if, [1.0, 2.0])
    conforms(view.spec)
    assert phases(view, "left") == ["", "build", "error", "error"]
    assert phases(view, "right") == ["", "run", "run", "run"]
    stop = view.spec["steps"][2]["left"]["words"]
    assert "if x.sum() > 0" in stop and "tl.ifelse" in stop
    assert existing(view, 3, "left") == {"sum", "gt"}
    assert existing(view, 3, "right") == {"sum", "gt", "mul"}


def test_a_loop_is_unrolled_in_both_and_every_round_is_a_moment():
    def powers(x, n):
        for _ in range(n):
            x = x * 2.0
        return x

    view = tl.CompareView.modes(powers, 1.0, 3)
    assert phases(view, "right") == ["", "run", "run", "run", "done", "done", "done", "done"]
    assert view.spec["steps"][3]["right"]["words"] == "computes and records x = 8"


def test_compiling_tells_of_the_rewrites():
    view = tl.CompareView.modes(lambda x: tl.log(1 + tl.exp(x)), 0.5)
    (compiled,) = [step for step in view.spec["steps"] if step["left"]["phase"] == "compile"]
    assert "log(1 + eˣ) = softplus(x)" in compiled["left"]["words"]


def test_two_graphs_made_by_hand_get_the_clock_and_the_tensors_values():
    a, b = tl.scalar("a"), tl.scalar("b")
    ta, tb = tl.tensor(2.0, requires_grad=True, name="a"), tl.tensor(3.0, requires_grad=True, name="b")
    view = tl.CompareView(a * b, ta * tb)
    conforms(view.spec)
    assert view.spec["compare"] == "modes"
    assert view.spec["graphs"][0]["trace"][0]["numbers"] == "6 = 2 · 3"


# ---- logs ----


def softplus_log():
    x = tl.vector("x")
    return tl.function([x], tl.log(1 + tl.exp(x)) * 1).log


def test_a_log_is_stepped_through_before_beside_after():
    log = softplus_log()
    view = tl.CompareView(log)
    spec = conforms(view.spec)
    assert [step["title"] for step in spec["steps"]] == ["the whole log", "times_one", "log_of_one_plus_exp"]
    assert [step["says"] for step in spec["steps"][1:]] == ["x · 1 = x", "log(1 + eˣ) = softplus(x)"]
    assert "log(1 + tl.exp(x)) * 1" in spec["steps"][2]["where"]
    ops = [
        [
            {n["op"] for n in spec["graphs"][step[side]["graph"]]["graph"]["nodes"] if n["op"]}
            for side in ("left", "right")
        ]
        for step in spec["steps"]
    ]
    assert ops == [
        [{"mul", "log", "add", "exp"}, {"softplus"}],
        [{"mul", "log", "add", "exp"}, {"log", "add", "exp"}],
        [{"log", "add", "exp"}, {"softplus"}],
    ]


def test_what_a_rewrite_leaves_alone_is_the_same_and_what_it_replaced_belongs_together():
    spec = tl.CompareView(softplus_log()).spec
    found = spec["matches"][spec["steps"][2]["match"]]
    left, right = (spec["graphs"][spec["steps"][2][side]["graph"]]["graph"]["nodes"] for side in ("left", "right"))
    said = {n["id"]: n["op"] or n["label"] for n in left}, {n["id"]: n["op"] or n["label"] for n in right}
    assert {(said[0][a], said[1][b], mark) for a, b, mark in found["pairs"]} == {
        ("x", "x", "="),
        ("log", "softplus", "~"),
    }
    assert [{said[i][name] for name in found["replaced"][i]} for i in (0, 1)] == [{"log", "add", "exp"}, {"softplus"}]


def test_drawing_a_log_leaves_the_function_and_the_log_as_they_were():
    x = tl.vector("x")
    f = tl.function([x], tl.log(1 + tl.exp(x)) * 1)
    f.log.goto(1)
    tl.CompareView(f.log)
    assert f.log.at == 1
    assert f.log.goto(2)[0].node.op.name == "softplus"
    np.testing.assert_allclose(f([0.0]), [np.log(2)])


def test_near_misses_are_shown_with_their_reason():
    n = tl.symbol("n", (None,), "float32")
    view = tl.CompareView(tl.function([n], n * np.float64(1.0)).log)
    assert view.spec["near"][0]["rule"] == "times_one"
    assert "the constant stretches" in view.describe()


def test_a_large_graph_is_drawn_around_each_rewrite():
    value = tl.scalar("s")
    for _ in range(32):
        value = tl.sin(value) * 1
    view = tl.CompareView(tl.function([tl.toposort([value])[0].inputs[0]], value).log)
    spec = conforms(view.spec)
    assert all(len(graph["graph"]["nodes"]) <= 60 for graph in spec["graphs"][2:])
    assert any("surroundings" in note for note in spec["notes"])


def test_chosen_steps_of_a_log():
    view = tl.CompareView(softplus_log(), steps=range(2, 3))
    assert [step["title"] for step in view.spec["steps"]] == ["the whole log", "log_of_one_plus_exp"]


def test_a_log_has_no_right_side():
    with pytest.raises(TypeError, match=r"f\.log"):
        tl.CompareView(softplus_log(), softplus_log())


# ---- pictures and words ----


def views():
    w, x, b = (tl.scalar(name) for name in "wxb")
    yield tl.CompareView.modes(chosen, [1.0, 2.0], again=[([-1.0, -2.0],)])
    yield tl.CompareView(softplus_log())
    yield tl.CompareView(w * x, w * x + b, theme="dark")


def test_the_picture_holds_both_panes_and_is_the_same_every_time():
    for first, second in zip(views(), views(), strict=True):
        assert first.svg() == second.svg()
        words = "".join(ET.fromstring(first.svg()).itertext())
        assert first.spec["titles"]["left"] in words and first.spec["titles"]["right"] in words
        assert "style=" not in first.svg() and "class=" not in first.svg()


def test_the_text_is_a_unified_diff_of_the_outlines():
    *_, graphs = views()
    lines = graphs.describe().splitlines()
    assert "--- your graph" in lines and "+++ reference" in lines
    assert "-out mul [1] float64 ()" in lines
    assert "+out add [+1] float64 ()" in lines
    assert "+  mul [1] float64 ()" in lines
    assert "     in w [2] float64 ()" in lines or "+    in w [2] float64 ()" in lines


def test_the_picture_shows_the_step_of_the_view(tmp_path):
    view = tl.CompareView.modes(square_sum, [1.0, 2.0], step=1)
    before = view.svg()
    assert ">sum<" not in before and "y = mul" in before
    view.step = len(view.spec["steps"]) - 1
    assert ">sum<" in view.svg()
    file = view.save_svg(tmp_path / "a.svg")
    with pytest.raises(FileExistsError):
        view.save_svg(file)
