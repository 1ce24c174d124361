"""SharedView: chosen shared variables over their updates, live while a cell runs, with a scrubber afterwards."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tutorlib.core.graph import Shared
from tutorlib.core.tensor import Tensor
from tutorlib.messages import language, message, table
from tutorlib.tools.history import History
from tutorlib.viz import shared_spec
from tutorlib.viz.display import Picture, Shown, ipython_shell, new_key
from tutorlib.viz.shared_svg import shared_svg
from tutorlib.viz.widget_base import Widget, trait

__all__ = ["SharedView"]

STATIC = Path(__file__).parent / "static"
PAUSE = 0.1


class SharedView(Shown, Widget):
    """The values of shared variables, or of parameters, from now on: every update adds a frame.

    Args:
        variables: what to watch, one or several.
        every: record each `every`-th update only.
        theme: "auto", "light" or "dark".
        height: of the view in px.

    However long the run, at most 200 frames are kept (every 2nd, 4th, … update; never without the first, the last and
    the marked ones).

    Attributes: `frames` (the numbers, see there), `selected` and `frame` (kept in step with the page), `live` (whether
    recording goes on).

    Raises TypeError for something that keeps no value.

    >>> import tutorlib as tl
    >>> count = tl.shared(0, name="count")
    >>> view = tl.SharedView(count)
    >>> increment = tl.function([], count, updates=[(count, count + 1)], name="increment")
    >>> returned = increment(), increment()
    >>> print(view.describe())
    count: 2 updates.
    <BLANKLINE>
    update  by         count  returned
    0       start      0
    1       increment  1      0
    2       increment  2      1
    """

    _esm = STATIC / "shared_view.js"

    spec = trait({})
    messages = trait({})
    lang = trait("en")
    theme = trait("auto")
    height = trait(420)
    selected = trait("")
    frame = trait(0)
    live = trait(True)
    key = trait("")

    _ready = False

    def __init__(self, *variables: Any, every: int = 1, theme: str = "auto", height: int = 420) -> None:
        if len(variables) == 1 and isinstance(variables[0], list | tuple):
            variables = tuple(variables[0])
        for variable in variables:
            if not isinstance(variable, Shared | Tensor) or (isinstance(variable, Tensor) and variable.op is not None):
                raise TypeError(message("widgets.error_not_shared", what=f"{variable!r:.60}"))
        if not variables:
            raise TypeError(message("widgets.error_nothing_to_watch"))
        self._names = shared_spec.variable_names(list(variables))
        self._next_send = 0.0
        self._stale = False
        self._forget_cells: Callable[[], None]
        self._history = History(
            variables, every=every, reduce=shared_spec.reducer(len(variables)), on_frame=self._changed
        )
        super().__init__(
            spec=shared_spec.shared_spec(self._history, self._names),
            messages=table("widgets"),
            lang=language(),
            theme=theme,
            height=height,
            live=True,
            key=new_key("shared"),
        )
        self._ready = True
        self._flush_after_cells()

    @property
    def frames(self) -> list[dict[str, Any]]:
        """The frames kept, oldest first: `update`, `by`, `marks`, `returned`, and by name `values`, `norm`, `change`.

        A value is a NumPy array for up to 4,096 elements, else a dict of its statistics.
        """
        found = []
        for frame in self._history.frames:
            named = {name: frame.values[i] for i, name in enumerate(self._names)}
            found.append(
                {
                    "update": frame.update,
                    "by": frame.by,
                    "marks": list(frame.marks),
                    "returned": frame.returned,
                    "values": {
                        n: w.kept.entry["stats"] if w.kept.array is None else w.kept.array.copy()
                        for n, w in named.items()
                    },
                    "norm": {n: w.norm for n, w in named.items()},
                    "change": {n: w.change for n, w in named.items()},
                }
            )
        return found

    def mark(self, text: str) -> SharedView:
        """Put a word on the present update, such as "epoch 2"; returns the view itself."""
        self._history.mark(text)
        return self

    def stop(self) -> None:
        """Record no more updates; what was recorded stays."""
        self._history.stop()
        self.live = False
        self.refresh()

    def refresh(self) -> None:
        """Send what was recorded to the page now; happens by itself while a cell runs and at its end."""
        started = time.monotonic()
        self._stale = False
        at_end = self.frame >= len(self.spec["frames"]) - 1
        self.spec = shared_spec.shared_spec(self._history, self._names)
        if at_end:
            # Somebody who has not scrubbed back wants to see the newest value.
            self.frame = len(self.spec["frames"]) - 1
        # A long history takes longer to send; sending must stay a small part of the run.
        self._next_send = time.monotonic() + max(PAUSE, 10 * (time.monotonic() - started))

    def describe(self) -> str:
        """All the updates kept, as a table of text."""
        return shared_spec.describe(self._history, self._names)

    def static(self) -> Picture:
        """The variables at five moments, with a line over all the updates, as a picture."""
        self.refresh()
        return Picture(self.svg(), self.spec["text"], self.spec["summary"])

    def svg(self) -> str:
        """The picture as SVG text. `theme="dark"` gives a dark card."""
        if self._stale:
            self.refresh()
        return shared_svg(self.spec, "dark" if self.theme == "dark" else "light")

    def __repr__(self) -> str:
        return f"<SharedView: {shared_spec.summary(self._history, self._names)}>"

    def _changed(self) -> None:
        self._stale = True
        if self._ready and time.monotonic() >= self._next_send:
            self.refresh()

    def close(self) -> None:
        """End the live view and the recording."""
        # ipywidgets closes a view that `__init__` refused, too.
        if self._ready:
            self._history.stop()
            self._forget_cells()
        super().close()

    def _flush_after_cells(self) -> None:
        """The last updates of a cell may fall into the pause between two sendings."""
        self._forget_cells = lambda: None
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
