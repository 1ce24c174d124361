"""Says, once, when recorded graphs pile up: the usual cause is a list of losses, each keeping its whole graph alive."""

from __future__ import annotations

import gc
import warnings
from collections import Counter

from tutorlib.core.source import Mark, SourceLine, resolve
from tutorlib.core.tensor import Tensor

# Look at every so many nodes; so many living ones are more than one model's graph.
BETWEEN_LOOKS = 1 << 18
TOO_MANY = 200_000
# The number of the node at which to look next.
due = [BETWEEN_LOOKS]
_said = False


class GraphMemoryWarning(UserWarning):
    """Recorded graphs are piling up in memory."""


def look(seq: int) -> None:
    """Count the recorded nodes that are alive, and warn once if they are more than a training loop should hold.

    ``seq`` is the number of the newest node."""
    global _said
    due[0] = seq + BETWEEN_LOOKS
    if _said:
        return
    alive: Counter[Mark | SourceLine | None] = Counter()
    for thing in gc.get_objects():
        if type(thing) is Tensor and thing.op is not None and thing.arrays is not None:
            alive[thing.place] += 1
    total = alive.total()
    if total > TOO_MANY:
        _said = True
        line = resolve(alive.most_common(1)[0][0])
        where = f" Most were made at {line.where}: {line.text}." if line is not None else ""
        warnings.warn_explicit(
            f"{total} recorded nodes are alive.{where} A kept result keeps the graph it was computed by: keep "
            "loss.item() instead of loss, or compute inside `with tl.no_grad():`.",
            GraphMemoryWarning,
            line.filename if line is not None else "tutorlib",
            line.line if line is not None else 1,
        )
