"""What the pictures may import: layout, SVG and text only the standard library, no widgets where none are."""

from __future__ import annotations

import subprocess
import sys

import pytest

PURE = [
    "compare_match",
    "compare_words",
    "compare_svg",
    "layout",
    "ranks",
    "ordering",
    "routing",
    "face",
    "theme",
    "marks",
    "svg",
    "shared_svg",
    "outline",
    "spec",
    "display",
]

# Stands in for the package, whose own import needs NumPy, so that a module can be loaded alone.
ALONE = """
import builtins, sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
spec = spec_from_file_location("tutorlib", {root!r} + "/__init__.py", submodule_search_locations=[{root!r}])
sys.modules["tutorlib"] = module_from_spec(spec)
real = builtins.__import__
def guarded(name, *args, **more):
    if name.partition(".")[0] in {banned!r}:
        raise ImportError(name + " is banned here")
    return real(name, *args, **more)
builtins.__import__ = guarded
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def alone(code: str, *banned: str) -> str:
    from importlib import resources

    return run(ALONE.format(root=str(resources.files("tutorlib")), banned=banned) + code)


@pytest.mark.parametrize("module", PURE)
def test_this_module_needs_no_numpy(module):
    alone(f"import tutorlib.viz.{module}", "numpy", "IPython", "ipywidgets", "anywidget", "traitlets", "graphviz")


def test_a_stored_spec_is_drawn_without_numpy():
    from tests.viz.contract import FIXTURES

    code = (
        "import json\n"
        "from tutorlib.viz.svg import graph_svg\n"
        f"spec = json.loads(Path({str(FIXTURES['tiny'])!r}).read_text(encoding='utf-8'))\n"
        "print(graph_svg(spec)[:4])"
    )
    assert alone(code, "numpy").strip() == "<svg"


NO_WIDGETS = """
import sys
for name in ("anywidget", "ipywidgets", "IPython", "traitlets", "graphviz"):
    sys.modules[name] = None
import tutorlib as tl
x = tl.scalar("x")
view = tl.GraphView(x * x, inputs={x: 3.0})
s = tl.shared(1.0, name="s")
history = tl.SharedView(s)
s.set_value(2.0)
"""


def test_pictures_and_text_work_without_the_widgets():
    code = (
        NO_WIDGETS
        + "print(view.describe()); print(view.svg()[:4]); print(history.describe()); tl.show(view); tl.show(history)"
    )
    said = run(code)
    assert "9 = 3 · 3" in said and "<svg" in said and "set_value" in said


def test_importing_the_package_loads_no_picture():
    said = run(
        "import sys, tutorlib; print([m for m in sys.modules if m.startswith('tutorlib.viz') or m == 'anywidget'])"
    )
    assert said.strip() == "[]"
