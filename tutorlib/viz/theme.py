"""The palette and the symbol set of every picture: roles, their shapes, letters and colours, edge styles, value scales.

Plain data and colour arithmetic only (standard library); nothing here knows graphs, SVG or widgets.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CARD",
    "EDGES",
    "FONT",
    "KINDS",
    "TEXT",
    "Edge",
    "Paint",
    "Role",
    "magnitude_colour",
    "role",
    "signed_colour",
]

FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans Bengali', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Paint:
    """The stroke and the fill of one role in one theme."""

    stroke: str
    fill: str


@dataclass(frozen=True)
class Role:
    """How one kind of node looks: never by colour alone, but also by `shape`, `border` and `letter`."""

    letter: str
    shape: str
    border: str
    light: Paint
    dark: Paint

    def paint(self, theme: str = "light") -> Paint:
        """The colours for `theme`, "light" or "dark"."""
        return self.dark if theme == "dark" else self.light


@dataclass(frozen=True)
class Edge:
    """How one kind of edge looks: `colour` names the role whose stroke it borrows, "" means the text colour."""

    width: float
    dash: str
    colour: str
    arrow: str


_OP = (Paint("#0072B2", "#E3F1FA"), Paint("#56B4E9", "#0B3A57"))

KINDS: dict[str, Role] = {
    "input": Role("in", "rect", "solid", Paint("#3F4A56", "#F2F2F2"), Paint("#D5DCE3", "#2E2E2E")),
    "shared": Role("S", "drum", "solid", Paint("#9A5B00", "#FDEBD3"), Paint("#E69F00", "#4A3208")),
    "constant": Role("c", "rect", "dotted", Paint("#737373", "#FAFAFA"), Paint("#8E8E8E", "#222222")),
    "op": Role("", "pill", "solid", *_OP),
    "gradient": Role("∂", "hexagon", "dashed", Paint("#9C3D87", "#F5E6F2"), Paint("#E08FCB", "#452A3E")),
    "update": Role("Δ", "hexagon", "solid", Paint("#9A5B00", "#F5E6F2"), Paint("#E69F00", "#452A3E")),
    "scope": Role("▸", "pill", "stacked", *_OP),
    "output": Role("out", "pill", "double", *_OP),
    "error": Role("NaN", "rect", "alert", Paint("#C8102E", "#FDE0E0"), Paint("#FF5C5C", "#5A1414")),
}

EDGES: dict[str, Edge] = {
    "forward": Edge(1.5, "", "", "closed"),
    "gradient": Edge(1.5, "6 4", "gradient", "open"),
    "saved": Edge(1.0, "1.5 3", "", "closed"),
    "update": Edge(2.5, "", "shared", "closed"),
}

TEXT = {"light": "#1A1A1A", "dark": "#F5F5F5"}
CARD = {"light": ("#FFFFFF", "#D0D5DA"), "dark": ("#111111", "#4A4F55")}

_SIGNED = ((179, 88, 6), (247, 247, 247), (84, 39, 136))
_MAGNITUDE = ((0, 34, 78), (87, 92, 109), (125, 124, 120), (166, 157, 117), (254, 232, 56))


def role(kind: str) -> Role:
    """The look of a node kind; an unknown kind looks like an op, so that a newer spec still draws."""
    return KINDS.get(kind, KINDS["op"])


def signed_colour(value: float, limit: float) -> str:
    """A colour for a signed number on the scale -limit … 0 … +limit (orange, near white, purple).

    >>> signed_colour(0.0, 1.0), signed_colour(-1.0, 1.0), signed_colour(5.0, 1.0)
    ('#F7F7F7', '#B35806', '#542788')
    """
    share = 0.0 if limit <= 0 else max(-1.0, min(1.0, value / limit))
    return _between(_SIGNED, (share + 1) / 2)


def magnitude_colour(share: float) -> str:
    """A colour for a magnitude already scaled to 0 … 1 (dark blue to yellow, readable without colour vision).

    >>> magnitude_colour(0.0), magnitude_colour(1.0)
    ('#00224E', '#FEE838')
    """
    return _between(_MAGNITUDE, max(0.0, min(1.0, share)))


def _between(stops: tuple[tuple[int, int, int], ...], share: float) -> str:
    position = share * (len(stops) - 1)
    low = min(int(position), len(stops) - 2)
    part = position - low
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(stops[low], stops[low + 1], strict=True))
    return f"#{red:02X}{green:02X}{blue:02X}"
