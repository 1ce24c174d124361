"""The commands and their message table agree: no sentence is missing, none is left over."""

import re
from pathlib import Path

import tutorlib.cli
from tutorlib.cli.examinations import EXAMINATIONS
from tutorlib.cli.main import COMMANDS
from tutorlib.messages import table

SOURCES = "".join(path.read_text(encoding="utf-8") for path in Path(tutorlib.cli.__file__).parent.glob("*.py"))
MADE_FROM_PARTS = (
    {f"cli.help.{name}" for name in COMMANDS}
    | {f"cli.doctor.{id}.{part}" for id in EXAMINATIONS for part in ("name", "costs")}
    | {f"cli.doctor.mark_{mark}" for mark in ("ok", "missing", "broken")}
    | {f"cli.doctor.{verdict}" for verdict in ("all_well", "usable", "broken")}
    | {"cli.lab.refreshed", "cli.lab.beside"}
)


def test_every_sentence_that_a_command_asks_for_is_there_and_no_other():
    literal = set(re.findall(r'message\(\s*"(cli\.[\w.]+)"', SOURCES))
    assert literal | MADE_FROM_PARTS == set(table("cli"))
