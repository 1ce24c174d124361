"""tutorlib: see how computation graphs and automatic differentiation work.

One small engine with two modes: static graphs (symbols, shared variables, ``function``) and dynamic graphs (tensors,
``.backward()``). Importing this package loads NumPy and nothing heavy; static mode, widgets and lessons load when they
are first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tutorlib.core.collecting import collector_at_rest as _collector_at_rest

with _collector_at_rest():
    from tutorlib import ops as _ops  # fills the op table
    from tutorlib.core.autodiff import grad
    from tutorlib.core.backend import Device, default_device, device, transfers
    from tutorlib.core.building import scope
    from tutorlib.core.config import config
    from tutorlib.core.create import tensor
    from tutorlib.core.dispatch import enable_grad, no_grad, static
    from tutorlib.core.errors import *  # noqa: F403
    from tutorlib.core.graph import Constant, Input, Node, Op, Shared, Symbol, Var
    from tutorlib.core.observe import Observer, add_observer, observe, remove_observer
    from tutorlib.core.operators import OPS as _OPS
    from tutorlib.core.parameter import Parameter
    from tutorlib.core.storage import Storage
    from tutorlib.core.tensor import Tensor
    from tutorlib.core.toposort import leaves_of, toposort
    from tutorlib.ops.later import FUNCTIONS as _LATER

if TYPE_CHECKING:
    from tutorlib.compile.ifelse import ifelse
    from tutorlib.compile.names import *  # noqa: F403
    from tutorlib.compile.scan import scan
    from tutorlib.compile.trace import trace
    from tutorlib.compile.while_loop import while_loop
    from tutorlib.core.debugprint import debugprint
    from tutorlib.core.derivatives import hessian, hvp, jacobian, jvp, vjp
    from tutorlib.core.paths import GradientPath, gradient_paths
    from tutorlib.messages import language
    from tutorlib.ops import random

__version__ = "0.1.0"

_ENGINE = ("tutorlib.core", "tutorlib.compile")
# Names that load their module on first use: static mode, which many programs do without; widgets, which need
# ipywidgets; checks, which need the exercises.
_STATIC = """Function In RewriteLog RewriteStep Rule function matrix remove_rule rewrite rule rules rules_off scalar
    shared symbol tensor3 tensor4 vector"""
_LAZY = {
    **dict.fromkeys(_STATIC.split(), "tutorlib.compile.names"),
    "debugprint": "tutorlib.core.debugprint",
    "ifelse": "tutorlib.compile.ifelse",
    "scan": "tutorlib.compile.scan",
    "trace": "tutorlib.compile.trace",
    "while_loop": "tutorlib.compile.while_loop",
    "hessian": "tutorlib.core.derivatives",
    "hvp": "tutorlib.core.derivatives",
    "jacobian": "tutorlib.core.derivatives",
    "jvp": "tutorlib.core.derivatives",
    "vjp": "tutorlib.core.derivatives",
    "GradientPath": "tutorlib.core.paths",
    "gradient_paths": "tutorlib.core.paths",
    "language": "tutorlib.messages",
    "CompareView": "tutorlib.viz.compare_view",
    "GradientView": "tutorlib.viz.gradient_view",
    "GraphView": "tutorlib.viz.graph_view",
    "SharedView": "tutorlib.viz.shared_view",
    "display_mode": "tutorlib.viz.display",
    "link": "tutorlib.viz.link",
    "load_run": "tutorlib.viz.run_file",
    "record": "tutorlib.viz.run",
    "show": "tutorlib.viz.display",
    "explain": "tutorlib.tools.explain",
    "latex": "tutorlib.tools.latex",
    "memory_budget": "tutorlib.tools.memory_budget",
    "nan_guard": "tutorlib.tools.nan_guard",
    "profile": "tutorlib.tools.profile",
    "load_graph": "tutorlib.tools.serialize",
    "load_log": "tutorlib.compile.loaded_log",
    "load_values": "tutorlib.tools.serialize",
    "save_graph": "tutorlib.tools.serialize",
    "save_values": "tutorlib.tools.serialize",
    "gradcheck": "tutorlib.tools.gradcheck",
    "check": "tutorlib.lessons",
    "predict": "tutorlib.lessons",
    "progress": "tutorlib.lessons.progress_report",
    "quiz": "tutorlib.lessons.quiz",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        with _collector_at_rest():
            found = globals()[name] = getattr(import_module(_LAZY[name]), name)
        return found
    if name == "__all__":  # for ``from tutorlib import *``: nothing that needs more than the engine
        return [
            n for n in __dir__() if n[0] != "_" and _LAZY.get(n, "tutorlib.core").split(".")[1] in ("core", "compile")
        ]
    if name == "random":
        found = globals()[name] = import_module("tutorlib.ops.random")
        return found
    try:
        found = getattr(_OPS, name)
        if name in _LATER:
            globals()[name] = found
        return found
    except AttributeError:
        says = f"module 'tutorlib' has no attribute {name!r}"
        raise AttributeError(says, name=name, obj=sys.modules[__name__]) from None


# The names of the op table as ordinary attributes, which is quicker. Ops of a learner's own come by the above.
for _name, _function in vars(_OPS).items():
    if _name not in _LAZY:
        globals().setdefault(_name, _function)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LATER, *vars(_OPS), "random"})


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext tutorlib``: adds ``%%graph``, ``%%static``, ``%%dynamic`` and ``%%modes`` to a notebook."""
    import_module("tutorlib.viz.magics").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext tutorlib`` takes them away again."""
    import_module("tutorlib.viz.magics").unload(shell)


def _display(var: Any) -> None:
    """What a notebook shows for a variable: its graph where the widgets are installed, else its text."""
    import_module("tutorlib.viz.display").display_var(var)


def _evaluate(outputs: Any, givens: Any) -> Any:
    """What ``symbol.eval`` does."""
    return import_module("tutorlib.compile.evaluate").evaluate(outputs, givens)


def _profiled(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What ``f.profile`` does."""
    return import_module("tutorlib.tools.profile").profile(function, *args, **kwargs)


Var.display = staticmethod(_display)
Symbol.evaluate = staticmethod(_evaluate)
Symbol.profiled = staticmethod(_profiled)
del _ops
