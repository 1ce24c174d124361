"""The exercises of L01, *An expression is a graph*: what a graph shares, which order it has, what its value is.

Every oracle builds graphs of its own. Values are compared with the engine's, orders and sharing by their definition.
What is *said* about a misconception is in the message table.
"""

import sys
from functools import cache
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.lessons.choice import choice
from tutorlib.lessons.exercise import Exercise, Miss, cases, close, diagnose
from tutorlib.lessons.oracle import graph_or_miss, op_counts

# Fewer than the long chain needs, more than a notebook's kernel uses by itself.
NESTED_CALLS = 3_000


def judge_build(build: Any, rng: np.random.Generator) -> None:
    """The right value, from the symbols handed over, with four nodes."""
    x, t = tl.scalar("x"), tl.scalar("t")
    made = graph_or_miss(build(x, t))
    if any(isinstance(leaf, tl.Input) and leaf is not x and leaf is not t for leaf in tl.leaves_of([made])):
        raise Miss("own_symbol")
    number, power = rng.uniform(0.5, 2, size=2).round(2)
    value = tl.function([x, t], made, on_unused_input="ignore")(number, power)
    e = np.exp(power)
    diagnose(
        close(value, (number + e) * (e + 1)),
        no_exp=close(value, (number + power) * (power + 1)),
        only_one_factor=close(value, number + e) or close(value, e + 1),
        otherwise="wrong_value",
    )
    counts = op_counts(made)
    diagnose(
        counts == {"add": 2, "mul": 1, "exp": 1},
        exp_twice=counts["exp"] > 1,
        fixed_number=counts["exp"] == 0,
        otherwise="more_nodes",
    )


DOUBLING = {
    "3f5ae66ef98a": "two_each",
    "68e0973990d6": "tree",
    "9bdbf14c1c7f": "holds",
    "d59bf4ee4194": "exchanged",
}

NO_ORDER = {
    "1bdbd93b017d": "is_order_d",
    "82b8179f84b5": "holds",
    "ac9d91aa364b": "is_order_b",
    "ef806f22f1ab": "is_order_a",
}


def judge_evaluate(evaluate: Any, rng: np.random.Generator) -> None:
    """The engine's value, twice with different inputs, with every node computed once."""
    x, y = tl.scalar("x"), tl.scalar("y")
    shared = tl.sin(x * y)
    result = (shared + 2.5) * (shared - y) + tl.exp(shared)
    for numbers in rng.uniform(0.5, 2, size=(2, 2)).round(2):
        given = dict(zip((x, y), map(float, numbers), strict=True))
        computed: list[Any] = []

        def compute(node: Any, operands: Any, computed: list[Any] = computed) -> Any:
            computed.append(node)
            return node.op(*operands)

        returned = evaluate(result, dict(given), compute)
        if returned is None:
            raise Miss("returned_none")
        nodes = tl.toposort([result])
        diagnose(
            close(returned, result.eval(given)),
            returns_all=isinstance(returned, list | dict | tuple),
            not_the_result=any(close(returned, node.outputs[0].eval(given)) for node in _evaluable(nodes, given)),
            otherwise="wrong_value",
        )
        diagnose(
            len(computed) == len(nodes),
            not_asked=not computed,
            computed_again=len(computed) > len(nodes),
            otherwise="not_asked",
        )


def _evaluable(nodes: list[Any], given: dict[Any, float]) -> list[Any]:
    """The nodes that need all of the inputs: `eval` refuses a value that nothing uses."""
    return [node for node in nodes if len([v for v in tl.leaves_of(node.outputs) if v in given]) == len(given)]


def judge_order(topological_order: Any, rng: np.random.Generator) -> None:
    """Every node once, after those it uses: in small graphs, in one with many paths, and in one of great depth."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(min(limit, NESTED_CALLS))
    try:
        _judge_orders(topological_order, rng)
    except RecursionError:
        raise Miss("recursion") from None
    finally:
        sys.setrecursionlimit(limit)


def _judge_orders(topological_order: Any, rng: np.random.Generator) -> None:
    x, y = tl.scalar("x"), tl.scalar("y")
    p = x + y
    q = tl.exp(p)
    _check_order(topological_order, p * q + 1)
    _check_order(topological_order, tl.sin(p * (q * (q + p))) + p)
    for _ in range(3):
        _check_order(topological_order, _random_graph(x, y, rng))
    for doublings in (12, 60):
        t = x
        for _ in range(doublings):
            t = t + t
        _check_order(topological_order, t)
    _check_order(topological_order, _chain())
    if sys.getrecursionlimit() > NESTED_CALLS:
        raise Miss("raised_limit")


def _random_graph(x: Any, y: Any, rng: np.random.Generator) -> Any:
    made = [x, y]
    for _ in range(12):
        left, right = (made[i] for i in rng.integers(len(made), size=2))
        made.append(left + right if rng.integers(2) else left * right)
    while len(made) > 1:
        made = [*made[2:], made[0] - made[1]]
    return made[0]


@cache
def _chain() -> Any:
    """A chain of 10,000 nodes, built once: that takes longer than sorting it."""
    chain = tl.scalar("x")
    for _ in range(10_000):
        chain = chain + 1
    return chain


def _check_order(topological_order: Any, result: Any) -> None:
    order = topological_order(result)
    if order is None:
        raise Miss("returned_none")
    if not isinstance(order, list | tuple):
        raise Miss("not_a_list", type=type(order).__name__)
    if any(entry is None or (isinstance(entry, tl.Symbol) and entry.node is None) for entry in order):
        raise Miss("has_leaves")
    if not all(isinstance(entry, tl.Node) for entry in order):
        raise Miss("not_nodes")
    wanted = set(map(id, tl.toposort([result])))
    place = {id(node): number for number, node in enumerate(order)}
    if len(place) < len(order):
        raise Miss("twice")
    diagnose(set(place) == wanted, missing=bool(wanted - set(place)), otherwise="foreign")
    uses = [(place[id(v.node)], place[id(node)]) for node in order for v in node.inputs if v.node is not None]
    early = sum(used > user for used, user in uses)
    diagnose(not early, backwards=early == len(uses), otherwise="too_early")


EXERCISES = (
    Exercise(
        key="L01.ex1",
        answer="build",
        judge=judge_build,
        wrong_answers=cases("""
#: exp_twice
def build(x, t):
    return (x + tl.exp(t)) * (tl.exp(t) + 1)
#: own_symbol
def build(x, t):
    x, t = tl.scalar("x"), tl.scalar("t")
    e = tl.exp(t)
    return (x + e) * (e + 1)
#: own_symbol
def build(x, t):
    e = tl.scalar("e")
    return (x + e) * (e + 1)
#: more_nodes
def build(x, t):
    e = tl.exp(t)
    return x * e + x + e * e + e
#: only_one_factor
def build(x, t):
    e = tl.exp(t)
    return x + e
#: no_exp
def build(x, t):
    e = t
    return (x + e) * (e + 1)
#: wrong_value
def build(x, t):
    e = tl.exp(t)
    return (x * e) + (e + 1)
#: fixed_number
def build(x, t):
    e = 2.718281828459045 ** t
    return (x + e) * (e + 1)
#: only_a_leaf
def build(x, t):
    return x
#: returned_none
def build(x, t):
    e = tl.exp(t)
    (x + e) * (e + 1)
#: not_a_symbol
def build(x, t):
    return 3.0
#: not_a_function
build = tl.exp(tl.scalar("t"))
"""),
    ),
    Exercise(
        key="L01.ex2",
        answer="prediction",
        judge=choice("L01.ex2 doubled ten times?", tuple("abcd"), DOUBLING),
        options=tuple("abcd"),
        wrong_answers=cases("""
#: two_each
prediction = "a"
#: tree
prediction = "c"
#: exchanged
prediction = "d"
#: unknown_option
prediction = 10
"""),
    ),
    Exercise(
        key="L01.ex3",
        answer="letter",
        judge=choice("L01.ex3 which is not an order?", tuple("abcd"), NO_ORDER),
        options=tuple("abcd"),
        quiz=True,
        wrong_answers=cases("""
#: is_order_a
letter = "a"
#: is_order_b
letter = "b"
#: is_order_d
letter = "d"
#: unknown_option
letter = "p, u, r, q, s"
"""),
    ),
    Exercise(
        key="L01.ex4",
        answer="evaluate",
        judge=judge_evaluate,
        wrong_answers=cases("""
#: computed_again
def evaluate(result, given, compute):
    if result.node is None:
        return result.value if isinstance(result, tl.Constant) else given[result]
    return compute(result.node, [evaluate(v, given, compute) for v in result.node.inputs])
#: not_the_result
def evaluate(result, given, compute):
    values = dict(given)
    for node in tl.toposort([result]):
        numbers = [v.value if isinstance(v, tl.Constant) else values[v] for v in node.inputs]
        values[node.outputs[0]] = compute(node, numbers)
    return numbers[0]
#: returns_all
def evaluate(result, given, compute):
    values = dict(given)
    for node in tl.toposort([result]):
        numbers = [v.value if isinstance(v, tl.Constant) else values[v] for v in node.inputs]
        values[node.outputs[0]] = compute(node, numbers)
    return values
#: not_asked
def evaluate(result, given, compute):
    return result.eval(given)
#: wrong_value
def evaluate(result, given, compute):
    values = dict(given)
    for node in tl.toposort([result]):
        numbers = [v.value if isinstance(v, tl.Constant) else values[v] for v in node.inputs]
        values[node.outputs[0]] = compute(node, numbers[::-1])
    return values[result]
#: wrong_value
def evaluate(result, given, compute):
    return 12.0
#: raised
def evaluate(result, given, compute):
    values = dict(given)
    for node in tl.toposort([result]):
        values[node.outputs[0]] = compute(node, [values[v] for v in node.inputs])
    return values[result]
#: raised
def evaluate(result, given, compute):
    values = dict(given)
    for node in reversed(tl.toposort([result])):
        numbers = [v.value if isinstance(v, tl.Constant) else values[v] for v in node.inputs]
        values[node.outputs[0]] = compute(node, numbers)
    return values[result]
#: returned_none
def evaluate(result, given, compute):
    for node in tl.toposort([result]):
        compute(node, [1.0 for v in node.inputs])
#: not_a_function
evaluate = 20.0
"""),
    ),
    Exercise(
        key="L01.ex5",
        answer="topological_order",
        judge=judge_order,
        wrong_answers=cases("""
#: recursion
def topological_order(result):
    order, seen = [], set()
    def visit(node):
        if node is not None and node not in seen:
            seen.add(node)
            for used in node.inputs:
                visit(used.node)
            order.append(node)
    visit(result.node)
    return order
#: raised_limit
def topological_order(result):
    import sys
    sys.setrecursionlimit(100_000)
    order, seen = [], set()
    def visit(node):
        if node is not None and node not in seen:
            seen.add(node)
            for used in node.inputs:
                visit(used.node)
            order.append(node)
    visit(result.node)
    return order
#: backwards
def topological_order(result):
    return tl.toposort([result])[::-1]
#: twice
def topological_order(result):
    order, stack = [], [result.node]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(v.node for v in node.inputs if v.node is not None)
    return order[::-1]
#: too_early
def topological_order(result):
    order, seen, stack = [], set(), [result.node]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            order.append(node)
            stack.extend(v.node for v in node.inputs)
    return order[::-1]
#: has_leaves
def topological_order(result):
    return [None, *tl.toposort([result])]
#: has_leaves
def topological_order(result):
    return [*tl.leaves_of([result]), *tl.toposort([result])]
#: not_nodes
def topological_order(result):
    return [node.outputs[0] for node in tl.toposort([result])]
#: missing
def topological_order(result):
    return tl.toposort([result])[:-1]
#: missing
def topological_order(result):
    return []
#: foreign
def topological_order(result):
    return [*tl.toposort([result]), (result + 1).node]
#: not_a_list
def topological_order(result):
    return set(tl.toposort([result]))
#: returned_none
def topological_order(result):
    tl.toposort([result]).sort(key=id)
#: not_a_function
topological_order = ["add", "mul"]
"""),
    ),
)
