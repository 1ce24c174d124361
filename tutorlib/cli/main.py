"""Reads the command line and hands it to one sub-command. What a sub-command does lives in its own module.

To add one: a line in `COMMANDS`, a message `cli.help.NAME`, and a module with `register(subparsers)` which adds a
parser named NAME and sets its default `run` to a function from the parsed arguments to an exit status.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

import tutorlib
from tutorlib.messages import message

# Only the named module is imported, so that a quick command stays quick and needs nothing that another one needs.
COMMANDS = {
    "lab": "tutorlib.cli.lab",
    "doctor": "tutorlib.cli.doctor",
    "lessons": "tutorlib.lessons.cli",
    "grade": "tutorlib.lessons.grading.cli",
    "progress": "tutorlib.lessons.progress_cli",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `tutorlib` command.

    Args:
        argv: the words after `tutorlib`; those of the process when None.

    Returns:
        The exit status: 0 when all went well, 2 when the command line makes no sense.

    Raises:
        SystemExit: for `--help`, `--version` and an unknown command, as argparse does.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="tutorlib", description=message("cli.description"))
    parser.add_argument("--version", action="version", version=f"tutorlib {tutorlib.__version__}")
    subparsers = parser.add_subparsers(metavar=message("cli.command"), title=message("cli.commands"))
    for name, module in COMMANDS.items():
        if name in words[:1]:
            import_module(module).register(subparsers)
        else:
            subparsers.add_parser(name, help=message(f"cli.help.{name}"))
    arguments = parser.parse_args(words)
    if not hasattr(arguments, "run"):
        parser.print_help()
        return 2
    return arguments.run(arguments)
