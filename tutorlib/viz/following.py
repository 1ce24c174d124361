"""What SharedView and GradientView share: they follow a run, and tell the page of news a few times a second at most."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.display import Picture, Shown, ipython_shell
from tutorlib.viz.run import Run, record
from tutorlib.viz.widget_base import Widget

__all__ = ["FollowingView", "run_of"]

PAUSE = 0.1


def run_of(what: tuple[Any, ...], every: int, keep: str, most: int = 1) -> tuple[Run, bool]:
    """The run to show, and whether it was made here: a run as it is, variables and models recorded from now on.

    Raises TypeError for more than `most` runs, and for runs together with variables.
    """
    if any(isinstance(thing, Run) for thing in what):
        if len(what) > most or not all(isinstance(thing, Run) for thing in what):
            raise TypeError(message("widgets.error_runs", most=most))
        return what[0], False
    return record(*(what or ([],)), every=every, keep=keep), True


class FollowingView(Shown, Widget):
    """A view of a run that goes on. Subclasses give `_make_spec()`, `svg()` and the trait `spec`."""

    _ready = False
    spec: Any
    theme: Any

    def _follow(self, run: Run, own: bool) -> None:
        """Start to follow; call it when everything else is ready."""
        self.run = run
        self._own_run = own
        self._next_send = 0.0
        self._stale = False
        self._forget_cells: Callable[[], None] = lambda: None
        self._ready = True
        run.follow(self)
        self._flush_after_cells()

    def _make_spec(self) -> dict[str, Any]:
        raise NotImplementedError

    def svg(self) -> str:
        """The picture as SVG text. `theme="dark"` gives a dark card."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Send what was recorded to the page now; happens by itself while a cell runs and at its end."""
        started = time.monotonic()
        self._stale = False
        self._show_spec(self._make_spec())
        # A long history takes longer to send; sending must stay a small part of the run.
        self._next_send = time.monotonic() + max(PAUSE, 10 * (time.monotonic() - started))

    def _show_spec(self, spec: dict[str, Any]) -> None:
        self.spec = spec

    def run_changed(self) -> None:
        """The run has a new frame."""
        self._stale = True
        if self._ready and time.monotonic() >= self._next_send:
            self.refresh()

    def up_to_date(self) -> dict[str, Any]:
        """The spec with everything recorded so far."""
        if self._stale:
            self.refresh()
        return self.spec

    def static(self) -> Picture:
        """The view as a picture."""
        self.refresh()
        return Picture(self.svg(), self.spec["text"], self.spec["summary"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.up_to_date()['summary']}>"

    def close(self) -> None:
        """End the live view, and the recording if it is the view's own."""
        # ipywidgets closes a view that `__init__` refused, too.
        if self._ready:
            if self._own_run:
                self.run.stop()
            self._ready = False
            self._forget_cells()
        super().close()

    def _flush_after_cells(self) -> None:
        """The last updates of a cell may fall into the pause between two sendings."""
        shell = ipython_shell()
        if shell is None:
            return
        events, me = shell.events, weakref.ref(self)

        def flush(result: Any = None) -> None:
            view = me()
            if view is None:
                events.unregister("post_run_cell", flush)
            elif view._stale:
                view.refresh()

        def forget() -> None:
            with contextlib.suppress(ValueError):
                events.unregister("post_run_cell", flush)

        events.register("post_run_cell", flush)
        self._forget_cells = forget
