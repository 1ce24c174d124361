"""The examinations of `tutorlib doctor`: each looks at one thing the lessons need or can use. Nothing here prints.

To add one: a function to `EXAMINATIONS`, and the messages `cli.doctor.ID.name`, `.costs` and what the function finds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata

from tutorlib.cli.lab import default_folder
from tutorlib.cli.lessons_dir import PACKAGE, lessons_dir
from tutorlib.messages import message

BENGALI_FONTS = ("Noto Sans Bengali", "Noto Serif Bengali", "Lohit Bengali", "Mukti", "Nirmala UI", "Bangla Sangam MN")


@dataclass(frozen=True)
class Finding:
    """What one examination found.

    Args:
        id: a stable name for programs.
        works: whether the thing can be used.
        essential: whether the lessons are of no use without it.
        found: what is there, or in what way it is not.
        mend: the one command or step that mends it, "" when nothing needs to be done.
    """

    id: str
    works: bool
    found: str
    mend: str = ""
    essential: bool = False

    @property
    def name(self) -> str:
        """What a person calls the thing."""
        return message(f"cli.doctor.{self.id}.name")

    @property
    def costs(self) -> str:
        """What one cannot do without the thing."""
        return message(f"cli.doctor.{self.id}.costs")

    def as_dict(self) -> dict[str, object]:
        """The finding as plain data."""
        return {**asdict(self), "name": self.name, "costs": "" if self.works else self.costs}


def examine() -> list[Finding]:
    """All findings, in the order of `EXAMINATIONS`. An examination that itself fails is a finding, never an error."""
    return [_examine_safely(id, look) for id, look in EXAMINATIONS.items()]


def _examine_safely(id: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return Finding(id, False, said, mend=_install("lab"), essential=id in ESSENTIAL)


def python() -> Finding:
    found = f"{sys.version.split()[0]}, {sys.executable}"
    return Finding("python", sys.version_info >= (3, 11), found, message("cli.doctor.python.mend"), True)


def numpy() -> Finding:
    import numpy as np

    # A tiny product shows that the library behind it loads and computes.
    works = int(np.__version__.split(".")[0]) >= 2 and bool((np.eye(3) @ np.ones(3) == 1).all())
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    found = f"{np.__version__}, BLAS {blas.get('name', '?')} {blas.get('version', '')}".strip()
    return Finding("numpy", works, found, _pip("numpy>=2"), True)


def lessons() -> Finding:
    try:
        folder = lessons_dir()
    except FileNotFoundError as error:
        return Finding("lessons", False, str(error), _install("lab"), True)
    return Finding("lessons", True, message("cli.doctor.lessons.found", n=len(list(folder.glob("*.ipynb")))), "", True)


def write_access() -> Finding:
    folder = default_folder()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return Finding("write_access", False, f"{folder}: {error.strerror}", "tutorlib lab --dir DIR")
    return Finding("write_access", True, str(folder))


def jupyterlab() -> Finding:
    return _packages("jupyterlab", ("jupyterlab", "ipykernel"))


def widgets() -> Finding:
    packages = _packages("widgets", ("ipywidgets", "anywidget"))
    if packages.works and not any((PACKAGE / "viz" / "static").glob("*.js")):
        return Finding("widgets", False, message("cli.doctor.widgets.no_js"), _install("lab"))
    return packages


def plots() -> Finding:
    return _packages("plots", ("matplotlib",))


def dot() -> Finding:
    path = shutil.which("dot")
    if path is None:
        return Finding("dot", False, message("cli.doctor.not_found"), _system_package("graphviz", "Graphviz.Graphviz"))
    said = subprocess.run([path, "-V"], capture_output=True, text=True, timeout=20, check=True)
    return Finding("dot", True, (said.stderr or said.stdout).strip().removeprefix("dot - "))


def fonts() -> Finding:
    """Whether Bengali can be drawn: a font that has it, and a Matplotlib that shapes its conjuncts."""
    name = _bengali_font()
    if name is None:
        return Finding("fonts", False, message("cli.doctor.fonts.none"), _system_package("fonts-noto-core", ""))
    if not _version("matplotlib"):
        return Finding("fonts", True, name)
    from matplotlib import ft2font

    if not hasattr(ft2font, "__libraqm_version__"):
        found = message("cli.doctor.fonts.unshaped", font=name, version=_version("matplotlib"))
        return Finding("fonts", False, found, _pip("matplotlib>=3.11"))
    return Finding("fonts", True, message("cli.doctor.fonts.shaped", font=name))


def gpu() -> Finding:
    card = _graphics_card()
    if not _version("cupy-cuda12x") and not _version("cupy-cuda13x") and not _version("cupy"):
        if card is None:
            return Finding("gpu", False, message("cli.doctor.gpu.none"), message("cli.doctor.gpu.no_need"))
        return Finding("gpu", False, message("cli.doctor.gpu.no_cupy", card=card), _install("gpu"))
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
        total = float(cupy.ones(3).sum())
    except Exception as error:
        said = " ".join(str(error).split())
        return Finding("gpu", False, f"CuPy {cupy.__version__}: {said}", message("cli.doctor.gpu.driver"))
    return Finding("gpu", total == 3.0, f"{count} × {card or 'CUDA'}, CuPy {cupy.__version__}", _install("gpu"))


EXAMINATIONS: dict[str, Callable[[], Finding]] = {
    "python": python,
    "numpy": numpy,
    "lessons": lessons,
    "write_access": write_access,
    "jupyterlab": jupyterlab,
    "widgets": widgets,
    "plots": plots,
    "dot": dot,
    "fonts": fonts,
    "gpu": gpu,
}
ESSENTIAL = {"python", "numpy", "lessons"}


def _packages(id: str, names: tuple[str, ...]) -> Finding:
    versions = {name: _version(name) for name in names}
    absent = [name for name, version in versions.items() if not version]
    if absent:
        found = message("cli.doctor.packages_absent", names=", ".join(absent))
        return Finding(id, False, found, _install("lab"))
    return Finding(id, True, ", ".join(f"{name} {version}" for name, version in versions.items()))


def _version(package: str) -> str:
    """The installed version without importing anything heavy, "" when the package is absent."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _graphics_card() -> str | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    said = subprocess.run(
        [program, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, timeout=20, check=False
    )
    return said.stdout.strip().splitlines()[0] if said.returncode == 0 and said.stdout.strip() else None


def _bengali_font() -> str | None:
    program = shutil.which("fc-list")
    if program:
        said = subprocess.run([program, ":lang=bn", "family"], capture_output=True, text=True, timeout=20, check=False)
        families = sorted({line.split(",")[0].strip() for line in said.stdout.splitlines() if line.strip()})
        return next((name for name in BENGALI_FONTS if name in families), families[0] if families else None)
    if not _version("matplotlib"):
        return None
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return next((name for name in BENGALI_FONTS if name in known), None)


def _pip(requirement: str, *options: str) -> str:
    program = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    return " ".join([program, "-m pip install", *options, f'"{requirement}"'])


def _install(extra: str) -> str:
    """The command that installs tutorlib again with an extra: from its checkout, where that is what runs."""
    checkout = PACKAGE.parent
    if (checkout / "pyproject.toml").exists():
        return _pip(f"{checkout}[{extra}]", "--editable")
    return _pip(f"tutorlib[{extra}]", "--force-reinstall")


def _system_package(debian: str, windows: str) -> str:
    """The command that installs a program or a font on this kind of system."""
    if sys.platform == "win32":
        return f"winget install {windows}" if windows else message("cli.doctor.fonts.by_hand")
    if sys.platform == "darwin":
        return f"brew install {debian}" if windows else message("cli.doctor.fonts.by_hand")
    admin = "" if os.geteuid() == 0 else "sudo "
    return f"{admin}apt-get install -y {debian}"
