"""tutorlib: learn computation graphs and gradients with one small engine."""

__version__ = "0.1.0"
