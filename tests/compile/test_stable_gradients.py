"""Where a value is made stable its gradient is too: far out it is what the stable function itself gives, recorded."""

import numpy as np
import pytest

import tutorlib as tl


def softmax_by_hand(x, axis=-1):
    return tl.exp(x) / tl.sum(tl.exp(x), axis=axis, keepdims=True)


def softmax_of_one_exp(x):
    e = tl.exp(x)
    return e / tl.sum(e, axis=1)[:, None]


ROWS, COLUMNS = np.arange(3), np.array([0, 3, 3])
FORMS = {
    "softmax": (softmax_by_hand, tl.softmax),
    "softmax over columns": (lambda x: softmax_by_hand(x, 0), lambda x: tl.softmax(x, 0)),
    "softmax, one exponential": (softmax_of_one_exp, tl.softmax),
    "log of a softmax by hand": (lambda x: tl.log(softmax_by_hand(x)), tl.log_softmax),
    "logsumexp": (lambda x: tl.log(tl.sum(tl.exp(x), axis=-1)), lambda x: tl.logsumexp(x, -1)),
    "logsumexp, axis kept": (
        lambda x: tl.log(tl.sum(tl.exp(x), axis=0, keepdims=True)),
        lambda x: tl.logsumexp(x, 0, keepdims=True),
    ),
    "logsumexp of all": (lambda x: tl.log(tl.sum(tl.exp(x))), tl.logsumexp),
    "softplus": (lambda x: tl.log(1 + tl.exp(x)), tl.softplus),
    "log sigmoid": (lambda x: tl.log(tl.sigmoid(x)), tl.log_sigmoid),
    "log of 1 − sigmoid": (lambda x: tl.log(1 - tl.sigmoid(x)), lambda x: tl.log_sigmoid(-x)),
    "log exp": (lambda x: tl.log(tl.exp(x)), lambda x: 1.0 * x),
    "cross-entropy of two classes": (
        lambda x: -(0.3 * tl.log(tl.sigmoid(x)) + 0.7 * tl.log(1 - tl.sigmoid(x))),
        lambda x: -(0.3 * tl.log_sigmoid(x) + 0.7 * tl.log_sigmoid(-x)),
    ),
    "through a transpose": (lambda x: tl.log(tl.softmax(x).T), lambda x: tl.log_softmax(x).T),
    "through a reshape": (lambda x: tl.log(tl.softmax(x).reshape((-1,))), lambda x: tl.log_softmax(x).reshape((-1,))),
    "through a new axis": (lambda x: tl.log(tl.expand_dims(tl.softmax(x), 0)), lambda x: tl.log_softmax(x)[None]),
    "picked before the logarithm": (
        lambda x: tl.log(tl.softmax(x)[ROWS, COLUMNS]),
        lambda x: tl.log_softmax(x)[ROWS, COLUMNS],
    ),
    "sigmoid": (lambda x: tl.exp(x) / (1 + tl.exp(x)), tl.sigmoid),
}
FAR = np.array([[800.0, 799.0, -700.0, 0.0], [3.0, -900.0, 900.0, 1.0], [0.5, -0.5, 2.0, 0.0]])


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_values_and_gradients_far_out(form, known):
    ours, theirs = FORMS[form]
    point = tl.tensor(FAR, requires_grad=True)
    value = theirs(point)
    weights = np.random.default_rng(0).normal(size=value.shape)
    gradient = tl.grad(tl.sum(value * weights), point).numpy()
    x = tl.symbol("x", FAR.shape if known else (None, None))
    out = ours(x)
    f = tl.function([x], [out, tl.grad(tl.sum(out * weights), x)], mode="check")
    got, slope = f(FAR)
    np.testing.assert_allclose(got, value.numpy(), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(slope, gradient, rtol=1e-9, atol=1e-12)


def test_the_softmax_of_a_vector_by_hand():
    v = tl.vector("v")
    e = tl.exp(v)
    f = tl.function([v], [e / tl.sum(e), tl.grad((e / tl.sum(e))[0], v)])
    value, slope = f([1000.0, 1000.0])
    assert value.tolist() == [0.5, 0.5] and slope.tolist() == [0.25, -0.25]


@pytest.mark.parametrize(
    "build, why",
    [
        (lambda x: tl.exp(x) / tl.sum(tl.exp(x), axis=1), "keepdims=True"),
        (lambda x: tl.log(tl.softmax(x) + 1e-9), "needs no such help"),
        (lambda x: x @ tl.matrix("W") + tl.vector("b"), "give their shapes"),
    ],
)
def test_what_nearly_is_a_stable_form_or_a_layer_says_why_it_is_not(build, why):
    _, log = tl.rewrite([build(tl.matrix("x"))])
    assert any(why in miss.why for miss in log.near)
