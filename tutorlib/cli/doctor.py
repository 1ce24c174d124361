"""`tutorlib doctor`: prints what works on this machine, what is missing, what that costs, and how to mend it.

The examinations themselves are in `examinations`.
"""

from __future__ import annotations

import argparse
import json

import tutorlib
from tutorlib.cli.examinations import Finding, examine
from tutorlib.messages import message


def register(subparsers) -> None:
    """Add `tutorlib doctor` to the command line."""
    parser = subparsers.add_parser(
        "doctor", help=message("cli.help.doctor"), description=message("cli.doctor.description")
    )
    parser.add_argument("--json", action="store_true", help=message("cli.doctor.json"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Examine everything and print it; 1 when something essential is broken, else 0."""
    findings = examine()
    healthy = not any(finding.essential and not finding.works for finding in findings)
    if arguments.json:
        record = {"tutorlib": tutorlib.__version__, "healthy": healthy, "findings": [f.as_dict() for f in findings]}
        print(json.dumps(record, ensure_ascii=False, indent=2))
    else:
        print("\n".join(report(findings)))
    return 0 if healthy else 1


def report(findings: list[Finding]) -> list[str]:
    """The findings as lines of text: one for what works, three for what does not, and a sum of it all."""
    lines = [f"tutorlib {tutorlib.__version__}"]
    broken = 0
    for finding in findings:
        mark = "ok" if finding.works else "broken" if finding.essential else "missing"
        lines.append(f"{message('cli.doctor.mark_' + mark):<8} {finding.name}: {finding.found}")
        if not finding.works:
            broken += finding.essential
            lines.append(" " * 9 + message("cli.doctor.costs", costs=finding.costs))
            lines.append(" " * 9 + message("cli.doctor.mend", mend=finding.mend))
    verdict = "broken" if broken else "all_well" if all(finding.works for finding in findings) else "usable"
    lines.append(message(f"cli.doctor.{verdict}"))
    return lines
