"""What a learner reads when something goes wrong: their own line, the shapes aligned, one fix."""

import numpy as np
import pytest

import tutorlib as tl
from tutorlib.core.errors import aligned


def needs_grad(value, name=None):
    return tl.tensor(value, requires_grad=True, name=name)


def shape_error():
    return tl.tensor([1.0, 2.0]) + tl.tensor([1.0, 2.0, 3.0])


def out_of_bounds():
    return tl.tensor([1.0, 2.0])[5]


def dtype_error():
    return tl.tensor([1.0]) + "one"


def device_mismatch():
    return tl.tensor([1.0]) + tl.tensor([1.0], device="cpu:1")


def mode_mix():
    return tl.scalar("s") * needs_grad(2.0)


def disconnected():
    return tl.grad(needs_grad(2.0) * 3, needs_grad(1.0, "z"))


def not_differentiable():
    return tl.grad((needs_grad([1.0]) > 0).sum(), needs_grad([1.0]))


def unused_input():
    return tl.function([tl.scalar("a"), tl.scalar("b")], [])


def missing_input():
    return tl.function([], tl.scalar("a") + 1)


def update_type():
    return tl.function([], updates=[(tl.shared(1, name="n"), 0.5)])


def stale_value():
    x = needs_grad([1.0])
    x[0] = 5.0


def freed_graph():
    x = needs_grad(3.0)
    y = x * x
    y.backward()
    y.backward()


# The error, what raises it, and a piece of the learner's line that its message must show.
CASES = [
    (tl.ShapeError, shape_error, "tl.tensor([1.0, 2.0]) + tl.tensor([1.0, 2.0, 3.0])"),
    (tl.OutOfBoundsError, out_of_bounds, "tl.tensor([1.0, 2.0])[5]"),
    (tl.DTypeError, dtype_error, 'tl.tensor([1.0]) + "one"'),
    (tl.DeviceMismatchError, device_mismatch, 'tl.tensor([1.0], device="cpu:1")'),
    (tl.ModeMixError, mode_mix, 'tl.scalar("s") * needs_grad(2.0)'),
    (tl.DisconnectedError, disconnected, 'needs_grad(1.0, "z"))'),
    (tl.NotDifferentiableError, not_differentiable, "(needs_grad([1.0]) > 0).sum()"),
    (tl.UnusedInputError, unused_input, 'tl.function([tl.scalar("a"), tl.scalar("b")], [])'),
    (tl.MissingInputError, missing_input, 'tl.scalar("a") + 1'),
    (tl.UpdateTypeError, update_type, "tl.function([], updates="),
    (tl.StaleValueError, stale_value, "x[0] = 5.0"),
    (tl.FreedGraphError, freed_graph, "y = x * x"),
]


@pytest.mark.parametrize("kind, provoke, line", CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_every_error_shows_the_learners_own_line_and_one_fix(kind, provoke, line):
    with pytest.raises(kind) as caught:
        provoke()
    text = str(caught.value)
    assert line in text
    assert text.count("Fix: ") == 1
    assert caught.value.source.filename == __file__
    assert isinstance(caught.value, tl.TutorlibError)


@pytest.mark.parametrize("kind, provoke, line", CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_no_error_shows_a_line_of_the_library(kind, provoke, line):
    with pytest.raises(kind) as caught:
        provoke()
    assert "tutorlib/core" not in str(caught.value)
    assert "tutorlib/ops" not in str(caught.value)


@pytest.mark.parametrize(
    "kind, builtin",
    [
        (tl.ShapeError, ValueError),
        (tl.OutOfBoundsError, IndexError),
        (tl.DTypeError, TypeError),
        (tl.FreedGraphError, RuntimeError),
        (tl.StaleValueError, RuntimeError),
        (tl.MissingInputError, TypeError),
        (tl.ModeMixError, TypeError),
    ],
)
def test_errors_are_also_the_builtin_kind_that_python_would_raise(kind, builtin):
    assert issubclass(kind, builtin)


def test_every_error_the_architecture_names_is_public():
    names = (
        "ShapeError DTypeError DeviceMismatchError ModeMixError DisconnectedError NotDifferentiableError "
        "UnusedInputError MissingInputError UpdateTypeError StaleValueError FreedGraphError"
    )
    assert all(issubclass(getattr(tl, name), tl.TutorlibError) for name in names.split())


def test_the_two_shapes_are_aligned_on_the_right_and_the_offending_dims_marked():
    with pytest.raises(tl.ShapeError) as caught:
        tl.tensor(np.zeros((2, 3))) + tl.tensor(np.zeros(4))
    assert "  (2, 3)\n      ^\n    (4,)\n     ^\n" in str(caught.value)
    assert caught.value.op == "add"
    assert caught.value.shapes == ((2, 3), (4,))


def test_a_mark_is_as_wide_as_the_dim_it_marks():
    assert aligned([(2, 100), (7,)], [1, 0]) == "  (2, 100)\n      ^^^\n      (7,)\n       ^"


def test_unknown_dims_are_written_as_question_marks():
    with pytest.raises(tl.ShapeError) as caught:
        tl.symbol("a", shape=(None, 3)) + tl.symbol("b", shape=(None, 4))
    assert "  (?, 3)\n      ^\n  (?, 4)\n      ^" in str(caught.value)


def test_a_row_vector_where_a_column_was_meant_is_recognised():
    with pytest.raises(tl.ShapeError, match=r"v\[:, None\]"):
        tl.tensor(np.zeros((3, 2))) * tl.tensor(np.zeros(3))


def test_a_matrix_product_that_would_fit_transposed_says_so():
    with pytest.raises(tl.ShapeError, match=r"x @ y\.T"):
        tl.tensor(np.zeros((2, 3))) @ tl.tensor(np.zeros((4, 3)))


def test_a_shape_error_while_a_graph_runs_names_the_line_that_built_the_node():
    u, v = tl.vector("u"), tl.vector("v")
    total = u + v  # the line to be named
    run = tl.function([u, v], total)
    with pytest.raises(tl.ShapeError) as caught:
        run([1.0, 2.0], [1.0, 2.0, 3.0])
    assert "total = u + v" in str(caught.value)


def test_an_index_out_of_bounds_while_a_graph_runs_names_the_line_that_built_the_node():
    v = tl.vector("v")
    third = v[2]
    with pytest.raises(tl.OutOfBoundsError) as caught:
        third.eval({v: [1.0, 2.0]})
    assert "third = v[2]" in str(caught.value)


@pytest.mark.parametrize("bad", [None, "one", {}, 1j, object()])
def test_what_is_no_number_is_refused_in_an_expression(bad):
    with pytest.raises(tl.DTypeError, match="Fix: pass numbers"):
        tl.tensor([1.0]) * bad
    with pytest.raises(tl.DTypeError, match="Fix: pass numbers"):
        tl.vector("v") * bad


@pytest.mark.parametrize("bad", ["a", [None], [1j], np.array(["a"]), np.array([1j]), np.array([object()]), {1: 2}])
def test_what_is_no_number_makes_no_tensor(bad):
    with pytest.raises(tl.DTypeError):
        tl.tensor(bad)


def test_rows_of_different_lengths_make_no_tensor():
    with pytest.raises(tl.ShapeError, match="same length"):
        tl.tensor([[1, 2], [3]])


@pytest.mark.parametrize("shape", [(-1,), (2.5,), ("n",), -3])
def test_a_symbol_of_impossible_shape_is_refused(shape):
    with pytest.raises(tl.ShapeError, match="lengths and None"):
        tl.symbol("s", shape=shape)


def test_an_unknown_dtype_is_refused():
    with pytest.raises(tl.DTypeError, match="not a dtype"):
        tl.scalar("s", dtype="flota32")


def test_a_misspelt_op_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="tanhh"):
        _ = tl.tanhh


def test_numpy_functions_without_a_counterpart_say_what_to_use_instead():
    with pytest.raises(tl.TutorlibError, match=r"numpy\.add\.reduceat .*\n[^$]*Fix: .*x\.numpy\(\)"):
        np.add.reduceat(tl.tensor([1.0]), [0])


@pytest.mark.parametrize("make", [tl.tensor, tl.shared], ids=["recorded", "symbolic"])
def test_an_error_knows_the_operands_it_is_about(make):
    a, b = make(np.ones((2, 3)), name="a"), make(np.ones((4, 5)), name="b")
    with pytest.raises(tl.ShapeError) as caught:
        a @ b
    assert [operand.name for operand in caught.value.inputs] == ["a", "b"]


def test_the_operands_known_first_stay():
    error = tl.ShapeError("no").of((1, 2))
    assert error.of((3,)).inputs == (1, 2)
