"""The last touch on edges: arrows come in upright, and shapes stand where nothing covers them."""

from __future__ import annotations

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.viz.edge_touch import label_places, upright_ends
from tutorlib.viz.graph_spec import graph_spec

SOURCE, TARGET = [0, 0, 40, 20], [200, 50, 40, 20]
BELOW, ABOVE = [20, 20], [220, 50]


def test_a_flat_edge_ends_with_an_upright_stretch():
    """From (20, 20) to (220, 50): 30 px down, so at most 0.4 · 30 = 12 px, and 10 px are enough."""
    assert upright_ends([BELOW, ABOVE], SOURCE, TARGET) == [BELOW, [220, 40.0], ABOVE]


def test_from_left_to_right_the_stretch_is_level():
    points = [[20, 20], [50, 220]]
    assert upright_ends(points, [0, 0, 20, 40], [50, 200, 20, 40], along=0) == [[20, 20], [40.0, 220], [50, 220]]


def test_steep_edges_and_edges_from_side_to_side_stay_as_they_are():
    steep, aside = [[20, 20], [30, 90]], [[40, 10], [200, 10]]
    assert upright_ends(steep, SOURCE, [10, 90, 40, 20]) == steep
    assert upright_ends(aside, SOURCE, [200, 0, 40, 20]) == aside


def edge(name, label="(3,)", **more):
    return {"id": name, "label": label, "kind": "forward", **more}


def test_a_shape_stands_beside_the_middle_of_its_edge():
    ((x, y, anchor),) = label_places([edge("e")], {"e": [[50, 0], [50, 100]]}, []).values()
    assert (x, anchor) == (55, "start")
    assert y == pytest.approx(50, abs=5)


def test_a_shape_goes_to_the_other_side_of_its_edge_where_a_node_stands_beside_it():
    node = [52, 0, 80, 100]
    assert label_places([edge("e")], {"e": [[50, 0], [50, 100]]}, [node])["e"][::2] == [45, "end"]


def test_a_shape_without_a_free_place_is_left_out_unless_it_is_wrong():
    route, everywhere = {"e": [[50, 0], [50, 100]]}, [[0, 0, 300, 300]]
    assert label_places([edge("e")], route, everywhere) == {}
    assert list(label_places([edge("e", wrong=[0])], route, everywhere)) == ["e"]


def test_a_shape_keeps_clear_of_another_edge():
    routes = {"e": [[50, 0], [50, 100]], "near": [[62, 0], [62, 100]]}
    assert label_places([edge("e")], routes, [])["e"][2] == "end"


def test_a_shape_does_not_stand_on_a_corner_of_its_own_edge():
    """80 px up, then to the right under a node: 2 px below the corner only the outer side is free."""
    route, node = [[50, 100], [50, 20], [270, 20]], [0, 0, 400, 14]
    places = label_places([edge("e")], {"e": route, "low": [[40, 40], [60, 100]]}, [node])
    assert places["e"][2] == "end" and places["e"][1] < 30


def test_scalars_and_saved_values_get_no_shape():
    edges = [edge("e", "()"), edge("s", kind="saved"), edge("u", kind="update")]
    assert label_places(edges, {name: [[0, 0], [0, 100]] for name in "esu"}, []) == {}


def test_no_shape_of_an_attention_head_is_covered_by_a_node():
    x = tl.tensor(np.linspace(0, 1, 40).reshape(5, 8), requires_grad=True, name="x")
    with tl.scope("head"):
        q, k, v = (x @ tl.Parameter(np.full((8, 4), i / 9), name=f"W{i}") for i in range(3))
        out = tl.softmax(q @ k.T, axis=-1) @ v
    (loss := out.sum()).backward()
    spec = graph_spec(loss)
    places = spec["layout"]["labels"]
    assert len(places) >= 12
    for x, y, anchor in places.values():
        left = x - {"start": 0, "middle": 15, "end": 30}[anchor]
        for bx, by, w, h in spec["layout"]["nodes"].values():
            assert not (left < bx + w and bx < left + 30 and y - 8 < by + h and by < y + 2)
