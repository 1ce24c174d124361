"""The linear layer: a product and a bias as one op, for inputs of any number of axes."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import check, data, value


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (0, 4), (2, 0, 4), (1, 1, 4)])
def test_a_layer_equals_jaxs_in_value_gradient_and_second_order(shape: tuple[int, ...]) -> None:
    check(
        lambda x, W, b: tl.sin(tl.linear(x, W, b)),
        data(shape, seed=1),
        data((4, 3), seed=2),
        data((3,), seed=3),
        like=lambda x, W, b: jnp.sin(x @ W + b),
    )


@pytest.mark.parametrize(("inputs", "outputs"), [(0, 3), (4, 0), (1, 1)])
def test_a_layer_may_have_no_inputs_or_no_outputs(inputs: int, outputs: int) -> None:
    check(tl.linear, data((2, inputs)), data((inputs, outputs)), data((outputs,)), like=lambda x, W, b: x @ W + b)


def test_without_a_bias_it_is_the_product() -> None:
    assert tl.linear(tl.matrix("x"), tl.matrix("W")).node.op.name == "matmul"


def test_a_wider_bias_widens_the_result() -> None:
    x, W, b = (data(shape).astype(dtype) for shape, dtype in [((2, 3), "f4"), ((3, 2), "f4"), ((2,), "f8")])
    assert value(tl.linear, x, W, b).dtype == np.float64
    assert (
        tl.linear(tl.matrix("x", dtype="float32"), tl.matrix("W", dtype="float32"), tl.vector("b")).dtype == "float64"
    )


def test_static_mode_knows_the_columns_of_what_it_can_know() -> None:
    x, W, b = tl.symbol("x", (None, 4)), tl.symbol("W", (None, None)), tl.symbol("b", (3,))
    assert tl.linear(x, W, b).shape == (None, 3)


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        (((2, 3), (4, 5), (5,)), "inner dims 3 and 4"),
        (((2, 3), (3, 5), (4,)), "5 results, the bias has 4"),
        (((2, 3), (3, 5), (1, 5)), "not of 2 and 2 axes"),
        (((2, 3), (3,), (5,)), "not of 1 and 1 axes"),
    ],
)
@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_what_does_not_fit_is_said(shapes: tuple[tuple[int, ...], ...], says: str, mode: str) -> None:
    arrays = [tl.tensor(np.ones(s)) if mode == "dynamic" else tl.symbol(f"v{len(s)}", s) for s in shapes]
    with pytest.raises(tl.ShapeError, match=says) as error:
        tl.linear(*arrays)
    assert error.value.fix
