"""What every test run needs before it starts: a fixed environment, the notebook comparison, the browser fixture.

It lives in the root because notebooks are collected from outside `tests/`. One folder's fixtures belong in that folder.
"""

import os
import tempfile

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
# Of compiled C too a test run leaves nothing behind; its worker processes share what the first of them compiled.
if "TUTORLIB_CACHE" not in os.environ:
    _cache = tempfile.TemporaryDirectory(prefix="tutorlib-cache-", ignore_cleanup_errors=True)
    os.environ["TUTORLIB_CACHE"] = _cache.name

pytest_plugins = ["tests.browser_available"]


def pytest_collectstart(collector):
    """Compare a notebook's text, not its pictures: those have golden tests of their own."""
    path = getattr(collector, "path", None)
    if path is not None and path.suffix == ".ipynb" and hasattr(collector, "skip_compare"):
        collector.skip_compare = (*collector.skip_compare, "text/html", "image/svg+xml")
