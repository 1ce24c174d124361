"""The `binder` folder describes the image that the lessons need; nothing here needs docker."""

import re
import subprocess
import sys
import tomllib
import urllib.parse

import pytest
from packaging.requirements import Requirement

from tests.project import tree

BINDER = tree.ROOT / "binder"
PROJECT = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDED = [Requirement(line) for line in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["lab"]]


def lines(name: str) -> list[str]:
    text = (BINDER / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


PINS = [Requirement(line) for line in lines("requirements.txt")]


@pytest.fixture(scope="module")
def dockerfile():
    """The recipe that mybinder.org's own program makes of the folder."""
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--no-run", "--debug", str(tree.ROOT)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said.stderr[-2000:]
    return said.stdout + said.stderr


@pytest.mark.parametrize("pin", PINS, ids=str)
def test_requirement_is_one_exact_version(pin):
    (specifier,) = pin.specifier
    assert specifier.operator == "=="
    assert pin.url is None


@pytest.mark.parametrize("needed", NEEDED, ids=str)
def test_what_the_lessons_need_is_pinned_within_its_range(needed):
    (pin,) = (pin for pin in PINS if pin.name == needed.name)
    (specifier,) = pin.specifier
    assert needed.specifier.contains(specifier.version)


def test_python_is_one_that_the_project_supports():
    (line,) = lines("runtime.txt")
    assert f"Programming Language :: Python :: {line.removeprefix('python-')}" in PROJECT["classifiers"]


@pytest.mark.parametrize("name", lines("apt.txt"))
def test_system_package_has_a_valid_name(name):
    assert re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name)


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_script_parses_and_may_be_executed(name):
    subprocess.run(["bash", "-n", str(BINDER / name)], check=True)
    assert (BINDER / name).stat().st_mode & 0o111


def test_post_build_stops_at_the_first_error():
    assert lines("postBuild")[0] == "set -euo pipefail"


def test_start_hands_over_to_the_server():
    said = subprocess.run(
        [str(BINDER / "start"), "sh", "-c", 'echo "$TUTORLIB_DEVICE $OMP_NUM_THREADS $1"', "-", "a b"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "cpu 1 a b\n"


def test_recipe_uses_the_python_packages_and_scripts_of_the_folder(dockerfile):
    assert "python=3.12" in dockerfile
    assert re.search(r"apt-get install .*" + " ".join(lines("apt.txt")), dockerfile)
    assert "./binder/postBuild" in dockerfile
    assert "/binder/start" in dockerfile


def test_recipe_installs_packages_before_it_copies_the_repository(dockerfile):
    """Otherwise every change of a text would install everything anew."""
    packages = dockerfile.index('install --no-cache-dir -r "binder/requirements.txt"')
    assert packages < dockerfile.index(" src/ ${REPO_DIR}")


@pytest.mark.parametrize("page", ["README.md"])
def test_badge_opens_a_file_that_exists(page):
    text = (tree.ROOT / page).read_text(encoding="utf-8")
    addresses = re.findall(r"https://mybinder\.org/v2/[^\s)]+", text)
    assert addresses
    for address in addresses:
        (opened,) = urllib.parse.parse_qs(urllib.parse.urlparse(address).query)["urlpath"]
        assert opened.startswith("lab/tree/")
        assert (tree.ROOT / opened.removeprefix("lab/tree/")).is_file()
