"""Rewrites: each rule does what its equation says, every step is recorded, can be undone, switched off and checked."""

import json

import numpy as np
import pytest

import tutorlib as tl
from tests.compile.random_graphs import random_graph
from tutorlib.compile.rewrite import WrongRewriteError, rewrite
from tutorlib.compile.rule_table import Rule


def ops(expression):
    """The op names of an expression after rewriting, in order."""
    (out,), _ = rewrite([expression])
    return [node.op.name for node in tl.toposort([out])]


def names(expression):
    return [step.rule for step in rewrite([expression])[1]]


x = tl.matrix("x")
s = tl.scalar("s")


@pytest.mark.parametrize(
    ("expression", "left"),
    [
        (x * 1, []),
        (1 * x, []),
        (x + 0, []),
        (x - 0.0, []),
        (x / 1, []),
        (tl.neg(-x), []),
        (x * -1, ["neg"]),
        (x + (-s * x), ["neg", "mul", "add"]),
        (x - (-x), ["mul"]),
        (-(x - s), ["sub"]),
        (x**2, ["square"]),
        (x**1, []),
        (x**-1.0, ["reciprocal"]),
        (x * x, ["square"]),
        (x.T.T, []),
        (tl.squeeze(tl.expand_dims(x, 1), 1), []),
        (tl.reshape(tl.reshape(x, (-1,)), (2, 3)), ["reshape"]),
        (tl.where(x > 0, s, s), ["gt", "where"]),
        (tl.safe_mul(x, 2.0), ["mul"]),
        (tl.safe_mul(3.0, x), ["mul"]),
        (tl.safe_mul(x, np.inf), ["safe_mul"]),
        (tl.safe_div(x, 0.0), ["safe_div"]),
        (tl.safe_mul(x, s), ["safe_mul"]),
        (tl.log(1 + tl.exp(x)), ["softplus"]),
        (tl.log1p(tl.exp(x)), ["softplus"]),
        (tl.log(1 + x), ["log1p"]),
        (tl.exp(x) - 1, ["expm1"]),
        (tl.log(tl.softmax(x)), ["log_softmax"]),
        (tl.log(tl.softmax(x).T), ["log_softmax", "transpose"]),
        (tl.log(tl.reshape(tl.softmax(x), (-1,))), ["log_softmax", "reshape"]),
        (1 / (1 + tl.exp(-x)), ["sigmoid"]),
        (tl.exp(x) / (1 + tl.exp(x)), ["sigmoid"]),
        (tl.log(tl.sigmoid(x)), ["neg", "softplus", "neg"]),
        (1 - tl.sigmoid(x), ["neg", "sigmoid"]),
        (tl.log(tl.exp(x)), []),
        (tl.sqrt(tl.square(x)), ["abs"]),
        (tl.log(tl.sum(tl.exp(x), axis=1)), ["logsumexp"]),
        (tl.exp(x) / tl.sum(tl.exp(x), axis=1, keepdims=True), ["softmax"]),
        (2.0 * (3.0 * x), ["mul"]),
        (x / 4.0, ["mul"]),
        (x + x, ["mul"]),
        ((-x) * (-s), ["mul"]),
        (x * (tl.exp(tl.symbol("c", ())) * 0 + 1), ["exp", "mul", "add", "mul"]),
    ],
)
def test_what_a_rule_leaves(expression, left):
    assert ops(expression) == left


def test_equal_nodes_become_one():
    assert ops(tl.exp(x) + tl.exp(x) * s) == ["exp", "mul", "add"]
    assert "merge" in names(tl.exp(x) + tl.exp(x) * s)


def test_different_attributes_are_not_merged():
    assert ops(tl.sum(x, axis=0)[0] + tl.sum(x, axis=1)[0]).count("sum") == 2


def test_constants_are_folded():
    assert ops(x * tl.sum(tl.core.graph.Constant(np.ones(3)))) == ["mul"]


def test_rewriting_keeps_what_is_stated_of_shape_and_dtype():
    # x * 1 may be replaced by x only where 1 does not stretch it.
    wide = tl.core.graph.Constant(np.ones((4, 1, 1)))
    assert ops(x * wide) == ["mul"]
    narrow = tl.symbol("n", (None,), "float32")
    assert ops(narrow * np.float64(1.0)) == ["mul"]


def test_unsafe_rules_are_off_unless_asked_for():
    assert ops(x - x) == ["sub"]
    (out,), _ = rewrite([x - x], allow=("exact", "reassociates", "nan_unsafe"))
    assert out.node.op.name == "zeros_like"


def test_a_stable_form_gives_the_right_value_where_the_written_one_overflows():
    f = tl.function([x], [tl.log(1 + tl.exp(x)), tl.log(tl.softmax(x))])
    g = tl.function([x], [tl.log(1 + tl.exp(x)), tl.log(tl.softmax(x))], mode="plain")
    big = [[1000.0, 0.0]]
    assert np.array_equal(f(big)[0], [[1000.0, np.log(2.0)]])
    assert np.array_equal(f(big)[1], [[0.0, -1000.0]])
    assert np.isinf(g(big)[0]).any() and np.isinf(g(big)[1]).any()


def test_the_gradient_of_log_softmax_is_stable_too():
    cost = tl.log(tl.softmax(x))[:, 0].sum()
    f = tl.function([x], tl.grad(cost, x))
    assert np.allclose(f([[0.0, 1000.0]]), [[1.0, -1.0]])


def test_the_gradient_of_softplus_written_out_is_stable_too():
    gradient = tl.grad(tl.log(1 + tl.exp(x)).sum(), x)
    f = tl.function([x], gradient)
    assert np.allclose(f([[-1000.0, 0.0, 1000.0]]), [[0.0, 0.5, 1.0]])
    assert "exp" not in ops(gradient)


def test_the_learners_graph_is_left_as_it_is():
    y = tl.log(1 + tl.exp(x)) * 1
    tl.function([x], y)
    assert [node.op.name for node in tl.toposort([y])] == ["exp", "add", "log", "mul"]


def test_the_log_goes_back_and_forth():
    (_,), log = rewrite([tl.log(1 + tl.exp(x)) * 1 + 0])
    seen = [[node.op.name for node in tl.toposort(log.goto(n))] for n in range(len(log) + 1)]
    assert seen[0] == ["exp", "add", "log", "mul", "add"]
    assert seen[-1] == ["softplus"]
    assert [[node.op.name for node in tl.toposort(log.goto(n))] for n in reversed(range(len(log) + 1))] == seen[::-1]


def test_every_state_of_the_log_computes_the_same():
    inputs, out = random_graph(seed=5, size=14)
    _, log = rewrite([out])
    assert len(log) > 3
    rng = np.random.default_rng(0)
    given = dict(zip(inputs, rng.normal(size=(2, 3, 4)), strict=True))
    values = [log.goto(n)[0].eval(given) for n in range(len(log) + 1)]
    for value in values[1:]:
        np.testing.assert_allclose(value, values[0], rtol=1e-9)


def test_a_step_tells_rule_equation_and_the_learners_line():
    y = tl.log(1 + tl.exp(x))
    (step,) = rewrite([y])[1]
    assert (step.n, step.rule, step.says) == (1, "log_of_one_plus_exp", "log(1 + eˣ) = softplus(x)")
    assert step.source.text == "y = tl.log(1 + tl.exp(x))"


def test_the_log_is_plain_data():
    (_,), log = rewrite([x * 1 + 0])
    entries = json.loads(json.dumps(log.to_json()))
    assert [e["rule"] for e in entries] == [s.rule for s in log]
    assert entries[0]["before"] != entries[0]["after"]


def test_a_rule_that_nearly_held_says_why_not():
    narrow = tl.symbol("n", (None,), "float32")
    (_,), log = rewrite([narrow * np.float64(1.0)])
    (miss,) = log.near
    assert miss.rule == "times_one" and "widens its dtype" in miss.why


def test_a_rule_can_be_switched_off():
    with tl.rules_off("times_one"):
        assert ops(x * 1) == ["mul"]
    assert ops(x * 1) == []
    with pytest.raises(tl.TutorlibError, match="no rule is called"), tl.rules_off("nonsense"):
        pass


def test_a_learner_writes_a_rule():
    @tl.rule("tanh", says="tanh(−x) = −tanh(x)")
    def odd_tanh(node):
        inner = node.inputs[0].node
        return -tl.tanh(inner.inputs[0]) if inner is not None and inner.op.name == "neg" else None

    try:
        assert ops(tl.tanh(-x)) == ["tanh", "neg"]
        assert tl.rules()["odd_tanh"].says == "tanh(−x) = −tanh(x)"
    finally:
        tl.remove_rule("odd_tanh")


def test_a_rule_that_changes_the_dtype_is_refused():
    @tl.rule("sin", says="wrong")
    def wrong_dtype(node):
        return tl.cast(node.inputs[0], "float32")

    try:
        with pytest.raises(WrongRewriteError, match="float32"):
            rewrite([tl.sin(x)])
    finally:
        tl.remove_rule("wrong_dtype")


def test_check_mode_catches_a_rule_that_changes_the_value():
    @tl.rule("sin", says="sin x = cos x")
    def wrong_value(node):
        return tl.cos(node.inputs[0])

    try:
        with pytest.raises(WrongRewriteError, match="changed the value"):
            tl.function([x], tl.sin(x), mode="check")
    finally:
        tl.remove_rule("wrong_value")


def test_rules_that_undo_each_other_are_stopped():
    @tl.rule("sin", says="there")
    def there(node):
        return tl.cos(node.inputs[0])

    @tl.rule("cos", says="and back")
    def and_back(node):
        return tl.sin(node.inputs[0])

    try:
        with pytest.raises(WrongRewriteError, match="do not come to rest"):
            rewrite([tl.sin(x)])
    finally:
        tl.remove_rule("there")
        tl.remove_rule("and_back")


def test_rules_of_the_library_that_undo_each_other_cost_a_warning_and_no_program(monkeypatch):
    monkeypatch.setattr(Rule, "of_the_library", True)

    @tl.rule("sin", says="there")
    def there(node):
        return -tl.cos(node.inputs[0] + np.pi / 2)

    @tl.rule("cos", says="and back")
    def and_back(node):
        return tl.sin(node.inputs[0] + np.pi / 2)

    try:
        with pytest.warns(UserWarning, match="do not come to rest"):
            f = tl.function([x], tl.sin(x))
        np.testing.assert_allclose(f([[0.5, 1.0]]), np.sin([[0.5, 1.0]]), rtol=1e-9)
        with pytest.raises(WrongRewriteError, match="do not come to rest"):
            tl.function([x], tl.sin(x), mode="check")
    finally:
        tl.remove_rule("there")
        tl.remove_rule("and_back")


def test_an_observer_sees_every_step():
    class Watch(tl.Observer):
        def __init__(self):
            self.steps = []

        def on_rewrite(self, step):
            self.steps.append(step.rule)

    with tl.observe(Watch()) as watch:
        _, log = rewrite([tl.log(1 + tl.exp(x)) * 1])
    assert watch.steps == [step.rule for step in log]


def test_a_result_given_as_an_input_is_not_looked_through():
    e = tl.exp(x)
    f = tl.function([e], tl.log(e))
    assert f([[1.0]]) == 0.0


@pytest.mark.parametrize("block", range(10))
def test_a_thousand_random_graphs_keep_their_values_at_every_step(block):
    for seed in range(100 * block, 100 * (block + 1)):
        inputs, out = random_graph(seed, size=3 + seed % 8)
        tl.function(inputs, out, mode="check", on_unused_input="ignore")


@pytest.mark.parametrize("block", range(4))
def test_random_graphs_and_gradients_of_known_shapes_keep_their_values_at_every_step(block):
    for seed in range(12 * block, 12 * (block + 1)):
        shape = [(3, 4), (1, 5), (2, 1), (0, 3)][seed % 4]
        inputs, out = random_graph(seed, size=4 + seed % 8, shape=shape)
        rate = 0.1 * tl.grad(tl.sum(out), inputs[0], disconnected="zero")
        f = tl.function(inputs, [out, rate], mode="check", on_unused_input="ignore")
        g = tl.function(inputs, [out, rate], mode="plain", on_unused_input="ignore")
        values = np.random.default_rng(seed).normal(size=(2, *shape))
        for got, want in zip(f(*values), g(*values), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_gradients_of_random_graphs_keep_their_values(seed):
    inputs, out = random_graph(seed, size=6)
    gradient = tl.grad(tl.sum(out), inputs[0], disconnected="zero")
    f = tl.function(inputs, gradient, on_unused_input="ignore")
    g = tl.function(inputs, gradient, on_unused_input="ignore", mode="plain")
    values = np.random.default_rng(seed).normal(size=(2, 3, 4))
    np.testing.assert_allclose(f(*values), g(*values), rtol=1e-7, atol=1e-9)


def test_steps_inside_loops_and_branches_are_in_the_log():
    x = tl.vector("x")
    last, _ = tl.scan(lambda c, v: (tl.ifelse(c > 0, lambda: tl.log(1 + tl.exp(c * v)), lambda: c * 1), None), x, 0.5)
    log = tl.function([x], last).log
    ((loop, in_loop),) = log.inside
    assert [loop.op.name, *(node.op.name for node, _ in in_loop.inside)] == ["scan", "ifelse", "ifelse"]
    steps = {step.rule for _, branch in in_loop.inside for step in branch}
    assert {"log_of_one_plus_exp", "times_one"} <= steps
    assert repr(log).count("inside") == 3


def test_without_steps_inside_nothing_is_said_of_them():
    x = tl.vector("x")
    last, _ = tl.scan(lambda c, v: (c + v, None), x, 0.5)
    assert tl.function([x], last).log.inside == []
