"""``.backward()``: what lands in ``.grad``, what may be walked again, and what is refused."""

import gc

import numpy as np
import pytest

import tutorlib as tl


def leaf(value, name=None):
    return tl.tensor(value, requires_grad=True, name=name)


def test_the_gradient_of_a_product_by_hand():
    x, y = leaf(3.0), leaf(4.0)
    (x * y).backward()
    assert (x.grad.item(), y.grad.item()) == (4.0, 3.0)


def test_gradients_of_several_backward_passes_add_up_until_cleared():
    x = leaf(3.0)
    (x * 2).backward()
    (x * 5).backward()
    assert x.grad.item() == 7.0
    x.zero_grad()
    assert x.grad is None
    (x * 2).backward()
    assert x.grad.item() == 2.0


def test_a_gradient_read_earlier_does_not_change_when_more_is_added():
    x = leaf([3.0])
    (x * 2).sum().backward()
    first = x.grad
    (x * 5).sum().backward()
    assert first.tolist() == [2.0]
    assert x.grad.tolist() == [7.0]


def test_two_leaves_never_share_one_gradient_array():
    x, y = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    (x + y).sum().backward()
    with tl.no_grad():
        x.grad += 100.0
    assert y.grad.tolist() == [1.0, 1.0]


def test_a_variable_used_several_times_gets_every_contribution():
    x = leaf(3.0)
    (x * x * x).backward()
    assert x.grad.item() == 27.0
    y = leaf(3.0)
    (y + y).backward()
    assert y.grad.item() == 2.0


def test_a_diamond_is_walked_once_a_node_not_once_a_path():
    x = leaf(1.0)
    y = x
    for _ in range(60):  # 2**60 paths
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60


def test_the_two_arms_of_a_diamond_by_hand():
    x = leaf(2.0)
    a = x * x
    b = a * 3
    c = a + 1
    (b * c).backward()  # 3x²(x²+1): 12x³ + 6x
    assert x.grad.item() == 108.0


def test_broadcasting_is_undone():
    x, y, z = leaf(np.ones((2, 1))), leaf(np.ones(3)), leaf(1.0)
    (x * y * z).sum().backward()
    assert x.grad.tolist() == [[3.0], [3.0]]
    assert y.grad.tolist() == [2.0, 2.0, 2.0]
    assert z.grad.item() == 6.0


def test_a_non_scalar_needs_weights():
    x = leaf([1.0, 2.0])
    with pytest.raises(tl.ShapeError, match=r"cost\.sum\(\)"):
        (x * x).backward()
    (x * x).backward([1.0, 10.0])
    assert x.grad.tolist() == [2.0, 40.0]


@pytest.mark.parametrize("weights", [tl.tensor([1.0, 10.0]), np.array([1, 10]), (1, 10.0)])
def test_weights_may_be_a_tensor_an_array_or_numbers(weights):
    x = leaf([1.0, 2.0])
    (x * x).backward(weights)
    assert x.grad.tolist() == [2.0, 40.0]
    assert x.grad.dtype == "float64"


def test_weights_of_another_shape_are_refused():
    with pytest.raises(tl.ShapeError, match="shape of the value"):
        (leaf([1.0, 2.0]) * 2).backward([1.0, 2.0, 3.0])


def test_any_value_with_one_element_has_a_gradient():
    x = leaf([[3.0]])
    (x * x).backward()
    assert x.grad.tolist() == [[6.0]]


def test_a_leaf_has_gradient_one_for_itself():
    x = leaf(3.0)
    x.backward()
    assert x.grad.item() == 1.0


def test_a_leaf_that_wants_none_gets_none():
    x, data = leaf(3.0), tl.tensor(2.0)
    (x * data).backward()
    assert data.grad is None


def test_a_leaf_reached_through_flat_ops_only_gets_zero():
    x = leaf([1.0, -2.0])
    tl.sign(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_float32_gradients_stay_float32_beside_float64():
    x, y = leaf(np.float32([1, 2])), leaf([1.0, 2.0])
    (x * y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == ("float32", "float64")


def test_detach_stops_the_gradient():
    x = leaf(3.0)
    y = x * x
    (y.detach() * x).backward()
    assert x.grad.item() == 9.0


@pytest.mark.parametrize(
    "cost",
    [lambda: tl.tensor(2.0) * 3, lambda: (leaf(2.0) * 3).detach(), lambda: (leaf([2.0]) > 0).sum()],
    ids=["plain", "detached", "integer"],
)
def test_backward_from_a_value_without_a_way_back_says_so(cost):
    with pytest.raises(tl.DisconnectedError, match="requires_grad=True"):
        cost().backward()


def test_backward_from_a_result_of_no_grad_says_so():
    x = leaf(2.0)
    with tl.no_grad():
        y = x * x
    with pytest.raises(tl.DisconnectedError, match="no_grad"):
        y.backward()


# ---- twice ----


def test_a_second_backward_names_the_line_whose_graph_is_used_up():
    x = leaf(3.0)
    y = x * x  # the used-up line
    y.backward()
    with pytest.raises(tl.FreedGraphError, match="y = x \\* x  # the used-up line") as caught:
        y.backward()
    assert "retain_graph=True" in str(caught.value)


def test_a_refused_second_backward_adds_nothing():
    x, z = leaf(3.0), leaf(5.0)
    y = x * x
    y.backward()
    with pytest.raises(tl.FreedGraphError):
        (y * z).backward()
    assert x.grad.item() == 6.0
    assert z.grad is None


def test_retain_graph_allows_another_pass():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12.0
    with pytest.raises(tl.FreedGraphError):
        y.backward()


def test_two_costs_may_share_what_is_retained():
    x = leaf(3.0)
    y = x * x
    (y + 1).backward(retain_graph=True)
    (y * 2).backward()
    assert x.grad.item() == 18.0


def test_the_last_used_up_graph_can_still_be_drawn_until_the_next_backward():
    x = leaf(3.0, name="x")
    y = tl.exp(x * x)
    y.backward()
    assert [n.op.name for n in tl.toposort([y])] == ["mul", "exp"]
    assert y.cotangent is not None
    (leaf(1.0) * 2).backward()
    assert y.inputs == ()
    assert y.cotangent is None


def test_a_used_up_graph_holds_no_input_values():
    x = leaf(3.0)
    y = tl.exp(x * x)
    y.backward()
    assert y.arrays is None


# ---- create_graph ----


def test_create_graph_leaves_a_gradient_that_can_be_differentiated():
    x = leaf(2.0)
    (x**3).backward(create_graph=True)
    slope = x.grad
    assert slope.item() == 12.0
    x.zero_grad()
    slope.backward()
    assert x.grad.item() == 12.0  # 6x


def test_a_gradient_penalty_by_hand():
    w, x = leaf(2.0), leaf(3.0)
    slope = tl.grad(w * x**2, x)  # 2wx = 12
    (slope**2).backward()  # (2wx)²: d/dw = 8wx² = 144, d/dx = 8w²x = 96
    assert (w.grad.item(), x.grad.item()) == (144.0, 96.0)


def test_a_gradient_from_an_ordinary_pass_has_no_graph():
    x = leaf(2.0)
    (x**3).backward()
    assert x.grad.node is None
    assert not x.grad.requires_grad


# ---- values that change in between ----


def test_a_gradient_belongs_to_the_values_at_the_time_of_recording():
    x = leaf([3.0])
    y = (x * x).sum()
    with tl.no_grad():
        x += 100
    y.backward()
    assert x.grad.tolist() == [6.0]


def test_data_changed_after_use_does_not_falsify_the_gradient():
    x, data = leaf([1.0, 1.0]), tl.tensor([3.0, 4.0])
    loss = (x * data).sum()
    data[0] = 100.0
    loss.backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_higher_orders_refuse_a_leaf_that_changed_since_and_name_the_line():
    x = leaf(3.0, name="x")
    y = x * x  # used here
    with tl.no_grad():
        x += 1
    with pytest.raises(tl.StaleValueError, match="x was changed") as caught:
        y.backward(create_graph=True)
    assert "y = x * x  # used here" in str(caught.value)


# ---- hooks ----


def test_a_hook_sees_the_complete_gradient_and_may_replace_it():
    x = leaf(3.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    x.register_hook(lambda g: g * 10)
    (y * y + y).backward()
    assert seen == [13.0]
    assert x.grad.item() == 260.0


def test_a_removed_hook_is_not_called():
    x = leaf(3.0)
    remove = x.register_hook(lambda g: g * 10)
    remove()
    (x * 2).backward()
    assert x.grad.item() == 2.0


def test_a_hook_that_returns_another_shape_is_refused():
    x = leaf([3.0, 4.0])
    x.register_hook(lambda g: g.sum())
    with pytest.raises(tl.ShapeError, match="hook"):
        (x * 2).sum().backward()


def test_retain_grad_keeps_the_gradient_of_a_result():
    x = leaf(3.0)
    y = (x * x).retain_grad()
    (y * 5).backward()
    assert y.grad.item() == 5.0
    assert x.grad.item() == 30.0


def test_a_result_has_no_grad_unless_asked():
    y = leaf(3.0) * 2
    (y * 5).backward()
    assert y.grad is None


# ---- what is left behind ----


def objects_after(steps, work):
    for _ in range(steps):
        work()
    gc.collect()
    return len(gc.get_objects())


def test_ten_thousand_training_steps_leave_nothing_behind():
    x, y = tl.tensor(np.ones((4, 3))), tl.tensor(np.ones(4))
    w = leaf([0.1, 0.2, 0.3])

    def step():
        loss = ((tl.tanh(x @ w) - y) ** 2).mean()
        loss.backward()
        with tl.no_grad():
            w.assign(w - 0.01 * w.grad)
        w.zero_grad()

    few = objects_after(20, step)
    many = objects_after(10_000, step)
    assert many <= few + 20


def test_a_dropped_graph_is_freed_without_the_garbage_collector():
    import weakref

    gc.disable()
    try:
        x = leaf([1.0, 2.0])
        y = x * 3
        loss = tl.exp(y).sum()
        loss.backward()
        (x * 1).sum().backward()  # lets the drawn graph go
        ghost = weakref.ref(y)
        del y, loss
        assert ghost() is None
    finally:
        gc.enable()
