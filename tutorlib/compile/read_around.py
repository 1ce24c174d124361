"""What a Python function reads from around it: found once in its code, looked up at every call.

Seen are names (of globals, of functions it is written inside), attributes of these and of its arguments
(``self.rate``, ``settings.size``), and what functions of the learner's own read that it calls. Nothing is run for it:
properties are left alone.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from tutorlib.core.graph import Var
from tutorlib.core.source import of_library

# From the arguments of a call to a value; raises LookupError, AttributeError or ValueError where there is none.
Getter = Callable[[Mapping[str, Any]], Any]
_ABSENT = (LookupError, AttributeError, ValueError)
_NEVER_DATA = (ModuleType, FunctionType, type, type(len))
# Functions that call functions: so deep.
DEPTH = 4


class ReadAround:
    """The places that ``fn`` reads from: ``values(arguments)`` looks them up."""

    def __init__(self, fn: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        """``arguments`` of some call, by name: which functions their attributes are is taken from it."""
        self._places: dict[str, Getter] = {}
        self._seen: set[int] = set()
        self._arguments = arguments
        fn = inspect.unwrap(fn)
        while isinstance(fn, partial):
            fn = inspect.unwrap(fn.func)
        if not isinstance(fn, FunctionType) and not inspect.ismethod(fn):
            fn = type(fn).__call__.__get__(fn)  # an object that can be called
        bound = getattr(fn, "__self__", None)
        fn = getattr(fn, "__func__", fn)
        if not isinstance(fn, FunctionType):
            return
        names = fn.__code__.co_varnames[: fn.__code__.co_argcount + fn.__code__.co_kwonlyargcount]
        given: dict[str, Getter] = {name: _argument(name) for name in names}
        if bound is not None and names:
            given[names[0]] = lambda arguments: bound
        self._collect(fn, given, "", DEPTH)

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """By name, what is there now."""
        found = {}
        for name, getter in self._places.items():
            try:
                found[name] = getter(arguments)
            except _ABSENT:
                continue
        return found

    def _collect(self, fn: FunctionType, given: Mapping[str, Getter], inside: str, depth: int) -> None:
        if id(fn.__code__) in self._seen or not depth:
            return
        self._seen.add(id(fn.__code__))
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        for code in codes_of(fn.__code__):
            for kind, (root, *attributes) in _chains(code):
                shown = root
                if kind != "global" and root in given:
                    getter = given[root]
                elif kind == "outer" and root in cells:
                    getter = _cell(cells[root])
                    self._follow(getter, shown, inside, depth)
                elif kind == "global" and root in fn.__globals__ and not _is_a_library(fn.__globals__[root]):
                    getter = _global(fn.__globals__, root)
                    self._follow(getter, shown, inside, depth)
                else:
                    continue
                for attribute in attributes:
                    getter, shown = _attribute(getter, attribute), f"{shown}.{attribute}"
                    self._follow(getter, shown, inside, depth)

    def _follow(self, getter: Getter, shown: str, inside: str, depth: int) -> None:
        """Note a place, or look into the function that is there."""
        try:
            value = getter(self._arguments)
        except _ABSENT:
            return
        bound = getattr(value, "__self__", None) if inspect.ismethod(value) else None
        function = inspect.unwrap(value.__func__ if bound is not None else value) if callable(value) else None
        if isinstance(function, FunctionType):
            if _is_the_learners(function):
                names = function.__code__.co_varnames[:1]
                given: dict[str, Getter] = {names[0]: lambda arguments: bound} if bound is not None and names else {}
                self._collect(function, given, f" in {function.__name__}", depth - 1)
        elif not isinstance(value, _NEVER_DATA) and not inspect.ismethod(value):
            self._places.setdefault(f"{shown}{inside}", getter)


def codes_of(code: CodeType) -> list[CodeType]:
    """A function's code and that of the functions written inside it."""
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += codes_of(constant)
    return found


_KINDS = {"LOAD_GLOBAL": "global", "LOAD_NAME": "global", "LOAD_DEREF": "outer", "LOAD_FAST": "local"}


def _chains(code: CodeType) -> Iterator[tuple[str, list[str]]]:
    """The names that a code reads, with their kind ("global", "outer", "local"), and the attributes read of each:
    ``self.rate`` as ("local", ["self", "rate"])."""
    kind, chain = "", list[str]()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain.append(str(step.argval))
            continue
        if chain:
            yield kind, chain
        found = next((word for start, word in _KINDS.items() if step.opname.startswith(start)), None)
        chain = []
        if found is not None:
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            yield from ((found, [name]) for name in names[:-1])
            kind, chain = found, [names[-1]]
    if chain:
        yield kind, chain


def _argument(name: str) -> Getter:
    return lambda arguments: arguments[name]


def _cell(cell: Any) -> Getter:
    return lambda arguments: cell.cell_contents


def _global(names: Mapping[str, Any], name: str) -> Getter:
    return lambda arguments: names[name]


def _attribute(of: Getter, name: str) -> Getter:
    """What ``getattr`` gives where that runs no code of anybody's."""

    def get(arguments: Mapping[str, Any]) -> Any:
        owner = of(arguments)
        if isinstance(owner, Var):  # x.shape and the like belong to the graph
            raise AttributeError(name)
        own = getattr(owner, "__dict__", {})
        if name in own:
            return own[name]
        found = inspect.getattr_static(type(owner), name)
        if isinstance(found, FunctionType | MemberDescriptorType | classmethod):
            return getattr(owner, name)
        if isinstance(found, staticmethod):
            return found.__func__
        if hasattr(type(found), "__get__"):
            raise AttributeError(name)
        return found

    return get


def _is_the_learners(function: FunctionType) -> bool:
    return not _belongs_to_a_library(str(function.__globals__.get("__name__", "")), function.__code__.co_filename)


def _is_a_library(value: Any) -> bool:
    return isinstance(value, ModuleType) and _belongs_to_a_library(
        value.__name__, getattr(value, "__file__", None) or ""
    )


def _belongs_to_a_library(name: str, filename: str) -> bool:
    return of_library(filename) or "site-packages" in filename or name.partition(".")[0] in sys.stdlib_module_names
