"""An error drawn: the graph up to the op that failed, both shapes at it, the axis that does not fit; in both modes."""

from __future__ import annotations

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import conforms
from tutorlib.viz.graph_spec import graph_spec


def raised(act) -> tl.TutorlibError:
    with pytest.raises(tl.TutorlibError) as caught:
        act()
    return caught.value


def recorded():
    """(4, 3) @ (5, 2): 3 against 5."""
    X = tl.tensor(np.ones((4, 3)), requires_grad=True, name="X")
    W = tl.Parameter(np.ones((5, 2)), name="W")
    return tl.tanh(X) @ W


def symbolic():
    X = tl.tanh(tl.shared(np.ones((4, 3)), name="X"))
    W = tl.shared(np.ones((5, 2)), name="W")
    return X @ W


def at_run():
    """Shapes that are only known when the function runs."""
    X, W = tl.matrix("X"), tl.matrix("W")
    return tl.function([X, W], tl.tanh(X) @ W)(np.ones((4, 3)), np.ones((5, 2)))


@pytest.mark.parametrize("act", [recorded, symbolic, at_run])
def test_both_shapes_stand_at_the_failing_op_with_the_axis_that_does_not_fit(act):
    spec = conforms(graph_spec(raised(act)))
    (failed,) = [node for node in spec["graph"]["nodes"] if node["kind"] == "error"]
    assert failed["op"] == "matmul" and "3 and 5" in failed["note"]
    into = [(e["label"], e["wrong"]) for e in spec["graph"]["edges"] if e["t"] == failed["id"]]
    assert into == [("(4, 3)", [1]), ("(5, 2)", [0])]
    assert [node["op"] for node in spec["graph"]["nodes"] if node["kind"] == "op"] == ["tanh"]


def test_the_last_step_is_the_op_that_failed_and_says_why():
    spec = conforms(graph_spec(raised(recorded)))
    (failed,) = [node["id"] for node in spec["graph"]["nodes"] if node["kind"] == "error"]
    last = spec["trace"][-1]
    assert (last["node"], last["formula"]) == (failed, "matmul failed: inner dims 3 and 5 differ")
    assert last["spoken"].startswith("step 2 of 2, forward, matmul: matmul failed")


@pytest.mark.parametrize("act", [recorded, symbolic])
def test_it_shows_the_learners_line_and_the_way_to_mend_it(act):
    view = tl.GraphView(raised(act))
    (failed,) = [node for node in view.spec["graph"]["nodes"] if node["kind"] == "error"]
    assert failed["src"]["text"].startswith("return ") and "@ W" in failed["src"]["text"]
    assert "matmul failed: inner dims 3 and 5 differ." in view.describe()
    assert "must equal" in view.spec["summary"]


def test_only_the_parts_that_disagree_are_marked():
    a, b, c = (tl.tensor(np.ones(shape), requires_grad=True) for shape in [(2, 3), (2, 3), (4, 3)])
    spec = graph_spec(raised(lambda: tl.concatenate([a, b, c], axis=1)))
    assert [edge.get("wrong") for edge in spec["graph"]["edges"]] == [[0], None, [0]]


def test_axes_align_on_the_right_as_broadcasting_does():
    a, b = tl.tensor(np.ones((2, 3)), requires_grad=True), tl.tensor(np.ones(4), requires_grad=True)
    spec = graph_spec(raised(lambda: a + b))
    assert [(edge["label"], edge["wrong"]) for edge in spec["graph"]["edges"]] == [("(2, 3)", [1]), ("(4,)", [0])]


def test_values_given_to_a_graph_that_fails_mark_it_too():
    a, b = tl.matrix("a"), tl.vector("b")
    spec = conforms(graph_spec((a @ b).sum(), inputs={a: np.ones((2, 3)), b: np.ones(2)}))
    wrong = [(edge["label"], edge["wrong"]) for edge in spec["graph"]["edges"] if "wrong" in edge]
    assert wrong == [("(2, 3)", [1]), ("(2,)", [0])]


def test_the_picture_marks_the_axis_and_the_edge():
    svg = tl.GraphView(raised(recorded)).svg()
    assert '(4, <tspan fill="#C8102E" font-weight="800" text-decoration="underline">3</tspan>)' in svg
    assert '(<tspan fill="#C8102E" font-weight="800" text-decoration="underline">5</tspan>, 2)' in svg


def test_show_takes_an_error(capsys):
    tl.show(raised(recorded))
    assert "matmul" in capsys.readouterr().out


def test_an_error_without_operands_is_refused_with_its_own_words():
    with pytest.raises(TypeError, match="floatX cannot be"):
        tl.GraphView(raised(lambda: setattr(tl.config, "floatX", "int8")))
