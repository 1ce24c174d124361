"""The op table: every op once, with its forward computation, shape rule and gradient rule. Importing it fills
``OPS``."""

from tutorlib.ops import (
    activations,
    conv,
    convert,
    elementwise,
    index,
    linalg,
    logic,
    nn,
    numpy_protocol,
    pool,
    reduce,
    shape,
    special,
    trigonometry,
)

__all__ = [
    "activations",
    "conv",
    "convert",
    "elementwise",
    "index",
    "linalg",
    "logic",
    "nn",
    "numpy_protocol",
    "pool",
    "reduce",
    "shape",
    "special",
    "trigonometry",
]
