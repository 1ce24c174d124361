"""What is recorded, what is built, and where the two modes meet: no_grad, enable_grad, static, scopes, parameters."""

import threading

import numpy as np
import pytest

import tutorlib as tl


def leaf(value=2.0, name=None):
    return tl.tensor(value, requires_grad=True, name=name)


# ---- recording ----


def test_plain_arrays_give_plain_arrays():
    result = tl.exp(np.zeros(2))
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, [1.0, 1.0])


def test_lists_and_numbers_are_plain_too():
    assert isinstance(tl.sum([1.0, 2.0]), np.generic | np.ndarray | float)
    assert float(tl.sum([1.0, 2.0])) == 3.0


def test_tensors_without_requires_grad_are_not_recorded():
    y = tl.tensor(2.0) * 3
    assert y.node is None
    assert y.inputs == ()
    assert not y.requires_grad


def test_a_result_of_a_leaf_that_wants_a_gradient_is_recorded():
    x = leaf()
    y = x * 3
    assert y.requires_grad
    assert y.node is y
    assert y.inputs[0] is x
    assert y.op.name == "mul"


def test_an_integer_or_boolean_result_wants_no_gradient_but_stays_in_the_drawing():
    x = leaf([1.0, -2.0])
    assert not (x > 0).requires_grad
    assert (x > 0).node is not None
    assert not tl.cast(x, "int64").requires_grad


def test_no_grad_records_nothing_and_ends_with_its_block():
    x = leaf()
    with tl.no_grad():
        y = x * 3
    assert y.node is None
    assert (x * 3).requires_grad


def test_enable_grad_records_inside_no_grad():
    x = leaf()
    with tl.no_grad():
        with tl.enable_grad():
            y = x * 3
        z = x * 3
    assert y.requires_grad
    assert not z.requires_grad


def test_no_grad_ends_with_an_error_too():
    with pytest.raises(RuntimeError), tl.no_grad():
        raise RuntimeError
    assert (leaf() * 2).requires_grad


def test_no_grad_works_as_a_decorator():
    @tl.no_grad()
    def predict(x):
        return x * 2

    assert not predict(leaf()).requires_grad
    assert not predict(leaf()).requires_grad
    assert (leaf() * 2).requires_grad


def test_no_grad_is_a_matter_of_its_own_thread():
    inside, result = threading.Event(), {}
    finished = threading.Event()

    def other():
        inside.wait(10)
        result["recorded"] = (leaf() * 2).requires_grad
        finished.set()

    thread = threading.Thread(target=other)
    thread.start()
    with tl.no_grad():
        inside.set()
        assert finished.wait(10)
    thread.join()
    assert result["recorded"]


def test_static_mode_builds_in_no_grad_as_well():
    with tl.no_grad():
        s = tl.scalar("s")
        y = s * s
    assert tl.grad(y, s).eval({s: 3.0}) == 6.0


# ---- modes meeting ----


def test_data_beside_a_symbol_becomes_a_constant_of_its_own():
    data = np.array([1.0, 2.0])
    s = tl.vector("s")
    y = s * data
    data[0] = 100.0
    np.testing.assert_array_equal(y.eval({s: [1.0, 1.0]}), [1.0, 2.0])


def test_a_plain_tensor_beside_a_symbol_is_a_constant_that_later_writes_do_not_change():
    t = tl.tensor([1.0, 2.0])
    s = tl.vector("s")
    y = s * t
    t[0] = 100.0
    np.testing.assert_array_equal(y.eval({s: [1.0, 1.0]}), [1.0, 2.0])


@pytest.mark.parametrize(
    "mix",
    [
        lambda s, x: s + x,
        lambda s, x: x + s,
        lambda s, x: s + x * 2,
        lambda s, x: tl.where(s > 0, x, 0.0),
        lambda s, x: tl.stack([s, x]),
        lambda s, x: tl.function([s], [s, x]),
        lambda s, x: tl.function([s], s, updates=[(tl.shared(1.0), x)]),
        lambda s, x: tl.function([], s * 1, givens=[(s, x)]),
        lambda s, x: tl.grad(s * s, s, cotangent=x),
    ],
    ids="left right result where stack output update given cotangent".split(),
)
def test_a_tensor_that_wants_a_gradient_is_never_silently_frozen_in_a_symbolic_graph(mix):
    with pytest.raises(tl.ModeMixError, match=r"detach\(\)"):
        mix(tl.scalar("s"), leaf())


def test_cost_and_wrt_of_different_modes_are_refused():
    with pytest.raises(tl.ModeMixError, match="different modes"):
        tl.grad(leaf() * 2, tl.scalar("s"))
    with pytest.raises(tl.ModeMixError, match="different modes"):
        tl.grad(tl.scalar("s") * 2, leaf())


@pytest.mark.parametrize(
    "make", [tl.tensor, tl.shared, lambda s: tl.tensor([s, 1.0]), lambda s: tl.shared(1.0).set_value(s)]
)
def test_a_symbol_is_not_a_value(make):
    with pytest.raises(tl.ModeMixError):
        make(tl.scalar("s"))


def test_a_symbol_given_where_a_function_wants_a_value_is_refused():
    v = tl.vector("v")
    double = tl.function([v], v * 2)
    with pytest.raises(tl.ModeMixError, match="givens"):
        double(v)


# ---- static ----


def test_parameters_alone_compute_at_once_unless_asked_to_build():
    w = tl.Parameter([1.0, 2.0], name="w")
    assert isinstance(w * 2, tl.Tensor)
    with tl.static():
        y = w * 2
    assert isinstance(y, tl.Symbol)
    np.testing.assert_array_equal(y.eval(), [2.0, 4.0])


def test_static_ends_with_its_block_and_belongs_to_its_thread():
    w = tl.Parameter(1.0)
    result = []
    with tl.static():
        thread = threading.Thread(target=lambda: result.append(type(w * 2)))
        thread.start()
        thread.join()
    assert result == [tl.Tensor]
    assert isinstance(w * 2, tl.Tensor)


# ---- scopes ----


def test_scopes_nest_and_end():
    x = tl.scalar("x")
    with tl.scope("net"):
        with tl.scope("layer1"):
            a = x * 2
        b = a + 1
    c = b - 1
    assert (a.node.scope, b.node.scope, c.node.scope) == ("net/layer1", "net", "")


def test_recorded_nodes_have_scopes_too():
    with tl.scope("layer"):
        y = leaf() * 2
    assert y.scope == "layer"


def test_gradients_belong_to_the_scope_of_what_they_are_gradients_of():
    x = tl.scalar("x")
    with tl.scope("layer"):
        y = tl.sin(x)
    slope = tl.grad(y, x)
    assert slope.node.scope == "layer"


def test_a_scope_ends_with_an_error():
    with pytest.raises(RuntimeError), tl.scope("broken"):
        raise RuntimeError
    assert (tl.scalar("x") * 2).node.scope == ""


def test_a_scope_is_a_matter_of_its_own_thread():
    scopes = []
    with tl.scope("here"):
        thread = threading.Thread(target=lambda: scopes.append((tl.scalar("x") * 2).node.scope))
        thread.start()
        thread.join()
    assert scopes == [""]
