"""Fusion as a rewrite: what runs as one pass is in the log, can be switched off, is checked, and is what runs."""

import numpy as np
import pytest

import tutorlib as tl
from tests.compile.random_graphs import random_graph, values_for
from tutorlib.compile.passes import Fused
from tutorlib.compile.pipeline import compiled
from tutorlib.compile.regions import LARGE
from tutorlib.compile.rewrite import WrongRewriteError
from tutorlib.compile.tiles import Tiles
from tutorlib.core.graph import Op

x, y = tl.vector("x"), tl.vector("y")


def regions_of(outputs, updates=0):
    return compiled(list(outputs), updates, None)[2]


def parts(region):
    return [op.name for op, _, _ in region.steps]


def fuse_steps(f):
    return [step for step in f.log if step.rule.startswith("fuse_")]


def test_a_chain_of_elementwise_ops_is_one_pass():
    (region,) = regions_of([tl.tanh(tl.exp(x) * y) + 1.0])
    assert parts(region) == ["exp", "mul", "tanh", "add"]
    assert [v.name for v in region.inputs if v.name] == ["x", "y"]
    assert [v.node.op.name for v in region.outputs] == ["add"]


def test_a_sum_over_everything_ends_a_pass_and_what_needs_it_comes_after():
    centred = tl.exp(tl.sin(x)) - tl.mean(tl.exp(tl.sin(x)))
    first, second = regions_of([tl.tanh(tl.cos(centred))])
    assert parts(first) == ["sin", "exp", "mean"]
    assert parts(second) == ["sub", "cos", "tanh"]
    assert [v.node.op.name for v in first.outputs] == ["exp", "mean"]


def test_what_lies_between_two_passes_keeps_them_apart():
    a = tl.exp(tl.sin(tl.cos(x)))
    b = tl.tanh(tl.sqrt(tl.cumsum(a))) * a
    assert [parts(r) for r in regions_of([b])] == [["cos", "sin", "exp"], ["sqrt", "tanh", "mul"]]


def test_two_chains_that_share_nothing_are_two_passes():
    assert len(regions_of([tl.exp(tl.sin(tl.cos(x))), tl.exp(tl.sin(tl.cos(y)))])) == 2


def test_two_chains_that_read_one_array_are_one_pass():
    assert len(regions_of([tl.exp(tl.sin(x)), tl.cos(tl.tanh(x))])) == 1


def test_two_ops_and_small_arrays_are_left_alone():
    small = tl.symbol("s", (8,))
    assert not regions_of([tl.exp(x) * 2.0])
    assert not regions_of([tl.exp(tl.sin(tl.cos(small)))])


def test_a_stretched_number_stands_as_the_number_it_is():
    (region,) = regions_of([tl.grad(tl.sum(tl.sin(tl.exp(x))), x)])
    assert "broadcast_like" not in parts(region)
    assert all("elementwise" in op.flags and op.c for op, _, _ in region.steps)


def test_the_step_tells_the_ops_their_line_and_both_sides():
    z = tl.tanh(tl.exp(x) * y) + 1.0
    f = tl.function([x, y], z)
    (step,) = fuse_steps(f)
    assert (step.rule, step.says) == ("fuse_elementwise", "one pass instead of 4: exp, mul, tanh, add")
    assert step.source.text == "z = tl.tanh(tl.exp(x) * y) + 1.0"
    assert step.before.node.op.name == "add"
    assert step.after.node.op.name == "fused: exp, mul, tanh, add"
    assert [v.name for v in step.after.node.inputs] == ["x", "y"]


def test_the_log_goes_to_the_fused_graph_and_back_while_the_function_runs_on():
    z = tl.tanh(tl.exp(x) * y) + 1.0
    f = tl.function([x, y], z)
    want = np.tanh(np.exp(1.0) * 2.0) + 1.0
    for n in (len(f.log), 0, len(f.log)):
        (out,) = f.log.goto(n)
        np.testing.assert_allclose(out.eval({x: [1.0], y: [2.0]}), [want])
        for size in (1, 2 + n):
            np.testing.assert_allclose(f(np.ones(size), np.full(size, 2.0)), np.full(size, want))
    assert isinstance(f.log.goto(len(f.log))[0].node.op, Fused)
    assert [e["rule"] for e in f.log.to_json()] == ["fuse_elementwise"]


def test_a_graph_at_another_state_of_the_log_does_not_disturb_a_call_with_new_shapes():
    f = tl.function([x], tl.sin(tl.log(1 + tl.exp(x)) * 1))
    f.log.goto(0)
    np.testing.assert_allclose(f([1.0, 2.0]), np.sin(np.logaddexp(0, [1.0, 2.0])))
    f.log.goto(0)
    assert "softplus" in f.source
    f.log.goto(0)
    np.testing.assert_allclose(f([1.0, 2.0, 3.0]), np.sin(np.logaddexp(0, [1.0, 2.0, 3.0])))


def test_a_fused_node_gives_several_results():
    e = tl.exp(tl.sin(x))
    f = tl.function([x], [e * 2.0, tl.sum(e), tl.mean(e)])
    outs = f.log.goto(len(f.log))
    assert len({id(v.node) for v in outs}) == 1
    want = np.exp(np.sin([1.0, 2.0, 3.0]))
    for out, value in zip(outs, (want * 2, want.sum(), want.mean()), strict=True):
        np.testing.assert_allclose(out.eval({x: [1.0, 2.0, 3.0]}), value)


@pytest.mark.parametrize(("off", "left"), [("fuse_sums", 1), ("fuse_elementwise", 0)])
def test_passes_can_be_switched_off(off, left):
    loss = tl.sum(tl.exp(tl.sin(tl.cos(x))))
    array = np.linspace(0, 1, LARGE + 3)
    with tl.rules_off(off):
        f = tl.function([x], loss)
    np.testing.assert_allclose(f(array), np.exp(np.sin(np.cos(array))).sum())
    tiled = [step for step in f._fast.latest().steps if isinstance(step, Tiles)]
    assert len(fuse_steps(f)) == len(tiled) == left
    assert all(node.op.name != "sum" for step in tiled for node in step.nodes)


def test_the_pass_in_the_log_is_the_pass_that_runs():
    w = tl.shared(np.linspace(0, 1, LARGE), name="w")
    loss = tl.mean(tl.exp(tl.sin(w) * 2.0))
    f = tl.function([], loss, updates=[(w, w - 0.1 * tl.grad(loss, w))])
    f()
    (step,) = fuse_steps(f)
    (names,) = f.schedule.passes
    assert step.says.endswith(": " + ", ".join(names))
    assert f"# {len(names)} ops run as one pass" in f.source and f"one pass of {len(names)} ops" in repr(f.schedule)


def test_check_mode_finds_an_op_that_is_not_elementwise_though_it_says_so():
    running = Op("running", lambda xp, v: xp.cumsum(v), lambda v: v, flags={"elementwise"})

    @tl.rule("running", tier="fuse", says="wrong: a running sum needs what came before")
    def join_running(node):
        return True

    try:
        with pytest.raises(WrongRewriteError, match="changed the value"):
            tl.function([x], tl.exp(running(tl.sin(x))), mode="check")
    finally:
        tl.remove_rule("join_running")


def test_a_fused_node_takes_whole_what_cannot_be_cut():
    constant, column = np.arange(1.0, 7.0).reshape(2, 3), tl.symbol("column", (None, 1, 1))
    m = tl.matrix("m")
    outputs = [tl.tanh(tl.exp(m) * constant) + 1, tl.tanh(tl.sin(tl.cos(m[..., :1])) + tl.exp(m)), tl.sin(m) * column]
    f = tl.function([m, column], outputs, mode="check")
    values = np.linspace(-1.0, 1.0, 6).reshape(2, 3), np.ones((1, 1, 1))
    given = dict(zip([m, column], values, strict=True))
    for shown, run in zip(f.log.goto(len(f.log)), f(*values), strict=True):
        np.testing.assert_allclose(shown.eval(given), run, rtol=1e-12)


def test_sums_along_one_axis_end_no_pass():
    rows = tl.matrix("rows")
    (region,) = regions_of([tl.sum(tl.exp(tl.sin(tl.cos(rows))), axis=1)])
    assert parts(region) == ["cos", "sin", "exp"]


@pytest.mark.parametrize("seed", range(40))
def test_fused_random_graphs_keep_their_values(seed):
    inputs, out = random_graph(seed, size=10)
    f = tl.function(inputs, [out, tl.sum(out)], on_unused_input="ignore")
    for shape in ((3, 4), (1, 1), (0, 2), (1, 5)):
        given = dict(zip(inputs, values_for(shape, 2, seed=seed), strict=True))
        want = [v.eval(given) for v in f.log.goto(0)]
        got = [v.eval(given) for v in f.log.goto(len(f.log))]
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
