"""`tutorlib doctor` tells what works, what is missing, what that costs, and how to mend it."""

import json
import subprocess
import sys
from importlib import metadata

import pytest

from tutorlib.cli import examinations
from tutorlib.cli.examinations import EXAMINATIONS, Finding, examine
from tutorlib.cli.main import main
from tutorlib.messages import message

WORKS = Finding("dot", True, "version 9")
MISSING = Finding("dot", False, "not found", "apt-get install graphviz")
BROKEN = Finding("numpy", False, "1.26", "pip install numpy", essential=True)


@pytest.fixture
def found(monkeypatch):
    """Makes the examinations find what a test wants."""

    def pretend(*findings):
        monkeypatch.setattr(examinations, "EXAMINATIONS", {f.id: lambda f=f: f for f in findings})

    return pretend


@pytest.fixture
def absent(monkeypatch):
    """Makes a package, or a program, look as if it were not installed."""

    def hide(*names):
        version, which = metadata.version, examinations.shutil.which

        def version_unless_hidden(name):
            if name in names:
                raise metadata.PackageNotFoundError(name)
            return version(name)

        monkeypatch.setattr(metadata, "version", version_unless_hidden)
        monkeypatch.setattr(examinations.shutil, "which", lambda name: None if name in names else which(name))

    return hide


def test_all_well(found, capsys):
    found(WORKS)
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["ok       Graphviz (dot): version 9", "Everything works."]


def test_something_missing_is_no_failure_and_says_what_it_costs_and_how_to_mend_it(found, capsys):
    found(MISSING)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "missing  Graphviz (dot): not found",
        "         without it: " + message("cli.doctor.dot.costs"),
        "         to mend it: apt-get install graphviz",
        "The lessons work; what is missing above is optional.",
    ]


def test_something_essential_broken_is_a_failure(found, capsys):
    found(WORKS, BROKEN)
    assert main(["doctor"]) == 1
    assert "BROKEN   NumPy: 1.26" in capsys.readouterr().out


def test_json_says_the_same_to_programs(found, capsys):
    found(WORKS, BROKEN)
    assert main(["doctor", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["healthy"] is False
    assert [(f["id"], f["works"], f["essential"]) for f in record["findings"]] == [
        ("dot", True, False),
        ("numpy", False, True),
    ]
    assert record["findings"][1]["mend"] == "pip install numpy"


def test_an_examination_that_fails_is_a_finding(monkeypatch):
    def crash():
        raise RuntimeError("driver\nlost")

    monkeypatch.setattr(examinations, "EXAMINATIONS", {"gpu": crash})
    (finding,) = examine()
    assert (finding.works, finding.found) == (False, "RuntimeError: driver lost")


@pytest.mark.parametrize("id", EXAMINATIONS)
def test_every_examination_has_a_name_and_a_cost_and_finds_something(id):
    finding = EXAMINATIONS[id]()
    assert finding.id == id
    assert finding.found and finding.name and finding.costs
    assert finding.works or finding.mend


def test_this_python_and_its_numpy_work():
    findings = {finding.id: finding for finding in examine()}
    assert findings["python"].works and sys.executable in findings["python"].found
    assert findings["numpy"].works and "BLAS" in findings["numpy"].found


@pytest.mark.parametrize(
    ("id", "package"), [("jupyterlab", "jupyterlab"), ("widgets", "anywidget"), ("plots", "matplotlib")]
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(absent, id, package):
    absent(package)
    finding = EXAMINATIONS[id]()
    assert not finding.works
    assert package in finding.found
    assert "[lab]" in finding.mend


def test_widgets_without_their_javascript_do_not_work(monkeypatch, tmp_path):
    monkeypatch.setattr(examinations, "PACKAGE", tmp_path)
    assert not examinations.widgets().works


def test_missing_dot_is_mended_by_one_command(absent):
    absent("dot")
    finding = examinations.dot()
    assert not finding.works
    assert "install" in finding.mend


@pytest.mark.parametrize(("platform", "command"), [("win32", "winget install"), ("darwin", "brew install")])
def test_the_command_fits_the_system(absent, monkeypatch, platform, command):
    absent("dot")
    monkeypatch.setattr(sys, "platform", platform)
    assert examinations.dot().mend.startswith(command)


def test_without_a_card_nothing_needs_mending(absent):
    absent("nvidia-smi", "cupy", "cupy-cuda12x", "cupy-cuda13x")
    assert examinations.gpu().mend == message("cli.doctor.gpu.no_need")


def test_a_card_without_cupy_is_mended_by_the_gpu_extra(absent, monkeypatch):
    absent("cupy", "cupy-cuda12x", "cupy-cuda13x")
    monkeypatch.setattr(examinations, "_graphics_card", lambda: "Tesla")
    finding = examinations.gpu()
    assert "Tesla" in finding.found and "[gpu]" in finding.mend


def test_a_matplotlib_that_does_not_shape_is_told(monkeypatch):
    from matplotlib import ft2font

    monkeypatch.setattr(examinations, "_bengali_font", lambda: "Mukti")
    monkeypatch.delattr(ft2font, "__libraqm_version__")
    finding = examinations.fonts()
    assert not finding.works
    assert "matplotlib>=3.11" in finding.mend


def test_a_place_that_cannot_be_written_to_is_told(monkeypatch, tmp_path):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(examinations, "default_folder", lambda: tmp_path / "lessons")
    monkeypatch.setattr(examinations.tempfile, "TemporaryFile", refuse)
    finding = examinations.write_access()
    assert not finding.works
    assert "--dir" in finding.mend


def test_it_works_without_the_lab_extra():
    """Everything but NumPy is hidden from the import system; the report still comes, and says so."""
    code = (
        "import sys, importlib.metadata as metadata\n"
        "for name in ('matplotlib', 'ipywidgets', 'anywidget', 'jupyterlab', 'IPython', 'nbformat', 'graphviz'):\n"
        "    sys.modules[name] = None\n"
        "def absent(name): raise metadata.PackageNotFoundError(name)\n"
        "metadata.version = absent\n"
        "from tutorlib.cli.main import main\n"
        "main(['doctor'])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said.stderr
    assert "jupyterlab" in said.stdout
