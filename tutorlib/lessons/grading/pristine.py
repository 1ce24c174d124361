"""Remembers what the engine, NumPy and Python's builtins were made of, and puts it back.

A learner's cell that replaces `np.allclose` or an oracle's helper is thereby undone before its answer is judged. It is
no wall: code that looks for this module finds it. What stands against that is that values are compared elsewhere.
"""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

WATCHED = ("tutorlib", "numpy", "builtins", "math", "copy", "operator", "functools", "itertools", "zlib")
# Here a new name matters too: it would come before the builtin of the same name.
CLOSED = "tutorlib.lessons"
MISSING = object()


class Pristine:
    """A picture of the watched modules, their classes and the code of their functions, taken when it is made."""

    def __init__(self) -> None:
        self.modules = {name: module for name, module in sys.modules.items() if _watched(name)}
        self.names = {name: dict(vars(module)) for name, module in self.modules.items()}
        classes = {kind for names in self.names.values() for kind in names.values() if _our_class(kind)}
        self.classes = {kind: dict(vars(kind)) for kind in classes}
        held = [*self.names.values(), *self.classes.values()]
        functions = {f for names in held for f in names.values() if isinstance(f, FunctionType)}
        self.code = {f: (f.__code__, f.__defaults__, f.__kwdefaults__) for f in functions if _ours(f.__module__)}

    def restore(self) -> list[str]:
        """Put back what was replaced; the names of it, such as `"numpy.allclose"`."""
        replaced = []
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
                replaced.append(name)
            replaced += [f"{name}.{entry}" for entry in _mend(module, self.names[name], name.startswith(CLOSED))]
        for kind, entries in self.classes.items():
            replaced += [f"{kind.__module__}.{kind.__name__}.{entry}" for entry in _mend(kind, entries, False)]
        for function, (code, defaults, keyword_defaults) in self.code.items():
            if function.__code__ is not code or function.__defaults__ is not defaults:
                function.__code__, function.__defaults__ = code, defaults
                function.__kwdefaults__ = keyword_defaults
                replaced.append(f"{function.__module__}.{function.__qualname__}")
        return replaced


def _watched(name: str) -> bool:
    return name.partition(".")[0] in WATCHED


def _ours(name: Any) -> bool:
    return isinstance(name, str) and name.partition(".")[0] == "tutorlib"


def _our_class(value: Any) -> bool:
    return isinstance(value, type) and _ours(value.__module__)


def _mend(holder: Any, before: dict[str, Any], closed: bool) -> list[str]:
    """Give a module or class its functions, classes and modules back; other values may change as a program runs."""
    now = dict(vars(holder))
    changed = [
        name for name, value in before.items() if now.get(name, MISSING) is not value and _is_part_of_the_code(value)
    ]
    for name in changed:
        setattr(holder, name, before[name])
    if closed:
        added = [name for name, value in now.items() if name not in before and not isinstance(value, ModuleType)]
        for name in added:
            delattr(holder, name)
        changed += added
    return changed


def _is_part_of_the_code(value: Any) -> bool:
    kinds = (type, FunctionType, BuiltinFunctionType, ModuleType, property, staticmethod, classmethod)
    return isinstance(value, kinds) or type(value).__name__ in ("ufunc", "_ArrayFunctionDispatcher", "cython_function")
