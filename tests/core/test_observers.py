"""Storages count their writes; observers hear of everything, in order, for as long as somebody holds them."""

import gc

import numpy as np
import pytest

import tutorlib as tl


class Log(tl.Observer):
    """Writes down every event as (name, details)."""

    def __init__(self):
        self.events = []

    def on_node(self, node):
        self.events.append(("node", node.op.name))

    def on_vjp(self, node, cotangent, grads):
        self.events.append(("vjp", node.op.name))

    def on_write(self, storage, by):
        self.events.append(("write", storage.name, by if isinstance(by, str) else by.name))

    def on_call(self, function, inputs, outputs):
        self.events.append(("call", function.name, [float(o) for o in outputs]))


@pytest.fixture
def log():
    with tl.observe(Log()) as log:
        yield log


# ---- storage ----


def test_a_write_counts_a_version_and_replaces_the_array():
    s = tl.shared([1.0, 2.0], name="s")
    before = s.storage.value
    s.set_value([3.0, 4.0])
    assert s.storage.version == 1
    np.testing.assert_array_equal(before, [1.0, 2.0])
    np.testing.assert_array_equal(s.storage.value, [3.0, 4.0])


def test_an_update_of_a_function_counts_one_version_a_call():
    s = tl.shared(0.0)
    bump = tl.function([], updates=[(s, s + 1)])
    for _ in range(5):
        bump()
    assert s.storage.version == 5


def test_a_function_that_only_reads_writes_no_version():
    s = tl.shared(0.0)
    tl.function([], s * 2)()
    assert s.storage.version == 0


# ---- what is heard ----


def test_set_value_tells_that_it_wrote(log):
    tl.shared(1.0, name="s").set_value(2.0)
    assert log.events == [("write", "s", "set_value")]


def test_a_call_tells_every_write_first_and_then_the_call_with_its_old_outputs():
    a, b = tl.shared(1.0, name="a"), tl.shared(2.0, name="b")
    swap = tl.function([], a, updates=[(a, b), (b, a)], name="swap")
    with tl.observe(Log()) as log:
        swap()
    assert log.events == [("write", "a", "swap"), ("write", "b", "swap"), ("call", "swap", [1.0])]


def test_when_a_call_is_told_all_new_values_are_in_place():
    a, b = tl.shared(1.0, name="a"), tl.shared(2.0, name="b")
    seen = []

    class Look(tl.Observer):
        def on_call(self, function, inputs, outputs):
            seen.append((a.get_value().item(), b.get_value().item()))

    swap = tl.function([], updates=[(a, b), (b, a)])
    with tl.observe(Look()):
        swap()
    assert seen == [(2.0, 1.0)]


def test_a_call_that_fails_tells_nothing_and_writes_nothing():
    v = tl.vector("v")
    a, b = tl.shared(1.0, name="a"), tl.shared([1.0, 2.0], name="b")
    step = tl.function([v], updates=[(a, a + 1), (b, b + v)])
    with tl.observe(Log()) as log, pytest.raises(tl.ShapeError):
        step([1.0, 2.0, 3.0])
    assert log.events == []
    assert a.get_value() == 1.0
    assert (a.storage.version, b.storage.version) == (0, 0)


def test_recorded_ops_and_built_nodes_are_told_in_order(log):
    x = tl.tensor(2.0, requires_grad=True)
    _ = tl.exp(x * 3)
    _ = tl.scalar("s") + 1
    assert log.events == [("node", "mul"), ("node", "exp"), ("node", "add")]


def test_ops_that_are_not_recorded_are_not_told(log):
    tl.tensor(2.0) * 3
    with tl.no_grad():
        tl.tensor(2.0, requires_grad=True) * 3
    assert log.events == []


def test_the_gradient_walk_tells_every_node_it_passes_from_the_cost_back(log):
    x = tl.tensor(2.0, requires_grad=True)
    tl.exp(x * 3).backward()
    assert [e for e in log.events if e[0] == "vjp"] == [("vjp", "exp"), ("vjp", "mul")]


def test_writing_into_a_tensor_tells_that_it_was_in_place():
    t = tl.tensor([1.0, 2.0], name="t")
    with tl.observe(Log()) as log:
        t[0] = 5.0
        t += 1
    assert log.events == [("write", "t", "in-place"), ("write", "t", "in-place")]


# ---- who hears ----


def test_two_observers_both_hear():
    with tl.observe(Log()) as one, tl.observe(Log()) as two:
        tl.shared(1.0).set_value(2.0)
    assert len(one.events) == len(two.events) == 1


def test_an_observer_added_twice_hears_once():
    log = Log()
    tl.add_observer(log)
    tl.add_observer(log)
    tl.shared(1.0).set_value(2.0)
    tl.remove_observer(log)
    assert len(log.events) == 1


def test_after_the_with_block_nothing_is_heard():
    with tl.observe(Log()) as log:
        pass
    tl.shared(1.0).set_value(2.0)
    assert log.events == []


def test_removing_a_stranger_does_nothing():
    tl.remove_observer(Log())


def test_an_observer_that_nobody_holds_is_forgotten():
    from tutorlib.core.observe import observers

    events = []

    class Deaf(tl.Observer):
        def on_write(self, storage, by):
            events.append(by)

    before = len(observers)
    tl.add_observer(Deaf())
    gc.collect()
    tl.shared(1.0).set_value(2.0)
    assert events == []
    assert len(observers) == before


def test_an_observer_may_leave_while_it_is_being_told():
    class Once(tl.Observer):
        heard = 0

        def on_write(self, storage, by):
            self.heard += 1
            tl.remove_observer(self)

    once, other = Once(), Log()
    tl.add_observer(once)
    with tl.observe(other):
        tl.shared(1.0).set_value(2.0)
        tl.shared(1.0).set_value(2.0)
    assert once.heard == 1
    assert len(other.events) == 2


# ---- gradients, and what is about to happen ----


class Before(tl.Observer):
    """Writes down what is there before it changes, and the gradients of each walk."""

    def __init__(self):
        self.events = []

    def before_write(self, storage, by):
        held = storage.value if isinstance(storage, tl.Storage) else storage.data
        self.events.append(("before", by, np.asarray(held).tolist()))

    def before_call(self, function, inputs):
        self.events.append(
            ("call", [np.asarray(v).tolist() for v in inputs], float(function.updates[0][0].get_value()))
        )

    def on_gradient(self, cost, gradients):
        self.events.append(("gradient", float(cost), [(v.name, np.asarray(g).tolist()) for v, g in gradients]))


def test_before_a_write_the_old_value_is_still_there():
    s, p, t = tl.shared([1.0], name="s"), tl.Parameter([2.0], name="p"), tl.tensor([3.0], name="t")
    with tl.observe(Before()) as seen:
        s.set_value([10.0])
        with tl.no_grad():
            p += 1
        t += 1
    assert seen.events == [
        ("before", "set_value", [1.0]), ("before", "in-place", [2.0]), ("before", "in-place", [3.0]),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", [None, "plain"])
def test_before_a_call_the_inputs_are_known_and_the_old_values_still_there(mode):
    x = tl.scalar("x")
    total = tl.shared(1.0, name="total")
    add = tl.function([x], updates=[(total, total + x)], mode=mode)
    with tl.observe(Before()) as seen:
        add(5.0)
        add(7.0)
    assert seen.events == [("call", [5.0], 1.0), ("call", [7.0], 6.0)]


def test_the_end_of_a_backward_pass_tells_the_gradients_of_the_leaves():
    """cost = x² y at x = 3, y = 2: 2xy = 12 and x² = 9."""
    x, y = tl.tensor(3.0, requires_grad=True, name="x"), tl.tensor(2.0, requires_grad=True, name="y")
    with tl.observe(Before()) as seen:
        (x * x * y).backward()
    ((kind, cost, gradients),) = seen.events
    assert (kind, cost, dict(gradients)) == ("gradient", 18.0, {"x": 12.0, "y": 9.0})


def test_grad_tells_the_gradients_that_were_asked_for():
    x = tl.tensor(3.0, requires_grad=True, name="x")
    with tl.observe(Before()) as seen:
        tl.grad(x * x, x)
    assert seen.events == [("gradient", 9.0, [("x", 6.0)])]


def test_a_symbolic_gradient_knows_its_cost_and_its_variable():
    x, w = tl.vector("x"), tl.shared([1.0, 2.0], name="w")
    cost = (x * w).sum()
    found = tl.grad(cost, w)
    assert [(c is cost, v is w) for c, v in found.derivative_of] == [(True, True)]
