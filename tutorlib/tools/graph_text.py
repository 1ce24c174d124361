"""A graph as plain data and back: variables in the order they are needed, ops by name, arrays beside the text.

Loops and branches are graphs among the attributes of a node and are written the same way. Reading runs no code of the
writer: an op is looked up by its name, anything unknown is refused. Files are the business of ``serialize``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.control import CONTROL_OPS, op_called
from tutorlib.compile.scan_run import Layout
from tutorlib.compile.subgraph import ControlOp, Subgraph
from tutorlib.core.aval import AVal
from tutorlib.core.backend import to_host
from tutorlib.core.building import Meta, building
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Constant, Input, Node, Op, Shared, Symbol
from tutorlib.core.storage import Storage
from tutorlib.core.toposort import toposort
from tutorlib.ops.define import TABLE
from tutorlib.ops.index import Hole

__all__ = ["GraphReader", "GraphWriter"]


class GraphWriter:
    """Numbers variables and turns them into plain data; ``arrays`` collects what is not text, by name."""

    def __init__(self, arrays: dict[str, np.ndarray] | None = None) -> None:
        self.arrays: dict[str, np.ndarray] = {} if arrays is None else arrays
        self._variables: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Symbol] = []
        self._updates: dict[int, int] = {}
        self._shared: list[Shared] = []

    def text(self, outputs: Sequence[Symbol], inputs: Sequence[Symbol] = ()) -> dict[str, Any]:
        """The graph of ``outputs``; ``inputs`` come first, whether it uses them or not.

        Raises TutorlibError for an op outside the table (a learner's own) and for attributes that are not plain data.
        """
        given = [self._number(v) for v in inputs]
        found = self._written(outputs)
        # What a random stream becomes after a draw belongs to the graph, and may bring along other streams.
        for shared in self._shared:
            if shared.default_update is not None:
                (self._updates[self._number(shared)],) = self._written([shared.default_update])
        text: dict[str, Any] = {"variables": self._variables, "outputs": found}
        if given:
            text["inputs"] = given
        if self._updates:
            text["updates"] = sorted(self._updates.items())
        return text

    def _written(self, roots: Sequence[Symbol]) -> list[int]:
        for node in toposort(roots):
            if not all(id(v) in self._numbers for v in node.outputs):
                self._node(node)
        return [self._number(v) for v in roots]

    def _enter(self, entry: dict[str, Any], *made: Symbol) -> None:
        self._variables.append(entry)
        for var in made:
            self._numbers[id(var)] = len(self._kept)
            self._kept.append(var)

    def _number(self, var: Symbol) -> int:
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
        if isinstance(var, Shared):
            self._shared.append(var)

    def _node(self, node: Node) -> None:
        entry: dict[str, Any] = {"op": node.op.name}
        if isinstance(node.op, ControlOp):
            entry |= {"results": node.op.nout, "effect": "effect" in node.op.flags}
        elif TABLE.get(node.op.name) is not node.op:
            raise TutorlibError(
                f"{node.op.name} is not in the op table, so no reader would know it",
                fix="save the graph before that op, or express it by table ops",
                source=node.source,
            )
        entry["inputs"] = [self._number(v) for v in node.inputs]
        try:
            entry["attrs"] = {key: self._attribute(value) for key, value in node.attrs.items()}
        except TypeError as error:
            raise TutorlibError(
                f"{node.op.name} cannot be saved: {error}",
                fix="save the graph before that op",
                source=node.source,
            ) from None
        entry["names"] = [v.name for v in node.outputs]
        more = {"role": node.role if node.role != "forward" else "", "scope": node.scope}
        self._enter(entry | {key: value for key, value in more.items() if value}, *node.outputs)

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, Subgraph):
            return {"graph": GraphWriter(self.arrays).text(value.outputs, value.inputs)}
        return {"layout": _plain(tuple(value))} if isinstance(value, Layout) else _plain(value)


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


class GraphReader:
    """Makes variables from what ``GraphWriter`` wrote; ``arrays`` by name."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays

    def variables(self, text: Mapping[str, Any]) -> list[Symbol]:
        """All variables of the graph, by number. Raises TutorlibError for an op that is not known here."""
        known: list[Symbol] = []
        for entry in text["variables"]:
            known += self._made(entry, known)
        for shared, update in text.get("updates", ()):
            known[shared].default_update = known[update]
        return known

    def _made(self, entry: Mapping[str, Any], known: Sequence[Symbol]) -> list[Symbol]:
        if "op" in entry:
            return self._node(entry, tuple(known[i] for i in entry["inputs"]))
        if "number" in entry:
            return [Constant(self._attribute(entry["number"]), entry["name"])]
        if "array" in entry:
            array = self._arrays[entry["array"]]
            if entry["kind"] == "constant":
                return [Constant(array, entry["name"])]
            return [Shared(Storage(array, entry["name"]), tuple(entry["shape"]), entry["name"])]
        return [Input(AVal(tuple(entry["shape"]), np.dtype(entry["dtype"])), name=entry["name"])]

    def _node(self, entry: Mapping[str, Any], inputs: tuple[Symbol, ...]) -> list[Symbol]:
        op = _op_of(entry)
        attrs = {key: self._attribute(value) for key, value in entry["attrs"].items()}
        with building.using(Meta(entry.get("role", "forward"), None, entry.get("scope", ""))):
            node = Node(op, inputs, attrs, None)
        found = op.infer(*(v.aval for v in inputs), **attrs)  # type: ignore[misc]
        avals = (found,) if op.nout == 1 else found
        node.outputs = tuple(Symbol(a, node, i, n) for i, (a, n) in enumerate(zip(avals, entry["names"], strict=True)))
        return list(node.outputs)

    def _attribute(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        if kind == "tuple":
            return tuple(map(self._attribute, content))
        if kind == "slice":
            return slice(*map(self._attribute, content))
        if kind == "ellipsis":
            return Ellipsis
        if kind == "layout":
            return Layout(*self._attribute(content))
        if kind == "graph":
            inside = self.variables(content)
            inputs = [inside[i] for i in content.get("inputs", ())]
            return Subgraph(inputs, [inside[i] for i in content["outputs"]])
        return Hole(content) if kind == "hole" else float(content)


def _op_of(entry: Mapping[str, Any]) -> Op:
    name = entry["op"]
    if "results" in entry and name in CONTROL_OPS:
        return CONTROL_OPS[name](entry["results"], entry["effect"])
    op = op_called(name)
    if op is None:
        raise TutorlibError(
            f"no op is called {name!r} here", fix="use the tutorlib that wrote the file, or a newer one"
        )
    return op
