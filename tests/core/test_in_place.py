"""Changing a tensor in place, and the learner's own arrays that a recorded graph still needs."""

import copy

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core.observe import observers


def leaf(value, name=None):
    return tl.tensor(value, requires_grad=True, name=name)


# ---- writing in place ----


def test_a_plain_tensor_may_be_changed_in_place():
    t = tl.tensor([1.0, 2.0, 3.0])
    same = t
    t += 1
    t *= np.array([1.0, 2.0, 3.0])
    t -= tl.tensor(1.0)
    t /= 2
    assert same is t
    assert t.tolist() == [0.5, 2.5, 5.5]


def test_assignment_by_every_kind_of_index():
    t = tl.tensor(np.zeros((2, 3)))
    t[0, 0] = 1
    t[1] = [4.0, 5.0, 6.0]
    t[tl.tensor(0), tl.tensor([1, 2])] = 7.0
    t[t == 7.0] = tl.tensor(8.0)
    t[..., -1:] = np.array([[9.0], [9.0]])
    assert t.tolist() == [[1.0, 8.0, 9.0], [4.0, 5.0, 9.0]]


def test_assignment_does_not_reach_what_was_read_before():
    t = tl.tensor([1.0, 2.0])
    array, alias = t.numpy(), t.detach()
    t[0] = 100.0
    assert array.tolist() == [1.0, 2.0]
    assert alias.tolist() == [1.0, 2.0]


def test_assignment_that_does_not_fit_is_refused_and_changes_nothing():
    t = tl.tensor([1.0, 2.0, 3.0])
    with pytest.raises(tl.ShapeError, match="does not fit"):
        t[:] = [1.0, 2.0]
    with pytest.raises(tl.OutOfBoundsError, match="out of bounds"):
        t[3] = 0.0
    with pytest.raises(tl.OutOfBoundsError, match="too many"):
        t[0, 0] = 0.0
    with pytest.raises(tl.ModeMixError, match="not a symbol"):
        t[0] = tl.scalar("s")
    assert t.tolist() == [1.0, 2.0, 3.0]


def test_in_place_arithmetic_keeps_shape_and_dtype_or_is_refused():
    t = tl.tensor([1, 2])
    with pytest.raises(tl.DTypeError, match="float64"):
        t += 0.5
    with pytest.raises(tl.ShapeError):
        t += np.ones((2, 2), int)
    narrow = tl.tensor(np.ones(2, "float32"))
    narrow += np.ones(2)
    assert narrow.dtype == "float32"
    assert t.tolist() == [1, 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.__setitem__(0, 1.0),
        lambda t: t.__iadd__(1.0),
        lambda t: t.__imul__(2.0),
        lambda t: t.assign([0.0, 0.0]),
    ],
    ids="setitem iadd imul assign".split(),
)
def test_what_a_graph_needs_is_not_changed_in_place(change):
    x = leaf([1.0, 2.0])
    for needed in (x, x * 2):
        with pytest.raises(tl.StaleValueError):
            change(needed)
    assert x.tolist() == [1.0, 2.0]


def test_a_gradient_is_never_silently_cut_by_writing_a_recorded_value_into_a_plain_tensor():
    x, total = leaf([1.0, 2.0]), tl.tensor([0.0, 0.0])
    with pytest.raises(tl.StaleValueError, match="not the gradient"):
        total += x
    with pytest.raises(tl.StaleValueError, match="not the gradient"):
        total[0] = x[0]
    total += x.detach()
    assert total.tolist() == [1.0, 2.0]


def test_inside_no_grad_a_leaf_may_be_changed_but_a_recorded_result_may_not():
    x = leaf([1.0, 2.0])
    y = x * 2
    with tl.no_grad():
        x += 1
        x[0] = 7.0
        x.assign([8.0, 9.0])
        with pytest.raises(tl.StaleValueError):
            y += 1
    assert x.tolist() == [8.0, 9.0]
    assert x.requires_grad


def test_assign_takes_a_copy_of_the_same_shape():
    t, data = tl.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    t.assign(data)
    data[0] = 100.0
    assert t.tolist() == [3.0, 4.0]
    with pytest.raises(tl.ShapeError, match="another shape"):
        t.assign([1.0])


# ---- the learner's arrays that a graph needs ----


def test_an_array_that_a_graph_needs_is_read_only_until_backward_has_run():
    x, data = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    loss = (x * data).sum()
    with pytest.raises(ValueError, match="read-only"):
        data[0] = 100.0
    loss.backward()
    data[0] = 100.0
    assert x.grad.tolist() == [3.0, 4.0]


def test_an_array_is_writable_again_when_the_graph_is_gone():
    x, data = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    loss = (x * data).sum()
    del loss
    data[0] = 100.0
    assert data[0] == 100.0


def test_an_array_that_was_read_only_before_stays_so():
    x, data = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    data.flags.writeable = False
    (x * data).sum().backward()
    assert not data.flags.writeable


def test_a_view_cannot_be_used_to_change_what_a_graph_needs():
    x, data = leaf([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    loss = (x * data[:2]).sum()
    with pytest.raises(ValueError, match="read-only"):
        data[0] = 100.0
    loss.backward()
    data[0] = 100.0
    assert x.grad.tolist() == [3.0, 4.0]


def test_an_array_that_two_graphs_need_is_held_until_both_are_done():
    x, data = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    one, two = (x * data).sum(), (x - data).sum()
    one.backward()
    with pytest.raises(ValueError, match="read-only"):
        data[0] = 100.0
    two.backward()
    data[0] = 100.0


def test_views_of_one_array_are_given_back_in_any_order():
    data = np.ones((2, 2))
    first, second = data[0], data[1]
    losses = [(tl.tensor(1.0, requires_grad=True) * view).sum() for view in (first, second)]
    losses[0].backward()
    assert not first.flags.writeable
    losses[1].backward()
    assert first.flags.writeable and second.flags.writeable and data.flags.writeable


# ---- updates that write over the array itself ----


@pytest.fixture
def unwatched():
    """No observer left by other tests: one may keep the values of before."""
    watching = observers[:]
    observers.clear()
    yield
    observers.extend(watching)


def test_an_update_of_an_array_that_nobody_else_has_makes_no_other(unwatched):
    w = tl.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    where = w.numpy().__array_interface__["data"][0]
    with tl.no_grad():
        w -= 0.5 * w.grad
    assert w.numpy().__array_interface__["data"][0] == where
    assert w.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "holder", [lambda w: w.numpy(), lambda w: w.detach(), lambda w: w.data[1:], lambda w: copy.copy(w)]
)
def test_whoever_has_a_value_keeps_it_through_an_update(holder):
    w = tl.tensor([1.0, 2.0], requires_grad=True)
    held = holder(w)
    before = np.array(held)
    with tl.no_grad():
        w += 10.0
    assert w.tolist() == [11.0, 12.0]
    np.testing.assert_array_equal(np.array(held), before)


def test_an_update_before_the_backward_pass_leaves_the_gradient_right():
    w = tl.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    with tl.no_grad():
        w *= 100.0
    loss.backward()
    assert w.grad.tolist() == [2.0, 4.0]


def test_gradients_that_share_an_array_are_updated_apart():
    a, b = (tl.tensor([1.0], requires_grad=True) for _ in range(2))
    (a + b).sum().backward()
    a.grad *= 3.0
    assert (a.grad.item(), b.grad.item()) == (3.0, 1.0)


def test_a_tensor_may_be_updated_by_itself():
    w = tl.tensor([1.0, 2.0])
    w += w
    w -= w * 0.5
    assert w.tolist() == [1.0, 2.0]


def test_an_update_that_fails_changes_nothing():
    n = tl.tensor([1, 2])
    with pytest.raises(tl.DTypeError):
        n += 0.5
    with pytest.raises(tl.ShapeError):
        n += tl.tensor([[1], [2]])
    assert n.tolist() == [1, 2]
