"""Network ops and random draws on another array module: the same numbers and gradients, and no hidden transfer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tutorlib as tl
from tests.doubles.strict_gpu import strict_gpu
from tests.ops.oracle import data
from tutorlib.core.backend import to_host

IMAGES, LABELS, ROWS = data((2, 4, 5, 5)), np.array([0, 2, 1, 2]), data((4, 3), seed=1)


@pytest.fixture(autouse=True)
def double() -> Iterator[Any]:
    with strict_gpu() as module:
        yield module


def key_beside(x: Any) -> Any:
    return tl.tensor(np.uint64(3), dtype="uint64", device=x.device)


def sequence(gates: int, states: int) -> tuple[np.ndarray, ...]:
    """What a recurrent layer of two units takes: three steps, two examples, one input; states, weights and a bias."""
    shapes = [(3, 2, 1), *[(2, 2)] * states, (1, 2 * gates), (2, 2 * gates), (2 * gates,)]
    return tuple(data(shape, seed=i) for i, shape in enumerate(shapes))


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "conv": (lambda x, w: tl.conv2d(x, w, padding=1, groups=2), (IMAGES, data((4, 2, 3, 3)))),
    "conv with a stride": (lambda x, w: tl.conv1d(x, w, stride=2, padding="same"), (data((2, 4, 5)), data((4, 4, 3)))),
    "transposed conv": (lambda x, w: tl.conv_transpose2d(x, w, stride=2), (IMAGES, data((4, 2, 3, 3)))),
    "unfold": (lambda x: tl.unfold(x, 2, padding=1), (IMAGES,)),
    "max pool": (lambda x: tl.max_pool2d(x, 2, padding=1), (IMAGES,)),
    "max pool of ties": (lambda x: tl.max_pool2d(x * 0, 2, stride=1), (IMAGES,)),
    "avg pool": (lambda x: tl.avg_pool2d(x, 2, padding=1, count_include_pad=False), (IMAGES,)),
    "cross-entropy": (lambda x, y: tl.cross_entropy(x, y, ignore_index=1), (ROWS, LABELS)),
    "nll": (lambda x, y: tl.nll(x, y), (ROWS, LABELS)),
    "bce": (lambda x, t: tl.bce_with_logits(x, t), (ROWS, data((4, 3), low=0.0, high=1.0))),
    "huber": (lambda x, t: tl.huber(x, t), (ROWS, data((4, 3)))),
    "batch norm": (lambda x: tl.batch_norm(x)[0], (ROWS,)),
    "layer norm": (lambda x, s: tl.layer_norm(x, s), (ROWS, data((3,)))),
    "group norm": (lambda x: tl.group_norm(x, 2), (IMAGES,)),
    "attention": (lambda q, k, v: tl.attention(q, k, v, causal=True), tuple(data((2, 3, 4), seed=i) for i in range(3))),
    "lstm": (lambda *v: tl.lstm(*v)[0], sequence(4, 2)),
    "gru": (lambda *v: tl.gru(*v)[0], (*sequence(3, 1), data((6,), seed=9))),
    "dropout": (lambda x: tl.dropout(x, 0.5, key_beside(x)), (ROWS,)),
    "uniform": (lambda x: tl.random.uniform(key_beside(x), None, x, x + 1), (ROWS,)),
    "normal": (lambda x: tl.random.normal(key_beside(x), like=x, counter=4), (ROWS,)),
    "exponential": (lambda x: tl.random.exponential(key_beside(x), (3,)), (ROWS,)),
    "bernoulli": (lambda x: tl.random.bernoulli(key_beside(x), (9,)), (ROWS,)),
    "randint": (lambda x: tl.random.randint(key_beside(x), (7,), 0, 5), (ROWS,)),
    "permutation": (lambda x: tl.random.permutation(key_beside(x), x), (ROWS,)),
    "choice": (lambda x: tl.random.choice(key_beside(x), x, (2,), replace=False), (ROWS,)),
    "categorical": (lambda x: tl.random.categorical(key_beside(x), tl.softmax(x), (3,)), (ROWS,)),
    "multinomial": (lambda x: tl.random.multinomial(key_beside(x), 5, tl.softmax(x)), (ROWS,)),
    "split": (lambda x: tl.random.split(key_beside(x)), (ROWS,)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_numpy(name: str) -> None:
    fn, arrays = CASES[name]
    found = []
    for device in ("cpu", "gpu"):
        inputs = [tl.tensor(a, requires_grad=a.dtype.kind == "f", device=device) for a in arrays]
        result = fn(*inputs)
        assert result.device.kind == device
        if result.requires_grad:
            tl.square(result).sum().backward()
        found.append([to_host(result.data), *(to_host(x.grad.data) for x in inputs if x.grad is not None)])
    for here, there in zip(*found, strict=True):
        assert here.dtype == there.dtype
        np.testing.assert_allclose(there, here, 1e-12, 1e-14)


def test_a_stream_draws_where_its_counter_is() -> None:
    stream = tl.random.Stream(tl.tensor(np.uint64(5), dtype="uint64", device="gpu"), device="gpu")
    first, second = stream.normal((3,)), stream.normal((3,))
    assert first.device.kind == "gpu"
    at_home = tl.random.Stream(5)
    np.testing.assert_array_equal(to_host(first.data), at_home.normal((3,)).numpy())
    np.testing.assert_array_equal(to_host(second.data), at_home.normal((3,)).numpy())
