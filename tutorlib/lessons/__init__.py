"""Lessons: the machine that builds their notebooks and checks their exercises.

A lesson's notebook imports `check`, `predict` and `run_in_child` from here. The prose and the code of the lessons
themselves are not in this package but in `notebooks/source/`.
"""

from tutorlib.lessons.checker import check, predict
from tutorlib.lessons.child import run_in_child

__all__ = ["check", "predict", "run_in_child"]
