"""The op table: every op once, with its forward computation, shape rule and gradient rule. Importing it fills
``OPS``."""

from tutorlib.ops import convert, elementwise, index, linalg, nn, numpy_protocol, reduce, shape

__all__ = ["convert", "elementwise", "index", "linalg", "nn", "numpy_protocol", "reduce", "shape"]
