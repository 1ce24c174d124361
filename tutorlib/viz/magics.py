"""Cell magics: `%%graph` draws what a cell computed, `%%static`, `%%dynamic` and `%%modes` run a cell in a mode.

They come with `%load_ext tutorlib`. Needs IPython; nothing else here imports this module.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from IPython.core.error import UsageError

from tutorlib.core.aval import AVal
from tutorlib.core.create import as_array, tensor
from tutorlib.core.dispatch import static
from tutorlib.core.graph import Input, Symbol
from tutorlib.core.parameter import Parameter
from tutorlib.core.tensor import Tensor
from tutorlib.messages import message
from tutorlib.viz.display import show
from tutorlib.viz.magic_cells import Cell
from tutorlib.viz.shown_as import has_graph

__all__ = ["load", "unload"]

CELLS = ("graph", "static", "dynamic", "modes")


def load(shell: Any) -> None:
    """Register the magics."""
    cells = _Cells(shell)
    for name in CELLS:
        shell.register_magic_function(getattr(cells, name), "cell", name)
    shell.register_magic_function(cells.graph_line, "line", "graph")


def unload(shell: Any) -> None:
    """Forget them."""
    for kind in ("cell", "line"):
        for name in CELLS:
            shell.magics_manager.magics[kind].pop(name, None)


GRAPH = "%%graph [names …] [--wrt a,b] [--LR] [--rewritten] [--step n] [--height px]"
MODE = "%%{mode} [names … | name=value …] [--keep]"
MODES = "%%modes [names … | name=value …]"


class _Parser(ArgumentParser):
    """The arguments of a magic; a mistake is told in words instead of ending Python."""

    def __init__(self, usage: str) -> None:
        super().__init__(prog="", usage=usage, add_help=False, allow_abbrev=False)
        self.add_argument("names", nargs="*")

    def read(self, line: str) -> Namespace:
        self._line = line
        return self.parse_args(_words(line))

    def error(self, message_of_argparse: str) -> Any:
        raise UsageError(message("widgets.magic_options", given=self._line.strip(), usage=self.usage))


def _words(line: str) -> list[str]:
    """The words of a magic's line; a space inside brackets parts none: `x=[1.0, 2.0] w`."""
    words, depth = [""], 0
    for sign in line:
        depth += (sign in "([{") - (sign in ")]}")
        if sign.isspace() and depth <= 0:
            words.append("")
        else:
            words[-1] += sign
    return [word for word in words if word]


def _graph_parser() -> _Parser:
    parser = _Parser(GRAPH)
    parser.add_argument("--wrt")
    parser.add_argument("--LR", action="store_true")
    parser.add_argument("--rewritten", action="store_true")
    parser.add_argument("--step", type=int)
    parser.add_argument("--height", type=int)
    return parser


class _Cells:
    """The magics of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    @property
    def _names(self) -> dict[str, Any]:
        return self.shell.user_ns

    def graph(self, line: str, cell: str) -> None:
        """Run the cell and draw what it computed: its last expression, or the names given.

        %%graph [names …] [--wrt a,b] [--LR] [--rewritten] [--step n] [--height px]
        """
        asked = _graph_parser().read(line)
        code = Cell(self.shell, cell)
        value = code.run(self._names)
        self._draw(asked, value, code.assigned)

    def graph_line(self, line: str) -> None:
        """Draw what some names stand for.

        %graph names … [--wrt a,b] [--LR] [--rewritten] [--step n] [--height px]
        """
        asked = _graph_parser().read(line)
        if not asked.names:
            raise UsageError(message("widgets.magic_name_something"))
        self._draw(asked, None, [])

    def _draw(self, asked: Namespace, value: Any, assigned: Sequence[str]) -> None:
        options: dict[str, Any] = {}
        if asked.wrt:
            options["wrt"] = [self._value(name) for name in asked.wrt.replace(" ", "").split(",") if name]
        options |= {"direction": "LR"} if asked.LR else {}
        options |= {key: n for key in ("step", "height") if (n := getattr(asked, key)) is not None}
        if asked.names:
            found = [self._value(name) for name in asked.names]
            value = found[0] if len(found) == 1 else found
        elif value is None:
            # A cell that ends with an assignment has computed what it assigned last.
            made = [self._names[n] for n in reversed(assigned) if n in self._names and has_graph(self._names[n])]
            value = made[0] if made else None
        if not has_graph(value):
            raise UsageError(message("widgets.magic_no_graph", what=type(value).__name__))
        show(value, rewritten=asked.rewritten, **options)

    def _value(self, name: str) -> Any:
        if name not in self._names:
            raise UsageError(message("widgets.magic_no_name", name=name))
        return self._names[name]

    def static(self, line: str, cell: str) -> None:
        """Run the cell with names standing for symbols: it builds a graph and computes nothing.

        %%static [names … | name=value …] [--keep]
        """
        self._in_mode("static", line, cell)

    def dynamic(self, line: str, cell: str) -> None:
        """Run the cell with names standing for tensors: every line computes and records.

        %%dynamic [names … | name=value …] [--keep]
        """
        self._in_mode("dynamic", line, cell)

    def _in_mode(self, mode: str, line: str, cell: str) -> None:
        parser = _Parser(MODE.format(mode=mode))
        parser.add_argument("--keep", action="store_true")
        asked = parser.read(line)
        code = Cell(self.shell, cell)
        arrays = self._data(asked.names, code)
        stand_ins = {name: _symbol(name, a) if mode == "static" else _leaf(name, a) for name, a in arrays.items()}
        names = self._names
        before = {name: names[name] for name in stand_ins if name in names}
        names.update(stand_ins)
        print(message(f"widgets.magic_{mode}", names=", ".join(stand_ins) or "–"))
        try:
            if mode == "static":
                with static():
                    value = code.run(names)
            else:
                value = code.run(names)
        finally:
            for name, stand_in in {} if asked.keep else stand_ins.items():
                # What the cell itself assigned to a name is its own.
                if names.get(name) is stand_in:
                    if name in before:
                        names[name] = before[name]
                    else:
                        del names[name]
        if value is not None:
            show(value)

    def modes(self, line: str, cell: str) -> None:
        """Run the cell on symbols and on tensors and set both graphs side by side, with a clock.

        %%modes [names … | name=value …]
        """
        from tutorlib.viz.compare_view import CompareView

        asked = _Parser(MODES).read(line)
        code = Cell(self.shell, cell)
        if not code.has_value:
            raise UsageError(message("widgets.magic_needs_value"))
        arrays = self._data(asked.names, code)
        show(CompareView.modes(code.as_function(self._names, list(arrays)), *arrays.values()))

    def _data(self, asked: Sequence[str], code: Cell) -> dict[str, np.ndarray]:
        """The values of the names that stand for data: those asked for, else all arrays and leaf tensors read."""
        found: dict[str, np.ndarray] = {}
        for item in asked:
            name, given, text = item.partition("=")
            if not name.isidentifier():
                raise UsageError(message("widgets.magic_bad_name", name=name))
            value = eval(text, self._names) if given else self._value(name)
            found[name] = _array(name, value)
        if not asked:
            for name in code.read:
                value = self._names.get(name)
                if isinstance(value, np.ndarray) or (isinstance(value, Tensor) and not isinstance(value, Parameter)):
                    found[name] = _array(name, value)
        return found


def _array(name: str, value: Any) -> np.ndarray:
    if isinstance(value, Symbol):
        raise UsageError(message("widgets.magic_no_value", name=name))
    if isinstance(value, str | bytes | Mapping) or callable(value):
        raise UsageError(message("widgets.magic_no_number", name=name, what=type(value).__name__))
    return np.asarray(as_array(value))


def _symbol(name: str, array: np.ndarray) -> Input:
    return Input(AVal(array.shape, array.dtype), name=name)


def _leaf(name: str, array: np.ndarray) -> Tensor:
    return tensor(array, requires_grad=array.dtype.kind == "f", name=name)
