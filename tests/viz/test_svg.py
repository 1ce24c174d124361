"""The static pictures: well-formed, nothing a sanitiser strips, every name shown as text, the same bytes every time."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import tutorlib as tl
from tests.viz.contract import FIXTURES, fixture
from tutorlib.viz.marks import edge_path, escape
from tutorlib.viz.shared_svg import shared_svg
from tutorlib.viz.svg import graph_svg
from tutorlib.viz.theme import EDGES, KINDS

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "g", "title", "rect", "path", "polygon", "circle", "text"}
ATTRIBUTES = set(
    "width height viewBox role aria-label x y rx cx cy r d points fill stroke stroke-width stroke-dasharray "
    "stroke-opacity fill-opacity shape-rendering font-family font-size font-weight text-anchor transform".split()
)


def graph_pictures():
    return {f"{name} {theme}": graph_svg(fixture(name), theme) for name in FIXTURES for theme in ("light", "dark")}


def history_picture(theme: str = "light") -> str:
    w, n = tl.shared(np.linspace(-1, 1, 40).reshape(5, 8), name="<w>"), tl.shared(0, name="n & m")
    view = tl.SharedView(w, n)
    step = tl.function([], updates=[(w, w * 0.9), (n, n + 1)])
    for _ in range(9):
        step()
    w.set_value(np.full((5, 8), np.nan))
    view.mark("</text><script>")
    view.refresh()
    return shared_svg(view.spec, theme)


PICTURES = {**graph_pictures(), "history light": history_picture(), "history dark": history_picture("dark")}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_hold_only_plain_elements_and_presentation_attributes(name):
    for element in ElementTree.fromstring(PICTURES[name]).iter():
        assert element.tag.removeprefix(SVG) in TAGS
        assert set(element.attrib) <= ATTRIBUTES


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_load_nothing_and_run_nothing(name):
    root = ElementTree.fromstring(PICTURES[name])
    for element in root.iter():
        for attribute, value in element.attrib.items():
            assert not attribute.startswith("on") and attribute not in ("href", "style", "class", "id")
            assert "url(" not in value


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_have_alternative_text(name):
    root = ElementTree.fromstring(PICTURES[name])
    assert root.get("role") == "img"
    assert root.get("aria-label") == root[0].text != ""


def texts(svg: str) -> str:
    return "\n".join(e.text or "" for e in ElementTree.fromstring(svg).iter(f"{SVG}text"))


def test_hostile_names_are_shown_as_text():
    words = texts(PICTURES["hostile light"])
    assert "<script>aler…1)</script>" in words
    assert "\"quoted\" & 'single'" in words
    assert "two lines and control" in words
    assert "নিউরাল নেটওয়ার্ক" in words
    assert "\u202e" not in PICTURES["hostile light"]


def test_characters_that_xml_forbids_are_replaced():
    assert escape("a\0b\x1bc") == "a�b�c"
    hard = escape("\x01\ud800\ufffe<")
    assert ElementTree.fromstring("<a>" + hard + "</a>").text == "���<"


def test_pictures_are_deterministic():
    assert graph_pictures() == {name: svg for name, svg in PICTURES.items() if not name.startswith("history")}
    assert history_picture() == PICTURES["history light"]


def test_the_tiny_graph_shows_its_names_values_and_gradients():
    words = texts(PICTURES["tiny light"]).split("\n")
    assert {"x", "y", "q = add", "z = mul", "∂z/∂x", "∂z/∂y"} <= set(words)
    assert words.count("6") == 1 and words.count("5") == 1


def test_no_text_is_wider_than_its_node():
    """Measured with the estimate that the layout uses; a browser test looks at real glyphs."""
    from tutorlib.viz.face import NORMAL, text_width

    for name in FIXTURES:
        spec = fixture(name)
        for node in spec["graph"]["nodes"]:
            assert text_width(node["label"], NORMAL) < spec["layout"]["nodes"][node["id"]][2]


def test_a_value_that_is_not_finite_is_drawn_as_an_alert():
    view = tl.GraphView(tl.log(tl.tensor([0.0, 1.0], requires_grad=True)))
    assert KINDS["error"].light.stroke in view.svg()
    assert "NaN, inf or an error" in texts(view.svg())
    assert KINDS["error"].light.stroke not in tl.GraphView(tl.exp(tl.tensor([0.0, 1.0], requires_grad=True))).svg()


def test_a_picture_of_a_large_graph_stays_small():
    x = tl.tensor(np.linspace(-1, 1, 64).reshape(8, 8), requires_grad=True, name="x")
    y = x
    for _ in range(200):
        y = tl.tanh(y @ x)
    svg = tl.GraphView(y, collapse=[]).svg()
    assert len(svg) < 700_000
    assert svg.count("tanh</text>") == 200


def test_every_kind_has_its_own_sign_besides_colour():
    signs = {(role.shape, role.border) for role in KINDS.values()}
    assert len(signs) == len(KINDS)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_text_and_strokes_stand_out(kind):
    """WCAG: text at least 7:1 on every fill, borders at least 3:1 on the card."""
    from tutorlib.viz.theme import CARD, TEXT

    for theme in ("light", "dark"):
        paint = KINDS[kind].paint(theme)
        assert contrast(TEXT[theme], paint.fill) >= 7
        assert contrast(paint.stroke, CARD[theme][0]) >= 3


def test_a_corner_is_rounded_and_the_end_left_to_the_arrow():
    d = ElementTree.fromstring(edge_path([[0, 0], [0, 50], [50, 50]], EDGES["forward"], "#000000")).get("d")
    assert d == "M0 0L0 41Q0 50 9 50L44 50"
