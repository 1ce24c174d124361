"""Products with Jacobians, whole Jacobians and Hessians, gradient paths and hooks, in both modes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl

jax.config.update("jax_enable_x64", True)

X = np.array([0.3, -1.2, 0.8])
A = np.array([[1.0, 2.0, -1.0], [0.5, -0.3, 0.7]])


def ours(x):
    return tl.tanh(A @ x) * x[:2]


def theirs(x):
    return jnp.tanh(A @ x) * x[:2]


def both_modes(build):
    """The value of ``build(x, constant)`` in dynamic and in static mode, for x = X."""
    dynamic = build(tl.tensor(X, requires_grad=True)).numpy()
    x = tl.symbol("x", (3,))
    return dynamic, build(x).eval({x: X})


def close(pair, expected):
    for value in pair:
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)


def test_vjp():
    u = np.array([2.0, -1.0])
    close(both_modes(lambda x: tl.vjp(ours(x), x, u)), jax.vjp(theirs, X)[1](u)[0])


def test_jvp():
    v = np.array([1.0, 0.5, -2.0])
    close(both_modes(lambda x: tl.jvp(ours(x), x, v)), jax.jvp(theirs, (X,), (v,))[1])


def test_jvp_of_several_variables():
    x, y = tl.tensor([2.0], requires_grad=True), tl.tensor([5.0], requires_grad=True)
    # d(x y) = y dx + x dy = 5 · 1 + 2 · 10
    assert tl.jvp(x * y, [x, y], [np.array([1.0]), np.array([10.0])]).item() == 25.0
    assert tl.jvp(x * 1.0, [x, y], [np.array([1.0]), np.array([10.0])]).item() == 1.0


def test_jacobian():
    close(both_modes(lambda x: tl.jacobian(ours(x), x)), jax.jacobian(theirs)(X))


def test_jacobian_of_a_matrix_has_the_shapes_joined():
    w = tl.tensor(np.ones((2, 3)), requires_grad=True)
    assert tl.jacobian(w.T * 2.0, w).shape == (3, 2, 2, 3)


def test_jacobian_of_nothing_is_empty():
    x = tl.tensor(np.ones(3), requires_grad=True)
    assert tl.jacobian(x[:0], x).shape == (0, 3)


def test_jacobian_of_a_symbol_needs_its_shape():
    v = tl.vector("v")
    with pytest.raises(tl.ShapeError, match="shape"):
        tl.jacobian(v * v, v)


def test_hessian():
    close(
        both_modes(lambda x: tl.hessian((ours(x) ** 2).sum(), x)),
        jax.hessian(lambda x: (theirs(x) ** 2).sum())(X),
    )


def test_hessian_of_a_list_gives_a_block_each():
    x, y = tl.tensor([1.0, 2.0], requires_grad=True), tl.tensor([3.0], requires_grad=True)
    xx, yy = tl.hessian((x**3).sum() * y.sum() ** 2, [x, y])
    np.testing.assert_allclose(xx.numpy(), np.diag([54.0, 108.0]))
    np.testing.assert_allclose(yy.numpy(), [[18.0]])


def test_hvp():
    v = np.array([1.0, -2.0, 0.5])
    hessian = jax.hessian(lambda x: (theirs(x) ** 2).sum())(X)
    close(both_modes(lambda x: tl.hvp((ours(x) ** 2).sum(), x, v)), hessian @ v)


def test_a_third_derivative():
    def third(x):
        first = tl.grad(tl.sin(x) * x, x)
        return tl.grad(tl.grad(first, x), x)

    x = tl.tensor(0.7, requires_grad=True)
    s = tl.scalar("s")
    expected = jax.grad(jax.grad(jax.grad(lambda x: jnp.sin(x) * x)))(0.7)
    assert third(x).item() == pytest.approx(float(expected), rel=1e-12)
    assert third(s).eval({s: 0.7}) == pytest.approx(float(expected), rel=1e-12)


def test_known_gradients_start_the_walk_where_they_are_given():
    x = tl.tensor(2.0, requires_grad=True)
    y = x * x
    # dL/dy = 10 is given: dL/dx = 10 · 2x
    assert tl.grad(None, x, known={y: 10.0}).item() == 40.0
    assert tl.grad(y * 3.0, x, known={y: 10.0}).item() == 12.0 + 40.0


def test_nothing_flows_through_a_constant():
    x = tl.tensor(3.0, requires_grad=True)
    y = x * x
    assert tl.grad(y * x, x, consider_constant=[y]).item() == 9.0
    s = tl.scalar("s")
    t = s * s
    assert tl.grad(t * s, s, consider_constant=[t]).eval({s: 3.0}) == 9.0


class TestPaths:
    def test_they_add_up_to_the_gradient(self):
        x = tl.tensor(X, requires_grad=True)
        cost = (ours(x) * tl.exp(x[:2]) + x[1:]).sum()
        gradient, paths = tl.grad(cost, x, return_paths=True)
        total = sum(path.contribution.numpy() for path in paths)
        np.testing.assert_allclose(total, gradient.numpy(), rtol=1e-12)

    def test_each_names_the_ops_it_passes(self):
        x = tl.tensor(3.0, requires_grad=True)
        found = tl.gradient_paths(tl.exp(x) + x * 2.0, x)
        assert [[n.op.name for n in p.nodes] for p in found] == [["add", "exp"], ["add", "mul"]]
        assert [p.contribution.item() for p in found] == [pytest.approx(np.exp(3.0)), 2.0]

    def test_symbols_have_symbolic_contributions(self):
        s = tl.scalar("s")
        values = [p.contribution.eval({s: 3.0}) for p in tl.gradient_paths(s * s + s, s)]
        assert values == [3.0, 3.0, 1.0]

    def test_the_cost_itself_is_a_path_without_nodes(self):
        x = tl.tensor(3.0, requires_grad=True)
        (path,) = tl.gradient_paths(x, x)
        assert path.nodes == () and path.contribution.item() == 1.0

    def test_too_many_are_refused(self):
        x = tl.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(20):
            y = y + y
        with pytest.raises(tl.TutorlibError, match="more than 1000 paths"):
            tl.gradient_paths(y, x)

    def test_a_list_has_a_list_of_paths_each(self):
        x, y = tl.tensor(2.0, requires_grad=True), tl.tensor(5.0, requires_grad=True)
        (gx, gy), (px, py) = tl.grad(x * y, [x, y], return_paths=True)
        assert (gx.item(), gy.item()) == (5.0, 2.0)
        assert (px[0].contribution.item(), py[0].contribution.item()) == (5.0, 2.0)


class TestHooks:
    def test_a_hook_sees_the_complete_gradient_of_a_result(self):
        seen = []
        x = tl.tensor(2.0, requires_grad=True)
        y = x * 3.0
        y.register_hook(lambda g: seen.append(g.item()))
        (y * y + y).backward()  # dL/dy = 2y + 1 = 13
        assert seen == [13.0] and x.grad.item() == 39.0

    def test_what_it_returns_goes_on(self):
        x = tl.tensor(2.0, requires_grad=True)
        y = x * 3.0
        y.register_hook(lambda g: g * 0.0 + 1.0)
        (y * y).backward()
        assert x.grad.item() == 3.0

    def test_hooks_run_in_order_and_can_be_removed(self):
        x = tl.tensor(1.0, requires_grad=True)
        remove = x.register_hook(lambda g: g + 1.0)
        x.register_hook(lambda g: g * 10.0)
        (x * 1.0).backward()
        assert x.grad.item() == 20.0
        remove()
        x.zero_grad()
        (x * 1.0).backward()
        assert x.grad.item() == 10.0

    def test_a_gradient_of_another_shape_is_refused(self):
        x = tl.tensor([1.0, 2.0], requires_grad=True)
        x.register_hook(lambda g: g.sum())
        with pytest.raises(tl.ShapeError, match="same shape"):
            x.sum().backward()

    def test_without_a_gradient_there_is_nothing_to_hook(self):
        with pytest.raises(tl.DisconnectedError, match="requires_grad"):
            tl.tensor(1.0).register_hook(print)

    def test_retain_grad_keeps_the_gradient_of_a_result(self):
        x = tl.tensor(2.0, requires_grad=True)
        y = (x * 3.0).retain_grad()
        (y * y).backward()
        assert y.grad.item() == 12.0
