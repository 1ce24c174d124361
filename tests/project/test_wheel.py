"""The wheel holds all that a learner needs and works on its own; the sdist builds the same wheel."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.project import tree

LOAD = """
import json
import tutorlib
from tutorlib.cli.lessons_dir import lessons_dir
from tutorlib.messages import message
print(json.dumps({
    "file": tutorlib.__file__, "version": tutorlib.__version__, "said": message("cli.help.lab"),
    "lessons": [str(path) for path in lessons_dir("en").glob("*.ipynb")],
}))
"""


def build(kind: str, source: Path, out: Path) -> Path:
    """Build a "wheel" or an "sdist" as an installer would, from a copy of the tree."""
    out.mkdir()
    code = f"from hatchling.build import build_{kind} as build; print(build({str(out)!r}))"
    said = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said.stderr
    return out / said.stdout.split()[-1]


def names_in(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return tree.copy_to(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    return build("wheel", source, tmp_path_factory.mktemp("built") / "wheel")


def packaged(source: Path, pattern: str) -> set[str]:
    return {path.relative_to(source).as_posix() for path in (source / "tutorlib").glob(pattern)}


@pytest.mark.parametrize("pattern", ["py.typed", "locale/**/*.json", "lessons/pages/*.*", "viz/static/*.js", "**/*.py"])
def test_wheel_holds_every(pattern, source, wheel):
    wanted = packaged(source, pattern)
    assert wanted
    assert wanted <= names_in(wheel)


def test_wheel_holds_the_built_lessons(source, wheel):
    wanted = {f"tutorlib/_notebooks/en/{path.name}" for path in (source / "notebooks" / "en").glob("*.ipynb")}
    assert wanted
    assert wanted <= names_in(wheel)


def test_wheel_holds_no_tests_sources_of_lessons_or_solutions(wheel):
    tops = {name.split("/")[0] for name in names_in(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tutorlib"}
    assert not [name for name in names_in(wheel) if "solution" in name.lower() and name.endswith(".ipynb")]
    assert not [name for name in names_in(wheel) if name.startswith("tutorlib/viz/js/")]


def test_wheel_needs_numpy_alone(wheel):
    (name,) = (name for name in names_in(wheel) if name.endswith(".dist-info/METADATA"))
    metadata = zipfile.ZipFile(wheel).read(name).decode()
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert required == ["Requires-Dist: numpy>=2"]


def test_installed_wheel_works_without_the_checkout(wheel, tmp_path):
    target = tmp_path / "site"
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True, timeout=120)
    environment = {**os.environ, "PYTHONPATH": str(target)}
    said = subprocess.run(
        [sys.executable, "-c", LOAD], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(said.stdout)
    assert Path(found["file"]).is_relative_to(target)
    assert found["said"]
    assert found["lessons"] and all(Path(path).is_relative_to(target) for path in found["lessons"])
    assert f"tutorlib-{found['version']}-py3-none-any.whl" == wheel.name


def test_sdist_builds_the_same_wheel(source, wheel, tmp_path):
    sdist = build("sdist", source, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert names_in(build("wheel", unpacked, tmp_path / "wheel")) == names_in(wheel)
    assert (unpacked / "tests").is_dir()
    assert not (unpacked / ".venv").exists()
