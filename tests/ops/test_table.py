"""The whole op table, checked the same way: shapes and dtypes worked out without data, derivatives of orders one to
three against differences, both modes, narrow floats, empty and single-element axes.

An example is an expression that uses an op. An op may also stand in an example's gradient: what undoes it is checked
there. A new op needs one entry in EXAMPLES, or, where these checks mean nothing for it, a reason in ELSEWHERE.
"""

import re

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.compile.head import head
from tutorlib.core.operators import OPS
from tutorlib.ops.define import TABLE
from tutorlib.ops.formulas import formula


def between(low, high, *shape, seed=0):
    """Distinct random numbers, so that no maximum is shared and no difference quotient straddles a kink."""
    return np.random.default_rng(len(shape) + sum(shape) + seed).uniform(low, high, shape)


V, M, T = between(0.3, 0.9, 4), between(0.3, 0.9, 3, 4), between(0.3, 0.9, 2, 3, 4)
SQUARE = between(-0.4, 0.4, 3, 3) + 2 * np.eye(3)
MASK, NUMBERS = V > 0.5, np.array([2, 0, 2])


def recurrent(gates, states):
    """Three steps of two examples of one input into two units."""
    x, Wx, Wh = between(-1, 1, 3, 2, 1), between(-1, 1, 1, 2 * gates), between(-1, 1, 2, 2 * gates)
    return (x, *(between(-1, 1, 2, 2, seed=i) for i in range(states)), Wx, Wh)


# Elementwise ops are tried with as many inputs as their C expression has; these need inputs of their own.
OWN_INPUTS = {
    "arccosh": (V + 1,),
    "where": (MASK, V, V[::-1] + 1),
    "mod": (V + 2, V * 0.9),
    "floordiv": (V + 2, V * 0.9),
    "cast": (V,),
    "clip": (between(-1, 2, 9), np.full(9, 0.1), np.full(9, 0.8)),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], (MASK, ~MASK)),
    "logical_not": (MASK,),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], (np.array([6, 5, 0]), np.array([3, 3, 3]))),
    "invert": (np.array([6, 5, 0]),),
}
OWN_CALLS = {"cast": lambda x: tl.cast(x, "float32").astype("float64"), "round": lambda x: tl.round(x)}

EXAMPLES = {
    # loops that stop early
    "head": (lambda x: head(x, x[:1]), T),
    # reductions
    "sum": (lambda x: tl.sum(x, axis=(0, 2)), T),
    "mean": (lambda x: tl.mean(x, axis=-1, keepdims=True), T),
    "max": (lambda x: tl.max(x, axis=1), T),
    "min": (lambda x: tl.min(x), T),
    "argmax": (lambda x: tl.argmax(x, axis=1), T),
    "argmin": (lambda x: tl.argmin(x, axis=0, keepdims=True), T),
    "all": (lambda x: tl.all(x > 0.5, axis=1), T),
    "any": (lambda x: tl.any(x > 0.5, axis=1), T),
    "count_nonzero": (lambda x: tl.count_nonzero(x > 0.5, axis=1), T),
    "prod": (lambda x: tl.prod(x, axis=1), T),
    "var": (lambda x: tl.var(x, axis=1, ddof=1), T),
    "std": (lambda x: tl.std(x, axis=1), T),
    "norm": (lambda x: tl.norm(x, axis=1), T),
    "logsumexp": (lambda x: tl.logsumexp(x, axis=1), T),
    "median": (lambda x: tl.median(x, axis=1), T),
    "cumsum": (lambda x: tl.cumsum(x, axis=1), T),
    "cumprod": (lambda x: tl.cumprod(x, axis=1), T),
    # shape
    "reshape": (lambda x: tl.reshape(x, (4, -1)), T),
    "reshape_like": (lambda x, y: tl.reshape_like(x, y * 2), M, between(0, 1, 2, 6)),
    "transpose": (lambda x: tl.transpose(x, (1, 2, 0)), T),
    "expand_dims": (lambda x: tl.expand_dims(x, (0, 2)), M),
    "squeeze": (lambda x: tl.squeeze(x, 1), between(0, 1, 3, 1, 2)),
    "broadcast_to": (lambda x: tl.broadcast_to(x, (2, 3, 4)), V),
    "broadcast_like": (lambda x, y: tl.broadcast_like(x, y), V, M),
    "broadcast_with": (lambda x, y: tl.broadcast_arrays(x, y), V, between(0, 1, 3, 1)),
    "unbroadcast": (lambda x, y: tl.unbroadcast(x, y), T, between(0, 1, 3, 1)),
    "concatenate": (lambda x, y: tl.concatenate([x, y, x], axis=1), M, between(0, 1, 3, 2)),
    "stack": (lambda x, y: tl.stack([x, y], axis=1), M, M + 1),
    "section": (lambda x: tl.split(x, 2, axis=1), M),
    "flip": (lambda x: tl.flip(x, 1), M),
    "roll": (lambda x: tl.roll(x, 1, axis=1), M),
    "pad": (lambda x: tl.pad(x, ((1, 2), (0, 1))), M),
    "pad by reflection": (lambda x: tl.pad(x, ((1, 2), (0, 1)), mode="reflect"), M),
    "tile": (lambda x: tl.tile(x, (2, 3)), M),
    "repeat": (lambda x: tl.repeat(x, 2, axis=1), M),
    "tril": (tl.tril, M),
    "triu": (lambda x: tl.triu(x, 1), M),
    "diagonal": (lambda x: tl.diagonal(x, 1), M),
    "diag": (lambda x: tl.diag(x, 1), V),
    "zeros_like": (lambda x: tl.zeros_like(x) + x, M),
    "ones_like": (lambda x: tl.ones_like(x) * x, M),
    # index
    "getitem": (lambda x: x[1:, ::-1][:, 1], M),
    "getitem by numbers": (lambda x, i: x[:, i], T, NUMBERS),
    "take": (lambda x, i: tl.take(x, i, axis=1), M, NUMBERS),
    "index_set": (lambda x, v: tl.at(x)[0].set(v), M, V),
    "index_set by numbers": (lambda x, v, i: tl.at(x)[i].set(v), V, np.array([1.0, 2.0, 3.0]), NUMBERS),
    "index_add": (lambda x, v, i: tl.at(x)[i].add(v), V, np.array([1.0, 2.0, 3.0]), NUMBERS),
    "gather": (lambda x, i: tl.take_along_axis(x, i, 1), M, np.array([[0, 1], [1, 1], [3, 0]])),
    "one_hot": (lambda i: tl.one_hot(i, 4), NUMBERS),
    "sort": (lambda x: tl.sort(x, axis=1), M),
    "argsort": (lambda x: tl.argsort(x, axis=1), M),
    "topk": (lambda x: tl.topk(x, 2), M),
    "searchsorted": (lambda a, v: tl.searchsorted(a, v), np.sort(V), M[0]),
    # linear algebra
    "matmul": (tl.matmul, M, between(0, 1, 2, 4, 2)),
    "matmul of vectors": (tl.matmul, V, V + 1),
    "matmul of a vector and a matrix": (tl.matmul, V, M.T),
    "linear": (lambda x, W, b: tl.linear(x, W, b), M, between(0, 1, 4, 2), between(0, 1, 2)),
    "einsum": (lambda x, y: tl.einsum("bij,kj->bik", x, y), T, M),
    "tensordot": (lambda x, y: tl.tensordot(x, y, 2), T, M),
    "outer": (tl.outer, V, M[0]),
    "trace": (tl.trace, SQUARE),
    "inv": (tl.inv, SQUARE),
    "solve": (tl.solve, SQUARE, between(0, 1, 3, 2)),
    "det": (tl.det, SQUARE),
    "slogdet": (tl.slogdet, SQUARE),
    "cholesky": (lambda x: tl.cholesky(x @ tl.transpose(x)), SQUARE),
    # networks
    "softmax": (lambda x: tl.softmax(x, axis=0), M),
    "log_softmax": (lambda x: tl.log_softmax(x, axis=1), M),
    "cross_entropy": (lambda x, i: tl.cross_entropy(x, i), M, NUMBERS),
    "cross_entropy of probabilities": (lambda x, t: tl.cross_entropy(x, t), M, M[::-1] / M.sum()),
    "nll": (lambda x, i: tl.nll(tl.log_softmax(x), i), M, NUMBERS),
    "conv": (lambda x, w: tl.conv1d(x, w, stride=2, padding=1), between(0, 1, 2, 2, 5), between(0, 1, 3, 2, 3)),
    "conv_transpose": (lambda x, w: tl.conv_transpose1d(x, w), between(0, 1, 2, 3, 4), between(0, 1, 3, 2, 3)),
    "conv in groups": (lambda x, w: tl.conv1d(x, w, groups=2), between(0, 1, 1, 4, 5), between(0, 1, 4, 2, 2)),
    "max_pool": (lambda x: tl.max_pool1d(x, 2), between(0, 1, 1, 2, 6)),
    "avg_pool": (lambda x: tl.avg_pool1d(x, 2), between(0, 1, 1, 2, 6)),
    "unfold": (lambda x: tl.unfold(x, 2), between(0, 1, 1, 2, 3, 3)),
    "fold": (lambda x: tl.fold(x, (3, 3), 2), between(0, 1, 1, 8, 4)),
    "standardize": (lambda x: tl.standardize(x, axis=1), M),
    "group_norm": (lambda x: tl.group_norm(x, 2), between(0, 1, 2, 4, 3)),
    "attention": (lambda q, k, v: tl.attention(q, k, v), M, M[::-1] * 2, M * M),
    "causal_mask": (lambda q: tl.attention(q, q, q, causal=True), M),
    "lstm": (lambda *v: (lambda ys, last: (ys, *last))(*tl.lstm(*v)), *recurrent(4, 2), between(-1, 1, 8, seed=9)),
    "gru": (lambda *v: tl.gru(*v), *recurrent(3, 1), between(-1, 1, 6), between(-1, 1, 6, seed=9)),
    # gradient control: what these do to a gradient is their own tests' matter
    "identity": (tl.identity, M),
}

ELSEWHERE = {
    **dict.fromkeys([name for name in TABLE if name.startswith("random_")], "draws numbers: test_random"),
    "print": "prints when it runs",
    "transfer": "needs a second device: tests/core/test_devices.py",
    "stop_gradient": "its gradient is wrong on purpose",
    "grad_scale": "its gradient is wrong on purpose",
    "grad_clip": "its gradient is wrong on purpose",
    "unique_indices": "the length of its result depends on the values",
    "last_named": "chooses by position: test_update",
    "max_pool_collect": "only in the gradient of a gradient of a cost that is not linear: test_pool",
    "recurrence": "only in the gradient of cumprod along zeros: test_accumulate",
}

# Their derivative is taken to be zero where differences show a jump or the whole slope.
FLAT = {"sign", "floor", "ceil", "trunc", "round", "floordiv", "zeros_like"}


def _arity(op):
    return 1 + max(map(int, re.findall(r"\{(\d)\}", op.c or "{0}")))


def _elementwise():
    for name, op in TABLE.items():
        if "elementwise" in op.flags:
            inputs = OWN_INPUTS.get(name) or (V, V[::-1] * 1.1, V + 1)[: _arity(op)]
            yield name, (OWN_CALLS.get(name, op), *inputs)


CASES = {**dict(_elementwise()), **EXAMPLES}
every_case = pytest.mark.parametrize("name", CASES)


def results(fn, variables):
    made = fn(*variables)
    return list(made) if isinstance(made, list | tuple) else [made]


def weigh(outputs):
    """A scalar that tells the elements of all floating-point outputs apart."""
    terms = []
    for place, out in enumerate(outputs):
        if out.dtype.kind == "f":
            terms.append(
                tl.sum(out * np.cos(1.7 * np.arange(np.prod(out.shape, dtype=int)) + place).reshape(out.shape))
            )
    total = None
    for term in terms:
        total = term if total is None else total + term
    return total


def derivatives(fn, variables, order=2):
    """The outputs; the gradients of their weighted sum; the gradients of the weighted sum of those; and so on."""
    floats = [v for v in variables if v.dtype.kind == "f"]
    outputs = results(fn, variables)
    levels = [outputs]
    cost = weigh(outputs)
    while cost is not None and len(levels) <= order:
        levels.append(list(tl.grad(cost, floats, disconnected="zero")))
        cost = weigh(levels[-1])
    return levels


def leaves(arrays):
    return [tl.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]


def symbols(arrays):
    return [tl.symbol(f"x{i}", shape=a.shape, dtype=a.dtype) for i, a in enumerate(arrays)]


def graph_of(name):
    fn, *arrays = CASES[name]
    inputs = symbols(arrays)
    levels = derivatives(fn, inputs)
    return inputs, arrays, tl.toposort([v for level in levels for v in level])


@every_case
def test_shape_and_dtype_worked_out_without_data_are_those_of_the_result(name):
    inputs, arrays, nodes = graph_of(name)
    made = [v for node in nodes for v in node.outputs]
    values = tl.Symbol.evaluate(made, dict(zip(inputs, arrays, strict=True)))
    for var, value in zip(made, values, strict=True):
        assert value.dtype == var.dtype, var
        assert len(value.shape) == var.ndim, var
        assert all(d in (None, real) for d, real in zip(var.shape, value.shape, strict=True)), var


@every_case
def test_derivatives_of_order_one_to_three_are_those_that_differences_show(name):
    fn, *arrays = CASES[name]
    if name in FLAT or name == "cast":
        pytest.skip("flat by convention, or not exact enough for differences")
    floats = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    directions = [np.random.default_rng(5 + i).normal(size=arrays[i].shape) for i in floats]
    levels = derivatives(fn, leaves(arrays), order=3)

    def at(t):
        moved = list(arrays)
        for i, d in zip(floats, directions, strict=True):
            moved[i] = arrays[i] + t * d
        return [weigh(level) for level in derivatives(fn, leaves(moved))[: len(levels) - 1]]

    h = 1e-5
    for level, up, down in zip(levels[1:], at(h), at(-h), strict=True):
        ours = sum((g.numpy() * d).sum() for g, d in zip(level, directions, strict=True))
        assert ours == pytest.approx((up.item() - down.item()) / (2 * h), rel=2e-4, abs=1e-6)


@every_case
def test_both_modes_agree_in_values_and_both_derivatives(name):
    fn, *arrays = CASES[name]
    inputs = symbols(arrays)
    static, dynamic = derivatives(fn, inputs), derivatives(fn, leaves(arrays))
    flat = [v for level in static for v in level]
    values = tl.function(inputs, flat, on_unused_input="ignore")(*arrays)
    expected = [v for level in dynamic for v in level]
    for value, want in zip(values, expected, strict=True):
        assert value.dtype == want.dtype
        np.testing.assert_allclose(value, want.numpy(), rtol=1e-9, atol=1e-11)


@every_case
def test_gradients_have_the_shape_and_dtype_of_their_inputs_and_float32_stays_narrow(name):
    fn, *arrays = CASES[name]
    if name == "cast":
        pytest.skip("asks for another dtype")
    arrays = [a.astype("float32") if a.dtype.kind == "f" else a for a in arrays]
    inputs = leaves(arrays)
    outputs = [out for out in results(fn, inputs) if out.dtype.kind == "f"]
    floats = [v for v in inputs if v.dtype.kind == "f"]
    if not floats:
        return
    assert all(out.dtype == "float32" for out in outputs)
    for out in outputs:
        for grad, var in zip(
            tl.grad(out, floats, cotangent=np.ones(out.shape, "float32"), disconnected="zero"), floats, strict=True
        ):
            assert (grad.shape, grad.dtype) == (var.shape, "float32")


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (1, 1)])
@pytest.mark.parametrize("name", [n for n, op in TABLE.items() if "elementwise" in op.flags])
def test_elementwise_ops_of_every_small_size(name, shape):
    fn, *arrays = CASES[name]
    arrays = [np.resize(a, shape) for a in arrays]
    for level, expected in zip(derivatives(fn, symbols(arrays)), derivatives(fn, leaves(arrays)), strict=True):
        for var, value in zip(level, expected, strict=True):
            assert var.shape == value.shape == shape
            assert var.dtype == value.dtype


# ---- the table itself ----


def test_every_op_is_tried_here_or_has_a_reason():
    seen = {node.op.name for name in CASES for node in graph_of(name)[2]}
    missing = sorted(set(TABLE) - seen - set(ELSEWHERE))
    assert missing == [], f"give each an entry in EXAMPLES, or a reason in ELSEWHERE: {missing}"


def test_every_op_has_a_docstring():
    def words(name, op):
        return (op.__doc__ or "").strip() or (getattr(vars(OPS).get(name), "__doc__", None) or "").strip()

    assert [name for name, op in TABLE.items() if not words(name, op)] == []


def test_every_op_has_a_formula():
    assert [name for name in TABLE if formula(name) is None] == []


# Ops with attributes, and ops on whole numbers only, which no fused region of floats holds.
WITHOUT_C = {"cast", "round", "bitwise_and", "bitwise_or", "bitwise_xor", "invert"}


def test_every_elementwise_op_has_a_c_expression_for_each_of_its_inputs():
    for name, op in TABLE.items():
        if "elementwise" in op.flags and name not in WITHOUT_C:
            assert op.c, name
            assert type(op.vjp) is not tuple or len(op.vjp) == _arity(op), name
