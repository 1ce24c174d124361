"""Trigonometric and hyperbolic functions, their inverses, and the two that take both sides of a right angle."""

from __future__ import annotations

from typing import Any

from tutorlib.core.graph import Op
from tutorlib.ops.define import elementwise
from tutorlib.ops.elementwise import div, neg, safe_div, safe_mul, sqrt, square, where
from tutorlib.ops.logic import eq


def _row(name: str, rule: Any, doc: str, c: str | None = None) -> Op:
    return elementwise(name, (rule,), ufunc=name, c=f"{c or name}({{0}})", doc=doc)


sin: Op = _row("sin", lambda g, out, x: safe_mul(g, cos(x)), "The sine; x in radians.")
cos: Op = _row("cos", lambda g, out, x: neg(safe_mul(g, sin(x))), "The cosine; x in radians.")
tan: Op = _row("tan", lambda g, out, x: safe_mul(g, 1 + square(out)), "The tangent; x in radians.")
# (1 - x)(1 + x) keeps the digits near ±1 that 1 - x² loses.
arcsin: Op = _row(
    "arcsin", lambda g, out, x: safe_div(g, sqrt((1 - x) * (1 + x))), "The angle with sine x, in -π/2 … π/2.", "asin"
)
arccos: Op = _row(
    "arccos", lambda g, out, x: neg(safe_div(g, sqrt((1 - x) * (1 + x)))), "The angle with cosine x, in 0 … π.", "acos"
)
arctan: Op = _row(
    "arctan", lambda g, out, x: safe_div(g, 1 + square(x)), "The angle with tangent x, in -π/2 … π/2.", "atan"
)

sinh: Op = _row("sinh", lambda g, out, x: safe_mul(g, cosh(x)), "The hyperbolic sine.")
cosh: Op = _row("cosh", lambda g, out, x: safe_mul(g, sinh(x)), "The hyperbolic cosine.")
tanh: Op = _row("tanh", lambda g, out, x: safe_mul(g, 1 - square(out)), "The hyperbolic tangent.")
arcsinh: Op = _row("arcsinh", lambda g, out, x: safe_div(g, hypot(1, x)), "The inverse of sinh.", "asinh")
arccosh: Op = _row(
    "arccosh", lambda g, out, x: safe_div(g, sqrt(x - 1) * sqrt(x + 1)), "The inverse of cosh, 0 or above.", "acosh"
)
arctanh: Op = _row(
    "arctanh", lambda g, out, x: safe_div(g, (1 - x) * (1 + x)), "The inverse of tanh, for x in -1 … 1.", "atanh"
)


def _cosine_of_side(g: Any, out: Any, side: Any) -> Any:
    at_origin = eq(out, 0)
    return safe_mul(g, where(at_origin, 0.0, div(side, where(at_origin, 1.0, out))))


hypot: Op = elementwise(
    "hypot",
    (lambda g, out, x, y: _cosine_of_side(g, out, x), lambda g, out, x, y: _cosine_of_side(g, out, y)),
    ufunc="hypot",
    c="hypot({0}, {1})",
    doc="sqrt(x² + y²) without overflow; its gradient at (0, 0) is (0, 0).",
)


def _over_square(g: Any, side: Any, y: Any, x: Any) -> Any:
    length = hypot(y, x)
    at_origin = eq(length, 0)
    length = where(at_origin, 1.0, length)
    return safe_mul(g, where(at_origin, 0.0, div(div(side, length), length)))


arctan2: Op = elementwise(
    "arctan2",
    (lambda g, out, y, x: _over_square(g, x, y, x), lambda g, out, y, x: neg(_over_square(g, y, y, x))),
    ufunc="arctan2",
    c="atan2({0}, {1})",
    doc="The angle of the point (x, y) seen from the origin, in -π … π; note the order: arctan2(y, x).",
)
