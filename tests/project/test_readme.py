"""What the README says is so: its two commands, run in a copy of the tree; its examples; its links."""

import html
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from tests.project import tree

README = (tree.ROOT / "README.md").read_text(encoding="utf-8")
PATIENCE = 540
# Stands in for the learner's web browser: notes what it is told to open.
BROWSER = '#!/bin/sh\nprintf "%s" "$1" > "$OPENED.part" && mv "$OPENED.part" "$OPENED"\n'

on_posix = pytest.mark.skipif(os.name == "nt", reason="the README's commands are written for a POSIX shell")


class FreshClone:
    """A copy of the tree with a home folder of its own, in which the README's commands run as a person runs them."""

    def __init__(self, folder: Path):
        self.root = tree.copy_to(folder / "clone")
        self.home = folder / "home"
        self.opened = folder / "opened"
        programs = folder / "bin"
        self.home.mkdir()
        programs.mkdir()
        # `python3` is the Python that these tests run on, outside its environment.
        (programs / "python3").symlink_to(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
        (programs / "browser").write_text(BROWSER)
        (programs / "browser").chmod(0o755)
        cache = [sys.executable, "-m", "pip", "cache", "dir"]
        cached = subprocess.run(cache, capture_output=True, text=True, check=False).stdout.strip()
        ours = ("PYTEST", "TUTORLIB_", "JUPYTER", "VIRTUAL_ENV", "PYTHON", "MPLBACKEND", "CI", "COV")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "BROWSER": str(programs / "browser"),
            "OPENED": str(self.opened),
            "PIP_CACHE_DIR": cached or str(folder / "cache"),
            # Compiling every file of every package takes longer than installing it.
            "PIP_NO_COMPILE": "1",
        }

    def start(self, command: str, **environment: str) -> subprocess.Popen:
        """Start a command line in the clone, in a process group of its own, its words going to `output`."""
        self.output = self.root.parent / "output"
        with self.output.open("w") as file:
            return subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.root,
                env=self.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def run(self, command: str, **environment: str) -> tuple[int, str]:
        """Run a command line to its end; return its exit status and what it said."""
        process = self.start(command, **environment)
        try:
            process.wait(PATIENCE)
        finally:
            stop(process)
        return process.returncode, self.output.read_text()


def stop(process: subprocess.Popen) -> None:
    """End what a command line started, whatever has become of it."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
            process.wait(20)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def address_opened_by(process: subprocess.Popen, clone: FreshClone) -> str:
    """The address that JupyterLab asks the web browser to open, once it does."""
    deadline = time.monotonic() + PATIENCE
    while not clone.opened.exists():
        assert process.poll() is None and time.monotonic() < deadline, clone.output.read_text()[-3000:]
        time.sleep(0.2)
    page = Path(urllib.parse.unquote(clone.opened.read_text().removeprefix("file://")))
    return html.unescape(re.search(r'http://[^"]+', page.read_text()).group())


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    clone = FreshClone(tmp_path_factory.mktemp("fresh"))
    yield clone
    # More than a gigabyte of packages.
    shutil.rmtree(clone.root / ".venv", ignore_errors=True)


@on_posix
@pytest.mark.slow
@pytest.mark.timeout(2 * PATIENCE)
def test_first_command_opens_jupyterlab_on_the_lesson(clone):
    process = clone.start(tree.readme_command("lab"))
    try:
        address = address_opened_by(process, clone)
        server, token = address.split("/lab")[0], address.split("token=")[1]
        shown = urllib.parse.unquote(urllib.parse.urlparse(address).path)
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{server}/api/contents?token={token}", timeout=60) as answer:
            served = {entry["name"] for entry in json.load(answer)["content"]}
    finally:
        stop(process)
    lessons = {path.name for path in (tree.ROOT / "notebooks" / "en").glob("*.ipynb")}
    assert lessons and lessons <= served
    assert re.fullmatch(r"/lab/tree/(L00|L04)_\w+\.ipynb", shown)
    assert lessons <= {path.name for path in (clone.home / "tutorlib-lessons").iterdir()}


@on_posix
@pytest.mark.slow
@pytest.mark.timeout(2 * PATIENCE)
def test_second_command_installs_what_tests_need_and_runs_them(clone):
    # One small file instead of everything: this very test would otherwise start itself for ever.
    status, said = clone.run(tree.readme_command("test"), PYTEST_ADDOPTS="tests/cli/test_learner_folder.py -n0")
    assert status == 0, said[-3000:]
    assert re.search(r"\d+ passed", said.splitlines()[-1])


@on_posix
@pytest.mark.slow
def test_a_second_run_installs_nothing_and_takes_no_network(clone):
    small = "tests/cli/test_learner_folder.py -n0"
    status, said = clone.run(tree.readme_command("test"), PYTEST_ADDOPTS=small, PIP_NO_INDEX="1")
    assert status == 0, said[-3000:]
    assert "pip install" not in said


def python_examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, re.S)


def test_readme_shows_both_modes():
    assert len(python_examples()) == 2


@pytest.mark.parametrize("example", python_examples())
def test_readme_example_prints_what_it_says(example):
    comments = re.findall(r"^print.*# (.*)$", example, re.M)
    said = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == [comment.split(",")[0] for comment in comments]


@pytest.mark.parametrize("page", [str(name) for name in tree.files() if name.suffix == ".md" and len(name.parts) <= 2])
def test_links_to_files_lead_somewhere(page):
    text = (tree.ROOT / page).read_text(encoding="utf-8")
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    assert [target for target in targets if target and not (tree.ROOT / page).parent.joinpath(target).exists()] == []


def test_install_page_types_out_what_start_does():
    page = (tree.ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    start = (tree.ROOT / "start.py").read_text(encoding="utf-8")
    for words in ("-m venv", '--editable ".[lab]"', "-m tutorlib.cli lab"):
        assert words in page
    assert all(f'"{word}"' in start for word in shlex.split("-m venv --editable tutorlib.cli lab"))
