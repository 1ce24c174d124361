"""The command `tutorlib progress`: what is done and what comes next; export to a file, import from one."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tutorlib.lessons.progress_report import progress
from tutorlib.lessons.progress_transfer import NoProgressFile, export_progress, import_progress
from tutorlib.messages import message


def register(subparsers: argparse._SubParsersAction) -> None:
    """Add the parser of `tutorlib progress`."""
    about = message("lessons.progress_about")
    parser = subparsers.add_parser("progress", help=message("cli.help.progress"), description=about)
    parser.add_argument("--export", type=Path, metavar="FILE", help=message("lessons.progress_export"))
    parser.add_argument("--import", type=Path, metavar="FILE", dest="source", help=message("lessons.progress_import"))
    parser.add_argument("--json", action="store_true", help=message("lessons.progress_json"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Import, then export, then report; 1 when a file cannot be read or written."""
    try:
        if arguments.source:
            said = message("lessons.progress_imported", n=import_progress(arguments.source), file=arguments.source)
            print(said, file=sys.stderr)
        if arguments.export:
            said = message("lessons.progress_exported", n=export_progress(arguments.export), file=arguments.export)
            print(said, file=sys.stderr)
    except NoProgressFile as problem:
        print(message("lessons.progress_nothing_there", file=problem), file=sys.stderr)
        return 1
    except OSError as problem:
        print(message("lessons.progress_no_access", file=problem.filename, why=problem.strerror), file=sys.stderr)
        return 1
    report = progress()
    print(json.dumps(report.as_data(), indent=1) if arguments.json else report)
    return 0
