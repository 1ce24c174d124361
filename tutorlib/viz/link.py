"""Views that select together: on the page itself, so that it works while a cell runs and without a kernel."""

from __future__ import annotations

import weakref
from itertools import count
from typing import Any

from tutorlib.messages import message
from tutorlib.viz.display import Shown

__all__ = ["link"]

_numbers = count(1)
# Held weakly: a link keeps no view alive.
_linked: weakref.WeakSet[Any] = weakref.WeakSet()


def link(*views: Any) -> None:
    """Link views: what is selected in one is selected in the others.

    A variable, its gradient and its update in a `GraphView` go with the variable of that name in a `SharedView` and
    with the layer of that name in a `GradientView`; these two move to the same update, too. Two graphs go by node.

    Args:
        views: two or more of GraphView, SharedView, GradientView. Those that are linked already bring their partners.

    Raises TypeError for anything else.

    >>> import tutorlib as tl
    >>> w = tl.shared(1.0, name="w")
    >>> graph, path = tl.GraphView(w * 2), tl.SharedView(w)
    >>> tl.link(graph, path)
    """
    for view in views:
        if not isinstance(view, Shown) or not hasattr(view, "link"):
            raise TypeError(message("widgets.error_link", what=type(view).__name__))
    if len(views) < 2:
        raise TypeError(message("widgets.error_link_two"))
    known = {view.link for view in views if view.link}
    name = min(known) if known else f"link-{next(_numbers)}"
    for view in [*views, *(other for other in _linked if other.link in known)]:
        view.link = name
    _linked.update(views)
