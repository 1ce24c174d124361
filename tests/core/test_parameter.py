"""A parameter is one storage with two faces: a leaf tensor beside tensors, a shared variable beside symbols."""

import copy
import pickle

import numpy as np
import pytest

import tutorlib as tl


@pytest.fixture
def w():
    return tl.Parameter([1.0, 2.0], name="w")


def test_beside_a_tensor_it_is_a_leaf_that_wants_a_gradient(w):
    loss = (w * tl.tensor([3.0, 4.0])).sum()
    loss.backward()
    assert loss.node is loss
    assert w.grad.tolist() == [3.0, 4.0]


def test_beside_a_symbol_it_is_a_shared_variable(w):
    x = tl.vector("x")
    y = x * w
    assert isinstance(y, tl.Symbol)
    assert y.node.inputs[1] is w.symbol
    np.testing.assert_array_equal(y.eval({x: [3.0, 4.0]}), [3.0, 8.0])


def test_both_faces_show_every_write_of_either(w):
    w.symbol.set_value([5.0, 6.0])
    assert w.tolist() == [5.0, 6.0]
    with tl.no_grad():
        w += 1
    np.testing.assert_array_equal(w.symbol.get_value(), [6.0, 7.0])
    tl.function([], updates=[(w, w.symbol * 10)])()
    assert w.tolist() == [60.0, 70.0]


def test_a_write_from_either_face_is_told_once_and_counts_a_version(w):
    heard = []

    class Listen(tl.Observer):
        def on_write(self, storage, by):
            heard.append((storage.name, by))

    with tl.observe(Listen()):
        w.symbol.set_value([5.0, 6.0])
        with tl.no_grad():
            w += 1
    assert heard == [("w", "set_value"), ("w", "in-place")]
    assert w.storage.version == 2


def test_it_names_updates_givens_and_gradients_in_static_mode(w):
    x = tl.vector("x")
    cost = (x * w).sum()
    step = tl.function([x], cost, updates={w: w.symbol - tl.grad(cost, w)})
    assert step([3.0, 4.0]) == 11.0
    assert w.tolist() == [-2.0, -2.0]
    other = tl.function([x], cost, givens={w: np.array([1.0, 1.0])})
    assert other([3.0, 4.0]) == 7.0


def test_one_model_definition_gives_one_gradient_in_both_modes(w):
    def model(x):
        return tl.tanh(x @ w).sum()

    data = np.array([[0.1, 0.2], [0.3, -0.4]])
    model(tl.tensor(data)).backward()
    x = tl.matrix("x")
    static = tl.grad(model(x), w).eval({x: data})
    np.testing.assert_allclose(w.grad.numpy(), static, rtol=1e-14)


def test_a_function_of_the_parameter_is_dynamic_alone_and_refused_beside_a_symbol(w):
    assert (w * 2).requires_grad
    with pytest.raises(tl.ModeMixError, match="recorded op"):
        tl.vector("x") + w * 2
    with tl.static():
        y = tl.vector("x") + w * 2
    assert isinstance(y, tl.Symbol)


def test_an_update_between_forward_and_backward_does_not_falsify_the_gradient(w):
    loss = (w * w).sum()
    w.symbol.set_value([100.0, 100.0])
    loss.backward()
    assert w.grad.tolist() == [2.0, 4.0]


def test_the_data_it_is_made_from_is_copied():
    data = np.array([1.0, 2.0])
    w = tl.Parameter(data)
    data[0] = 100.0
    assert w.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_a_copy_is_a_parameter_with_a_storage_of_its_own(again, w):
    twin = again(w)
    assert type(twin) is tl.Parameter
    assert twin.name == twin.symbol.name == "w"
    with tl.no_grad():
        twin += 1
    assert w.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(twin.symbol.get_value(), [2.0, 3.0])


def test_an_integer_parameter_that_wants_a_gradient_is_refused():
    with pytest.raises(tl.DTypeError):
        tl.Parameter([1, 2])


def test_a_frozen_parameter_gets_no_gradient():
    w, v = tl.Parameter([1.0], requires_grad=False), tl.Parameter([2.0])
    (w * v).sum().backward()
    assert w.grad is None
    assert v.grad.tolist() == [1.0]


def test_a_compiled_update_between_forward_and_backward_does_not_falsify_the_gradient(w):
    step = tl.function([], updates=[(w, w.symbol * 10)])
    step()
    step()  # by now the compiled step may write into buffers of its own
    w.symbol.set_value([1.0, 2.0])
    loss = (w * w).sum()
    array = w.numpy()
    step()
    step()
    loss.backward()
    assert w.grad.tolist() == [2.0, 4.0]
    assert array.tolist() == [1.0, 2.0]
    assert w.tolist() == [100.0, 200.0]


def test_a_value_set_through_the_shared_face_is_not_overwritten_under_a_recorded_graph():
    w = tl.Parameter([1.0, 2.0], name="w")
    step = tl.function([], updates=[(w, w.symbol * 100.0)])
    w.symbol.set_value([1.0, 2.0])
    loss = (w * w).sum()
    step()
    loss.backward()
    assert w.grad.tolist() == [2.0, 4.0]
