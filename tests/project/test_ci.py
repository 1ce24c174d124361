"""`.ci/run` installs the system packages that are missing and no others, then runs the README's test command."""

import os
import shutil
import subprocess

import pytest

from tests.project.tree import ROOT, readme_command

PROGRAMS = ("git", "dot", "chromium", "node", "npm", "fc-list", "python3", "apt-get")
# Each says what it was asked; fc-list and the probing python3 thereby answer yes.
STUB = '#!/bin/sh\n[ "$1" = -c ] || echo "$(basename "$0") $*" | tee -a "$SAID"\n'

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a script for Debian")


@pytest.fixture
def run_ci(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "sed", "dirname", "basename", "tee", "timeout"):
        (programs / name).symlink_to(shutil.which(name))

    def run(without=()):
        for name in set(PROGRAMS) - set(without):
            (programs / name).write_text(STUB)
            (programs / name).chmod(0o755)
        said = tmp_path / "said"
        environment = {"PATH": str(programs), "SAID": str(said)}
        command = [str(programs / "bash"), str(ROOT / ".ci" / "run")]
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60)
        return [line for line in said.read_text().splitlines() if not line.startswith("fc-list")]

    return run


def test_nothing_is_installed_where_everything_is_there(run_ci):
    assert run_ci() == [readme_command("test")]


@pytest.mark.parametrize(
    ("program", "package"),
    [("chromium", "chromium"), ("dot", "graphviz"), ("node", "nodejs"), ("npm", "npm"), ("fc-list", "fonts-noto-core")],
)
def test_a_missing_program_brings_its_package(run_ci, program, package):
    lines = run_ci(without=[program])
    (install,) = (line for line in lines if line.startswith("apt-get install"))
    assert package in install.split()
    assert lines[-1] == readme_command("test")
