"""SharedView: chosen shared variables over their updates, live while a cell runs, with a scrubber afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutorlib.core.errors import TutorlibError
from tutorlib.messages import language, message, table
from tutorlib.viz.contour import contour_spec, surface_of
from tutorlib.viz.display import new_key
from tutorlib.viz.following import FollowingView, run_of
from tutorlib.viz.run import Run
from tutorlib.viz.shared_spec import describe, shared_spec
from tutorlib.viz.shared_svg import shared_svg
from tutorlib.viz.widget_base import HAS_WIDGETS, front_end, trait

__all__ = ["SharedView"]


class SharedView(FollowingView):
    """The values of shared variables, or of parameters, over their updates.

    Args:
        what: a run of `tl.record`, or two of them to compare (the second is dashed); or what to record from now on:
            variables, lists or dicts of them, models.
        every: record each `every`-th update only.
        contour: the loss to draw over two numbers, with the way the updates took: a compiled function with its inputs,
            `(step, X, y)`, or a callable of the two numbers. By default that of the function that trained, if the run
            has two numbers in all; False for none.
        over: the names of the variables that hold the two numbers, where the run has more.
        theme: "auto", "light" or "dark".
        height: of the view in px.

    However long the run, at most 200 frames are kept: see `tl.record`.

    Attributes: `run`, `frames` (its numbers), `selected` and `frame` (kept in step with the page), `live` (whether
    recording goes on).

    Raises TypeError for something that keeps no value, ValueError for a contour that cannot be drawn.

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
    <BLANKLINE>
    Update 2:
    count ← count + 1
      count ← 1 + 1 = 2
    """

    _esm = front_end("shared_view")

    spec = trait({})
    messages = trait({})
    lang = trait("en")
    theme = trait("auto")
    height = trait(560)
    selected = trait("")
    frame = trait(0)
    live = trait(True)
    key = trait("")
    link = trait("")
    # The page asks for a rewind with the number of an update, and reads what came of it.
    wanted = trait(-1)
    notice = trait("")

    def __init__(
        self,
        *what: Any,
        every: int = 1,
        contour: Any = None,
        over: Sequence[str] | None = None,
        theme: str = "auto",
        height: int = 560,
    ) -> None:
        run, own = run_of(what, every, "thumb", most=2)
        self.run = run
        self._other: Run | None = None if own or len(what) < 2 else what[1]
        self._contour, self._over = contour, over
        self._surface: Any = None
        self._drawn: dict[str, Any] | None = None
        if contour not in (None, False):
            surface_of(run, contour, over)
        super().__init__(
            spec=self._make_spec(),
            messages=table("widgets"),
            lang=language(),
            theme=theme,
            height=height,
            live=run.live,
            key=new_key("shared"),
        )
        self.frame = len(self.spec["frames"]) - 1
        self._follow(run, own)
        if self._other is not None:
            self._other.follow(self)
        if HAS_WIDGETS:
            self.observe(self._wish, "wanted")  # type: ignore[attr-defined]

    @property
    def frames(self) -> list[dict[str, Any]]:
        """The frames kept, oldest first, as `Run.frames` gives them."""
        return self.run.frames

    def mark(self, text: str) -> SharedView:
        """Put a word on the present update, such as "epoch 2"; returns the view itself."""
        self.run.mark(text)
        return self

    def stop(self) -> None:
        """Record no more updates; what was recorded stays."""
        self.run.stop()
        self.refresh()

    def rewind(self, update: int) -> None:
        """Put the model back to update number `update` and go on from there: see `Run.rewind`."""
        self.run.rewind(update)
        self.refresh()

    def describe(self) -> str:
        """All the updates kept, as a table of text, and the last one as arithmetic."""
        return describe(self.run, self._other)

    def svg(self) -> str:
        """The picture as SVG text. `theme="dark"` gives a dark card."""
        return shared_svg(self.up_to_date(), "dark" if self.theme == "dark" else "light")

    def _make_spec(self) -> dict[str, Any]:
        return shared_spec(self.run, self._other, self._draw_contour())

    def _draw_contour(self) -> dict[str, Any] | None:
        """The contour, drawn anew only when the way has left it."""
        if self._contour is False or not self.run.names:
            return None
        if self._surface is None:
            self._surface = surface_of(self.run, self._contour, self._over)
        if self._surface is None:
            return None
        self._drawn = contour_spec(self.run, self._surface, self._other, self._drawn)
        return self._drawn

    def _show_spec(self, spec: dict[str, Any]) -> None:
        at_end = self.frame >= len(self.spec["frames"]) - 1
        self.spec = spec
        self.live = self.run.live
        if at_end:
            # Somebody who has not scrubbed back wants to see the newest value.
            self.frame = len(spec["frames"]) - 1

    def _wish(self, change: Any) -> None:
        if change["new"] < 0:
            return
        try:
            self.rewind(change["new"])
            self.notice = message("widgets.rewound", update=change["new"])
            self.frame = len(self.spec["frames"]) - 1
        except TutorlibError as error:
            self.notice = f"{error.says} – {error.fix}"
        finally:
            self.wanted = -1
