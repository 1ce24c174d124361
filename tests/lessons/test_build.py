"""What a build makes of a lesson: the learner's notebook with stubs, the solution, both the same every time."""

import json
from pathlib import Path

import nbformat
import pytest

from tests.lessons.test_source import FRONT
from tutorlib.lessons.build import EditedByHand, build_notebook, joined, write_notebook
from tutorlib.lessons.execute import clean_cell
from tutorlib.lessons.solution_regions import RegionError, solutions, with_stubs, without_markers
from tutorlib.lessons.source import SourceError, parse_lesson

EXERCISE = """def f(x):
    if x:
        ### BEGIN SOLUTION
        y = 2 * x
        return y
        ### END SOLUTION
    return 0"""

BODY = f"""+++ {{"key": "why"}}

# A lesson

```{{code-cell}} ipython3
:key: ex1
:tags: [exercise]
{EXERCISE}
```

```{{code-cell}} ipython3
:key: ex1-check
:tags: [check, nbval-check-output]
check("L99.ex1", f)
```
"""


def lesson(body=BODY):
    return parse_lesson(FRONT + body, Path("L99_a_lesson/lesson.md"))


def cell(notebook, key):
    return next(cell for cell in notebook["cells"] if cell["id"] == key)


def test_a_solution_in_a_function_becomes_one_line_that_raises_at_its_indentation():
    assert (
        with_stubs(EXERCISE)
        == 'def f(x):\n    if x:\n        raise NotImplementedError("your code here")\n    return 0'
    )


def test_a_cell_with_a_stub_runs_and_only_its_function_raises():
    names = {}
    exec(with_stubs(EXERCISE), names)
    with pytest.raises(NotImplementedError, match="your code here"):
        names["f"](1)


def test_a_solution_at_the_top_level_leaves_its_names_unset():
    code = "### BEGIN SOLUTION\nchoice = 'a'\na = b = 2\n### END SOLUTION\nprint(choice)"
    assert with_stubs(code).splitlines()[:3] == [f"{name} = ...  # your answer here" for name in ("choice", "a", "b")]


def test_the_solution_loses_only_its_markers():
    assert without_markers(EXERCISE) == "def f(x):\n    if x:\n        y = 2 * x\n        return y\n    return 0"


def test_the_solutions_text_is_found():
    assert solutions(EXERCISE) == ["y = 2 * x\nreturn y"]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("x = 1\n### BEGIN SOLUTION\ny = 2", 2),
        ("### END SOLUTION", 1),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION", 2),
        ("x = 1  ### BEGIN SOLUTION", 1),
        ("### BEGIN SOLUTION\nx = 1\nprint(x)\n### END SOLUTION", 3),
        ("### BEGIN SOLUTION\n### END SOLUTION", 1),
    ],
)
def test_a_region_that_cannot_be_replaced_is_refused_with_its_line(code, line):
    with pytest.raises(RegionError) as caught:
        with_stubs(code)
    assert caught.value.line == line


def test_a_bad_region_is_reported_at_its_line_in_the_source():
    broken = lesson(BODY.replace("        ### END SOLUTION\n", ""))
    with pytest.raises(SourceError) as caught:
        build_notebook(broken, "learner")
    line = (FRONT + BODY).splitlines().index("        ### BEGIN SOLUTION") + 1
    assert caught.value.line == line


def test_cell_ids_are_the_keys():
    assert [cell["id"] for cell in build_notebook(lesson(), "learner")["cells"]] == ["why", "ex1", "ex1-check"]


def test_nothing_of_the_solution_is_in_the_learners_notebook():
    text = json.dumps(build_notebook(lesson(), "learner"))
    assert "2 * x" not in text and "SOLUTION" not in text
    assert "2 * x" in json.dumps(build_notebook(lesson(), "solution"))


def test_check_cells_are_marked_as_not_to_be_edited():
    notebook = build_notebook(lesson(), "learner")
    assert cell(notebook, "ex1-check")["metadata"]["editable"] is False
    assert "editable" not in cell(notebook, "ex1")["metadata"]


def test_two_builds_are_equal_and_valid():
    first, second = build_notebook(lesson(), "learner"), build_notebook(lesson(), "learner")
    assert first == second
    nbformat.validate(nbformat.from_dict(first))


def test_writing_the_same_notebook_again_changes_nothing(tmp_path):
    path = tmp_path / "L99.ipynb"
    assert write_notebook(build_notebook(lesson(), "learner"), path)
    assert not write_notebook(build_notebook(lesson(), "learner"), path)


def test_a_built_notebook_is_replaced_when_its_source_changes(tmp_path):
    path = tmp_path / "L99.ipynb"
    write_notebook(build_notebook(lesson(), "learner"), path)
    assert write_notebook(build_notebook(lesson(BODY + '\n+++ {"key": "end"}\nEnd.\n'), "learner"), path)
    assert cell(json.loads(path.read_text(encoding="utf-8")), "end")


def test_a_notebook_that_somebody_edited_is_not_overwritten(tmp_path):
    path = tmp_path / "L99.ipynb"
    edited = build_notebook(lesson(), "learner")
    cell(edited, "ex1")["source"] = ["def f(x):\n", "    return 'my own work'"]
    path.write_text(json.dumps(edited), encoding="utf-8")
    with pytest.raises(EditedByHand):
        write_notebook(build_notebook(lesson(), "learner"), path)
    assert "my own work" in path.read_text(encoding="utf-8")
    write_notebook(build_notebook(lesson(), "learner"), path, overwrite=True)
    assert "my own work" not in path.read_text(encoding="utf-8")


def test_a_placeholder_is_filled_from_the_front_matter():
    body = '+++ {"key": "a"}\n# T\n\n{{ header }}\n\n{{ words }}\n'
    source = parse_lesson(FRONT.replace("questions: []", 'questions: ["Why?"]') + body, Path("L99_a_lesson/lesson.md"))
    text = joined(build_notebook(source, "learner")["cells"][0]["source"])
    assert "About 2 minutes" in text and "- Why?" in text and "{{" not in text


def test_an_unknown_placeholder_and_an_unknown_term_are_refused():
    with pytest.raises(SourceError, match="unknown placeholder"):
        build_notebook(lesson('+++ {"key": "a"}\n{{ nonsense }}\n'), "learner")
    source = FRONT.replace("seed: 1", "seed: 1\nterms: [graph]") + '+++ {"key": "a"}\n{{ words }}\n'
    with pytest.raises(SourceError, match="no term graph"):
        build_notebook(parse_lesson(source, Path("L99_a_lesson/lesson.md")), "learner")


def test_stream_pieces_are_joined():
    piece = {"output_type": "stream", "name": "stdout"}
    outputs = [{**piece, "text": "a\n"}, {**piece, "text": "b\n"}]
    (cleaned,) = clean_cell({"cell_type": "code", "metadata": {}, "source": "x", "outputs": outputs})["outputs"]
    assert cleaned["text"] == ["a\n", "b\n"]


def test_of_live_widgets_the_pictures_are_kept_and_the_controls_are_not():
    live = {"application/vnd.jupyter.widget-view+json": {"model_id": "random"}}
    picture, button = live | {"text/html": "<img>"}, live | {"text/plain": "Button()"}
    outputs = [{"output_type": "display_data", "data": data, "metadata": {}} for data in (button, picture)]
    (cleaned,) = clean_cell({"cell_type": "code", "metadata": {}, "source": "x", "outputs": outputs})["outputs"]
    assert cleaned["data"] == {"text/html": ["<img>"]}
