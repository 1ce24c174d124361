"""GradientView: how large the gradients of a run are, layer by layer and step by step, with nothing left out."""

from __future__ import annotations

from typing import Any

from tutorlib.messages import language, table
from tutorlib.viz.display import new_key
from tutorlib.viz.following import FollowingView, run_of
from tutorlib.viz.gradient_spec import describe, gradient_spec
from tutorlib.viz.gradient_svg import gradient_svg
from tutorlib.viz.widget_base import front_end, trait

__all__ = ["GradientView"]


class GradientView(FollowingView):
    """The gradients that the updates of a run used: their sizes per layer, over the steps, and how they are spread.

    Args:
        what: a run of `tl.record`; or what to record from now on: variables, lists or dicts of them, models.
        every: record each `every`-th update only.
        theme: "auto", "light" or "dark".
        height: of the view in px.

    Zeros, NaN and infinities are counted apart and never left out; a layer without a gradient says why it has none.

    Attributes: `run`, `selected` (the id of a layer), `step` (from 0) and `view` ("flow", "heat" or "histogram"), kept
    in step with the page.

    Raises TypeError for something that keeps no value.

    >>> import tutorlib as tl
    >>> w = tl.Parameter([1.0, 2.0], name="w")
    >>> view = tl.GradientView(w)
    >>> (w * w).sum().backward()
    >>> with tl.no_grad():
    ...     w -= 0.1 * w.grad
    >>> print(view.describe())
    Gradients of a run: layers 1, steps 1, the last at update 1.
    <BLANKLINE>
    Update 1
    layer  norm   median  ‖Δw‖/‖w‖  zeros  NaN  inf
    w      4.472  3       0.2       0      0    0
    """

    _esm = front_end("gradient_view")

    spec = trait({})
    messages = trait({})
    lang = trait("en")
    theme = trait("auto")
    height = trait(500)
    selected = trait("")
    step = trait(0)
    view = trait("flow")
    key = trait("")
    link = trait("")

    def __init__(self, *what: Any, every: int = 1, theme: str = "auto", height: int = 500) -> None:
        run, own = run_of(what, every, "thumb")
        self.run = run
        spec = gradient_spec(run)
        super().__init__(
            spec=spec,
            messages=table("widgets"),
            lang=language(),
            theme=theme,
            height=height,
            step=max(0, len(spec["steps"]) - 1),
            key=new_key("gradient"),
        )
        self._follow(run, own)

    def describe(self) -> str:
        """The last step as a table, and the norms over the steps, as text."""
        return describe(self.up_to_date())

    def svg(self) -> str:
        """The picture as SVG text. `theme="dark"` gives a dark card."""
        return gradient_svg(self.up_to_date(), "dark" if self.theme == "dark" else "light")

    def figure(self, step: int = -1) -> Any:
        """The plots as a `matplotlib.figure.Figure`, for papers: `view.figure().savefig("gradients.pdf")`.

        `step` counts the steps kept, from 0. Raises IndexError for a step that is not there.
        """
        from tutorlib.viz.gradient_figure import gradient_figure

        return gradient_figure(self.up_to_date(), step)

    def _make_spec(self) -> dict[str, Any]:
        return gradient_spec(self.run)

    def _show_spec(self, spec: dict[str, Any]) -> None:
        at_end = self.step >= len(self.spec["steps"]) - 1
        self.spec = spec
        if at_end:
            self.step = max(0, len(spec["steps"]) - 1)
