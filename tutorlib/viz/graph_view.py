"""GraphView: a computation graph to explore and to step through, live in a notebook, as a picture or as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tutorlib.messages import language, message, table
from tutorlib.viz import outline
from tutorlib.viz.display import Picture, Shown, is_live, new_key
from tutorlib.viz.folding import Collapse, choose, likely_views, view_of
from tutorlib.viz.graph_spec import graph_spec
from tutorlib.viz.guesses import Prediction, check
from tutorlib.viz.standalone import page_template
from tutorlib.viz.storyboard import key_steps, storyboard_svg, storyboard_text
from tutorlib.viz.svg import graph_svg
from tutorlib.viz.widget_base import HAS_WIDGETS, Widget, front_end, trait

__all__ = ["GraphView"]


class GraphView(Shown, Widget):
    """The graph of a tensor, of a symbol, of several, of a compiled function, or of what led to an error.

    Args:
        roots: what to draw. Tensors show values and gradients as they are now: after a later `backward()` draw again.
            An error that an op raised shows the graph up to that op, with the axes that do not fit marked.
        wrt: a variable or a list: show the gradients with respect to these. Tensors show all of theirs by default; `[]`
            shows none.
        inputs: values for the input symbols of a static graph, by variable or by name, so that numbers can be seen.
        step: the step shown first; by default the last, when everything has been computed, and with `predict` none.
        predict: hide the next value until the learner has typed a guess or asks for it.
        theme: "auto", "light" or "dark".
        height: of the view in px.
        direction: "TB" (top to bottom) or "LR" (left to right).
        collapse: which named scopes (`tl.scope`) are folded at first: None, as many as are needed to see at most 300
            nodes; "all"; a depth, 1 being the outermost; names; or a function of a scope's name that says whether.
        heading: a line of text put before the outline.
        storyboard: the static picture is the `storyboard()`, a few steps side by side, instead of the last step.

    Attributes: `spec` (the data shown, as `spec.schema.json` describes it), and, kept in step with the page, `selected`
    (the id of a node, or ""), `step`, `collapsed` (the names of the folded scopes), `predict` and `predictions` (what
    was guessed, one dict a step).

    Raises TypeError for something that has no graph, ValueError for an input that the graph does not have.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> view = tl.GraphView(x * x, inputs={x: 3.0})
    >>> print(view.describe())
    Computation graph of mul: operations 1, inputs 1. Steps: 1.
    <BLANKLINE>
    out mul [n0] float64 () = 9  (cell, line 1)
      in x [n1] float64 () = 3
      in x [n1] float64 () = 3
    <BLANKLINE>
    Steps:
    step 1 of 1, forward, mul: mul = x · x, 9 = 3 · 3
    """

    _esm = front_end("graph_view")

    spec = trait({})
    messages = trait({})
    lang = trait("en")
    theme = trait("auto")
    height = trait(420)
    selected = trait("")
    step = trait(0)
    predict = trait(False)
    predictions = trait([])
    page = trait("")
    collapsed = trait([])
    views = trait([])
    view = trait({})
    key = trait("")
    link = trait("")

    def __init__(
        self,
        roots: Any,
        *,
        wrt: Any = None,
        inputs: Mapping[Any, Any] | None = None,
        step: int | None = None,
        predict: bool = False,
        theme: str = "auto",
        height: int = 420,
        direction: str = "TB",
        collapse: Collapse = None,
        heading: str = "",
        storyboard: bool = False,
    ) -> None:
        self._arrays: dict[str, Any] = {}
        spec = graph_spec(roots, wrt=wrt, inputs=inputs, direction=direction, collapse=collapse, keep=self._arrays)
        total = len(spec["trace"])
        self._heading, self._direction, self._storyboard, self._collapse = heading, direction, storyboard, collapse
        super().__init__(
            spec=spec,
            messages=table("widgets"),
            lang=language(),
            theme=theme,
            height=height,
            step=(0 if predict else total) if step is None else max(0, min(total, step)),
            predict=predict,
            page=page_template(),
            collapsed=spec["collapsed"],
            views=self._ahead(spec),
            key=new_key("graph"),
        )
        if HAS_WIDGETS:
            self.observe(self._fold, "collapsed")  # type: ignore[attr-defined]

    def redraw(self, roots: Any, *, wrt: Any = None, inputs: Mapping[Any, Any] | None = None) -> None:
        """Show another graph, or the same with other values, in the place of this one: for sliders and the like.

        The arguments are those of the view. It stays at its step; from the last step it goes to the new last step.

        >>> import tutorlib as tl
        >>> x = tl.scalar("x")
        >>> view = tl.GraphView(x * x, inputs={x: 3.0})
        >>> view.redraw(x + 1, inputs={x: 3.0})
        >>> print(view.describe().splitlines()[-1])
        step 1 of 1, forward, add: add = x + 1, 4 = 3 + 1
        """
        at_end = self.step == len(self.spec["trace"])
        arrays: dict[str, Any] = {}
        spec = graph_spec(
            roots, wrt=wrt, inputs=inputs, direction=self._direction, collapse=self._collapse, keep=arrays
        )
        total = len(spec["trace"])
        self._arrays, self.predictions = arrays, []
        self.views, self.view = [], {}
        self.spec, self.collapsed, self.views = spec, spec["collapsed"], self._ahead(spec)
        self.step = total if at_end else min(self.step, total)

    def _ahead(self, spec: dict[str, Any]) -> list[dict[str, Any]]:
        """Other foldings for the page; a picture needs none."""
        return likely_views(spec, self._direction) if spec["graph"]["scopes"] and is_live() else []

    def _fold(self, change: Any) -> None:
        """Answer the page, or the learner, who asks for another folding."""
        asked = choose(self.spec["graph"], change["new"])
        if asked != change["new"]:
            self.collapsed = asked
        elif not any(view.get("collapsed") == asked for view in (self.spec, self.view, *self.views)):
            self.view = view_of(self.spec, asked, self._direction)

    @property
    def shown(self) -> dict[str, Any]:
        """The spec as it is folded now."""
        for view in (self.spec, self.view, *self.views):
            if view.get("collapsed") == self.collapsed:
                return {**self.spec, **view}
        return {**self.spec, **view_of(self.spec, self.collapsed, self._direction)}

    def check_predictions(self) -> list[Prediction]:
        """What was guessed in predict mode, each guess judged here on the actual array.

        >>> import tutorlib as tl
        >>> x = tl.scalar("x")
        >>> view = tl.GraphView(x / 3, inputs={x: 1.0}, predict=True)
        >>> view.predictions = [{"step": 1, "node": "n0", "guesses": ["1", "1/3"], "hints": 1, "outcome": "right"}]
        >>> (found,) = view.check_predictions()
        >>> found.name, found.guess, found.right, found.answer, found.tries, found.hints
        ('div', '1/3', True, '0.3333', 2, 1)
        """
        names = {node["id"]: node["name"] or node["label"] for node in self.spec["graph"]["nodes"]}
        return check(self.predictions, names, self._arrays)

    def describe(self) -> str:
        """Everything that the view shows, as text: summary, outline, and every step with formula and numbers."""
        return outline.describe(self.shown)

    def static(self) -> Picture:
        """The graph as a picture, as it stands after the last step, or as a storyboard if the view was made so."""
        if self._storyboard:
            return self.storyboard()
        text = self.shown["text"]
        return Picture(self.svg(), f"{self._heading}\n{text}" if self._heading else text, self.spec["summary"])

    def storyboard(self, steps: Sequence[int] | None = None) -> Picture:
        """A few steps of the graph in one picture, each with its formula and its numbers: for a page that is printed.

        Args:
            steps: which, 0 (nothing computed yet) to the last; by default the start, the end of each phase and, where
                these are few, one in between.

        Raises ValueError for a step that the graph does not have.

        >>> import tutorlib as tl
        >>> x = tl.scalar("x")
        >>> print(tl.GraphView(x * x + 1, inputs={x: 3.0}).storyboard(steps=[1, 2]))
        step 1 of 2, forward, mul: mul = x · x, 9 = 3 · 3
        step 2 of 2, forward, add: add = mul + 1, 10 = 9 + 1
        """
        total = len(self.spec["trace"])
        chosen = key_steps(self.spec["trace"]) if steps is None else list(steps)
        if not chosen or not all(0 <= step <= total for step in chosen):
            raise ValueError(message("widgets.error_steps", total=total))
        svg = storyboard_svg(self.shown, chosen, self._card)
        return Picture(svg, storyboard_text(self.spec, chosen), self.spec["summary"])

    @property
    def _card(self) -> str:
        return "dark" if self.theme == "dark" else "light"

    def svg(self) -> str:
        """The picture as SVG text. `theme="dark"` gives a dark card; otherwise it is white, which reads on any page."""
        return graph_svg(self.shown, self._card)

    def to_dot(self) -> Any:
        """The graph as a `graphviz.Digraph`, gradients beside their forward ops; needs the package graphviz."""
        from tutorlib.viz.dot import to_dot

        return to_dot(self.shown)

    def __repr__(self) -> str:
        return f"<GraphView: {self.spec['summary']}>"
