"""Views as files: one page that holds everything it needs, pictures, and nothing of a person's ever overwritten."""

from __future__ import annotations

import html
import json
import re

import pytest

import tutorlib as tl


@pytest.fixture
def view() -> tl.GraphView:
    x = tl.tensor(2.0, requires_grad=True, name="</script><script>alert(1)</script>")
    y = x * 3.0
    y.backward()
    return tl.GraphView(y)


def traits_of(page: str) -> dict:
    return json.loads(re.search(r'id="traits">(.*?)</script>', page, re.DOTALL)[1])


def test_the_page_needs_nothing_from_elsewhere(view, tmp_path):
    page = view.save_html(tmp_path / "graph.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r"(?:src|href)=\"([^\"]{5})", page))
    assert addresses <= {"data:"}
    assert not re.search(r"https?://(?!www\.w3\.org)", page)


def test_the_page_holds_the_view_as_it_is_and_its_own_front_end(view, tmp_path):
    view.step = 1
    traits = traits_of(view.save_html(tmp_path / "graph.html").read_text(encoding="utf-8"))
    assert traits["spec"] == view.spec and traits["step"] == 1
    assert "export" in traits["_esm"] and traits["key"] == ""
    assert not {"layout", "comm", "tabbable"} & traits.keys()


def test_a_name_cannot_end_the_script_or_become_markup(view, tmp_path):
    page = view.save_html(tmp_path / "graph.html").read_text(encoding="utf-8")
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2
    assert html.escape("Computation graph of") in page


def test_without_scripts_the_picture_is_there(view, tmp_path):
    page = view.save_html(tmp_path / "graph.html").read_text(encoding="utf-8")
    assert re.search(r'<noscript><img alt="Computation graph of y[^"]*" src="data:image/svg\+xml;base64,', page)


@pytest.mark.parametrize("save", ["save_html", "save_svg", "save_png"])
def test_an_existing_file_is_kept_unless_told(view, tmp_path, save, monkeypatch):
    monkeypatch.setattr("tutorlib.viz.raster.to_png", lambda svg, scale: b"png")
    path = tmp_path / "mine"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        getattr(view, save)(path)
    assert path.read_text() == "mine"
    getattr(view, save)(path, overwrite=True)
    assert path.read_bytes() != b"mine"


def test_without_a_browser_the_error_names_the_ways_that_are_left(view, tmp_path, monkeypatch):
    monkeypatch.setattr("tutorlib.viz.raster.find_browser", lambda: None)
    with pytest.raises(RuntimeError, match=r"save_svg\(\).*PNG button"):
        view.save_png(tmp_path / "graph.png")
    assert not (tmp_path / "graph.png").exists()


def test_other_views_are_saved_the_same_way(tmp_path):
    w = tl.shared(1.0, name="w")
    page = tl.SharedView(w).save_html(tmp_path / "shared.html").read_text(encoding="utf-8")
    assert traits_of(page)["spec"]["variables"][0]["name"] == "w"
