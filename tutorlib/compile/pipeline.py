"""From the graph as written to the graph that runs, by mode."""

from __future__ import annotations

from tutorlib.compile import rules_algebra, rules_basic, rules_fold, rules_stable
from tutorlib.compile.graph_state import GraphState
from tutorlib.compile.prepare import plainly, prepared
from tutorlib.compile.rewrite import RewriteLog, rewrite
from tutorlib.compile.verify import check_step
from tutorlib.core.graph import Symbol

# In the order they run; importing them enters their rules.
RULE_MODULES = (rules_basic, rules_stable, rules_fold, rules_algebra)


def rewritten(roots: list[Symbol], mode: str | None) -> tuple[list[Symbol], RewriteLog]:
    """The outputs to compute and the log of how they came about, in the mode of ``tl.function``."""
    if mode == "plain":
        return plainly(roots), RewriteLog(GraphState(roots))
    found, log = rewrite(roots, check=check_step if mode == "check" else None)
    return prepared(found, lambda inner: rewritten(inner, mode)[0]), log
