"""Layouts of a few typical graphs: they stay as they are stored, and cross edges little more than Graphviz does."""

from __future__ import annotations

import json
import os
import shutil
from itertools import pairwise

import pytest

from tests.viz.golden_graphs import FOLDER, GRAPHS, layout_of
from tutorlib.viz.dot import to_dot
from tutorlib.viz.folding import shown

NO_DOT = "NO DOT: crossings were not compared with those of Graphviz. Install the program `dot`."
SLACK = 1.5


@pytest.mark.parametrize("name", GRAPHS)
def test_a_typical_graph_is_laid_out_as_before(name):
    """After a wanted change look at the picture, then run golden_graphs.py."""
    stored = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(layout_of(GRAPHS[name]()))) == stored


def crossings(lines: list[tuple[frozenset[str], list[list[float]]]]) -> int:
    """Pairs of edges that cross, edges that share an end left out; each pair counts once."""

    def side(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    def cross(a, b, c, d):
        return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0

    total = 0
    for i, (ends, points) in enumerate(lines):
        for others, other in lines[:i]:
            if not ends & others:
                total += any(cross(a, b, c, d) for a, b in pairwise(points) for c, d in pairwise(other))
    return total


def by_dot(spec: dict) -> list[tuple[frozenset[str], list[list[float]]]]:
    """The same mirrored picture as Graphviz draws it, its curves as lines between their points."""
    drawn = json.loads(to_dot(spec).pipe(format="json0", encoding="utf-8"))
    names = {item["_gvid"]: item["name"] for item in drawn["objects"] if "nodes" not in item}
    found = []
    for edge in drawn["edges"]:
        spots = [spot for spot in edge["pos"].split(" ") if not spot.startswith(("e,", "s,"))]
        points = [[float(number) for number in spot.split(",")] for spot in spots[::3]]
        found.append((frozenset((names[edge["tail"]], names[edge["head"]])), points))
    return found


@pytest.mark.parametrize("name", GRAPHS)
def test_edges_cross_at_most_half_as_often_again_as_with_dot(name):
    if shutil.which("dot") is None:
        if os.environ.get("CI"):
            pytest.fail(NO_DOT, pytrace=False)
        pytest.skip(NO_DOT)
    spec = GRAPHS[name]()
    seen, places = shown(spec["graph"], spec["collapsed"]), spec["layout"]
    ours = [(frozenset((edge["s"], edge["t"])), places["edges"][edge["id"]]) for edge in seen["edges"]]
    assert crossings(ours) <= SLACK * crossings(by_dot(spec))
