"""Make or reuse `.venv`, install what is needed into it, and start: needs only Python 3.11+ with its venv module.

    python3 start.py lab     opens JupyterLab on the lessons
    python3 start.py test    runs all tests

Whatever follows goes to `tutorlib lab` or to pytest. Every command is printed before it runs. When nothing has changed
since the last time nothing is installed, so a second start is quick and works without a network.
Only getting started lives here; this file imports nothing from the package and parses on old Pythons, to say so there.
"""

import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
COMMANDS = {"lab": ["-m", "tutorlib.cli", "lab"], "test": ["-m", "pytest"]}
# The test extra holds the lab extra, so whoever ran the tests can open the lessons at once.
SERVED_BY = {"lab": ("lab", "test"), "test": ("test",)}
QUIET_PIP = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def main(arguments):
    """Run the command that the first argument names; return its exit status."""
    if sys.version_info < (3, 11):  # noqa: UP036  (an older Python may well run this file)
        return stop("tutorlib needs Python 3.11 or newer; this is Python " + sys.version.split()[0])
    if not arguments or arguments[0] not in COMMANDS:
        return stop("Say what to start: python3 start.py lab, or: python3 start.py test")
    os.environ.update(QUIET_PIP)
    name, rest = arguments[0], arguments[1:]
    try:
        make_environment()
        install(name)
    except subprocess.CalledProcessError as failed:
        return stop("That command failed (its own words are above). Mend it and run this again.", failed.returncode)
    if name == "test":
        os.chdir(ROOT)
    return hand_over([str(PYTHON), *COMMANDS[name], *rest])


def make_environment():
    """Create `.venv` unless it works; nothing in an existing one is deleted."""
    if not VENV.exists():
        say("Making an environment of its own in .venv (once)")
        run([sys.executable, "-m", "venv", str(VENV)])
        # The pip that comes with Python is often years old and takes twice as long; the old one will do, though.
        run([str(PYTHON), "-m", "pip", "install", "--quiet", "--upgrade", "pip"], check=False)
    elif not works("import sys; sys.exit(sys.version_info < (3, 11))"):
        sys.exit(stop("The folder .venv holds no working Python 3.11+. Remove it and run this again."))
    elif not works("import pip"):
        run([str(PYTHON), "-m", "ensurepip", "--default-pip"])


def install(name):
    """Install the package, editable, with the extra `name`, unless exactly that was done before."""
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + str(ROOT).encode()).hexdigest()
    if any(stamp.exists() and stamp.read_text() == wanted for stamp in map(stamp_of, SERVED_BY[name])):
        return
    say("Installing what is needed into .venv (a minute or two, once)")
    run([str(PYTHON), "-m", "pip", "install", "--quiet", "--editable", f".[{name}]"])
    stamp_of(name).write_text(wanted)


def stamp_of(name):
    """The file which records what was installed for `name`."""
    return VENV / f"tutorlib-{name}.stamp"


def works(code):
    """Whether the environment's Python runs `code` without an error."""
    try:
        return subprocess.run([str(PYTHON), "-c", code], stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def hand_over(command):
    """Become `command`, so that Ctrl-C and the exit status are its own."""
    show(command)
    if os.name == "nt":
        return subprocess.call(command)
    os.execv(command[0], command)


def run(command, check=True):
    show(command)
    subprocess.run(command, cwd=ROOT, check=check)


def show(command):
    print("+ " + shlex.join(command), flush=True)


def say(line):
    print(line, flush=True)


def stop(line, status=2):
    print(line, file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
