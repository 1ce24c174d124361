"""How pictures reach a notebook: the display modes, the static bundle, the two outputs of a live view.

A live view is shown as two outputs, first the static picture and then the widget alone, so that a reopened, exported or
untrusted notebook still has its pictures; the widget hides the picture while it is there.
"""

from __future__ import annotations

import base64
import os
import warnings
from itertools import count
from pathlib import Path
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.marks import escape

__all__ = [
    "Picture",
    "Shown",
    "display_mode",
    "display_var",
    "ipython_shell",
    "is_live",
    "new_key",
    "save_text",
    "show",
]

MODES = ("auto", "live", "static")
# Traits of every Jupyter widget, which say nothing about a picture.
NOT_OURS = frozenset(("layout", "tabbable", "tooltip", "comm", "keys", "log"))
_chosen: list[str] = []
_told: list[bool] = []
_numbers = count(1)


def display_mode(mode: str | None = None) -> str | None:
    """Say how views are shown from now on, or ask (no argument) how they are.

    Args:
        mode: "live" (interactive), "static" (pictures only) or "auto": live in a notebook kernel, else static.
            Without a choice here the environment variable TUTORLIB_DISPLAY counts, and else "auto".

    Raises ValueError for another word.

    >>> display_mode("static")
    >>> display_mode()
    'static'
    >>> display_mode("auto")
    """
    if mode is None:
        return _mode()
    if mode not in MODES:
        raise ValueError(message("widgets.error_mode", mode=mode, modes=", ".join(MODES)))
    _chosen[:] = [mode]
    return None


def _mode() -> str:
    asked = os.environ.get("TUTORLIB_DISPLAY", "auto").strip().lower()
    mode = _chosen[0] if _chosen else asked
    if mode == "auto" and asked in MODES:
        mode = asked
    return mode if mode in MODES else "auto"


def is_live() -> bool:
    """Whether a view shown now is interactive."""
    from tutorlib.viz.widget_base import HAS_WIDGETS

    mode = _mode()
    if mode == "static" or (mode == "auto" and not in_kernel()):
        return False
    if not HAS_WIDGETS:
        if not _told:
            _told.append(True)
            print(message("widgets.no_widgets"))
        return False
    return True


def in_kernel() -> bool:
    """Whether this runs in a notebook's kernel (and not in a script or a terminal)."""
    shell = ipython_shell()
    return shell is not None and getattr(shell, "kernel", None) is not None


def ipython_shell() -> Any:
    """The running IPython, or None."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return None
    return get_ipython()


def new_key(kind: str) -> str:
    """A name that pairs a live view with its picture; the n-th view of a process always gets the same one."""
    return f"{kind}-{next(_numbers)}"


class Picture:
    """A static picture with its text: what `.static()` returns and what every notebook keeps."""

    def __init__(self, svg: str, text: str, summary: str) -> None:
        self.svg, self.text, self.summary = svg, text, summary

    def bundle(self, key: str = "") -> dict[str, str]:
        """The MIME bundle: HTML with alternative text, the SVG itself, and the text.

        A live view hides the picture that carries its `key`; one shown for its own sake carries none.
        """
        data = base64.b64encode(self.svg.encode("utf-8")).decode("ascii")
        html = (
            f'<figure data-tutorlib="{escape(key)}"><img alt="{escape(self.summary)}" '
            f'src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{escape(self.summary)}</figcaption></figure>"
        )
        return {"text/html": html, "image/svg+xml": self.svg, "text/plain": self.text}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self.bundle()

    def __repr__(self) -> str:
        return self.text


class Shown:
    """How a view shows itself: mixed into the widgets, which give `static()` and `describe()`."""

    key: str

    def static(self) -> Picture:
        """The view as a picture that needs no kernel and no JavaScript."""
        raise NotImplementedError

    def save_svg(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the static picture to a file. Raises FileExistsError for a file that exists, unless `overwrite`."""
        return save_text(path, self.static().svg, overwrite)

    def save_png(self, path: str | os.PathLike[str], *, scale: float = 2.0, overwrite: bool = False) -> Path:
        """Write the static picture as PNG, `scale` pixels for each of its own, drawn by an installed browser.

        Raises FileExistsError for a file that exists, unless `overwrite`, and RuntimeError where there is no Chrome,
        Chromium or Edge; the live view has a button that needs none.
        """
        from tutorlib.viz.raster import to_png

        target = Path(path)
        if target.exists() and not overwrite:
            raise FileExistsError(str(target))
        data = to_png(self.static().svg, scale)
        with target.open("wb" if overwrite else "xb") as file:
            file.write(data)
        return target

    def save_html(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the live view as one HTML file that works by itself: no kernel, no server, no network.

        Raises FileExistsError for a file that exists, unless `overwrite`.
        """
        from tutorlib.viz.standalone import standalone_page

        picture = self.static()
        return save_text(path, standalone_page(self._page_traits(), title=picture.summary, svg=picture.svg), overwrite)

    def _page_traits(self) -> dict[str, Any]:
        """What the page is sent, with the front-end itself; nothing to pair the page with a picture of a notebook."""
        sent = self.traits(sync=True) if hasattr(self, "traits") else vars(self)
        found = {name: getattr(self, name) for name in sent if not name.startswith("_") and name not in NOT_OURS}
        front_end: Any = getattr(self, "_esm")  # noqa: B009 - the widgets declare it, this class does not
        return {**found, "key": "", "live": False, "_esm": str(front_end)}

    def _ipython_display_(self) -> None:
        picture = self.static()
        if ipython_shell() is None:
            print(picture.text)
            return
        from IPython.display import display

        display(picture.bundle(self.key), raw=True)
        # A view that was closed has no connection to a page any more.
        if is_live() and getattr(self, "comm", None) is not None:
            view: Any = super()._repr_mimebundle_()  # type: ignore[misc]
            data, meta = view if isinstance(view, tuple) else (view or {}, {})
            display({kind: part for kind, part in data.items() if kind != "text/plain"}, metadata=meta, raw=True)


def save_text(path: str | os.PathLike[str], text: str, overwrite: bool) -> Path:
    """Write `text` to a new file; an existing one is only replaced when asked. Raises FileExistsError."""
    target = Path(path)
    with target.open("w" if overwrite else "x", encoding="utf-8") as file:
        file.write(text)
    return target


def show(what: Any, *, rewritten: bool = False, **options: Any) -> Any:
    """Draw something in the middle of a cell; returns the view.

    Args:
        what: a tensor, a symbol, a list or dict of them, a compiled or traced function, an error that an op raised: its
            graph. The log of a function: its rewrites, before beside after. A view or a picture: itself. Anything else
            is shown as a cell's last line shows it, and returned.
        rewritten: draw a compiled function as it runs, after all its rewrites, and not as it was written.
        options: those of the view, `GraphView` or `CompareView`.

    >>> import tutorlib as tl
    >>> x = tl.scalar("x")
    >>> view = show(x * x)
    out mul [n0] float64 ()  (cell, line 1)
      in x [n1] float64 ()
      in x [n1] float64 ()
    >>> view = show(tl.function([x], tl.log(1 + tl.exp(x))), rewritten=True)
    out softplus [n0] float64 ()  (cell, line 1)
      in x [n1] float64 ()
    """
    from tutorlib.viz.shown_as import view_of

    view = view_of(what, rewritten, options)
    if view is None:
        _show_plainly(what)
        return what
    if isinstance(view, Shown):
        view._ipython_display_()
    else:
        _show_plainly(view)
    return view


def _show_plainly(what: Any) -> None:
    if ipython_shell() is None:
        print(repr(what))
        return
    from IPython.display import display

    display(what)


def display_var(var: Any) -> None:
    """What a cell shows for a variable on its last line: its graph if it has one, else its text.

    Drawing must never cost a learner the value: if it fails, the text is shown with a warning.
    """
    if var.node is None or not in_kernel():
        print(repr(var))
        return
    from tutorlib.viz.graph_view import GraphView

    try:
        view = GraphView(var, heading=repr(var))
    except Exception as error:
        warnings.warn(message("widgets.error_drawing", error=f"{type(error).__name__}: {error}"), stacklevel=2)
        print(repr(var))
        return
    view._ipython_display_()
