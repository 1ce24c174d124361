"""The command line as a whole: version, help, unknown words, and the table of sub-commands."""

import subprocess
import sys

import pytest

import tutorlib
from tutorlib.cli.main import COMMANDS, main
from tutorlib.messages import message


def test_version_is_the_packages(capsys):
    with pytest.raises(SystemExit) as exit:
        main(["--version"])
    assert exit.value.code == 0
    assert capsys.readouterr().out == f"tutorlib {tutorlib.__version__}\n"


def test_without_words_it_shows_the_help_and_fails(capsys):
    assert main([]) == 2
    assert message("cli.help.lab") in capsys.readouterr().out


def test_an_unknown_word_is_refused(capsys):
    with pytest.raises(SystemExit) as exit:
        main(["dance"])
    assert exit.value.code == 2
    assert "dance" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as exit:
        main([name, "--help"])
    assert exit.value.code == 0
    assert f"tutorlib {name}" in capsys.readouterr().out


def test_the_package_runs_as_a_program():
    command = [sys.executable, "-m", "tutorlib.cli", "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout == f"tutorlib {tutorlib.__version__}\n"
