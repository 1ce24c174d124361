"""The op table: every op once, with its forward computation, shape rule and gradient rule. Importing it fills
``OPS``, but for the families in ``later``."""

from tutorlib.core.quick import install
from tutorlib.ops import (
    activations,
    array_rules,
    convert,
    creators,
    einsum,
    elementwise,
    gradient_control,
    index,
    join,
    linalg,
    linear,
    logic,
    losses,
    nn,
    numpy_protocol,
    reduce,
    shape,
    special,
    statistics,
    trigonometry,
)
from tutorlib.ops.define import TABLE

__all__ = [
    "activations",
    "array_rules",
    "convert",
    "creators",
    "einsum",
    "elementwise",
    "gradient_control",
    "index",
    "join",
    "linalg",
    "linear",
    "logic",
    "losses",
    "nn",
    "numpy_protocol",
    "reduce",
    "shape",
    "special",
    "statistics",
    "trigonometry",
]

install(TABLE)
array_rules.attach(dict.keys(TABLE))
