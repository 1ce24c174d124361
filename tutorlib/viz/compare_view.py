"""CompareView: two graphs side by side, node matched to node, live in a notebook, as a picture or as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tutorlib.compile.rewrite_log import RewriteLog
from tutorlib.core.create import as_array
from tutorlib.messages import language, message, table
from tutorlib.viz.compare_runs import run_dynamic, run_static
from tutorlib.viz.compare_spec import Comparison, of_graphs, of_log, of_runs
from tutorlib.viz.compare_svg import compare_svg
from tutorlib.viz.display import Picture, Shown, new_key
from tutorlib.viz.widget_base import Widget, front_end, trait

__all__ = ["CompareView"]


class CompareView(Shown, Widget):
    """Two graphs side by side: what is the same, what differs, and when each of them exists.

    Three things can be compared.

    * `CompareView(f.log)`: before beside after for every rewrite of a compiled function, also of a log that was saved.
    * `CompareView(answer, reference)`: two graphs (symbols, tensors, compiled functions, lists of them), with the
      differences in words. A static graph beside a dynamic one gets the clock as well.
    * `CompareView.modes(fn, *inputs)`: one Python function run on symbols and on tensors.

    Args:
        left: a graph or a log.
        right: the other graph; None for a log.
        titles: what the two are called; by default "your graph" and "reference".
        inputs: values for the symbols of a static graph beside a dynamic one; by default those of tensors of the same
            name.
        steps: which rewrites of a log are drawn, a range of their numbers; by default the first 200.
        step: the step shown first; by default the end of a clock, and a log as a whole.
        theme: "auto", "light" or "dark".
        height: of the panes in px.

    Attributes: `spec` (the data shown, as `spec.schema.json` describes it), and, kept in step with the page, `selected`
    (such as "left n3", or "") and `step`.

    Raises TypeError for something that has no graph.

    >>> import tutorlib as tl
    >>> x, w, b = tl.scalar("x"), tl.scalar("w"), tl.scalar("b")
    >>> tl.CompareView(w * x + w, w * x + b).differences()  # doctest: +ELLIPSIS
    ['you forgot the edge b → add (cell, line 1: ...)', 'the edge w → add is not in the reference (cell, line 1: ...)']
    """

    _esm = front_end("compare_view")

    spec = trait({})
    messages = trait({})
    lang = trait("en")
    theme = trait("auto")
    height = trait(480)
    selected = trait("")
    step = trait(0)
    key = trait("")

    def __init__(
        self,
        left: Any,
        right: Any = None,
        *,
        titles: tuple[str, str] | None = None,
        inputs: Mapping[Any, Any] | None = None,
        steps: range | None = None,
        step: int | None = None,
        theme: str = "auto",
        height: int = 480,
    ) -> None:
        if isinstance(left, Comparison):
            found = left
        elif isinstance(left, RewriteLog):
            if right is not None:
                raise TypeError(message("widgets.error_compare"))
            found = of_log(left, steps)
        elif right is None:
            raise TypeError(message("widgets.error_compare"))
        else:
            found = of_graphs(left, right, titles, inputs)
        self._found = found
        last = len(found.spec["steps"]) - 1
        super().__init__(
            spec=found.spec,
            messages=table("widgets"),
            lang=language(),
            theme=theme,
            height=height,
            step=last if step is None and found.spec["compare"] == "modes" else max(0, min(last, step or 0)),
            key=new_key("compare"),
        )

    @classmethod
    def modes(
        cls, fn: Callable[..., Any], *inputs: Any, again: Sequence[Sequence[Any]] = (), **options: Any
    ) -> CompareView:
        """Run one Python function on symbols and on tensors and set the two graphs side by side, with a clock.

        Args:
            fn: a function of arrays that gives a value, or a tuple, list or dict of values.
            inputs: a value for each argument: an array, a tensor, a list, a float. Symbols get its shape and dtype. A
                whole number, a string or a function stays what it is in both modes.
            again: inputs of further calls, one sequence each: the compiled graph is used again, the tape made anew.
            options: `step`, `theme`, `height` of the view.

        A Python `if` on a value runs on tensors only; the static pane then shows how far building came and why it
        stopped. `tl.ifelse` runs in both: the graph holds both branches, the tape the one that was taken.

        >>> import tutorlib as tl
        >>> def f(x):
        ...     y = tl.exp(x)
        ...     return y * y
        >>> view = tl.CompareView.modes(f, 2.0)
        >>> [step["left"]["phase"] for step in view.spec["steps"]]
        ['', 'build', 'build', 'compile', 'call', 'call']
        >>> [step["right"]["phase"] for step in view.spec["steps"]]
        ['', 'run', 'run', 'done', 'done', 'done']
        """
        names = _names(fn, len(inputs))
        calls = [[_argument(value) for value in values] for values in (inputs, *again)]
        static = run_static(fn, names, calls[0])
        given = [dict(zip(static.inputs, _arrays(call), strict=True)) for call in calls]
        return cls(of_runs([static], [run_dynamic(fn, names, call) for call in calls], given), **options)

    def differences(self) -> list[str]:
        """What differs, one sentence each; empty for equal graphs. For a log: what differs between start and end."""
        return list(self._found.differences)

    def describe(self) -> str:
        """All of it as text: summary, differences, the unified diff of both outlines, and every step."""
        spec = self.spec
        parts = [spec["summary"], *spec["differences"], "", spec["text"]]
        if len(spec["steps"]) > 1:
            parts += ["", message("widgets.describe_steps"), *(step["spoken"] for step in spec["steps"])]
        if spec["near"]:
            parts += ["", message("widgets.ui_compare_near")]
            parts += [f"{miss['rule']}, {miss['at']}: {miss['why']}" for miss in spec["near"]]
        return "\n".join([*parts, *spec["notes"]])

    def static(self) -> Picture:
        """Both graphs as one picture, as they stand at the step shown."""
        spec = self.spec
        return Picture(self.svg(), "\n".join([*spec["differences"], spec["text"]]), spec["summary"])

    def svg(self) -> str:
        """The picture as SVG text, on a white card or (`theme="dark"`) a dark one."""
        return compare_svg(self.spec, self.step, "dark" if self.theme == "dark" else "light")

    def __repr__(self) -> str:
        return f"<CompareView: {self.spec['summary']}>"


def _argument(value: Any) -> Any:
    """A value as the array that symbols and tensors are made of; what is no number stays itself."""
    if value is None or isinstance(value, str | int) or callable(value):
        return value
    return np.asarray(as_array(value))


def _arrays(call: Sequence[Any]) -> list[np.ndarray]:
    return [value for value in call if isinstance(value, np.ndarray)]


def _names(fn: Callable[..., Any], count: int) -> list[str]:
    """The names of the arguments, for the symbols and tensors in their place."""
    found: list[str] = []
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind == parameter.VAR_POSITIONAL:
            found += [f"{parameter.name}{i}" for i in range(count - len(found))]
        elif len(found) < count:
            found.append(parameter.name)
    return found[:count]
