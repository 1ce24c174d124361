"""A rewrite log as plain data that can be written to a file: every graph from as written to what runs, and the steps.

Only what can be looked at is kept: ops by name, attributes as text, the numbers of small constants. A file holds no
code, and none runs when it is read.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.core.backend import to_host
from tutorlib.core.graph import Constant, Node, Symbol
from tutorlib.core.toposort import toposort

__all__ = ["FORMAT", "KIND", "log_data", "write_log"]

FORMAT = 1
KIND = "tutorlib rewrite log"
NUMBERS = 64
AROUND = 2


def write_log(log: Any, path: Any, overwrite: bool) -> Path:
    """Write a log to a JSON file. Raises FileExistsError for a file that exists, unless ``overwrite``."""
    text = json.dumps(log_data(log), ensure_ascii=False, allow_nan=False, indent=1)
    target = Path(path)
    target = target if target.suffix == ".json" else target.with_name(target.name + ".json")
    with target.open("w" if overwrite else "x", encoding="utf-8") as file:
        file.write(text + "\n")
    return target


def log_data(log: Any) -> dict[str, Any]:
    """Everything a log holds as JSON: variables and nodes by number, what each step changed, the steps, near misses."""
    writer = _Writer()
    at, states = log.at, []
    try:
        for n in range(len(log) + 1):
            outputs = log.goto(n)
            changed = writer.changes(toposort(outputs))
            states.append({"inputs": changed, "outputs": [writer.number(v) for v in outputs]})
        steps = [
            {
                "n": step.n, "rule": step.rule, "says": step.says, "before": writer.number(step.before),
                "after": writer.number(step.after), "line": writer.line(step.source), "check": _number(step.check),
            }
            for step in log.steps
        ]  # fmt: skip
        inside = [{"node": writer.node(node), "log": log_data(inner)} for node, inner in log.inside]
        near = [{"rule": miss.rule, "at": writer.number(miss.at), "why": str(miss.why)} for miss in log.near]
    finally:
        log.goto(at)
    return {
        "kind": KIND, "format": FORMAT, "rewrites": log.rewrites, "lines": writer.lines, "variables": writer.variables,
        "nodes": writer.nodes, "states": states, "steps": steps, "near": near, "inside": inside,
    }  # fmt: skip


class _Writer:
    """Gives numbers to variables, nodes and lines as they are met."""

    def __init__(self) -> None:
        self.variables: list[dict[str, Any]] = []
        self.nodes: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self._variable: dict[int, int] = {}
        self._node: dict[int, int] = {}
        self._line: dict[Any, int] = {}
        self._inputs: dict[int, list[int]] = {}
        self._alive: list[Any] = []

    def number(self, var: Symbol) -> int:
        """The number of a variable; that of a node's output comes with the node, inputs first."""
        for node in toposort([var], stop=lambda v: id(v) in self._variable):
            self.node(node)
        if id(var) not in self._variable:
            self._enter(var, {"kind": var.kind} | _value(var))
        return self._variable[id(var)]

    def _enter(self, var: Symbol, entry: dict[str, Any]) -> None:
        self._alive.append(var)
        self._variable[id(var)] = len(self.variables)
        name = None if var.name is None else str(var.name)
        known = {"name": name, "shape": list(var.shape), "dtype": var.dtype.name, "weak": var.aval.weak}
        self.variables.append(entry | known)

    def node(self, node: Node) -> int:
        if id(node) in self._node:
            return self._node[id(node)]
        inputs = [self.number(v) for v in node.inputs]
        number = self._node[id(node)] = len(self.nodes)
        self._alive.append(node)
        self._inputs[id(node)] = inputs
        self.nodes.append(
            {
                "op": node.op.name,
                "attrs": {k: _text(v) for k, v in node.attrs.items() if not hasattr(v, "outputs")},
                "inputs": inputs,
                "role": node.role,
                "scope": node.scope or "",
                "line": self.line(node.source),
            }
        )
        for var in node.outputs:
            self._enter(var, {"kind": "result", "node": number})
        return number

    def changes(self, nodes: list[Node]) -> list[list[Any]]:
        """[node, inputs] for every node that has other inputs than when it was met last."""
        found: list[list[Any]] = []
        for node in nodes:
            number = self.node(node)
            inputs = [self.number(v) for v in node.inputs]
            if inputs != self._inputs[id(node)]:
                self._inputs[id(node)] = inputs
                found.append([number, inputs])
        return found

    def line(self, source: Any) -> int | None:
        """The number of a line of the learner's program, kept with its surroundings."""
        if source is None:
            return None
        key = (source.filename, source.line, source.column, source.end_column)
        if key not in self._line:
            context, at = source.context(AROUND)
            self._line[key] = len(self.lines)
            self.lines.append(
                {
                    "where": source.where, "text": source.text, "context": context, "at": at, "line": source.line,
                    "end_line": source.end_line, "column": source.column, "end_column": source.end_column,
                }
            )  # fmt: skip
        return self._line[key]


def _text(value: Any) -> dict[str, str]:
    """An attribute: a literal of Python where it is one, else how it reads."""
    text = repr(value)
    try:
        literal = ast.literal_eval(text) == value
    except (ValueError, SyntaxError, TypeError):
        literal = False
    return {"literal": text} if literal else {"text": text}


def _value(var: Symbol) -> dict[str, Any]:
    """The numbers of a small constant; a large one and a shared variable are known by shape and dtype only."""
    if not isinstance(var, Constant):
        return {}
    if var.aval.weak:
        return {"value": _number(var.value)}
    host = np.asarray(to_host(var.value))
    if host.size > NUMBERS or host.dtype.kind not in "fiub":
        return {}
    return {"value": [_number(v) for v in host.reshape(-1).tolist()]}


def _number(value: Any) -> Any:
    """A number as JSON has it; NaN and the infinities as text."""
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value
