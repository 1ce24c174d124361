"""What holds for every test of static mode: nobody watches but who is asked to in the test."""

from __future__ import annotations

import pytest

from tutorlib.core import observe


@pytest.fixture(autouse=True)
def nobody_else_watches():
    """Recordings of other test modules may live as long as these, and a watched call takes the careful way."""
    before = list(observe.observers)
    observe.observers.clear()
    yield
    observe.observers[:] = before
