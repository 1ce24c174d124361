"""The exercises of L03, *Static graphs*: rewriting, counting, replacing, and what is fixed when.

The oracles ask the compiler: a rule is tried in the real rewriter, a count is compared with what merging leaves.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tutorlib as tl
from tutorlib.compile.rewrite import WrongRewriteError
from tutorlib.lessons.choice import choice
from tutorlib.lessons.exercise import Exercise, Miss, cases, close, diagnose
from tutorlib.lessons.oracle import compiled_or_miss, one_value, op_counts


@contextmanager
def _learners_rule(function: Any) -> Iterator[None]:
    """The learner's function as the only rule about a product with 1."""

    def learners_times_one(node: Any) -> Any:
        return function(node)

    with tl.rules_off("times_one"):
        tl.rule("mul", says="the learner's")(learners_times_one)
        try:
            yield
        finally:
            tl.remove_rule("learners_times_one")


def judge_rule(drop_one: Any, rng: np.random.Generator) -> None:
    """A factor 1 is gone from either side and from inside; every other product is as it was."""
    x, y = tl.vector("x"), tl.vector("y")
    other = round(rng.uniform(2, 9), 1)

    def left(expression: Any) -> dict[str, int]:
        try:
            with _learners_rule(drop_one):
                (result,), _ = tl.rewrite([expression])
        except WrongRewriteError as problem:
            raise Miss("never_rests" if "come to rest" in problem.says else "wrong_stand_in") from None
        return dict(op_counts(result))

    untouched, gone = {"sin": 1, "mul": 1}, {"sin": 1}
    diagnose(left(tl.sin(x) * y) == untouched, otherwise="drops_a_variable")
    diagnose(left(x * other) == left(x * 0.0) == {"mul": 1}, otherwise="drops_other_numbers")
    after, before, inside = left(tl.sin(x) * 1), left(1 * tl.sin(x)), left(tl.exp((x * 1) * y))
    diagnose(
        after == before == gone and inside == {"mul": 1, "exp": 1},
        nothing_happens=after == before == untouched,
        one_side=untouched in (after, before),
        otherwise="other_graph",
    )


def _many_twins(rng: np.random.Generator) -> Any:
    """A graph in which some operations are written twice, some twins are twins only once their inputs are merged."""
    x, y, m = tl.vector("x"), tl.vector("y"), tl.matrix("m")
    a, b = tl.sum(m, axis=0), tl.sum(m, axis=1)
    pool: list[Any] = [x, y, a, b, tl.exp(tl.sin(x)), tl.exp(tl.sin(x)), x - y, y - x]
    for _ in range(int(rng.integers(6, 10))):
        left, right = (pool[i] for i in rng.integers(len(pool), size=2))
        op = (tl.add, tl.sub, tl.mul)[rng.integers(3)]
        pool += [op(left, right), op(left, right)]
    root = pool[0]
    for part in pool[1:]:
        root = root + part
    return root


def judge_evaluations(evaluations: Any, rng: np.random.Generator) -> None:
    """The pair (nodes, nodes left by merging), for graphs with twins of every kind."""
    x, y, m = tl.vector("x"), tl.vector("y"), tl.matrix("m")
    z = x + y
    roots = {
        "counts_paths": z * z,
        "only_one_level": tl.sqrt(tl.exp(tl.sin(x))) * tl.sqrt(tl.exp(tl.sin(x))),
        "ignores_inputs": tl.sin(x) * tl.sin(y),
        "ignores_order": (x - y) * (y - x),
        "ignores_attributes": tl.sum(m, axis=0) * tl.sum(m, axis=1),
        "wrong_count": _many_twins(rng),
    }
    for hint, root in roots.items():
        given = evaluations(root)
        if given is None:
            raise Miss("returned_none")
        written = len(tl.toposort([root]))
        merged = len(tl.toposort(tl.rewrite([root], allow=())[0]))
        diagnose(
            close(given, [written, merged]),
            exchanged=written != merged and close(given, [merged, written]),
            not_merged=close(given, [written, written]),
            otherwise=hint,
        )


STAGES = {
    "90aa12470177": "holds",
    "f66fae5ea26d": "says_all_at_call",
    "fe7c63b53438": "says_lengths_at_build",
    "fec454f5b39f": "says_shapes_at_compile",
}


def judge_replace(without_tanh: Any, rng: np.random.Generator) -> None:
    """The compiled graph has relu where the given one has tanh, the rest is shared, the given one is as it was."""
    x, w = tl.vector("x"), round(rng.uniform(2, 5), 1)
    z = w * x - tl.square(x)
    hidden = tl.tanh(z)
    out = (hidden * hidden + tl.exp(hidden) - z).sum() - 99.0
    before = op_counts(out)
    try:
        made = without_tanh(x, out)
    finally:
        diagnose(op_counts(out) == before, otherwise="changed_the_original")
    if made is None:
        raise Miss("returned_none")
    if isinstance(made, tl.Symbol):
        raise Miss("a_graph_only")
    if not callable(made):
        raise Miss("not_callable", type=type(made).__name__)
    values = rng.uniform(-1, 2, size=(2, 4)).round(2)
    seen = [one_value(made(v)) for v in values]
    zs = [w * v - v**2 for v in values]

    def totals(activation: Any) -> list[Any]:
        return [np.sum(activation(z) ** 2 + np.exp(activation(z)) - z) - 99.0 for z in zs]

    diagnose(
        close(seen, totals(lambda z: np.maximum(z, 0))),
        still_tanh=close(seen, totals(np.tanh)),
        on_top=close(seen, np.maximum(totals(np.tanh), 0)),
        passes_through=close(seen, totals(lambda z: z)),
        relu_of_tanh=close(seen, totals(lambda z: np.maximum(np.tanh(z), 0))),
        otherwise="wrong_value",
    )
    compiled_or_miss(made)
    diagnose("tanh" not in op_counts(made.outputs[0]), otherwise="tanh_still_there")


CHANGES = {
    "0f49486f6aa7": "holds",
    "19e54d597a83": "says_function_follows",
    "2900daf0b55d": "says_frozen_by_compiling",
    "f22ad4d8883a": "says_nothing",
}

EXERCISES = (
    Exercise(
        key="L03.ex1",
        answer="drop_one",
        judge=judge_rule,
        wrong_answers=cases("""
#: nothing_happens
def drop_one(node):
    return None
#: raised
def drop_one(node):
    left, right = node.inputs
    return left if right == 1 else None
#: one_side
def drop_one(node):
    left, right = node.inputs
    if isinstance(right, tl.Constant) and right.value == 1:
        return left
#: one_side
def drop_one(node):
    left, right = node.inputs
    if isinstance(left, tl.Constant) and left.value == 1:
        return right
#: drops_a_variable
def drop_one(node):
    return node.inputs[0]
#: drops_other_numbers
def drop_one(node):
    left, right = node.inputs
    if isinstance(right, tl.Constant):
        return left
    if isinstance(left, tl.Constant):
        return right
#: wrong_stand_in
def drop_one(node):
    left, right = node.inputs
    if isinstance(right, tl.Constant) and right.value == 1:
        return right
    if isinstance(left, tl.Constant) and left.value == 1:
        return left
#: never_rests
def drop_one(node):
    left, right = node.inputs
    if isinstance(right, tl.Constant) and right.value == 1:
        return left * 1
    if isinstance(left, tl.Constant) and left.value == 1:
        return right * 1
#: other_graph
def drop_one(node):
    left, right = node.inputs
    if isinstance(right, tl.Constant) and right.value == 1:
        return tl.neg(left)
    if isinstance(left, tl.Constant) and left.value == 1:
        return tl.neg(right)
#: raised
def drop_one(node):
    left, right = node.inputs
    return left if right.value == 1 else None
#: not_a_function
drop_one = 1
"""),
    ),
    Exercise(
        key="L03.ex2",
        answer="evaluations",
        judge=judge_evaluations,
        wrong_answers=cases("""
#: counts_paths
def evaluations(root):
    def count(variable):
        return 0 if variable.node is None else 1 + sum(count(v) for v in variable.node.inputs)
    keys = {(n.op.name, tuple(map(id, n.inputs)), str(n.attrs)) for n in tl.toposort([root])}
    return count(root), len(keys)
#: only_one_level
def evaluations(root):
    nodes = tl.toposort([root])
    return len(nodes), len({(n.op.name, tuple(map(id, n.inputs)), str(n.attrs)) for n in nodes})
#: ignores_inputs
def evaluations(root):
    nodes = tl.toposort([root])
    return len(nodes), len({(n.op.name, len(n.inputs)) for n in nodes})
#: ignores_order
def evaluations(root):
    nodes, first = tl.toposort([root]), {}
    number = {}
    for n in nodes:
        key = n.op.name, frozenset(number.get(id(v), id(v)) for v in n.inputs), str(n.attrs)
        number[id(n.outputs[0])] = first.setdefault(key, id(n.outputs[0]))
    return len(nodes), len(first)
#: ignores_attributes
def evaluations(root):
    nodes, first = tl.toposort([root]), {}
    number = {}
    for n in nodes:
        key = n.op.name, tuple(number.get(id(v), id(v)) for v in n.inputs)
        number[id(n.outputs[0])] = first.setdefault(key, id(n.outputs[0]))
    return len(nodes), len(first)
#: not_merged
def evaluations(root):
    nodes = tl.toposort([root])
    return len(nodes), len(set(map(id, nodes)))
#: exchanged
def evaluations(root):
    nodes, first, number = tl.toposort([root]), {}, {}
    for n in nodes:
        key = n.op.name, tuple(number.get(id(v), id(v)) for v in n.inputs), str(n.attrs)
        number[id(n.outputs[0])] = first.setdefault(key, id(n.outputs[0]))
    return len(first), len(nodes)
#: wrong_count
def evaluations(root):
    nodes, first, number = tl.toposort([root]), {}, {}
    for n in nodes:
        key = n.op.name, tuple(number.get(id(v), id(v)) for v in n.inputs), str(n.attrs)
        number[id(n.outputs[0])] = first.setdefault(key, id(n.outputs[0]))
    return len(nodes), min(len(first), 7)
#: returned_none
def evaluations(root):
    print(len(tl.toposort([root])))
#: not_a_function
evaluations = 7, 5
"""),
    ),
    Exercise(
        key="L03.ex3",
        answer="prediction",
        judge=choice("L03.ex3 which error when?", tuple("abcd"), STAGES),
        options=tuple("abcd"),
        wrong_answers=cases("""
#: says_all_at_call
prediction = "a"
#: says_lengths_at_build
prediction = "b"
#: says_shapes_at_compile
prediction = "d"
#: unknown_option
prediction = "build"
"""),
    ),
    Exercise(
        key="L03.ex4",
        answer="without_tanh",
        judge=judge_replace,
        wrong_answers=cases("""
#: still_tanh
def without_tanh(x, out):
    return tl.function([x], out)
#: on_top
def without_tanh(x, out):
    return tl.function([x], tl.relu(out))
#: passes_through
def without_tanh(x, out):
    pairs = [(n.outputs[0], n.inputs[0]) for n in tl.toposort([out]) if n.op.name == "tanh"]
    return tl.function([x], out, givens=pairs)
#: relu_of_tanh
def without_tanh(x, out):
    pairs = [(n.outputs[0], tl.relu(n.outputs[0])) for n in tl.toposort([out]) if n.op.name == "tanh"]
    return tl.function([x], out, givens=pairs)
#: wrong_value
def without_tanh(x, out):
    pairs = [(n.outputs[0], tl.relu(x)) for n in tl.toposort([out]) if n.op.name == "tanh"]
    return tl.function([x], out, givens=pairs)
#: tanh_still_there
def without_tanh(x, out):
    h = next(n.outputs[0] for n in tl.toposort([out]) if n.op.name == "tanh")
    return tl.function([x], out, givens=[(h, tl.relu(h.node.inputs[0]) + 0 * h)])
#: changed_the_original
def without_tanh(x, out):
    for n in tl.toposort([out]):
        if n.op.name == "tanh":
            n.op = tl.relu
    return tl.function([x], out)
#: a_graph_only
def without_tanh(x, out):
    h = next(n.outputs[0] for n in tl.toposort([out]) if n.op.name == "tanh")
    return tl.relu(h.node.inputs[0])
#: not_compiled
def without_tanh(x, out):
    h = next(n.outputs[0] for n in tl.toposort([out]) if n.op.name == "tanh")
    f = tl.function([x], out, givens=[(h, tl.relu(h.node.inputs[0]))])
    return lambda values: f(values)
#: returned_none
def without_tanh(x, out):
    tl.function([x], out)
#: not_callable
def without_tanh(x, out):
    return [(x, out)]
#: not_a_function
without_tanh = 3.5
"""),
    ),
    Exercise(
        key="L03.ex5",
        answer="choice",
        judge=choice("L03.ex5 what is fixed?", tuple("abcd"), CHANGES),
        options=tuple("abcd"),
        quiz=True,
        wrong_answers=cases("""
#: says_nothing
choice = "a"
#: says_function_follows
choice = "b"
#: says_frozen_by_compiling
choice = "c"
#: unknown_option
choice = "yes"
"""),
    ),
)
