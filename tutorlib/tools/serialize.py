"""Graphs and values on disk: graphs by op name, values by variable name. JSON and arrays; never a pickle, never code.

A graph file is a zip archive (``.npz``) with one JSON text and the arrays of constants and shared variables. Reading
one runs no code of its writer: ops are looked up in the table by name, anything unknown is refused.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

from tutorlib.core.aval import AVal
from tutorlib.core.backend import to_host
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import ShapeError, TutorlibError, shape_text
from tutorlib.core.graph import Constant, Input, Node, Shared, Symbol, label
from tutorlib.core.parameter import Parameter
from tutorlib.core.storage import Storage
from tutorlib.core.tensor import Tensor
from tutorlib.core.toposort import toposort
from tutorlib.ops.define import TABLE
from tutorlib.ops.index import Hole

FORMAT = 1


@dataclass(frozen=True)
class SavedGraph:
    """What ``load_graph`` gives: ``outputs`` in order, ``inputs`` and ``shared`` by name."""

    outputs: list[Symbol]
    inputs: dict[str, Symbol] = field(default_factory=dict)
    shared: dict[str, Shared] = field(default_factory=dict)


def save_graph(path: str | os.PathLike[str], outputs: Any) -> Path:
    """Write the graph of one or several expressions, with the present values of its shared variables.

    Args:
        path: a file; ``.npz`` is added. An existing file is replaced only when the new one is complete.
        outputs: a symbol or a list of them.

    Raises TutorlibError for an op outside the table (a learner's own) and for attributes that are not plain data.

    >>> import tempfile, tutorlib as tl
    >>> x = tl.scalar("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = tl.save_graph(f"{folder}/graph", tl.exp(x) + 1)
    ...     loaded = tl.load_graph(file)
    >>> loaded.outputs[0].eval({loaded.inputs["x"]: 0.0})
    array(2.)
    """
    roots = [as_symbol(v) for v in (outputs if isinstance(outputs, list | tuple) else [outputs])]
    writer = _Writer()
    for node in toposort(roots):
        writer.node(node)
    text = {"format": FORMAT, "variables": writer.variables, "outputs": [writer.number(v) for v in roots]}
    return _write(path, {"graph": np.frombuffer(json.dumps(text).encode(), np.uint8), **writer.arrays})


def load_graph(path: str | os.PathLike[str]) -> SavedGraph:
    """Read what ``save_graph`` wrote. Raises TutorlibError for a file that is none, or of a later format."""
    with _read(path) as archive:
        if "graph" not in archive:
            raise TutorlibError(f"{Path(path).name} holds no graph", fix="write one with tl.save_graph")
        text = json.loads(archive["graph"].tobytes().decode())
        if text.get("format") != FORMAT:
            raise TutorlibError(f"{Path(path).name} has format {text.get('format')}", fix="use a newer tutorlib")
        variables: list[Symbol] = []
        for entry in text["variables"]:
            variables += _variables(entry, variables, archive)
    named = [v for v in variables if v.name and v.node is None]
    return SavedGraph(
        [variables[i] for i in text["outputs"]],
        {str(v.name): v for v in named if isinstance(v, Input)},
        {str(v.name): v for v in named if isinstance(v, Shared)},
    )


class _Writer:
    """Numbers variables in the order they are needed and turns them into plain data."""

    def __init__(self) -> None:
        self.variables: list[dict[str, Any]] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._numbers: dict[int, int] = {}
        self._count = 0

    def _enter(self, entry: dict[str, Any], *made: Symbol) -> None:
        self.variables.append(entry)
        for var in made:
            self._numbers[id(var)] = self._count
            self._count += 1

    def number(self, var: Symbol) -> int:
        if id(var) not in self._numbers:
            self._leaf(var)
        return self._numbers[id(var)]

    def _leaf(self, var: Symbol) -> None:
        entry: dict[str, Any] = {"kind": var.kind, "name": var.name}
        if isinstance(var, Constant) and var.aval.weak:
            entry["number"] = _plain(var.value)
        elif isinstance(var, Constant | Shared):
            entry["array"] = f"array{len(self.arrays)}"
            self.arrays[entry["array"]] = to_host(var.value if isinstance(var, Constant) else var.storage.value)
            entry["shape"] = list(var.shape)
        else:
            entry |= {"shape": list(var.shape), "dtype": var.dtype.name}
        self._enter(entry, var)

    def node(self, node: Node) -> None:
        if TABLE.get(node.op.name) is not node.op:
            raise TutorlibError(
                f"{node.op.name} is not in the op table, so no reader would know it",
                fix="save the graph before that op, or express it by table ops",
                source=node.source,
            )
        inputs = [self.number(v) for v in node.inputs]
        try:
            attrs = {key: _plain(value) for key, value in node.attrs.items()}
        except TypeError as error:
            raise TutorlibError(
                f"{node.op.name} cannot be saved: {error}",
                fix="control flow is not saved yet: save its parts",
                source=node.source,
            ) from None
        entry = {"op": node.op.name, "inputs": inputs, "attrs": attrs, "names": [v.name for v in node.outputs]}
        self._enter(entry | ({"role": node.role} if node.role != "forward" else {}), *node.outputs)


def _plain(value: Any) -> Any:
    """An attribute as JSON: what JSON lacks is written as a one-key object."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, tuple):
        return {"tuple": [_plain(v) for v in value]}
    if isinstance(value, slice):
        return {"slice": [_plain(value.start), _plain(value.stop), _plain(value.step)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, Hole):
        return {"hole": value.n}
    raise TypeError(f"an attribute is a {type(value).__name__}")


def _attribute(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tuple":
        return tuple(map(_attribute, content))
    if kind == "slice":
        return slice(*map(_attribute, content))
    if kind == "ellipsis":
        return Ellipsis
    return Hole(content) if kind == "hole" else float(content)


def _variables(entry: dict[str, Any], known: list[Symbol], archive: Mapping[str, np.ndarray]) -> list[Symbol]:
    if "op" in entry:
        op = TABLE.get(entry["op"])
        if op is None:
            raise TutorlibError(
                f"no op is called {entry['op']!r} here", fix="use the tutorlib that wrote the file, or a newer one"
            )
        attrs = {key: _attribute(value) for key, value in entry["attrs"].items()}
        inputs = tuple(known[i] for i in entry["inputs"])
        node = Node(op, inputs, attrs, None)
        found = op.infer(*(v.aval for v in inputs), **attrs)  # type: ignore[misc]
        avals = (found,) if op.nout == 1 else found
        node.outputs = tuple(Symbol(a, node, i, n) for i, (a, n) in enumerate(zip(avals, entry["names"], strict=True)))
        return list(node.outputs)
    if "number" in entry:
        return [Constant(_attribute(entry["number"]), entry["name"])]
    if "array" in entry:
        array = archive[entry["array"]]
        if entry["kind"] == "constant":
            return [Constant(array, entry["name"])]
        return [Shared(Storage(array, entry["name"]), tuple(entry["shape"]), entry["name"])]
    return [Input(AVal(tuple(entry["shape"]), np.dtype(entry["dtype"])), name=entry["name"])]


# ---- values ----


def save_values(path: str | os.PathLike[str], variables: Mapping[str, Any]) -> Path:
    """Write the values of shared variables, parameters or tensors under the names given.

    >>> import tempfile, tutorlib as tl
    >>> w = tl.shared([1.0, 2.0], name="w")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = tl.save_values(f"{folder}/weights", {"w": w})
    ...     w.set_value([0.0, 0.0])
    ...     tl.load_values(file, {"w": w})
    >>> w.get_value()
    array([1., 2.])
    """
    return _write(path, {f"value:{name}": _held(var) for name, var in variables.items()})


def load_values(path: str | os.PathLike[str], variables: Mapping[str, Any]) -> None:
    """Put the values that ``save_values`` wrote into these variables: all of them, or none if one does not fit.

    Raises TutorlibError when a name is missing on either side, ShapeError for another shape.
    """
    with _read(path) as archive:
        saved = {key.removeprefix("value:"): archive[key] for key in archive if key.startswith("value:")}
    missing, unknown = sorted(variables.keys() - saved), sorted(saved.keys() - variables)
    if missing or unknown:
        raise TutorlibError(
            f"the names differ: not in the file {missing or 'none'}, not asked for {unknown or 'none'}",
            fix="pass the same names as to save_values",
        )
    for name, var in variables.items():
        if saved[name].shape != tuple(_held(var).shape):
            raise ShapeError(
                f"{name} has shape {shape_text(_held(var).shape)}, the file {shape_text(saved[name].shape)}",
                fix="build the model in the size it was saved in",
            )
    for name, var in variables.items():
        if isinstance(var, Shared):
            var.set_value(saved[name])
        elif isinstance(var, Parameter):
            var.symbol.set_value(saved[name])
        else:
            var.data = saved[name]


def _held(var: Any) -> np.ndarray:
    if isinstance(var, Shared):
        return to_host(var.storage.value)
    if isinstance(var, Tensor):
        return to_host(var._data)
    raise TutorlibError(f"{label(var)} keeps no value", fix="save shared variables, parameters or tensors")


# ---- files ----


def _write(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> Path:
    target = Path(path)
    target = target if target.suffix == ".npz" else target.with_name(target.name + ".npz")
    # Complete first, then in place: an interrupted save leaves the earlier file whole.
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def _read(path: str | os.PathLike[str]) -> Any:
    file = Path(path) if Path(path).exists() else Path(f"{path}.npz")
    if not file.exists():
        raise TutorlibError(f"there is no file {Path(path).name}", fix="look at the path")
    if not is_zipfile(file):
        raise TutorlibError(f"{file.name} is not a file of ours", fix="pass what save_graph or save_values returned")
    return np.load(file, allow_pickle=False)
