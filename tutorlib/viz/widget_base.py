"""What the widgets are built on: anywidget where it is installed, else an object for static pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["HAS_WIDGETS", "Widget", "front_end", "trait"]


def front_end(name: str) -> str:
    """The text of a built front-end.

    anywidget would take a path, too, but then it follows the file for each view that is ever made, and so keeps all of
    them, closed or not, for as long as Python runs.
    """
    return (Path(__file__).parent / "static" / f"{name}.js").read_text(encoding="utf-8")


try:
    import anywidget
    import traitlets
except ImportError:
    HAS_WIDGETS = False

    class Widget:
        """Keeps what a live widget would send to the page as attributes."""

        def __init__(self, **traits: Any) -> None:
            for name, value in traits.items():
                setattr(self, name, value)

        def close(self) -> None:
            """Nothing is open."""

    def trait(default: Any) -> Any:
        """A value that a live widget would share with the page."""
        return default

else:
    HAS_WIDGETS = True
    Widget = anywidget.AnyWidget  # type: ignore[misc]

    def trait(default: Any) -> Any:
        """A value shared with the page, of the type of `default`."""
        kinds = {
            dict: traitlets.Dict,
            str: traitlets.Unicode,
            bool: traitlets.Bool,
            int: traitlets.Int,
            list: traitlets.List,
        }
        return kinds[type(default)](default).tag(sync=True)
