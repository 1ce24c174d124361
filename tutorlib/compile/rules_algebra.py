"""Algebra that saves work: equal up to rounding, so these rules are marked as reassociating."""

from __future__ import annotations

import math
from typing import Any

from tutorlib.compile.matching import keeps, made_by, scalar_value
from tutorlib.compile.rule_table import rule
from tutorlib.compile.rules_factors import number_and_rest
from tutorlib.core.graph import Constant, Node
from tutorlib.core.operators import OPS


def _weak_number(var: Any) -> float | None:
    """A constant's number when it cannot widen anything: a Python float or int."""
    value = scalar_value(var)
    return value if isinstance(var, Constant) and var.aval.weak and isinstance(value, int | float) else None


@rule("div", tier="algebra", says="x / 2ⁿ = x · 2⁻ⁿ", of=("number",))
def divide_by_power_of_two(node: Node) -> Any:
    x, y = node.inputs
    number = _weak_number(y)
    if not number or not keeps(x, node) or node.outputs[0].dtype.kind != "f" or x.dtype.name == "float16":
        return None
    mantissa, exponent = math.frexp(number)
    return OPS.mul(x, 1.0 / number) if abs(mantissa) == 0.5 and -60 < exponent < 60 else None


@rule("add", tier="algebra", says="x + x = 2 · x")
def plus_itself(node: Node) -> Any:
    x, y = node.inputs
    return OPS.mul(x, 2.0) if x is y and x.dtype.kind == "f" else None


@rule("mul", tier="algebra", says="(−x) · (−y) = x · y", of=("neg",))
def both_negative(node: Node) -> Any:
    x, y = (made_by(v, "neg") for v in node.inputs)
    if x is None or y is None or node.outputs[0].dtype.kind != "f":
        return None
    return OPS.mul(x.inputs[0], y.inputs[0])


@rule("sub", tier="algebra", says="x − (−a) · y = x + a · y", of=("mul",))
def minus_negative_product(node: Node) -> Any:
    x, y = node.inputs
    product = made_by(y, "mul")
    found = number_and_rest(product) if product is not None else None
    if found is None or found[0] >= 0 or not (y.aval.known or y.ndim == x.ndim):
        return None
    return OPS.add(x, OPS.mul(found[1], -found[0]))


@rule("exp", tier="algebra", safety="nan_unsafe", says="e^(log x) = x", of=("log",))
def exp_of_log(node: Node) -> Any:
    inner = made_by(node.inputs[0], "log")
    return inner.inputs[0] if inner is not None else None


@rule("sub", tier="algebra", safety="nan_unsafe", says="x − x = 0")
def minus_itself(node: Node) -> Any:
    x, y = node.inputs
    return OPS.zeros_like(x) if x is y else None


@rule("mul", tier="algebra", safety="nan_unsafe", says="x · 0 = 0", of=("number same",))
def times_zero(node: Node) -> Any:
    x, y = node.inputs
    if scalar_value(y) == 0 and keeps(x, node):
        return OPS.zeros_like(x)
    return OPS.zeros_like(y) if scalar_value(x) == 0 and keeps(y, node) else None


@rule("div", tier="algebra", safety="nan_unsafe", says="x / x = 1")
def over_itself(node: Node) -> Any:
    x, y = node.inputs
    return OPS.ones_like(x) if x is y and x.dtype.kind == "f" else None
