"""``mode="c"`` computes the right values whatever state the compiler and its cache are in."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile import c_compiler

WORKS = c_compiler.compiler() is not None
needs_compiler = pytest.mark.skipif(not WORKS, reason="no C compiler on this machine")


def values(constant):
    """A function whose C text is its own, on three numbers."""
    x = tl.vector("x")
    f = tl.function([x], tl.exp(x) * 2 + constant, mode="c")
    return f(np.arange(3.0)), f


def assert_right(got, constant):
    np.testing.assert_allclose(got, np.exp(np.arange(3.0)) * 2 + constant, rtol=1e-14)


BROKEN = {
    "says no": "#!/bin/sh\nexit 1\n",
    "is no program": "neither a script nor a binary",
    "makes nothing": "#!/bin/sh\nexit 0\n",
    "never answers": "#!/bin/sh\nexec sleep 60\n",
}


@pytest.mark.skipif(os.name != "posix", reason="programs are scripts of the shell here")
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_compiler_is_none(kind, tmp_path, monkeypatch):
    program = tmp_path / "compiler"
    program.write_text(BROKEN[kind])
    program.chmod(0o755)
    monkeypatch.setenv("CC", str(program))
    monkeypatch.setattr(c_compiler, "_PATIENCE", 0.2 if kind == "never answers" else 60)
    with pytest.warns(UserWarning, match="no C compiler"):
        got, f = values(0.25)
    assert_right(got, 0.25)
    assert f.c_source == ""


@needs_compiler
@pytest.mark.skipif(os.name != "posix", reason="programs are scripts of the shell here")
def test_a_compiler_that_breaks_later_costs_a_warning(tmp_path, monkeypatch):
    """It makes the first library, when it is looked for, and nothing after it."""
    real, used, program = c_compiler.compiler().command[0], tmp_path / "used", tmp_path / "compiler"
    program.write_text(
        f'#!/bin/sh\ncase "$1" in --version) exec {real} --version;; esac\n'
        f'if [ -e {used} ]; then exit 0; fi\ntouch {used}\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("CC", str(program))
    monkeypatch.setenv("TUTORLIB_CACHE", str(tmp_path / "cache"))
    with pytest.warns(UserWarning, match="NumPy computes everything"):
        got, _ = values(0.5)
    assert_right(got, 0.5)


@needs_compiler
def test_a_cache_that_cannot_be_made_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TUTORLIB_CACHE", str(tmp_path / "file" / "below"))
    got, f = values(0.75)
    assert_right(got, 0.75)
    assert f.c_source and [p.name for p in tmp_path.iterdir()] == ["file"]


CODE = (
    "import numpy as np, tutorlib as tl\n"
    "x = tl.vector('x')\n"
    "for k in range(2):\n"
    "    f = tl.function([x], tl.exp(x) * 2 + k, mode='c')\n"
    "    print(f(np.zeros(3)).tolist(), 'tl_part' in f.c_source)\n"
)
SAID = [f"[{2.0 + k}, {2.0 + k}, {2.0 + k}] True" for k in range(2)]


def another_process(folder):
    environment = os.environ | {"TUTORLIB_CACHE": str(folder)}
    return subprocess.Popen([sys.executable, "-c", CODE], env=environment, stdout=subprocess.PIPE, text=True)


@needs_compiler
def test_processes_that_fill_the_cache_at_once_all_get_their_values(tmp_path):
    started = [another_process(tmp_path) for _ in range(2)]
    assert [process.communicate()[0].splitlines() for process in started] == [SAID] * 2
    assert sorted(p.suffix for p in (tmp_path / "c").iterdir()) == [".so"] * 2


@needs_compiler
def test_a_library_that_cannot_be_read_is_compiled_again(tmp_path):
    for _ in range(2):
        assert another_process(tmp_path).communicate()[0].splitlines() == SAID
        kept = list((tmp_path / "c").glob("*.so"))
        assert len(kept) == 2 and all(file.stat().st_size > 1000 for file in kept)
        for file in kept:
            file.write_bytes(b"not a library")
