"""What holds for every test: it leaves nobody behind who watches the engine."""

from __future__ import annotations

import pytest

from tutorlib.core import observe


@pytest.fixture(autouse=True)
def nobody_watches_afterwards():
    """Live widgets are kept alive by ipywidgets until they are closed, and recordings by their widgets."""
    before = list(observe.observers)
    yield
    observe.observers[:] = before
