"""What learners ask of symbols as if they were values: each error names their line and what to write instead."""

import math

import numpy as np
import pytest

import tutorlib as tl

s, x, n = tl.scalar("s"), tl.vector("x"), tl.symbol("n", (), "int64")
w = tl.shared(np.zeros(3), name="w")


def branch():
    return 1 if s > 0 else 0


def loop():
    while s < 10:
        pass


def both():
    return (s > 0) and (s < 1)


def neither():
    return not (s > 0)


def between():
    return 0 < s < 1


def inside():
    return 3 in x


def largest():
    return max(s, 1.0)


def assign():
    x[0] = 1.0


def assign_to_shared():
    w[0] = 1.0


CASES = [
    (branch, "`if`", "tl.ifelse"),
    (loop, "`while`", "tl.while_loop"),
    (both, "`and`", "(x > 0) & (x < 1)"),
    (neither, "`not`", "~condition"),
    (between, "comparison of three", "(low < x) & (x < high)"),
    (inside, "`in`", "tl.any(x == value)"),
    (largest, "max()", "tl.maximum"),
    (lambda: float(s), "float()", "tl.cast"),
    (lambda: int(s), "int()", "tl.cast"),
    (lambda: math.exp(s), "math.exp()", "tl.exp(x)"),
    (lambda: f"{s:.2f}", "formatting", "eval"),
    (lambda: "%f" % s, "formatting", "eval"),  # noqa: UP031
    (lambda: list(range(n)), "range()", "tl.scan"),
    (lambda: [1, 2, 3][n], "Python list", "tl.stack(items)[i]"),
    (lambda: np.array([s, s]), "NumPy array", "tl.stack"),
    (lambda: list(x), "length", "tl.scan"),
    (assign, "written into", "x.at[i].set(value)"),
    (assign_to_shared, "written into", "updates="),
    (lambda: s.numpy(), "no attribute 'numpy'", "eval"),
    (lambda: s.item(), "no attribute 'item'", "eval"),
    (lambda: (s * s).backward(), "no attribute 'backward'", "tl.grad"),
    (lambda: s.grad, "no attribute 'grad'", "tl.grad"),
    (lambda: s.detach(), "no attribute 'detach'", "tl.stop_gradient"),
    (lambda: w.value, "no attribute 'value'", "get_value()"),
    (lambda: tl.zeros(x.shape), "not known", "tl.zeros_like"),
    (lambda: x.sum() / x.shape[0], "NoneType", "tl.size(x, axis)"),
]


@pytest.mark.parametrize("ask, what, instead", CASES, ids=[f"{i}-{what}" for i, (_, what, _) in enumerate(CASES)])
def test_the_error_names_the_line_and_what_to_write_instead(ask, what, instead):
    with pytest.raises(tl.TutorlibError) as caught:
        ask()
    assert what in caught.value.says and instead in caught.value.fix
    assert caught.value.source.filename == __file__
    first = ask.__code__.co_firstlineno
    assert first <= caught.value.source.line <= first + 2


def test_a_symbol_without_an_attribute_behaves_as_any_object():
    assert not hasattr(s, "summ") and not hasattr(s, "numpy")
    with pytest.raises(AttributeError, match="'Input' object has no attribute 'summ'") as caught:
        x.summ()
    assert caught.value.obj is x and caught.value.name == "summ"
    assert f"{s}" == repr(s) and f"{s:>60}" == repr(s).rjust(60)


def test_a_misspelt_function_of_the_library_can_be_looked_up():
    with pytest.raises(AttributeError) as caught:
        tl.sigmod  # noqa: B018
    assert caught.value.obj is tl and caught.value.name == "sigmod"


def test_size_is_a_number_where_the_shape_tells_and_a_symbol_elsewhere():
    rows = tl.symbol("rows", (None, 3))
    assert tl.size(rows, 1) == 3 and tl.size(np.ones((2, 4))) == 8 and tl.size(tl.tensor([[1.0, 2.0]]), 0) == 1
    f = tl.function([rows], [tl.size(rows), tl.size(rows, 0), np.size(rows)])
    assert [v.item() for v in f(np.zeros((5, 3)))] == [15, 5, 15]
    with pytest.raises(tl.ShapeError, match="axis 2 does not exist"):
        tl.size(rows, 2)
