"""Numerical stability: the same mathematics in a form that neither overflows nor cancels. These run before folding.

Where eˣ cannot overflow because x is surely not above 0, the written form is as good, and shares what it computes.
"""

from __future__ import annotations

from typing import Any

from tutorlib.compile.matching import is_scalar, keeps, made_by, nonpositive, scalar_value, users
from tutorlib.compile.rule_table import Near, rule
from tutorlib.compile.rules_factors import scaled_by
from tutorlib.core.graph import Node, Symbol
from tutorlib.core.operators import OPS
from tutorlib.ops.define import normalized_axes


def one_plus(var: Any) -> Symbol | None:
    """y, when ``var`` is 1 + y."""
    node = made_by(var, "add")
    if node is None:
        return None
    x, y = node.inputs
    if is_scalar(x, 1) and keeps(y, node):
        return y
    return x if is_scalar(y, 1) and keeps(x, node) else None


def exp_of(var: Any) -> Symbol | None:
    """x, in the dtype of eˣ, when ``var`` is eˣ."""
    node = made_by(var, "exp")
    if node is None:
        return None
    x = node.inputs[0]
    return x if x.dtype == var.dtype else OPS.cast(x, var.dtype)


def sigmoid_of(var: Any) -> Symbol | None:
    """x, a floating-point one, when ``var`` is sigmoid(x)."""
    node = made_by(var, "sigmoid")
    return node.inputs[0] if node is not None and node.inputs[0].dtype == var.dtype else None


@rule("log", tier="stable", says="log(1 + eˣ) = softplus(x)", of=("add",))
def log_of_one_plus_exp(node: Node) -> Any:
    x = exp_of(one_plus(node.inputs[0]))
    return OPS.softplus(x) if x is not None and not nonpositive(x) else None


@rule("log1p", tier="stable", says="log1p(eˣ) = softplus(x)", of=("exp",))
def log1p_of_exp(node: Node) -> Any:
    x = exp_of(node.inputs[0])
    return OPS.softplus(x) if x is not None and not nonpositive(x) else None


@rule("log", tier="stable", says="log(1 + x) = log1p(x)", of=("add",))
def log_of_one_plus(node: Node) -> Any:
    x = one_plus(node.inputs[0])
    return OPS.log1p(x) if x is not None else None


@rule("sub", tier="stable", says="eˣ − 1 = expm1(x)", of=("exp", "number same"))
def exp_minus_one(node: Node) -> Any:
    e, one = node.inputs
    x = exp_of(e)
    return OPS.expm1(x) if x is not None and is_scalar(one, 1) and keeps(e, node) else None


@rule(
    "log",
    tier="stable",
    says="log(softmax(x)) = log_softmax(x), through reshape and transpose too",
    of=("softmax reshape reshape_like transpose expand_dims squeeze getitem add",),
)
def log_of_softmax(node: Node) -> Any:
    passed: list[Node] = []
    var = node.inputs[0]
    if (added := made_by(var, "add")) is not None:
        near = any(made_by(v, "softmax") is not None for v in added.inputs)
        return (
            Near("something is added to the softmax; the logarithm of a softmax alone needs no such help")
            if near
            else None
        )
    while (
        view := made_by(var, "reshape", "reshape_like", "transpose", "expand_dims", "squeeze", "getitem")
    ) is not None:
        passed.append(view)
        var = view.inputs[0]
    inner = made_by(var, "softmax")
    if inner is None:
        return None
    result = OPS.log_softmax(inner.inputs[0], inner.attrs["axis"])
    for view in reversed(passed):
        result = view.op(result, *view.inputs[1:], **view.attrs)
    return result


@rule("div", "reciprocal", tier="stable", says="1 / (1 + e⁻ˣ) = sigmoid(x)")
def one_over_one_plus_exp(node: Node) -> Any:
    if node.op.name == "div" and not is_scalar(node.inputs[0], 1):
        return None
    below = node.inputs[-1]
    x = exp_of(one_plus(below))
    if x is None or not keeps(below, node):
        return None
    inner = made_by(x, "neg")
    return OPS.sigmoid(inner.inputs[0] if inner is not None else OPS.neg(x))


@rule("div", tier="stable", says="eˣ / (1 + eˣ) = sigmoid(x)", of=("exp", "add"))
def exp_over_one_plus_exp(node: Node) -> Any:
    above, below = node.inputs
    x, added = exp_of(above), made_by(one_plus(below), "exp")
    same = added is not None and x is not None and added.inputs[0] is above.node.inputs[0]
    return OPS.sigmoid(x) if same else None


@rule("log", tier="stable", says="log(sigmoid(x)) = −softplus(−x)", of=("sigmoid",))
def log_of_sigmoid(node: Node) -> Any:
    x = sigmoid_of(node.inputs[0])
    return OPS.neg(OPS.softplus(OPS.neg(x))) if x is not None else None


def _multiplies(user: Node | None, s: Symbol) -> bool:
    return user is not None and user.op.name == "mul" and any(v is s for v in user.inputs)


@rule("sub", tier="stable", says="1 − sigmoid(x) = sigmoid(−x)", of=("sigmoid", "number same"))
def one_minus_sigmoid(node: Node) -> Any:
    one, s = node.inputs
    x = sigmoid_of(s)
    if x is None or not is_scalar(one, 1) or not keeps(s, node):
        return None
    # A slope s · (1 − s) by itself is exact to a rounding of 1, and another sigmoid would cost more than all of it.
    if all(_multiplies(user, s) for user in users(node.outputs[0])):
        return None
    return OPS.sigmoid(OPS.neg(x))


def _is_one_minus_square(node: Any) -> bool:
    """Whether all that uses the square that ``node`` computes is 1 − it."""
    found = users(node.outputs[0])
    return bool(found) and all(
        n is not None and n.op.name == "sub" and is_scalar(n.inputs[0], 1) and keeps(node.outputs[0], n) for n in found
    )


def _takes_a_number(product: Any, var: Symbol) -> bool:
    """Whether a node multiplies ``var`` by a number, or by something that is a number times something."""
    if product is None or product.op.name != "mul":
        return False
    return any(v is not var and (scalar_value(v) is not None or scaled_by(v) is not None) for v in product.inputs)


@rule(
    "add",
    tier="stable",
    safety="exact",
    says="1 + tanh(x) = 2 · sigmoid(2x), exact where tanh nears −1",
    of=("tanh", "number array"),
)
def one_plus_tanh(node: Node) -> Any:
    t = one_plus(node.outputs[0])
    inner = made_by(t, "tanh")
    if inner is None or t is None or inner.inputs[0].dtype != t.dtype:
        return None
    # Where something else wants the tangent, computing a sigmoid too gains nothing; nor does it where there are more
    # steps afterwards, since neither number can vanish and no slope is wanted.
    slopes = [n for n in users(t) if n is not None and n.op.name == "square" and _is_one_minus_square(n)]
    sums = [n for n in users(t) if n is not None and one_plus(n.outputs[0]) is t]
    if len(slopes) + len(sums) < len(users(t)):
        return None
    if not slopes and not any(_takes_a_number(user, node.outputs[0]) for user in users(node.outputs[0])):
        return None
    return OPS.mul(OPS.sigmoid(OPS.mul(inner.inputs[0], 2.0)), 2.0)


@rule(
    "sub",
    tier="stable",
    safety="reassociates",
    says="1 − tanh(x)² = 4 · (s − s²), where s = sigmoid(2x) is there",
    of=("square", "number array"),
)
def slope_of_tanh(node: Node) -> Any:
    one, square = node.inputs
    inner = made_by(square, "square")
    tangent = made_by(inner.inputs[0], "tanh") if inner is not None else None
    if tangent is None or not is_scalar(one, 1) or not keeps(square, node):
        return None
    for double in users(tangent.inputs[0]):
        if double is None or double.op.name != "mul" or not any(is_scalar(v, 2) for v in double.inputs):
            continue
        for s in users(double.outputs[0]):
            if s is not None and s.op.name == "sigmoid" and keeps(s.outputs[0], node):
                return OPS.mul(OPS.sub(s.outputs[0], OPS.square(s.outputs[0])), 4.0)
    return None


@rule("log", tier="stable", says="log(eˣ) = x", of=("exp",))
def log_of_exp(node: Node) -> Any:
    return exp_of(node.inputs[0])


@rule("sqrt", tier="stable", says="√(x²) = |x|", of=("square",))
def sqrt_of_square(node: Node) -> Any:
    inner = made_by(node.inputs[0], "square")
    if inner is None or inner.inputs[0].dtype != node.outputs[0].dtype:
        return None
    return OPS.abs(inner.inputs[0])


@rule("log", tier="stable", says="log Σ eˣ = logsumexp(x)", of=("sum",))
def log_of_sum_of_exp(node: Node) -> Any:
    total = made_by(node.inputs[0], "sum")
    x = exp_of(total.inputs[0]) if total is not None else None
    if total is None or x is None:
        return None
    return OPS.logsumexp(x, total.attrs["axis"], total.attrs["keepdims"])


@rule("div", tier="stable", says="eˣ / Σ eˣ = softmax(x)", of=("exp", "sum expand_dims getitem"))
def exp_over_sum_of_exp(node: Node) -> Any:
    above, below = node.inputs
    x, axes = exp_of(above), axes_of_sum(below, above)
    if x is None or axes is None or len(axes) != 1:
        return None
    if below.ndim not in (0, x.ndim):
        return Near("the sum has lost its axis: with keepdims=True the rule holds")
    return OPS.softmax(x, axes[0])


def axes_of_sum(below: Symbol, e: Symbol) -> tuple[int, ...] | None:
    """Over which axes ``below`` is the sum of e; as it is, or with these axes put in again. None where it is no such
    sum."""
    view = made_by(below, "expand_dims", "getitem")
    total = made_by(view.inputs[0] if view is not None else below, "sum")
    if total is None or total.inputs[0] is not e:
        return None
    axes = normalized_axes(total.attrs["axis"], e.ndim, "sum")
    return axes if view is None or (not total.attrs["keepdims"] and _axis_put_in(view) == axes) else None


def _axis_put_in(view: Node) -> tuple[int, ...] | None:
    """The axis of length 1 that a node puts in, as ``v[:, None]`` does; None where it does another thing."""
    if view.op.name == "expand_dims":
        axis = view.attrs["axis"]
        return (axis,) if isinstance(axis, int) else tuple(axis)
    index = view.attrs["index"]
    if len(view.inputs) > 1 or not all(i is None or i == slice(None) for i in index):
        return None
    return tuple(i for i, part in enumerate(index) if part is None)
