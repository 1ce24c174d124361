"""The exercises of L02, *Backpropagation on the graph*: rules of operations, the walk back, and how to test them.

Gradients are judged by central differences, which know no rules. Where a misconception gives numbers of its own, the
oracle makes the same mistake and compares. What is *said* about it is in the message table.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.lessons.choice import choice
from tutorlib.lessons.exercise import Exercise, Miss, cases, close, diagnose
from tutorlib.lessons.oracle import parts, pulled_back


def judge_mul_vjp(mul_vjp: Any, rng: np.random.Generator) -> None:
    """Each input gets the cotangent times the other input."""
    g, x, y = rng.uniform(1.5, 4, size=(3, 3)).round(2)
    got = parts(mul_vjp(g.copy(), x.copy(), y.copy()), 2)
    diagnose(
        close(got, pulled_back(np.multiply, [x, y], g)),
        forgets_g=close(got, [y, x]),
        exchanged=close(got, [g * x, g * y]),
        adds=close(got, [g + y, g + x]),
        passes_on=close(got, [g, g]),
        otherwise="wrong_gradient",
    )


SHAPES = (((2, 3), (2, 3)), ((3, 1), (4,)), ((3,), (2, 3)), ((), (2, 2)), ((1, 3), (2, 3)), ((2, 1, 3), (4, 1)))


def judge_add_vjp(add_vjp: Any, rng: np.random.Generator) -> None:
    """Each input gets the sum over what broadcasting made of it, in its own shape."""
    for shapes in SHAPES:
        x, y = (rng.uniform(-4, 4, size=shape).round(2) for shape in shapes)
        g = np.asarray(rng.uniform(1, 4, size=np.broadcast_shapes(*shapes)).round(2))
        got = parts(add_vjp(g.copy(), np.asarray(x), np.asarray(y)), 2)
        for name, mine, wanted in zip("xy", got, pulled_back(np.add, [x, y], g), strict=True):
            asked = {"name": name, "shape": wanted.shape, "got": mine.shape, "sum": g.shape}
            if close(mine, wanted):
                continue
            if mine.shape != wanted.shape and mine.size == wanted.size and close(mine.ravel(), wanted.ravel()):
                raise Miss("shape_only", **asked)
            if close(mine, g):
                raise Miss("not_summed", **asked)
            if mine.shape == () and close(mine, g.sum()):
                raise Miss("summed_all", **asked)
            if close(mine, wanted * wanted.size / g.size):
                raise Miss("averaged", **asked)
            raise Miss("wrong_shape" if mine.shape != wanted.shape else "wrong_sum", **asked)


RULES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda g, x, y: (g, g),
    "mul": lambda g, x, y: (g * y, g * x),
    "sin": lambda g, x: (g * np.cos(x),),
}


def judge_backward(backward: Any, rng: np.random.Generator) -> None:
    """What differences of the graph's value say, with every rule asked once."""
    x, y = tl.scalar("x"), tl.scalar("y")
    product = x * y
    twice = product + product
    shared = tl.sin(product)
    for result in (twice + twice, (shared * x + shared) * (shared * y) + x):
        at = dict(zip((x, y), rng.uniform(0.4, 1.2, size=2).round(2), strict=True))
        asked: Counter[Any] = Counter()
        pull = _puller(result, at)

        def counted(node: Any, g: Any, asked: Counter[Any] = asked, pull: Any = pull) -> list[Any]:
            asked[node] += 1
            return pull(node, g)

        found = backward(result, counted)
        if found is None:
            raise Miss("returned_none")
        if not isinstance(found, Mapping):
            raise Miss("not_a_dictionary", type=type(found).__name__)
        if x not in found or y not in found:
            raise Miss("inputs_missing")
        got = [found[x], found[y]]
        slopes = pulled_back(_value_of(result, (x, y)), [at[x], at[y]], 1.0)
        diagnose(
            close(got, slopes),
            overwrites=close(got, _walked(result, pull, (x, y), _overwriting)),
            resends=close(got, _walked(result, pull, (x, y), _resending)),
            too_early=close(got, _walked(result, pull, (x, y), _visiting_early)),
            forward_order=close(got, [0.0, 0.0]),
            otherwise="wrong_gradient",
        )
        if max(asked.values(), default=0) > 1:
            raise Miss("walks_paths")


def _value_of(result: Any, inputs: tuple[Any, ...]) -> Callable[..., Any]:
    """The graph as a function of numbers."""
    return lambda *numbers: result.eval(dict(zip(inputs, numbers, strict=True)))


def _puller(result: Any, at: Mapping[Any, float]) -> Callable[[Any, Any], list[Any]]:
    """The rules of the graph's nodes at these inputs."""
    values = dict(at)
    for node in tl.toposort([result]):
        values[node.outputs[0]] = node.op(*(values[v] for v in node.inputs))
    return lambda node, g: list(RULES[node.op.name](g, *(values[v] for v in node.inputs)))


def _walked(result: Any, pull: Any, inputs: tuple[Any, ...], walk: Callable[..., None]) -> list[float]:
    """What a mistaken walk would collect for the inputs."""
    got: Counter[Any] = Counter({result: 1.0})
    walk(result, pull, got)
    return [float(got[v]) for v in inputs]


def _overwriting(result: Any, pull: Any, got: Any) -> None:
    """The last message counts."""
    for node in reversed(tl.toposort([result])):
        for used, message in zip(node.inputs, pull(node, got[node.outputs[0]]), strict=True):
            got[used] = message


def _resending(result: Any, pull: Any, got: Any) -> None:
    """At each message everything is sent again."""
    if result.node is not None:
        for place, used in enumerate(result.node.inputs):
            got[used] += pull(result.node, got[result])[place]
            _resending(used, pull, got)


def _visiting_early(result: Any, pull: Any, got: Any) -> None:
    """A node sends when it is first met."""
    met, waiting = set(), [result]
    while waiting:
        var = waiting.pop()
        if var.node is None or var in met:
            continue
        met.add(var)
        for used, message in zip(var.node.inputs, pull(var.node, got[var]), strict=True):
            got[used] += message
        waiting.extend(reversed(var.node.inputs))


def judge_central_difference(central_difference: Any, rng: np.random.Generator) -> None:
    """The central difference of a cubic, whose error is known exactly, and which the one-sided one does not share."""
    linear, square, cubic = rng.uniform(1, 3, size=(3, 3)).round(2)
    x, eps = rng.uniform(0.5, 2, size=3).round(2), 0.1

    def f(v: Any) -> Any:
        return (linear * v + square * v**2 + cubic * v**3).sum()

    mine = x.copy()
    returned = central_difference(f, mine, eps)
    if returned is None:
        raise Miss("returned_none")
    slopes = linear + 2 * square * x + 3 * cubic * x**2
    wanted = slopes + cubic * eps**2
    ahead = (square + 3 * cubic * x) * eps
    total = wanted.sum()
    diagnose(
        close(returned, wanted),
        one_sided=close(returned, wanted + ahead) or close(returned, wanted - ahead),
        forgets_two=close(returned, 2 * wanted),
        forgets_eps=close(returned, 2 * eps * wanted) or close(returned, eps * wanted),
        all_at_once=close(returned, total) or close(returned, np.full(3, total)),
        ignores_eps=close(returned, slopes),
        otherwise="x_changed" if not close(mine, x) else "wrong_slopes",
    )
    if not close(mine, x):
        raise Miss("x_changed")


STEP = {
    "1cab859113a6": "too_small",
    "425cd9581470": "one_sided",
    "b0660187cac0": "too_large",
    "da86af644598": "holds",
}

EXERCISES = (
    Exercise(
        key="L02.ex1",
        answer="mul_vjp",
        judge=judge_mul_vjp,
        wrong_answers=cases("""
#: exchanged
def mul_vjp(g, x, y):
    return g * x, g * y
#: forgets_g
def mul_vjp(g, x, y):
    return y, x
#: adds
def mul_vjp(g, x, y):
    return g + y, g + x
#: passes_on
def mul_vjp(g, x, y):
    return g, g
#: wrong_gradient
def mul_vjp(g, x, y):
    return g * x * y, g * x * y
#: wrong_count
def mul_vjp(g, x, y):
    return g * y
#: returned_none
def mul_vjp(g, x, y):
    g * y, g * x
#: not_numbers
def mul_vjp(g, x, y):
    return "g * y", "g * x"
#: not_a_function
mul_vjp = (2.0, 3.0)
"""),
    ),
    Exercise(
        key="L02.ex2",
        answer="add_vjp",
        judge=judge_add_vjp,
        wrong_answers=cases("""
#: not_summed
def add_vjp(g, x, y):
    return g, g
#: summed_all
def add_vjp(g, x, y):
    return tuple(g if v.shape == g.shape else g.sum() for v in (x, y))
#: shape_only
def add_vjp(g, x, y):
    def back(shape):
        new = g.ndim - len(shape)
        axes = tuple(range(new)) + tuple(i + new for i, n in enumerate(shape) if n == 1)
        return g.sum(axis=axes)
    return back(x.shape), back(y.shape)
#: averaged
def add_vjp(g, x, y):
    def back(shape):
        new = g.ndim - len(shape)
        axes = tuple(range(new)) + tuple(i + new for i, n in enumerate(shape) if n == 1)
        return g.mean(axis=axes, keepdims=True).reshape(shape)
    return back(x.shape), back(y.shape)
#: wrong_shape
def add_vjp(g, x, y):
    return tuple(g if v.shape == g.shape else g.sum(axis=0) for v in (x, y))
#: wrong_sum
def add_vjp(g, x, y):
    def back(shape):
        return np.broadcast_to(g, g.shape).ravel()[: int(np.prod(shape))].reshape(shape)
    return back(x.shape), back(y.shape)
#: wrong_count
def add_vjp(g, x, y):
    return [g]
#: returned_none
def add_vjp(g, x, y):
    g.sum(axis=0)
#: not_a_function
add_vjp = 1.0
"""),
    ),
    Exercise(
        key="L02.ex3",
        answer="backward",
        judge=judge_backward,
        wrong_answers=cases("""
#: overwrites
def backward(result, pull):
    cotangents = {result: 1.0}
    for node in reversed(tl.toposort([result])):
        cotangents.update(zip(node.inputs, pull(node, cotangents[node.outputs[0]])))
    return cotangents
#: resends
def backward(result, pull):
    cotangents = {result: 1.0}
    def visit(variable):
        if variable.node is not None:
            for place, used in enumerate(variable.node.inputs):
                message = pull(variable.node, cotangents[variable])[place]
                cotangents[used] = cotangents.get(used, 0.0) + message
                visit(used)
    visit(result)
    return cotangents
#: too_early
def backward(result, pull):
    cotangents, met = {result: 1.0}, set()
    def visit(variable):
        if variable.node is None or variable in met:
            return
        met.add(variable)
        for used, message in zip(variable.node.inputs, pull(variable.node, cotangents[variable])):
            cotangents[used] = cotangents.get(used, 0.0) + message
        for used in variable.node.inputs:
            visit(used)
    visit(result)
    return cotangents
#: walks_paths
def backward(result, pull):
    cotangents = {}
    def visit(variable, g):
        cotangents[variable] = cotangents.get(variable, 0.0) + g
        if variable.node is not None:
            for used, message in zip(variable.node.inputs, pull(variable.node, g)):
                visit(used, message)
    visit(result, 1.0)
    return cotangents
#: forward_order
def backward(result, pull):
    cotangents = {result: 1.0}
    for node in tl.toposort([result]):
        for used, message in zip(node.inputs, pull(node, cotangents.get(node.outputs[0], 0.0))):
            cotangents[used] = cotangents.get(used, 0.0) + message
    return cotangents
#: raised
def backward(result, pull):
    cotangents = {}
    for node in reversed(tl.toposort([result])):
        for used, message in zip(node.inputs, pull(node, cotangents[node.outputs[0]])):
            cotangents[used] = cotangents.get(used, 0.0) + message
    return cotangents
#: wrong_gradient
def backward(result, pull):
    cotangents = {result: 2.0}
    for node in reversed(tl.toposort([result])):
        for used, message in zip(node.inputs, pull(node, cotangents[node.outputs[0]])):
            cotangents[used] = cotangents.get(used, 0.0) + message
    return cotangents
#: inputs_missing
def backward(result, pull):
    return {result: 1.0}
#: not_a_dictionary
def backward(result, pull):
    return [1.0, 4.0]
#: returned_none
def backward(result, pull):
    cotangents = {result: 1.0}
#: not_a_function
backward = 4.0
"""),
    ),
    Exercise(
        key="L02.ex4",
        answer="central_difference",
        judge=judge_central_difference,
        wrong_answers=cases("""
#: one_sided
def central_difference(f, x, eps):
    return np.array([(f(x + eps * unit) - f(x)) / eps for unit in np.eye(len(x))])
#: forgets_two
def central_difference(f, x, eps):
    return np.array([(f(x + eps * unit) - f(x - eps * unit)) / eps for unit in np.eye(len(x))])
#: forgets_eps
def central_difference(f, x, eps):
    return np.array([f(x + eps * unit) - f(x - eps * unit) for unit in np.eye(len(x))])
#: all_at_once
def central_difference(f, x, eps):
    return (f(x + eps) - f(x - eps)) / (2 * eps)
#: ignores_eps
def central_difference(f, x, eps):
    return np.array([(f(x + 1e-6 * unit) - f(x - 1e-6 * unit)) / 2e-6 for unit in np.eye(len(x))])
#: x_changed
def central_difference(f, x, eps):
    slopes = np.zeros(len(x))
    for i in range(len(x)):
        x[i] += eps
        above = f(x)
        x[i] -= 2 * eps
        slopes[i] = (above - f(x)) / (2 * eps)
    return slopes
#: x_changed
def central_difference(f, x, eps):
    slopes = np.array([(f(x + eps * unit) - f(x - eps * unit)) / (2 * eps) for unit in np.eye(len(x))])
    x += eps
    return slopes
#: wrong_slopes
def central_difference(f, x, eps):
    return np.array([(f(x + eps * unit) + f(x - eps * unit)) / (2 * eps) for unit in np.eye(len(x))])
#: returned_none
def central_difference(f, x, eps):
    (f(x + eps) - f(x - eps)) / (2 * eps)
#: not_a_function
central_difference = [1.0, 2.0, 3.0]
"""),
    ),
    Exercise(
        key="L02.ex5",
        answer="prediction",
        judge=choice("L02.ex5 which step?", tuple("abcd"), STEP),
        options=tuple("abcd"),
        wrong_answers=cases("""
#: too_large
prediction = "a"
#: one_sided
prediction = "c"
#: too_small
prediction = "d"
#: unknown_option
prediction = 1e-5
"""),
    ),
)
