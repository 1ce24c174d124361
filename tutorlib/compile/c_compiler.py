"""The machine's C compiler, if there is one: C text to a loaded library, kept on disk from one run to the next.

Knows nothing of graphs. What is compiled is made by ``c_program``.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tutorlib.core.errors import TutorlibError

# No -ffast-math: NaN, infinities and signed zeros mean here what they mean in NumPy. What is left out instead changes
# no value: errno, floating-point traps. Products are not fused with sums, which would round otherwise than NumPy does.
_ALWAYS = ("-shared", "-fPIC", "-std=gnu11", "-w", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
# Conditions stay where they are written: moved together they could not become vector instructions so well.
_FAST = (
    "-O3",
    "-march=native",
    "-fopenmp-simd",
    "-fno-thread-jumps",
    *(("-Wl,-Bsymbolic",) if sys.platform == "linux" else ()),
)
# The vector versions of exp, tanh and so on, where the C library has them.
_LIBRARIES = (("-lmvec", "-lm"), ("-lm",))
_KEPT_FILES = 256
_PATIENCE = 120

_PREAMBLE = """\
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <features.h>
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define VECTOR(name) extern __attribute__((simd("notinbranch"), const)) double name(double); \\
  extern __attribute__((simd("notinbranch"), const)) float name##f(float);
VECTOR(sin) VECTOR(cos) VECTOR(tan) VECTOR(asin) VECTOR(acos) VECTOR(atan) VECTOR(sinh) VECTOR(cosh) VECTOR(tanh)
VECTOR(exp) VECTOR(expm1) VECTOR(log) VECTOR(log1p) VECTOR(log2) VECTOR(log10) VECTOR(erf) VECTOR(erfc)
#endif
#endif
#endif
#include <math.h>
"""


class CompileError(TutorlibError):
    """The compiler refused generated text: what it said is in the message."""


@dataclass(frozen=True)
class Compiler:
    """A compiler that made a working library: its ``command`` with flags, and ``version``."""

    command: tuple[str, ...]
    libraries: tuple[str, ...]
    version: str


@functools.lru_cache(maxsize=8)
def _found(names: tuple[str, ...], path: str) -> Compiler | None:
    for name in names:
        program = shutil.which(name, path=path)
        if program is None:
            continue
        try:
            said = subprocess.run(
                [program, "--version"], capture_output=True, text=True, check=False, timeout=_PATIENCE
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            continue
        version = said.stdout.partition("\n")[0]
        for fast in (_FAST, ("-O2",)):
            for libraries in _LIBRARIES:
                tried = Compiler((program, *_ALWAYS, *fast), libraries, version)
                with contextlib.suppress(OSError, CompileError), tempfile.TemporaryDirectory() as folder:
                    probe = Path(folder) / "probe.so"
                    _compile(tried, "double tl_probe(double x) { return exp(x); }", probe)
                    if probe.stat().st_size:
                        return tried
    return None


def compiler() -> Compiler | None:
    """The compiler named by the environment variable CC, else the system's; None where none works.

    Looked for once; CC="" says that none is to be used.
    """
    chosen = os.environ.get("CC")
    names = (chosen,) if chosen is not None else ("cc", "gcc", "clang")
    return _found(tuple(n for n in names if n), os.environ.get("PATH", os.defpath))


def cache_folder() -> Path:
    """Where libraries are kept: TUTORLIB_CACHE, or the user's cache folder of the system."""
    chosen = os.environ.get("TUTORLIB_CACHE")
    if chosen:
        return Path(chosen).expanduser() / "c"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tutorlib" / "c"


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    """What -march=native depends on: a home folder may be shared by machines that differ."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return f"{platform.machine()} {platform.processor()}"


def _compile(with_: Compiler, text: str, target: Path) -> None:
    try:
        said = subprocess.run(
            [*with_.command, "-x", "c", "-", "-o", str(target), *with_.libraries],
            input=_PREAMBLE + text, capture_output=True, text=True, check=False, timeout=_PATIENCE,
        )  # fmt: skip
    except (ValueError, subprocess.SubprocessError) as error:
        raise CompileError(f"the C compiler gave no answer: {error}", fix='leave mode="c" out') from error
    if said.returncode:
        raise CompileError(f"the C compiler refused its text: {said.stderr.strip()[:400]}", fix='leave mode="c" out')


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can put a library into ``folder``: what is loaded from it runs as this user."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _usable_cache() -> Path | None:
    folder = cache_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _is_ours(folder) and os.access(folder, os.W_OK):
            return folder
    return None


def _forget_oldest(folder: Path, keep: Sequence[Path]) -> None:
    """Keep the folder small: the libraries not used for longest go."""
    with contextlib.suppress(OSError):
        files = sorted(folder.glob("*.so"), key=lambda file: file.stat().st_mtime)
        for file in files[: max(0, len(files) - _KEPT_FILES)]:
            if file not in keep:
                file.unlink()


_loaded: dict[str, ctypes.CDLL] = {}


def library(text: str) -> ctypes.CDLL:
    """The functions of ``text``, loaded: from this process, from the disk, or compiled now.

    Raises CompileError when the compiler refuses it, or when there is none.
    """
    with_ = compiler()
    if with_ is None:
        raise CompileError("no C compiler was found", fix='install one (gcc or clang), or leave mode="c" out')
    said = "\n".join((*with_.command, *with_.libraries, with_.version, _processor(), _PREAMBLE, text))
    key = hashlib.sha256(said.encode()).hexdigest()[:32]
    if key not in _loaded:
        _loaded[key] = _load(with_, text, key)
    return _loaded[key]


def _load(with_: Compiler, text: str, key: str) -> ctypes.CDLL:
    folder = _usable_cache()
    if folder is None:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
            target = Path(temporary) / f"{key}.so"
            _compile(with_, text, target)
            return ctypes.CDLL(str(target))
    file = folder / f"{key}.so"
    with contextlib.suppress(OSError):
        if file.exists():
            found = ctypes.CDLL(str(file))
            os.utime(file)
            return found
    # Under another name first: another process may look for it at this moment.
    handle, name = tempfile.mkstemp(suffix=".new", dir=folder)
    os.close(handle)
    try:
        _compile(with_, text, Path(name))
        os.replace(name, file)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)
    _forget_oldest(folder, [file])
    return ctypes.CDLL(str(file))
