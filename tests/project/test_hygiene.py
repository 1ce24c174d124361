"""What a repository of lessons must not hold: saved widgets, huge outputs, overlong files, paths of one machine."""

import json
import re

import pytest

from tests.project.tree import ROOT, files

NOTEBOOKS = [str(name) for name in files() if name.suffix == ".ipynb"]
SOURCES = [
    str(name)
    for name in files()
    if name.suffix in {".py", ".js", ".mjs", ".css"} and not str(name).startswith("tutorlib/viz/static")
]
TEXT_SUFFIXES = {".py", ".js", ".mjs", ".css", ".md", ".toml", ".json", ".ipynb", ".cfg", ".txt", ".yml", ".yaml", ""}
LARGEST_OUTPUT = 200_000
LONGEST_FILE = 400
MACHINE_PATH = re.compile(r"(/home/|/Users/|C:\\+Users\\+)[\w.-]+|(?<![\w.])/(root|work)/\w")


def notebook(name: str) -> dict:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def outputs(name: str) -> list[dict]:
    return [output for cell in notebook(name)["cells"] for output in cell.get("outputs", [])]


def test_there_are_sources_to_look_at():
    assert "start.py" in SOURCES


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_holds_no_widget_state(name):
    assert "widgets" not in notebook(name)["metadata"]
    assert not any("widget-view+json" in mime for output in outputs(name) for mime in output.get("data", {}))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_holds_no_huge_output(name):
    sizes = [len(json.dumps(output)) for output in outputs(name)]
    assert max(sizes, default=0) <= LARGEST_OUTPUT


def test_no_source_file_is_overlong():
    lengths = {name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in SOURCES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_file_names_a_path_of_one_machine():
    found = {}
    for name in files():
        if name.suffix in TEXT_SUFFIXES:
            match = MACHINE_PATH.search((ROOT / name).read_text(encoding="utf-8"))
            if match:
                found[str(name)] = match.group()
    assert found == {}
