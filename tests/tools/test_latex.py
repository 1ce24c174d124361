"""Expressions as LaTeX: brackets where they are needed and only there, gradients included."""

import numpy as np
import pytest

import tutorlib as tl

x, y = tl.scalar("x"), tl.scalar("y")
X, w, b = tl.matrix("X"), tl.shared([1.0, 2.0], name="w_1"), tl.shared(0.0, name="beta")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (tl.exp(-x) / (x + 1), r"\frac{e^{-x}}{x + 1}"),
        (x - (y - 1), r"x - \left(y - 1\right)"),
        (x - y - 1, r"x - y - 1"),
        ((x + y) * x, r"\left(x + y\right) x"),
        (x * y + x, "x y + x"),
        ((x + y) ** 2, r"\left(x + y\right)^{2}"),
        (-(x + y), r"-\left(x + y\right)"),
        (x * 3.0, "3 x"),
        (x * -2.0, r"x \left(-2\right)"),
        (tl.log(x), r"\log x"),
        (tl.log(x * y), r"\log\left(x y\right)"),
        (X @ w + b, r"X \, w_{1} + \beta"),
        (X.T @ X, r"X^\top \, X"),
        (tl.linear(X + 1, X, w), r"\left(X + 1\right) \, X + w_{1}"),
        (tl.sum(X, axis=0)[1], r"\left(\sum_{0} X\right)_{1}"),
        (tl.where(x > 0, x, -x), r"\begin{cases} x & \text{if } x > 0 \\ -x & \text{else} \end{cases}"),
        (tl.maximum(x, 0.0), r"\max\left(x, 0\right)"),
        (tl.sqrt(x + 1e-8), r"\sqrt{x + 10^{-8}}"),
        (tl.softplus(x), r"\operatorname{softplus} x"),
        (x, "x"),
    ],
)
def test_what_is_written(expression, text):
    assert str(tl.latex(expression)) == text


def test_a_gradient_is_an_equation():
    assert str(tl.latex(tl.sin(x), wrt=x)) == r"\frac{\partial}{\partial x} \left(\sin x\right) = \cos x"


def test_a_part_used_again_is_named_once_however_deep_the_sharing():
    z = tl.exp(tl.sin(x * y + x)) + tl.log(x * y + 2.0)
    for _ in range(40):
        z = z * z
    text = str(tl.latex(z))
    assert text.startswith(r"\begin{aligned} t_{1} &= e^{")
    assert len(text) < 4_000


def test_recorded_tensors_and_names_with_special_characters():
    t = tl.tensor(2.0, requires_grad=True, name="learning_rate%")
    assert str(tl.latex(t * t)) == r"\mathrm{learning}_{rate\%} \mathrm{learning}_{rate\%}"


def test_brackets_are_balanced_for_every_elementwise_op():
    from tutorlib.ops.define import TABLE

    for op in TABLE.values():
        if "elementwise" in op.flags and op.ufunc and isinstance(op.vjp, tuple):
            args = [x, y, x][: len(op.vjp)]
            text = str(tl.latex(op(*args) if len(args) == len(op.vjp) else op(x)))
            assert text.count("{") == text.count("}") and text.count(r"\left") == text.count(r"\right"), op


def test_a_notebook_gets_mathematics():
    assert tl.latex(x + 1)._repr_latex_() == r"$\displaystyle x + 1$"


def test_anything_else_is_refused():
    with pytest.raises(tl.TutorlibError, match="no expression"):
        tl.latex(np.ones(2))


def test_a_recurrent_layer_is_shown_without_its_tape():
    s, h, V, c = tl.tensor3("s"), tl.matrix("h"), tl.matrix("V"), tl.vector("c")
    assert str(tl.latex(tl.gru(s, h, V, V, c, c)[1])) == r"\operatorname{gru}\left(s, h, V, V, c, c\right)_{-1}^\top"


def test_a_choice_shows_its_branches():
    q, r = tl.scalar("q"), tl.scalar("r")
    chosen = tl.ifelse(q > 0, lambda: tl.sqrt(q) * r, lambda: -r)
    assert str(tl.latex(chosen)) == (
        "\\begin{cases} \\sqrt{q} r & \\text{if } q > 0 \\\\ -r & \\text{else} \\end{cases}"
    )
