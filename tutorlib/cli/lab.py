"""`tutorlib lab`: brings the lessons to the learner's own folder and opens JupyterLab there.

How a folder is kept current is in `learner_folder`; where the lessons come from is in `lessons_dir`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import urllib.parse
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from tutorlib.cli.learner_folder import Change, update_folder
from tutorlib.cli.lessons_dir import lessons_dir
from tutorlib.messages import message

# The first of these that is there is opened: the start page, or else the lesson on shared variables.
FIRST_PAGES = ("L00_*.ipynb", "L04_*.ipynb", "*.ipynb")


def register(subparsers) -> None:
    """Add `tutorlib lab` to the command line."""
    parser = subparsers.add_parser("lab", help=message("cli.help.lab"), description=message("cli.lab.description"))
    shown_default = str(default_folder()).replace("%", "%%")
    parser.add_argument(
        "--dir", type=Path, default=default_folder(), metavar="DIR", help=message("cli.lab.dir", default=shown_default)
    )
    parser.add_argument("--no-browser", action="store_true", help=message("cli.lab.no_browser"))
    parser.set_defaults(run=run)


def default_folder() -> Path:
    """The folder of the learner's lessons: one place whatever the current directory, so that work is found again."""
    return Path.home() / "tutorlib-lessons"


def run(arguments: argparse.Namespace) -> int:
    """Copy what is new, say so, and become JupyterLab; 1 when something prevents it."""
    folder = arguments.dir.expanduser().absolute()
    try:
        lessons = lessons_dir()
    except FileNotFoundError as error:
        return _stop(str(error))
    try:
        changes = update_folder(lessons, folder)
    except OSError as error:
        return _stop(message("cli.lab.cannot_write", folder=folder, why=error.strerror or error))
    for line in report(changes, folder):
        print(line, flush=True)
    if find_spec("jupyterlab") is None:
        return _stop(message("cli.lab.no_jupyterlab", python=sys.executable))
    trust([folder / change.path for change in changes if change.path.endswith(".ipynb")])
    return _become(jupyterlab_command(folder, browser=not arguments.no_browser))


def report(changes: Iterable[Change], folder: Path) -> list[str]:
    """What the learner is told: where the lessons are, and one line for each that changed after the first copy."""
    lines = [message("cli.lab.folder", folder=folder)]
    copied = sum(change.kind == "copied" for change in changes)
    if copied:
        lines.append(message("cli.lab.copied", n=copied))
    lines += [
        message(f"cli.lab.{change.kind}", lesson=change.lesson, path=change.path)
        for change in changes
        if change.kind != "copied"
    ]
    return lines


def first_page(folder: Path) -> str | None:
    """The name of the notebook to open, or None in a folder without any."""
    return next((path.name for pattern in FIRST_PAGES for path in sorted(folder.glob(pattern))), None)


def jupyterlab_command(folder: Path, *, browser: bool = True) -> list[str]:
    """The command which serves `folder` with JupyterLab, open on the first page."""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    page = first_page(folder)
    if page:
        command.append(f"--LabApp.default_url=/lab/tree/{urllib.parse.quote(page)}")
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # The usual user inside a container; JupyterLab would refuse to start. It listens on this machine only.
        command.append("--allow-root")
    return command


def trust(notebooks: Sequence[Path]) -> None:
    """Sign freshly copied lessons as the learner's own, so that JupyterLab shows their stored output."""
    if not notebooks:
        return
    import nbformat
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for path in notebooks:
        notary.sign(nbformat.read(path, as_version=4))


def _become(command: list[str]) -> int:
    # The kernel of this environment, even where another one is registered for the whole user account.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    if os.name == "nt":
        return subprocess.call(command)
    os.execv(command[0], command)


def _stop(line: str) -> int:
    print(line, file=sys.stderr)
    return 1
