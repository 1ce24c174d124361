"""What every test run needs before it starts: a fixed environment, the notebook comparison, the browser fixture.

It lives in the root because notebooks are collected from outside `tests/`. One folder's fixtures belong in that folder.
"""

import os

# Kernels inherit these, so a lesson's stored output is the same on every machine.
os.environ.update(
    OMP_NUM_THREADS="1",
    OPENBLAS_NUM_THREADS="1",
    PYTHONHASHSEED="0",
    MPLBACKEND="module://matplotlib_inline.backend_inline",
    TUTORLIB_DISPLAY="static",
    TUTORLIB_DEVICE="cpu",
    TUTORLIB_LANG="en",
    TUTORLIB_PROGRESS="",  # a test run is nobody's progress
)

pytest_plugins = ["tests.browser_available"]


def pytest_collectstart(collector):
    """Compare a notebook's text, not its pictures: those have golden tests of their own."""
    path = getattr(collector, "path", None)
    if path is not None and path.suffix == ".ipynb" and hasattr(collector, "skip_compare"):
        collector.skip_compare = (*collector.skip_compare, "text/html", "image/svg+xml")
