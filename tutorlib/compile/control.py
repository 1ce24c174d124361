"""Ops by name, those of loops and branches too: for whoever meets only the name, in a file or in printed source."""

from __future__ import annotations

from tutorlib.compile import head, ifelse, scan_op, while_loop  # each enters its ops
from tutorlib.compile.subgraph import CONTROL_OPS
from tutorlib.core.graph import Op
from tutorlib.ops.define import TABLE

__all__ = ["CONTROL_OPS", "head", "ifelse", "op_called", "scan_op", "while_loop"]


def op_called(name: str) -> Op | None:
    """The op of the table with this name; None if there is none."""
    return TABLE.get(name)
