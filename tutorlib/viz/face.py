"""What is written on the face of a node, and how big the face must be. Standard library only; draws nothing."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

__all__ = ["Face", "face", "shape_text", "shorten", "text_width"]

LABEL = 24
VALUE = 34
SMALL = 10.5
NORMAL = 12.5
THUMB_W, THUMB_H = 48, 24

_NARROW = set("iIjl.,:;'|!()[]ftr ")
_WIDE = set("mwMWΣ∂Δ@%…→×")


@dataclass(frozen=True)
class Face:
    """The lines on a face, `badge` and `title`, `kind` (dtype and shape), `value`, a `thumb`, and the size."""

    badge: str
    title: str
    kind: str
    value: tuple[str, ...]
    thumb: dict[str, Any] | None
    w: float
    h: float


def shorten(text: str, limit: int = LABEL) -> str:
    """`text` on one line with control characters shown as spaces, cut in the middle to at most `limit` characters.

    >>> shorten("a" * 30, 8), shorten("two\\nlines")
    ('aaaa…aaa', 'two lines')
    """
    if len(text) <= limit and text.isascii() and text.isprintable() and "  " not in text and text == text.strip():
        return text
    flat = " ".join("".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text[:20000]).split())
    flat = "".join(c for c in flat if unicodedata.category(c) not in ("Cf", "Cs"))
    if len(flat) <= limit:
        return flat
    head = (limit - 1 + 1) // 2
    return flat[:head] + "…" + flat[len(flat) - (limit - 1 - head) :]


def shape_text(shape: list[int | None] | tuple[int | None, ...] | None) -> str:
    """A shape as NumPy writes it, with `?` for a length not known yet.

    >>> shape_text([2, None]), shape_text([3]), shape_text([])
    ('(2, ?)', '(3,)', '()')
    """
    if shape is None:
        return "(?)"
    parts = ["?" if n is None else str(n) for n in shape]
    return f"({parts[0]},)" if len(parts) == 1 else "(" + ", ".join(parts) + ")"


def text_width(text: str, size: float) -> float:
    """About how wide `text` is in px in a common sans-serif face; errs on the wide side."""
    units = 0.0
    for c in text:
        if unicodedata.combining(c):
            continue
        if c in _NARROW:
            units += 0.36
        elif c in _WIDE or c.isupper():
            units += 0.78 if c.isalpha() else 0.85
        elif unicodedata.east_asian_width(c) in "WF":
            units += 1.05
        else:
            units += 0.6
    return units * size


def face(node: dict[str, Any], value: dict[str, Any] | None) -> Face:
    """The face of a node of the spec; `value` is its entry in `values`, or None where there is none."""
    title = node["label"]
    kind = node.get("type") or ""
    if node.get("shape") is not None:
        kind = f"{node.get('dtype') or ''} {shape_text(node['shape'])}".strip()
    lines: tuple[str, ...] = ()
    thumb = None
    if value is not None and value["text"] != title:
        stats = value["stats"]
        if value.get("thumb") and stats["size"] > 6 and len(value["shape"]):
            thumb = value["thumb"]
            lines = _statistics_lines(value)
        else:
            lines = (shorten(value["text"], VALUE),)
    elif node.get("note"):
        lines = (shorten(node["note"], VALUE),)
    badge = "" if node["letter"] == node.get("op") or title.startswith(node["letter"]) else node["letter"]
    widths = [text_width(title, NORMAL) + (text_width(badge, SMALL) + 6 if badge else 0), text_width(kind, SMALL)]
    beside = THUMB_W + 8 if thumb else 0
    widths += [text_width(line, SMALL) + beside for line in lines]
    slack = 36.0 if node["kind"] in ("gradient", "update", "output", "error") else 26.0
    slack += 0.08 * max(widths) if node.get("fold") else 0.0
    height = 26 + (15 if kind else 0) + ((28 if thumb else 16) if lines else 0) + 4
    return Face(badge, title, kind, lines, thumb, round(max(72.0, max(widths) + slack)), height)


def _statistics_lines(value: dict[str, Any]) -> tuple[str, ...]:
    stats = value["stats"]
    if stats["nan"] or stats["inf"]:
        bad = [f"{stats[key]} {word}" for key, word in (("nan", "NaN"), ("inf", "inf")) if stats[key]]
        return (", ".join(bad), f"/ {stats['size']}")

    def short(key: str) -> str:
        found = stats[key]
        return found if isinstance(found, str) else f"{found:.3g}"

    return (f"μ {short('mean')} σ {short('std')}", f"{short('min')} … {short('max')}")
