"""Products of vectors and matrices, and Einstein's notation."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tutorlib as tl
from tests.ops.oracle import check, data, derivatives, quick, value

RANKS = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((3,), (4, 3, 2)),
    ((2, 3), (3,)),
    ((4, 2, 3), (3,)),
    ((4, 2, 3), (3, 2)),
    ((2, 3), (4, 3, 2)),
    ((4, 1, 2, 3), (5, 3, 1)),
    ((1, 2, 3), (5, 3, 2)),
    ((2, 0), (0, 3)),
    ((0, 2), (2,)),
    ((1, 1), (1, 1)),
]


@pytest.mark.parametrize(("left", "right"), RANKS)
def test_matmul_of_every_rank(left, right):
    check(tl.matmul, data(left), data(right, seed=1), like=jnp.matmul)


def test_matmul_to_third_order():
    x = data((2, 2))
    check(lambda x: x @ x @ x, x, like=lambda x: x @ x @ x, order=3)


def test_integer_matrices_multiply_exactly():
    assert tl.matmul(tl.tensor([[1, 2]]), tl.tensor([[3], [4]])).dtype == np.int64


@pytest.mark.parametrize(("left", "right"), [((2, 3), (2, 3)), ((3,), (2,)), ((), (2,)), ((2, 2, 3), (3, 3, 2))])
def test_matrices_that_do_not_fit_are_an_error_in_both_modes(left, right):
    with pytest.raises(tl.ShapeError):
        tl.tensor(data(left)) @ tl.tensor(data(right))
    with pytest.raises(tl.ShapeError):
        tl.symbol("x", left) @ tl.symbol("y", right)


@pytest.mark.parametrize(("left", "right"), [((), (2,)), ((3,), (3,)), ((2, 3), (3, 2)), ((2, 3), (4, 3, 2))])
def test_dot_is_numpys(left, right):
    check(tl.dot, data(left), data(right, seed=1), like=jnp.dot)


def test_the_method_dot_is_the_matrix_product():
    x, y = tl.tensor([[1.0, 2.0]]), tl.tensor([3.0, 4.0])
    assert x.dot(y).tolist() == [11.0]


@pytest.mark.parametrize(("left", "right"), [((), (2,)), ((3,), (3,)), ((2, 3), (4, 3))])
def test_inner_is_numpys(left, right):
    check(tl.inner, data(left), data(right, seed=1), like=jnp.inner)


def test_outer_is_numpys():
    check(tl.outer, data((2, 2)), data((3,), seed=1), like=jnp.outer)


# ---- einsum ----


@pytest.mark.parametrize(
    ("subscripts", "sizes"),
    [
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("ij->ji", [(2, 3)]),
        ("ij->ij", [(2, 3)]),
        ("ba", [(2, 3)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iii->i", [(2, 2, 2)]),
        ("ij->", [(2, 3)]),
        ("ij->j", [(2, 3)]),
        ("i,j,k->kji", [(2,), (3,), (1,)]),
        ("iij,jk->k", [(3, 3, 2), (2, 4)]),
        ("ij,k->", [(2, 3), (4,)]),
        ("bij,bij->b", [(2, 3, 4), (2, 3, 4)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 2)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (3, 2)]),
        ("...ij,...jk->...ik", [(5, 1, 2, 3), (4, 3, 2)]),
        ("...,...", [(), (2,)]),
        ("i...,i->...", [(3, 2, 2), (3,)]),
        ("i...->...i", [(3, 2, 1)]),
        (" i j , j k -> i k ", [(2, 3), (3, 4)]),
        ("ij,jk->ik", [(0, 3), (3, 4)]),
        ("ij,jk->ik", [(2, 0), (0, 4)]),
        (",->", [(), ()]),
    ],
)
def test_einsum_is_numpys(subscripts, sizes):
    arrays = [data(size, seed=n) for n, size in enumerate(sizes)]
    check(lambda *a: tl.einsum(subscripts, *a), *arrays, like=lambda *a: jnp.einsum(subscripts, *a))


@given(st.data())
@quick
def test_any_two_terms_are_numpys(more):
    letters = st.text("ijk", max_size=3)
    left, right = more.draw(letters), more.draw(letters)
    output = "".join(more.draw(st.permutations(sorted(set(left + right)))))
    output = output[: more.draw(st.integers(0, len(output)))]
    size = {"i": 2, "j": 3, "k": 1}
    x, y = (data([size[c] for c in term], seed=n) for n, term in enumerate((left, right)))
    subscripts = f"{left},{right}->{output}"

    def product(x, y):
        return tl.einsum(subscripts, x, y)

    def cost(x, y):
        result = np.einsum(subscripts, x, y)
        return (result * np.cos(1.7 * np.arange(result.size) + 0.3).reshape(result.shape)).sum()

    for mode in ("dynamic", "static"):
        np.testing.assert_allclose(value(product, x, y, mode=mode), np.einsum(subscripts, x, y), atol=1e-14)
        gx, gy = derivatives(product, x, y, mode=mode)[0]
        # The cost is linear in each operand: its value at a unit vector is the exact slope.
        for slope, array, at in ((gx, x, lambda e: cost(e, y)), (gy, y, lambda e: cost(x, e))):
            expected = [at(e.reshape(array.shape)) for e in np.eye(array.size)]
            np.testing.assert_allclose(slope.ravel(), expected, atol=1e-13)


@pytest.mark.parametrize(
    ("subscripts", "sizes"),
    [
        ("ij", [(2,)]),
        ("i", [(2, 3)]),
        ("i,j", [(2,)]),
        ("i->j", [(2,)]),
        ("i->ii", [(2,)]),
        ("i,i->", [(2,), (3,)]),
        ("i,i->", [(1,), (3,)]),
        ("ii", [(2, 3)]),
        ("i1", [(2, 3)]),
        ("...i->i", [(2, 3)]),
    ],
)
def test_subscripts_that_do_not_fit_are_an_error(subscripts, sizes):
    with pytest.raises(tl.ShapeError):
        tl.einsum(subscripts, *[tl.tensor(data(size)) for size in sizes])
    with pytest.raises(tl.ShapeError):
        tl.einsum(subscripts, *[tl.symbol("x", size) for size in sizes])


def test_lengths_that_differ_only_when_it_runs_are_an_error_too():
    x, y = tl.vector("x"), tl.vector("y")
    with pytest.raises(tl.ShapeError):
        tl.einsum("i,i->", x, y).eval({x: [1.0], y: [1.0, 2.0]})


@pytest.mark.parametrize("axes", [0, 1, 2, ([2, 0], [1, 0]), (0, -1), ([], [])])
def test_tensordot_is_numpys(axes):
    x, y = data((2, 3, 4)), data((2, 4), seed=1)
    if axes == 1:
        y = y.T
    elif axes == 2:
        y = data((3, 4, 2), seed=1)
    elif axes == (0, -1):
        y = y.T
    check(lambda x, y: tl.tensordot(x, y, axes), x, y, like=lambda x, y: jnp.tensordot(x, y, axes), order=1)


def test_unpaired_axes_are_an_error():
    with pytest.raises(tl.ShapeError):
        tl.tensordot(tl.tensor(data((2, 2))), tl.tensor(data((2, 2))), ([0, 1], [0]))
