"""Gradients of what ``rules_stable`` makes stable: as written they divide by what may be 0, or multiply by what may be
infinite, even where the value itself is good by now."""

from __future__ import annotations

from typing import Any

from tutorlib.compile.matching import is_scalar, made_by, nonpositive
from tutorlib.compile.rule_table import rule
from tutorlib.compile.rules_stable import axes_of_sum, exp_of, one_plus, sigmoid_of
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.core.walk import shape_source


def one_shape(g: Symbol, s: Symbol) -> bool:
    """Whether two variables surely have one shape."""
    return (g.aval.known and s.aval.known and g.shape == s.shape) or shape_source(g) is shape_source(s)


def _quotient(var: Any) -> Node | None:
    return made_by(var, "safe_div", "div")


def _numerator(quotient: Node) -> Symbol | None:
    """g of g / d, with the axes of d; None where it has others."""
    g, d = quotient.inputs
    if g.ndim == d.ndim and g.dtype == d.dtype and not g.aval.weak:
        return g
    return OPS.broadcast_like(OPS.cast(g, d.dtype), d) if not g.ndim else None


@rule(
    "mul",
    "safe_mul",
    tier="stable",
    says="s · (g/s − t) = g − s · t for s a softmax, as in the gradient of log(softmax)",
    of=("softmax", "sub"),
)
def gradient_of_log_softmax(node: Node) -> Any:
    for s, difference in (node.inputs, node.inputs[::-1]):
        minus = made_by(difference, "sub")
        quotient = _quotient(minus.inputs[0]) if minus is not None else None
        if minus is None or quotient is None or made_by(s, "softmax") is None or quotient.inputs[1] is not s:
            continue
        g = _numerator(quotient)
        return OPS.sub(g, OPS.mul(s, minus.inputs[1])) if g is not None and one_shape(g, s) else None
    return None


# What brings the cotangent of a sum back to the place of its operand.
_SPREAD = ("broadcast_like", "broadcast_to", "expand_dims", "reshape_like", "squeeze", "scatter", "unbroadcast", "sum")


@rule(
    "mul",
    "safe_mul",
    tier="stable",
    says="(g/d − Σ g·s/d) · eˣ = s · (g − Σ g·s) for d = Σ eˣ, s = eˣ/d: the gradient of a softmax",
    of=("add", "exp"),
)
def gradient_of_softmax(node: Node) -> Any:
    if node.role != "backward":
        return None
    for both, e in (node.inputs, node.inputs[::-1]):
        added, x = made_by(both, "add"), exp_of(e)
        for direct, around in (added.inputs, added.inputs[::-1]) if added is not None else ():
            first, negative = _quotient(_within(direct, "unbroadcast")), made_by(_within(around, *_SPREAD), "neg")
            second = _quotient(negative.inputs[0]) if negative is not None else None
            if first is None or second is None or first.inputs[1] is not second.inputs[1]:
                continue
            g, product = first.inputs[0], made_by(second.inputs[0], "mul", "safe_mul")
            for s in product.inputs if product is not None and any(v is g for v in product.inputs) else ():
                softmax = made_by(s, "softmax")
                if softmax is not None and softmax.inputs[0] is x:
                    return OPS.mul(s, OPS.sub(g, OPS.sum(OPS.mul(g, s), softmax.attrs["axis"], True)))
    return None


def _within(var: Symbol, *ops: str) -> Symbol:
    """What these ops, any number of them, were applied to."""
    while (node := made_by(var, *ops)) is not None:
        var = node.inputs[0]
    return var


@rule(
    "transpose",
    "reshape",
    "reshape_like",
    "squeeze",
    "expand_dims",
    "scatter",
    tier="stable",
    says="g / view(s), put back to the place of s, = g put back, over s; for s a softmax",
    of=("safe_div div",),
)
def quotient_of_a_view(node: Node) -> Any:
    quotient = _quotient(node.inputs[0])
    view = quotient.inputs[1].node if quotient is not None else None
    if quotient is None or view is None or not view.inputs or made_by(view.inputs[0], "softmax") is None:
        return None
    s, g = view.inputs[0], _numerator(quotient)
    if g is None or not _undoes(node, view, s):
        return None
    back = node.op(g, *node.inputs[1:], **node.attrs)
    if back.shape_source in (None, back):
        back.shape_source = shape_source(s)
    return OPS.safe_div(back, s)


def _undoes(node: Node, view: Node, s: Symbol) -> bool:
    """Whether ``node`` puts every element back to where ``view`` took it from in ``s``."""
    name, seen = node.op.name, view.op.name
    if name == "transpose":
        return seen == name and all(view.attrs["axes"][a] == i for i, a in enumerate(node.attrs["axes"]))
    if name == "scatter":
        same = all(a is b for a, b in zip(node.inputs[2:], view.inputs[1:], strict=False))
        index = seen == "getitem" and view.attrs["index"] == node.attrs["index"]
        return index and same and len(node.inputs) == len(view.inputs) + 1 and one_shape(node.inputs[1], s)
    if seen not in ("reshape", "reshape_like", "squeeze", "expand_dims"):
        return False
    if name == "reshape_like" and one_shape(node.inputs[1], s):
        return True
    pair = {name, seen} == {"squeeze", "expand_dims"} and node.attrs.get("axis") == view.attrs.get("axis")
    out = node.outputs[0]
    return pair or (out.aval.known and s.aval.known and out.shape == s.shape)


# What may lie between a quotient and its product with e, where the divisor is a sum of e: it moves, stretches or turns
# round what is divided, or adds it up along axes on which the divisor does not change.
_BETWEEN = ("neg", "broadcast_like", "broadcast_to", "expand_dims", "reshape_like", "squeeze", "scatter", "unbroadcast")


def _down_to_quotient(var: Symbol) -> tuple[Node | None, list[Node]]:
    """The quotient that ``var`` is, seen through such nodes, and these, the outermost first."""
    passed: list[Node] = []
    while (node := made_by(var, *_BETWEEN)) is not None:
        passed.append(node)
        var = node.inputs[0]
    return _quotient(var), passed


def _without_divisor(quotient: Node, passed: list[Node]) -> Symbol | None:
    """The same with the quotient's numerator in its place."""
    g = _numerator(quotient)
    for node in reversed(passed):
        g = node.op(g, *node.inputs[1:], **node.attrs) if g is not None else None
    return g


@rule(
    "mul",
    "safe_mul",
    tier="stable",
    says="g / (1 + eˣ) · eˣ = g · sigmoid(x), the gradient of log(1 + eˣ)",
    of=("exp", "safe_div div neg"),
)
def gradient_of_softplus(node: Node) -> Any:
    for left, e in (node.inputs, node.inputs[::-1]):
        x, negative = exp_of(e), made_by(left, "neg")
        quotient = _quotient(negative.inputs[0] if negative is not None else left)
        if x is None or quotient is None or nonpositive(x) or one_plus(quotient.inputs[1]) is not e:
            continue
        result = OPS.mul(quotient.inputs[0], OPS.sigmoid(x))
        return OPS.neg(result) if negative is not None else result
    return None


@rule(
    "mul",
    "safe_mul",
    tier="stable",
    says="g / Σ eˣ · eˣ = g · softmax(x), the gradient of log Σ eˣ",
    of=("exp", f"safe_div div {' '.join(_BETWEEN)}"),
)
def gradient_of_logsumexp(node: Node) -> Any:
    for left, e in (node.inputs, node.inputs[::-1]):
        x, (quotient, passed) = exp_of(e), _down_to_quotient(left)
        axes = axes_of_sum(quotient.inputs[1], e) if quotient is not None and x is not None else None
        if x is None or quotient is None or axes is None:
            continue
        likes = [n.inputs[1] for n in passed if n.op.name == "unbroadcast"]
        if any(v is not quotient.inputs[1] and not one_shape(v, e) for v in likes):
            continue
        g = _without_divisor(quotient, passed)
        if g is not None:
            return node.op(g, _softmax_over(x, axes))
    return None


def _softmax_over(x: Symbol, axes: tuple[int, ...]) -> Symbol:
    """eˣ / Σ eˣ, the sum over one axis or several."""
    return OPS.softmax(x, axes[0]) if len(axes) == 1 else OPS.exp(OPS.sub(x, OPS.logsumexp(x, axes, True)))


@rule(
    "mul",
    "safe_mul",
    tier="stable",
    says="g / p · p = g for p = eˣ or a softmax, as in the gradient of log p",
    of=("exp softmax", "safe_div div unbroadcast"),
)
def quotient_times_divisor(node: Node) -> Any:
    for left, p in (node.inputs, node.inputs[::-1]):
        total = made_by(left, "unbroadcast")
        if total is not None and not one_shape(total.inputs[1], p):
            continue
        quotient = _quotient(total.inputs[0] if total is not None else left)
        if quotient is None or made_by(p, "exp", "softmax") is None or quotient.inputs[1] is not p:
            continue
        g = _without_divisor(quotient, [total] if total is not None else [])
        return g if g is not None and one_shape(g, p) else None
    return None


@rule(
    "mul",
    "safe_mul",
    tier="stable",
    says="g / p · p (1 − p) = g (1 − p) for p = sigmoid(x) or 1 − sigmoid(x), the gradient of log p",
    of=("safe_div div neg", "mul"),
)
def gradient_of_log_of_sigmoid(node: Node) -> Any:
    for left, right in (node.inputs, node.inputs[::-1]):
        negative, product = made_by(left, "neg"), made_by(right, "mul")
        quotient = _quotient(negative.inputs[0] if negative is not None else left)
        if quotient is None or product is None:
            continue
        p = quotient.inputs[1]
        others = [v for v in product.inputs if v is not p]
        rest = _rest_of_one(p, others[0]) if len(others) == 1 else None
        if rest is not None:
            result = node.op(quotient.inputs[0], rest)
            return OPS.neg(result) if negative is not None else result
    return None


def _rest_of_one(p: Symbol, q: Symbol) -> Symbol | None:
    """q in a form that does not cancel, when p is a sigmoid or 1 − one, and q = 1 − p."""
    x, y = sigmoid_of(p), sigmoid_of(q)
    if x is not None and y is not None and (_negative_of(x, y) or _negative_of(y, x)):
        return q
    if x is not None and _is_one_minus(q, p):
        return OPS.sigmoid(OPS.neg(x))
    return q if y is not None and _is_one_minus(p, q) else None


def _negative_of(x: Symbol, y: Symbol) -> bool:
    inner = made_by(x, "neg")
    return inner is not None and inner.inputs[0] is y


def _is_one_minus(q: Symbol, p: Symbol) -> bool:
    inner = made_by(q, "sub")
    return inner is not None and inner.inputs[1] is p and is_scalar(inner.inputs[0], 1)
