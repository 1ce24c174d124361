"""NumPy's own functions on tensors and symbols are ours; what a graph cannot do is refused."""

import numpy as np
import pytest

import tutorlib as tl
from tests.ops.oracle import MODES, check, data, slopes, value

M = data((3, 3), low=0.1, high=0.9)
SAME = {
    "exp": np.exp,
    "arcsin": np.arcsin,
    "fabs": np.fabs,
    "positive": np.positive,
    "rint": np.rint,
    "power": lambda x: np.power(x, 2),
    "true divide": lambda x: np.divide(1.0, x),
    "float64 times": lambda x: np.float64(2) * x,
    "array plus": lambda x: np.array([1.0, 2.0, 3.0]) + x,
    "array @": lambda x: np.array([1.0, 2.0, 3.0]) @ x,
    "matmul": lambda x: np.matmul(x, x),
    "dot": lambda x: np.dot(x, x),
    "dot with a number": lambda x: np.dot(x, 2.0),
    "isfinite": np.isfinite,
    "sum": np.sum,
    "sum over an axis": lambda x: np.sum(x, axis=0),
    "sum by position": lambda x: np.sum(x, 0, None, None, True),
    "mean, axes kept": lambda x: np.mean(x, keepdims=True),
    "amax": lambda x: np.amax(x, 1),
    "max": lambda x: np.max(x, axis=1),
    "prod": lambda x: np.prod(x, axis=(0, 1)),
    "var": lambda x: np.var(x, 0, None, None, 1),
    "std": lambda x: np.std(x, axis=0, ddof=1),
    "median": lambda x: np.median(x, axis=1),
    "argmax": lambda x: np.argmax(x, 0),
    "any": lambda x: np.any(x > 0.5, axis=0),
    "count_nonzero": lambda x: np.count_nonzero(x > 0.5, axis=0),
    "cumsum": lambda x: np.cumsum(x, 1),
    "norm": np.linalg.norm,
    "norm of columns": lambda x: np.linalg.norm(x, 1, axis=0),
    "round": lambda x: np.round(x, 1),
    "clip": lambda x: np.clip(x, 0.3, 0.5),
    "clip by name": lambda x: np.clip(x, a_min=None, a_max=0.5),
    "clip by new name": lambda x: np.clip(x, max=0.5),
    "where": lambda x: np.where(x > 0.5, x, 0.0),
    "concatenate": lambda x: np.concatenate([x, x], 1),
    "stack": lambda x: np.stack([x, x], axis=-1),
    "transpose": lambda x: np.transpose(x, (1, 0)),
    "reshape": lambda x: np.reshape(x, (9,)),
    "ravel": np.ravel,
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "take": lambda x: np.take(x, [2, 0], 0),
    "zeros_like": np.zeros_like,
    "full_like": lambda x: np.full_like(x, 3),
    "add.reduce": np.add.reduce,
    "add.reduce over all": lambda x: np.add.reduce(x, axis=None),
    "maximum.reduce": lambda x: np.maximum.reduce(x, 1),
    "multiply.accumulate": np.multiply.accumulate,
    "add.accumulate": lambda x: np.add.accumulate(x, axis=1),
    "subtract.outer": lambda x: np.subtract.outer(x, np.array([1.0, 2.0])),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SAME)
def test_numpys_function_gives_what_it_gives_on_arrays(name, mode):
    expected = SAME[name](M)
    got = value(SAME[name], M, mode=mode)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, 1e-13)


@pytest.mark.parametrize("name", ["exp", "sum by position", "norm", "concatenate", "median", "multiply.accumulate"])
def test_gradients_flow_through_numpys_functions(name):
    check(SAME[name], M)


def test_results_are_variables_of_the_same_mode():
    x, s = tl.tensor(M, requires_grad=True), tl.matrix("s")
    for function in SAME.values():
        assert isinstance(function(x), tl.Tensor)
        assert isinstance(function(s), tl.Symbol)


@pytest.mark.parametrize("variable", [tl.tensor(M), tl.matrix("m")], ids=["tensor", "symbol"])
@pytest.mark.parametrize(
    "call, says",
    [
        (lambda x: np.exp(x, out=np.empty((3, 3))), r"numpy\.exp\(out=…\)"),
        (lambda x: np.sum(x, out=np.empty(())), r"numpy\.sum\(out=…\)"),
        (lambda x: np.add(x, x, where=x > 0), r"numpy\.add\(where=…\)"),
        (lambda x: np.sum(x, where=M > 0), r"numpy\.sum\(where=…\)"),
        (lambda x: np.sum(x, dtype="float32"), r"numpy\.sum\(dtype=…\).*not possible"),
        (lambda x: np.sum(x, initial=3.0), r"numpy\.sum\(initial=…\)"),
        (lambda x: np.fft.fft(x), r"numpy\.fft\.fft has no counterpart"),
        (lambda x: np.add.reduceat(x, [0, 1]), r"numpy\.add\.reduceat has no counterpart"),
        (lambda x: np.nextafter(x, x), r"numpy\.nextafter has no counterpart"),
        (lambda x: np.linalg.norm(x, 2), "norm of a matrix"),
    ],
)
def test_what_a_graph_cannot_do_is_refused(call, says, variable):
    with pytest.raises(tl.TutorlibError, match=says):
        call(variable)


def test_adding_a_tensor_into_an_array_says_what_to_write():
    array = np.zeros((3, 3))
    with pytest.raises(tl.TutorlibError, match="results are new values"):
        array += tl.tensor(M)


@pytest.mark.parametrize("argument", ["axes", "wrong"])
def test_argument_that_ours_does_not_take_is_named(argument):
    with pytest.raises((tl.TutorlibError, TypeError), match=argument):
        np.sum(tl.tensor(M), **{argument: 0})


def test_functions_that_only_look_read_the_values():
    x = tl.tensor(M)
    assert np.allclose(x, M)
    assert np.array_equal(x, x)
    assert np.isclose(x, M).all()
    assert np.array2string(x) == np.array2string(M)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((3, 3), 2, 9)
    with pytest.raises(tl.ModeMixError):
        np.allclose(tl.matrix("m"), 0.0)


# ---- operators and methods ----


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "method, arguments",
    [
        ("prod", (0,)),
        ("var", (1,)),
        ("std", ()),
        ("argmax", (1,)),
        ("argmin", ()),
        ("all", ()),
        ("any", (0,)),
        ("cumsum", (1,)),
        ("cumprod", (0,)),
        ("round", (1,)),
        ("dot", (M,)),
    ],
)
def test_methods_are_those_of_arrays(method, arguments, mode):
    got = value(lambda x: getattr(x, method)(*arguments), M, mode=mode)
    np.testing.assert_allclose(got, getattr(M, method)(*arguments), 1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_norm_is_a_method(mode):
    assert value(lambda x: x.norm(), np.array([3.0, 4.0]), mode=mode) == 5.0


@pytest.mark.parametrize("mode", MODES)
def test_divmod_and_round_are_pythons(mode):
    whole, rest = (value(lambda x, k=k: divmod(x, 2.0)[k], np.array([7.0, -7.0]), mode=mode) for k in (0, 1))
    assert (whole.tolist(), rest.tolist()) == ([3.0, -4.0], [1.0, 1.0])
    assert value(lambda x: divmod(7.0, x)[1], 2.0, mode=mode) == 1.0
    assert value(lambda x: round(x, 1), 0.26, mode=mode) == 0.3


@pytest.mark.parametrize("variable", [tl.tensor([1.0, 2.0]), tl.vector("v")], ids=["tensor", "symbol"])
def test_variable_is_neither_none_nor_text(variable):
    assert (variable == None) is False  # noqa: E711
    assert variable != None  # noqa: E711
    assert variable != "v"
    assert None not in [variable]


def test_slope_of_a_numpy_expression():
    assert slopes(lambda x: np.sum(np.square(x)), np.array([1.0, 2.0]))[0].tolist() == [2.0, 4.0]
