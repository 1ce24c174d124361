"""Grading a class: takes answers out of notebooks, runs them in processes of their own, compares outside of them.

`template.py` reads the lesson, `submission.py` what a learner handed in; `worker.py` and `witness.py` are what runs in
the process with the learner's code, `process.py` starts and ends it; `verdict.py` decides; `run.py` does a whole
class, `report.py` writes what the teacher gets. The manual is `docs/grading.md`.
"""
