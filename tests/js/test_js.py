"""Runs the tests of the widgets' JavaScript with node, and checks that the committed builds belong to their sources."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.js.npm_tools import node_modules  # noqa: F401 - a fixture

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCES = ROOT / "tutorlib" / "viz" / "js"
BUILT = ROOT / "tutorlib" / "viz" / "static"
WIDGETS = ("compare_view.js", "gradient_view.js", "graph_view.js", "shared_view.js")
NO_NODE = "NO NODE: the JavaScript of the widgets was not tested. Install Node.js 20 or newer."
MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def node() -> str:
    """The path of node; without one the test is skipped, under `CI` it fails."""
    path = shutil.which("node")
    if path is None and os.environ.get("CI"):
        pytest.fail(NO_NODE, pytrace=False)
    if path is None:
        pytest.skip(NO_NODE)
    return path


def _run(*command: object, **more) -> str:
    words = [str(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False, **more)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def test_the_pure_parts_pass_their_own_tests(node):
    files = sorted(HERE.glob("*.test.mjs"))
    report = _run(node, "--test", "--test-reporter=tap", *files)
    passed = re.search(r"^# pass (\d+)", report, re.MULTILINE)
    assert passed and int(passed[1]) >= len(files)


def test_numbers_read_as_python_writes_them(node):
    rng = random.Random(7)
    numbers = [rng.uniform(-1, 1) * 10 ** rng.randint(-8, 8) for _ in range(300)]
    numbers += [1.0625, 1234.5, 1235.5, 9999.5, 99995.0, 1e22, 5e-324, -0.5, 0.0001]
    script = f"import {{ short }} from {json.dumps((SOURCES / 'numbers.js').as_uri())};"
    script += f"console.log(JSON.stringify({json.dumps(numbers)}.map((x) => short(x))));"
    assert json.loads(_run(node, "--input-type=module", "-e", script)) == [f"{x:.4g}" for x in numbers]


@pytest.mark.parametrize("widget", WIDGETS)
def test_the_built_file_belongs_to_its_sources(widget):
    digest = hashlib.sha256()
    for path in sorted([*SOURCES.glob("*.js"), *SOURCES.glob("*.css")], key=lambda path: path.name):
        digest.update(path.name.encode() + b"\n" + path.read_bytes() + b"\n")
    first_line = (BUILT / widget).read_text(encoding="utf-8").split("\n", 1)[0]
    assert f"sources {digest.hexdigest()[:16]} " in first_line, f"{widget} is stale: run `npm run build` beside it"


@pytest.mark.parametrize("widget", WIDGETS)
def test_the_built_file_is_small_and_needs_nothing_from_elsewhere(widget):
    text = (BUILT / widget).read_text(encoding="utf-8")
    assert len(text.encode()) <= MOST_BYTES
    addresses = set(re.findall(r"https?://[^\"'`\s)]+", text))
    assert addresses <= {
        "http://www.w3.org/1999/xhtml",
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1998/Math/MathML",
    }
    assert "export{" in text or "export default" in text


def test_names_that_the_build_shortens_mean_nothing_outside():
    """None is a key of the data, a field of a message, a trait, or the name of an icon."""
    found = re.search(r"const OWN = `([^`]*)`", (SOURCES / "build.mjs").read_text(encoding="utf-8"))
    own = set(found[1].split()) if found else set()
    assert len(own) > 20
    schema = (SOURCES.parent / "spec.schema.json").read_text(encoding="utf-8")
    messages = (SOURCES.parents[1] / "locale" / "en" / "widgets.json").read_text(encoding="utf-8")
    views = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.parent.glob("*_view.py"))
    taken = set(re.findall(r'"(\w+)":', schema)) | set(re.findall(r"\{(\w+)\}", messages))
    taken |= set(re.findall(r"^    (\w+) = trait", views, re.MULTILINE))
    for icons in ("icons.js", "more_icons.js"):
        taken |= set(re.findall(r"^  (\w+):", (SOURCES / icons).read_text(encoding="utf-8"), re.MULTILINE))
    assert own & taken == set()


@pytest.mark.parametrize("widget", WIDGETS)
def test_a_fresh_build_equals_the_committed_one(widget, node_modules, node, tmp_path):
    work = tmp_path / "js"
    shutil.copytree(SOURCES, work, ignore=shutil.ignore_patterns("node_modules"))
    (work / "node_modules").symlink_to(node_modules)
    _run(node, "build.mjs", tmp_path / "built", cwd=work)
    assert (tmp_path / "built" / widget).read_bytes() == (BUILT / widget).read_bytes()
