"""Static mode, as ``tutorlib`` hands it out: its names, and all that a function needs, loaded together on first use."""

from __future__ import annotations

from tutorlib.compile.arguments import In
from tutorlib.compile.function import Function, function
from tutorlib.compile.leaves import matrix, scalar, shared, symbol, tensor3, tensor4, vector
from tutorlib.compile.rewrite import rewrite
from tutorlib.compile.rewrite_log import RewriteLog, RewriteStep
from tutorlib.compile.rule_table import Rule, remove_rule, rule, rules, rules_off

__all__ = [
    "Function",
    "In",
    "RewriteLog",
    "RewriteStep",
    "Rule",
    "function",
    "matrix",
    "remove_rule",
    "rewrite",
    "rule",
    "rules",
    "rules_off",
    "scalar",
    "shared",
    "symbol",
    "tensor3",
    "tensor4",
    "vector",
]
