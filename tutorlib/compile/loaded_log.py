"""A rewrite log read from a file: to be looked at, stepped through and drawn, without the function that made it."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.compile.control import op_called
from tutorlib.compile.log_data import FORMAT, KIND
from tutorlib.compile.rewrite_log import NearMiss, RewriteLog, RewriteStep
from tutorlib.core.aval import AVal
from tutorlib.core.building import Meta, building
from tutorlib.core.errors import TutorlibError
from tutorlib.core.graph import Constant, Input, Node, Op, Symbol
from tutorlib.core.source import SourceLine

__all__ = ["LoadedLog", "SavedLeaf", "load_log"]


def load_log(path: Any) -> LoadedLog:
    """Read what ``f.log.save(path)`` wrote. Nothing of it runs: ops are looked up by name, attributes are text.

    Raises TutorlibError for a file that is none, or of a later format.

    >>> import tempfile, tutorlib as tl
    >>> x = tl.vector("x")
    >>> f = tl.function([x], tl.log(1 + tl.exp(x)) * 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = tl.load_log(f.log.save(f"{folder}/softplus"))
    >>> log
      1  times_one                x · 1 = x
      2  log_of_one_plus_exp      log(1 + eˣ) = softplus(x)
    >>> [v.node.op.name for v in log.goto(0)], [v.node.op.name for v in log.goto(2)]
    (['mul'], ['softplus'])
    """
    file = Path(path)
    file = file if file.exists() else file.with_name(file.name + ".json")
    if not file.exists():
        raise TutorlibError(f"there is no file {Path(path).name}", fix="look at the path")
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        data = None
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise TutorlibError(f"{file.name} is not a rewrite log", fix="write one with f.log.save(path)")
    if data.get("format") != FORMAT:
        raise TutorlibError(f"{file.name} has format {data.get('format')}", fix="use a newer tutorlib")
    try:
        return LoadedLog(data)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise TutorlibError(f"{file.name} is damaged: {error}", fix="save the log again") from None


class LoadedLog(RewriteLog):
    """A log from a file, with the steps, the near misses and ``goto`` of any other. Its graphs cannot be run."""

    def __init__(self, data: dict[str, Any]) -> None:
        reader = _Reader(data)
        self._nodes = reader.nodes
        self._states = [
            ([(self._nodes[i], reader.pick(inputs)) for i, inputs in state["inputs"]], reader.pick(state["outputs"]))
            for state in data["states"]
        ]
        self._first = [node.inputs for node in self._nodes]
        self._runs = int(data["rewrites"])
        self.steps = [
            RewriteStep(
                entry["n"], entry["rule"], entry["says"], reader.variables[entry["before"]],
                reader.variables[entry["after"]], reader.line(entry["line"]), _float(entry["check"]),
            )
            for entry in data["steps"]
        ]  # fmt: skip
        self.near = [NearMiss(e["rule"], reader.variables[e["at"]], e["why"]) for e in data["near"]]
        self.inside = [(self._nodes[e["node"]], LoadedLog(e["log"])) for e in data["inside"]]
        self._at = len(self.steps)
        self.goto(self._at)

    def goto(self, n: int) -> list[Symbol]:
        self._within(n)
        for node, inputs in zip(self._nodes, self._first, strict=True):
            node.inputs = inputs
        for changed, _ in self._states[: n + 1]:
            for node, inputs in changed:
                node.inputs = inputs
        self._at = n
        return list(self._states[n][1])


class SavedLeaf(Input):
    """A leaf whose numbers are not in the file; ``kind`` is what it was."""

    __slots__ = ("kind",)

    def __init__(self, aval: AVal, name: str | None, kind: str) -> None:
        super().__init__(aval, name=name)
        self.kind = kind


class SavedLine(SourceLine):
    """A line of a program that need not be on this machine."""

    __slots__ = ("_at", "_context", "_text", "_where")

    def __init__(self, entry: dict[str, Any]) -> None:
        super().__init__(entry["where"], entry["line"], entry["end_line"], entry["column"], entry["end_column"])
        self._where, self._text = str(entry["where"]), str(entry["text"])
        self._context, self._at = [str(line) for line in entry["context"]], int(entry["at"])

    @property
    def text(self) -> str:
        return self._text

    @property
    def where(self) -> str:
        return self._where

    def context(self, around: int = 2) -> tuple[list[str], int]:
        first = max(0, self._at - around)
        return self._context[first : self._at + around + 1], self._at - first

    def pointer(self) -> str:
        return self._text


class _Read(str):
    """An attribute that is known as text only."""

    def __repr__(self) -> str:
        return str(self)


def _not_here(*_: Any, **__: Any) -> Any:
    raise TutorlibError("a log holds ops by name, and this one is not in the op table", fix="build the graph again")


class _Reader:
    """Variables, nodes and lines by number."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._lines = [SavedLine(entry) for entry in data["lines"]]
        self.nodes: list[Node] = []
        self.variables: list[Symbol] = []
        self._ops: dict[str, Op] = {}
        waiting = iter(data["nodes"])
        outputs: list[list[Symbol]] = []
        for entry in data["variables"]:
            if entry["kind"] != "result":
                self.variables.append(_leaf(entry))
                continue
            while len(self.nodes) <= entry["node"]:
                self.nodes.append(self._node(next(waiting)))
                outputs.append([])
            made = outputs[entry["node"]]
            made.append(Symbol(_aval(entry), self.nodes[entry["node"]], len(made), entry["name"]))
            self.variables.append(made[-1])
        for node, made in zip(self.nodes, outputs, strict=True):
            node.outputs = tuple(made)

    def _node(self, entry: dict[str, Any]) -> Node:
        name = str(entry["op"])
        op = op_called(name) or self._ops.setdefault(name, Op(name, _not_here))
        attrs = {
            key: ast.literal_eval(value["literal"]) if "literal" in value else _Read(value["text"])
            for key, value in entry["attrs"].items()
        }
        with building.using(Meta(entry["role"], None, entry["scope"])):
            return Node(op, self.pick(entry["inputs"]), attrs, self.line(entry["line"]))

    def pick(self, numbers: list[int]) -> tuple[Symbol, ...]:
        return tuple(self.variables[i] for i in numbers)

    def line(self, number: int | None) -> Any:
        return None if number is None else self._lines[number]


def _aval(entry: dict[str, Any]) -> AVal:
    return AVal(tuple(entry["shape"]), np.dtype(entry["dtype"]), bool(entry["weak"]))


def _leaf(entry: dict[str, Any]) -> Symbol:
    value = entry.get("value")
    if entry["kind"] == "constant" and value is not None:
        if entry["weak"]:
            return Constant(_float(value) if isinstance(value, str) else value, entry["name"])
        numbers = [_float(v) if isinstance(v, str) else v for v in value]
        return Constant(np.array(numbers, entry["dtype"]).reshape(entry["shape"]), entry["name"])
    return SavedLeaf(_aval(entry), entry["name"], str(entry["kind"]))


def _float(value: Any) -> Any:
    return float(value.replace("Infinity", "inf")) if isinstance(value, str) else value
