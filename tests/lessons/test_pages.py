"""Pages and slides made from a lesson: complete in one file, pictures described, nothing of a person's overwritten."""

import json
import re
from pathlib import Path

import pytest

from tutorlib.lessons.build import EditedByHand
from tutorlib.lessons.pages import html_page, slides_page, write_page
from tutorlib.lessons.pages.slides import slides_of
from tutorlib.lessons.paths import LessonFolders

FOLDERS = LessonFolders(Path(__file__).parents[2])
LOADED = re.compile(r"""<link\b|@import|url\(|<script[^>]+src|\bsrc=["'](?!data:)|srcset""")


def built(name):
    return json.loads(FOLDERS.notebook(name).read_text(encoding="utf-8"))


def markdown(key, text):
    return {"cell_type": "markdown", "id": key, "metadata": {"key": key}, "source": text.splitlines(keepends=True)}


def code(key, text, *outputs, tags=()):
    metadata = {"key": key, "tags": list(tags)}
    return {
        "cell_type": "code", "execution_count": 1, "id": key, "metadata": metadata, "outputs": list(outputs),
        "source": text.splitlines(keepends=True),
    }  # fmt: skip


def notebook(*cells, language="en"):
    origin = {"digest": "", "language": language, "lesson": "L99", "role": "learner"}
    return {"cells": list(cells), "metadata": {"tutorlib": origin}, "nbformat": 4, "nbformat_minor": 5}


@pytest.mark.parametrize("make", [html_page, slides_page])
@pytest.mark.parametrize("name", ["L04_shared_variables", "L07_train_twice"])
def test_a_page_loads_nothing_and_describes_its_pictures(make, name):
    page = make(built(name))
    pictures = re.findall(r"<img\b[^>]*>", page)
    assert LOADED.findall(page) == []
    assert pictures and all(re.search(r'alt="[^"]{5,}', tag) for tag in pictures)
    assert "No description" not in page


def test_the_page_is_in_the_lessons_language_and_named_after_it():
    page = html_page(notebook(markdown("title", "# Graphs & trees\n\nText."), language="bn"))
    assert '<html lang="bn">' in page and "<title>L99 · Graphs &amp; trees</title>" in page


def test_links_between_lessons_lead_to_the_same_kind_of_page():
    linked = notebook(
        markdown("title", "# A\n\n[there](L03_static_graphs.ipynb#Rules) and [out](https://x.org/a.ipynb)")
    )
    assert 'href="L03_static_graphs.html#Rules"' in html_page(linked)
    assert 'href="L03_static_graphs.slides.html#Rules"' in slides_page(linked)
    assert 'href="https://x.org/a.ipynb"' in html_page(linked)


def test_each_prose_cell_begins_a_slide_and_code_stands_beside_it():
    slides = slides_of(notebook(markdown("a", "# One"), code("b", "x"), markdown("c", "## Two"), markdown("d", "More")))
    keys = [(slide.prose["id"], [cell["id"] for cell in slide.code], slide.section) for slide in slides]
    assert keys == [("a", ["b"], ""), ("c", [], "One"), ("d", [], "Two")]


def test_code_that_does_not_fit_goes_to_a_slide_of_its_own():
    slides = slides_of(notebook(markdown("a", "# One"), code("b", "x\n" * 20), code("c", "y\n" * 20)))
    assert [[cell["id"] for cell in slide.code] for slide in slides] == [["b"], ["c"]]


def test_setup_and_judging_cells_are_left_out_and_words_of_a_picture_are_folded():
    picture = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/html": ['<img alt="a graph" src="data:,">']},
    }
    words = {"output_type": "stream", "name": "stdout", "text": ["two nodes\n"]}
    page = slides_page(
        notebook(
            markdown("a", "# One"),
            code("s", "import tutorlib as tl", tags=["setup"]),
            code("g", "view", picture, tags=["widget"]),
            code("w", "print(view.describe())", words),
            code("p", 'predict("L99.ex1", choice)'),
            code("k", 'check("L99.ex1", choice)', tags=["check"]),
        )
    )
    assert "import" not in page.split("<script>")[0] and "L99.ex1" not in page
    assert re.search(r"<details><summary>In words</summary>.*two nodes.*</details>", page, re.DOTALL)


def test_signs_in_a_heading_are_text_in_the_title_and_above_the_slides():
    page = slides_page(notebook(markdown("a", "# a < b & c"), markdown("b", "B")))
    assert "<title>L99 · a &lt; b &amp; c</title>" in page
    assert "<span>a &lt; b &amp; c</span>" in page


def test_a_page_that_was_built_is_built_again_and_an_edited_one_is_kept(tmp_path):
    path = tmp_path / "deep" / "L99.html"
    write_page("<p>one</p>", path)
    write_page("<p>two</p>", path)
    path.write_text(path.read_text(encoding="utf-8").replace("two", "my own"), encoding="utf-8")
    with pytest.raises(EditedByHand, match=r"L99\.html"):
        write_page("<p>three</p>", path)
    assert "my own" in path.read_text(encoding="utf-8")
    write_page("<p>three</p>", path, overwrite=True)
    assert "three" in path.read_text(encoding="utf-8")


def test_a_file_that_no_build_wrote_is_kept(tmp_path):
    path = tmp_path / "L99.html"
    path.write_text("<p>somebody's</p>", encoding="utf-8")
    with pytest.raises(EditedByHand):
        write_page("<p>one</p>", path)
