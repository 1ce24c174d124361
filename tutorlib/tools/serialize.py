"""Graphs and values on disk: graphs by op name, values by variable name. JSON and arrays; never a pickle, never code.

A graph file is a zip archive (``.npz``) with one JSON text (see ``graph_text``) and the arrays of constants and shared
variables.
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

from tutorlib.core.backend import to_host
from tutorlib.core.dispatch import as_symbol
from tutorlib.core.errors import DTypeError, ShapeError, TutorlibError, shape_text
from tutorlib.core.graph import Input, Shared, Symbol, label
from tutorlib.core.parameter import Parameter
from tutorlib.core.tensor import Tensor
from tutorlib.tools.graph_text import GraphReader, GraphWriter

FORMAT = 1


@dataclass(frozen=True)
class SavedGraph:
    """What ``load_graph`` gives: ``outputs`` in order, ``inputs`` and ``shared`` by name.

    Of two with one name ``x`` the second, as the expression reads, is ``x_2``; one without a name is ``input`` or
    ``shared``.
    """

    outputs: list[Symbol]
    inputs: dict[str, Symbol] = field(default_factory=dict)
    shared: dict[str, Shared] = field(default_factory=dict)


def save_graph(path: str | os.PathLike[str], outputs: Any) -> Path:
    """Write the graph of one or several expressions, loops and branches included, with the present values of its shared
    variables and what random streams become after a draw.

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
    writer = GraphWriter()
    text = {"format": FORMAT, **writer.text(roots)}
    return write_archive(path, {"graph": np.frombuffer(json.dumps(text).encode(), np.uint8), **writer.arrays})


def load_graph(path: str | os.PathLike[str]) -> SavedGraph:
    """Read what ``save_graph`` wrote. Raises TutorlibError for a file that is none, or of a later format."""
    with read_archive(path, "save_graph or save_values") as archive:
        if "graph" not in archive:
            raise TutorlibError(f"{Path(path).name} holds no graph", fix="write one with tl.save_graph")
        text = json.loads(archive["graph"].tobytes().decode())
        if text.get("format") != FORMAT:
            raise TutorlibError(f"{Path(path).name} has format {text.get('format')}", fix="use a newer tutorlib")
        variables = GraphReader(archive).variables(text)
    outputs = [variables[i] for i in text["outputs"]]
    leaves = _as_read(outputs)
    return SavedGraph(outputs, _by_name(leaves, Input), _by_name(leaves, Shared))


def _as_read(outputs: list[Symbol]) -> list[Symbol]:
    """The leaves in the order in which the expressions name them first, from left to right."""
    found: list[Symbol] = []
    seen: set[int] = set()
    stack = outputs[::-1]
    while stack:
        v = stack.pop()
        if id(v) not in seen:
            seen.add(id(v))
            if v.node is None:
                found.append(v)
            else:
                stack.extend(v.node.inputs[::-1])
    return found


def _by_name(leaves: list[Symbol], kind: type) -> dict[str, Any]:
    """The leaves of a kind by name. What has none is called by its kind, and what has one that is taken gets a
    number."""
    found: dict[str, Any] = {}
    for v in leaves:
        if isinstance(v, kind):
            name = wanted = str(v.name or v.kind)
            number = 1
            while name in found:
                number += 1
                name = f"{wanted}_{number}"
            found[name] = v
    return found


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
    return write_archive(path, {f"value:{name}": _held(var) for name, var in variables.items()})


def load_values(path: str | os.PathLike[str], variables: Mapping[str, Any]) -> None:
    """Put the values that ``save_values`` wrote into these variables: all of them, or none if one does not fit.

    Raises TutorlibError when a name is missing on either side, ShapeError for another shape, DTypeError for another
    dtype.
    """
    with read_archive(path, "save_graph or save_values") as archive:
        saved = {key.removeprefix("value:"): archive[key] for key in archive if key.startswith("value:")}
    missing, unknown = sorted(variables.keys() - saved), sorted(saved.keys() - variables)
    if missing or unknown:
        raise TutorlibError(
            f"the names differ: not in the file {missing or 'none'}, not asked for {unknown or 'none'}",
            fix="pass the same names as to save_values",
        )
    for name, var in variables.items():
        held = _held(var)
        if saved[name].shape != tuple(held.shape):
            raise ShapeError(
                f"{name} has shape {shape_text(held.shape)}, the file {shape_text(saved[name].shape)}",
                fix="build the model in the size it was saved in",
            )
        if saved[name].dtype != held.dtype:
            raise DTypeError(
                f"{name} is {held.dtype}, the file holds {saved[name].dtype}",
                fix=f'build the model with dtype="{saved[name].dtype}"',
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


def archive_path(path: str | os.PathLike[str]) -> Path:
    """The file that `write_archive` writes: ``.npz`` is added where it is missing."""
    target = Path(path)
    return target if target.suffix == ".npz" else target.with_name(target.name + ".npz")


def write_archive(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write arrays to an ``.npz`` file, complete or not at all; returns its path."""
    target = archive_path(path)
    if not target.parent.is_dir():
        raise TutorlibError(f"there is no folder {target.parent}", fix="make it first: pathlib.Path(folder).mkdir()")
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


def read_archive(path: str | os.PathLike[str], writer: str) -> Any:
    """Open an ``.npz`` file without pickles. Raises TutorlibError, naming its ``writer``, for anything else."""
    file = Path(path) if Path(path).exists() else Path(f"{path}.npz")
    if not file.exists():
        raise TutorlibError(f"there is no file {Path(path).name}", fix="look at the path")
    if not is_zipfile(file):
        raise TutorlibError(f"{file.name} is not a file of ours", fix=f"pass what {writer} returned")
    return np.load(file, allow_pickle=False)
