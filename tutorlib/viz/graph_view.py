"""GraphView: a computation graph to explore and to step through, live in a notebook, as a picture or as text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tutorlib.messages import language, table
from tutorlib.viz import outline
from tutorlib.viz.display import Picture, Shown, new_key, save_text
from tutorlib.viz.graph_spec import graph_spec
from tutorlib.viz.guesses import Prediction, check
from tutorlib.viz.svg import graph_svg
from tutorlib.viz.widget_base import Widget, trait

__all__ = ["GraphView"]

STATIC = Path(__file__).parent / "static"


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
        heading: a line of text put before the outline.

    Attributes: `spec` (the data shown, as `spec.schema.json` describes it), and, kept in step with the page, `selected`
    (the id of a node, or ""), `step`, `predict` and `predictions` (what was guessed, one dict a step).

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

    _esm = STATIC / "graph_view.js"

    spec = trait({})
    messages = trait({})
    lang = trait("en")
    theme = trait("auto")
    height = trait(420)
    selected = trait("")
    step = trait(0)
    predict = trait(False)
    predictions = trait([])
    key = trait("")

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
        heading: str = "",
    ) -> None:
        self._arrays: dict[str, Any] = {}
        spec = graph_spec(roots, wrt=wrt, inputs=inputs, direction=direction, keep=self._arrays)
        total = len(spec["trace"])
        self._heading, self._direction = heading, direction
        super().__init__(
            spec=spec,
            messages=table("widgets"),
            lang=language(),
            theme=theme,
            height=height,
            step=(0 if predict else total) if step is None else max(0, min(total, step)),
            predict=predict,
            key=new_key("graph"),
        )

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
        spec = graph_spec(roots, wrt=wrt, inputs=inputs, direction=self._direction, keep=arrays)
        total = len(spec["trace"])
        self._arrays, self.predictions = arrays, []
        self.spec = spec
        self.step = total if at_end else min(self.step, total)

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
        return outline.describe(self.spec)

    def static(self) -> Picture:
        """The graph as a picture, as it stands after the last step."""
        text = f"{self._heading}\n{self.spec['text']}" if self._heading else self.spec["text"]
        return Picture(self.svg(), text, self.spec["summary"])

    def svg(self) -> str:
        """The picture as SVG text. `theme="dark"` gives a dark card; otherwise it is white, which reads on any page."""
        return graph_svg(self.spec, "dark" if self.theme == "dark" else "light")

    def save_svg(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the picture to a file. Raises FileExistsError for a file that exists, unless `overwrite`."""
        return save_text(path, self.svg(), overwrite)

    def to_dot(self) -> Any:
        """The graph as a `graphviz.Digraph`, gradients beside their forward ops; needs the package graphviz."""
        from tutorlib.viz.dot import to_dot

        return to_dot(self.spec)

    def __repr__(self) -> str:
        return f"<GraphView: {self.spec['summary']}>"
