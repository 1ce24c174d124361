"""The mirrored layout: nothing overlaps, gradients stand beside their forward ops, edges keep clear of nodes."""

from __future__ import annotations

import random
from itertools import combinations, pairwise

import pytest

from tests.viz.contract import FIXTURES, fixture
from tutorlib.viz.layout import Box, Link, layout
from tutorlib.viz.ordering import count_crossings


def boxes_of(text: str, **kinds: str) -> list[Box]:
    return [Box(name, 80, 40, kinds.get(name, "op")) for name in text.split()]


def links_of(text: str) -> list[Link]:
    """ "a>b b>c" as links."""
    pairs = [word.split(">") for word in text.split()]
    return [Link(f"e{i}", s, t) for i, (s, t) in enumerate(pairs)]


def mirrored(seed: int, size: int) -> tuple[list[Box], list[Link]]:
    """A random forward graph with shared variables, constants, one gradient for each op, and updates."""
    rng = random.Random(seed)
    boxes, links = [], []

    def link(s, t, kind="forward"):
        links.append(Link(f"e{len(links)}", s, t, kind))

    for i in range(size):
        kind = rng.choice(["op", "op", "op", "shared", "constant", "input"]) if i < size - 1 else "op"
        boxes.append(Box(f"n{i}", rng.randrange(60, 200), rng.randrange(30, 80), kind if i > 2 else "input"))
    ops = [i for i, box in enumerate(boxes) if box.kind == "op"]
    for i in ops:
        for j in rng.sample(range(i), min(i, rng.randrange(1, 4))):
            link(f"n{j}", f"n{i}")
    for i in ops[::-1]:
        boxes.append(Box(f"g{i}", 100, 50, "gradient", grad_of=f"n{i}"))
    for edge in list(links):
        if f"g{edge.s[1:]}" in {box.id for box in boxes}:
            link(f"g{edge.t[1:]}", f"g{edge.s[1:]}", "gradient")
        link(edge.s, f"g{edge.t[1:]}", "saved")
    for box in [box for box in boxes if box.kind == "shared"]:
        boxes.append(Box(f"u{box.id}", 90, 50, "update", update_of=box.id))
        link(f"g{ops[0]}", f"u{box.id}", "update")
        link(f"u{box.id}", box.id, "update")
    return boxes, links


def overlap(a: list[float], b: list[float]) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def runs_through(box: list[float], start: list[float], end: list[float]) -> bool:
    """Whether a straight stretch passes the inside of a box (Liang-Barsky clipping, 1 px inside the border)."""
    x, y, w, h = box[0] + 1, box[1] + 1, box[2] - 2, box[3] - 2
    dx, dy = end[0] - start[0], end[1] - start[1]
    low, high = 0.0, 1.0
    for step, room in ((-dx, start[0] - x), (dx, x + w - start[0]), (-dy, start[1] - y), (dy, y + h - start[1])):
        if step == 0:
            if room < 0:
                return False
            continue
        share = room / step
        if step < 0:
            low = max(low, share)
        else:
            high = min(high, share)
    return low < high


GRAPHS = {**{f"random{seed}": mirrored(seed, 12 + 6 * seed) for seed in range(6)}}


@pytest.mark.parametrize("name", GRAPHS)
def test_no_two_nodes_overlap(name):
    found = layout(*GRAPHS[name])
    for (a, first), (b, second) in combinations(found.nodes.items(), 2):
        assert not overlap(first, second), (a, b)


@pytest.mark.parametrize("name", GRAPHS)
def test_no_edge_runs_through_a_node_that_is_not_its_end(name):
    boxes, links = GRAPHS[name]
    found = layout(boxes, links)
    for link in links:
        for start, end in pairwise(found.edges[link.id]):
            for node, box in found.nodes.items():
                if node not in (link.s, link.t):
                    assert not runs_through(box, start, end), (link, node)


@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures_have_no_overlap_and_lie_on_the_canvas(name):
    places = fixture(name)["layout"]
    wide, high = places["size"]
    for (a, first), (b, second) in combinations(places["nodes"].items(), 2):
        assert not overlap(first, second), (a, b)
    for x, y, w, h in places["nodes"].values():
        assert x >= 0 and y >= 0 and x + w <= wide and y + h <= high
    for points in places["edges"].values():
        for x, y in points:
            assert 0 <= x <= wide and 0 <= y <= high


@pytest.mark.parametrize("name", GRAPHS)
def test_edges_begin_and_end_on_the_borders_of_their_nodes(name):
    boxes, links = GRAPHS[name]
    found = layout(boxes, links)
    for link in links:
        for (px, py), node in ((found.edges[link.id][0], link.s), (found.edges[link.id][-1], link.t)):
            x, y, w, h = found.nodes[node]
            inside = x - 0.2 <= px <= x + w + 0.2 and y - 0.2 <= py <= y + h + 0.2
            on_border = min(abs(px - x), abs(px - x - w), abs(py - y), abs(py - y - h)) < 0.2
            assert inside and on_border, (link, node)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_gradient_stands_in_the_band_of_its_forward_op_and_right_of_all_of_them(name):
    boxes, links = GRAPHS[name]
    found = layout(boxes, links)
    right_end = max(found.nodes[b.id][0] + found.nodes[b.id][2] for b in boxes if b.kind != "gradient")
    for box in boxes:
        if box.grad_of:
            top, bottom = found.bands[found.band_of[box.grad_of]]
            x, y, _, h = found.nodes[box.id]
            assert top <= y and y + h <= bottom
            assert x > right_end


def test_one_gradient_an_op_is_level_with_it():
    boxes = [*boxes_of("x y z", x="input"), *(Box(f"g{n}", 80, 40, "gradient", grad_of=n) for n in "xyz")]
    found = layout(boxes, links_of("x>y y>z z>gz gz>gy gy>gx"))
    for name in "xyz":
        assert found.nodes[name][1] == found.nodes[f"g{name}"][1]


def test_a_chain_is_drawn_straight_down():
    found = layout(boxes_of("a b c d", a="input"), links_of("a>b b>c c>d"))
    assert len({found.nodes[n][0] for n in "abcd"}) == 1
    assert [found.nodes[n][1] for n in "abcd"] == sorted(found.nodes[n][1] for n in "abcd")
    assert all(len(points) == 2 for points in found.edges.values())


def test_a_shared_variable_stands_left_of_its_reader_and_its_update_left_of_it():
    boxes = [*boxes_of("x s op", x="input", s="shared"), Box("u", 80, 40, "update", update_of="s")]
    found = layout(boxes, [*links_of("x>op s>op"), Link("u1", "op", "u", "update"), Link("u2", "u", "s", "update")])
    assert found.nodes["u"][0] < found.nodes["s"][0] < found.nodes["op"][0]
    assert found.nodes["u"][1] == found.nodes["s"][1] == found.nodes["op"][1]


def test_a_constant_stands_beside_the_op_it_feeds():
    found = layout(boxes_of("x c op", x="input", c="constant"), links_of("x>op c>op"))
    assert found.nodes["c"][1] == found.nodes["op"][1]
    assert found.nodes["c"][0] > found.nodes["op"][0]


def test_left_to_right_is_the_same_picture_turned():
    boxes, links = boxes_of("a b c", a="input"), links_of("a>b b>c")
    found = layout(boxes, links, "LR")
    assert found.nodes["a"][0] < found.nodes["b"][0] < found.nodes["c"][0]
    assert len({found.nodes[n][1] for n in "abc"}) == 1
    assert found.nodes["a"][2:] == [80, 40]


def test_an_unknown_direction_is_refused():
    with pytest.raises(ValueError, match="BT"):
        layout([], [], "BT")


@pytest.mark.parametrize("name", GRAPHS)
def test_the_same_graph_always_gets_the_same_layout(name):
    assert layout(*GRAPHS[name]).as_json() == layout(*GRAPHS[name]).as_json()


def crossings(found, links) -> int:
    """Pairs of edges that cross properly, counted on the drawn lines; edges that share an end do not count."""
    segments = [(link, a, b) for link in links for a, b in pairwise(found.edges[link.id])]

    def side(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    total = 0
    for (e, a, b), (f, c, d) in combinations(segments, 2):
        if {e.s, e.t} & {f.s, f.t}:
            continue
        total += side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
    return total


@pytest.mark.parametrize(
    ("nodes", "edges", "fewest"),
    [
        ("a b c d", "a>d b>c", 0),
        ("a b c x y z", "a>z b>y c>x", 0),
        ("a b p q r", "a>p a>q b>q b>r", 0),
        ("a b c x y z", "a>x a>y a>z b>x b>y b>z c>x c>y c>z", 9),
        ("r a b c d e f", "r>a r>b a>c a>d b>e b>f", 0),
    ],
)
def test_small_graphs_reach_the_least_crossings_possible(nodes, edges, fewest):
    """The least numbers are known: planar graphs need none, K(3,3) drawn in two rows needs 9."""
    links = links_of(edges)
    assert crossings(layout(boxes_of(nodes), links), links) == fewest


def test_crossings_between_two_rows_are_inversions():
    assert count_crossings([0, 1, 2], [2, 1, 0]) == 3
    assert count_crossings([0, 0, 1], [0, 2, 1]) == 1
    assert count_crossings([], []) == 0


def test_a_very_long_edge_keeps_the_layout_small():
    names = [f"n{i}" for i in range(200)]
    boxes = [Box(n, 80, 40) for n in names]
    links = [Link(f"e{i}", a, b) for i, (a, b) in enumerate(pairwise(names))]
    links += [Link(f"f{i}", "n0", n) for i, n in enumerate(names[60:])]
    found = layout(boxes, links)
    assert len(found.edges) == len(links)
    assert found.size[0] < 2000


def test_links_that_lead_nowhere_are_left_out():
    found = layout(boxes_of("a"), links_of("a>a a>zzz"))
    assert found.edges == {} and set(found.nodes) == {"a"}


def test_nothing_at_all_has_a_layout():
    assert layout([], []).nodes == {}


def test_an_update_whose_variable_is_not_drawn_still_gets_a_place():
    found = layout([Box("u", 80, 40, "update", update_of="gone"), Box("a", 80, 40)], [])
    assert not overlap(found.nodes["u"], found.nodes["a"])
