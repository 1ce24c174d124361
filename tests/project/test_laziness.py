"""`import tutorlib` is quick because it loads NumPy and nothing heavier."""

import subprocess
import sys

HEAVY = set("cupy matplotlib ipywidgets anywidget IPython graphviz jax torch tqdm yaml scipy nbformat jupytext".split())


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(said.stdout.split())


def test_importing_tutorlib_loads_numpy_and_nothing_heavy():
    loaded = modules_after("import tutorlib")
    assert "numpy" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_a_quick_command_loads_nothing_heavy():
    loaded = modules_after("from tutorlib.cli.main import main\ntry: main(['--version'])\nexcept SystemExit: pass")
    assert loaded.isdisjoint(HEAVY)


def test_messages_load_without_tutorlibs_engine():
    code = (
        "import sys, types, pathlib, importlib.util\n"
        "folder = pathlib.Path(importlib.util.find_spec('tutorlib').origin).parent\n"
        "package = types.ModuleType('tutorlib'); package.__path__ = [str(folder)]\n"
        "package.__spec__ = importlib.util.find_spec('tutorlib'); sys.modules['tutorlib'] = package\n"
        "from tutorlib.messages import message\n"
        "assert message('cli.help.lab')\n"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_static_mode_loads_with_the_first_of_its_names():
    code = (
        "import sys, tutorlib as tl\n"
        "before = [name for name in sys.modules if name.startswith('tutorlib.compile')]\n"
        "x = tl.scalar('x')\n"
        "print(before, float(tl.function([x], 3 * x)(2.0)), len(tl.rules()) > 50, 'json' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.split() == ["[]", "6.0", "True", "False"]


def test_everything_by_a_star_is_the_engine_and_nothing_heavy():
    code = (
        "import sys\nfrom tutorlib import *\n"
        "print(function.__name__, while_loop.__name__, sin(0.0), 'GraphView' in globals())\n"
        "print([name for name in sys.modules if name.startswith('tutorlib.viz')])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.split() == ["function", "while_loop", "0.0", "False", "[]"]


def test_ops_of_loops_are_known_by_name_before_any_loop_was_made():
    code = "from tutorlib.compile.source import op\nimport numpy as np\nprint(op.head(np.arange(5), np.zeros(2)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.strip() == "[0 1]"
